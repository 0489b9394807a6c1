/* Metrics of a ranking, of flags and of probabilities: see metrics.h.
 *
 *     AUROC   sum over groups of equal score of w+ (w-_below + w-_group / 2) / (W+ W-)
 *     AP      sum over thresholds of (recall - recall before) * precision
 *     F1      2 TP / (2 TP + FP + FN)
 *     nDCG@k  DCG / ideal DCG, gain 1 for a wrong label, discount 1 / log2(place + 1); rows of equal
 *             score share the mean gain of their group
 *     top k   where the k-th place falls into a group of equal scores, its expected value
 *     ECE     sum over bins of count / n * |mean probability - share of wrong labels|
 *     F1w     F1 with every row weighing (p - p*) / (1 - p*) above p* and (p* - p) / p* below
 *     NCFD    (F1w - F1) / (1 - F1), both of the labels with p > p* */
#include "studies/bench/metrics.h"
#include "stats/order.h"

static const char *const names[RER_METRICS] = {
    [RER_AUROC] = "auroc",
    [RER_AVERAGE_PRECISION] = "average_precision",
    [RER_F1] = "f1",
    [RER_PRECISION] = "precision",
    [RER_RECALL] = "recall",
    [RER_BEST_F1] = "best_f1",
    [RER_NDCG] = "ndcg@100",
    [RER_LIFT] = "lift@100",
    [RER_FNR] = "fnr@budget",
    [RER_ECE] = "ece",
    [RER_WEIGHTED_F1] = "weighted_f1",
    [RER_NCFD] = "ncfd",
    [RER_SUGGESTION_ACCURACY] = "suggestion_accuracy",
    [RER_NOISE_RATE] = "noise_rate",
    [RER_TRUE_NOISE_RATE] = "true_noise_rate",
    [RER_NOISE_RATE_ERROR] = "noise_rate_error",
    [RER_INTERVAL_WIDTH] = "interval_width",
    [RER_INTERVAL_COVERS] = "interval_covers",
    [RER_FLAGGED] = "flagged",
    [RER_WRONG] = "wrong",
    [RER_WRONG_TOP] = "wrong@100",
    [RER_EXPECTED_TOP] = "expected_wrong@100",
    [RER_WRONG_FAR] = "wrong@500",
    [RER_EXPECTED_FAR] = "expected_wrong@500",
    [RER_WRONG_FLAGGED] = "wrong@flagged",
    [RER_EXPECTED_FLAGGED] = "expected_wrong@flagged",
};

const char *rer_metric_name(rer_metric_id metric)
{
    return names[metric];
}

/* ---- the ranking ------------------------------------------------------------------------- */

void rer_ranking_free(rer_ranking *ranking)
{
    RER_FREE_ALL(ranking->row, ranking->end);
    *ranking = (rer_ranking){0};
}

rer_status rer_ranking_make(rer_ranking *ranking, const double *score, int64_t n, rer_error *error)
{
    rer_ranking made = {.n = n};
    rer_ranked *sorted = NULL; /* [n] */
    const rer_room rooms[] = {RER_ROOM(sorted, n), RER_ROOM(made.row, n), RER_ROOM(made.end, n)};
    RER_TRY(rer_allocate_all(rooms, RER_COUNT(rooms), "a ranking", error));
    for (int64_t i = 0; i < n; i++)
        sorted[i] = (rer_ranked){isnan(score[i]) ? INFINITY : -score[i], i}; /* the largest first */
    rer_sort_ranked(sorted, n);
    for (int64_t i = 0; i < n; i++) {
        made.row[i] = sorted[i].place;
        if (i + 1 == n || sorted[i + 1].value != sorted[i].value)
            made.end[made.groups++] = i + 1;
    }
    free(sorted);
    *ranking = made;
    return RER_OK;
}

double rer_auroc(const rer_ranking *ranking, const bool *wrong, const uint16_t *weight)
{
    double concordant = 0;        /* pairs of a wrong and a right label, the wrong one above */
    int64_t above = 0, right = 0; /* weight of the wrong labels above, of the right ones so far */
    for (int64_t group = 0, place = 0; group < ranking->groups; group++) {
        int64_t group_wrong = 0, group_right = 0;
        for (; place < ranking->end[group]; place++) {
            int64_t row = ranking->row[place], w = weight != NULL ? weight[row] : 1;
            group_wrong += wrong[row] ? w : 0;
            group_right += wrong[row] ? 0 : w;
        }
        concordant += (double)group_right * ((double)above + .5 * (double)group_wrong);
        above += group_wrong;
        right += group_right;
    }
    return above > 0 && right > 0 ? concordant / ((double)above * (double)right) : NAN;
}

