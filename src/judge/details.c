/* Difficulty in detail, after an analysis. In steps:
 *   1. numbers of each portion of rows (the whole, classes, subsets) from the O(N) numbers that are there;
 *   2. distributions of errors, and what merging confused pairs would do (score/spreads.c);
 *   3. bootstrap intervals of each portion's chi;
 *   4. the samples between two classes, and the most extreme ones. */
#include "run/details.h"

#include "stats/bootstrap.h"
#include "judge/judge.h"
#include "score/spreads.h"
#include "stats/order.h"

typedef struct detail_run {
    rer_result *result;
    const rer_dataset *data;
    rer_details *details;
    int64_t places;    /* 1 + C + G */
    int64_t *start[3]; /* by rer_portion_kind: [portions + 1] into: */
    int64_t *rows[3];  /* [N] scored rows, one portion after the other */
    rer_spreads spreads;
} detail_run;

void rer_details_free(rer_details *details)
{
    if (details == NULL)
        return;
    for (int32_t g = 0; details->subset_names != NULL && g < details->G; g++)
        free(details->subset_names[g]);
    RER_FREE_ALL(details->subset_names, details->portions, details->counts, details);
}

/* The portion of a row, -1: none. */
static int32_t portion_of(const detail_run *run, rer_portion_kind kind, int64_t row)
{
    if (kind == RER_WHOLE)
        return 0;
    return kind == RER_BY_CLASS ? run->result->given[row] : run->details->G > 0 ? run->data->subsets.codes[row] : -1;
}

static int32_t portions_of(const rer_details *details, rer_portion_kind kind)
{
    return kind == RER_WHOLE ? 1 : kind == RER_BY_CLASS ? details->C : details->G;
}

/* ---- portions ------------------------------------------------------------------------------- */

static void sum_portion_rows(const detail_run *run, rer_portion_kind kind)
{
    const rer_result *result = run->result;
    rer_portion *portions = run->details->portions + rer_portion_place(run->details, kind, 0);
    for (int64_t row = 0; row < result->N; row++) {
        int32_t g = rer_is_scored(result, row) ? portion_of(run, kind, row) : -1;
        if (g < 0)
            continue;
        portions[g].n++;
        portions[g].n_issues += (result->flags[row] & RER_FLAG_ISSUE) != 0;
        portions[g].chi += rer_chi_of(result, row);
        portions[g].error_rate += rer_predicted(result, row) != result->given[row];
        portions[g].noise_rate += rer_logistic((double)result->logit[row]);
        portions[g].own_error += (double)result->own[row];
    }
    for (int32_t g = 0; g < portions_of(run->details, kind); g++) {
        double n = portions[g].n > 0 ? (double)portions[g].n : NAN;
        portions[g].chi /= n;
        portions[g].error_rate /= n;
        portions[g].noise_rate /= n;
        portions[g].own_error /= n;
        portions[g].difficulty = NAN;
    }
}

/* The scored rows, one portion after the other. */
static rer_status sort_by_portion(detail_run *run, rer_portion_kind kind, rer_error *error)
{
    const rer_result *result = run->result;
    const rer_portion *portions = run->details->portions + rer_portion_place(run->details, kind, 0);
    int32_t count = portions_of(run->details, kind);
    int64_t *next = NULL;
    rer_room rooms[] = {RER_ROOM(run->start[kind], count + 1), RER_ROOM(run->rows[kind], result->N),
                        RER_ROOM(next, count)};
    RER_TRY(rer_allocate_all(rooms, RER_COUNT(rooms), "portions", error));
    for (int32_t g = 0; g < count; g++) {
        next[g] = run->start[kind][g];
        run->start[kind][g + 1] = next[g] + portions[g].n;
    }
    for (int64_t row = 0; row < result->N; row++) {
        int32_t g = rer_is_scored(result, row) ? portion_of(run, kind, row) : -1;
        if (g >= 0)
            run->rows[kind][next[g]++] = row;
    }
    free(next);
    return RER_OK;
}

/* Of a class: its error over that of chance, 1 - P(nearest = c). Their mean, weighted by n (1 - P), is that of
 * the whole. predicted [C] is overwritten. */
static void set_class_difficulties(const detail_run *run, int64_t *predicted)
{
    const rer_result *result = run->result;
    rer_details *details = run->details;
    for (int64_t i = 0; i < details->portions[0].n; i++)
        predicted[rer_predicted(result, run->rows[RER_WHOLE][i])]++;
    for (int32_t c = 0; c < details->C; c++) {
        rer_portion *class = &details->portions[rer_portion_place(details, RER_BY_CLASS, c)];
        double chance = 1 - (double)predicted[c] / (double)details->portions[0].n;
        if (class->n > 0)
            class->difficulty = chance > 0 ? fmin(1, class->error_rate / chance) : 0;
    }
}

