/* How rows are scaled before anything is fitted (--normalize). */
#pragma once

#include "core/core.h"
#include "core/options.h"

typedef struct rer_normalizer {
    rer_normalize kind;
    /* minmax: x -> (x - low) * factor, clipped to 0..1; factor 0 for a constant feature. NULL
     * until they are known, and for the other kinds. */
    double *low, *factor; /* [D] */
} rer_normalizer;

/* Scales a row in place where that is per feature; returns the factor still to be applied to the
 * whole row (1 / length for unit and whiten). */
double rer_normalize_row(const rer_normalizer *normalizer, float *x, int64_t D, double sum_squares);
rer_status rer_normalizer_set_range(rer_normalizer *normalizer, const float *low, const float *high, int64_t D,
                                    rer_error *error);
void rer_normalizer_free(rer_normalizer *normalizer);
