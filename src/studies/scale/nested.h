/* Errors of all rows under the class means of nested subsets, in the metric of the whole data. */
#pragma once

#include "fit/model.h"
#include "score/reduce.h"

#define RER_NESTED_MAX 16

/* Row i belongs to the subset of size sizes[s] where place[i] < sizes[s]. */
typedef struct rer_nested {
    int count;
    int64_t sizes[RER_NESTED_MAX]; /* ascending */
    const int64_t *place;          /* [N] of a row in a random order of its class */
} rer_nested;

typedef struct rer_nested_sums {
    rer_ratio_sums ratios;
    double chi;    /* sum of own / best other */
    int64_t wrong; /* rows whose nearest class is not the given one */
} rer_nested_sums;

/* `whole`: a centroid model of all rows. A row is left out of the metric and, where it belongs to the
 * subset, of its class mean. sums [count]. */
rer_status rer_score_nested(rer_nested_sums *sums, const rer_nested *nested, const rer_model *whole, const rer_run *run,
                            rer_error *error);
