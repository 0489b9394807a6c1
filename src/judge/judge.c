/* The judgement, in steps: probability of each label, ratios and their moments, noise rate,
 * threshold or budget and the flags, classes and pairs, notes. What takes logarithms and the like of each row is done by
 * all threads; the rest is O(N) simple work. */
#include "judge/judge.h"
#include "run/row_sums.h"
#include "stats/order.h"

static bool has_ratio(const rer_result *result, int64_t row)
{
    return result->given[row] >= 0 && !isnan(result->own[row]);
}

/* ---- ratios ------------------------------------------------------------------------------ */

/* Of chi in (above, up_to]: all of it, and on either side of 1. */
enum { RANGES = 3 };
static const double above[RANGES] = {-1, 1, -1}, up_to[RANGES] = {INFINITY, INFINITY, 1};

static double chi_or_none(const rer_result *result, int64_t row)
{
    return has_ratio(result, row) ? rer_chi_of(result, row) : NAN;
}

static void add_chi(rer_row_sums *sums, const rer_result *result, int64_t row, const void *how)
{
    (void)how;
    double chi = chi_or_none(result, row);
    for (int range = 0; range < RANGES; range++)
        if (chi > above[range] && chi <= up_to[range]) {
            sums->n[range]++;
            sums->sum[range] += chi;
        }
}

/* Powers 2 to 4 of the distance to the mean of each range. */
static void add_powers(rer_row_sums *sums, const rer_result *result, int64_t row, const void *how)
{
    const rer_moments *moments = how;
    double chi = chi_or_none(result, row);
    for (int range = 0; range < RANGES; range++)
        if (chi > above[range] && chi <= up_to[range]) {
            double d = chi - moments[range].mean;
            sums->sum[3 * range] += d * d;
            sums->sum[3 * range + 1] += d * d * d;
            sums->sum[3 * range + 2] += d * d * d * d;
        }
}

/* Mean, variance, skewness and excess kurtosis of each range. */
static rer_status moments_of_chi(rer_moments moments[RANGES], const rer_result *result, rer_pool *pool,
                                 rer_error *error)
{
    rer_row_sums sums;
    RER_TRY(rer_sum_rows(&sums, add_chi, NULL, result, "judging", pool, error));
    for (int range = 0; range < RANGES; range++) {
        int64_t n = sums.n[range];
        moments[range] = (rer_moments){.n = n, .mean = n > 0 ? sums.sum[range] / (double)n : NAN};
    }
    RER_TRY(rer_sum_rows(&sums, add_powers, moments, result, "judging", pool, error));
    for (int range = 0; range < RANGES; range++) {
        rer_moments *made = &moments[range];
        const double *power = sums.sum + 3 * range;
        double n = (double)made->n;
        made->variance = made->n > 0 ? power[0] / n : NAN;
        bool spread = made->variance > 0;
        made->skewness = spread ? power[1] / n / pow(made->variance, 1.5) : NAN;
        made->kurtosis = spread ? power[2] / n / (made->variance * made->variance) - 3 : NAN;
    }
    return RER_OK;
}

static double largest_chi(const rer_result *result)
{
    double largest = 0;
    for (int64_t row = 0; row < result->N; row++)
        if (has_ratio(result, row) && rer_chi_of(result, row) > largest)
            largest = rer_chi_of(result, row);
    return largest;
}

static void count_row(rer_row_sums *sums, const rer_result *result, int64_t row, const void *how)
{
    (void)how;
    bool invalid = (result->flags[row] & RER_FLAG_INVALID) != 0;
    sums->n[invalid ? 0 : result->given[row] >= 0 ? 1 : 2]++;
}

static rer_status count_rows(rer_result *result, rer_pool *pool, rer_error *error)
{
    rer_summary *summary = &result->summary;
    rer_row_sums sums;
    rer_status status = rer_sum_rows(&sums, count_row, NULL, result, "judging", pool, error);
    summary->n_invalid += sums.n[0];
    summary->n_labelled += sums.n[1];
    summary->n_unlabelled += sums.n[2];
    return status;
}

static rer_status set_ratios(rer_result *result, const rer_ratio_sums *sums, rer_pool *pool, rer_error *error)
{
    rer_summary *summary = &result->summary;
    rer_moments moments[RANGES];
    RER_TRY(moments_of_chi(moments, result, pool, error));
    double n = sums->n > 0 ? (double)sums->n : NAN;
    summary->chi0 = sums->chi0 / n;
    summary->chi_rand = sums->chi_rand / n;
    summary->own_error = sums->own / n;
    summary->best_error = sums->best / n;
    summary->second_error = sums->second / n;
    summary->chi_all = moments[0];
    summary->chi_above_one = moments[1];
    summary->chi_below_one = moments[2];
    summary->chi = summary->chi_all.mean;
    summary->eta = sums->n > 0 ? rer_noise_rate(summary->chi0, summary->chi_rand) : NAN;
    return RER_OK;
}

