/* Output files that a reader sees whole or not at all.
 *
 * A temporary file beside the final one is written and synced, renamed over it, and the folder is
 * synced. What cannot be renamed over (a FIFO, a device) is written directly. Every failure here
 * is RER_SYSTEM: the disk or its permissions stand in the way, not the data. */
#include "core/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NAME_TRIES 100
#define STEM_MAX 200 /* bytes of the final name kept in the temporary one: NAME_MAX is 255 */

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

/* Opens a new file `.name.XXXXXX.tmp` beside `path`. Unlike mkstemp, open() honours the umask, which
 * cannot be read without changing it for other threads. */
static int create_temporary(const char *path, char *temporary, size_t size)
{
    static atomic_uint counter;
    int64_t folder = folder_length(path);
    for (int i = 0; i < NAME_TRIES; i++) {
        unsigned mix = (unsigned)getpid() * 2654435761U + atomic_fetch_add(&counter, 1) * 40503U + (unsigned)time(NULL);
        (void)snprintf(temporary, size, "%.*s.%.*s.%06x.tmp", (int)folder, path, STEM_MAX, path + folder,
                       mix & 0xFFFFFFU);
        int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

static rer_status open_temporary(rer_output *output, rer_error *error)
{
    size_t size = strlen(output->path) + 32;
    rer_status status = rer_allocate(&output->temporary, (int64_t)size, 1, "a file name", error);
    if (status != RER_OK)
        return status;
    int fd = create_temporary(output->path, output->temporary, size);
    if (fd < 0) {
        status = rer_output_fail(error, output->path, "cannot be made");
        free(output->temporary); /* there is nothing to remove */
        output->temporary = NULL;
        return status;
    }
    output->stream = fdopen(fd, "wb");
    if (output->stream == NULL) {
        status = rer_output_fail(error, output->path, "cannot be opened");
        (void)close(fd);
    }
    return status;
}

static rer_status open_direct(rer_output *output, rer_error *error)
{
    output->stream = fopen(output->path, "wb");
    return output->stream != NULL ? RER_OK : rer_output_fail(error, output->path, "cannot be opened");
}

/* The final name: a link is followed, so that the file it points to is replaced and not the link. */
static rer_status set_path(rer_output *output, const char *path, bool is_link, rer_error *error)
{
    if (!is_link)
        return rer_copy_text(&output->path, path, error);
    output->path = realpath(path, NULL);
    return output->path != NULL ? RER_OK : rer_output_fail(error, path, "cannot be followed");
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
    rer_status status = set_path(&opened, path, is_link && !direct, error);
    if (status == RER_OK)
        status = direct ? open_direct(&opened, error) : open_temporary(&opened, error);
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

rer_status rer_output_npy_header(rer_output *output, const char *descr, bool fortran, int32_t rank,
                                 const int64_t *shape, rer_error *error)
{
    enum { LENGTH = 246 }; /* 10 bytes before it: the data start at a multiple of 64 */
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
    rer_status status = rer_output_write(output, head, sizeof head, error);
    return status == RER_OK ? rer_output_write(output, text, LENGTH, error) : status;
}

/* Pipes and some file systems cannot be synced; that is no failure of the write. */
static bool sync_failed(int fd)
{
    return fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP && errno != EROFS;
}

rer_status rer_output_finish(rer_output *output, rer_error *error)
{
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

/* Makes the rename last through a power cut. A folder that cannot be opened or synced still holds
 * the whole new file, so nothing is reported. */
static void sync_folder(const char *path)
{
    char *folder = strndup(path, (size_t)folder_length(path));
    int fd = folder == NULL ? -1 : open(folder[0] == 0 ? "." : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd);
        (void)close(fd);
    }
    free(folder);
}

static rer_status rename_into_place(rer_output *output, rer_error *error)
{
    if (output->temporary == NULL)
        return RER_OK;
    if (rename(output->temporary, output->path) != 0)
        return rer_output_fail(error, output->path, "cannot be put in place");
    free(output->temporary);
    output->temporary = NULL;
    return RER_OK;
}

rer_status rer_outputs_commit(rer_output *outputs, int count, rer_error *error)
{
    rer_status status = RER_OK;
    for (int i = 0; i < count && status == RER_OK; i++)
        status = rer_output_finish(&outputs[i], error);
    for (int i = 0; i < count && status == RER_OK; i++)
        status = rename_into_place(&outputs[i], error);
    if (status != RER_OK)
        return status;
    if (count > 0)
        sync_folder(outputs[0].path);
    for (int i = 0; i < count; i++)
        rer_output_discard(&outputs[i]);
    return RER_OK;
}

rer_status rer_output_commit(rer_output *output, rer_error *error)
{
    return rer_outputs_commit(output, 1, error);
}

void rer_output_discard(rer_output *output)
{
    if (output->stream != NULL)
        (void)fclose(output->stream);
    if (output->temporary != NULL)
        (void)unlink(output->temporary);
    free(output->temporary);
    free(output->path);
    *output = (rer_output){0};
}
