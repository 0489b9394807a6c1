/* The files of a comparison: compare.html and compare.json always; agreement.csv, disagreements.csv and heat maps of the
 * same samples; changes.csv of other labels; datasets.csv, datasets.svg and datasets_size.svg of
 * different data sets. */
#include "report/folder.h"
#include "report/json_values.h"
#include "studies/compare/page.h"

#include <math.h>
#include <string.h>

static const char *const modes[] = {"auto", "samples", "labels", "datasets"};

static void put_real(rer_writer *writer, double value)
{
    rer_put(writer, ",");
    if (isfinite(value))
        rer_put_format(writer, "%.9g", value);
}

static const char *text_or_nothing(const rer_texts *texts, int64_t i)
{
    return texts->count > 0 ? rer_text(texts, i) : "";
}

/* ---- the same samples ------------------------------------------------------------------------- */

static rer_status write_agreement(rer_writer *writer, const void *context)
{
    const rer_comparison *comparison = context;
    rer_put(writer, "run_a,run_b,spearman_samples,spearman_classes,ndcg_samples,ndcg_classes,ndcg_samples_reverse,"
                    "ndcg_classes_reverse\n");
    for (int p = 0; p < comparison->n_pairs; p++) {
        const rer_agreement *pair = &comparison->pairs[p];
        rer_put_cell(writer, comparison->runs[pair->a].name);
        rer_put(writer, ",");
        rer_put_cell(writer, comparison->runs[pair->b].name);
        put_real(writer, pair->spearman_samples);
        put_real(writer, pair->spearman_classes);
        put_real(writer, pair->ndcg_samples);
        put_real(writer, pair->ndcg_classes);
        put_real(writer, pair->ndcg_samples_reverse);
        put_real(writer, pair->ndcg_classes_reverse);
        rer_put(writer, "\n");
    }
    return writer->status;
}

/* A line for each sample, with the compared value of each run. */
static rer_status write_disagreements(rer_writer *writer, const void *context)
{
    const rer_comparison *comparison = context;
    const rer_run_folder *first = &comparison->folders[0];
    rer_put(writer, "index,id,given_label,lowest_rank,lowest_in,highest_rank,highest_in");
    for (int i = 0; i < comparison->count; i++) {
        rer_put(writer, ",");
        rer_put_cell(writer, comparison->runs[i].name);
    }
    rer_put(writer, "\n");
    for (int d = 0; d < comparison->n_disagreements; d++) {
        const rer_disagreement *found = &comparison->disagreements[d];
        rer_put_integer(writer, found->row);
        rer_put(writer, ",");
        rer_put_cell(writer, text_or_nothing(&first->ids, found->row));
        rer_put(writer, ",");
        rer_put_cell(writer, rer_text(&first->given, found->row));
        put_real(writer, found->low);
        rer_put(writer, ",");
        rer_put_cell(writer, comparison->runs[found->low_run].name);
        put_real(writer, found->high);
        rer_put(writer, ",");
        rer_put_cell(writer, comparison->runs[found->high_run].name);
        for (int i = 0; i < comparison->count; i++)
            put_real(writer, comparison->folders[i].value[found->row]);
        rer_put(writer, "\n");
    }
    return writer->status;
}

typedef double pair_value(const rer_agreement *pair, bool reverse);

static double spearman_of_samples(const rer_agreement *pair, bool reverse)
{
    (void)reverse;
    return pair->spearman_samples;
}

static double spearman_of_classes(const rer_agreement *pair, bool reverse)
{
    (void)reverse;
    return pair->spearman_classes;
}

static double ndcg_of_samples(const rer_agreement *pair, bool reverse)
{
    return reverse ? pair->ndcg_samples_reverse : pair->ndcg_samples;
}

static double ndcg_of_classes(const rer_agreement *pair, bool reverse)
{
    return reverse ? pair->ndcg_classes_reverse : pair->ndcg_classes;
}

