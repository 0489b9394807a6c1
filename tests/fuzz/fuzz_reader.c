/* What the fuzzers of the readers share: see fuzz_reader.h. */
#include "fuzz_reader.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define READ_MAX (1 << 20) /* bytes of rows: enough for any place, and fast */

static char folder[] = "/tmp/rer-fuzz-XXXXXX", path[64];
static int file = -1;

static void remove_folder(void)
{
    (void)unlink(path);
    (void)rmdir(folder);
}

const char *fuzz_file(const char *ending, const uint8_t *data, size_t size)
{
    if (path[0] == 0) {
        if (mkdtemp(folder) == NULL)
            abort();
        (void)snprintf(path, sizeof path, "%s/x%s", folder, ending);
        (void)atexit(remove_folder);
        file = open(path, O_WRONLY | O_CREAT, 0600);
    }
    /* Cut to size afterwards: some file systems flush a file that was cut to nothing when it is written. */
    if (file < 0 || pwrite(file, data, size, 0) != (ssize_t)size || ftruncate(file, (off_t)size) != 0)
        abort();
    return path;
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
