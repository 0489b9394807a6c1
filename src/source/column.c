/* One text a row: a column of a table, the lines of a text, or the rows of an array. */
#include "source/csv_rows.h"
#include "source/number.h"
#include "source/texts.h"

typedef struct column {
    const rer_input *input;
    const char *wanted;      /* name or number of the column, or NULL: the only one */
    rer_texts_builder first; /* cells of the first row */
    rer_texts_builder texts; /* of the column, with the first row */
    bool of_labels;          /* texts that repeat themselves */
    bool decided;
    bool by_name; /* so that the first row is a header */
    int64_t index;
} column;

int64_t rer_column_number(const char *text, int64_t columns)
{
    int64_t number = 0;
    for (const char *at = text; *at != 0; at++) {
        if (*at < '0' || *at > '9' || number > columns)
            return -1;
        number = 10 * number + (*at - '0');
    }
    return number >= 1 && number <= columns ? number - 1 : -1;
}

const char *rer_texts_list(const rer_texts *texts, char *buffer, int64_t size)
{
    char quoted[60];
    int64_t used = 0;
    buffer[0] = 0;
    for (int64_t i = 0; i < texts->count; i++) {
        if (used + (int64_t)sizeof quoted + 16 > size) {
            (void)snprintf(buffer + used, (size_t)(size - used), ", ...");
            break;
        }
        const char *text = rer_text(texts, i);
        (void)rer_quote(quoted, sizeof quoted, text, (int64_t)strlen(text));
        used += snprintf(buffer + used, (size_t)(size - used), "%s'%s'", used > 0 ? ", " : "", quoted);
    }
    return buffer;
}

/* Which column is wanted, once the first row is complete. */
static rer_status decide(column *c, rer_error *error)
{
    char list[500];
    int64_t columns = c->first.texts.count;
    c->decided = true;
    if (c->wanted == NULL && columns == 1)
        return RER_OK;
    if (c->wanted == NULL)
        return rer_fail(error, RER_BAD_INPUT,
                        "%s: has %lld columns where one is wanted; choose one of %s (--label-column "
                        "for labels), or put quotes around cells with the separator in them",
                        c->input->name, (long long)columns, rer_texts_list(&c->first.texts, list, sizeof list));
    for (int64_t i = 0; i < columns && !c->by_name; i++)
        if (strcmp(rer_text(&c->first.texts, i), c->wanted) == 0) {
            c->by_name = true;
            c->index = i;
        }
    if (!c->by_name)
        c->index = rer_column_number(c->wanted, columns);
    if (c->index < 0)
        return rer_fail(error, RER_BAD_INPUT,
                        "%s: has no column '%s'; its first row is %s, or give a number from 1 to "
                        "%lld",
                        c->input->name, RER_QUOTED(c->wanted), rer_texts_list(&c->first.texts, list, sizeof list),
                        (long long)columns);
    return RER_OK;
}

static rer_status on_cell(void *context, int64_t line, int64_t index, const char *text, int64_t length,
                          rer_error *error)
{
    column *c = context;
    rer_texts_builder *target = c->decided ? &c->texts : &c->first;
    if (c->decided && index != c->index)
        return RER_OK;
    return rer_texts_add_checked(target, text, length, c->input->name, "line", line, error);
}

static rer_status on_row(void *context, int64_t line, rer_error *error)
{
    column *c = context;
    (void)line;
    if (c->decided)
        return RER_OK;
    RER_TRY(decide(c, error));
    const char *text = rer_text(&c->first.texts, c->index);
    return rer_texts_add(&c->texts, text, (int64_t)strlen(text), error);
}

/* Whether the first text can be nothing but a header. No number is one, and where labels repeat themselves it is none of
 * them. Names all differ, so there it must be a word above what is none: "id" above a/1.png. */
static bool is_header(const rer_texts *texts, bool of_labels)
{
    double number;
    const char *first = rer_text(texts, 0);
    if (rer_parse_number(first, (int64_t)strlen(first), &number) || (!of_labels && !rer_text_is_word(first)))
        return false;
    for (int64_t i = 1; i < texts->count; i++)
        if (of_labels ? strcmp(rer_text(texts, i), first) == 0 : rer_text_is_word(rer_text(texts, i)))
            return false;
    return true;
}

