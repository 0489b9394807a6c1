/* Files are written under temporary names first, then all are renamed, so that a failure leaves the
 * folder as it was. */
#include "report/folder.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES_MOST 64

/* Removes the folders that make_folders made: those of `path` longer than `kept` bytes. */
static void remove_folders(char *path, size_t kept)
{
    for (size_t length = strlen(path); length > kept; length--) {
        if (path[length] != '/' && path[length] != 0)
            continue;
        path[length] = 0;
        (void)rmdir(path);
    }
}

/* Makes `path` and its parents; *kept becomes the length of the part that was there before. */
static rer_status make_folders(char *path, size_t *kept, rer_error *error)
{
    size_t length = strlen(path);
    struct stat found;
    *kept = length;
    for (size_t end = 1; end <= length; end++) {
        if (path[end] != '/' && path[end] != 0)
            continue;
        char saved = path[end];
        path[end] = 0;
        bool made = mkdir(path, 0777) == 0;
        if (made && *kept == length)
            *kept = end - 1;
        bool usable = made || (errno == EEXIST && stat(path, &found) == 0 && S_ISDIR(found.st_mode));
        rer_status status = RER_OK;
        if (!usable && errno == EEXIST)
            status = rer_fail(error, RER_SYSTEM, "%s: is a file, not a folder; choose another output folder", path);
        else if (!usable)
            status = rer_output_fail(error, path, "the folder cannot be made");
        path[end] = saved;
        if (status != RER_OK)
            return status;
    }
    return RER_OK;
}

static rer_status write_file(rer_output *output, const rer_folder_file *file, const char *folder, const void *context,
                             rer_error *error)
{
    char *path = NULL;
    rer_writer writer;
    int64_t size = (int64_t)(strlen(folder) + strlen(file->name)) + 2;
    rer_status status = rer_allocate(&path, size, 1, "a file name", error);
    if (status != RER_OK)
        return status;
    (void)snprintf(path, (size_t)size, "%s/%s", folder, file->name);
    status = rer_output_open(output, path, error);
    free(path);
    if (status != RER_OK)
        return status;
    rer_writer_start(&writer, output, error);
    status = file->write(&writer, context);
    if (status == RER_OK)
        status = rer_writer_end(&writer);
    return status == RER_OK ? rer_output_finish(output, error) : status;
}

static rer_status write_files(const char *folder, const rer_folder_file *files, int count, const void *const *contexts,
                              rer_error *error)
{
    rer_output outputs[FILES_MOST] = {0};
    rer_status status = RER_OK;
    for (int i = 0; i < count && status == RER_OK; i++)
        status = write_file(&outputs[i], &files[i], folder, contexts[i], error);
    if (status == RER_OK)
        status = rer_outputs_commit(outputs, count, error);
    for (int i = 0; i < count; i++)
        rer_output_discard(&outputs[i]);
    return status;
}

rer_status rer_folder_write_each(const char *folder, const rer_folder_file *files, int count,
                                 const void *const *contexts, rer_error *error)
{
    char *path = NULL;
    size_t kept = 0;
    if (folder[0] == 0)
        return rer_fail(error, RER_BAD_USAGE, "the output folder has no name; give one, or . for this folder");
    rer_status status = rer_copy_text(&path, folder, error);
    if (status != RER_OK)
        return status;
    status = make_folders(path, &kept, error);
    if (status == RER_OK)
        status = write_files(folder, files, count, contexts, error);
    if (status != RER_OK)
        remove_folders(path, kept);
    free(path);
    return status;
}

rer_status rer_folder_write(const char *folder, const rer_folder_file *files, int count, const void *context,
                            rer_error *error)
{
    const void *contexts[FILES_MOST];
    for (int i = 0; i < count; i++)
        contexts[i] = context;
    return rer_folder_write_each(folder, files, count, contexts, error);
}
