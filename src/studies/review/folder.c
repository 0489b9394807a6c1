/* The run that is reviewed: summary.json, classes.csv, samples.csv, report.html, and the data that inputs.json names. */
#include "studies/review/review.h"

#include "core/manifest.h"
#include "source/csv_rows.h"
#include "source/inputs.h"
#include "source/number.h"
#include "studies/compare/table_columns.h"

#include <jansson.h>
#include <locale.h>
#include <unistd.h>

#define REPORT_MOST ((int64_t)256 << 20)

/* ---- classes ---------------------------------------------------------------------------------- */

const char *rer_review_value(const rer_review *review, int32_t c)
{
    bool has_labels = review->data != NULL && review->data->labels.C == review->rows.classes.count;
    return c < 0 ? "" : has_labels ? rer_labels_value(&review->data->labels, c) : rer_text(&review->rows.classes, c);
}

int32_t rer_review_class(const rer_review *review, const char *value)
{
    for (int32_t c = 0; c < review->rows.classes.count; c++)
        if (strcmp(rer_review_value(review, c), value) == 0)
            return c;
    return -1;
}

/* ---- samples.csv ------------------------------------------------------------------------------ */

enum { ID, GIVEN, PREDICTED, SUGGESTED, CHI, PROMISE, N_COLUMNS };

static const char *const column_names[N_COLUMNS] = {
    [ID] = "id",   [GIVEN] = "given_label",    [PREDICTED] = "predicted_label", [SUGGESTED] = "suggested_label",
    [CHI] = "rer", [PROMISE] = "mistakenness",
};

typedef struct named {
    const char *name;
    int32_t c;
} named;

typedef struct reading {
    rer_review_rows *rows;
    const char *path;
    named *classes; /* [C] sorted */
    int64_t place[N_COLUMNS], row, capacity;
    bool has_header, is_safe;
    rer_texts_builder ids;
} reading;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

static rer_status find_class(const reading *r, int32_t *c, const char *name, int64_t line, rer_error *error)
{
    const named wanted = {.name = name + (r->is_safe && name[0] == '\'')};
    *c = -1;
    if (wanted.name[0] == 0)
        return RER_OK;
    const named *found = bsearch(&wanted, r->classes, (size_t)r->rows->classes.count, sizeof wanted, by_name);
    if (found == NULL)
        return rer_fail(error, RER_BAD_INPUT, "%s: line %lld: classes.csv has no class '%s'", r->path, (long long)line,
                        RER_QUOTED(name));
    *c = found->c;
    return RER_OK;
}

static rer_status find_number(const reading *r, float *out, const char *text, int64_t length, int64_t line,
                              rer_error *error)
{
    double value = NAN;
    if (!rer_parse_number(text, length, &value))
        return rer_fail(error, RER_BAD_INPUT, "%s: line %lld: '%s' is no number", r->path, (long long)line,
                        RER_QUOTED(text));
    *out = (float)value;
    return RER_OK;
}

static rer_status take_value(reading *r, int column, const char *text, int64_t length, int64_t line, rer_error *error)
{
    rer_review_rows *rows = r->rows;
    int32_t c = -1;
    switch (column) {
    case ID:
        return rer_texts_add_checked(&r->ids, text, length, r->path, "line", line, error);
    case GIVEN:
        return find_class(r, &rows->given[r->row], text, line, error);
    case CHI:
        return find_number(r, &rows->chi[r->row], text, length, line, error);
    case PROMISE:
        return find_number(r, &rows->first[r->row], text, length, line, error);
    default: /* the suggestion, where there is one, else the nearest class */
        break;
    }
    RER_TRY(find_class(r, &c, text, line, error));
    if (c >= 0 && (column == SUGGESTED || c != rows->given[r->row]))
        rows->suggested[r->row] = c;
    return RER_OK;
}

static rer_status take_cell(void *context, int64_t line, int64_t column, const char *text, int64_t length,
                            rer_error *error)
{
    reading *r = context;
    for (int k = 0; k < N_COLUMNS; k++) {
        if (!r->has_header && strcmp(text, column_names[k]) == 0)
            r->place[k] = column;
        if (!r->has_header || r->place[k] != column)
            continue;
        if (r->row >= r->rows->N)
            return rer_fail(error, RER_BAD_INPUT, "%s: has more rows than summary.json says", r->path);
        return take_value(r, k, text, length, line, error);
    }
    return RER_OK;
}

static rer_status take_row(void *context, int64_t line, rer_error *error)
{
    reading *r = context;
    (void)line;
    if (r->has_header) {
        r->row++;
        return RER_OK;
    }
    r->has_header = true;
    for (int k = GIVEN; k < N_COLUMNS; k++)
        if (r->place[k] < 0)
            return rer_fail(error, RER_BAD_INPUT, "%s: there is no column '%s'", r->path, column_names[k]);
    return RER_OK;
}

