/* compare.html: runs side by side. */
#include "studies/compare/page.h"
#include "source/texts.h"

static const char *run_name(const rer_comparison *comparison, int run)
{
    return comparison->runs[run].name;
}

/* ---- the answer ------------------------------------------------------------------------------- */

enum { PAIRS_TOLD = 3, ROOM_TOLD = 220 }; /* of three runs; more, and long names, are a range */

static const char *agreement_word(double correlation)
{
    return correlation > .8   ? "agree well"
           : correlation > .5 ? "agree in part"
           : correlation > .2 ? "agree little"
                              : "hardly agree";
}

/* " 0.14 (a, b), 0.26 (a, c)" behind the `used` bytes; false: there is no room for all names. */
static bool list_pairs(char *text, size_t size, int used, const rer_comparison *comparison)
{
    for (int i = 0; i < comparison->n_pairs && used > 0 && (size_t)used < size; i++) {
        const rer_agreement *pair = &comparison->pairs[i];
        char number[RER_CHART_TEXT];
        used += snprintf(text + used, size - (size_t)used, "%s %s (%s, %s)", i > 0 ? "," : "",
                         rer_fixed_text(number, pair->spearman_samples, 2), run_name(comparison, pair->a),
                         run_name(comparison, pair->b));
    }
    return used > 0 && (size_t)used < size;
}

static void headline_of_samples(char *text, size_t size, const rer_comparison *comparison)
{
    char a[RER_CHART_TEXT], b[RER_CHART_TEXT];
    double low = NAN, high = NAN;
    for (int i = 0; i < comparison->n_pairs; i++) { /* fmin and fmax pass over NaN */
        low = fmin(low, comparison->pairs[i].spearman_samples);
        high = fmax(high, comparison->pairs[i].spearman_samples);
    }
    if (isnan(low)) {
        (void)snprintf(text, size, "The runs cannot be compared: all samples are alike");
        return;
    }
    const char *word =
        strcmp(agreement_word(low), agreement_word(high)) == 0 ? agreement_word(low) : "do not all agree";
    const char *about = strcmp(comparison->column, "mistakenness") == 0 ? "on which labels are wrong"
                        : strcmp(comparison->column, "rer") == 0        ? "on which samples are hard"
                                                                        : "";
    (void)rer_fixed_text(a, low, 2);
    (void)rer_fixed_text(b, high, 2);
    if (comparison->n_pairs == 1)
        (void)snprintf(text, size, "The two runs %s %s: rank correlation of %.40s %s", word, about, comparison->column,
                       a);
    else {
        int used = snprintf(text, size, "The %d runs %s %s: rank correlation of %.40s", comparison->count, word, about,
                            comparison->column);
        if (comparison->n_pairs > PAIRS_TOLD || !list_pairs(text, ROOM_TOLD, used, comparison))
            (void)snprintf(text + used, size - (size_t)used, " %s to %s", a, b);
    }
}

static void headline_of_labels(char *text, size_t size, const rer_comparison *comparison)
{
    char a[RER_CHART_TEXT], b[RER_CHART_TEXT], count[RER_CHART_TEXT];
    const rer_compared_run *before = &comparison->runs[0], *after = &comparison->runs[1];
    int64_t changed = comparison->relabellings != NULL ? comparison->relabellings[0].n_changed : 0;
    (void)rer_fixed_text(a, 100 * before->noise_rate, 1);
    (void)rer_fixed_text(b, 100 * after->noise_rate, 1);
    (void)snprintf(text, size, "%s changed labels took the share of wrong ones from %s %% to %s %%",
                   rer_fixed_text(count, (double)changed, 0), a, b);
}

static void headline_of_datasets(char *text, size_t size, const rer_comparison *comparison)
{
    int easiest = 0, hardest = 0;
    for (int i = 1; i < comparison->count; i++) {
        easiest = comparison->runs[i].difficulty < comparison->runs[easiest].difficulty ? i : easiest;
        hardest = comparison->runs[i].difficulty > comparison->runs[hardest].difficulty ? i : hardest;
    }
    (void)snprintf(text, size, "%d data sets, from %.60s (easiest) to %.60s (hardest)", comparison->count,
                   run_name(comparison, easiest), run_name(comparison, hardest));
}

/* ---- tables ----------------------------------------------------------------------------------- */

