/* Tables of numbers, with or without a header and a column of labels.
 *
 * 1. The first row is kept until it is complete; then it is known whether it is a header and which
 *    column holds the labels.
 * 2. Every later cell is parsed as it comes and each row goes to the spool as float. */
#include "source/csv_rows.h"
#include "source/number.h"
#include "source/texts.h"

#include <locale.h>

typedef struct table {
    const rer_input *input;
    const rer_progress *progress; /* may be NULL */
    const char *label_column;     /* as the user named it, or NULL */
    const char *const *left_out;  /* columns that are no features, up to NULL */
    rer_texts_builder first;      /* cells of the first row */
    bool decided, has_header;
    bool counts_rows;      /* the first column has no name and counts 0, 1, 2...: an index, no feature */
    int64_t columns, rows; /* all columns; rows without the header */
    int64_t label;         /* column, or -1 */
    bool *is_feature;      /* [columns] */
    int64_t features;
    int64_t filled;
    float *row; /* [columns] */
    rer_spool numbers;
    rer_texts_builder labels;
} table;

/* ---- the first row ----------------------------------------------------------------------- */

static bool is_number(const char *text)
{
    double value;
    return rer_parse_number(text, (int64_t)strlen(text), &value);
}

/* Whether the cells but the label count 0, 1, 2...: a header as pandas writes it for a bare matrix. */
static bool counts_columns(const table *t, int64_t label)
{
    char place[RER_INTEGER_TEXT], order[RER_INTEGER_TEXT];
    bool by_place = true, by_order = true;
    int64_t cells = 0;
    for (int64_t c = 0; c < t->columns; c++) {
        if (c == label)
            continue;
        (void)rer_integer_text(place, c, false);
        (void)rer_integer_text(order, cells++, false);
        by_place = by_place && strcmp(rer_text(&t->first.texts, c), place) == 0;
        by_order = by_order && strcmp(rer_text(&t->first.texts, c), order) == 0;
    }
    return cells >= 2 && (by_place || by_order);
}

/* Names throughout; a row with some numbers in it is data, and its other cells are then mistakes. */
static bool looks_like_header(const table *t, int64_t label)
{
    bool has_name = false;
    for (int64_t c = 0; c < t->columns; c++) {
        const char *text = rer_text(&t->first.texts, c);
        if (c == label || text[0] == 0)
            continue;
        if (is_number(text))
            return counts_columns(t, label);
        has_name = true;
    }
    return has_name;
}

static int64_t find_name(const table *t, const char *name)
{
    for (int64_t c = 0; c < t->columns; c++)
        if (strcmp(rer_text(&t->first.texts, c), name) == 0)
            return c;
    return -1;
}

static rer_status unknown_column(const table *t, const char *name, const char *what, rer_error *error)
{
    char list[500];
    return rer_fail(error, RER_BAD_INPUT, "%s: has no column '%s'%s; %s: %s, or a number from 1 to %lld",
                    t->input->name, RER_QUOTED(name), what,
                    looks_like_header(t, -1) ? "its columns are" : "it has no header, its first row is",
                    rer_texts_list(&t->first.texts, list, sizeof list), (long long)t->columns);
}

/* Which columns are features: all but the labels and those left out. */
static rer_status choose_features(table *t, rer_error *error)
{
    rer_room rooms[] = {RER_ROOM(t->row, t->columns), RER_ROOM(t->is_feature, t->columns)};
    RER_TRY(rer_allocate_all(rooms, RER_COUNT(rooms), "a row of the table", error));
    for (int64_t c = 0; c < t->columns; c++)
        t->is_feature[c] = c != t->label;
    for (const char *const *name = t->left_out; name != NULL && *name != NULL; name++) {
        int64_t named = t->has_header ? find_name(t, *name) : -1,
                column = named >= 0 ? named : rer_column_number(*name, t->columns);
        if (column < 0)
            return unknown_column(t, *name, "", error);
        t->is_feature[column] = false;
    }
    for (int64_t c = 0; c < t->columns; c++)
        t->features += t->is_feature[c];
    const char *named = t->label >= 0 ? t->label_column : t->left_out != NULL ? *t->left_out : "";
    if (t->features == 0)
        return rer_fail(error, RER_BAD_INPUT, "%s: has no column of features besides '%s'", t->input->name, named);
    return RER_OK;
}

/* Decides on header and label column once the first row is complete. */
static rer_status decide(table *t, rer_error *error)
{
    t->decided = true;
    t->columns = t->first.texts.count;
    t->label = -1;
    if (t->label_column == NULL) {
        t->has_header = looks_like_header(t, -1);
    } else {
        int64_t number = rer_column_number(t->label_column, t->columns), named = find_name(t, t->label_column);
        t->has_header = looks_like_header(t, number) || (number < 0 && named >= 0);
        t->label = t->has_header && named >= 0 ? named : number;
        if (t->label < 0)
            return unknown_column(t, t->label_column, " for the labels", error);
    }
    RER_TRY(choose_features(t, error));
    t->counts_rows = t->has_header && t->columns > 1 && t->is_feature[0] && rer_text(&t->first.texts, 0)[0] == 0;
    return RER_OK;
}

/* ---- the other rows ---------------------------------------------------------------------- */