/* What all labels sum up to; and what cannot be known: the same if the odds of every label were ODDS_UNSURE times
 * higher (overlap may hide so many), or lower. Of the latter only labels count that would still be likelier wrong than
 * right: a little doubt in each of many labels shows none that is wrong. (All of them counted, "at least" was more than
 * there were in 25 of 40 drawn sets, 11 now, and said "at least 420" of 10,000 right labels of which two were flagged.)
 * 5 covers the judges' counts of Fashion-MNIST, 20 Newsgroups and the five files of CIFAR-10N; 4 is too low for
 * Fashion-MNIST (docs/methods.md). */
#define ODDS_UNSURE 5.0

enum { LOW, RATE, HIGH };

static void add_wrong(rer_row_sums *sums, const rer_result *result, int64_t row, const void *how)
{
    (void)how;
    if (!has_ratio(result, row))
        return;
    double logit = (double)result->logit[row], low = logit - log(ODDS_UNSURE);
    sums->n[0]++;
    sums->sum[LOW] += low > 0 ? rer_logistic(low) : 0;
    sums->sum[RATE] += rer_logistic(logit);
    sums->sum[HIGH] += rer_logistic(logit + log(ODDS_UNSURE));
}

static rer_status set_noise_rate(rer_result *result, rer_pool *pool, rer_error *error)
{
    rer_summary *summary = &result->summary;
    rer_row_sums sums;
    RER_TRY(rer_sum_rows(&sums, add_wrong, NULL, result, "judging", pool, error));
    double judged = sums.n[0] > 0 ? (double)sums.n[0] : NAN;
    summary->noise_low = sums.sum[LOW] / judged;
    summary->noise_rate = sums.sum[RATE] / judged;
    summary->noise_high = sums.sum[HIGH] / judged;
    return RER_OK;
}

/* ---- flags ------------------------------------------------------------------------------- */

typedef struct flagging {
    rer_result *result;
    double threshold;
    bool on_chi;
} flagging;

static void flag_row(rer_row_sums *sums, const rer_result *result, int64_t row, const void *how)
{
    const flagging *f = how;
    if (!has_ratio(result, row))
        return;
    double value = f->on_chi ? rer_chi_of(result, row) : rer_logistic((double)result->logit[row]);
    if (value > f->threshold) {
        f->result->flags[row] |= RER_FLAG_ISSUE;
        sums->n[0]++;
    }
}

static rer_status flag_above(rer_result *result, double threshold, bool on_chi, rer_pool *pool, rer_error *error)
{
    rer_summary *summary = &result->summary;
    flagging how = {result, threshold, on_chi};
    rer_row_sums sums;
    RER_TRY(rer_sum_rows(&sums, flag_row, &how, result, "judging", pool, error));
    summary->threshold = threshold;
    summary->threshold_on_chi = on_chi;
    summary->n_issues = sums.n[0];
    return RER_OK;
}

/* Flags exactly the budget's number of samples; the threshold is then the last one's value. */
static rer_status flag_budget(rer_result *result, rer_error *error)
{
    rer_summary *summary = &result->summary;
    const rer_options *options = &result->options;
    int64_t *rows = NULL, ratios = summary->chi_all.n;
    double share = options->budget_percent ? options->budget / 100 * (double)summary->n_labelled : options->budget;
    int64_t count = share < (double)ratios ? llround(share) : ratios;
    RER_TRY(rer_allocate(&rows, count, sizeof *rows, "the budget's samples", error));
    summary->n_issues = rer_result_suspects(result, count, rows);
    for (int64_t i = 0; i < summary->n_issues; i++)
        result->flags[rows[i]] |= RER_FLAG_ISSUE;
    summary->threshold = summary->n_issues > 0 ? rer_sample_of(result, rows[summary->n_issues - 1]).mistakenness : 1;
    free(rows);
    return RER_OK;
}

static void flag_as_told(rer_result *result, const bool *flagged)
{
    result->summary.threshold = NAN;
    for (int64_t row = 0; row < result->N; row++)
        if (flagged[row]) {
            result->flags[row] |= RER_FLAG_ISSUE;
            result->summary.n_issues++;
        }
}

/* By budget or threshold, as the options say, or as another detector does. */
static rer_status set_flags(rer_result *result, const bool *flagged, rer_pool *pool, rer_error *error)
{
    const rer_summary *summary = &result->summary;
    const rer_options *options = &result->options;
    if (options->budget >= 0)
        return flag_budget(result, error);
    if (flagged != NULL && options->threshold < 0) {
        flag_as_told(result, flagged);
        return RER_OK;
    }
    if (options->threshold == RER_PAPER)
        return flag_above(result,
                          rer_paper_threshold(summary->chi0, summary->chi_rand, summary->eta, largest_chi(result)),
                          true, pool, error);
    return flag_above(result, options->threshold >= 0 ? options->threshold : .5, false, pool, error);
}

/* By the flags themselves: those of a threshold on chi are not the most suspicious ones. */
static void add_flagged(rer_row_sums *sums, const rer_result *result, int64_t row, const void *how)
{
    (void)how;
    if ((result->flags[row] & RER_FLAG_ISSUE) != 0)
        sums->sum[0] += rer_logistic((double)result->logit[row]);
}

