/* Writes the four files of a result into a folder: all of them under temporary names first, then
 * all are renamed, so that a failure leaves the folder as it was. */
#include "report/report.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef rer_status (*file_writer)(rer_writer *writer, const rer_result *result, const rer_dataset *data);

/* summary.json is last: it holds the time that the others took. */
static const struct {
    const char *name;
    file_writer write;
} files[] = {
    {"samples.csv", rer_write_samples},
    {"classes.csv", rer_write_classes},
    {"report.html", rer_write_html},
    {"summary.json", rer_write_json},
};

enum { N_FILES = sizeof files / sizeof files[0] };

void rer_option_text(const rer_options *options, const char *name, char *text, int64_t size)
{
    text[0] = 0;
    for (int i = 0; i < rer_options_count(); i++)
        if (strcmp(rer_options_info(i)->name, name) == 0)
            rer_options_get(options, i, text, size);
}

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

static rer_status write_file(rer_output *output, int index, const rer_result *result, const rer_dataset *data,
                             const char *folder, rer_error *error)
{
    char *path = NULL;
    rer_writer writer;
    int64_t size = (int64_t)(strlen(folder) + strlen(files[index].name)) + 2;
    rer_status status = rer_allocate(&path, size, 1, "a file name", error);
    if (status != RER_OK)
        return status;
    (void)snprintf(path, (size_t)size, "%s/%s", folder, files[index].name);
    status = rer_output_open(output, path, error);
    free(path);
    if (status != RER_OK)
        return status;
    rer_writer_start(&writer, output, error);
    status = files[index].write(&writer, result, data);
    if (status == RER_OK)
        status = rer_writer_end(&writer);
    return status == RER_OK ? rer_output_finish(output, error) : status;
}

static void set_write_seconds(rer_seconds *seconds, double write)
{
    seconds->total += write - seconds->write;
    seconds->write = write;
}

static rer_status write_files(rer_result *result, const rer_dataset *data, const char *folder, rer_error *error)
{
    rer_output outputs[N_FILES] = {0};
    rer_status status = RER_OK;
    double start = rer_now();
    for (int i = 0; i < N_FILES && status == RER_OK; i++) {
        set_write_seconds(&result->summary.seconds, rer_now() - start);
        status = write_file(&outputs[i], i, result, data, folder, error);
    }
    if (status == RER_OK)
        status = rer_outputs_commit(outputs, N_FILES, error);
    for (int i = 0; i < N_FILES; i++)
        rer_output_discard(&outputs[i]);
    return status;
}

rer_status rer_result_write(rer_result *result, const rer_dataset *data, const char *folder, rer_error *error)
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
        status = write_files(result, data, folder, error);
    if (status != RER_OK)
        remove_folders(path, kept);
    free(path);
    return status;
}
