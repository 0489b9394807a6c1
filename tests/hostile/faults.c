/* Lets one call of the C library fail, for hostile.py; loaded by LD_PRELOAD:
 *     RER_FAULT=NAME:N:ERRNO    the Nth call of NAME fails with that number; `allocate` is any allocation
 * Calls on the standard streams are left alone: what is lost there has tests of its own. */
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
#include <unistd.h>

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
#define PASS_ON(result, name, parameters, arguments, failure)                                                          \
    result name parameters                                                                                             \
    {                                                                                                                  \
        static result(*real) parameters;                                                                               \
        if (fails(#name))                                                                                              \
            return failure;                                                                                            \
        if (real == NULL)                                                                                              \
            *(void **)&real = dlsym(RTLD_NEXT, #name);                                                                 \
        return real arguments;                                                                                         \
    }

PASS_ON(ssize_t, pwrite, (int fd, const void *bytes, size_t size, off_t place), (fd, bytes, size, place), -1)
PASS_ON(ssize_t, read, (int fd, void *bytes, size_t size), (fd, bytes, size), -1)
PASS_ON(ssize_t, pread, (int fd, void *bytes, size_t size, off_t place), (fd, bytes, size, place), -1)
PASS_ON(int, fsync, (int fd), (fd), -1)
PASS_ON(int, ftruncate, (int fd, off_t size), (fd, size), -1)
PASS_ON(int, rename, (const char *from, const char *to), (from, to), -1)
PASS_ON(int, mkdir, (const char *path, mode_t mode), (path, mode), -1)
PASS_ON(int, unlink, (const char *path), (path), -1)
PASS_ON(FILE *, fopen, (const char *path, const char *mode), (path, mode), NULL)
PASS_ON(int, fflush, (FILE * stream), (stream), EOF)
PASS_ON(size_t, fwrite, (const void *bytes, size_t size, size_t count, FILE *stream), (bytes, size, count, stream), 0)
PASS_ON(void *, mmap, (void *place, size_t size, int protection, int flags, int fd, off_t from),
        (place, size, protection, flags, fd, from), MAP_FAILED)

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
