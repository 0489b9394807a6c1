/* k-means: groups of rows without labels. */
#pragma once

#include "core/pool.h"
#include "backend/backend.h"

/* Rows in memory, relative to their mean (so that no digits are lost to an offset). */
typedef struct rer_kmeans_rows {
    const float *x;       /* [n, D] */
    const double *square; /* [n] |x|^2 */
    int64_t n, D;
} rer_kmeans_rows;

/* Nearest center of each of `rows` rows: label [rows], d2 [rows]. centers [K, D], norm [K] |center|^2;
 * tile [rows, K] is scratch. */
void rer_kmeans_nearest(int32_t *label, float *d2, const rer_kmeans_rows *rows, int64_t first, int64_t count,
                        const float *centers, const float *norm, int64_t K, float *tile);
/* norm [K] of centers [K, D]. */
void rer_kmeans_norms(float *norm, const float *centers, int64_t K, int64_t D, const rer_kernels *kernels);

/* k-means++ and Lloyd's steps on rows in memory, from one random start; centers [K, D]. `key` tells the
 * streams of different starts apart. */
rer_status rer_kmeans_fit(float *centers, double *inertia, const rer_kmeans_rows *rows, int64_t K, int64_t seed,
                          uint64_t key, const rer_kernels *kernels, rer_error *error);

/* Mean log density of rows under the mixture of equal spheres around the centers, in the shares of the
 * rows `train` that are nearest to each and with their mean squared distance as variance:
 *   p(x) = sum_k share_k N(x; center_k, s^2 I),   s^2 = sum d2 / (n D). */
rer_status rer_kmeans_likelihood(double *likelihood, const rer_kmeans_rows *rows, const rer_kmeans_rows *train,
                                 const float *centers, int64_t K, const rer_kernels *kernels, rer_error *error);
