/* Output files and folders that a reader sees whole or not at all.
 *
 * What is written lies under a temporary name beside the final one until it is complete and synced. Then the two are
 * exchanged (RENAME_EXCHANGE), so that the old one can come back where a later output fails; where the file system
 * cannot do that, a file is renamed over the old one, and an old folder is renamed aside first. What cannot be renamed
 * over (a FIFO, a device) is written directly. Every failure here is RER_SYSTEM: the disk or its permissions stand in
 * the way, not the data. */
#include "core/output.h"

#include "core/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PENDING, NEW, EXCHANGED, OVER }; /* rer_output.placed */

static const char *remedy_of(int code)
{
    switch (code) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return "; free some space or choose another place";
    case EACCES:
    case EPERM:
    case EROFS:
        return "; choose a place that you may write to";
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
        return "; check the path";
    default:
        return "";
    }
}

rer_status rer_output_fail(rer_error *error, const char *path, const char *what)
{
    int code = errno;
    char reason[128];
    if (strerror_r(code, reason, sizeof reason) != 0)
        (void)snprintf(reason, sizeof reason, "system error %d", code);
    return rer_fail(error, RER_SYSTEM, "%s: %s: %s%s", path, what, reason, remedy_of(code));
}

/* Names of open files that stat() may show as regular ones: renaming over them would cut them off
 * from the process that reads them. */
static bool names_open_file(const char *path)
{
    return strncmp(path, "/dev/std", 8) == 0 || strncmp(path, "/dev/fd/", 8) == 0 || strncmp(path, "/proc/", 6) == 0;
}

static int64_t folder_length(const char *path) /* with its slash; 0: the working folder */
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? 0 : slash - path + 1;
}

static rer_status open_stream(rer_output *output, int fd, rer_error *error)
{
    output->stream = fd >= 0 ? fdopen(fd, "wb") : NULL;
    if (output->stream != NULL)
        return RER_OK;
    rer_status status = rer_output_fail(error, output->path, fd >= 0 ? "cannot be opened" : "cannot be made");
    if (fd >= 0)
        (void)close(fd);
    return status;
}

static rer_status open_temporary(rer_output *output, rer_error *error)
{
    int fd = -1;
    RER_TRY(rer_temporary_make(&output->temporary, &fd, output->path, error));
    return open_stream(output, fd, error);
}

rer_status rer_join_path(char **path, const char *folder, const char *name, rer_error *error)
{
    size_t size = strlen(folder) + strlen(name) + 2;
    RER_TRY(rer_allocate(path, (int64_t)size, 1, "a file name", error));
    (void)snprintf(*path, size, "%s%s%s", folder, folder[0] != 0 && folder[strlen(folder) - 1] == '/' ? "" : "/", name);
    return RER_OK;
}

rer_status rer_output_create(rer_output *output, const rer_output *folder, const char *name, rer_error *error)
{
    rer_output made = {0};
    char *path = NULL;
    rer_status status = rer_join_path(&made.path, folder->path, name, error);
    RER_THEN(status, rer_join_path(&path, folder->temporary, name, error));
    RER_THEN(status, open_stream(&made, open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666), error));
    free(path);
    if (status == RER_OK)
        *output = made;
    else
        rer_output_discard(&made);
    return status;
}

static rer_status open_direct(rer_output *output, rer_error *error)
{
    output->stream = fopen(output->path, "wb");
    return output->stream != NULL ? RER_OK : rer_output_fail(error, output->path, "cannot be opened");
}

rer_status rer_follow(char **real, const char *path, bool is_there, rer_error *error)
{
    if (!is_there)
        return rer_copy_text(real, path, error);
    *real = realpath(path, NULL);
    return *real != NULL ? RER_OK : rer_output_fail(error, path, "cannot be followed");
}

rer_status rer_output_open(rer_output *output, const char *path, rer_error *error)
{
    struct stat target, link;
    rer_output opened = {0};
    bool exists = stat(path, &target) == 0;
    bool is_link = exists && lstat(path, &link) == 0 && S_ISLNK(link.st_mode);
    bool direct = exists && (!S_ISREG(target.st_mode) || names_open_file(path));
    if (exists && S_ISDIR(target.st_mode)) {
        errno = EISDIR;
        return rer_output_fail(error, path, "cannot be made");
    }
    /* a link is followed, so that the file it points to is replaced and not the link */
    rer_status status = rer_follow(&opened.path, path, is_link && !direct, error);
    RER_THEN(status, direct ? open_direct(&opened, error) : open_temporary(&opened, error));
    if (status == RER_OK)
        *output = opened;
    else
        rer_output_discard(&opened);
    return status;
}