static rer_status set_difficulties(const detail_run *run, rer_error *error)
{
    const rer_result *result = run->result;
    rer_details *details = run->details;
    int64_t *given = NULL, *predicted = NULL;
    rer_room rooms[] = {RER_ROOM(given, details->C), RER_ROOM(predicted, details->C)};
    RER_TRY(rer_allocate_all(rooms, RER_COUNT(rooms), "classes", error));
    details->portions[0].difficulty = result->summary.difficulty;
    set_class_difficulties(run, predicted);
    for (int32_t g = 0; g < details->G; g++) {
        int64_t wrong = 0;
        memset(given, 0, (size_t)details->C * sizeof *given);
        memset(predicted, 0, (size_t)details->C * sizeof *predicted);
        for (int64_t i = run->start[RER_BY_SUBSET][g]; i < run->start[RER_BY_SUBSET][g + 1]; i++) {
            int64_t row = run->rows[RER_BY_SUBSET][i];
            given[result->given[row]]++;
            predicted[rer_predicted(result, row)]++;
            wrong += rer_predicted(result, row) != result->given[row];
        }
        details->portions[rer_portion_place(details, RER_BY_SUBSET, g)].difficulty =
            rer_difficulty(wrong, given, predicted, details->C);
    }
    RER_FREE_ALL(given, predicted);
    return RER_OK;
}

static rer_status name_portions(detail_run *run, rer_error *error)
{
    rer_details *details = run->details;
    RER_TRY(rer_allocate(&details->subset_names, details->G, sizeof(char *), "names of subsets", error));
    details->portions[0].name = "all";
    for (int32_t c = 0; c < details->C; c++)
        details->portions[1 + c].name = run->result->names[c];
    for (int32_t g = 0; g < details->G; g++) {
        const rer_texts *names = &run->data->subsets.names;
        RER_TRY(rer_copy_text(&details->subset_names[g], names->bytes + names->offset[g], error));
        details->portions[1 + details->C + g].name = details->subset_names[g];
    }
    return RER_OK;
}

/* ---- bootstrap ------------------------------------------------------------------------------ */

static rer_status bootstrap_portion(void *context, int64_t item, void *scratch, rer_error *error)
{
    (void)scratch;
    detail_run *run = context;
    const rer_details *details = run->details;
    rer_portion_kind kind = item == 0 ? RER_WHOLE : item <= details->C ? RER_BY_CLASS : RER_BY_SUBSET;
    const int64_t *start = run->start[kind] + (item - rer_portion_place(details, kind, 0));
    int64_t n = start[1] - start[0];
    float *chi = NULL;
    RER_TRY(rer_allocate(&chi, n, sizeof *chi, "ratios", error));
    for (int64_t i = 0; i < n; i++)
        chi[i] = (float)rer_chi_of(run->result, run->rows[kind][start[0] + i]);
    rer_status status = rer_bootstrap_mean(&details->portions[item].chi_within, chi, n, run->result->options.seed,
                                           (uint64_t)item, error);
    free(chi);
    return status;
}

static rer_status bootstrap_portions(detail_run *run, const rer_run *passes, rer_error *error)
{
    rer_job job = {
        .stage = "intervals", .from = .5, .to = 1, .items = run->places, .work = bootstrap_portion, .context = run};
    return rer_pool_run(passes->pool, &job, error);
}

/* ---- distributions -------------------------------------------------------------------------- */

/* R2 of the Gaussian's density at the middle of each bin against the histogram as a density. */
static double gaussian_r2(const rer_spread *spread, const int64_t *counts)
{
    double width = (spread->high - spread->low) / RER_BINS, mean = 1 / (width * RER_BINS), residual = 0, total = 0;
    if (!(width > 0) || !(spread->deviation > 0))
        return NAN;
    for (int k = 0; k < RER_BINS; k++) {
        double z = (spread->low + (k + .5) * width - spread->mean) / spread->deviation;
        double density = (double)counts[k] / ((double)spread->n * width);
        double fit = exp(-z * z / 2) / (spread->deviation * sqrt(2 * 3.14159265358979323846));
        residual += (density - fit) * (density - fit);
        total += (density - mean) * (density - mean);
    }
    return total > 0 ? 1 - residual / total : NAN;
}

