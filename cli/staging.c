/* Files besides the output folder (--errors, --save-model) are made under hidden names and renamed
 * when everything else has succeeded. */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static rer_status fail_system(rer_error *error, const char *path, const char *what)
{
    return fail(error, RER_SYSTEM, "%s: %s: %s; choose a place that you may write to", path, what, strerror(errno));
}

/* Cuts the last name off; false where nothing is left of a relative path. */
static bool cut_to_parent(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash == NULL)
        return false;
    slash[slash == path ? 1 : 0] = 0;
    return true;
}

/* Shortens `path` to its nearest part that exists. */
static void cut_to_existing(char *path)
{
    struct stat found;
    while (stat(path, &found) != 0)
        if (strcmp(path, "/") == 0 || !cut_to_parent(path)) {
            strcpy(path, "."); /* fits: a path has one byte at least */
            return;
        }
}

rer_status check_writable(const char *path, bool is_folder, rer_error *error)
{
    struct stat found;
    if (path == NULL || path[0] == 0)
        return RER_OK;
    bool exists = stat(path, &found) == 0;
    if (exists && is_folder && !S_ISDIR(found.st_mode))
        return fail(error, RER_SYSTEM, "%s: is a file, not a folder; choose another output folder", path);
    if (exists && !is_folder && !S_ISREG(found.st_mode))
        return RER_OK; /* a device or FIFO; stage() refuses folders */
    char *folder = strdup(path);
    if (folder == NULL)
        return fail(error, RER_SYSTEM, "out of memory");
    if (exists && !is_folder && !cut_to_parent(folder))
        strcpy(folder, ".");
    cut_to_existing(folder);
    errno = stat(folder, &found) == 0 && !S_ISDIR(found.st_mode) ? ENOTDIR : 0;
    rer_status status = RER_OK;
    if (errno == ENOTDIR || access(folder, W_OK | X_OK) != 0)
        status = fail_system(error, path, is_folder ? "the folder cannot be made or written" : "cannot be written");
    free(folder);
    return status;
}

/* Makes an empty file `.name.XXXXXX` beside `path` and returns its name. */
static char *reserve_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t folder = slash == NULL ? 0 : (size_t)(slash - path) + 1;
    size_t size = strlen(path) + 16;
    char *name = malloc(size);
    if (name == NULL)
        return NULL;
    (void)snprintf(name, size, "%.*s.%.200s.XXXXXX", (int)folder, path, path + folder);
    int fd = mkstemp(name);
    if (fd < 0) {
        int code = errno;
        free(name);
        errno = code;
        return NULL;
    }
    (void)close(fd);
    return name;
}

rer_status stage(cli_staged *staged, const char *path, rer_error *error)
{
    struct stat found;
    if (path == NULL)
        return RER_OK;
    bool exists = stat(path, &found) == 0;
    if (exists && S_ISDIR(found.st_mode))
        return fail(error, RER_SYSTEM, "%s: is a folder; name a file", path);
    if (exists && (!S_ISREG(found.st_mode) || strncmp(path, "/dev/", 5) == 0)) {
        staged->path = strdup(path);
        return staged->path != NULL ? RER_OK : fail(error, RER_SYSTEM, "out of memory");
    }
    staged->target = exists ? realpath(path, NULL) : strdup(path);
    if (staged->target == NULL)
        return fail_system(error, path, "cannot be written");
    staged->path = reserve_name(staged->target);
    return staged->path != NULL ? RER_OK : fail_system(error, path, "cannot be made");
}

rer_status staged_commit(cli_staged *staged, rer_error *error)
{
    if (staged->target == NULL)
        return RER_OK;
    if (rename(staged->path, staged->target) != 0)
        return fail_system(error, staged->target, "cannot be put in place");
    free(staged->target);
    staged->target = NULL;
    return RER_OK;
}

void staged_discard(cli_staged *staged)
{
    if (staged->target != NULL && staged->path != NULL)
        (void)unlink(staged->path);
    free(staged->path);
    free(staged->target);
    staged->path = staged->target = NULL;
}
