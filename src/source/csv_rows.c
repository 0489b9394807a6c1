/* The cells of a CSV or TSV text: see csv_rows.h. */
#include "source/csv_rows.h"

#include <csv.h>

#define CHUNK (1 << 16)

typedef struct rows {
    const rer_input *input;
    const rer_csv_handler *handler;
    rer_error *error;
    rer_status status;
    int64_t line;     /* of the first character not yet reported */
    int64_t row_line; /* where the present row began */
    int64_t cells;    /* of the present row so far */
    int64_t columns;  /* of the first row, 0 before it */
    int64_t blank;    /* blank lines not yet known to be rows */
    int last_end;     /* character that ended the last row */
} rows;

static int never(unsigned char c)
{
    (void)c;
    return 0; /* spaces are part of a cell (RFC 4180) */
}

static int64_t count_newlines(const char *text, int64_t length)
{
    int64_t count = 0;
    for (const char *end = text + length; (text = memchr(text, '\n', (size_t)(end - text))) != NULL; text++)
        count++;
    return count;
}

static void give_cell(rows *r, const char *text, int64_t length)
{
    if (r->status == RER_OK)
        r->status = r->handler->cell(r->handler->context, r->row_line, r->cells, text, length, r->error);
    r->cells++;
}

static void give_row(rows *r)
{
    if (r->status == RER_OK)
        r->status = r->handler->row(r->handler->context, r->row_line, r->error);
    r->cells = 0;
}

/* Blank lines before a row of a one-column file were rows with an empty cell. */
static void give_blank(rows *r)
{
    for (int64_t line = r->row_line; r->blank > 0; r->blank--) {
        r->row_line = line - r->blank;
        give_cell(r, "", 0);
        give_row(r);
        r->row_line = line;
    }
}

static void on_cell(void *data, size_t length, void *context)
{
    rows *r = context;
    if (r->status != RER_OK)
        return;
    if (r->cells == 0) {
        r->row_line = r->line;
        if (r->columns == 1)
            give_blank(r);
    }
    const char *text = data != NULL ? data : "";
    r->line += count_newlines(text, (int64_t)length);
    if (r->columns > 0 && r->cells >= r->columns) {
        r->cells++; /* too many: the end of the row tells how many */
        return;
    }
    give_cell(r, text, (int64_t)length);
}

/* The end of a row; also of an empty one, and once more for the \n after \r. */
static void on_row(int end, void *context)
{
    rows *r = context;
    bool rest_of_crlf = end == '\n' && r->last_end == '\r' && r->cells == 0;
    r->last_end = rest_of_crlf ? 0 : end;
    if (r->status != RER_OK || rest_of_crlf)
        return;
    r->line++;
    if (r->cells == 0) {
        r->blank++;
        return;
    }
    if (r->columns == 0) {
        r->columns = r->cells;
        if (r->columns == 1 && r->blank > 0 && r->status == RER_OK) /* its first cell was given without them */
            r->status =
                rer_fail(r->error, RER_BAD_INPUT,
                         "%s: begins with a blank line; write \"\" there where it is a row without a value, else "
                         "take it out",
                         r->input->name);
    }
    if (r->columns != 1)
        r->blank = 0;
    if (r->cells != r->columns)
        r->status = rer_fail(r->error, RER_BAD_INPUT,
                             "%s: line %lld has %lld cells but the first row has %lld; put "
                             "quotes around cells with the separator in them",
                             r->input->name, (long long)r->row_line, (long long)r->cells, (long long)r->columns);
    give_row(r);
}

static rer_status parse_failure(const rows *r, int code)
{
    if (code == CSV_ENOMEM || code == CSV_ETOOBIG)
        return rer_fail(r->error, RER_SYSTEM, "out of memory: %s has a very long cell in line %lld", r->input->name,
                        (long long)r->line);
    return rer_fail(r->error, RER_BAD_INPUT,
                    "%s: line %lld: a quote stands where it cannot; put quotes around the "
                    "whole cell and double those within (RFC 4180)",
                    r->input->name, (long long)r->line);
}

