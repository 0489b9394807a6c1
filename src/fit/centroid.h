/* centroid: a class is its mean, errors are taken in the metric of the pooled within-class
 * covariance, and every row is scored by the model without it, in closed form. See centroid.c. */
#pragma once

#include "fit/groups.h"

/* Up to this many classes their distances to each other are kept, [C, C]; above, they are made
 * for each block. */
#define RER_CENTROID_PAIRS_MAX 2048

typedef struct rer_centroid {
    int64_t D;
    int64_t columns; /* that the rows came with; D, but in their span */
    int32_t C;
    const double *mean;       /* [C, D] class means */
    const double *grand;      /* [D] mean of all rows: what unlabelled and new rows are compared from */
    const int64_t *n;         /* [C] */
    double *root;             /* [D, D] lower: S_a^-1 = root' root; NULL: the metric is the identity */
    double weight;            /* (1 - a) / dof: what a row adds to S_a; 0 with the identity */
    const rer_groups *groups; /* NULL: each row is left out alone */
    bool in_sample;           /* rows are scored as they are, by a model that has seen them */
    /* For scoring, in the one precision that is used: */
    bool in_double;
    bool rough;      /* root_real was made in float, and root (where there are groups) of it: to choose a by */
    void *root_real; /* [D, D] root in that precision (in double: root itself) */
    void *u;         /* [C + 1, D] (mu_k - grand) in the metric; row C is zero, the grand mean */
    void *norm;      /* [C] |u_k|^2 */
    void *pairs;     /* [C, C] |u_c - u_k|^2, or NULL past RER_CENTROID_PAIRS_MAX */
    /* Until there are pairs: */
    double *exact_u, *exact_norm; /* u and norm in double */
} rer_centroid;

/* Makes the metric of shrinkage a from the scatter (lower triangle, dof = rows - classes), or the
 * identity where scatter is NULL, and all that scoring needs. mean, grand, n, C, D are set. By all threads where there is
 * a pool. */
rer_status rer_centroid_set_metric(rer_centroid *centroid, const double *scatter, double dof, double a, rer_pool *pool,
                                   rer_error *error);
/* The same, rough where it can be: half the time; and all but the pairs, which follow. */
rer_status rer_centroid_set_rough_metric(rer_centroid *centroid, const double *scatter, double dof, double a,
                                         rer_error *error);
/* The pairs of several. */
rer_status rer_centroid_set_pairs(rer_centroid *centroids, int count, rer_pool *pool, rer_error *error);
void rer_centroid_clear(rer_centroid *centroid); /* frees what set_metric made */

/* Left-out squared errors of a block, in the precision of in_double:
 * prepare once a block, then tiles of at most RER_CLASS_TILE classes, d2 [count, classes]. */
int64_t rer_centroid_scratch(const rer_centroid *centroid, int64_t rows);
void rer_centroid_prepare(const rer_centroid *centroid, const rer_kernels *kernels, const rer_block *block,
                          bool left_out, rer_scratch scratch);
/* What one row brings to all its classes. */
typedef struct rer_row_terms {
    double own, h_own; /* |T|^2, T.u_c */
    double gain;       /* beta / den, 0 where nothing is left out */
    double own_error;  /* left-out squared error under its own class */
    int32_t reference; /* its class, or C for the grand mean */
    int32_t cell;      /* its group's rows of its class, -1: left out alone */
} rer_row_terms;

/* What prepare has left in `scratch`, for others that work in the same metric. */
typedef struct rer_centroid_rows {
    const void *t;              /* [rows, D] residuals to the row's class mean in the metric, float or double */
    const rer_row_terms *terms; /* [rows] */
} rer_centroid_rows;
rer_centroid_rows rer_centroid_prepared(const rer_centroid *centroid, int64_t rows, rer_scratch scratch);
/* beta / den of a row of class c with |T|^2 = own, left out. */
double rer_centroid_gain(const rer_centroid *centroid, int32_t c, double own);

void rer_centroid_tile(const rer_centroid *centroid, const rer_kernels *kernels, const rer_block *block, int32_t first,
                       int32_t classes, float *d2, rer_scratch scratch);
/* The double build's own values, before they are rounded to float (in_double only). */
void rer_centroid_tile_f64(const rer_centroid *centroid, const rer_kernels *kernels, const rer_block *block,
                           int32_t first, int32_t classes, double *d2, rer_scratch scratch);

/* The shrinkage that explains the labels seen best (select.c); the centroid gets its metric. */
rer_status rer_centroid_choose(double *shrinkage, rer_centroid *centroid, const double *scatter, double dof,
                               const rer_row_sample *sample, const rer_run *run, rer_error *error);
/* Sampled rows that it is chosen by. */
int64_t rer_centroid_choice_rows(int64_t sampled, const rer_run *run);

/* The centroid model as a reconstructor's functions; published shares all but the means: `adjust`
 * (or NULL) replaces them after the first pass, and nothing is left out then. */
typedef rer_status rer_adjust_means(rer_class_moments *moments, const rer_normalizer *normalizer, const rer_run *run,
                                    rer_error *error);
rer_status rer_centroid_fit(rer_model *model, rer_row_sample *sample, const rer_run *run, rer_adjust_means *adjust,
                            rer_error *error);
int64_t rer_centroid_model_scratch(const rer_model *model, int64_t rows);
void rer_centroid_model_prepare(const rer_model *model, const rer_run *run, const rer_block *block, bool left_out,
                                rer_scratch scratch);
void rer_centroid_model_errors(const rer_model *model, const rer_run *run, const rer_block *block, int32_t first,
                               int32_t classes, float *d2, rer_scratch scratch);
void rer_centroid_model_save(const rer_model *model, rer_tensors *tensors);
rer_status rer_centroid_model_load(rer_model *model, rer_tensors *tensors, rer_error *error);
void rer_centroid_model_free(void *state);
rer_centroid *rer_centroid_of(void *state); /* the centroid in a state of the functions above */
