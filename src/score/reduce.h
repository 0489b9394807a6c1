/* A row's errors under all classes, reduced as they come to what the ratios need. */
#pragma once

#include "backend/backend.h"
#include "run/scores.h"

typedef struct rer_row_errors {
    rer_nearest nearest; /* of the classes other than its own; the sum is over all */
    float own;           /* squared own error, NaN: missing */
} rer_row_errors;

rer_row_errors rer_row_errors_none(void);
/* Takes the squared errors d2 [classes] of classes first.. in; code: the row's class, or negative.
 * d2 is changed for a moment and restored. */
void rer_row_errors_take(rer_row_errors *row, float *d2, int32_t first, int32_t classes, int32_t code,
                         const rer_kernels *kernels);

/* Adds a row whose errors under all C classes have been taken in; none without an own error. */
void rer_ratio_sums_add_row(rer_ratio_sums *sums, const rer_row_errors *row, int32_t C);
void rer_ratio_sums_add(rer_ratio_sums *sums, const rer_ratio_sums *more);
