/* X.npy.part: rows as they are made, so that work that was stopped can go on. */
#pragma once

#include "core/core.h"

typedef struct rer_rows_file {
    char *path;
    int fd;
    int64_t columns;
    bool is_half; /* float16, else float32 */
    int64_t rows; /* that are there */
} rer_rows_file;

#define RER_NO_ROWS_FILE ((rer_rows_file){.fd = -1})

/* Opens `out`.part. Where it is there already it must have the same checksum and kind of rows. */
rer_status rer_rows_file_open(rer_rows_file *file, const char *out, int64_t columns, bool is_half, uint64_t checksum,
                              rer_error *error);
/* Leaves out all rows from this one on. */
rer_status rer_rows_file_cut(rer_rows_file *file, int64_t rows, rer_error *error);
/* Appends float rows [count, columns]. A row of NaN stands for one that could not be made. */
rer_status rer_rows_file_add(rer_rows_file *file, const float *rows, int64_t count, rer_error *error);
int64_t rer_rows_file_row_bytes(const rer_rows_file *file);
/* One row as it is stored; false where it stands for none. */
rer_status rer_rows_file_read(const rer_rows_file *file, int64_t row, void *out, bool *is_there, rer_error *error);
void rer_rows_file_close(rer_rows_file *file);
rer_status rer_rows_file_remove(rer_rows_file *file, rer_error *error); /* and closes it */