static void put_runs(rer_writer *writer, const rer_comparison *comparison)
{
    static const rer_column columns[] = {
        {.title = "run"},
        {.title = "samples", .is_number = true},
        {.title = "classes", .is_number = true},
        {.title = "features", .is_number = true},
        {.title = "χ", .is_number = true, .help = "the distance to the own class over that to the nearest other one"},
        {.title = "difficulty", .is_number = true, .help = "nearest-class error over that of guessing"},
        {.title = "nearest-class error", .is_number = true, .help = "samples that lie nearest to another class"},
        {.title = "wrong", .is_number = true, .help = "noise rate: labels that are probably wrong"},
        {.title = "flagged", .is_number = true},
    };
    rer_frame_section(writer, "runs", "The runs", NULL);
    rer_frame_table_start(writer, "Runs", columns, 9);
    for (int i = 0; i < comparison->count; i++) {
        const rer_compared_run *run = &comparison->runs[i];
        rer_frame_row(writer);
        rer_frame_cell(writer, run->name);
        rer_frame_cell_count(writer, run->n_samples);
        rer_frame_cell_count(writer, run->n_classes);
        rer_frame_cell_count(writer, run->n_features);
        rer_frame_cell_number(writer, run->chi, 4, false);
        rer_frame_cell_number(writer, run->difficulty, 4, false);
        rer_frame_cell_percent(writer, run->error_rate, false);
        rer_frame_cell_percent(writer, run->noise_rate, false);
        rer_frame_cell_count(writer, run->n_issues);
    }
    rer_frame_table_end(writer);
}

static void put_pairs(rer_writer *writer, const rer_comparison *comparison)
{
    static const rer_column columns[] = {
        {.title = "run A"},
        {.title = "run B"},
        {.title = "rank correlation, samples", .is_number = true},
        {.title = "classes", .is_number = true},
        {.title = "nDCG, samples", .is_number = true, .help = "A’s numbers as the truth, B’s as the order"},
        {.title = "nDCG, classes", .is_number = true},
    };
    rer_frame_table_start(writer, "Agreement of pairs", columns, 6);
    for (int i = 0; i < comparison->n_pairs; i++) {
        const rer_agreement *pair = &comparison->pairs[i];
        rer_frame_row(writer);
        rer_frame_cell(writer, run_name(comparison, pair->a));
        rer_frame_cell(writer, run_name(comparison, pair->b));
        rer_frame_cell_number(writer, pair->spearman_samples, 4, false);
        rer_frame_cell_number(writer, pair->spearman_classes, 4, false);
        rer_frame_cell_number(writer, pair->ndcg_samples, 4, false);
        rer_frame_cell_number(writer, pair->ndcg_classes, 4, false);
    }
    rer_frame_table_end(writer);
}

static void put_disagreements(rer_writer *writer, const rer_comparison *comparison)
{
    static const rer_column columns[] = {
        {.title = "row", .is_number = true},
        {.title = "given label"},
        {.title = "highest rank", .is_number = true, .help = "share of the samples that it stands above"},
        {.title = "in"},
        {.title = "lowest rank", .is_number = true},
        {.title = "in"},
    };
    bool is_doubt = strcmp(comparison->column, "mistakenness") == 0;
    rer_frame_section(writer, "disagreements", "Where they disagree most",
                      is_doubt ? "Samples whose labels one run doubts and another one trusts."
                               : "Samples that one run finds hard and another one easy.");
    rer_frame_table_start(writer, "Disagreements", columns, 6);
    for (int i = 0; i < comparison->n_disagreements; i++) {
        const rer_disagreement *found = &comparison->disagreements[i];
        rer_frame_row(writer);
        rer_frame_cell_row(writer, found->row);
        rer_frame_cell(writer, rer_text(&comparison->folders[0].given, found->row));
        rer_frame_cell_percent(writer, found->high, false);
        rer_frame_cell(writer, run_name(comparison, found->high_run));
        rer_frame_cell_percent(writer, found->low, false);
        rer_frame_cell(writer, run_name(comparison, found->low_run));
    }
    rer_frame_table_end(writer);
}

static void put_agreement(rer_writer *writer, const rer_comparison *comparison)
{
    rer_frame_section(writer, "agreement", "How far they agree", "1: the same order of samples, or of classes.");
    if (comparison->count > 2) {
        rer_frame_charts_start(writer);
        for (int kind = 0; kind < RER_AGREEMENT_MAPS; kind++)
            rer_comparison_put_map(writer, comparison, kind);
        rer_frame_charts_end(writer);
    }
    put_pairs(writer, comparison);
    put_disagreements(writer, comparison);
}

static void put_changes(rer_writer *writer, const rer_comparison *comparison)
{
    static const rer_column columns[] = {
        {.title = "labels of"},
        {.title = "changed", .is_number = true},
        {.title = "added", .is_number = true},
        {.title = "removed", .is_number = true},
        {.title = "flagged before", .is_number = true, .help = "of the changed ones"},
        {.title = "flagged after", .is_number = true, .help = "of the changed ones"},
        {.title = "their χ before", .is_number = true},
        {.title = "their χ after", .is_number = true},
    };
    rer_frame_section(writer, "changes", "What changed", "Each against the labels of the first run.");
    rer_frame_table_start(writer, "Changes of labels", columns, 8);
    for (int i = 0; comparison->relabellings != NULL && i < comparison->count - 1; i++) {
        const rer_relabelling *change = &comparison->relabellings[i];
        rer_frame_row(writer);
        rer_frame_cell(writer, run_name(comparison, i + 1));
        rer_frame_cell_count(writer, change->n_changed);
        rer_frame_cell_count(writer, change->n_added);
        rer_frame_cell_count(writer, change->n_removed);
        rer_frame_cell_count(writer, change->n_flagged);
        rer_frame_cell_count(writer, change->n_still_flagged);
        rer_frame_cell_number(writer, change->chi_before, 4, false);
        rer_frame_cell_number(writer, change->chi_after, 4, false);
    }
    rer_frame_table_end(writer);
}

