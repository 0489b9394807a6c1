/* How far two lists of numbers agree. Pairs with a NaN in them do not count. */
#pragma once

#include "core/core.h"

/* ranks [n] 1..n in ascending order, the mean of their places for ties; NaN stays NaN. */
rer_status rer_ranks(double *ranks, const double *values, int64_t n, rer_error *error);
/* NaN for fewer than two pairs, or where one list is constant. */
double rer_pearson(const double *a, const double *b, int64_t n);
rer_status rer_spearman(double *rho, const double *a, const double *b, int64_t n, rer_error *error);
/* Discounted cumulative gain of `truth` (min-max scaled) in the descending order of `score`, relative to
 * that of its own order; tied scores share their gains. NaN where the truth is constant. */
rer_status rer_ndcg(double *ndcg, const double *truth, const double *score, int64_t n, rer_error *error);

typedef struct rer_line { /* y = slope x + intercept by least squares */
    double slope, intercept, pearson;
} rer_line;
rer_line rer_fit_line(const double *x, const double *y, int64_t n);