/* Row a, column b: a's numbers are the truth. */
static rer_status put_heatmap(rer_writer *writer, const rer_comparison *comparison, pair_value *value,
                              const char *title, rer_heatmap_putter *put)
{
    const char *names[RER_RUNS_MAX];
    double *values = NULL;
    int count = comparison->count;
    rer_status status = rer_allocate(&values, (int64_t)count * count, sizeof *values, "a heat map", writer->error);
    if (status != RER_OK)
        return status;
    for (int i = 0; i < count; i++) {
        names[i] = comparison->runs[i].name;
        values[i * count + i] = 1;
    }
    for (int p = 0; p < comparison->n_pairs; p++) {
        const rer_agreement *pair = &comparison->pairs[p];
        values[pair->a * count + pair->b] = value(pair, false);
        values[pair->b * count + pair->a] = value(pair, true);
    }
    rer_heatmap map = {
        .title = title,
        .x = {.names = names, .n_names = count},
        .y = {.names = names, .n_names = count},
        .rows = count,
        .columns = count,
        .values = values,
        .high = 1,
    };
    put(writer, &map);
    free(values);
    return writer->status;
}

rer_status rer_comparison_put_map(rer_writer *writer, const rer_comparison *comparison, int kind,
                                  rer_heatmap_putter *put)
{
    static const struct {
        pair_value *value;
        const char *title;
    } maps[RER_AGREEMENT_MAPS] = {{spearman_of_samples, "Samples: rank correlation"},
                                  {spearman_of_classes, "Classes: rank correlation"},
                                  {ndcg_of_samples, "Samples: nDCG"},
                                  {ndcg_of_classes, "Classes: nDCG"}};
    return put_heatmap(writer, comparison, maps[kind].value, maps[kind].title, put);
}

static rer_status write_spearman_samples(rer_writer *writer, const void *context)
{
    return rer_comparison_put_map(writer, context, 0, rer_heatmap_put_alone);
}

static rer_status write_spearman_classes(rer_writer *writer, const void *context)
{
    return rer_comparison_put_map(writer, context, 1, rer_heatmap_put_alone);
}

static rer_status write_ndcg_samples(rer_writer *writer, const void *context)
{
    return rer_comparison_put_map(writer, context, 2, rer_heatmap_put_alone);
}

static rer_status write_ndcg_classes(rer_writer *writer, const void *context)
{
    return rer_comparison_put_map(writer, context, 3, rer_heatmap_put_alone);
}

/* ---- other labels ----------------------------------------------------------------------------- */

/* A line for each changed label, of each run against the first. */
static rer_status write_changes(rer_writer *writer, const void *context)
{
    const rer_comparison *comparison = context;
    const rer_run_folder *before = &comparison->folders[0];
    rer_put(writer, "run,index,id,label_before,label_after,rer_before,rer_after,mistakenness_before,mistakenness_after,"
                    "flagged_before,flagged_after\n");
    for (int r = 1; r < comparison->count; r++) {
        const rer_run_folder *after = &comparison->folders[r];
        for (int64_t i = 0; i < before->N && writer->status == RER_OK; i++) {
            if (strcmp(rer_text(&before->given, i), rer_text(&after->given, i)) == 0)
                continue;
            rer_put_cell(writer, comparison->runs[r].name);
            rer_put(writer, ",");
            rer_put_integer(writer, i);
            rer_put(writer, ",");
            rer_put_cell(writer, text_or_nothing(&before->ids, i));
            rer_put(writer, ",");
            rer_put_cell(writer, rer_text(&before->given, i));
            rer_put(writer, ",");
            rer_put_cell(writer, rer_text(&after->given, i));
            put_real(writer, before->chi_of[i]);
            put_real(writer, after->chi_of[i]);
            put_real(writer, before->mistakenness[i]);
            put_real(writer, after->mistakenness[i]);
            rer_put(writer, before->is_issue[i] ? ",true" : ",false");
            rer_put(writer, after->is_issue[i] ? ",true\n" : ",false\n");
        }
    }
    return writer->status;
}

