/* Difficulty in detail: what rer_result_detail keeps with a result. */
#pragma once

#include "run/result.h"

#define RER_BINS 100
#define RER_PAIRS_DETAILED 20
enum { RER_OWN, RER_OTHERS, RER_SIDES };

typedef struct rer_details {
    int32_t C, G;          /* classes, subsets */
    rer_portion *portions; /* [1 + C + G]: whole, classes, subsets */
    int64_t *counts;       /* [1 + C + G, RER_SIDES, RER_BINS] histograms of errors from low to high */
    char **subset_names;   /* [G] owned */
    rer_pair_detail pairs[RER_PAIRS_DETAILED];
    int n_pairs;
} rer_details;

void rer_details_free(rer_details *details);
/* rer_result_extremes, for callers with an error of their own that must stay. */
rer_status rer_extremes(const rer_result *result, bool hardest, int64_t count, int64_t *rows, int64_t *found,
                        rer_error *error);

static inline int64_t rer_portion_place(const rer_details *details, rer_portion_kind kind, int32_t index)
{
    return kind == RER_WHOLE ? 0 : kind == RER_BY_CLASS ? 1 + index : 1 + details->C + index;
}

static inline const int64_t *rer_portion_counts(const rer_details *details, int64_t place, int side)
{
    return details->counts + (place * RER_SIDES + side) * RER_BINS;
}
