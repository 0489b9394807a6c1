/* The rows of a stretch, by class, and who asks for them: see near_rows.c. */
#pragma once

#include "score/coarse_rows.h"
#include "score/near_rows.h"

/* Some of those that ask for a class. */
typedef struct rer_near_item {
    int32_t class;
    int64_t first, end; /* of the class's places in `asked` */
} rer_near_item;

typedef struct rer_stretch {
    rer_near *near;
    const rer_run *run;
    int64_t *ask_start; /* [C + 1] of each class in ... */
    int64_t *asked;     /* ... query * slots + slot */
    float *bar;         /* and the products below which rows are too far for both lists of that place */
    float *x;           /* [rows, D] values of the stretch, */
    int32_t *row;       /* [rows] rows, */
    bool *doubted;      /* [rows] marks, */
    int32_t *code;      /* [rows] and classes, -1: invalid after all */
    int64_t *start;     /* [C + 1] of each class in ... */
    int32_t *order;     /* ... places in x */
    rer_near_item *items;
    int64_t n_items, capacity;
    rer_coarse_rows coarse; /* of the stretch, in `order` */
    int64_t scratch;        /* of an item */
} rer_stretch;

/* Offers the first `rows` rows to those that ask for their classes; progress goes from `from` to `to`. */
rer_status rer_stretch_compare(rer_stretch *stretch, int64_t rows, double from, double to, rer_error *error);
