/* How errors are distributed, by class and by group of rows; and what pairs of classes would gain from
 * being one. Two passes over the data. */
#pragma once

#include "run/details.h"
#include "fit/model.h"

typedef struct rer_spread_sums {
    int64_t n;
    double sum, square; /* of errors */
    float low, high;
} rer_spread_sums;

/* Of the rows of a pair's two classes. */
typedef struct rer_pair_sums {
    int64_t n[2];       /* rows of a, of b */
    int64_t crossed[2]; /* nearer to the other one of the two */
    int64_t wrong, merged_wrong;
    double chi, merged_chi; /* sums; merged: the error of the two as one class is the smaller one's */
} rer_pair_sums;

typedef struct rer_spreads {
    rer_spread_sums *sums; /* [1 + C + G, RER_SIDES] */
    int64_t *counts;       /* [1 + C + G, RER_SIDES, RER_BINS], from each one's low to its high */
    rer_pair_sums *pairs;  /* [n_pairs] */
} rer_spreads;

/* `spreads` is filled; the caller has allocated (and zeroed) its arrays. Rows without an own error take
 * no part. subset [N]: of each row, -1: none; may be NULL. own [N]: their errors. */
rer_status rer_spreads_fill(rer_spreads *spreads, const rer_pair *pairs, int n_pairs, const int32_t *subset, int32_t G,
                            const float *own, const rer_model *model, const rer_run *run, rer_error *error);
