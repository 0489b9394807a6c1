/* How rows are scaled before anything is fitted (--normalize). */
#pragma once

#include "core/core.h"
#include "core/options.h"

/* Features of which the direction of a row alone says enough. At unit length one would be a bare sign, and a class near
 * the middle of a few is thrown to all sides: so few are measurements, whose size counts. Planted mistakes, AUROC at unit
 * length and as rows are: Gaussian classes of 4 features .963 and .990 (721 flagged and 299, where 300 are wrong), of 6
 * .972 and .990 (696 and 274), of 8 .994 and .999 (437 and 286), of 12 and more within .001; iris, standardised (4), .943
 * and .983; 4 principal components of CIFAR-10 .930 and .954. But unit length bears heavy tails: of 4 features with a
 * hundredth far off .944 and .890, of 8 lognormal ones .970 and .958; of wine's 13 in units of their own .96 and .87. */
#define RER_DIRECTED_LEAST 8

typedef struct rer_normalizer {
    rer_normalize kind;
    /* minmax: x -> (x - low) * factor, clipped to 0..1; factor 0 for a constant feature. NULL
     * until they are known, and for the other kinds. */
    double *low, *factor; /* [D] */
} rer_normalizer;

/* Scales a row in place where that is per feature; returns the factor still to be applied to the
 * whole row (1 / length for unit, and for whiten where there are enough features). */
double rer_normalize_row(const rer_normalizer *normalizer, float *x, int64_t D, double sum_squares);
rer_status rer_normalizer_set_range(rer_normalizer *normalizer, const float *low, const float *high, int64_t D,
                                    rer_error *error);
void rer_normalizer_free(rer_normalizer *normalizer);
