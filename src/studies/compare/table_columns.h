/* Columns of a small CSV, by their names. */
#pragma once

#include "source/texts.h"

typedef struct rer_table_column {
    const char *name;
    bool is_optional; /* left empty where the file has no such column, else that is an error */
    rer_texts texts;  /* [rows], filled */
    bool found;
} rer_table_column;

/* Fills the texts of each column; *rows counts lines but the header. On an error nothing is left to free. */
rer_status rer_table_columns_read(rer_table_column *columns, int count, int64_t *rows, const char *path,
                                  rer_error *error);
void rer_table_columns_free(rer_table_column *columns, int count);

/* values [rows] of a column: NaN for an empty cell; anything else that is no number is an error. */
rer_status rer_table_column_numbers(double *values, const rer_table_column *column, const char *path, rer_error *error);
