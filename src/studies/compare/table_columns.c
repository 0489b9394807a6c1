/* A CSV with a header: the cells of the wanted columns. */
#include "studies/compare/table_columns.h"

#include "source/csv_rows.h"
#include "source/number.h"

#include <locale.h>

enum { WANTED_MOST = 16, COLUMNS_MOST = 1024 };

typedef struct reading {
    rer_table_column *columns;
    int count;
    const char *path;
    rer_texts_builder texts[WANTED_MOST];
    rer_texts_builder header;
    int wanted[COLUMNS_MOST]; /* which of `columns` a column of the file is, -1: none */
    bool has_header;
    int64_t rows;
} reading;

static rer_status take_cell(void *context, int64_t line, int64_t column, const char *text, int64_t length,
                            rer_error *error)
{
    reading *r = context;
    if (!r->has_header)
        return rer_texts_add_checked(&r->header, text, length, r->path, "line", line, error);
    int wanted = column < COLUMNS_MOST ? r->wanted[column] : -1;
    if (wanted < 0)
        return RER_OK;
    bool is_prefixed = r->columns[wanted].is_safe && text[0] == '\'';
    return rer_texts_add_checked(&r->texts[wanted], text + is_prefixed, length - is_prefixed, r->path, "line", line,
                                 error);
}

static rer_status find_columns(reading *r, rer_error *error)
{
    char list[500];
    for (int64_t c = 0; c < COLUMNS_MOST; c++)
        r->wanted[c] = -1;
    for (int i = 0; i < r->count; i++) {
        for (int64_t c = 0; c < rer_min(COLUMNS_MOST, r->header.texts.count) && !r->columns[i].found; c++)
            if (strcmp(rer_text(&r->header.texts, c), r->columns[i].name) == 0 && r->wanted[c] < 0) {
                r->wanted[c] = i;
                r->columns[i].found = true;
            }
        if (!r->columns[i].found && !r->columns[i].is_optional)
            return rer_fail(error, RER_BAD_INPUT, "%s: there is no column '%.60s'; it has %s", r->path,
                            r->columns[i].name, rer_texts_list(&r->header.texts, list, sizeof list));
    }
    return RER_OK;
}

static rer_status take_row(void *context, int64_t line, rer_error *error)
{
    (void)line;
    reading *r = context;
    r->rows += r->has_header;
    if (r->has_header)
        return RER_OK;
    r->has_header = true;
    return find_columns(r, error);
}

rer_status rer_table_columns_read(rer_table_column *columns, int count, int64_t *rows, const char *path,
                                  rer_error *error)
{
    reading r = {.columns = columns, .count = count, .path = path};
    rer_input input = RER_NO_INPUT;
    rer_csv_handler handler = {.cell = take_cell, .row = take_row, .context = &r};
    int64_t trailing = 0;
    rer_status status = rer_input_open(&input, path, error);
    if (status == RER_OK && input.format != RER_TEXT)
        status = rer_fail(error, RER_BAD_INPUT, "%s: this is no CSV", path);
    RER_THEN(status, rer_csv_read(&input, ',', &handler, &trailing, error));
    if (status == RER_OK && !r.has_header)
        status = rer_fail(error, RER_BAD_INPUT, "%s: is empty; a header and lines are expected", path);
    for (int i = 0; i < count; i++) {
        columns[i].texts = r.texts[i].texts;
        if (status != RER_OK)
            rer_texts_free(&columns[i].texts);
    }
    if (status == RER_OK)
        *rows = r.rows;
    rer_texts_free(&r.header.texts);
    rer_input_close(&input);
    return status;
}

void rer_table_columns_free(rer_table_column *columns, int count)
{
    for (int i = 0; i < count; i++)
        rer_texts_free(&columns[i].texts);
}

rer_status rer_table_column_numbers(double *values, const rer_table_column *column, const char *path, rer_error *error)
{
    char quoted[60];
    rer_status status = RER_OK;
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0), before = (locale_t)0;
    if (plain == (locale_t)0)
        return rer_fail(error, RER_SYSTEM, "out of memory: a locale");
    before = uselocale(plain);
    for (int64_t i = 0; status == RER_OK && i < column->texts.count; i++) {
        const char *text = rer_text(&column->texts, i);
        int64_t length = (int64_t)strlen(text);
        if (!rer_parse_number(text, length, &values[i]))
            status = rer_fail(error, RER_BAD_INPUT, "%s: line %lld, column '%s': '%s' is no number", path,
                              (long long)(i + 2), column->name, rer_quote(quoted, sizeof quoted, text, length));
    }
    (void)uselocale(before);
    freelocale(plain);
    return status;
}