rer_status rer_output_write(rer_output *output, const void *bytes, int64_t count, rer_error *error)
{
    if (count > 0 && fwrite(bytes, 1, (size_t)count, output->stream) != (size_t)count)
        return rer_output_fail(error, output->path, "cannot be written");
    return RER_OK;
}

void rer_npy_head(char header[RER_NPY_HEADER], const char *descr, bool fortran, int32_t rank, const int64_t *shape)
{
    enum { LENGTH = RER_NPY_HEADER - 10 };
    char text[LENGTH + 1];
    unsigned char head[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, LENGTH, 0};
    int used = snprintf(text, sizeof text, "{'descr': '%.16s', 'fortran_order': %s, 'shape': (", descr,
                        fortran ? "True" : "False");
    for (int32_t i = 0; i < rank; i++)
        used +=
            snprintf(text + used, sizeof text - (size_t)used, "%lld,%s", (long long)shape[i], i + 1 < rank ? " " : "");
    used += snprintf(text + used, sizeof text - (size_t)used, "), }");
    memset(text + used, ' ', LENGTH - (size_t)used);
    text[LENGTH - 1] = '\n';
    memcpy(header, head, sizeof head);
    memcpy(header + sizeof head, text, LENGTH);
}

rer_status rer_output_npy_header(rer_output *output, const char *descr, bool fortran, int32_t rank,
                                 const int64_t *shape, rer_error *error)
{
    char header[RER_NPY_HEADER];
    rer_npy_head(header, descr, fortran, rank, shape);
    return rer_output_write(output, header, sizeof header, error);
}

/* Pipes and some file systems cannot be synced; that is no failure of the write. */
static bool sync_failed(int fd)
{
    return fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP && errno != EROFS;
}

static rer_status sync_folder(const char *path, rer_error *error)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool failed = fd < 0 || sync_failed(fd);
    rer_status status = failed ? rer_output_fail(error, path, "cannot be written") : RER_OK;
    if (fd >= 0)
        (void)close(fd);
    return status;
}

rer_status rer_output_finish(rer_output *output, rer_error *error)
{
    if (output->is_folder)
        return sync_folder(output->temporary, error);
    if (output->stream == NULL)
        return RER_OK;
    rer_status status = RER_OK;
    if (fflush(output->stream) != 0 || sync_failed(fileno(output->stream)))
        status = rer_output_fail(error, output->path, "cannot be written");
    if (fclose(output->stream) != 0 && status == RER_OK)
        status = rer_output_fail(error, output->path, "cannot be written");
    output->stream = NULL;
    return status;
}

/* ---- taking the final name ------------------------------------------------------------------ */

/* Three renames in place of an exchange. Between the first two the old folder has the name `aside` alone. */
static bool swap_folders(const char *temporary, const char *path)
{
    char aside[PATH_MAX];
    int length = snprintf(aside, sizeof aside, "%s.old", temporary);
    if (length < 0 || (size_t)length >= sizeof aside || rename(path, aside) != 0)
        return false;
    if (rename(temporary, path) == 0) {
        (void)rename(aside, temporary);
        return true;
    }
    int code = errno;
    (void)rename(aside, path);
    errno = code;
    return false;
}

static bool has_no_exchange(int code)
{
    return code == EINVAL || code == ENOSYS || code == EOPNOTSUPP || code == EXDEV;
}

static int place(const rer_output *output)
{
    if (rer_temporary_exchange(output->temporary, output->path))
        return EXCHANGED;
    if (errno == ENOENT) /* there is nothing to exchange it for */
        return rename(output->temporary, output->path) == 0 ? NEW : PENDING;
    if (!has_no_exchange(errno))
        return PENDING;
    if (output->is_folder)
        return swap_folders(output->temporary, output->path) ? EXCHANGED : PENDING;
    return rename(output->temporary, output->path) == 0 ? OVER : PENDING;
}

static void take_back(rer_output *output)
{
    if (output->placed == NEW)
        (void)rename(output->path, output->temporary);
    else if (output->placed == EXCHANGED)
        (void)place(output);
    output->placed = PENDING;
}

static rer_status place_all(rer_output *outputs, int count, rer_error *error)
{
    for (int i = 0; i < count; i++) {
        if (outputs[i].temporary == NULL)
            continue;
        outputs[i].placed = place(&outputs[i]);
        if (outputs[i].placed != PENDING)
            continue;
        rer_status status = rer_output_fail(error, outputs[i].path, "cannot be put in place");
        while (i-- > 0)
            take_back(&outputs[i]);
        return status;
    }
    return RER_OK;
}

