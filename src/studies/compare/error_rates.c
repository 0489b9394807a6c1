/* Error rates of models, one for each data set, against chi: the paper's relation is linear between chi
 * and log(error rate). How far a model lies from the line says how far it is from what its data set's
 * difficulty suggests. */
#include "studies/compare/comparison.h"
#include "studies/compare/table_columns.h"
#include "stats/agreement.h"

enum { RUN, ERROR_RATE, ACCURACY };

static rer_compared_run *find_run(rer_comparison *comparison, const char *name)
{
    for (int i = 0; i < comparison->count; i++)
        if (strcmp(comparison->runs[i].name, name) == 0 || strcmp(comparison->folders[i].name, name) == 0 ||
            strcmp(comparison->folders[i].path, name) == 0)
            return &comparison->runs[i];
    return NULL;
}

static rer_status set_rate(rer_comparison *comparison, const char *name, double rate, bool is_accuracy, int64_t line,
                           const char *path, rer_error *error)
{
    double share = is_accuracy ? 1 - rate : rate;
    rer_compared_run *run = find_run(comparison, name);
    if (run == NULL)
        return rer_notes_add(&comparison->notes, error, "%s: line %lld: no run is called '%s'", path, (long long)line,
                             RER_QUOTED(name));
    if (isnan(rate))
        return RER_OK;
    if (!(rate >= 0 && rate <= 1))
        return rer_fail(error, RER_BAD_INPUT, "%s: line %lld: %g is no %s from 0 to 1", path, (long long)line, rate,
                        is_accuracy ? "accuracy" : "error rate");
    run->model_error = share;
    if (share == 0)
        return rer_notes_add(&comparison->notes, error, "'%s' has no errors: its logarithm takes no part", run->name);
    return RER_OK;
}

static void fit_errors(rer_comparison *comparison)
{
    double chi[RER_RUNS_MAX], log_error[RER_RUNS_MAX], log_difficulty[RER_RUNS_MAX];
    rer_regression *regression = &comparison->regression;
    for (int i = 0; i < comparison->count; i++) {
        const rer_compared_run *run = &comparison->runs[i];
        chi[i] = run->chi;
        log_error[i] = run->model_error > 0 ? log(run->model_error) : NAN;
        log_difficulty[i] = run->difficulty > 0 ? log(run->difficulty) : NAN;
        regression->n += !isnan(chi[i]) && !isnan(log_error[i]);
    }
    rer_line line = rer_fit_line(chi, log_error, comparison->count);
    if (regression->n < 3) /* a line through two points fits whatever they are */
        return;
    regression->slope = line.slope;
    regression->intercept = line.intercept;
    regression->pearson = line.pearson;
    regression->pearson_difficulty = rer_pearson(log_difficulty, log_error, comparison->count);
    for (int i = 0; i < comparison->count; i++)
        comparison->runs[i].expected_error = fmin(1, exp(line.slope * chi[i] + line.intercept));
}

rer_status rer_comparison_read_rates(rer_comparison *comparison, const char *path, rer_error *error)
{
    rer_table_column columns[] = {[RUN] = {.name = "run"},
                                  [ERROR_RATE] = {.name = "error_rate", .is_optional = true},
                                  [ACCURACY] = {.name = "accuracy", .is_optional = true}};
    int64_t rows = 0;
    double *rates = NULL;
    RER_TRY(rer_table_columns_read(columns, 3, &rows, path, error));
    bool is_accuracy = !columns[ERROR_RATE].found;
    const rer_table_column *column = &columns[is_accuracy ? ACCURACY : ERROR_RATE];
    rer_status status = RER_OK;
    if (!column->found)
        status =
            rer_fail(error, RER_BAD_INPUT, "%s: there is neither a column 'error_rate' nor a column 'accuracy'", path);
    RER_THEN(status, rer_allocate(&rates, rows, sizeof *rates, "error rates", error));
    RER_THEN(status, rer_table_column_numbers(rates, column, path, error));
    for (int64_t i = 0; status == RER_OK && i < rows; i++)
        status = set_rate(comparison, rer_text(&columns[RUN].texts, i), rates[i], is_accuracy, i + 2, path, error);
    if (status == RER_OK) {
        fit_errors(comparison);
        if (comparison->regression.n < 3)
            status = rer_notes_add(&comparison->notes, error,
                                   "%d error rate%s for these runs: three at least are needed for a correlation",
                                   comparison->regression.n, comparison->regression.n == 1 ? "" : "s");
    }
    rer_table_columns_free(columns, 3);
    free(rates);
    return status;
}