static rer_status parse_all(rows *r, struct csv_parser *parser, char *chunk)
{
    const rer_bytes *bytes = &r->input->bytes;
    rer_status status = RER_OK;
    for (int64_t at = 0; at < bytes->size && status == RER_OK; at += CHUNK) {
        int64_t count = rer_min(CHUNK, bytes->size - at);
        status = rer_bytes_read(bytes, at, count, chunk, r->input->name, r->error);
        int64_t skip = at == 0 && count >= 3 && memcmp(chunk, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0; /* byte order mark */
        if (status != RER_OK)
            return status;
        size_t parsed = csv_parse(parser, chunk + skip, (size_t)(count - skip), on_cell, on_row, r);
        status = r->status;
        if (status == RER_OK && parsed != (size_t)(count - skip))
            status = parse_failure(r, csv_error(parser));
        if (status == RER_OK && r->handler->part != NULL)
            status = r->handler->part(r->handler->context, (double)(at + count) / (double)bytes->size, r->error);
    }
    if (status == RER_OK && csv_fini(parser, on_cell, on_row, r) != 0)
        status = rer_fail(r->error, RER_BAD_INPUT, "%s: the quote that opens in line %lld is never closed",
                          r->input->name, (long long)r->line);
    return status != RER_OK ? status : r->status;
}

rer_status rer_csv_read(const rer_input *input, char delimiter, const rer_csv_handler *handler, int64_t *trailing,
                        rer_error *error)
{
    rows r = {.input = input, .handler = handler, .error = error, .line = 1, .row_line = 1};
    struct csv_parser parser;
    char *chunk = NULL;
    r.columns = delimiter == RER_NO_DELIMITER; /* a line is a cell: blank ones are rows from the start */
    if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_REPALL_NL | CSV_APPEND_NULL) != 0)
        return rer_fail(error, RER_SYSTEM, "out of memory: %s needs a parser", input->name);
    csv_set_delim(&parser, (unsigned char)delimiter);
    if (delimiter == RER_NO_DELIMITER)
        csv_set_quote(&parser, RER_NO_DELIMITER);
    csv_set_space_func(&parser, never);
    csv_set_blk_size(&parser, 4096);
    rer_status status = rer_allocate(&chunk, CHUNK, 1, "a buffer for a table", error);
    RER_THEN(status, parse_all(&r, &parser, chunk));
    if (status == RER_OK && trailing != NULL)
        *trailing = r.columns == 1 ? r.blank : 0;
    csv_free(&parser);
    free(chunk);
    return status;
}

static bool has_suffix(const char *path, const char *plain, const char *packed)
{
    size_t length = strlen(path), a = strlen(plain), b = strlen(packed);
    return (length >= a && strcmp(path + length - a, plain) == 0) ||
           (length >= b && strcmp(path + length - b, packed) == 0);
}

char rer_csv_texts_delimiter(const rer_input *input)
{
    if (has_suffix(input->file, ".tsv", ".tsv.gz"))
        return '\t';
    return has_suffix(input->file, ".csv", ".csv.gz") || strcmp(input->file, "-") == 0 ? ',' : RER_NO_DELIMITER;
}

rer_status rer_csv_numbers_delimiter(const rer_input *input, char *delimiter, rer_error *error)
{
    char head[4096];
    int64_t length = rer_min((int64_t)sizeof head, input->bytes.size);
    RER_TRY(rer_bytes_read(&input->bytes, 0, length, head, input->name, error));
    const char *end = memchr(head, '\n', (size_t)length);
    size_t line = end != NULL ? (size_t)(end - head) : (size_t)length;
    *delimiter = ',';
    if (has_suffix(input->file, ".csv", ".csv.gz"))
        return RER_OK;
    if (has_suffix(input->file, ".tsv", ".tsv.gz") || memchr(head, '\t', line) != NULL)
        *delimiter = '\t';
    else if (memchr(head, ',', line) == NULL && memchr(head, ' ', line) != NULL)
        *delimiter = ' '; /* as np.savetxt writes */
    return RER_OK;
}
