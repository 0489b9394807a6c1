/* Class sums and, around the class means, the within-class scatter: two passes over the data. */
#pragma once

#include "fit/row_sample.h"

typedef struct rer_class_moments {
    int64_t *n;    /* [C] */
    double *mean;  /* [C, D] */
    double *grand; /* [D] mean of all labelled rows */
    double *unit;  /* [D] powers of two: W_jk < unit_j unit_k */
    int64_t labelled;
    double spread;  /* mean squared length of the residuals */
    bool all_equal; /* every labelled row is the same */
} rer_class_moments;

/* Sums of the labelled rows of any number of blocks, which may be merged in any order: the pairs
 * sum + rest hold what the sums round off. */
typedef struct rer_class_sums {
    int32_t C;
    int64_t D;
    int64_t *n;                   /* [C] */
    double *sum, *rest;           /* [C, D] */
    double *square, *square_rest; /* [D] of squares, over all classes */
    float *low, *high;            /* [D] range of the features, NULL unless minmax */
    float *first_row;             /* [D] a labelled one, to see whether all are equal */
    int64_t labelled;
    bool all_equal;
} rer_class_sums;

rer_status rer_class_sums_make(rer_class_sums *sums, int32_t C, int64_t D, bool ranges, rer_error *error);
rer_status rer_class_sums_add(rer_class_sums *sums, const rer_normalizer *normalizer, const rer_run *run,
                              rer_error *error);
void rer_class_sums_merge(rer_class_sums *sums, const rer_class_sums *more, const rer_kernels *kernels);
void rer_class_sums_free(rer_class_sums *sums);

/* Pass 1: counts, class means and feature ranges (minmax) of the labelled rows. */
rer_status rer_class_means(rer_class_moments *moments, rer_normalizer *normalizer, const rer_run *run,
                           rer_error *error);

/* Whether the classes can be told apart at all: two of them, one with two samples, rows that differ. */
rer_status rer_check_classes(const rer_class_moments *moments, const rer_run *run, rer_error *error);

/* Pass 2: scatter [D, D] (lower triangle) = sum of r r', r the residuals of labelled rows; NULL
 * leaves that out and only fills the sample's rows. */
rer_status rer_within_scatter(double *scatter, rer_row_sample *sample, const rer_class_moments *moments,
                              const rer_normalizer *normalizer, const rer_run *run, rer_error *error);

/* The same over the rows that are here. */
rer_status rer_scatter_add(double *scatter, rer_row_sample *sample, const rer_class_moments *moments,
                           const rer_normalizer *normalizer, const rer_run *run, rer_error *error);

void rer_class_moments_free(rer_class_moments *moments);
