/* Every pair of blocks of rows once, as products A B' that come a tile at a time. */
#pragma once

#include "detect/features.h"

typedef struct rer_pairs {
    rer_features features; /* rows of unit length */
    int64_t blocks;
    float *half; /* [N] half the squared length; infinite for rows that take no part */
} rer_pairs;

/* rows of block i from row a on, with those of block j, from row b on. */
typedef struct rer_pair_tile {
    int64_t i, j, a, b;
    int64_t rows, columns;
    const float *x, *y;   /* [rows, D], [columns, D] */
    const float *product; /* [rows, columns] */
} rer_pair_tile;

/* What is done with them. Pairs that are worked on at the same time share no block, as far as that can be. */
typedef struct rer_sweep {
    const char *stage; /* for progress */
    double from, to;
    int64_t own_bytes;                              /* scratch of the caller's own for one pair of blocks, */
    void (*begin)(void *own, int64_t i, int64_t j); /* made ready by this (may be NULL), */
    void (*take)(void *context, void *own, const rer_pair_tile *tile);
    rer_pool_step *commit; /* and left at the start of the scratch; in order; may be NULL */
    void *context;
} rer_sweep;

/* Rows around their mean where `centred`; takes_part says which of the valid rows do, NULL: all. */
rer_status rer_pairs_open(rer_pairs *pairs, const rer_run *run, bool centred,
                          bool (*takes_part)(const rer_run *run, int64_t row), rer_error *error);
rer_status rer_pairs_sweep(const rer_pairs *pairs, const rer_sweep *sweep, rer_error *error);
void rer_pairs_close(rer_pairs *pairs);
