/* Lets one call of the C library fail, for hostile.py; loaded by LD_PRELOAD:
 *     RER_FAULT=NAME:N:ERRNO    the Nth call of NAME fails with that number; `allocate` is any allocation
 * open has a third argument here whether it was given or not, which is harmless where it is not used. Calls on the
 * standard streams are left alone: what is lost there has tests of its own. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>

static char wanted[32];
static int at, number;
static atomic_int calls;

__attribute__((constructor)) static void read_wish(void)
{
    const char *wish = getenv("RER_FAULT");
    if (wish != NULL)
        (void)sscanf(wish, "%31[a-z0-9]:%d:%d", wanted, &at, &number);
}

static int fails(const char *name)
{
    if (strcmp(wanted, name) != 0 || atomic_fetch_add(&calls, 1) + 1 != at)
        return 0;
    errno = number;
    return 1;
}

/* result NAME(parameters): the real one with these arguments, or its value for a failure. */
#define PASS_ON(result, name, call, parameters, arguments, failure)                                                    \
    result name parameters;                                                                                            \
    result name parameters                                                                                             \
    {                                                                                                                  \
        static result(*real) parameters;                                                                               \
        if (fails(call))                                                                                               \
            return failure;                                                                                            \
        if (real == NULL)                                                                                              \
            *(void **)&real = dlsym(RTLD_NEXT, #name);                                                                 \
        return real arguments;                                                                                         \
    }

/* Under both names that a program may be linked with. */
#define PASS_ON_BOTH(result, name, parameters, arguments, failure)                                                     \
    PASS_ON(result, name, #name, parameters, arguments, failure)                                                       \
    PASS_ON(result, name##64, #name, parameters, arguments, failure)

PASS_ON_BOTH(ssize_t, pwrite, (int fd, const void *bytes, size_t size, off_t place), (fd, bytes, size, place), -1)
PASS_ON_BOTH(ssize_t, pread, (int fd, void *bytes, size_t size, off_t place), (fd, bytes, size, place), -1)
PASS_ON_BOTH(int, ftruncate, (int fd, off_t size), (fd, size), -1)
PASS_ON_BOTH(int, open, (const char *path, int flags, mode_t mode), (path, flags, mode), -1)
PASS_ON_BOTH(int, openat, (int folder, const char *path, int flags, mode_t mode), (folder, path, flags, mode), -1)
PASS_ON_BOTH(void *, mmap, (void *place, size_t size, int protection, int flags, int fd, off_t from),
             (place, size, protection, flags, fd, from), MAP_FAILED)
PASS_ON(ssize_t, read, "read", (int fd, void *bytes, size_t size), (fd, bytes, size), -1)
PASS_ON(int, fsync, "fsync", (int fd), (fd), -1)
PASS_ON(int, rename, "rename", (const char *from, const char *to), (from, to), -1)
PASS_ON(int, renameat2, "rename", (int a, const char *from, int b, const char *to, unsigned flags),
        (a, from, b, to, flags), -1)
PASS_ON(int, mkdir, "mkdir", (const char *path, mode_t mode), (path, mode), -1)
PASS_ON(char *, mkdtemp, "mkdir", (char *path), (path), NULL)
PASS_ON(int, unlink, "unlink", (const char *path), (path), -1)
PASS_ON(FILE *, fdopen, "fdopen", (int fd, const char *mode), (fd, mode), NULL)
PASS_ON(int, fflush, "fflush", (FILE * stream), (stream), EOF)
PASS_ON(size_t, fwrite, "fwrite", (const void *bytes, size_t size, size_t count, FILE *stream),
        (bytes, size, count, stream), 0)

ssize_t write(int fd, const void *bytes, size_t size);
int close(int fd);

ssize_t write(int fd, const void *bytes, size_t size)
{
    static ssize_t (*real)(int, const void *, size_t);
    if (fd > 2 && fails("write"))
        return -1;
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "write");
    return real(fd, bytes, size);
}

/* A close that fails has closed all the same. */
int close(int fd)
{
    static int (*real)(int);
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "close");
    int result = real(fd);
    return fd > 2 && fails("close") ? -1 : result;
}

/* Allocations: without dlsym, which allocates itself. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size)
{
    return fails("allocate") ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails("allocate") ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return fails("allocate") ? NULL : __libc_realloc(old, size);
}

int posix_memalign(void **made, size_t alignment, size_t size)
{
    if (fails("allocate"))
        return ENOMEM;
    *made = __libc_memalign(alignment, size);
    return *made != NULL ? 0 : ENOMEM;
}