/* ---- data sets -------------------------------------------------------------------------------- */

static rer_status write_datasets(rer_writer *writer, const void *context)
{
    const rer_comparison *comparison = context;
    rer_put(writer, "run,n_samples,n_classes,n_features,chi,difficulty,error_rate,noise_rate,n_issues,model_error,"
                    "expected_error,error_ratio\n");
    for (int i = 0; i < comparison->count; i++) {
        const rer_compared_run *run = &comparison->runs[i];
        rer_put_cell(writer, run->name);
        rer_put_format(writer, ",%lld,%lld,%lld", (long long)run->n_samples, (long long)run->n_classes,
                       (long long)run->n_features);
        put_real(writer, run->chi);
        put_real(writer, run->difficulty);
        put_real(writer, run->error_rate);
        put_real(writer, run->noise_rate);
        rer_put_format(writer, ",%lld", (long long)run->n_issues);
        put_real(writer, run->model_error);
        put_real(writer, run->expected_error);
        put_real(writer, run->model_error / run->expected_error);
        rer_put(writer, "\n");
    }
    return writer->status;
}

#define LINE_POINTS 50

/* Against chi: left-out errors, noise rates and, where they are known, errors of models with their line. */
void rer_comparison_put_scatter(rer_writer *writer, const rer_comparison *comparison, rer_chart_putter *put)
{
    enum { LEFT_OUT, NOISE, MODEL, RATES };
    const rer_regression *fit = &comparison->regression;
    double chi[RER_RUNS_MAX], rate[RATES][RER_RUNS_MAX], x[LINE_POINTS], y[LINE_POINTS];
    double low = INFINITY, high = -INFINITY;
    const char *labels[RER_RUNS_MAX];
    int count = comparison->count, n_models = 0;
    for (int i = 0; i < count; i++) {
        const rer_compared_run *run = &comparison->runs[i];
        chi[i] = run->chi;
        rate[LEFT_OUT][i] = run->error_rate;
        rate[NOISE][i] = run->noise_rate;
        rate[MODEL][i] = run->model_error;
        labels[i] = run->name;
        n_models += !isnan(run->model_error);
        low = fmin(low, chi[i]);
        high = fmax(high, chi[i]);
    }
    for (int k = 0; k < LINE_POINTS; k++) {
        x[k] = low + (high - low) * k / (LINE_POINTS - 1);
        y[k] = exp(fit->slope * x[k] + fit->intercept);
    }
    rer_series series[] = {
        {.kind = RER_POINTS, .name = "left-out error", .n = count, .x = chi, .y = rate[LEFT_OUT], .labels = labels},
        {.kind = RER_POINTS, .name = "noise rate", .n = count, .x = chi, .y = rate[NOISE]},
        {.kind = RER_POINTS, .name = "error of the model", .n = count, .x = chi, .y = rate[MODEL]},
        {.kind = RER_LINE, .n = LINE_POINTS, .x = x, .y = y, .color = MODEL + 1, .dashed = true},
    };
    rer_chart chart = {
        .title = "Errors and noise rates against chi",
        .x = {.title = "chi"},
        .y = {.title = "share of the samples", .log = true, .percent = true},
        .series = series,
        .n_series = n_models == 0       ? MODEL
                    : isnan(fit->slope) ? RATES
                                        : RATES + 1,
    };
    put(writer, &chart);
}

void rer_comparison_put_sizes(rer_writer *writer, const rer_comparison *comparison, rer_chart_putter *put)
{
    double samples[RER_RUNS_MAX], classes[RER_RUNS_MAX];
    const char *labels[RER_RUNS_MAX];
    for (int i = 0; i < comparison->count; i++) {
        samples[i] = (double)comparison->runs[i].n_samples;
        classes[i] = (double)comparison->runs[i].n_classes;
        labels[i] = comparison->runs[i].name;
    }
    rer_series series = {.kind = RER_POINTS, .n = comparison->count, .x = samples, .y = classes, .labels = labels};
    rer_chart chart = {
        .title = "Samples and classes",
        .x = {.title = "samples", .log = true},
        .y = {.title = "classes", .log = true},
        .series = &series,
        .n_series = 1,
    };
    put(writer, &chart);
}