static rer_status sum_flagged(rer_result *result, rer_pool *pool, rer_error *error)
{
    rer_row_sums sums;
    rer_status status = rer_sum_rows(&sums, add_flagged, NULL, result, "judging", pool, error);
    result->summary.expected_wrong = sums.sum[0];
    return status;
}

/* ---- notes ------------------------------------------------------------------------------- */

#define LISTED 8

static rer_status note_singletons(rer_result *result, rer_error *error)
{
    char list[400] = "", quoted[64];
    int32_t listed = 0;
    size_t used = 0;
    for (int32_t c = 0; c < result->C; c++) {
        if (result->classes[c].n != 1)
            continue;
        result->summary.n_singletons++;
        if (listed < LISTED && used + 70 < sizeof list) {
            (void)rer_quote(quoted, sizeof quoted, result->names[c], (int64_t)strlen(result->names[c]));
            used += (size_t)snprintf(list + used, sizeof list - used, "%s'%s'", listed > 0 ? ", " : "", quoted);
            listed++;
        }
    }
    int32_t n = result->summary.n_singletons;
    if (n == 0)
        return RER_OK;
    return rer_result_add_note(result, error, "%d class%s one sample, which cannot be judged: %s%s", n,
                               n == 1 ? " has" : "es have", list, n > listed ? ", ..." : "");
}

static rer_status note_duplicates(rer_result *result, rer_error *error)
{
    const rer_summary *summary = &result->summary;
    if (summary->n_duplicate_groups == 0)
        return RER_OK;
    return rer_result_add_note(
        result, error, "%lld rows are near-duplicates: %lld group%s, %lld with labels that disagree (duplicates.csv)",
        (long long)summary->n_duplicates, (long long)summary->n_duplicate_groups,
        summary->n_duplicate_groups == 1 ? "" : "s", (long long)summary->n_duplicate_conflicts);
}

/* Where chance explains more of the nearest classes than the labels do. */
#define HARDLY_TELLS .5
/* ... and the range is a wide one: a large class beside a small one makes classes hard to tell by their means alone,
 * and one label in a hundred may be wrong beyond doubt. Of 20 drawn sets that difficult, five had 1.2 or less and a
 * count that was right within an eighth; the others had 1.6 or more. */
#define WIDE 1.5

static rer_status note_overlap(rer_result *result, rer_error *error)
{
    const rer_summary *summary = &result->summary;
    double least = (double)rer_labels_of(summary, summary->noise_low);
    double most = (double)rer_labels_of(summary, summary->noise_high);
    if (isnan(summary->noise_low) || result->options.clusters[1] > 0)
        return RER_OK;
    if (rer_most_look_wrong(result))
        return rer_result_add_doubt(
            result, error,
            "most labels look wrong; features that say nothing of the classes look the same: check a few");
    if (!(summary->difficulty > HARDLY_TELLS) || most <= WIDE * least)
        return RER_OK;
    return rer_result_add_doubt(
        result, error,
        "the features hardly tell the classes apart, or very many labels are wrong: how many is a guess");
}

static rer_status add_notes(rer_result *result, rer_error *error)
{
    const rer_summary *summary = &result->summary;
    if (result->model != NULL)
        RER_TRY(note_singletons(result, error));
    RER_TRY(note_overlap(result, error));
    RER_TRY(note_duplicates(result, error));
    if (summary->n_invalid > 0)
        RER_TRY(rer_result_add_note(result, error, "%lld row%s with NaN or Inf %s left out",
                                    (long long)summary->n_invalid, summary->n_invalid == 1 ? "" : "s",
                                    summary->n_invalid == 1 ? "was" : "were"));
    if (summary->n_unlabelled > 0)
        RER_TRY(rer_result_add_note(result, error, "%lld row%s no label; %s suggests one%s",
                                    (long long)summary->n_unlabelled, summary->n_unlabelled == 1 ? " has" : "s have",
                                    rer_samples_name(result), summary->n_unlabelled == 1 ? "" : " for each"));
    return RER_OK;
}

rer_status rer_judge(rer_result *result, const rer_findings *findings, rer_pool *pool, rer_error *error)
{
    const rer_ratio_sums *sums = &findings->sums;
    const float *flipped = findings->scores.flipped;
    RER_TRY(count_rows(result, pool, error));
    RER_TRY(set_ratios(result, sums, pool, error));
    if (flipped != NULL && sums->n > 0)
        RER_TRY(rer_judge_by_density(result, flipped, result->summary.eta, error));
    RER_TRY(set_noise_rate(result, pool, error));
    if (findings->flagged != NULL) { /* its own number, and nothing is known of its doubt */
        result->summary.noise_rate = findings->noise_rate;
        result->summary.noise_low = result->summary.noise_high = NAN;
    }
    RER_TRY(set_flags(result, findings->flagged, pool, error));
    RER_TRY(sum_flagged(result, pool, error));
    RER_TRY(rer_judge_classes(result, pool, error));
    RER_TRY(rer_judge_outliers(result, findings->scores.margin, findings->usual, pool, error));
    RER_TRY(rer_result_keep_tail(result, pool, error));
    return add_notes(result, error);
}
