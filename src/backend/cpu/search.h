/* Searches that vectorise. */
#pragma once

#include <math.h>
#include <stdint.h>

static inline float smallest_of(const float *x, int64_t n)
{
    float smallest = INFINITY;
#pragma omp simd reduction(min : smallest)
    for (int64_t k = 0; k < n; k++)
        smallest = x[k] < smallest ? x[k] : smallest;
    return smallest;
}

/* The first place of `value` in x [n], 0 where it is not there: first which piece has it, then where. */
static inline int64_t place_of(float value, const float *x, int64_t n)
{
    enum { PIECE = 64 };
    int64_t at = 0;
    for (int found = 0; at + PIECE < n; at += PIECE) {
#pragma omp simd reduction(| : found)
        for (int k = 0; k < PIECE; k++)
            found |= x[at + k] == value;
        if (found)
            break;
    }
    while (at < n && x[at] != value)
        at++;
    return at < n ? at : 0;
}