static rer_status write_scatter(rer_writer *writer, const void *context)
{
    rer_comparison_put_scatter(writer, context, rer_chart_put_alone);
    return writer->status;
}

static rer_status write_sizes(rer_writer *writer, const void *context)
{
    rer_comparison_put_sizes(writer, context, rer_chart_put_alone);
    return writer->status;
}

/* ---- compare.json ----------------------------------------------------------------------------- */

static json_t *run_object(const rer_compared_run *run)
{
    json_t *object = rer_json_add_text(json_object(), "name", run->name);
    object = rer_json_add_text(object, "path", run->path);
    object = rer_json_add_text(object, "reconstructor", run->reconstructor);
    object = rer_json_add_integer(object, "n_samples", run->n_samples);
    object = rer_json_add_integer(object, "n_classes", run->n_classes);
    object = rer_json_add_integer(object, "n_features", run->n_features);
    object = rer_json_add_real(object, "chi", run->chi);
    object = rer_json_add_real(object, "difficulty", run->difficulty);
    object = rer_json_add_real(object, "error_rate", run->error_rate);
    object = rer_json_add_real(object, "noise_rate", run->noise_rate);
    object = rer_json_add_integer(object, "n_issues", run->n_issues);
    object = rer_json_add_real(object, "model_error", run->model_error);
    return rer_json_add_real(object, "expected_error", run->expected_error);
}

static json_t *pair_object(const rer_comparison *comparison, const rer_agreement *pair)
{
    json_t *object = rer_json_add_text(json_object(), "a", comparison->runs[pair->a].name);
    object = rer_json_add_text(object, "b", comparison->runs[pair->b].name);
    object = rer_json_add_real(object, "spearman_samples", pair->spearman_samples);
    object = rer_json_add_real(object, "spearman_classes", pair->spearman_classes);
    object = rer_json_add_real(object, "ndcg_samples", pair->ndcg_samples);
    object = rer_json_add_real(object, "ndcg_classes", pair->ndcg_classes);
    object = rer_json_add_real(object, "ndcg_samples_reverse", pair->ndcg_samples_reverse);
    return rer_json_add_real(object, "ndcg_classes_reverse", pair->ndcg_classes_reverse);
}

static json_t *disagreement_object(const rer_comparison *comparison, const rer_disagreement *found)
{
    json_t *object = rer_json_add_integer(json_object(), "index", found->row);
    object = rer_json_add_text(object, "given_label", rer_text(&comparison->folders[0].given, found->row));
    object = rer_json_add_real(object, "lowest_rank", found->low);
    object = rer_json_add_text(object, "lowest_in", comparison->runs[found->low_run].name);
    object = rer_json_add_real(object, "highest_rank", found->high);
    return rer_json_add_text(object, "highest_in", comparison->runs[found->high_run].name);
}

static json_t *relabelling_object(const rer_comparison *comparison, int index)
{
    const rer_relabelling *change = &comparison->relabellings[index];
    const rer_compared_run *before = &comparison->runs[0], *after = &comparison->runs[index + 1];
    json_t *object = rer_json_add_text(json_object(), "before", before->name);
    object = rer_json_add_text(object, "after", after->name);
    object = rer_json_add_integer(object, "n_changed", change->n_changed);
    object = rer_json_add_integer(object, "n_added", change->n_added);
    object = rer_json_add_integer(object, "n_removed", change->n_removed);
    object = rer_json_add_integer(object, "n_flagged_before", change->n_flagged);
    object = rer_json_add_integer(object, "n_flagged_after", change->n_still_flagged);
    object = rer_json_add_real(object, "changed_chi_before", change->chi_before);
    object = rer_json_add_real(object, "changed_chi_after", change->chi_after);
    object = rer_json_add_real(object, "chi_change", after->chi - before->chi);
    object = rer_json_add_real(object, "difficulty_change", after->difficulty - before->difficulty);
    return rer_json_add_real(object, "noise_rate_change", after->noise_rate - before->noise_rate);
}

