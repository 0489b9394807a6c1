/* The text of each row, for people to read: lines of a text, a column of a table, a member of JSON lines.
 * Only the rows that are shown are kept. */
#pragma once

#include "source/formats.h"

#define RER_ANY_ROWS (-1)

typedef struct rer_row_texts {
    rer_input input;    /* name NULL where there are none */
    char *field;        /* column of a table or member of an object, or NULL: the only one, or "text" */
    bool is_json;       /* one JSON value a line */
    int64_t column;     /* of a table, from 0 */
    char delimiter;     /* of a table */
    int64_t header;     /* lines before the first row: 0 or 1 */
    rer_header implied; /* that line, where it was taken for a header without being asked for */
    int64_t rows;
    rer_texts kept; /* [N] where they come from memory */
} rer_row_texts;

/* `path`: FILE.txt, FILE.csv, FILE.tsv or FILE.jsonl, with :FIELD behind it or not. Reads it once, to see
 * that it has N rows (RER_ANY_ROWS: as many as there are). */
rer_status rer_row_texts_open(rer_row_texts *texts, const char *path, int64_t N, rer_error *error);
/* All texts of such a file, however many; they must be UTF-8. */
rer_status rer_row_texts_all(rer_texts *texts, const char *path, rer_error *error);
/* FILE:column where `texts` is FILE or FILE:FIELD and the labels are FILE:column, or where `column` says so; else NULL. */
rer_status rer_row_texts_beside(char **path, const char *texts, const char *labels, const char *column,
                                rer_error *error);
void rer_row_texts_free(rer_row_texts *texts);
bool rer_row_texts_are_there(const rer_row_texts *texts);
/* The texts of `rows` [count], in increasing order. */
rer_status rer_row_texts_read(rer_texts *out, const rer_row_texts *texts, const int64_t *rows, int64_t count,
                              rer_error *error);
/* Calls `visit` with the text of each row in turn, until it returns false. */
typedef bool rer_text_visit(void *context, int64_t row, const char *text);
rer_status rer_row_texts_visit(const rer_row_texts *texts, int64_t N, rer_text_visit *visit, void *context,
                               rer_error *error);
