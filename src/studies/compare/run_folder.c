/* A folder of rer analyze --out: samples.csv, classes.csv, summary.json. */
#include "studies/compare/run_folder.h"

#include "core/files.h"
#include "core/manifest.h"
#include "studies/compare/table_columns.h"
#include "source/formats.h"

#include <jansson.h>

enum { GIVEN, CHI, MISTAKENNESS, ISSUE, ID, VALUE, SAMPLE_COLUMNS };

void rer_run_folder_free(rer_run_folder *run)
{
    RER_FREE_ALL(run->path, run->name, run->reconstructor, run->value, run->chi_of, run->mistakenness, run->is_issue);
    rer_texts_free(&run->given);
    rer_texts_free(&run->ids);
    rer_texts_free(&run->classes);
    free(run->class_chi);
    *run = (rer_run_folder){0};
}

/* ---- samples.csv ---------------------------------------------------------------------------- */

static rer_status read_numbers(double **values, const rer_table_column *column, const char *path, rer_error *error)
{
    RER_TRY(rer_allocate(values, column->texts.count, sizeof **values, "a column", error));
    return rer_table_column_numbers(*values, column, path, error);
}

static rer_status take_samples(rer_run_folder *run, rer_table_column *columns, int count, const char *path,
                               rer_error *error)
{
    rer_status status = read_numbers(&run->chi_of, &columns[CHI], path, error);
    RER_THEN(status, read_numbers(&run->mistakenness, &columns[MISTAKENNESS], path, error));
    if (status == RER_OK && count > VALUE)
        status = read_numbers(&run->value, &columns[VALUE], path, error);
    if (status == RER_OK && count == VALUE)
        status = rer_allocate(&run->value, run->N, sizeof *run->value, "a column", error);
    RER_THEN(status, rer_allocate(&run->is_issue, run->N, sizeof *run->is_issue, "flags", error));
    for (int64_t i = 0; status == RER_OK && i < run->N; i++)
        run->is_issue[i] = strcmp(rer_text(&columns[ISSUE].texts, i), "true") == 0;
    run->given = columns[GIVEN].texts;
    run->ids = columns[ID].texts;
    columns[GIVEN].texts = columns[ID].texts = (rer_texts){0};
    return status;
}

static rer_status read_samples(rer_run_folder *run, const char *column, rer_error *error)
{
    rer_table_column columns[SAMPLE_COLUMNS] = {
        [GIVEN] = {.name = "given_label", .is_safe = run->is_safe},
        [CHI] = {.name = "rer"},
        [MISTAKENNESS] = {.name = "mistakenness"},
        [ISSUE] = {.name = "is_label_issue"},
        [ID] = {.name = "id", .is_optional = true, .is_safe = run->is_safe},
        [VALUE] = {.name = column},
    };
    const char *is_text[] = {"given_label", "predicted_label", "suggested_label", "is_label_issue", "id"};
    bool is_known = strcmp(column, "rer") == 0 || strcmp(column, "mistakenness") == 0;
    int count = is_known ? VALUE : SAMPLE_COLUMNS;
    char *path = NULL;
    for (int i = 0; i < (int)(sizeof is_text / sizeof *is_text); i++)
        if (strcmp(column, is_text[i]) == 0)
            return rer_fail(error, RER_BAD_USAGE,
                            "--column %s: holds texts; numbers are compared: rer, mistakenness, ...", column);
    rer_status status = rer_join_path(&path, run->path, "samples.csv", error);
    RER_THEN(status, rer_table_columns_read(columns, count, &run->N, path, error));
    RER_THEN(status, take_samples(run, columns, count, path, error));
    if (status == RER_OK && is_known)
        memcpy(run->value, column[0] == 'r' ? run->chi_of : run->mistakenness, (size_t)run->N * sizeof *run->value);
    rer_table_columns_free(columns, count);
    free(path);
    return status;
}

/* ---- classes.csv ---------------------------------------------------------------------------- */

static rer_status read_classes(rer_run_folder *run, rer_error *error)
{
    rer_table_column columns[] = {{.name = "label", .is_safe = run->is_safe}, {.name = "chi"}};
    char *path = NULL;
    int64_t rows = 0;
    rer_status status = rer_join_path(&path, run->path, "classes.csv", error);
    RER_THEN(status, rer_table_columns_read(columns, 2, &rows, path, error));
    if (status == RER_OK) {
        status = read_numbers(&run->class_chi, &columns[1], path, error);
        run->classes = columns[0].texts;
        columns[0].texts = (rer_texts){0};
    }
    rer_table_columns_free(columns, 2);
    free(path);
    return status;
}

/* ---- summary.json --------------------------------------------------------------------------- */

