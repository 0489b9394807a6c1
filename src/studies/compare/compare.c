/* Runs side by side. In steps:
 *   1. the folders are read, and it is decided what they are to each other: the same samples with the
 *      same labels, the same samples with other labels, or different data sets;
 *   2. the same samples: agreement of each pair, over samples and over classes, and the samples that the
 *      runs rank most differently;
 *   3. other labels: what changed from the first run to each other one;
 *   4. different data sets: with error rates of models, their regression on chi. */
#include "studies/compare/comparison.h"

#include "stats/agreement.h"

void rer_comparison_free(rer_comparison *comparison)
{
    if (comparison == NULL)
        return;
    for (int i = 0; comparison->folders != NULL && i < comparison->count; i++)
        rer_run_folder_free(&comparison->folders[i]);
    RER_FREE_ALL(comparison->folders, comparison->runs, comparison->pairs, comparison->relabellings,
                 comparison->column);
    rer_notes_free(&comparison->notes);
    free(comparison);
}

/* ---- what the runs are to each other ---------------------------------------------------------- */

static int64_t first_difference(const rer_texts *a, const rer_texts *b)
{
    for (int64_t i = 0; i < rer_min(a->count, b->count); i++)
        if (strcmp(rer_text(a, i), rer_text(b, i)) != 0)
            return i;
    return a->count == b->count ? -1 : rer_min(a->count, b->count);
}

static double share_equal(const rer_run_folder *a, const rer_run_folder *b)
{
    int64_t equal = 0;
    for (int64_t i = 0; i < a->N; i++)
        equal += strcmp(rer_text(&a->given, i), rer_text(&b->given, i)) == 0;
    return a->N > 0 ? (double)equal / (double)a->N : 1;
}

static rer_status fail_lengths(const rer_run_folder *a, const rer_run_folder *b, rer_error *error)
{
    return rer_fail(error, RER_BAD_INPUT,
                    "%s has %lld samples but %s has %lld: samples can be compared only where both runs have the same "
                    "rows. --mode datasets compares them as different data sets",
                    a->path, (long long)a->N, b->path, (long long)b->N);
}

static rer_status fail_labels(const rer_run_folder *a, const rer_run_folder *b, const char *remedy, rer_error *error)
{
    int64_t row = first_difference(&a->given, &b->given);
    const char *x = rer_text(&a->given, row), *y = rer_text(&b->given, row);
    return rer_fail(error, RER_BAD_INPUT,
                    "%s and %s have different labels: row %lld is '%s' in one and '%s' in the other. %s", a->path,
                    b->path, (long long)row, RER_QUOTED(x), RER_QUOTED(y), remedy);
}

/* Whether rows are the same ones, as far as ids tell. */
static rer_status check_ids(const rer_run_folder *a, const rer_run_folder *b, rer_error *error)
{
    if (a->ids.count == 0 || b->ids.count == 0)
        return RER_OK;
    int64_t row = first_difference(&a->ids, &b->ids);
    if (row < 0)
        return RER_OK;
    const char *x = rer_text(&a->ids, row), *y = rer_text(&b->ids, row);
    return rer_fail(error, RER_BAD_INPUT,
                    "row %lld is '%s' in %s but '%s' in %s: bring the rows into the same order, or use --mode datasets",
                    (long long)row, RER_QUOTED(x), a->path, RER_QUOTED(y), b->path);
}

static bool same_classes(const rer_run_folder *a, const rer_run_folder *b)
{
    return first_difference(&a->classes, &b->classes) < 0;
}

