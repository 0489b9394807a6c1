/* The text of each row: see row_texts.h. */
#include "source/row_texts.h"
#include "source/csv_rows.h"
#include "source/number.h"
#include "source/texts.h"

#include <jansson.h>
#include <sys/stat.h>

void rer_row_texts_free(rer_row_texts *texts) /* a zeroed one too */
{
    if (texts->input.name != NULL)
        rer_input_close(&texts->input);
    rer_texts_free(&texts->kept);
    free(texts->field);
    *texts = (rer_row_texts){.input = RER_NO_INPUT};
}

bool rer_row_texts_are_there(const rer_row_texts *texts)
{
    return texts->input.name != NULL || texts->kept.count > 0;
}

/* Objects are known by their first character too, so that any name will do. */
static rer_status is_json_lines(bool *is_json, const rer_input *input, rer_error *error)
{
    char first = 0;
    if (input->bytes.size > 0)
        RER_TRY(rer_bytes_read(&input->bytes, 0, 1, &first, input->name, error));
    *is_json = first == '{' || rer_path_ends(input->file, ".jsonl") || rer_path_ends(input->file, ".jsonl.gz") ||
               rer_path_ends(input->file, ".ndjson");
    return RER_OK;
}

/* ---- the first pass: how many rows, which column ---------------------------------------------- */

typedef struct survey {
    rer_row_texts *texts;
    int64_t N;               /* wanted */
    rer_texts_builder first; /* cells of the first row */
    int64_t rows;
    bool has_words; /* some text of another row is a single word, as a header is */
} survey;

static rer_status survey_cell(void *context, int64_t line, int64_t column, const char *text, int64_t length,
                              rer_error *error)
{
    survey *s = context;
    (void)line;
    if (s->rows == 0)
        return rer_texts_add(&s->first, text, length, error);
    s->has_words = s->has_words || (column == s->texts->column && rer_text_is_word(text));
    return RER_OK;
}

/* Which column of a table, by the first row; by name it is a header. */
static rer_status find_column(rer_row_texts *texts, const rer_texts *first, int64_t N, rer_error *error)
{
    char list[500];
    const char *wanted = texts->field != NULL ? texts->field : "text";
    for (int64_t i = 0; i < first->count; i++)
        if (strcmp(rer_text(first, i), wanted) == 0 &&
            (texts->field != NULL || first->count > 1 || N == RER_ANY_ROWS)) {
            texts->column = i;
            texts->header = 1;
            return RER_OK;
        }
    texts->column = texts->field != NULL ? rer_column_number(texts->field, first->count) : first->count == 1 ? 0 : -1;
    if (texts->column < 0)
        return rer_fail(error, RER_BAD_INPUT,
                        "%s: has no column '%s'; its first row is %s: name one, as in %s:NAME, or give a number from 1 "
                        "to %lld",
                        texts->input.file, wanted, rer_texts_list(first, list, sizeof list), texts->input.file,
                        (long long)first->count);
    return RER_OK;
}

static rer_status survey_row(void *context, int64_t line, rer_error *error)
{
    survey *s = context;
    (void)line;
    return s->rows++ == 0 && !s->texts->is_json ? find_column(s->texts, &s->first.texts, s->N, error) : RER_OK;
}

/* A first row too many is a header where it says "text", the name that is looked for, or is a word above texts of which
 * none is one. */
static void imply_header(survey *s)
{
    rer_row_texts *texts = s->texts;
    double number;
    if (texts->header > 0 || texts->is_json || s->N < 1 || s->rows != s->N + 1)
        return;
    const char *first = rer_text(&s->first.texts, texts->column);
    int64_t length = (int64_t)strlen(first);
    bool is_named = strcmp(first, "text") == 0;
    if (!is_named && (s->has_words || !rer_text_is_word(first) || rer_parse_number(first, length, &number)))
        return;
    texts->header = 1;
    if (!is_named)
        (void)rer_quote(texts->implied.text, sizeof texts->implied.text, first, length);
}

static rer_status survey_all(rer_row_texts *texts, int64_t N, rer_error *error)
{
    survey s = {.texts = texts, .N = N};
    rer_csv_handler handler = {.cell = survey_cell, .row = survey_row, .context = &s};
    int64_t trailing = 0;
    texts->delimiter = texts->is_json ? RER_NO_DELIMITER : rer_csv_texts_delimiter(&texts->input);
    rer_status status = rer_csv_read(&texts->input, texts->delimiter, &handler, &trailing, error);
    if (status == RER_OK && !texts->is_json && s.rows == 0)
        status = find_column(texts, &s.first.texts, N, error);
    if (status == RER_OK)
        imply_header(&s);
    rer_texts_free(&s.first.texts);
    if (status != RER_OK)
        return status;
    int64_t rows = texts->rows = s.rows - texts->header;
    if (N == RER_ANY_ROWS)
        return RER_OK;
    rows += rer_max(0, rer_min(N - rows, trailing)); /* blank lines at the end are rows where rows are missing */
    if (rows != N)
        return rer_fail(error, RER_BAD_INPUT, "%s: has %lld texts but there are %lld rows; give one a row%s",
                        texts->input.file, (long long)rows, (long long)N, rer_header_remedy(rows, N));
    return RER_OK;
}

