/* What the fuzzers of the readers share: see fuzz_reader.h. */
#include "fuzz_reader.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READ_MAX (1 << 20) /* bytes of rows: enough for any place, and fast */

enum { FILES_MAX = 8 };

typedef struct kept_file {
    char path[96];
    int fd;
} kept_file;

static char folder[] = "/tmp/rer-fuzz-XXXXXX";
static kept_file kept[FILES_MAX];
static int n_kept;

static void remove_folder(void)
{
    for (int i = 0; i < n_kept; i++)
        (void)unlink(kept[i].path);
    (void)rmdir(folder);
}

static kept_file *find_file(const char *name)
{
    char path[sizeof kept[0].path];
    if (n_kept == 0 && (mkdtemp(folder) == NULL || atexit(remove_folder) != 0))
        abort();
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    for (int i = 0; i < n_kept; i++)
        if (strcmp(kept[i].path, path) == 0)
            return &kept[i];
    if (n_kept == FILES_MAX)
        abort();
    kept_file *file = &kept[n_kept++];
    (void)snprintf(file->path, sizeof file->path, "%s", path);
    file->fd = open(path, O_WRONLY | O_CREAT, 0600);
    return file;
}

const char *fuzz_folder(void)
{
    return folder;
}

const char *fuzz_named_file(const char *name, const void *data, size_t size)
{
    kept_file *file = find_file(name);
    /* Cut to size afterwards: some file systems flush a file that was cut to nothing when it is written. */
    if (file->fd < 0 || pwrite(file->fd, data, size, 0) != (ssize_t)size || ftruncate(file->fd, (off_t)size) != 0)
        abort();
    return file->path;
}

void fuzz_files(const char *const *names, int count, const uint8_t *data, size_t size)
{
    for (int i = 0; i < count; i++) {
        const uint8_t *end = memchr(data, 255, size);
        size_t length = end != NULL ? (size_t)(end - data) : size;
        (void)fuzz_named_file(names[i], data, length);
        data += length + (end != NULL);
        size -= length + (end != NULL);
    }
}

const char *fuzz_file(const char *ending, const uint8_t *data, size_t size)
{
    char name[32];
    (void)snprintf(name, sizeof name, "x%s", ending);
    return fuzz_named_file(name, data, size);
}

static rer_options *one_thread(const char *detector)
{
    rer_options *options = NULL;
    if (rer_options_new(&options, NULL) != RER_OK || rer_options_set_integer(options, "threads", 1, NULL) != RER_OK ||
        rer_options_set(options, "detector", detector, NULL) != RER_OK)
        abort();
    return options;
}

void fuzz_analysis(rer_files files, const char *detector)
{
    static const char rows[] = "0,0\n1,0\n0,1\n1,2\n5,5\n6,5\n5,6\n6,7\n", labels[] = "a\na\na\na\nb\nb\nb\nb\n";
    static rer_options *options;
    rer_error error = {0};
    rer_dataset *data = NULL;
    rer_result *result = NULL;
    if (options == NULL)
        options = one_thread(detector);
    files.size = sizeof files;
    files.features = fuzz_named_file("features.csv", rows, sizeof rows - 1);
    files.labels = fuzz_named_file("labels.csv", labels, sizeof labels - 1);
    if (rer_dataset_open(&data, &files, options, &error) == RER_OK)
        (void)rer_analyze(&result, data, options, NULL, NULL, &error);
    if (error.status != RER_OK && error.message[0] == 0)
        abort(); /* every failure says why */
    rer_result_free(result);
    rer_dataset_free(data);
}

static void read_rows(const rer_array *array)
{
    int64_t row_bytes = rer_array_row_bytes(array), columns = rer_array_columns(array);
    int64_t count = rer_min(array->shape[0], READ_MAX / rer_max(row_bytes, columns * (int64_t)sizeof(float)));
    float *rows = malloc((size_t)(count * columns) * sizeof *rows + 1);
    void *scratch = malloc((size_t)(count * row_bytes) + 1);
    if (rows == NULL || scratch == NULL)
        abort();
    (void)rer_array_rows(array, 0, count, rows, scratch, NULL);
    (void)rer_array_rows(array, array->shape[0] - count, count, rows, scratch, NULL);
    free(rows);
    free(scratch);
}

void fuzz_array(const char *name)
{
    rer_error error = {0};
    rer_array array = {0};
    rer_labels labels = {0};
    if (rer_array_open(&array, name, &error) == RER_OK) {
        read_rows(&array);
        if (rer_labels_from_array(&labels, &array, &error) == RER_OK)
            rer_labels_free(&labels);
        rer_array_close(&array);
    } else if (error.message[0] == 0) {
        abort(); /* every failure says why */
    }
}
