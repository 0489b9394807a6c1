/* Networks that are trained side by side: what the parts of a training share. batch.cu has the rows of a step and its
 * losses, step.cu all of a step, train.cu what is before and after. */
#pragma once

#include "backend/cuda/networks.cuh"
#include "backend/cuda/product.cuh"
#include "core/random.h"

#include <cmath>

#define THREADS 128
#define WARP 32

/* How far a network is. */
struct Progress {
    int64_t steps, each; /* done; of a report */
    double sum, best, first_loss, last_loss, reconstruction, layout, total;
    int32_t reports, waited;
    int32_t finite;
};

struct Training {
    rer_device_training of;
    rer_network laid;
    int64_t B, D, Z, pieces;
    float *w, *m, *v;              /* [count, parameters] */
    const float *x;                /* rows of all networks */
    const int64_t *x_start;        /* [count] */
    const int32_t *head, *tail;    /* draws of all */
    const int64_t *draw_start;     /* [count + 1] */
    const uint64_t *key;           /* [count] */
    Progress *progress;            /* [count] */
    int32_t *active;               /* [items] network, below 0: it has ended */
    float *batch;                  /* [items, 2B, D] */
    float *out[RER_LAYERS_MAX];    /* [items, rows, width] */
    float *delta[RER_LAYERS_MAX];  /* gradients before the activations */
    float *d_code;                 /* [items, B, Z] */
    int32_t *negatives, *shuffled; /* [items, RER_NEGATIVES B] */
    double *pull;                  /* [items, (1 + RER_NEGATIVES) B] slope of each pair */
    double *square;                /* [items, B] of each head */
    double *penalty;               /* [count, pieces] sums of squared weights */
};

static inline bool is_hidden(const rer_network *shape, int l)
{
    return l != shape->encoder - 1 && l != shape->layers - 1;
}

static inline int64_t rows_of(const Training *t, int l)
{
    return l < t->laid.encoder ? 2 * t->B : t->B;
}

/* Sums of squared weights that the products of a layer leave. */
static inline int64_t pieces_of(const rer_network *laid, int l)
{
    return tiles_of(laid->width[l], laid->width[l + 1]) * PRODUCT_WARPS;
}

/* Sum over the block's threads, for the first of them, in one order. */
static __device__ inline double sum_in_order(double value)
{
    __shared__ double part[THREADS / WARP];
    value = sum_of_warp(value);
    __syncthreads();
    if (threadIdx.x % WARP == 0)
        part[threadIdx.x / WARP] = value;
    __syncthreads();
    value = 0;
    for (int i = 0; i < THREADS / WARP; i++)
        value += part[i];
    return value;
}

/* The rows of a step, and who is pushed away from whom. */
void fill_batches(Card *card, const Training *t, int64_t items, uint64_t step);
/* The losses, and the gradients of the last layer and of the codes. */
void find_losses(Card *card, const Training *t, int64_t items);
/* The heads' codes have a part in the reconstruction as well. */
void join_codes(Card *card, const Training *t, int64_t items);
void do_step(Card *card, const Training *t, int64_t items, uint64_t step);