/* As the rows and labels say; what could be either is an error that asks. */
static rer_status guess_mode(rer_comparison *comparison, bool has_rates, rer_error *error)
{
    const rer_run_folder *first = &comparison->folders[0], *other = NULL, *shorter = NULL;
    bool same_rows = true, other_classes = has_rates;
    for (int i = 1; i < comparison->count; i++) {
        const rer_run_folder *run = &comparison->folders[i];
        if (run->N != first->N)
            shorter = run;
        else if (first_difference(&first->given, &run->given) >= 0)
            other = run;
        same_rows = same_rows && run->N == first->N && share_equal(first, run) >= .5;
        other_classes = other_classes || !same_classes(first, run);
    }
    if (has_rates || (!same_rows && other_classes))
        comparison->mode = RER_COMPARE_DATASETS;
    else if (shorter != NULL)
        return fail_lengths(first, shorter, error);
    else if (!same_rows && other != NULL)
        return fail_labels(first, other,
                           "--mode labels compares them as two versions of the labels, --mode datasets as different "
                           "data sets",
                           error);
    else
        comparison->mode = other == NULL ? RER_COMPARE_SAMPLES : RER_COMPARE_LABELS;
    return RER_OK;
}

static rer_status check_mode(const rer_comparison *comparison, rer_error *error)
{
    const rer_run_folder *first = &comparison->folders[0];
    for (int i = 1; comparison->mode != RER_COMPARE_DATASETS && i < comparison->count; i++) {
        const rer_run_folder *run = &comparison->folders[i];
        if (run->N != first->N)
            return fail_lengths(first, run, error);
        if (comparison->mode == RER_COMPARE_SAMPLES && first_difference(&first->given, &run->given) >= 0)
            return fail_labels(first, run, "--mode labels compares two versions of the labels", error);
        if (comparison->mode == RER_COMPARE_SAMPLES && !same_classes(first, run))
            return rer_fail(error, RER_BAD_INPUT, "%s and %s have the same labels but other classes in classes.csv",
                            first->path, run->path);
        RER_TRY(check_ids(first, run, error));
    }
    return RER_OK;
}

/* ---- the same samples ------------------------------------------------------------------------- */

static rer_status agree(rer_agreement *pair, const rer_run_folder *a, const rer_run_folder *b, rer_error *error)
{
    int64_t C = a->classes.count;
    RER_TRY(rer_spearman(&pair->spearman_samples, a->value, b->value, a->N, error));
    RER_TRY(rer_ndcg(&pair->ndcg_samples, a->value, b->value, a->N, error));
    RER_TRY(rer_ndcg(&pair->ndcg_samples_reverse, b->value, a->value, a->N, error));
    RER_TRY(rer_spearman(&pair->spearman_classes, a->class_chi, b->class_chi, C, error));
    RER_TRY(rer_ndcg(&pair->ndcg_classes, a->class_chi, b->class_chi, C, error));
    return rer_ndcg(&pair->ndcg_classes_reverse, b->class_chi, a->class_chi, C, error);
}

static rer_status find_agreements(rer_comparison *comparison, rer_error *error)
{
    int count = comparison->count;
    RER_TRY(rer_allocate(&comparison->pairs, (int64_t)count * (count - 1) / 2, sizeof *comparison->pairs,
                         "pairs of runs", error));
    for (int a = 0; a < count; a++)
        for (int b = a + 1; b < count; b++) {
            rer_agreement *pair = &comparison->pairs[comparison->n_pairs++];
            pair->a = a;
            pair->b = b;
            RER_TRY(agree(pair, &comparison->folders[a], &comparison->folders[b], error));
        }
    return RER_OK;
}

/* Keeps the RER_DISAGREEMENTS largest, largest first. */
static void keep_disagreement(rer_comparison *comparison, rer_disagreement found)
{
    rer_disagreement *list = comparison->disagreements;
    int at = comparison->n_disagreements;
    while (at > 0 && list[at - 1].high - list[at - 1].low < found.high - found.low)
        at--;
    if (at == RER_DISAGREEMENTS)
        return;
    comparison->n_disagreements += comparison->n_disagreements < RER_DISAGREEMENTS;
    memmove(&list[at + 1], &list[at], sizeof *list * (size_t)(comparison->n_disagreements - 1 - at));
    list[at] = found;
}

/* Ranks as shares: (rank - 1) / (values - 1). */
static rer_status rank_shares(double *shares, const double *values, int64_t n, rer_error *error)
{
    int64_t count = 0;
    RER_TRY(rer_ranks(shares, values, n, error));
    for (int64_t i = 0; i < n; i++)
        count += !isnan(values[i]);
    for (int64_t i = 0; i < n; i++)
        shares[i] = (shares[i] - 1) / (double)rer_max(1, count - 1);
    return RER_OK;
}

