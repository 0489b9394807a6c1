/* manifest.json: written last, read by those who replace a folder of results or read its files. */
#define _GNU_SOURCE /* statx */
#include "core/manifest.h"

#include "core/files.h"
#include "core/json.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { SIZE_MOST = 1 << 20, CHUNK = 1 << 16 };

void rer_manifest_put(rer_writer *writer, const char *command, const rer_manifest_file *files, int count)
{
    rer_json json = {.writer = writer};
    char sum[16];
    rer_json_object(&json, NULL);
    rer_json_text(&json, "command", command);
    rer_json_text(&json, "version", rer_version());
    rer_json_array(&json, "files");
    for (int i = 0; i < count; i++) {
        (void)snprintf(sum, sizeof sum, "%08x", (unsigned)files[i].crc32);
        rer_json_object(&json, NULL);
        rer_json_text(&json, "name", files[i].name);
        rer_json_integer(&json, "size", files[i].size);
        rer_json_text(&json, "crc32", sum);
        rer_json_end(&json);
    }
    rer_json_end(&json);
    rer_json_end(&json);
}

/* ---- reading -------------------------------------------------------------------------------- */

/* What jansson reads from: json_loadfd would take a failed read for the end. */
typedef struct json_input {
    int fd, cause; /* errno of a failure */
} json_input;

static size_t read_some(void *buffer, size_t length, void *context)
{
    json_input *input = context;
    ssize_t got = read(input->fd, buffer, length);
    if (got >= 0)
        return (size_t)got;
    input->cause = errno;
    return (size_t)-1;
}

static rer_status parse(json_t **manifest, int fd, const char *path, rer_error *error)
{
    struct stat found;
    json_error_t cause = {.text = "too large, or no regular file"};
    json_input input = {.fd = fd};
    bool usable = fstat(fd, &found) == 0 && S_ISREG(found.st_mode) && found.st_size <= SIZE_MOST;
    *manifest = usable ? json_load_callback(read_some, &input, 0, &cause) : NULL;
    if (*manifest != NULL)
        return RER_OK;
    errno = input.cause;
    if (input.cause != 0)
        return rer_fail_errno(error, "%s: cannot be read", path);
    if (usable && json_error_code(&cause) == json_error_out_of_memory)
        return rer_fail(error, RER_SYSTEM, "out of memory: %s", path);
    return rer_fail(error, RER_BAD_INPUT, "%s: is no manifest of rer: %s", path, cause.text);
}

/* *manifest: NULL where the folder has none. */
static rer_status read_manifest(json_t **manifest, const char *folder, rer_error *error)
{
    char *path = NULL;
    rer_status status = rer_join_path(&path, folder, RER_MANIFEST, error);
    *manifest = NULL;
    if (status != RER_OK)
        return status;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0) {
        status = parse(manifest, fd, path, error);
        (void)close(fd);
    } else if (errno != ENOENT && errno != ENOTDIR) {
        status = rer_fail_errno(error, "%s: cannot be read", path);
    }
    free(path);
    return status;
}

static const json_t *find_file(const json_t *manifest, const char *name)
{
    const json_t *files = json_object_get(manifest, "files");
    for (size_t i = 0; i < json_array_size(files); i++) {
        const json_t *file = json_array_get(files, i);
        const char *listed = json_string_value(json_object_get(file, "name"));
        if (listed != NULL && strcmp(listed, name) == 0)
            return file;
    }
    return NULL;
}

/* ---- replacing ------------------------------------------------------------------------------ */

static bool is_ours(int folder, const char *name, const json_t *manifest)
{
    struct stat found;
    bool listed = manifest != NULL && (strcmp(name, RER_MANIFEST) == 0 || find_file(manifest, name) != NULL);
    return listed && fstatat(folder, name, &found, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(found.st_mode);
}

static rer_status check_entries(rer_writer *names, const char *folder, const json_t *manifest, rer_error *error)
{
    DIR *opened = opendir(folder);
    const struct dirent *entry;
    rer_status status = RER_OK;
    if (opened == NULL)
        return rer_output_fail(error, folder, "cannot be read");
    while (status == RER_OK && (entry = readdir(opened)) != NULL) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            continue;
        if (strcmp(name, RER_JOURNAL) == 0)
            status = rer_fail(error, RER_BAD_USAGE,
                              "%s: holds " RER_JOURNAL ", the decisions of a review, and the whole folder would be "
                              "replaced; choose another folder, or move them away",
                              folder);
        else if (!is_ours(dirfd(opened), name, manifest))
            status = rer_fail(error, RER_BAD_USAGE,
                              "%s: holds %s, which no earlier run has left there (" RER_MANIFEST
                              " %s), and the whole folder would be replaced; move it away or choose another folder",
                              folder, name, manifest != NULL ? "does not list it" : "is missing");
        rer_puts(names, name, "\n");
    }
    (void)closedir(opened);
    return status;
}