static rer_status prepare(reading *r, rer_error *error)
{
    rer_review_rows *rows = r->rows;
    const rer_room rooms[] = {RER_ROOM(rows->first, rows->N),     RER_ROOM(rows->promise, rows->N),
                              RER_ROOM(rows->chi, rows->N),       RER_ROOM(rows->given, rows->N),
                              RER_ROOM(rows->suggested, rows->N), RER_ROOM(r->classes, rows->classes.count)};
    RER_TRY(rer_allocate_all(rooms, RER_COUNT(rooms), "rows", error));
    for (int64_t row = 0; row < rows->N; row++)
        rows->suggested[row] = -1;
    for (int32_t c = 0; c < rows->classes.count; c++)
        r->classes[c] = (named){rer_text(&rows->classes, c), c};
    if (rows->classes.count > 0)
        qsort(r->classes, (size_t)rows->classes.count, sizeof *r->classes, by_name);
    for (int k = 0; k < N_COLUMNS; k++)
        r->place[k] = -1;
    return RER_OK;
}

/* Numbers have points, whatever the process's language. */
static rer_status read_plain(const rer_input *input, const rer_csv_handler *handler, rer_error *error)
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (plain == (locale_t)0)
        return rer_fail(error, RER_SYSTEM, "out of memory: a locale");
    locale_t before = uselocale(plain);
    rer_status status = rer_csv_read(input, ',', handler, NULL, error);
    (void)uselocale(before);
    freelocale(plain);
    return status;
}

static rer_status read_rows(rer_review_rows *rows, const char *path, bool is_safe, rer_error *error)
{
    reading r = {.rows = rows, .path = path, .is_safe = is_safe};
    rer_csv_handler handler = {.cell = take_cell, .row = take_row, .context = &r};
    rer_input input = RER_NO_INPUT;
    rer_status status = rer_input_open(&input, path, error);
    if (status == RER_OK && input.format != RER_TEXT)
        status = rer_fail(error, RER_BAD_INPUT, "%s: this is no CSV", path);
    if (status == RER_OK && rows->N > input.bytes.size) /* before there is room for them */
        status = rer_fail(error, RER_BAD_INPUT, "%s: is too short for the %lld rows that summary.json speaks of", path,
                          (long long)rows->N);
    RER_THEN(status, prepare(&r, error));
    RER_THEN(status, read_plain(&input, &handler, error));
    if (status == RER_OK && r.row != rows->N)
        status = rer_fail(error, RER_BAD_INPUT, "%s: has %lld rows, but summary.json speaks of %lld", path,
                          (long long)r.row, (long long)rows->N);
    rows->ids = r.ids.texts;
    if (status == RER_OK)
        memcpy(rows->promise, rows->first, (size_t)rows->N * sizeof *rows->promise);
    rer_input_close(&input);
    free(r.classes);
    return status;
}

static rer_status read_classes(rer_review_rows *rows, const char *path, bool is_safe, rer_error *error)
{
    rer_table_column column = {.name = "label", .is_safe = is_safe};
    int64_t count = 0;
    rer_status status = rer_table_columns_read(&column, 1, &count, path, error);
    rows->classes = column.texts;
    return status;
}

/* ---- summary.json ----------------------------------------------------------------------------- */

/* The options that the run had: its echo of them, set again. */
static rer_status take_options(rer_options *options, const json_t *echo, const char *path, rer_error *error)
{
    rer_error cause = {0};
    *options = rer_options_default();
    for (int i = 0; cause.status == RER_OK && i < rer_options_count(); i++) {
        const rer_option_info *info = rer_options_info(i);
        const json_t *value = json_object_get(echo, info->name);
        if (json_is_string(value))
            (void)rer_options_set(options, info->name, json_string_value(value), &cause);
        else if (json_is_true(value))
            (void)rer_options_set(options, info->name, "yes", &cause);
    }
    return cause.status == RER_OK ? RER_OK : rer_fail(error, RER_BAD_INPUT, "%s: %s", path, cause.message);
}

static rer_status take_summary(rer_review *review, const json_t *root, const char *path, rer_error *error)
{
    const char *version = json_string_value(json_object_get(root, "version"));
    const char *sum = json_string_value(json_object_get(json_object_get(root, "checksums"), "labels"));
    json_int_t N = json_integer_value(json_object_get(root, "n_samples"));
    if (version == NULL || N <= 0)
        return rer_fail(error, RER_BAD_INPUT, "%s: this is no summary of rer analyze", path);
    if (strcmp(version, rer_version()) != 0)
        return rer_fail(error, RER_BAD_INPUT,
                        "%s: the run was made by rer %.20s, and this is rer %s; repeat the analysis with this one",
                        path, version, rer_version());
    if (sum == NULL)
        return rer_fail(error, RER_BAD_INPUT, "%s: the run had no labels; there is nothing to review", path);
    review->checksum = strtoull(sum, NULL, 16);
    review->rows.N = N;
    return take_options(&review->options, json_object_get(root, "options"), path, error);
}

