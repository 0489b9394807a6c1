/* The outputs of an analysis, with every call that makes, writes, syncs, closes or renames files failed once: the folder,
 * the errors and the model are the old ones or the new ones, whole, and where exchanges are possible all of the same run.
 * The linker leads the library's calls here (--wrap). */
#include "core/manifest.h"
#include "core/temporary.h"
#include "files.h"
#include "made_data.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int __real_rename(const char *from, const char *to);
int __real_renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags);
size_t __real_fwrite(const void *bytes, size_t size, size_t count, FILE *stream);
int __real_fflush(FILE *stream);
int __real_fclose(FILE *stream);
int __real_close(int fd);
ssize_t __real_read(int fd, void *bytes, size_t size);
int __real_mkdir(const char *path, mode_t mode);
int __real_open64(const char *path, int flags, ...);
int __wrap_rename(const char *from, const char *to);
int __wrap_renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags);
int __wrap_fsync(int fd);
size_t __wrap_fwrite(const void *bytes, size_t size, size_t count, FILE *stream);
int __wrap_fflush(FILE *stream);
int __wrap_fclose(FILE *stream);
int __wrap_close(int fd);
ssize_t __wrap_read(int fd, void *bytes, size_t size);
int __wrap_mkdir(const char *path, mode_t mode);
int __wrap_open64(const char *path, int flags, ...);

static int before_failure = -1; /* calls that still work; negative: all */
static int exchange_errno;      /* of a file system without exchanges; 0: it has them */
static const char *failed;      /* the call that failed */

static bool fails_now(const char *call)
{
    if (before_failure < 0 || before_failure-- > 0)
        return false;
    failed = call;
    errno = EIO;
    return true;
}

int __wrap_rename(const char *from, const char *to)
{
    return fails_now("rename") ? -1 : __real_rename(from, to);
}

int __wrap_renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags)
{
    struct stat found;
    if (exchange_errno != 0 && stat(to, &found) == 0) {
        errno = exchange_errno;
        return -1;
    }
    return fails_now("renameat2") ? -1 : __real_renameat2(from_folder, from, to_folder, to, flags);
}

int __wrap_fsync(int fd)
{
    (void)fd;
    return fails_now("fsync") ? -1 : 0; /* a power cut is not what is tried here */
}

size_t __wrap_fwrite(const void *bytes, size_t size, size_t count, FILE *stream)
{
    return fails_now("fwrite") ? 0 : __real_fwrite(bytes, size, count, stream);
}

int __wrap_fflush(FILE *stream)
{
    return fails_now("fflush") ? EOF : __real_fflush(stream);
}

int __wrap_fclose(FILE *stream)
{
    int code = __real_fclose(stream);
    return fails_now("fclose") ? EOF : code;
}

int __wrap_close(int fd)
{
    int code = __real_close(fd);
    return fails_now("close") ? -1 : code;
}

ssize_t __wrap_read(int fd, void *bytes, size_t size)
{
    return fails_now("read") ? -1 : __real_read(fd, bytes, size);
}

int __wrap_mkdir(const char *path, mode_t mode)
{
    return fails_now("mkdir") ? -1 : __real_mkdir(path, mode);
}

int __wrap_open64(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
    va_end(more);
    return fails_now("open") ? -1 : __real_open64(path, flags, mode);
}

/* ---- two runs that differ --------------------------------------------------------------------- */

enum { OLD_ROWS = 40, NEW_ROWS = 30 };

static made_data made;

static rer_status run(int64_t rows, bool details, rer_error *error)
{
    rer_dataset *data = NULL;
    rer_result *result = NULL;
    rer_options options = rer_options_default();
    rer_view features = {.data = made.x, .dtype = RER_F32, .rank = 2, .shape = {rows, made.D}};
    rer_view labels = {.data = made.code, .dtype = RER_I32, .rank = 1, .shape = {rows}};
    rer_outputs outputs = {.size = sizeof outputs,
                           .errors = file_path("errors.npy"),
                           .model = file_path("model"),
                           .folder = file_path("out")};
    options.details = details;
    options.threads = 1;
    rer_status status = rer_dataset_wrap(&data, &features, &labels, &options, error);
    if (status == RER_OK)
        status = rer_analyze(&result, data, &options, &outputs, NULL, error);
    rer_result_free(result);
    rer_dataset_free(data);
    return status;
}

static int count_entries(const char *folder)
{
    int count = 0;
    DIR *opened = opendir(folder);
    assert_non_null(opened);
    for (const struct dirent *entry; (entry = readdir(opened)) != NULL;)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    (void)closedir(opened);
    return count;
}

