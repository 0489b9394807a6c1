/* Names of temporary files, and the list of those that are there. The list is for programs that end in a signal
 * handler: it is read without locks, and what removes files neither allocates nor waits. */
#define _GNU_SOURCE /* renameat2, dirent64 */
#include "core/temporary.h"

#include "core/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif
#include <time.h>
#include <unistd.h>

enum {
    NAME_TRIES = 100,
    STEM_MAX = 200, /* bytes of the final name kept in the temporary one: NAME_MAX is 255 */
    LISTED = 256    /* one beyond these stays after a signal */
};

static _Atomic(const char *) list[LISTED];
static atomic_bool ending;

static void remember(const char *temporary)
{
    for (int i = 0; i < LISTED; i++) {
        const char *nothing = NULL;
        if (atomic_compare_exchange_strong(&list[i], &nothing, temporary))
            return;
    }
}

void rer_temporary_forget(const char *temporary)
{
    for (int i = 0; temporary != NULL && i < LISTED; i++) {
        const char *listed = temporary;
        if (atomic_compare_exchange_strong(&list[i], &listed, NULL))
            return;
    }
}

void rer_temporary_free(char **temporary)
{
    rer_temporary_forget(*temporary);
    free(*temporary);
    *temporary = NULL;
}

/* Unlike mkstemp, open() honours the umask, which cannot be read without changing it for other threads. */
static bool make(const char *temporary, int *fd)
{
    if (atomic_load(&ending)) {
        errno = EINTR;
        return false;
    }
    if (fd == NULL)
        return mkdir(temporary, 0777) == 0;
    *fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return *fd >= 0;
}

rer_status rer_temporary_make(char **temporary, int *fd, const char *path, rer_error *error)
{
    static atomic_uint counter;
    const char *slash = strrchr(path, '/'), *stem = slash != NULL ? slash + 1 : path;
    size_t size = strlen(path) + 32;
    char *name = NULL;
    bool made = false;
    RER_TRY(rer_allocate(&name, (int64_t)size, 1, "a file name", error));
    errno = EEXIST;
    for (int i = 0; i < NAME_TRIES && !made && errno == EEXIST; i++) {
        unsigned mix = (unsigned)getpid() * 2654435761U + atomic_fetch_add(&counter, 1) * 40503U + (unsigned)time(NULL);
        (void)snprintf(name, size, "%.*s.%.*s.%06x.tmp", (int)(stem - path), path, STEM_MAX, stem, mix & 0xFFFFFFU);
        remember(name); /* first: a signal may come at any time */
        made = make(name, fd);
        if (!made)
            rer_temporary_forget(name);
    }
    if (!made) {
        rer_status status = rer_output_fail(error, path, fd != NULL ? "cannot be made" : "the folder cannot be made");
        free(name);
        return status;
    }
    *temporary = name;
    return RER_OK;
}

bool rer_temporary_exchange(const char *temporary, const char *path)
{
#ifdef __APPLE__
    return renameatx_np(AT_FDCWD, temporary, AT_FDCWD, path, RENAME_SWAP) == 0;
#else
    return renameat2(AT_FDCWD, temporary, AT_FDCWD, path, RENAME_EXCHANGE) == 0;
#endif
}

/* ---- removing ------------------------------------------------------------------------------- */

static bool is_named(const char *names, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = names; at != NULL && *at != 0; at = strchr(at, '\n') != NULL ? strchr(at, '\n') + 1 : NULL)
        if (strncmp(at, name, length) == 0 && (at[length] == '\n' || at[length] == 0))
            return true;
    return false;
}

/* Returns how many files went. */
#ifdef __linux__
/* By the system call: opendir() allocates. */
static int remove_listed(int folder, const char *only)
{
    _Alignas(struct dirent64) char buffer[4096];
    int removed = 0;
    long got;
    while ((got = syscall(SYS_getdents64, folder, buffer, sizeof buffer)) > 0)
        for (long at = 0; at < got;) {
            const struct dirent64 *entry = (const struct dirent64 *)(const void *)(buffer + at);
            if (only == NULL || is_named(only, entry->d_name))
                removed += unlinkat(folder, entry->d_name, 0) == 0;
            at += entry->d_reclen;
        }
    return removed;
}
#else
static int remove_listed(int folder, const char *only)
{
    int removed = 0, own = dup(folder);
    DIR *stream = own >= 0 ? fdopendir(own) : NULL;
    const struct dirent *entry;
    while (stream != NULL && (entry = readdir(stream)) != NULL)
        if (only == NULL || is_named(only, entry->d_name))
            removed += unlinkat(folder, entry->d_name, 0) == 0;
    if (stream != NULL)
        (void)closedir(stream);
    else if (own >= 0)
        (void)close(own);
    return removed;
}
#endif

void rer_temporary_remove_folder(const char *path, const char *only)
{
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
        return;
    while (remove_listed(folder, only) > 0) /* some file systems skip entries while others go */
        (void)lseek(folder, 0, SEEK_SET);
    (void)close(folder);
    (void)rmdir(path);
}

void rer_unfinished_remove(void)
{
    int code = errno;
    atomic_store(&ending, true);
    for (int i = 0; i < LISTED; i++) {
        const char *temporary = atomic_load(&list[i]);
        if (temporary != NULL && unlink(temporary) != 0)
            rer_temporary_remove_folder(temporary, NULL);
    }
    errno = code;
}
