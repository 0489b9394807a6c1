/* The files of a comparison: compare.html and compare.json always; agreement.csv, disagreements.csv and heat maps of the
 * same samples; changes.csv of other labels; datasets.csv, datasets.svg and datasets_size.svg of
 * different data sets. */
#include "core/files.h"
#include "core/json.h"
#include "studies/compare/page.h"

#include <unistd.h>

#define OF_RUN(member) RER_FIELD(rer_compared_run, member)
#define OF_PAIR(member) RER_FIELD(rer_agreement, member)
#define OF_CHANGE(member) RER_FIELD(rer_relabelling, member)
#define OF_LINE(member) RER_FIELD(rer_regression, member)

static const rer_field run_texts[] = {OF_RUN(name), OF_RUN(path), OF_RUN(reconstructor)};
static const rer_field run_numbers[] = {
    OF_RUN(n_samples),  OF_RUN(n_classes),  OF_RUN(n_features), OF_RUN(chi),         OF_RUN(difficulty),
    OF_RUN(error_rate), OF_RUN(noise_rate), OF_RUN(n_issues),   OF_RUN(model_error), OF_RUN(expected_error),
};
static const rer_field agreements[] = {
    OF_PAIR(spearman_samples), OF_PAIR(spearman_classes),     OF_PAIR(ndcg_samples),
    OF_PAIR(ndcg_classes),     OF_PAIR(ndcg_samples_reverse), OF_PAIR(ndcg_classes_reverse),
};
static const rer_field changes[] = {
    OF_CHANGE(n_changed),
    OF_CHANGE(n_added),
    OF_CHANGE(n_removed),
    RER_FIELD_AS("n_flagged_before", rer_relabelling, n_flagged),
    RER_FIELD_AS("n_flagged_after", rer_relabelling, n_still_flagged),
    RER_FIELD_AS("changed_chi_before", rer_relabelling, chi_before),
    RER_FIELD_AS("changed_chi_after", rer_relabelling, chi_after),
};
static const rer_field line[] = {
    OF_LINE(n),     OF_LINE(pearson),   RER_FIELD_AS("pearson_log_difficulty", rer_regression, pearson_difficulty),
    OF_LINE(slope), OF_LINE(intercept),
};

static void put_real(rer_writer *writer, double value)
{
    rer_csv_real(writer, value, 9);
}

static void put_id(rer_writer *writer, const rer_texts *ids, int64_t row)
{
    rer_csv_text(writer, ids->count > 0 ? rer_text(ids, row) : NULL);
}

/* ---- the same samples ------------------------------------------------------------------------- */

static void put_agreement(rer_writer *writer, const void *what, int which)
{
    const rer_comparison *comparison = what;
    (void)which;
    rer_csv_text(writer, "run_a");
    rer_csv_text(writer, "run_b");
    rer_csv_names(writer, RER_FIELDS(agreements));
    rer_csv_end(writer);
    for (int p = 0; p < comparison->n_pairs; p++) {
        const rer_agreement *pair = &comparison->pairs[p];
        rer_csv_text(writer, comparison->runs[pair->a].name);
        rer_csv_text(writer, comparison->runs[pair->b].name);
        rer_csv_fields(writer, RER_FIELDS(agreements), pair);
        rer_csv_end(writer);
    }
}

/* A line for each sample, with the compared value of each run. */
static void put_disagreements(rer_writer *writer, const void *what, int which)
{
    const rer_comparison *comparison = what;
    const rer_run_folder *first = &comparison->folders[0];
    (void)which;
    rer_put(writer, "index,id,given_label,lowest_rank,lowest_in,highest_rank,");
    rer_csv_text(writer, "highest_in");
    for (int i = 0; i < comparison->count; i++)
        rer_csv_text(writer, comparison->runs[i].name);
    rer_csv_end(writer);
    for (int d = 0; d < comparison->n_disagreements; d++) {
        const rer_disagreement *found = &comparison->disagreements[d];
        rer_csv_integer(writer, found->row);
        put_id(writer, &first->ids, found->row);
        rer_csv_text(writer, rer_text(&first->given, found->row));
        put_real(writer, found->low);
        rer_csv_text(writer, comparison->runs[found->low_run].name);
        put_real(writer, found->high);
        rer_csv_text(writer, comparison->runs[found->high_run].name);
        for (int i = 0; i < comparison->count; i++)
            put_real(writer, comparison->folders[i].value[found->row]);
        rer_csv_end(writer);
    }
}

