/* The cells of a CSV or TSV text, one after the other (RFC 4180, read by libcsv). */
#pragma once

#include "source/formats.h"

/* `line` counts from 1, as an editor shows it; `column` from 0. A callback that fails stops the reading.
 * `text` ends in a zero. A blank line is an empty cell in a file of one column; elsewhere it is left out. */
typedef struct rer_csv_handler {
    rer_status (*cell)(void *context, int64_t line, int64_t column, const char *text, int64_t length, rer_error *error);
    rer_status (*row)(void *context, int64_t line, rer_error *error); /* all its cells were given */
    rer_status (*part)(void *context, double done, rer_error *error); /* so much of all was read; or NULL */
    void *context;
} rer_csv_handler;

/* Rows of different length are an error. *trailing: blank lines at the end of a file of one column,
 * which may be rows or a careless editor's: the caller knows. */
rer_status rer_csv_read(const rer_input *input, char delimiter, const rer_csv_handler *handler, int64_t *trailing,
                        rer_error *error);

#define RER_NO_DELIMITER 0 /* one cell a line, with no quoting at all */
/* For texts: comma in .csv and standard input, tab in .tsv, none elsewhere. */
char rer_csv_texts_delimiter(const rer_input *input);
/* For numbers: the same where the name says so, else what the first line has: tab, comma or space. */
rer_status rer_csv_numbers_delimiter(const rer_input *input, char *delimiter, rer_error *error);