static double f1_of(double true_positive, double flagged, double wrong)
{
    return wrong > 0 ? 2 * true_positive / (flagged + wrong) : NAN;
}

/* One sweep over the thresholds. */
static void measure_thresholds(double *values, const rer_ranking *ranking, const bool *wrong, int64_t n_wrong)
{
    double area = 0, best = 0;
    int64_t found = 0, before = 0;
    for (int64_t group = 0, place = 0; group < ranking->groups; group++) {
        for (; place < ranking->end[group]; place++)
            found += wrong[ranking->row[place]];
        area += (double)(found - before) * (double)found / (double)place;
        best = fmax(best, f1_of((double)found, (double)place, (double)n_wrong));
        before = found;
    }
    values[RER_AVERAGE_PRECISION] = n_wrong > 0 ? area / (double)n_wrong : NAN;
    values[RER_BEST_F1] = n_wrong > 0 ? best : NAN;
}

/* Expected sum of `value` (NULL: of wrong labels) over the first k rows; NaN counts as nothing. */
static double top_sum(const rer_ranking *ranking, const bool *wrong, const double *value, int64_t k)
{
    double sum = 0;
    for (int64_t group = 0, place = 0; group < ranking->groups && place < k; group++) {
        int64_t size = ranking->end[group] - place, taken = rer_min(size, k - place);
        double inside = 0;
        for (; place < ranking->end[group]; place++) {
            int64_t row = ranking->row[place];
            double here = value != NULL ? value[row] : (double)wrong[row];
            inside += isnan(here) ? 0 : here;
        }
        sum += inside * ((double)taken / (double)size);
    }
    return sum;
}

static double ndcg(const rer_ranking *ranking, const bool *wrong, int64_t n_wrong, int64_t k)
{
    double gain = 0, ideal = 0;
    for (int64_t group = 0, place = 0; group < ranking->groups && place < k; group++) {
        double discounts = 0;
        int64_t start = place, found = 0;
        for (; place < ranking->end[group]; place++) {
            discounts += place < k ? 1 / log2((double)place + 2) : 0;
            found += wrong[ranking->row[place]];
        }
        gain += discounts * (double)found / (double)(place - start);
    }
    for (int64_t place = 0; place < rer_min(n_wrong, k); place++)
        ideal += 1 / log2((double)place + 2);
    return ideal > 0 ? gain / ideal : NAN;
}

static void measure_ranking(double *values, const rer_ranking *ranking, const rer_outcome *outcome, int64_t n_wrong)
{
    int64_t n = outcome->n;
    const int64_t tops[] = {rer_min(RER_TOP, n), rer_min(RER_FAR_TOP, n), (int64_t)values[RER_FLAGGED]};
    values[RER_AUROC] = rer_auroc(ranking, outcome->wrong, NULL);
    measure_thresholds(values, ranking, outcome->wrong, n_wrong);
    values[RER_NDCG] = ndcg(ranking, outcome->wrong, n_wrong, tops[0]);
    for (int i = 0; i < 3; i++) {
        values[RER_WRONG_TOP + 2 * i] = top_sum(ranking, outcome->wrong, NULL, tops[i]);
        if (outcome->probability != NULL)
            values[RER_EXPECTED_TOP + 2 * i] = top_sum(ranking, NULL, outcome->probability, tops[i]);
    }
    if (n_wrong > 0) {
        double share = (double)n_wrong / (double)n;
        values[RER_LIFT] = values[RER_WRONG_TOP] / (double)tops[0] / share;
        values[RER_FNR] = 1 - top_sum(ranking, outcome->wrong, NULL, n_wrong) / (double)n_wrong;
    }
}

/* ---- flags ------------------------------------------------------------------------------- */

static void measure_flags(double *values, const rer_outcome *outcome, int64_t n_wrong)
{
    int64_t flagged = 0, found = 0, suggested = 0;
    for (int64_t i = 0; i < outcome->n; i++) {
        bool is_found = outcome->flagged[i] && outcome->wrong[i];
        flagged += outcome->flagged[i];
        found += is_found;
        suggested += is_found && outcome->suggestion_right != NULL && outcome->suggestion_right[i];
    }
    values[RER_FLAGGED] = (double)flagged;
    values[RER_WRONG] = (double)n_wrong;
    values[RER_F1] = f1_of((double)found, (double)flagged, (double)n_wrong);
    values[RER_PRECISION] = flagged > 0 ? (double)found / (double)flagged : NAN;
    values[RER_RECALL] = n_wrong > 0 ? (double)found / (double)n_wrong : NAN;
    if (outcome->suggestion_right != NULL && found > 0)
        values[RER_SUGGESTION_ACCURACY] = (double)suggested / (double)found;
}

