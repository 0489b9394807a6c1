/* A row and its noise channel by the formulas of channel/channel.c, written out plainly in double. */
#pragma once

#include "every_kernel.h"

#define MOST 130
#define DRAWS 60

static const int32_t sizes[] = {2, 3, 10, 17, 100};
#define SIZES (int)(sizeof sizes / sizeof *sizes)

/* A row and its channel, in double. */
typedef struct plain_row {
    int32_t n, code;
    double z[MOST];
    double rate[MOST]; /* A_kc of its label, from each class; its own: the label is right */
    double lambda, blur, likeness;
} plain_row;

typedef struct plain_parts {
    double p[MOST], b[MOST], G, q, right; /* right: P(c and right) */
} plain_parts;

double without(const double *p, int32_t n, int32_t k); /* 1 - p_k as a sum, so that nothing cancels */
plain_parts plain(const plain_row *row);
/* spread: how far the scores of a row are apart. best: whether the label is its best class. */
plain_row draw_row(int32_t n, double spread, bool best, bool rates, uint64_t *seed);
/* Scores from close together to so far apart that the best class has nearly everything. */
void for_each_row(void (*check)(plain_row *row, const rer_kernels *kernels, bool with_rates));