/* The new one is there. A folder that cannot be synced still holds it, and what is left of the old one lies under a
 * name that nobody reads: nothing of this is reported. */
static void settle(rer_output *output)
{
    char *parent = strndup(output->path, (size_t)folder_length(output->path));
    if (parent != NULL)
        (void)sync_folder(parent[0] == 0 ? "." : parent, NULL);
    free(parent);
    if (output->placed == EXCHANGED && output->is_folder)
        rer_temporary_remove_folder(output->temporary, output->replaced != NULL ? output->replaced : "");
    else if (output->placed == EXCHANGED)
        (void)unlink(output->temporary);
    rer_temporary_free(&output->temporary);
    output->made = 0;
    rer_output_discard(output);
}

rer_status rer_outputs_commit(rer_output *outputs, int count, rer_error *error)
{
    for (int i = 0; i < count; i++)
        RER_TRY(rer_output_finish(&outputs[i], error));
    for (int i = 0; i < count; i++)
        rer_temporary_forget(outputs[i].temporary); /* it may be the old one's name from here on */
    RER_TRY(place_all(outputs, count, error));
    for (int i = 0; i < count; i++)
        if (outputs[i].path != NULL)
            settle(&outputs[i]);
    return RER_OK;
}

rer_status rer_output_commit(rer_output *output, rer_error *error)
{
    return rer_outputs_commit(output, 1, error);
}

/* ---- folders -------------------------------------------------------------------------------- */

/* Removes the parents that make_parents made: those of `made` bytes of the path, and more. */
static void remove_parents(char *path, size_t made)
{
    for (size_t length = strlen(path); length >= made; length--) {
        if (path[length] != '/' && path[length] != 0)
            continue;
        path[length] = 0;
        (void)rmdir(path);
    }
}

static rer_status fail_folder(rer_error *error, const char *path)
{
    if (errno == EEXIST)
        return rer_fail(error, RER_SYSTEM, "%s: is a file, not a folder; choose another output folder", path);
    return rer_output_fail(error, path, "the folder cannot be made");
}

/* Makes the parents of `path`; *first becomes the length of the first that was not there, 0: all were. */
static rer_status make_parents(char *path, size_t *first, rer_error *error)
{
    struct stat found;
    for (size_t end = 1; path[end] != 0; end++) {
        if (path[end] != '/')
            continue;
        path[end] = 0;
        bool made = mkdir(path, 0777) == 0;
        if (made && *first == 0)
            *first = end;
        bool usable = made || (errno == EEXIST && stat(path, &found) == 0 && S_ISDIR(found.st_mode));
        rer_status status = usable ? RER_OK : fail_folder(error, path);
        path[end] = '/';
        if (status != RER_OK)
            return status;
    }
    return RER_OK;
}

/* The folder's own name, links followed; as it was given where it is not there yet. */
static rer_status set_folder_path(rer_output *output, const char *path, rer_error *error)
{
    struct stat found;
    RER_TRY(rer_copy_text(&output->path, path, error));
    for (size_t length = strlen(output->path); length > 1 && output->path[length - 1] == '/'; length--)
        output->path[length - 1] = 0;
    RER_TRY(make_parents(output->path, &output->made, error));
    if (lstat(output->path, &found) != 0)
        return RER_OK;
    errno = EEXIST;
    if (stat(output->path, &found) != 0 || !S_ISDIR(found.st_mode))
        return fail_folder(error, output->path);
    free(output->path);
    output->path = NULL;
    output->made = 0;
    return rer_follow(&output->path, path, true, error);
}

rer_status rer_output_open_folder(rer_output *output, const char *path, rer_error *error)
{
    struct stat old;
    rer_output opened = {.is_folder = true};
    rer_status status = set_folder_path(&opened, path, error);
    RER_THEN(status, rer_temporary_make(&opened.temporary, NULL, opened.path, error));
    if (status == RER_OK && stat(opened.path, &old) == 0)
        (void)chmod(opened.temporary, old.st_mode & 07777); /* as its owner set it */
    if (status == RER_OK)
        *output = opened;
    else
        rer_output_discard(&opened);
    return status;
}

void rer_output_discard(rer_output *output)
{
    if (output->stream != NULL)
        (void)fclose(output->stream);
    if (output->temporary != NULL && output->is_folder)
        rer_temporary_remove_folder(output->temporary, NULL);
    else if (output->temporary != NULL)
        (void)unlink(output->temporary);
    rer_temporary_free(&output->temporary);
    if (output->made > 0)
        remove_parents(output->path, output->made);
    free(output->replaced);
    free(output->path);
    *output = (rer_output){0};
}
