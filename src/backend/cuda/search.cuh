/* Rows of unit length that are searched among by products in half precision (neighbors.cu, copies.cu). What is multiplied
 * are the rows around their mean, so that an offset that all share costs no digits, in units of the longest of these.
 * How far a product may be from the right one is known; what is decided is measured again in double. */
#pragma once

#include "backend/cuda/card.cuh"

#include <cuda_fp16.h>

#define WARP 32
#define THREADS 256
#define SEARCH_PARTS 2 /* of the rows that ask, each with a stream: one multiplies while the other looks */
#define SEARCH_CANDIDATES WARP
#define AT_ONCE 8           /* products that a thread reads */
#define LEAST_FLOAT 2.4e-7f /* relative: no two floats of a distance are nearer */

struct Search {
    Rows rows;
    const uint8_t *among;  /* [N] */
    __half *x;             /* [padded, depth] */
    double *scale;         /* [N] that makes a row one of unit length */
    double *square;        /* [N] squared length of that, as floats */
    double *mean;          /* [D] of these */
    double *around;        /* [N] squared length around the mean, in units of the longest */
    float *half;           /* [padded] half of it, INFINITY: not searched among */
    float *lost;           /* [N] length of what rounding to half precision took, ... */
    float *most_lost;      /* [1] ... and the most of all */
    float *longest;        /* [1] around the mean */
    __half *asked;         /* [RER_DEVICE_ASKING, depth] rows that ask */
    __half *product;       /* [SEARCH_PARTS, rows of a part, tile] or floats */
    int64_t *asking;       /* [RER_DEVICE_ASKING] their numbers */
    rer_neighbor *nearest; /* [RER_DEVICE_ASKING, SEARCH_CANDIDATES] by half |b|^2 - a b, or by distance */
    rer_neighbor *list;    /* [RER_DEVICE_ASKING, RER_DEVICE_LISTED] */
    uint8_t *unsure;       /* [RER_DEVICE_ASKING] */
    int32_t *group;        /* [N] towards the first row of a row's group */
    int64_t N, D, depth, tile, padded;
};

struct Searching {
    Search on;
    Moment moment;
    cudaStream_t stream[SEARCH_PARTS];
    bool streams;
};

/* product [rows, tile] of rows of halves with those of the tile that begins at `column`. */
void multiply_tile(Card *card, const Search *s, __half *product, const __half *rows, int64_t count, int64_t column,
                   cudaStream_t stream);

static inline unsigned warps_for(int64_t rows)
{
    return blocks_for(rows, THREADS / WARP);
}

static __device__ inline float unit_at(const Search &s, int64_t row, int64_t j)
{
    double scale = s.scale[row];
    return scale > 0 ? (float)(scale * (double)s.rows.x[row * s.D + j]) : 0;
}

/* How far the product of a row and another, and half the other's square, may be from what they are in double. */
static __device__ inline double error_bound(const Search &s, int64_t row)
{
    double own = (double)s.lost[row], other = (double)*s.most_lost;
    double rounded = 1.001 * (own + other) + own * other, added = (double)s.D / (1 << 22), stored = 1.0 / (1 << 12);
    return rounded + added + stored + 1e-6;
}

/* half |b|^2 - a b of AT_ONCE rows b. */
static __device__ inline void read_keys(float keys[AT_ONCE], const __half *product, const float *half)
{
    uint4 bits = *(const uint4 *)product;
    const __half2 *pairs = (const __half2 *)&bits;
    float4 low = *(const float4 *)half, high = *(const float4 *)(half + 4);
    const float halves[AT_ONCE] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
    for (int e = 0; e < AT_ONCE; e += 2) {
        float2 both = __half22float2(pairs[e / 2]);
        keys[e] = halves[e] - both.x;
        keys[e + 1] = halves[e + 1] - both.y;
    }
}