static rer_status find_disagreements(rer_comparison *comparison, rer_error *error)
{
    int64_t N = comparison->folders[0].N;
    double *shares = NULL;
    rer_disagreement *found = NULL;
    const rer_room rooms[] = {RER_ROOM(shares, N), RER_ROOM(found, N)};
    rer_status status = rer_allocate_all(rooms, RER_COUNT(rooms), "ranks", error);
    for (int run = 0; status == RER_OK && run < comparison->count; run++) {
        status = rank_shares(shares, comparison->folders[run].value, N, error);
        for (int64_t i = 0; status == RER_OK && i < N; i++) {
            rer_disagreement *row = &found[i];
            if (run == 0)
                *row = (rer_disagreement){.row = i, .low = shares[i], .high = shares[i]};
            if (isnan(shares[i]))
                row->low = NAN; /* one run has no value: the runs cannot disagree on it */
            if (shares[i] < row->low) {
                row->low = shares[i];
                row->low_run = run;
            }
            if (shares[i] > row->high) {
                row->high = shares[i];
                row->high_run = run;
            }
        }
    }
    for (int64_t i = 0; status == RER_OK && i < N; i++)
        if (!isnan(found[i].low) && found[i].high > found[i].low)
            keep_disagreement(comparison, found[i]);
    RER_FREE_ALL(shares, found);
    return status;
}

/* ---- other labels ----------------------------------------------------------------------------- */

static void relabel(rer_relabelling *change, const rer_run_folder *before, const rer_run_folder *after)
{
    double n_before = 0, n_after = 0;
    for (int64_t i = 0; i < before->N; i++) {
        const char *x = rer_text(&before->given, i), *y = rer_text(&after->given, i);
        if (strcmp(x, y) == 0)
            continue;
        change->n_added += x[0] == 0;
        change->n_removed += y[0] == 0;
        if (x[0] == 0 || y[0] == 0)
            continue;
        change->n_changed++;
        change->n_flagged += before->is_issue[i];
        change->n_still_flagged += after->is_issue[i];
        if (!isnan(before->chi_of[i])) {
            change->chi_before += before->chi_of[i];
            n_before++;
        }
        if (!isnan(after->chi_of[i])) {
            change->chi_after += after->chi_of[i];
            n_after++;
        }
    }
    change->chi_before = n_before > 0 ? change->chi_before / n_before : NAN;
    change->chi_after = n_after > 0 ? change->chi_after / n_after : NAN;
}

static rer_status find_relabellings(rer_comparison *comparison, rer_error *error)
{
    RER_TRY(rer_allocate(&comparison->relabellings, comparison->count - 1, sizeof(rer_relabelling), "changes of labels",
                         error));
    for (int i = 1; i < comparison->count; i++)
        relabel(&comparison->relabellings[i - 1], &comparison->folders[0], &comparison->folders[i]);
    return RER_OK;
}

/* ---- all of it -------------------------------------------------------------------------------- */

static rer_status read_runs(rer_comparison *comparison, const char *const *paths, int count, rer_error *error)
{
    const rer_room rooms[] = {RER_ROOM(comparison->folders, count), RER_ROOM(comparison->runs, count)};
    RER_TRY(rer_allocate_all(rooms, RER_COUNT(rooms), "runs", error));
    for (int i = 0; i < count; i++) {
        RER_TRY(rer_run_folder_read(&comparison->folders[i], paths[i],
                                    comparison->column != NULL ? comparison->column : "rer", error));
        comparison->runs[comparison->count++] = comparison->folders[i].run;
    }
    return RER_OK;
}

/* Where none is named: what detectors say differs in the mistakenness, what features say in chi. */
static rer_status choose_column(rer_comparison *comparison, rer_error *error)
{
    bool differ = false;
    if (comparison->column != NULL)
        return RER_OK;
    for (int i = 1; i < comparison->count; i++)
        differ |= strcmp(comparison->folders[i].detector, comparison->folders[0].detector) != 0;
    for (int i = 0; differ && i < comparison->count; i++) {
        const rer_run_folder *run = &comparison->folders[i];
        memcpy(run->value, run->mistakenness, (size_t)run->N * sizeof *run->value);
    }
    return rer_copy_text(&comparison->column, differ ? "mistakenness" : "rer", error);
}

