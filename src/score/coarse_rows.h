/* Rows of unit length in eight bits, to pass over those that are too far from a row without computing how far.
 * The products that count are computed in float: what is found does not depend on this. */
#pragma once

#include "run/run.h"

#define RER_COARSE_CHUNK 1024 /* rows that bounds are computed for at a time, whole packs */

typedef struct rer_coarse_rows {
    const rer_coarse_kernels *kernels; /* NULL: not on this processor, and nothing below */
    int64_t D, bytes;                  /* of a row */
    int64_t count;                     /* asking rows */
    uint8_t *asking;                   /* [count, bytes] */
    rer_coarse_scale *scale;           /* [count] */
    int8_t *packed;                    /* [rows / RER_COARSE_ROWS] packs of the rows loaded */
    int32_t *start;                    /* [rows] */
    float *unit, *error;               /* [rows] */
} rer_coarse_rows;

/* Takes the asking rows x [count, D], with room for `rows` others; the run has come as far as `at`. */
rer_status rer_coarse_make(rer_coarse_rows *coarse, const float *x, int64_t count, int64_t D, int64_t rows,
                           const rer_run *run, double at, rer_error *error);
/* Takes the rows x[order[0 .. n - 1]]. */
rer_status rer_coarse_load(rer_coarse_rows *coarse, const float *x, const int32_t *order, int64_t n, const rer_run *run,
                           double at, rer_error *error);
void rer_coarse_free(rer_coarse_rows *coarse);

/* most [RER_COARSE_ROWS, RER_COARSE_CHUNK]: bounds of the products of some asking rows with n rows from `first` on, both
 * whole packs. */
void rer_coarse_bounds(const rer_coarse_rows *coarse, float *most, const int64_t *asking, int64_t first, int64_t n);
/* Where the bound of a product is lower than this, the product in float is lower than `bar`. */
float rer_coarse_bar(const rer_coarse_rows *coarse, float bar);