static rer_spread spread_of(const rer_spread_sums *sums, const int64_t *counts)
{
    double n = (double)sums->n;
    rer_spread spread = {.n = sums->n, .mean = NAN, .deviation = NAN, .low = NAN, .high = NAN, .r2 = NAN};
    if (sums->n == 0)
        return spread;
    spread.mean = sums->sum / n;
    spread.deviation = sqrt(fmax(0, sums->square / n - spread.mean * spread.mean));
    spread.low = (double)sums->low;
    spread.high = (double)sums->high;
    spread.r2 = gaussian_r2(&spread, counts);
    return spread;
}

static rer_status fill_spreads(detail_run *run, const rer_run *passes, rer_error *error)
{
    rer_details *details = run->details;
    rer_spreads *spreads = &run->spreads;
    const int32_t *subset = details->G > 0 ? run->data->subsets.codes : NULL;
    int n_pairs = (int)rer_min(RER_PAIRS_DETAILED, run->result->n_pairs);
    RER_TRY(rer_allocate(&spreads->sums, run->places * RER_SIDES, sizeof *spreads->sums, "distributions", error));
    RER_TRY(rer_allocate(&spreads->pairs, n_pairs, sizeof *spreads->pairs, "confused pairs", error));
    spreads->counts = details->counts;
    RER_TRY(rer_spreads_fill(spreads, run->result->pairs, n_pairs, subset, details->G, run->result->own,
                             run->result->model, passes, error));
    for (int64_t g = 0; g < run->places; g++) {
        const rer_spread_sums *sums = spreads->sums + g * RER_SIDES;
        details->portions[g].own = spread_of(&sums[RER_OWN], rer_portion_counts(details, g, RER_OWN));
        details->portions[g].others = spread_of(&sums[RER_OTHERS], rer_portion_counts(details, g, RER_OTHERS));
    }
    details->n_pairs = n_pairs;
    return RER_OK;
}

/* ---- pairs ---------------------------------------------------------------------------------- */

/* Keeps the RER_BETWEEN rows of smallest |log chi|, nearest first. */
static void keep_between(rer_pair_detail *detail, double *distance, int64_t row, double away)
{
    int at = detail->n_between;
    while (at > 0 && distance[at - 1] > away)
        at--;
    if (at == RER_BETWEEN)
        return;
    detail->n_between += detail->n_between < RER_BETWEEN;
    for (int i = detail->n_between - 1; i > at; i--) {
        detail->between[i] = detail->between[i - 1];
        distance[i] = distance[i - 1];
    }
    detail->between[at] = row;
    distance[at] = away;
}

/* Rows of one of the two classes whose nearest other class is the other one. */
static void find_between(rer_pair_detail *detail, const rer_result *result)
{
    double distance[RER_BETWEEN];
    const rer_pair *pair = &detail->pair;
    for (int64_t row = 0; row < result->N; row++) {
        int32_t c = result->given[row], other = result->suggested[row];
        if (rer_is_scored(result, row) && ((c == pair->a && other == pair->b) || (c == pair->b && other == pair->a)))
            keep_between(detail, distance, row, fabs(log(rer_chi_of(result, row))));
    }
}

/* Of the rows of the two that lie nearest to either, chance explains more than the features do. Labels that are called
 * wrong do not count: merging two classes would hide mistakes, not mend them. */
static bool is_better_merged(const rer_pair *pair, const rer_result *result)
{
    int64_t n[2] = {0}, predicted[2] = {0}, wrong = 0;
    if (result->C == 2)
        return false;
    for (int64_t row = 0; row < result->N; row++) {
        int32_t given = result->given[row], nearest = rer_predicted(result, row);
        bool is_of_both = (given == pair->a || given == pair->b) && (nearest == pair->a || nearest == pair->b);
        if (!is_of_both || !rer_is_scored(result, row) || result->logit[row] > 0)
            continue;
        n[given == pair->b]++;
        predicted[nearest == pair->b]++;
        wrong += given != nearest;
    }
    return rer_difficulty(wrong, n, predicted, 2) > .5;
}

static void set_pair(rer_pair_detail *detail, const rer_pair *pair, const rer_pair_sums *sums, const rer_result *result)
{
    const rer_summary *summary = &result->summary;
    int64_t wrong = sums->crossed[0] + sums->crossed[1];
    int64_t predicted[2] = {sums->n[0] - sums->crossed[0] + sums->crossed[1],
                            sums->n[1] - sums->crossed[1] + sums->crossed[0]};
    double n = (double)summary->chi_all.n;
    *detail = (rer_pair_detail){.pair = *pair, .merged_chi = NAN, .merged_error_rate = NAN};
    detail->error_rate = (double)wrong / (double)(sums->n[0] + sums->n[1]);
    detail->difficulty = rer_difficulty(wrong, sums->n, predicted, 2);
    detail->is_better_merged = is_better_merged(pair, result);
    if (result->C > 2) {
        detail->merged_chi = summary->chi + (sums->merged_chi - sums->chi) / n;
        detail->merged_error_rate = summary->error_rate + (double)(sums->merged_wrong - sums->wrong) / n;
    }
    find_between(detail, result);
}

