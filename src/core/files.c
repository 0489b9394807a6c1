/* A folder is made whole under a temporary name, with its manifest, and exchanged for the old one. */
#include "core/files.h"

#include "core/manifest.h"
#include "core/pool.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

rer_status rer_file_write(const char *path, rer_putter *put, const void *what, int which, rer_error *error)
{
    rer_writer writer;
    rer_output output = {0};
    RER_TRY(rer_output_open(&output, path, error));
    rer_writer_start(&writer, &output, error);
    put(&writer, what, which);
    rer_status status = rer_writer_end(&writer);
    RER_THEN(status, rer_output_commit(&output, error));
    rer_output_discard(&output);
    return status;
}

static void put_text(rer_writer *writer, const void *text, int which)
{
    (void)which;
    rer_put(writer, text);
}

rer_status rer_save_text(const char *path, const char *text, rer_error *error)
{
    rer_error_clear(error);
    return rer_file_write(path, put_text, text, 0, error);
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

/* ---- folders -------------------------------------------------------------------------------- */

typedef struct folder_state {
    const rer_folder *folder;
    const rer_output *output;
    const rer_file *wanted[RER_FILES_MOST];
    rer_manifest_file done[RER_FILES_MOST];
    int count;
} folder_state;

static void put_manifest(rer_writer *writer, const void *what, int which)
{
    const folder_state *state = what;
    (void)which;
    rer_manifest_put(writer, state->folder->command, state->done, state->count);
}

static rer_status write_file(rer_manifest_file *done, const folder_state *state, const rer_file *file, const void *what,
                             rer_error *error)
{
    rer_writer writer;
    rer_output output = {0};
    RER_TRY(rer_output_create(&output, state->output, file->name, error));
    rer_writer_start(&writer, &output, error);
    writer.spreadsheet_safe = state->folder->spreadsheet_safe;
    file->put(&writer, what, file->which);
    rer_status status = rer_writer_end(&writer);
    RER_THEN(status, rer_output_finish(&output, error));
    *done = (rer_manifest_file){file->name, writer.put, writer.crc32};
    rer_output_discard(&output);
    return status;
}

static rer_status write_wanted(void *context, int64_t item, void *scratch, rer_error *error)
{
    folder_state *state = context;
    (void)scratch;
    return write_file(&state->done[item], state, state->wanted[item], state->folder->what, error);
}

/* All files but the last, several at once: a large one is waited for while others are made. */
static rer_status write_at_once(folder_state *state, rer_error *error)
{
    rer_pool *pool = NULL;
    rer_pool_settings settings = {.threads = state->folder->at_once};
    rer_job job = {
        .stage = "writing", .from = 1, .to = 1, .items = state->count - 1, .work = write_wanted, .context = state};
    rer_status status = rer_pool_open(&pool, &settings, error);
    RER_THEN(status, rer_pool_run(pool, &job, error));
    rer_pool_close(pool);
    return status;
}

static rer_status write_files(folder_state *state, rer_error *error)
{
    static const rer_file manifest = {RER_MANIFEST, put_manifest, 0, 0};
    const rer_folder *folder = state->folder;
    rer_manifest_file unlisted;
    for (int i = 0; i < folder->count; i++)
        if ((folder->files[i].needs & ~folder->has) == 0)
            state->wanted[state->count++] = &folder->files[i];
    bool at_once = folder->at_once > 1 && state->count > 1;
    if (at_once)
        RER_TRY(write_at_once(state, error));
    for (int i = at_once ? state->count - 1 : 0; i < state->count; i++)
        RER_TRY(write_wanted(state, i, NULL, error));
    return write_file(&unlisted, state, &manifest, state, error);
}

static bool is_there(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0;
}

rer_status rer_folder_stage(rer_output *output, const char *path, const rer_folder *folder, rer_error *error)
{
    rer_output made = {0};
    folder_state state = {.folder = folder, .output = &made};
    rer_status status = rer_check_output(path, folder->command, error);
    RER_THEN(status, rer_output_open_folder(&made, path, error));
    RER_THEN(status, write_files(&state, error));
    if (status == RER_OK && is_there(made.path)) /* again: much time may have passed */
        status = rer_manifest_replaceable(&made.replaced, made.path, folder->command, error);
    if (status == RER_OK)
        *output = made;
    else
        rer_output_discard(&made);
    return status;
}

rer_status rer_folder_write(const char *path, const rer_folder *folder, rer_error *error)
{
    rer_output output = {0};
    rer_error_clear(error);
    rer_status status = rer_folder_stage(&output, path, folder, error);
    RER_THEN(status, rer_output_commit(&output, error));
    rer_output_discard(&output);
    return status;
}

/* ---- what can be written -------------------------------------------------------------------- */

/* Cuts the last name off. */
static void cut_to_parent(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash == NULL)
        strcpy(path, "."); /* fits: a name has one byte at least */
    else
        slash[slash == path ? 1 : 0] = 0;
}

/* The folder where something new is made for `path`: its parent or, as folders are made too, the nearest above. */
static rer_status check_parent(char *path, bool makes_folders, const char *given, rer_error *error)
{
    do
        cut_to_parent(path);
    while (makes_folders && !is_there(path) && strcmp(path, ".") != 0 && strcmp(path, "/") != 0);
    struct stat found;
    bool usable = stat(path, &found) == 0;
    if (usable && !S_ISDIR(found.st_mode)) {
        errno = ENOTDIR;
        usable = false;
    }
    if (usable && access(path, W_OK | X_OK) == 0)
        return RER_OK;
    return rer_output_fail(error, given, makes_folders ? "the folder cannot be made" : "cannot be made");
}

rer_status rer_check_output(const char *path, const char *command, rer_error *error)
{
    struct stat found;
    bool is_folder = command != NULL;
    rer_error_clear(error);
    if (path == NULL || path[0] == 0)
        return rer_fail(error, RER_BAD_USAGE, "the output has no name; give one");
    bool exists = stat(path, &found) == 0;
    if (exists && is_folder && !S_ISDIR(found.st_mode))
        return rer_fail(error, RER_SYSTEM, "%s: is a file, not a folder; choose another output folder", path);
    if (exists && !is_folder && S_ISDIR(found.st_mode))
        return rer_fail(error, RER_SYSTEM, "%s: is a folder; name a file", path);
    if (exists && !is_folder && !S_ISREG(found.st_mode))
        return RER_OK; /* a device, a FIFO */
    char *real = NULL;
    rer_status status = exists && is_folder ? rer_manifest_replaceable(NULL, path, command, error) : RER_OK;
    RER_THEN(status, rer_follow(&real, path, exists, error));
    RER_THEN(status, check_parent(real, is_folder, path, error));
    free(real);
    return status;
}