/* Runs of one name are told apart by their paths. */
static void name_by_path(rer_comparison *comparison)
{
    for (int a = 0; a < comparison->count; a++)
        for (int b = 0; b < comparison->count; b++)
            if (a != b && strcmp(comparison->folders[a].name, comparison->folders[b].name) == 0)
                comparison->runs[a].name = comparison->folders[a].path;
}

static rer_status compare_runs(rer_comparison *made, const char *const *folders, int count, const char *error_rates,
                               const rer_options *options, rer_error *error)
{
    RER_TRY(read_runs(made, folders, count, error));
    RER_TRY(choose_column(made, error));
    made->mode = (rer_comparison_kind)options->comparison;
    made->spreadsheet_safe = options->spreadsheet_safe;
    made->regression = (rer_regression){0, NAN, NAN, NAN, NAN};
    name_by_path(made);
    if (made->mode == RER_COMPARE_AUTO)
        RER_TRY(guess_mode(made, error_rates != NULL, error));
    if (error_rates != NULL && made->mode != RER_COMPARE_DATASETS)
        return rer_fail(error, RER_BAD_USAGE, "--error-rates is for different data sets (--mode datasets)");
    RER_TRY(check_mode(made, error));
    if (made->mode == RER_COMPARE_SAMPLES) {
        RER_TRY(find_agreements(made, error));
        RER_TRY(find_disagreements(made, error));
    }
    if (made->mode == RER_COMPARE_LABELS)
        RER_TRY(find_relabellings(made, error));
    if (error_rates != NULL)
        RER_TRY(rer_comparison_read_rates(made, error_rates, error));
    return RER_OK;
}

rer_status rer_compare(rer_comparison **comparison, const char *const *folders, int count, const char *column,
                       const char *error_rates, const rer_options *given, rer_error *error)
{
    rer_comparison *made = NULL;
    rer_options options;
    rer_error_clear(error);
    RER_TRY(rer_options_take(&options, given, error));
    if (count < 2 || count > RER_RUNS_MAX)
        return rer_fail(error, RER_BAD_USAGE, "%d run%s cannot be compared; give 2 to %d", count, count == 1 ? "" : "s",
                        RER_RUNS_MAX);
    RER_TRY(rer_allocate(&made, 1, sizeof *made, "the comparison", error));
    rer_status status = RER_OK;
    if (column != NULL)
        status = rer_copy_text(&made->column, column, error);
    RER_THEN(status, compare_runs(made, folders, count, error_rates, &options, error));
    if (status == RER_OK)
        *comparison = made;
    else
        rer_comparison_free(made);
    return status;
}

rer_comparison_kind rer_comparison_mode(const rer_comparison *comparison)
{
    return comparison->mode;
}

const rer_compared_run *rer_comparison_run(const rer_comparison *comparison, int index)
{
    return index >= 0 && index < comparison->count ? &comparison->runs[index] : NULL;
}

const rer_agreement *rer_comparison_pair(const rer_comparison *comparison, int index)
{
    return index >= 0 && index < comparison->n_pairs ? &comparison->pairs[index] : NULL;
}

const rer_disagreement *rer_comparison_disagreement(const rer_comparison *comparison, int index)
{
    return index >= 0 && index < comparison->n_disagreements ? &comparison->disagreements[index] : NULL;
}

const rer_relabelling *rer_comparison_relabelling(const rer_comparison *comparison, int index)
{
    bool is_there = comparison->relabellings != NULL && index >= 0 && index < comparison->count - 1;
    return is_there ? &comparison->relabellings[index] : NULL;
}

const rer_regression *rer_comparison_regression(const rer_comparison *comparison)
{
    return &comparison->regression;
}

const char *rer_comparison_note(const rer_comparison *comparison, int index)
{
    return index >= 0 && index < comparison->notes.count ? comparison->notes.text[index] : NULL;
}