/* ---- all of it ------------------------------------------------------------------------------ */

static rer_status allocate_details(detail_run *run, rer_error *error)
{
    rer_details *details = NULL;
    RER_TRY(rer_allocate(&details, 1, sizeof *details, "details", error));
    run->details = details;
    details->C = run->result->C;
    details->G = run->data->subsets.codes != NULL ? run->data->subsets.C : 0;
    run->places = 1 + (int64_t)details->C + details->G;
    RER_TRY(rer_allocate(&details->portions, run->places, sizeof *details->portions, "portions", error));
    RER_TRY(rer_allocate(&details->counts, run->places * RER_SIDES * RER_BINS, sizeof *details->counts, "histograms",
                         error));
    return name_portions(run, error);
}

rer_status rer_result_detail(rer_result *result, const rer_dataset *data, const rer_progress *progress,
                             rer_error *error)
{
    detail_run run = {.result = result, .data = data};
    rer_run passes = {0};
    rer_error_clear(error);
    RER_TRY(rer_dataset_check(data, error));
    if (result->model == NULL || data->N != result->N || data->D != rer_model_columns(result->model))
        return rer_fail(error, RER_BAD_USAGE, "details need the result of an analysis and its data set");
    rer_status status = allocate_details(&run, error);
    RER_THEN(status, rer_run_start(&passes, data, result->given, result->C, &result->options, progress, error));
    if (status == RER_OK && result->model->span != NULL)
        status = rer_span_enter(&passes, result->model->span, true, error);
    if (status == RER_OK && result->model->units != NULL)
        status = rer_units_enter(&passes, result->model->units, error);
    for (int kind = RER_WHOLE; status == RER_OK && kind <= RER_BY_SUBSET; kind++) {
        sum_portion_rows(&run, (rer_portion_kind)kind);
        status = sort_by_portion(&run, (rer_portion_kind)kind, error);
    }
    RER_THEN(status, set_difficulties(&run, error));
    RER_THEN(status, fill_spreads(&run, &passes, error));
    RER_THEN(status, bootstrap_portions(&run, &passes, error));
    for (int p = 0; status == RER_OK && p < run.details->n_pairs; p++)
        set_pair(&run.details->pairs[p], &result->pairs[p], &run.spreads.pairs[p], result);
    rer_run_end(&passes);
    for (int kind = RER_WHOLE; kind <= RER_BY_SUBSET; kind++) {
        RER_FREE_ALL(run.start[kind], run.rows[kind]);
    }
    RER_FREE_ALL(run.spreads.sums, run.spreads.pairs);
    if (status != RER_OK) {
        rer_details_free(run.details);
        return status;
    }
    rer_details_free(result->details);
    result->details = run.details;
    return RER_OK;
}

const rer_portion *rer_result_portion(const rer_result *result, rer_portion_kind kind, int32_t index)
{
    const rer_details *details = result->details;
    if (details == NULL || index < 0 || index >= portions_of(details, kind))
        return NULL;
    return &details->portions[rer_portion_place(details, kind, index)];
}

const rer_pair_detail *rer_result_pair_detail(const rer_result *result, int index)
{
    const rer_details *details = result->details;
    return details != NULL && index >= 0 && index < details->n_pairs ? &details->pairs[index] : NULL;
}

/* ---- extremes ------------------------------------------------------------------------------- */

rer_status rer_extremes(const rer_result *result, bool hardest, int64_t count, int64_t *rows, int64_t *found,
                        rer_error *error)
{
    rer_ranked *ranked = NULL;
    int64_t n = 0;
    RER_TRY(rer_allocate(&ranked, result->N, sizeof *ranked, "ratios", error));
    for (int64_t row = 0; row < result->N; row++)
        if (rer_is_scored(result, row))
            ranked[n++] = (rer_ranked){hardest ? -rer_chi_of(result, row) : rer_chi_of(result, row), row};
    rer_sort_ranked(ranked, n);
    *found = rer_max(0, rer_min(count, n));
    for (int64_t i = 0; i < *found; i++)
        rows[i] = ranked[i].place;
    free(ranked);
    return RER_OK;
}

rer_status rer_result_extremes(const rer_result *result, bool hardest, int64_t count, int64_t *rows, int64_t *found,
                               rer_error *error)
{
    rer_error_clear(error);
    return rer_extremes(result, hardest, count, rows, found, error);
}