/* ---- opening ---------------------------------------------------------------------------------- */

/* FILE:FIELD -> both, at the last colon behind the name of a file that is there. */
static rer_status split_path(char **file, char **field, const char *path, rer_error *error)
{
    struct stat found;
    RER_TRY(rer_copy_text(file, path, error));
    if (stat(path, &found) == 0)
        return RER_OK;
    char *colon = strrchr(*file, ':');
    if (colon == NULL)
        return RER_OK;
    *colon = 0;
    if (stat(*file, &found) == 0)
        return rer_copy_text(field, colon + 1, error);
    *colon = ':';
    return RER_OK;
}

/* Texts of an array, or the first pass over a file. */
static rer_status prepare(rer_row_texts *texts, int64_t N, rer_error *error)
{
    if (texts->input.format == RER_TEXT) {
        RER_TRY(is_json_lines(&texts->is_json, &texts->input, error));
        return survey_all(texts, N, error);
    }
    RER_TRY(rer_input_texts(&texts->kept, &texts->input, NULL, N, NULL, error));
    texts->rows = texts->kept.count;
    if (N != RER_ANY_ROWS && texts->kept.count != N)
        return rer_fail(error, RER_BAD_INPUT, "%s: has %lld texts but there are %lld rows; give one a row",
                        texts->input.name, (long long)texts->kept.count, (long long)N);
    return RER_OK;
}

rer_status rer_row_texts_open(rer_row_texts *texts, const char *path, int64_t N, rer_error *error)
{
    rer_row_texts opened = {.input = RER_NO_INPUT};
    char *file = NULL;
    rer_status status = split_path(&file, &opened.field, path, error);
    if (status == RER_OK && opened.field != NULL) {
        status = rer_input_open(&opened.input, file, error);
        if (status == RER_OK && opened.input.format != RER_TEXT) { /* the field is a member: file.npz:name */
            rer_input_close(&opened.input);
            status = rer_input_open(&opened.input, path, error);
        }
    } else if (status == RER_OK) {
        status = rer_input_open(&opened.input, path, error);
    }
    RER_THEN(status, prepare(&opened, N, error));
    free(file);
    if (status == RER_OK)
        *texts = opened;
    else
        rer_row_texts_free(&opened);
    return status;
}

/* ---- reading ---------------------------------------------------------------------------------- */

typedef struct picker {
    const rer_row_texts *texts;
    const int64_t *rows; /* [count] wanted, increasing */
    int64_t count, next; /* next: of `rows` */
    int64_t row;         /* that is being read */
    rer_texts_builder out;
    rer_text_visit *visit; /* NULL: those of `rows` are kept in `out` */
    void *context;
    bool is_done;
} picker;

static rer_status take_text(picker *p, const char *text, int64_t length, rer_error *error)
{
    if (p->visit == NULL)
        return rer_texts_add(&p->out, text, length, error);
    p->is_done = p->is_done || !p->visit(p->context, p->row, text);
    return RER_OK;
}

/* The text of an object's member, or of a text by itself. */
static rer_status add_json(picker *p, int64_t line, const char *text, int64_t length, rer_error *error)
{
    const char *wanted = p->texts->field != NULL ? p->texts->field : "text";
    json_error_t failure;
    json_t *value = json_loadb(text, (size_t)length, JSON_DECODE_ANY | JSON_ALLOW_NUL, &failure);
    if (value == NULL)
        return rer_fail(error, RER_BAD_INPUT, "%s: line %lld is no JSON: %s", p->texts->input.file, (long long)line,
                        failure.text);
    const json_t *member = json_is_object(value) ? json_object_get(value, wanted) : value;
    rer_status status = RER_OK;
    if (member == NULL && json_is_object(value))
        status = rer_fail(error, RER_BAD_INPUT, "%s: line %lld has no member '%s'; name one, as in %s:NAME",
                          p->texts->input.file, (long long)line, wanted, p->texts->input.file);
    else if (json_is_string(member))
        status = take_text(p, json_string_value(member), (int64_t)json_string_length(member), error);
    else
        status = take_text(p, text, length, error); /* as it is */
    json_decref(value);
    return status;
}