/* Blank lines at the end are rows as far as rows are missing; a first row too many may be a header. */
static rer_status fit_to_expected(column *c, int64_t trailing, int64_t expected, rer_header *header, rer_error *error)
{
    rer_texts *texts = &c->texts.texts;
    bool is_implied = false;
    for (; trailing > 0 && texts->count - c->by_name < expected; trailing--)
        RER_TRY(rer_texts_add(&c->texts, "", 0, error));
    if (!c->by_name && header != NULL && expected > 0 && texts->count == expected + 1)
        is_implied = is_header(texts, c->of_labels);
    if (is_implied)
        (void)rer_quote(header->text, sizeof header->text, rer_text(texts, 0), (int64_t)strlen(rer_text(texts, 0)));
    if (texts->count > 0 && (c->by_name || is_implied)) {
        texts->count--;
        memmove(texts->offset, texts->offset + 1, (size_t)texts->count * sizeof *texts->offset);
    }
    if (texts->count == 0)
        return rer_fail(error, RER_BAD_INPUT, "%s: has no rows", c->input->name);
    return RER_OK;
}

static rer_status read_column(rer_texts *texts, const rer_input *input, const char *wanted, bool of_labels,
                              int64_t expected, rer_header *header, rer_error *error)
{
    column c = {.input = input, .wanted = wanted, .of_labels = of_labels};
    rer_csv_handler handler = {.cell = on_cell, .row = on_row, .context = &c};
    int64_t trailing = 0;
    char delimiter = rer_csv_texts_delimiter(input);
    rer_status status = RER_OK;
    if (wanted != NULL && delimiter == RER_NO_DELIMITER)
        status = rer_csv_numbers_delimiter(input, &delimiter, error);
    RER_THEN(status, rer_csv_read(input, delimiter, &handler, &trailing, error));
    RER_THEN(status, fit_to_expected(&c, trailing, expected, header, error));
    if (status == RER_OK) {
        *texts = c.texts.texts;
        c.texts.texts = (rer_texts){0};
    }
    rer_texts_free(&c.texts.texts);
    rer_texts_free(&c.first.texts);
    return status;
}

static rer_status read_texts(rer_texts *texts, rer_input *input, const char *column_name, bool of_labels,
                             int64_t expected, rer_header *header, rer_error *error)
{
    rer_array array = {.fd = -1};
    if (input->format == RER_TEXT && input->member != NULL && column_name != NULL)
        return rer_fail(error, RER_BAD_USAGE, "%s: its column is named twice, the second time as '%s'; drop one",
                        input->name, column_name);
    if (input->format == RER_TEXT)
        return read_column(texts, input, column_name != NULL ? column_name : input->member, of_labels, expected, header,
                           error);
    rer_status status = rer_input_array(&array, input, error);
    RER_THEN(status, rer_texts_from_array(texts, &array, error));
    rer_array_close(&array);
    return status;
}

rer_status rer_input_texts(rer_texts *texts, rer_input *input, const char *column_name, int64_t expected,
                           rer_header *header, rer_error *error)
{
    return read_texts(texts, input, column_name, false, expected, header, error);
}

rer_status rer_input_labels(rer_labels *labels, rer_texts *texts, rer_array *array, rer_input *input,
                            const char *column_name, int64_t expected, rer_header *header, rer_error *error)
{
    if (input->format == RER_TEXT) {
        RER_TRY(read_texts(texts, input, column_name, true, expected, header, error));
        return rer_labels_from_texts(labels, texts, error);
    }
    RER_TRY(rer_input_array(array, input, error));
    return rer_labels_from_array(labels, array, error);
}

rer_status rer_texts_open(rer_texts *texts, const char *path, const char *column_name, int64_t expected,
                          rer_header *header, rer_error *error)
{
    rer_input input = RER_NO_INPUT;
    rer_status status = rer_input_open_column(&input, path, error);
    RER_THEN(status, rer_input_texts(texts, &input, column_name, expected, header, error));
    rer_input_close(&input);
    return status;
}