/* ---- probabilities ----------------------------------------------------------------------- */

static int bin_of(double probability)
{
    int bin = 0;
    while (bin + 1 < RER_CALIBRATION_BINS && probability > (bin + 1) * (1.0 / RER_CALIBRATION_BINS))
        bin++;
    return bin;
}

void rer_calibration(rer_calibration_bin bins[RER_CALIBRATION_BINS], const rer_outcome *outcome)
{
    for (int b = 0; b < RER_CALIBRATION_BINS; b++)
        bins[b] = (rer_calibration_bin){0};
    for (int64_t i = 0; outcome->probability != NULL && i < outcome->n; i++) {
        if (isnan(outcome->probability[i]))
            continue;
        rer_calibration_bin *bin = &bins[bin_of(outcome->probability[i])];
        bin->count++;
        bin->probability += outcome->probability[i];
        bin->wrong += outcome->wrong[i];
    }
    for (int b = 0; b < RER_CALIBRATION_BINS; b++) {
        bins[b].probability /= bins[b].count > 0 ? (double)bins[b].count : NAN;
        bins[b].wrong /= bins[b].count > 0 ? (double)bins[b].count : NAN;
    }
}

/* F1 of p > p*, plain and weighted: sums of true positives, false positives, false negatives. */
static void measure_weights(double *values, const rer_outcome *outcome)
{
    double plain[3] = {0}, weighted[3] = {0}, threshold = outcome->threshold;
    for (int64_t i = 0; i < outcome->n; i++) {
        double p = outcome->probability[i];
        bool above = p > threshold;
        if (isnan(p) || (!above && !outcome->wrong[i]))
            continue;
        int kind = !above ? 2 : outcome->wrong[i] ? 0 : 1;
        plain[kind]++;
        weighted[kind] += above ? (p - threshold) / (1 - threshold) : (threshold - p) / threshold;
    }
    double bottom = 2 * weighted[0] + weighted[1] + weighted[2];
    if (plain[0] + plain[2] > 0 && bottom > 0) {
        double f1 = 2 * plain[0] / (2 * plain[0] + plain[1] + plain[2]);
        values[RER_WEIGHTED_F1] = 2 * weighted[0] / bottom;
        values[RER_NCFD] = f1 < 1 ? (values[RER_WEIGHTED_F1] - f1) / (1 - f1) : NAN;
    }
}

static void measure_probabilities(double *values, const rer_outcome *outcome)
{
    rer_calibration_bin bins[RER_CALIBRATION_BINS];
    double error = 0;
    int64_t n = 0;
    rer_calibration(bins, outcome);
    for (int b = 0; b < RER_CALIBRATION_BINS; b++) {
        n += bins[b].count;
        if (bins[b].count > 0)
            error += (double)bins[b].count * fabs(bins[b].probability - bins[b].wrong);
    }
    values[RER_ECE] = n > 0 ? error / (double)n : NAN;
    measure_weights(values, outcome);
}

/* ---- all --------------------------------------------------------------------------------- */

static void measure_noise_rate(double *values, const rer_outcome *outcome)
{
    values[RER_NOISE_RATE] = outcome->noise_rate;
    values[RER_TRUE_NOISE_RATE] = outcome->true_rate;
    values[RER_NOISE_RATE_ERROR] = fabs(outcome->noise_rate - outcome->true_rate);
    values[RER_INTERVAL_WIDTH] = outcome->noise_high - outcome->noise_low;
    if (!isnan(values[RER_INTERVAL_WIDTH]) && !isnan(outcome->true_rate))
        values[RER_INTERVAL_COVERS] =
            outcome->noise_low <= outcome->true_rate && outcome->true_rate <= outcome->noise_high;
}

rer_status rer_metrics(double values[RER_METRICS], const rer_outcome *outcome, rer_error *error)
{
    rer_ranking ranking = {0};
    int64_t n_wrong = 0;
    RER_TRY(rer_ranking_make(&ranking, outcome->score, outcome->n, error));
    for (int metric = 0; metric < RER_METRICS; metric++)
        values[metric] = NAN;
    for (int64_t i = 0; i < outcome->n; i++)
        n_wrong += outcome->wrong[i];
    measure_flags(values, outcome, n_wrong);
    if (outcome->n > 0)
        measure_ranking(values, &ranking, outcome, n_wrong);
    if (outcome->probability != NULL)
        measure_probabilities(values, outcome);
    measure_noise_rate(values, outcome);
    rer_ranking_free(&ranking);
    return RER_OK;
}