static rer_status pick_cell(void *context, int64_t line, int64_t column, const char *text, int64_t length,
                            rer_error *error)
{
    picker *p = context;
    bool is_wanted = p->visit != NULL ? p->row >= 0 && !p->is_done : p->next < p->count && p->row == p->rows[p->next];
    if (!is_wanted || column != p->texts->column)
        return RER_OK;
    return p->texts->is_json ? add_json(p, line, text, length, error) : take_text(p, text, length, error);
}

static rer_status pick_row(void *context, int64_t line, rer_error *error)
{
    picker *p = context;
    (void)line, (void)error;
    if (p->next < p->count && p->row == p->rows[p->next])
        p->next++;
    p->row++;
    return RER_OK;
}

rer_status rer_row_texts_read(rer_texts *out, const rer_row_texts *texts, const int64_t *rows, int64_t count,
                              rer_error *error)
{
    picker p = {.texts = texts, .rows = rows, .count = count, .row = -texts->header};
    rer_csv_handler handler = {.cell = pick_cell, .row = pick_row, .context = &p};
    rer_status status = RER_OK;
    if (texts->kept.count > 0)
        for (int64_t i = 0; i < count && status == RER_OK; i++) {
            const char *text = rer_text(&texts->kept, rows[i]);
            status = rer_texts_add(&p.out, text, (int64_t)strlen(text), error);
        }
    else
        status = rer_csv_read(&texts->input, texts->delimiter, &handler, NULL, error);
    while (status == RER_OK && p.out.texts.count < count) /* blank lines at the end */
        status = rer_texts_add(&p.out, "", 0, error);
    if (status == RER_OK)
        *out = p.out.texts;
    else
        rer_texts_free(&p.out.texts);
    return status;
}

rer_status rer_row_texts_visit(const rer_row_texts *texts, int64_t N, rer_text_visit *visit, void *context,
                               rer_error *error)
{
    picker p = {.texts = texts, .row = -texts->header, .visit = visit, .context = context};
    rer_csv_handler handler = {.cell = pick_cell, .row = pick_row, .context = &p};
    if (texts->kept.count == 0)
        return rer_csv_read(&texts->input, texts->delimiter, &handler, NULL, error);
    for (int64_t row = 0; row < N && !p.is_done; row++)
        p.is_done = !visit(context, row, rer_text(&texts->kept, row));
    return RER_OK;
}

/* ---- all of them ------------------------------------------------------------------------------ */

static rer_status check_texts(const rer_texts *texts, const char *path, rer_error *error)
{
    for (int64_t i = 0; i < texts->count; i++)
        if (!rer_is_utf8(rer_text(texts, i), (int64_t)strlen(rer_text(texts, i))))
            return rer_fail(error, RER_BAD_INPUT, "%s: text %lld is not UTF-8", path, (long long)(i + 1));
    return texts->count > 0 ? RER_OK : rer_fail(error, RER_BAD_INPUT, "%s: has no texts", path);
}

rer_status rer_row_texts_all(rer_texts *texts, const char *path, rer_error *error)
{
    rer_row_texts opened = {.input = RER_NO_INPUT};
    rer_texts read = {0};
    int64_t *rows = NULL;
    rer_status status = rer_row_texts_open(&opened, path, RER_ANY_ROWS, error);
    RER_THEN(status, rer_allocate(&rows, opened.rows, sizeof *rows, "numbers of rows", error));
    for (int64_t i = 0; status == RER_OK && i < opened.rows; i++)
        rows[i] = i;
    RER_THEN(status, rer_row_texts_read(&read, &opened, rows, opened.rows, error));
    RER_THEN(status, check_texts(&read, path, error));
    if (status == RER_OK)
        *texts = read;
    else
        rer_texts_free(&read);
    rer_row_texts_free(&opened);
    free(rows);
    return status;
}

rer_status rer_row_texts_beside(char **path, const char *texts, const char *labels, const char *column,
                                rer_error *error)
{
    char *file = NULL, *field = NULL;
    rer_status status = split_path(&file, &field, texts, error);
    if (status == RER_OK && labels != NULL && column == NULL) {
        size_t length = strlen(file);
        if (strncmp(labels, file, length) == 0 && labels[length] == ':')
            column = labels + length + 1;
    } else if (labels != NULL) {
        column = NULL; /* of another file */
    }
    if (status == RER_OK && column != NULL) {
        int64_t size = (int64_t)(strlen(file) + strlen(column)) + 2;
        status = rer_allocate(path, size, 1, "a path", error);
        if (status == RER_OK)
            (void)snprintf(*path, (size_t)size, "%s:%s", file, column);
    }
    RER_FREE_ALL(file, field);
    return status;
}
