/* Files of a folder are written under temporary names first, then all are renamed, so that a failure leaves the
 * folder as it was. */
#include "core/files.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

rer_status rer_join_path(char **path, const char *folder, const char *name, rer_error *error)
{
    size_t size = strlen(folder) + strlen(name) + 2;
    rer_status status = rer_allocate(path, (int64_t)size, 1, "a file name", error);
    if (status == RER_OK)
        (void)snprintf(*path, size, "%s/%s", folder, name);
    return status;
}

/* Under its temporary name. */
static rer_status write_text(rer_output *output, const char *path, rer_putter *put, const void *what, int which,
                             rer_error *error)
{
    rer_writer writer;
    rer_status status = rer_output_open(output, path, error);
    if (status != RER_OK)
        return status;
    rer_writer_start(&writer, output, error);
    put(&writer, what, which);
    status = rer_writer_end(&writer);
    return status == RER_OK ? rer_output_finish(output, error) : status;
}

rer_status rer_file_write(const char *path, rer_putter *put, const void *what, int which, rer_error *error)
{
    rer_output output = {0};
    rer_status status = write_text(&output, path, put, what, which, error);
    if (status == RER_OK)
        status = rer_output_commit(&output, error);
    rer_output_discard(&output);
    return status;
}

rer_status rer_file_text(char **text, rer_putter *put, const void *what, rer_error *error)
{
    rer_writer writer;
    rer_error_clear(error);
    rer_writer_start(&writer, NULL, error);
    put(&writer, what, 0);
    rer_status status = rer_writer_end_memory(&writer, text);
    size_t length = status == RER_OK ? strlen(*text) : 0;
    if (length > 0 && (*text)[length - 1] == '\n')
        (*text)[length - 1] = 0;
    return status;
}

static rer_status write_files(const char *folder, const rer_file *files, int count, const void *what, unsigned has,
                              rer_error *error)
{
    rer_output outputs[RER_FILES_MOST] = {0};
    int opened = 0;
    rer_status status = RER_OK;
    for (int i = 0; i < count && status == RER_OK; i++) {
        char *path = NULL;
        if ((files[i].needs & ~has) != 0)
            continue;
        status = rer_join_path(&path, folder, files[i].name, error);
        if (status == RER_OK)
            status = write_text(&outputs[opened++], path, files[i].put, what, files[i].which, error);
        free(path);
    }
    if (status == RER_OK)
        status = rer_outputs_commit(outputs, opened, error);
    for (int i = 0; i < opened; i++)
        rer_output_discard(&outputs[i]);
    return status;
}

rer_status rer_folder_write(const char *folder, const rer_file *files, int count, const void *what, unsigned has,
                            rer_error *error)
{
    char *path = NULL;
    size_t kept = 0;
    rer_error_clear(error);
    if (folder[0] == 0)
        return rer_fail(error, RER_BAD_USAGE, "the output folder has no name; give one, or . for this folder");
    rer_status status = rer_copy_text(&path, folder, error);
    if (status != RER_OK)
        return status;
    status = make_folders(path, &kept, error);
    if (status == RER_OK)
        status = write_files(folder, files, count, what, has, error);
    if (status != RER_OK)
        remove_folders(path, kept);
    free(path);
    return status;
}