static bool is_mount_point(const char *folder)
{
#ifdef STATX_ATTR_MOUNT_ROOT
    struct statx found;
    return statx(AT_FDCWD, folder, 0, STATX_TYPE, &found) == 0 && (found.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
#else
    (void)folder;
    return false;
#endif
}

/* What cannot take another name, or should not under the feet of who stands in it. */
static rer_status check_movable(const char *folder, rer_error *error)
{
    struct stat here, found;
    if (is_mount_point(folder))
        return rer_fail(error, RER_BAD_USAGE,
                        "%s: is where a file system is mounted, and cannot be replaced as a "
                        "whole; name a folder in it",
                        folder);
    if (stat(".", &here) == 0 && stat(folder, &found) == 0 && here.st_dev == found.st_dev &&
        here.st_ino == found.st_ino)
        return rer_fail(error, RER_BAD_USAGE,
                        "%s: is the working folder, and would be replaced as a whole; name a "
                        "folder in it",
                        folder);
    return RER_OK;
}

static rer_status check_command(const json_t *manifest, const char *folder, const char *command, rer_error *error)
{
    const char *other = json_string_value(json_object_get(manifest, "command"));
    if (manifest == NULL || (other != NULL && strcmp(other, command) == 0))
        return RER_OK;
    return rer_fail(error, RER_BAD_USAGE,
                    "%s: holds the results of rer %.20s; choose another folder for those of rer %s", folder,
                    other != NULL ? other : "", command);
}

static rer_status list_files(char **names, const char *folder, const json_t *manifest, rer_error *error)
{
    rer_writer writer;
    rer_writer_start(&writer, NULL, error);
    (void)rer_writer_ok(&writer, check_entries(&writer, folder, manifest, error));
    return rer_writer_end_memory(&writer, names);
}

rer_status rer_manifest_replaceable(char **names, const char *folder, const char *command, rer_error *error)
{
    json_t *manifest = NULL;
    char *found = NULL;
    rer_status status = check_movable(folder, error);
    RER_THEN(status, read_manifest(&manifest, folder, error));
    RER_THEN(status, check_command(manifest, folder, command, error));
    RER_THEN(status, list_files(&found, folder, manifest, error));
    json_decref(manifest);
    if (status == RER_OK && names != NULL)
        *names = found;
    else
        free(found);
    return status;
}

/* ---- checking ------------------------------------------------------------------------------- */

/* Size and checksum of what can be read. */
static rer_status sum_file(rer_manifest_file *file, const char *path, rer_error *error)
{
    unsigned char chunk[CHUNK];
    ssize_t got = 0;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    while (fd >= 0 && (got = read(fd, chunk, sizeof chunk)) > 0) {
        file->crc32 = (uint32_t)crc32(file->crc32, chunk, (unsigned)got);
        file->size += got;
    }
    rer_status status = fd >= 0 && got == 0 ? RER_OK : rer_fail_errno(error, "%s: cannot be read", path);
    if (fd >= 0)
        (void)close(fd);
    return status;
}

bool rer_path_is_waited_for(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 && !S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode);
}

static rer_status check_sum(const json_t *manifest, const char *path, const char *name, rer_error *error)
{
    const json_t *listed = find_file(manifest, name);
    const char *sum = json_string_value(json_object_get(listed, "crc32"));
    json_int_t size = json_integer_value(json_object_get(listed, "size"));
    rer_manifest_file file = {.name = name};
    char own[16];
    RER_TRY(sum_file(&file, path, error));
    (void)snprintf(own, sizeof own, "%08x", (unsigned)file.crc32);
    if (sum == NULL || size != file.size || strcmp(sum, own) != 0)
        return rer_fail(
            error, RER_BAD_INPUT,
            "%s: is not the file that the run has left: it has %lld bytes with the CRC-32 %s, but " RER_MANIFEST
            " says %lld and %.8s; repeat the run, or remove " RER_MANIFEST " to take files as they are",
            path, (long long)file.size, own, (long long)size, sum != NULL ? sum : "nothing");
    return RER_OK;
}

/* Those that read tables say what they need. */
static bool has_arrays_alone(const json_t *manifest, const char *name)
{
    return strcmp(name, "samples.csv") == 0 && find_file(manifest, name) == NULL &&
           find_file(manifest, "samples.npz") != NULL;
}

static rer_status check_file(const json_t *manifest, const char *folder, const char *name, rer_error *error)
{
    char *path = NULL;
    if (manifest != NULL && has_arrays_alone(manifest, name))
        return rer_fail(
            error, RER_BAD_INPUT,
            "%s: has its samples in samples.npz, for programs; samples.csv is needed here: repeat rer analyze "
            "without --format npz",
            folder);
    rer_status status = rer_join_path(&path, folder, name, error);
    if (status == RER_OK && rer_path_is_waited_for(path))
        status = rer_fail(error, RER_BAD_INPUT, "%s: is no file, but a pipe or a device", path);
    if (status == RER_OK && manifest != NULL)
        status = check_sum(manifest, path, name, error);
    free(path);
    return status;
}

rer_status rer_manifest_check(const char *folder, const char *const *files, int count, rer_error *error)
{
    json_t *manifest = NULL;
    rer_status status = read_manifest(&manifest, folder, error);
    for (int i = 0; status == RER_OK && i < count; i++)
        status = check_file(manifest, folder, files[i], error);
    json_decref(manifest);
    return status;
}