static double number_at(const json_t *root, const char *name)
{
    const json_t *value = json_object_get(root, name);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

/* A count, 0 where it is missing; -1 where it can be none. */
static int64_t count_at(const json_t *root, const char *name)
{
    double value = number_at(root, name);
    if (isnan(value))
        return 0;
    return value >= 0 && value <= 9e15 ? (int64_t)value : -1;
}

static rer_status take_summary(rer_run_folder *folder, const json_t *root, const char *path, rer_error *error)
{
    const char *reconstructor = json_string_value(json_object_get(root, "reconstructor"));
    static const char *const counts[] = {"n_samples", "n_classes", "n_features", "n_issues"};
    if (isnan(number_at(root, "n_samples")) || isnan(number_at(root, "n_classes")))
        return rer_fail(error, RER_BAD_INPUT, "%s: this is no summary of rer analyze", path);
    for (int i = 0; i < 4; i++)
        if (count_at(root, counts[i]) < 0)
            return rer_fail(error, RER_BAD_INPUT, "%s: %s is %g, which is no count", path, counts[i],
                            number_at(root, counts[i]));
    folder->run = (rer_compared_run){
        .name = folder->name,
        .path = folder->path,
        .chi = number_at(root, "chi"),
        .difficulty = number_at(root, "difficulty"),
        .error_rate = number_at(root, "error_rate"),
        .noise_rate = number_at(root, "noise_rate"),
        .n_samples = count_at(root, "n_samples"),
        .n_features = count_at(root, "n_features"),
        .n_classes = count_at(root, "n_classes"),
        .n_issues = count_at(root, "n_issues"),
        .model_error = NAN,
        .expected_error = NAN,
    };
    folder->is_safe = json_is_true(json_object_get(json_object_get(root, "options"), "spreadsheet-safe"));
    const char *detector = json_string_value(json_object_get(json_object_get(root, "options"), "detector"));
    (void)snprintf(folder->detector, sizeof folder->detector, "%.31s", detector != NULL ? detector : "");
    RER_TRY(rer_copy_text(&folder->reconstructor, reconstructor != NULL ? reconstructor : "", error));
    folder->run.reconstructor = folder->reconstructor;
    return RER_OK;
}

#define SUMMARY_MOST (64 << 20)

static rer_status read_summary(rer_run_folder *run, rer_error *error)
{
    rer_bytes bytes = RER_NO_BYTES;
    char *path = NULL, *text = NULL;
    json_error_t cause;
    rer_status status = rer_join_path(&path, run->path, "summary.json", error);
    RER_THEN(status, rer_bytes_open(&bytes, path, error));
    if (status == RER_OK && bytes.size > SUMMARY_MOST)
        status = rer_fail(error, RER_BAD_INPUT, "%s: too large for a summary of rer analyze", path);
    RER_THEN(status, rer_allocate(&text, bytes.size + 1, 1, "summary.json", error));
    RER_THEN(status, rer_bytes_read(&bytes, 0, bytes.size, text, path, error));
    if (status == RER_OK) {
        json_t *root = json_loadb(text, (size_t)bytes.size, 0, &cause);
        status = root != NULL ? take_summary(run, root, path, error)
                              : rer_fail(error, RER_BAD_INPUT, "%s: line %d: %s", path, cause.line, cause.text);
        json_decref(root);
    }
    rer_bytes_close(&bytes);
    RER_FREE_ALL(text, path);
    return status;
}

/* The last part of the path, without slashes at its end. */
static rer_status set_name(rer_run_folder *run, const char *path, rer_error *error)
{
    RER_TRY(rer_copy_text(&run->path, path, error));
    for (size_t length = strlen(run->path); length > 1 && run->path[length - 1] == '/'; length--)
        run->path[length - 1] = 0;
    const char *slash = strrchr(run->path, '/');
    return rer_copy_text(&run->name, slash != NULL && slash[1] != 0 ? slash + 1 : run->path, error);
}

rer_status rer_run_folder_read(rer_run_folder *run, const char *path, const char *column, rer_error *error)
{
    static const char *const files[] = {"summary.json", "samples.csv", "classes.csv"};
    rer_run_folder made = {0};
    rer_status status = set_name(&made, path, error);
    RER_THEN(status, rer_manifest_check(path, files, RER_COUNT(files), error));
    RER_THEN(status, read_summary(&made, error));
    RER_THEN(status, read_samples(&made, column, error));
    RER_THEN(status, read_classes(&made, error));
    if (status == RER_OK && made.N != made.run.n_samples)
        status = rer_fail(error, RER_BAD_INPUT, "%s: samples.csv has %lld rows, but summary.json speaks of %lld", path,
                          (long long)made.N, (long long)made.run.n_samples);
    if (status == RER_OK)
        *run = made;
    else
        rer_run_folder_free(&made);
    return status;
}
