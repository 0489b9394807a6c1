/* Numbers in order, and what follows from it; and the logistic function. */
#pragma once

#include "core/core.h"

/* Ascending; n may be 0. */
void rer_sort_floats(float *values, int64_t n);
void rer_sort_doubles(double *values, int64_t n);

/* The same of whole numbers up to `most`, by their digits; `work` [n]. */
void rer_sort_keys(uint64_t *keys, int64_t n, uint64_t most, uint64_t *work);

typedef struct rer_ranked {
    double value;
    int64_t place;
} rer_ranked;
/* Ascending by value, and by place where values are equal. */
void rer_sort_ranked(rer_ranked *list, int64_t n);

/* Of sorted [n], n > 0, at share 0..1: linear between the values, as numpy does it. */
double rer_percentile(const double *sorted, int64_t n, double share);

/* The value with no more than a share 1 - `share` of all weight above it, but for the largest, which is above all others.
 * values [n] with weights [n], n > 0; `work` [n]. */
float rer_weighted_percentile(const float *values, const float *weights, int64_t n, double share, rer_ranked *work);

static inline double rer_logistic(double x)
{
    return 1 / (1 + exp(-x));
}
