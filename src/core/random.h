/* Counter-based random numbers: the value depends on (seed, purpose, a, b) alone, so the same
 * stream comes out at any number of threads. */
#pragma once

#include <Random123/philox.h>
#include <stdint.h>

/* A card draws the same numbers. */
#ifdef __CUDACC__
#define RER_ANYWHERE __device__
#else
#define RER_ANYWHERE
#endif

typedef enum rer_purpose {
    RER_RANDOM_SAMPLE = 1,
    RER_RANDOM_FOLD,
    RER_RANDOM_SUBSET,
    RER_RANDOM_WEIGHTS,
    RER_RANDOM_EDGES,
    RER_RANDOM_NEGATIVES,
    RER_RANDOM_DROPOUT,
    RER_RANDOM_BOOTSTRAP,
    RER_RANDOM_CENTERS,        /* first centers of k-means */
    RER_RANDOM_FLIP,           /* another label for each row */
    RER_RANDOM_WITNESS,        /* rows of a large class that others are compared with */
    RER_RANDOM_NOISE_ROW = 32, /* which labels become wrong */
    RER_RANDOM_NOISE_CLASS,    /* and what they become */
    RER_RANDOM_ROUND = 48,     /* rows that take part in a vote */
    RER_RANDOM_TRIPLES,        /* and in a consensus */
    RER_RANDOM_EXAMPLE = 56,   /* which rows are shown as examples */
} rer_purpose;

/* 64 random bits. */
static inline RER_ANYWHERE uint64_t rer_random_bits(int64_t seed, rer_purpose purpose, uint64_t a, uint64_t b)
{
    philox4x32_ctr_t counter = {{(uint32_t)a, (uint32_t)(a >> 32), (uint32_t)b, (uint32_t)(b >> 32)}};
    philox4x32_key_t key = {{(uint32_t)seed ^ ((uint32_t)purpose * 0x9E3779B9u), (uint32_t)((uint64_t)seed >> 32)}};
    philox4x32_ctr_t out = philox4x32(counter, key);
    return (uint64_t)out.v[1] << 32 | out.v[0];
}

/* Uniform in [0, 1). */
static inline RER_ANYWHERE double rer_random_uniform(int64_t seed, rer_purpose purpose, uint64_t a, uint64_t b)
{
    return (double)(rer_random_bits(seed, purpose, a, b) >> 11) * 0x1p-53;
}

/* Fisher and Yates: a random order of rows [n], from the order that they have. */
static inline RER_ANYWHERE void rer_random_shuffle(int64_t *rows, int64_t n, int64_t seed, rer_purpose purpose,
                                                   uint64_t key)
{
    for (int64_t i = n - 1; i > 0; i--) {
        double u = rer_random_uniform(seed, purpose, key, (uint64_t)i);
        int64_t j = (int64_t)(u * (double)(i + 1)), kept = rows[i];
        rows[i] = rows[j];
        rows[j] = kept;
    }
}
