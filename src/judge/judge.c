/* The judgement, in steps: probability of each label, ratios and their moments, noise rate,
 * threshold or budget and the flags, classes and pairs, notes. One thread: O(N) simple work. */
#include "judge/judge.h"
#include "stats/order.h"

static bool has_ratio(const rer_result *result, int64_t row)
{
    return result->given[row] >= 0 && !isnan(result->own[row]);
}

/* Mean, variance, skewness and excess kurtosis of chi in (above, up_to]. */
static rer_moments moments_of_chi(const rer_result *result, double above, double up_to)
{
    rer_moments moments = {0};
    double second = 0, third = 0, fourth = 0;
    for (int64_t row = 0; row < result->N; row++) {
        double chi = has_ratio(result, row) ? rer_chi_of(result, row) : NAN;
        if (chi > above && chi <= up_to) {
            moments.n++;
            moments.mean += chi;
        }
    }
    double n = (double)moments.n;
    moments.mean = moments.n > 0 ? moments.mean / n : NAN;
    for (int64_t row = 0; row < result->N; row++) {
        double chi = has_ratio(result, row) ? rer_chi_of(result, row) : NAN;
        if (chi > above && chi <= up_to) {
            double d = chi - moments.mean;
            second += d * d;
            third += d * d * d;
            fourth += d * d * d * d;
        }
    }
    moments.variance = moments.n > 0 ? second / n : NAN;
    bool spread = moments.variance > 0;
    moments.skewness = spread ? third / n / pow(moments.variance, 1.5) : NAN;
    moments.kurtosis = spread ? fourth / n / (moments.variance * moments.variance) - 3 : NAN;
    return moments;
}

static double largest_chi(const rer_result *result)
{
    double largest = 0;
    for (int64_t row = 0; row < result->N; row++)
        if (has_ratio(result, row) && rer_chi_of(result, row) > largest)
            largest = rer_chi_of(result, row);
    return largest;
}

static void count_rows(rer_result *result)
{
    rer_summary *summary = &result->summary;
    for (int64_t row = 0; row < result->N; row++) {
        bool invalid = (result->flags[row] & RER_FLAG_INVALID) != 0;
        summary->n_invalid += invalid;
        summary->n_labelled += !invalid && result->given[row] >= 0;
        summary->n_unlabelled += !invalid && result->given[row] < 0;
    }
}

static void set_ratios(rer_result *result, const rer_ratio_sums *sums)
{
    rer_summary *summary = &result->summary;
    double n = sums->n > 0 ? (double)sums->n : NAN;
    summary->chi0 = sums->chi0 / n;
    summary->chi_rand = sums->chi_rand / n;
    summary->own_error = sums->own / n;
    summary->best_error = sums->best / n;
    summary->second_error = sums->second / n;
    summary->chi_all = moments_of_chi(result, -1, INFINITY);
    summary->chi_above_one = moments_of_chi(result, 1, INFINITY);
    summary->chi_below_one = moments_of_chi(result, -1, 1);
    summary->chi = summary->chi_all.mean;
    summary->eta = sums->n > 0 ? rer_noise_rate(summary->chi0, summary->chi_rand) : NAN;
}

/* What all labels sum up to; and what cannot be known: the same if the odds of every label were ODDS_UNSURE times lower,
 * or higher. That covers the judges' counts of Fashion-MNIST, 20 Newsgroups and the five files of CIFAR-10N; 3 misses the
 * first of them, 2 four of the five files as well (docs/detection.md). */
#define ODDS_UNSURE 4.0

static void set_noise_rate(rer_result *result)
{
    rer_summary *summary = &result->summary;
    double sum[3] = {0}, shift[3] = {-log(ODDS_UNSURE), 0, log(ODDS_UNSURE)};
    int64_t n = 0;
    for (int64_t row = 0; row < result->N; row++)
        if (has_ratio(result, row)) {
            for (int i = 0; i < 3; i++)
                sum[i] += rer_logistic((double)result->logit[row] + shift[i]);
            n++;
        }
    double judged = n > 0 ? (double)n : NAN;
    summary->noise_low = sum[0] / judged;
    summary->noise_rate = sum[1] / judged;
    summary->noise_high = sum[2] / judged;
}

