/* Rank correlation, discounted gain, regression. */
#include "stats/agreement.h"
#include "stats/order.h"

/* The places that have a value, ascending; `other` (or NULL) must have one there too. */
static rer_status sort_values(rer_ranked **sorted, int64_t *count, const double *values, const double *other, int64_t n,
                              rer_error *error)
{
    rer_ranked *list = NULL;
    int64_t used = 0;
    RER_TRY(rer_allocate(&list, n, sizeof *list, "ranks", error));
    for (int64_t i = 0; i < n; i++)
        if (!isnan(values[i]) && (other == NULL || !isnan(other[i])))
            list[used++] = (rer_ranked){values[i], i};
    rer_sort_ranked(list, used);
    *sorted = list;
    *count = used;
    return RER_OK;
}

/* One past the last item that is tied with the first. */
static int64_t end_of_tie(const rer_ranked *sorted, int64_t first, int64_t count)
{
    int64_t end = first + 1;
    while (end < count && sorted[end].value == sorted[first].value)
        end++;
    return end;
}

static rer_status rank_against(double *ranks, const double *values, const double *other, int64_t n, rer_error *error)
{
    rer_ranked *sorted = NULL;
    int64_t count = 0;
    RER_TRY(sort_values(&sorted, &count, values, other, n, error));
    for (int64_t i = 0; i < n; i++)
        ranks[i] = NAN;
    for (int64_t first = 0, end; first < count; first = end) {
        end = end_of_tie(sorted, first, count);
        for (int64_t i = first; i < end; i++)
            ranks[sorted[i].place] = (double)(first + 1 + end) / 2;
    }
    free(sorted);
    return RER_OK;
}

rer_status rer_ranks(double *ranks, const double *values, int64_t n, rer_error *error)
{
    return rank_against(ranks, values, NULL, n, error);
}

rer_line rer_fit_line(const double *x, const double *y, int64_t n)
{
    double mean_x = 0, mean_y = 0, xx = 0, yy = 0, xy = 0, count = 0;
    for (int64_t i = 0; i < n; i++)
        if (!isnan(x[i]) && !isnan(y[i])) {
            count++;
            mean_x += (x[i] - mean_x) / count;
            mean_y += (y[i] - mean_y) / count;
        }
    for (int64_t i = 0; i < n; i++)
        if (!isnan(x[i]) && !isnan(y[i])) {
            xx += (x[i] - mean_x) * (x[i] - mean_x);
            yy += (y[i] - mean_y) * (y[i] - mean_y);
            xy += (x[i] - mean_x) * (y[i] - mean_y);
        }
    if (count < 2 || !(xx > 0))
        return (rer_line){NAN, NAN, NAN};
    double slope = xy / xx;
    return (rer_line){slope, mean_y - slope * mean_x, yy > 0 ? xy / sqrt(xx * yy) : NAN};
}

double rer_pearson(const double *a, const double *b, int64_t n)
{
    return rer_fit_line(a, b, n).pearson;
}

rer_status rer_spearman(double *rho, const double *a, const double *b, int64_t n, rer_error *error)
{
    double *ranks_a = NULL, *ranks_b = NULL;
    rer_status status = rer_allocate(&ranks_a, n, sizeof *ranks_a, "ranks", error);
    RER_THEN(status, rer_allocate(&ranks_b, n, sizeof *ranks_b, "ranks", error));
    RER_THEN(status, rank_against(ranks_a, a, b, n, error));
    RER_THEN(status, rank_against(ranks_b, b, a, n, error));
    if (status == RER_OK)
        *rho = rer_pearson(ranks_a, ranks_b, n);
    RER_FREE_ALL(ranks_a, ranks_b);
    return status;
}

/* Gain of `truth` in the descending order of the sorted list; low and width scale it to 0..1. */
static double gain_of(const rer_ranked *sorted, int64_t count, const double *truth, double low, double width)
{
    double gain = 0;
    for (int64_t end = count, first; end > 0; end = first) { /* ties, from the largest score down */
        double tied = 0, discount = 0;
        first = end - 1;
        while (first > 0 && sorted[first - 1].value == sorted[end - 1].value)
            first--;
        for (int64_t i = first; i < end; i++) {
            tied += (truth[sorted[i].place] - low) / width;
            discount += 1 / log2((double)(count - i) + 1);
        }
        gain += tied / (double)(end - first) * discount;
    }
    return gain;
}

rer_status rer_ndcg(double *ndcg, const double *truth, const double *score, int64_t n, rer_error *error)
{
    rer_ranked *by_truth = NULL, *by_score = NULL;
    int64_t count = 0;
    rer_status status = sort_values(&by_truth, &count, truth, score, n, error);
    RER_THEN(status, sort_values(&by_score, &count, score, truth, n, error));
    *ndcg = NAN;
    if (status == RER_OK && count > 0) {
        double low = by_truth[0].value, width = by_truth[count - 1].value - low;
        if (width > 0)
            *ndcg = gain_of(by_score, count, truth, low, width) / gain_of(by_truth, count, truth, low, width);
    }
    RER_FREE_ALL(by_truth, by_score);
    return status;
}
