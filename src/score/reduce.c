/* From a row's errors to its part of the ratios:
 *   best = min over all classes, rest = mean over all classes but that one,
 *   chi0 = mean(own / rest), chi_rand = mean(best / rest). */
#include "score/reduce.h"

#include "run/result.h"

rer_row_errors rer_row_errors_none(void)
{
    return (rer_row_errors){.nearest = {INFINITY, INFINITY, -1, -1, 0}, .own = NAN};
}

void rer_row_errors_take(rer_row_errors *row, float *d2, int32_t first, int32_t classes, int32_t code,
                         const rer_kernels *kernels)
{
    if (code >= first && code < first + classes)
        row->own = d2[code - first];
    kernels->find_nearest(&row->nearest, d2, first, classes, code);
}

void rer_ratio_sums_add_row(rer_ratio_sums *sums, const rer_row_errors *row, int32_t C)
{
    if (isnan(row->own))
        return;
    double own = sqrt((double)row->own), other = sqrt((double)row->nearest.first);
    double second = C > 2 ? sqrt((double)row->nearest.second) : INFINITY;
    double best = own < other ? own : other;
    second = own < other ? other : own < second ? own : second;
    double rest = (row->nearest.sum - best) / (C - 1);
    sums->n++;
    sums->chi0 += rer_chi(own, rest);
    sums->chi_rand += rer_chi(best, rest);
    sums->own += own;
    sums->best += best;
    sums->second += second;
}

void rer_ratio_sums_add(rer_ratio_sums *sums, const rer_ratio_sums *more)
{
    sums->n += more->n;
    sums->chi0 += more->chi0;
    sums->chi_rand += more->chi_rand;
    sums->own += more->own;
    sums->best += more->best;
    sums->second += more->second;
}