/* Row a, column b: a's numbers are the truth. */
void rer_comparison_put_map(rer_writer *writer, const void *what, int which)
{
    static const struct {
        const char *title;
        size_t value, reverse; /* in rer_agreement */
    } maps[RER_AGREEMENT_MAPS] = {
        {"Samples: rank correlation", offsetof(rer_agreement, spearman_samples),
         offsetof(rer_agreement, spearman_samples)},
        {"Classes: rank correlation", offsetof(rer_agreement, spearman_classes),
         offsetof(rer_agreement, spearman_classes)},
        {"Samples: nDCG", offsetof(rer_agreement, ndcg_samples), offsetof(rer_agreement, ndcg_samples_reverse)},
        {"Classes: nDCG", offsetof(rer_agreement, ndcg_classes), offsetof(rer_agreement, ndcg_classes_reverse)},
    };
    const rer_comparison *comparison = what;
    const char *names[RER_RUNS_MAX];
    double *values = NULL;
    int count = comparison->count;
    rer_status status = rer_allocate(&values, (int64_t)count * count, sizeof *values, "a heat map", writer->error);
    bool is_made = rer_writer_ok(writer, status);
    for (int i = 0; is_made && i < count; i++) {
        names[i] = comparison->runs[i].name;
        values[i * count + i] = 1;
    }
    for (int p = 0; is_made && p < comparison->n_pairs; p++) {
        const rer_agreement *pair = &comparison->pairs[p];
        const char *numbers = (const char *)pair;
        memcpy(&values[pair->a * count + pair->b], numbers + maps[which].value, sizeof *values);
        memcpy(&values[pair->b * count + pair->a], numbers + maps[which].reverse, sizeof *values);
    }
    rer_axis axis = {.names = names, .n_names = count};
    rer_heatmap map = {.title = maps[which].title, .x = axis, .y = axis, .rows = count, .columns = count, .high = 1};
    map.values = values;
    if (is_made)
        rer_frame_heatmap(writer, &map);
    free(values);
}

/* ---- other labels ----------------------------------------------------------------------------- */

/* A line for each changed label, of each run against the first. */
static void put_changes(rer_writer *writer, const void *what, int which)
{
    const rer_comparison *comparison = what;
    const rer_run_folder *before = &comparison->folders[0];
    (void)which;
    rer_put(writer, "run,index,id,label_before,label_after,rer_before,rer_after,mistakenness_before,mistakenness_after,"
                    "flagged_before,flagged_after\n");
    for (int r = 1; r < comparison->count; r++) {
        const rer_run_folder *after = &comparison->folders[r];
        for (int64_t i = 0; i < before->N && writer->status == RER_OK; i++) {
            if (strcmp(rer_text(&before->given, i), rer_text(&after->given, i)) == 0)
                continue;
            rer_csv_text(writer, comparison->runs[r].name);
            rer_csv_integer(writer, i);
            put_id(writer, &before->ids, i);
            rer_csv_text(writer, rer_text(&before->given, i));
            rer_csv_text(writer, rer_text(&after->given, i));
            put_real(writer, before->chi_of[i]);
            put_real(writer, after->chi_of[i]);
            put_real(writer, before->mistakenness[i]);
            put_real(writer, after->mistakenness[i]);
            rer_csv_bool(writer, before->is_issue[i]);
            rer_csv_bool(writer, after->is_issue[i]);
            rer_csv_end(writer);
        }
    }
}

/* ---- data sets -------------------------------------------------------------------------------- */

static void put_datasets(rer_writer *writer, const void *what, int which)
{
    const rer_comparison *comparison = what;
    (void)which;
    rer_csv_text(writer, "run");
    rer_csv_names(writer, RER_FIELDS(run_numbers));
    rer_csv_text(writer, "error_ratio");
    rer_csv_end(writer);
    for (int i = 0; i < comparison->count; i++) {
        const rer_compared_run *run = &comparison->runs[i];
        rer_csv_text(writer, run->name);
        rer_csv_fields(writer, RER_FIELDS(run_numbers), run);
        put_real(writer, run->model_error / run->expected_error);
        rer_csv_end(writer);
    }
}

#define LINE_POINTS 50

/* Against chi: left-out errors, noise rates and, where they are known, errors of models with their line. */
static void put_scatter(rer_writer *writer, const rer_comparison *comparison)
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
    rer_frame_chart(writer, &chart);
}

static void put_sizes(rer_writer *writer, const rer_comparison *comparison)
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
    rer_frame_chart(writer, &chart);
}

void rer_comparison_put_chart(rer_writer *writer, const void *what, int which)
{
    if (which == RER_COMPARE_RATES)
        put_scatter(writer, what);
    else
        put_sizes(writer, what);
}

/* ---- compare.json ----------------------------------------------------------------------------- */

static void put_run(rer_json *json, const rer_comparison *comparison, int i)
{
    rer_compared_run run = comparison->runs[i];
    if (access(run.path, F_OK) != 0)
        run.path = NULL; /* a folder that was there for this comparison alone */
    rer_json_fields(json, RER_FIELDS(run_texts), &run);
    rer_json_fields(json, RER_FIELDS(run_numbers), &run);
}