/* The first of changes.csv. */
static void put_changed_labels(rer_writer *writer, const rer_comparison *comparison)
{
    enum { SHOWN = 100 };
    static const rer_column columns[] = {
        {.title = "labels of"}, {.title = "row", .is_number = true},      {.title = "before"},
        {.title = "after"},     {.title = "χ before", .is_number = true}, {.title = "χ after", .is_number = true},
    };
    const rer_run_folder *before = &comparison->folders[0];
    int shown = 0;
    rer_frame_section(writer, "labels", "The changed labels", "The first 100; changes.csv has all of them.");
    rer_frame_table_start(writer, "Changed labels", columns, 6);
    for (int r = 1; r < comparison->count; r++) {
        const rer_run_folder *after = &comparison->folders[r];
        for (int64_t i = 0; i < before->N && shown < SHOWN; i++) {
            if (strcmp(rer_text(&before->given, i), rer_text(&after->given, i)) == 0)
                continue;
            shown++;
            rer_frame_row(writer);
            rer_frame_cell(writer, run_name(comparison, r));
            rer_frame_cell_row(writer, i);
            rer_frame_cell(writer, rer_text(&before->given, i));
            rer_frame_cell(writer, rer_text(&after->given, i));
            rer_frame_cell_number(writer, before->chi_of[i], 4, false);
            rer_frame_cell_number(writer, after->chi_of[i], 4, false);
        }
    }
    rer_frame_table_end(writer);
}

static void put_dataset_charts(rer_writer *writer, const rer_comparison *comparison)
{
    rer_frame_charts_start(writer);
    rer_comparison_put_chart(writer, comparison, RER_COMPARE_RATES);
    rer_comparison_put_chart(writer, comparison, RER_COMPARE_SIZES);
    rer_frame_charts_end(writer);
}

static void put_models(rer_writer *writer, const rer_comparison *comparison)
{
    static const rer_column columns[] = {
        {.title = "data set"},
        {.title = "error of the model", .is_number = true},
        {.title = "expected", .is_number = true, .help = "by the line over all data sets"},
        {.title = "ratio", .is_number = true, .help = "well above 1: there may be room for a better model"},
    };
    char text[200], slope[RER_CHART_TEXT], pearson[RER_CHART_TEXT];
    const rer_regression *fit = &comparison->regression;
    (void)snprintf(text, sizeof text, "log(error) falls on a line in χ with slope %s; Pearson %s over %d data sets.",
                   rer_fixed_text(slope, fit->slope, 2), rer_fixed_text(pearson, fit->pearson, 3), fit->n);
    rer_frame_section(writer, "models", "Models against difficulty", text);
    rer_frame_table_start(writer, "Errors of models", columns, 4);
    for (int i = 0; i < comparison->count; i++) {
        const rer_compared_run *run = &comparison->runs[i];
        rer_frame_row(writer);
        rer_frame_cell(writer, run->name);
        rer_frame_cell_percent(writer, run->model_error, false);
        rer_frame_cell_percent(writer, run->expected_error, false);
        rer_frame_cell_number(writer, run->model_error / run->expected_error, 2, false);
    }
    rer_frame_table_end(writer);
}

void rer_comparison_put_page(rer_writer *writer, const void *what, int which)
{
    const rer_comparison *comparison = what;
    char headline[300];
    bool same_samples = comparison->mode == RER_COMPARE_SAMPLES, labels = comparison->mode == RER_COMPARE_LABELS;
    rer_frame frame = {
        .kind = "Comparison of runs",
        .headline = headline,
        .lead = same_samples ? "The same samples under other features, seeds or settings."
                : labels     ? "The same samples under other labels."
                             : "Different data sets, judged in the same way.",
    };
    (void)which;
    if (same_samples)
        headline_of_samples(headline, sizeof headline, comparison);
    else if (labels)
        headline_of_labels(headline, sizeof headline, comparison);
    else
        headline_of_datasets(headline, sizeof headline, comparison);
    rer_frame_start(writer, &frame);
    for (int i = 0; i < comparison->notes.count; i++)
        rer_frame_note(writer, comparison->notes.text[i]);
    put_runs(writer, comparison);
    if (same_samples) {
        put_agreement(writer, comparison);
    } else if (labels) {
        put_changes(writer, comparison);
        put_changed_labels(writer, comparison);
    } else {
        put_dataset_charts(writer, comparison);
    }
    if (!isnan(comparison->regression.slope))
        put_models(writer, comparison);
    rer_frame_end(writer, &frame, NULL);
}
