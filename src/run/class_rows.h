/* The rows of each class, for reconstructors that look at one class at a time. */
#pragma once

#include "run/run.h"

typedef struct rer_class_rows {
    int32_t C;
    int64_t *start; /* [C + 1]: class c has rows[start[c]] to rows[start[c + 1] - 1] */
    int64_t *rows;  /* [labelled], ascending within a class */
} rer_class_rows;

/* Labelled, valid rows by class. */
rer_status rer_class_rows_make(rer_class_rows *classes, const rer_run *run, rer_error *error);
/* A random order within each class: its prefix is a random subset. */
void rer_class_rows_shuffle(rer_class_rows *classes, int64_t seed);
void rer_class_rows_free(rer_class_rows *classes);

static inline int64_t rer_class_size(const rer_class_rows *classes, int32_t c)
{
    return classes->start[c + 1] - classes->start[c];
}

/* x [count, D]: the given rows, normalised (unit length too). Scratch as reading one row needs it. */
rer_status rer_gather_rows(float *x, const rer_run *run, const rer_normalizer *normalizer, const int64_t *rows,
                           int64_t count, void *scratch, rer_error *error);