static json_t *regression_object(const rer_regression *fit)
{
    json_t *object = rer_json_add_integer(json_object(), "n", fit->n);
    object = rer_json_add_real(object, "pearson", fit->pearson);
    object = rer_json_add_real(object, "pearson_log_difficulty", fit->pearson_difficulty);
    object = rer_json_add_real(object, "slope", fit->slope);
    return rer_json_add_real(object, "intercept", fit->intercept);
}

rer_status rer_comparison_json(const rer_comparison *comparison, char **json, rer_error *error)
{
    rer_error_clear(error);
    json_t *root = rer_json_add_text(json_object(), "version", rer_version());
    root = rer_json_add_text(root, "mode", modes[comparison->mode]);
    root = rer_json_add_text(root, "column", comparison->column);
    json_t *list = json_array();
    for (int i = 0; i < comparison->count; i++)
        list = rer_json_append(list, run_object(&comparison->runs[i]));
    root = rer_json_set(root, "runs", list);
    list = json_array();
    for (int p = 0; p < comparison->n_pairs; p++)
        list = rer_json_append(list, pair_object(comparison, &comparison->pairs[p]));
    root = rer_json_set(root, "pairs", list);
    list = json_array();
    for (int d = 0; d < comparison->n_disagreements; d++)
        list = rer_json_append(list, disagreement_object(comparison, &comparison->disagreements[d]));
    root = rer_json_set(root, "disagreements", list);
    list = json_array();
    for (int r = 0; comparison->relabellings != NULL && r < comparison->count - 1; r++)
        list = rer_json_append(list, relabelling_object(comparison, r));
    root = rer_json_set(root, "relabellings", list);
    root = rer_json_set(root, "regression", regression_object(&comparison->regression));
    root = rer_json_set(root, "notes", rer_json_texts(comparison->notes.text, comparison->notes.count));
    return rer_json_text(json, root, "compare.json", error);
}

static rer_status write_json(rer_writer *writer, const void *context)
{
    char *json = NULL;
    rer_status status = rer_comparison_json(context, &json, writer->error);
    if (status != RER_OK)
        return status;
    rer_put(writer, json);
    rer_put(writer, "\n");
    free(json);
    return writer->status;
}

rer_status rer_comparison_write(const rer_comparison *comparison, const char *folder, rer_error *error)
{
    rer_folder_file files[9];
    int count = 0;
    rer_error_clear(error);
    if (comparison->mode == RER_COMPARE_SAMPLES) {
        files[count++] = (rer_folder_file){"agreement.csv", write_agreement};
        files[count++] = (rer_folder_file){"disagreements.csv", write_disagreements};
    }
    if (comparison->mode == RER_COMPARE_SAMPLES && comparison->count > 2) {
        files[count++] = (rer_folder_file){"spearman_samples.svg", write_spearman_samples};
        files[count++] = (rer_folder_file){"spearman_classes.svg", write_spearman_classes};
        files[count++] = (rer_folder_file){"ndcg_samples.svg", write_ndcg_samples};
        files[count++] = (rer_folder_file){"ndcg_classes.svg", write_ndcg_classes};
    }
    if (comparison->mode == RER_COMPARE_LABELS)
        files[count++] = (rer_folder_file){"changes.csv", write_changes};
    if (comparison->mode == RER_COMPARE_DATASETS) {
        files[count++] = (rer_folder_file){"datasets.csv", write_datasets};
        files[count++] = (rer_folder_file){"datasets.svg", write_scatter};
        files[count++] = (rer_folder_file){"datasets_size.svg", write_sizes};
    }
    files[count++] = (rer_folder_file){"compare.html", rer_comparison_put_page};
    files[count++] = (rer_folder_file){"compare.json", write_json};
    return rer_folder_write(folder, files, count, comparison, error);
}
