/* Class probabilities of all rows, made block by block whenever they are needed: never C x N numbers
 * in memory. */
#pragma once

#include "core/scratch.h"

typedef struct rer_probability_block {
    int64_t count;
    int64_t first;      /* row of the input where rows is NULL: first, first + 1, ... */
    const int64_t *row; /* [count] rows of the input, or NULL */
    float *p;           /* [count, C], in scratch */
} rer_probability_block;

typedef struct rer_probabilities {
    const void *source;
    int32_t C;
    int64_t items;   /* blocks */
    int64_t scratch; /* bytes that one needs */
    rer_status (*block)(rer_probability_block *block, const void *source, int64_t item, rer_scratch scratch,
                        rer_error *error);
} rer_probabilities;

static inline int64_t rer_probability_row(const rer_probability_block *block, int64_t i)
{
    return block->row != NULL ? block->row[i] : block->first + i;
}
