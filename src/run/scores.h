/* What scoring leaves of each row, O(N), and of all together. */
#pragma once

#include "core/core.h"

#define RER_LIKELY_OTHERS (RER_LIKELY - 1) /* classes other than the label that are kept of a row */

/* Each [N]. Only own, other and nearest are always there. */
typedef struct rer_scores {
    float *own;       /* own error, NaN: missing */
    float *other;     /* best other error, NaN: invalid row */
    int32_t *nearest; /* class of that; -1: invalid row */
    float *logit;   /* log odds that the row's label, the given one or else the likeliest class, is wrong; NaN: none */
    float *margin;  /* best error - mean of the others; NaN: none */
    float *removed; /* the same without the best class */
    int32_t *proposed; /* likeliest class other than the label, by the channel; -1: invalid row */
    float *flipped;    /* ratio that a random other label would have, NaN: none */
} rer_scores;

/* Sums over the rows that have a label and an own error; rest: mean error over all classes but the best one. */
typedef struct rer_ratio_sums {
    int64_t n;
    double chi0, chi_rand; /* sums of own / rest and best / rest */
    double own, best, second;
} rer_ratio_sums;