static rer_status not_a_number(const table *t, int64_t line, int64_t column, const char *text, int64_t length,
                               rer_error *error)
{
    char quoted[80], name[80];
    if (t->has_header)
        (void)rer_quote(name, sizeof name, rer_text(&t->first.texts, column),
                        (int64_t)strlen(rer_text(&t->first.texts, column)));
    else
        (void)snprintf(name, sizeof name, "%lld", (long long)column + 1);
    return rer_fail(error, RER_BAD_INPUT, "%s: line %lld, column '%s': '%s' is not a number%s", t->input->name,
                    (long long)line, name, rer_quote(quoted, sizeof quoted, text, length),
                    line == 1 ? "; a header has no numbers in it"
                              : "; features are numbers, and a column may be named as labels, ids, texts or groups");
}

static rer_status take_cell(table *t, int64_t line, int64_t column, const char *text, int64_t length, rer_error *error)
{
    double value;
    if (column == t->label)
        return rer_texts_add_checked(&t->labels, text, length, t->input->name, "line", line, error);
    if (!t->is_feature[column])
        return RER_OK;
    if (!rer_parse_number(text, length, &value))
        return not_a_number(t, line, column, text, length, error);
    if (column == 0)
        t->counts_rows = t->counts_rows && value == (double)t->rows;
    t->row[t->filled++] = (float)value;
    return RER_OK;
}

static rer_status end_row(table *t, rer_error *error)
{
    int64_t count = t->filled;
    t->filled = 0;
    t->rows++;
    return rer_spool_write(&t->numbers, t->row, count * (int64_t)sizeof *t->row, error);
}

static rer_status on_cell(void *context, int64_t line, int64_t column, const char *text, int64_t length,
                          rer_error *error)
{
    table *t = context;
    if (t->decided)
        return take_cell(t, line, column, text, length, error);
    return rer_texts_add_checked(&t->first, text, length, t->input->name, "line", line, error);
}

static rer_status on_row(void *context, int64_t line, rer_error *error)
{
    table *t = context;
    if (t->decided)
        return end_row(t, error);
    RER_TRY(decide(t, error));
    if (t->has_header)
        return RER_OK;
    for (int64_t c = 0; c < t->columns; c++) {
        const char *text = rer_text(&t->first.texts, c);
        RER_TRY(take_cell(t, line, c, text, (int64_t)strlen(text), error));
    }
    return end_row(t, error);
}

static rer_status on_part(void *context, double done, rer_error *error)
{
    const rer_progress *progress = ((table *)context)->progress;
    if (progress != NULL && progress->report != NULL && progress->report(progress->context, "reading", done))
        return rer_fail(error, RER_CANCELLED, "stopped while reading");
    return RER_OK;
}

/* ---- all --------------------------------------------------------------------------------- */

/* strtod follows the locale, where 1.5 may be 1: the thread reads in "C" and then goes back. */
static rer_status read_in_c_locale(table *t, rer_error *error)
{
    rer_csv_handler handler = {.cell = on_cell, .row = on_row, .part = on_part, .context = t};
    char delimiter = ',';
    RER_TRY(rer_csv_numbers_delimiter(t->input, &delimiter, error));
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (c_locale == (locale_t)0)
        return rer_fail(error, RER_SYSTEM, "out of memory: %s needs the C locale", t->input->name);
    locale_t before = uselocale(c_locale);
    rer_status status = rer_csv_read(t->input, delimiter, &handler, NULL, error);
    (void)uselocale(before);
    freelocale(c_locale);
    return status;
}

static rer_status check_table(const table *t, rer_error *error)
{
    if (t->rows == 0)
        return rer_fail(error, RER_BAD_INPUT, "%s: has %s", t->input->name,
                        t->has_header ? "a header but no rows" : "no rows");
    if (t->counts_rows && t->rows > 1)
        return rer_fail(error, RER_BAD_INPUT,
                        "%s: the first column has no name and counts the rows: an index, not a "
                        "feature; leave it out (pandas: index=False) or give it a name",
                        t->input->name);
    return RER_OK;
}

/* The header's names of features. */
static rer_status name_columns(rer_texts *columns, const table *t, rer_error *error)
{
    rer_texts_builder names = {0};
    rer_status status = RER_OK;
    for (int64_t c = 0; t->has_header && c < t->columns && status == RER_OK; c++) {
        const char *name = rer_text(&t->first.texts, c);
        if (t->is_feature[c])
            status = rer_texts_add(&names, name, (int64_t)strlen(name), error);
    }
    if (status == RER_OK)
        *columns = names.texts;
    else
        rer_texts_free(&names.texts);
    return status;
}

rer_status rer_input_table(rer_array *array, rer_texts *labels, rer_texts *columns, const rer_input *input,
                           const char *label_column, const char *const *left_out, const rer_progress *progress,
                           rer_error *error)
{
    table t = {.input = input,
               .progress = progress,
               .label_column = labels != NULL ? label_column : NULL,
               .left_out = left_out,
               .numbers = RER_EMPTY_SPOOL};
    rer_status status = read_in_c_locale(&t, error);
    RER_THEN(status, check_table(&t, error));
    if (status == RER_OK && columns != NULL)
        status = name_columns(columns, &t, error);
    rer_array form = rer_float_rows(NULL, t.rows, t.features);
    RER_THEN(status, rer_array_from_spool(array, &form, &t.numbers, input->name, error));
    if (status == RER_OK && labels != NULL) {
        *labels = t.labels.texts;
        t.labels.texts = (rer_texts){0};
    }
    rer_spool_drop(&t.numbers);
    rer_texts_free(&t.labels.texts);
    rer_texts_free(&t.first.texts);
    RER_FREE_ALL(t.row, t.is_feature);
    return status;
}