static void put_pair(rer_json *json, const rer_comparison *comparison, int i)
{
    const rer_agreement *pair = &comparison->pairs[i];
    rer_json_text(json, "a", comparison->runs[pair->a].name);
    rer_json_text(json, "b", comparison->runs[pair->b].name);
    rer_json_fields(json, RER_FIELDS(agreements), pair);
}

static void put_disagreement(rer_json *json, const rer_comparison *comparison, int i)
{
    const rer_disagreement *found = &comparison->disagreements[i];
    rer_json_integer(json, "index", found->row);
    rer_json_text(json, "given_label", rer_text(&comparison->folders[0].given, found->row));
    rer_json_real(json, "lowest_rank", found->low);
    rer_json_text(json, "lowest_in", comparison->runs[found->low_run].name);
    rer_json_real(json, "highest_rank", found->high);
    rer_json_text(json, "highest_in", comparison->runs[found->high_run].name);
}

static void put_relabelling(rer_json *json, const rer_comparison *comparison, int i)
{
    const rer_compared_run *before = &comparison->runs[0], *after = &comparison->runs[i + 1];
    rer_json_text(json, "before", before->name);
    rer_json_text(json, "after", after->name);
    rer_json_fields(json, RER_FIELDS(changes), &comparison->relabellings[i]);
    rer_json_real(json, "chi_change", after->chi - before->chi);
    rer_json_real(json, "difficulty_change", after->difficulty - before->difficulty);
    rer_json_real(json, "noise_rate_change", after->noise_rate - before->noise_rate);
}

/* An array of objects, the members of each put by `put`. */
static void put_list(rer_json *json, const char *name, const rer_comparison *comparison, int count,
                     void (*put)(rer_json *json, const rer_comparison *comparison, int i))
{
    rer_json_array(json, name);
    for (int i = 0; i < count; i++) {
        rer_json_object(json, NULL);
        put(json, comparison, i);
        rer_json_end(json);
    }
    rer_json_end(json);
}

static void put_json(rer_writer *writer, const void *what, int which)
{
    static const char *const modes[] = {"auto", "samples", "labels", "datasets"};
    const rer_comparison *comparison = what;
    rer_json json = {.writer = writer};
    (void)which;
    rer_json_object(&json, NULL);
    rer_json_text(&json, "version", rer_version());
    rer_json_text(&json, "mode", modes[comparison->mode]);
    rer_json_text(&json, "column", comparison->column);
    put_list(&json, "runs", comparison, comparison->count, put_run);
    put_list(&json, "pairs", comparison, comparison->n_pairs, put_pair);
    put_list(&json, "disagreements", comparison, comparison->n_disagreements, put_disagreement);
    put_list(&json, "relabellings", comparison, comparison->relabellings != NULL ? comparison->count - 1 : 0,
             put_relabelling);
    rer_json_record(&json, "regression", RER_FIELDS(line), &comparison->regression);
    rer_json_texts(&json, "notes", comparison->notes.text, comparison->notes.count);
    rer_json_end(&json);
}

rer_status rer_comparison_json(const rer_comparison *comparison, char **json, rer_error *error)
{
    return rer_file_text(json, put_json, comparison, error);
}

rer_status rer_comparison_write(const rer_comparison *comparison, const char *folder, rer_error *error)
{
    enum { SAMPLES = 1, SEVERAL = 2, LABELS = 4, DATASETS = 8 };
    static const rer_file files[] = {
        {"agreement.csv", put_agreement, 0, SAMPLES},
        {"disagreements.csv", put_disagreements, 0, SAMPLES},
        {"spearman_samples.svg", rer_comparison_put_map, 0, SAMPLES | SEVERAL},
        {"spearman_classes.svg", rer_comparison_put_map, 1, SAMPLES | SEVERAL},
        {"ndcg_samples.svg", rer_comparison_put_map, 2, SAMPLES | SEVERAL},
        {"ndcg_classes.svg", rer_comparison_put_map, 3, SAMPLES | SEVERAL},
        {"changes.csv", put_changes, 0, LABELS},
        {"datasets.csv", put_datasets, 0, DATASETS},
        {"datasets.svg", rer_comparison_put_chart, RER_COMPARE_RATES, DATASETS},
        {"datasets_size.svg", rer_comparison_put_chart, RER_COMPARE_SIZES, DATASETS},
        {"compare.html", rer_comparison_put_page, 0, 0},
        {"compare.json", put_json, 0, 0},
    };
    static const unsigned of_mode[] = {
        [RER_COMPARE_SAMPLES] = SAMPLES, [RER_COMPARE_LABELS] = LABELS, [RER_COMPARE_DATASETS] = DATASETS};
    unsigned has = of_mode[comparison->mode] | (comparison->count > 2 ? SEVERAL : 0);
    const rer_folder content = {.command = "compare",
                                .files = files,
                                .count = RER_COUNT(files),
                                .what = comparison,
                                .has = has,
                                .spreadsheet_safe = comparison->spreadsheet_safe};
    return rer_folder_write(folder, &content, error);
}