/* ---- flags ------------------------------------------------------------------------------- */

static void flag_above(rer_result *result, double threshold, bool on_chi)
{
    rer_summary *summary = &result->summary;
    summary->threshold = threshold;
    summary->threshold_on_chi = on_chi;
    for (int64_t row = 0; row < result->N; row++) {
        if (!has_ratio(result, row))
            continue;
        double value = on_chi ? rer_chi_of(result, row) : rer_logistic((double)result->logit[row]);
        if (value > threshold) {
            result->flags[row] |= RER_FLAG_ISSUE;
            summary->n_issues++;
        }
    }
}

/* Flags exactly the budget's number of samples; the threshold is then the last one's value. */
static rer_status flag_budget(rer_result *result, rer_error *error)
{
    rer_summary *summary = &result->summary;
    const rer_options *options = &result->options;
    int64_t *rows = NULL, ratios = summary->chi_all.n;
    double share = options->budget_percent ? options->budget / 100 * (double)summary->n_labelled : options->budget;
    int64_t count = share < (double)ratios ? llround(share) : ratios;
    rer_status status = rer_allocate(&rows, count, sizeof *rows, "the budget's samples", error);
    if (status != RER_OK)
        return status;
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
static rer_status set_flags(rer_result *result, const bool *flagged, rer_error *error)
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
        flag_above(result, rer_paper_threshold(summary->chi0, summary->chi_rand, summary->eta, largest_chi(result)),
                   true);
    else
        flag_above(result, options->threshold >= 0 ? options->threshold : .5, false);
    return RER_OK;
}

/* By the flags themselves: those of a threshold on chi are not the most suspicious ones. */
static double sum_flagged(const rer_result *result)
{
    double sum = 0;
    for (int64_t row = 0; row < result->N; row++)
        if ((result->flags[row] & RER_FLAG_ISSUE) != 0)
            sum += rer_logistic((double)result->logit[row]);
    return sum;
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
        result, error, "%lld rows are near-duplicates: %lld groups, %lld with labels that disagree (duplicates.csv)",
        (long long)summary->n_duplicates, (long long)summary->n_duplicate_groups,
        (long long)summary->n_duplicate_conflicts);
}

static rer_status add_notes(rer_result *result, rer_error *error)
{
    const rer_summary *summary = &result->summary;
    rer_status status = result->model != NULL ? note_singletons(result, error) : RER_OK;
    if (status == RER_OK)
        status = note_duplicates(result, error);
    if (status == RER_OK && summary->n_invalid > 0)
        status = rer_result_add_note(result, error, "%lld rows with NaN or Inf were left out",
                                     (long long)summary->n_invalid);
    if (status == RER_OK && summary->n_unlabelled > 0)
        status = rer_result_add_note(result, error, "%lld rows have no label; %s suggests one for each",
                                     (long long)summary->n_unlabelled, rer_samples_name(result));
    return status;
}

rer_status rer_judge(rer_result *result, const rer_findings *findings, rer_error *error)
{
    const rer_ratio_sums *sums = &findings->sums;
    const float *flipped = findings->scores.flipped;
    count_rows(result);
    set_ratios(result, sums);
    rer_status status = RER_OK;
    if (flipped != NULL && sums->n > 0)
        status = rer_judge_by_density(result, flipped, result->summary.eta, error);
    set_noise_rate(result);
    if (findings->flagged != NULL) { /* its own number, and nothing is known of its doubt */
        result->summary.noise_rate = findings->noise_rate;
        result->summary.noise_low = result->summary.noise_high = NAN;
    }
    if (status == RER_OK)
        status = set_flags(result, findings->flagged, error);
    result->summary.expected_wrong = sum_flagged(result);
    if (status == RER_OK)
        status = rer_judge_classes(result, error);
    if (status == RER_OK)
        status = rer_judge_outliers(result, &findings->scores, error);
    return status == RER_OK ? add_notes(result, error) : status;
}