static rer_status read_summary(rer_review *review, const char *path, rer_error *error)
{
    json_error_t cause;
    json_t *root = json_load_file(path, 0, &cause);
    rer_status status = root != NULL ? take_summary(review, root, path, error)
                                     : rer_fail(error, RER_BAD_INPUT,
                                                "%s: cannot be read (%s); give the folder that rer analyze --out wrote",
                                                path, cause.text);
    json_decref(root);
    return status;
}

/* ---- the page --------------------------------------------------------------------------------- */

static rer_status read_report(char **report, const char *path, rer_error *error)
{
    rer_bytes bytes = RER_NO_BYTES;
    char *text = NULL;
    rer_status status = rer_bytes_open_plain(&bytes, path, REPORT_MOST, error);
    RER_THEN(status, rer_allocate(&text, bytes.size + 1, 1, "report.html", error));
    RER_THEN(status, rer_bytes_read(&bytes, 0, bytes.size, text, path, error));
    RER_THEN(status, rer_review_page_check(text, path, error));
    rer_bytes_close(&bytes);
    if (status == RER_OK)
        *report = text;
    else
        free(text);
    return status;
}

/* ---- the data --------------------------------------------------------------------------------- */

static rer_status open_same(rer_review *review, const rer_inputs *inputs, rer_error *error)
{
    RER_TRY(rer_dataset_open(&review->data, &inputs->files, &review->options, error));
    const rer_dataset *data = review->data;
    bool is_clustered = data->labels.codes == NULL;
    if (data->N == review->rows.N && (is_clustered || data->labels_checksum == review->checksum))
        return RER_OK;
    return rer_fail(error, RER_BAD_INPUT, "%s: has changed since the run was made", inputs->files.features);
}

/* Without its data a run can be reviewed all the same: what is missing is told where it is asked for. */
static void open_data(rer_review *review, const char *path)
{
    rer_error cause = {0};
    rer_inputs inputs = {0};
    rer_status status = access(path, F_OK) == 0
                            ? rer_inputs_read(&inputs, path, &cause)
                            : rer_fail(&cause, RER_BAD_INPUT,
                                       "the run names no files: its data was in memory, or a model's scores of it");
    RER_THEN(status, open_same(review, &inputs, &cause));
    if (status != RER_OK) {
        rer_dataset_free(review->data);
        review->data = NULL;
        (void)snprintf(review->why, sizeof review->why, "%s", cause.message);
    }
    review->is_clustered = inputs.files.labels == NULL && inputs.files.label_column == NULL;
    rer_inputs_free(&inputs);
}

/* ---- all of it -------------------------------------------------------------------------------- */

static rer_status read_files(rer_review *review, rer_error *error)
{
    enum { SUMMARY, SAMPLES, CLASSES, REPORT, FILES, INPUTS = FILES, PATHS };
    static const char *const names[PATHS] = {"summary.json", "samples.csv", "classes.csv", "report.html", RER_INPUTS};
    char *paths[PATHS] = {0};
    bool is_safe = false;
    rer_status status = rer_manifest_check(review->folder, names, FILES, error);
    for (int i = 0; status == RER_OK && i < PATHS; i++)
        status = rer_join_path(&paths[i], review->folder, names[i], error);
    RER_THEN(status, read_summary(review, paths[SUMMARY], error));
    is_safe = review->options.spreadsheet_safe;
    RER_THEN(status, read_classes(&review->rows, paths[CLASSES], is_safe, error));
    RER_THEN(status, read_rows(&review->rows, paths[SAMPLES], is_safe, error));
    RER_THEN(status, read_report(&review->report, paths[REPORT], error));
    if (status == RER_OK)
        open_data(review, paths[INPUTS]);
    rer_free_all((void **)paths, PATHS);
    return status;
}

rer_status rer_review_open(rer_review *review, const char *folder, rer_error *error)
{
    *review = (rer_review){.journal = RER_NO_JOURNAL};
    (void)pthread_mutex_init(&review->lock, NULL);
    (void)pthread_rwlock_init(&review->rows_lock, NULL);
    RER_TRY(rer_copy_text(&review->folder, folder, error));
    return read_files(review, error);
}

void rer_review_close(rer_review *review)
{
    rer_journal_close(&review->journal);
    rer_dataset_free(review->data);
    rer_texts_free(&review->rows.classes);
    rer_texts_free(&review->rows.ids);
    RER_FREE_ALL(review->rows.first, review->rows.promise, review->rows.chi, review->rows.given, review->rows.suggested,
                 review->report, review->folder);
    (void)pthread_mutex_destroy(&review->lock);
    (void)pthread_rwlock_destroy(&review->rows_lock);
}