/* What stays where the removal of the old folder itself fails, after all is done. */
static void remove_leftovers(void)
{
    DIR *opened = opendir(file_path("."));
    for (const struct dirent *entry; (entry = readdir(opened)) != NULL;)
        if (entry->d_name[0] == '.' && strchr("./", entry->d_name[1]) == NULL)
            rer_temporary_remove_folder(file_path(entry->d_name), NULL);
    (void)closedir(opened);
}

/* Whole by its manifest, with nothing beside; returns the rows that its summary speaks of. */
static int64_t rows_of_folder(void)
{
    char path[600];
    rer_error error = {0};
    json_t *manifest = json_load_file(file_path("out/" RER_MANIFEST), 0, NULL);
    const json_t *files = json_object_get(manifest, "files");
    assert_true(json_array_size(files) >= 4);
    for (size_t i = 0; i < json_array_size(files); i++) {
        const char *name = json_string_value(json_object_get(json_array_get(files, i), "name"));
        assert_int_equal(rer_manifest_check(file_path("out"), &name, 1, &error), RER_OK);
    }
    assert_int_equal(count_entries(file_path("out")), (int)json_array_size(files) + 1);
    json_decref(manifest);
    (void)snprintf(path, sizeof path, "%s", file_path("out/summary.json"));
    json_t *summary = json_load_file(path, 0, NULL);
    int64_t rows = json_integer_value(json_object_get(summary, "n_samples"));
    json_decref(summary);
    return rows;
}

static int64_t rows_of_errors(void)
{
    int64_t size = 0;
    free(read_whole(file_path("errors.npy"), &size));
    return (size - 256) / (int64_t)sizeof(float) / made.C;
}

static int64_t rows_of_model(void)
{
    rer_model *model = NULL;
    int64_t size = 0;
    unsigned char *bytes = read_whole(file_path("model"), &size);
    assert_int_equal(rer_model_unpack(&model, bytes, size, NULL), RER_OK);
    rer_model_free(model);
    uint32_t sum = 0;
    for (int64_t i = 0; i < size; i++)
        sum = sum * 31 + bytes[i];
    free(bytes);
    static uint32_t old; /* the first that is seen is the old one's */
    if (old == 0)
        old = sum;
    return sum == old ? OLD_ROWS : NEW_ROWS;
}

/* Fails each call once, until none is left. */
static int fail_each(bool together)
{
    int cases = 0;
    for (;; cases++) {
        rer_error error = {0};
        assert_int_equal(run(OLD_ROWS, true, NULL), RER_OK);
        assert_int_equal(rows_of_folder(), OLD_ROWS);
        assert_int_equal(rows_of_model(), OLD_ROWS);
        failed = NULL;
        before_failure = cases;
        rer_status status = run(NEW_ROWS, false, &error);
        before_failure = -1;
        int64_t folder = rows_of_folder(), errors = rows_of_errors(), model = rows_of_model();
        assert_true(folder == OLD_ROWS || folder == NEW_ROWS);
        assert_true(errors == OLD_ROWS || errors == NEW_ROWS);
        assert_int_equal(folder, status == RER_OK ? NEW_ROWS : OLD_ROWS);
        if (together && (errors != folder || model != folder))
            fail_msg("call %d, %s: the folder has %lld rows, the errors %lld, the model %lld", cases, failed,
                     (long long)folder, (long long)errors, (long long)model);
        if (failed == NULL)
            break;
        if (status != RER_OK) {
            assert_int_equal(status, RER_SYSTEM);
            assert_true(error.message[0] != 0);
            assert_int_equal(count_entries(file_path(".")), 3);
        }
        remove_leftovers();
    }
    assert_int_equal(rows_of_folder(), NEW_ROWS);
    assert_int_equal(access(file_path("out/details.json"), F_OK), -1); /* nothing is left of the old run */
    assert_int_equal(count_entries(file_path(".")), 3);
    return cases;
}

static void every_call_fails_once(void **state)
{
    (void)state;
    assert_true(fail_each(true) > 40);
}

/* Files are renamed over the old ones then, which cannot be taken back. */
static void every_call_fails_once_without_exchanges(void **state)
{
    (void)state;
    exchange_errno = EINVAL;
    int cases = fail_each(false);
    exchange_errno = 0;
    assert_true(cases > 40);
}

static int make_data(void **state)
{
    made_settings settings = {.N = OLD_ROWS, .D = 4, .C = 2, .separation = 6};
    made = made_data_make(&settings);
    return files_setup(state);
}

static int free_data(void **state)
{
    made_data_free(&made);
    rer_temporary_remove_folder(file_path("out"), NULL);
    return files_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_call_fails_once, make_data, free_data),
        cmocka_unit_test_setup_teardown(every_call_fails_once_without_exchanges, make_data, free_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
