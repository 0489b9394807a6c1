/* subspace: a class is its mean and the first principal directions around it, in the centroid's
 * metric. See subspace.c. */
#pragma once

#include "fit/centroid.h"
#include "fit/real.h"

/* Tables over pairs of classes are kept up to this many values; above, they are made for each block. */
#define RER_SUBSPACE_TABLE_MAX (1 << 25)

/* Coordinates are those of the metric, from the grand mean. u_c is the mean of all rows of class c,
 * w_k that of the rows which class k was fitted on: the same unless only some are asked for. */
typedef struct rer_subspace {
    int64_t D;
    int32_t C, rank;
    void *metric;      /* state of the centroid's functions: metric, class means, sizes */
    double *reference; /* [C + 1, D] u_c; row C is zero, the grand mean */
    double *center;    /* [C, D] w_k */
    void *basis;       /* [rank, C, D] V: direction j of all classes lies together; zeros where a class has fewer */
    float *own;        /* [N] squared own-class errors of the rows fitted on, NaN: none; NULL in a loaded model */
    /* For scoring, in the metric's precision like the basis: */
    void *center_real; /* [C, D] (in double: center itself) */
    void *center_norm; /* [C] |w_k|^2 */
    void *lift;        /* [rank, C] V_jk . w_k */
    void *pair_norm;   /* [C + 1, C] |u_c - w_k|^2, or NULL past RER_SUBSPACE_TABLE_MAX */
    void *pair_shift;  /* [rank, C + 1, C] V_jk . (u_c - w_k), likewise */
} rer_subspace;

static inline const rer_real *rer_subspace_real(const rer_subspace *subspace)
{
    return rer_real_of(rer_centroid_of(subspace->metric)->in_double);
}

/* directions.c. Fits every class with ranks[count - 1] directions (ascending), and every fold:
 * center and basis are allocated; own [N, count] gets the own errors at each of the ranks. */
rer_status rer_subspace_fit_classes(rer_subspace *subspace, float *own, const int32_t *ranks, int count,
                                    const rer_normalizer *normalizer, const rer_run *run, rer_error *error);

/* tables.c. `reference` from the metric, and what scoring needs from center and basis. */
rer_status rer_subspace_set_reference(rer_subspace *subspace, rer_error *error);
rer_status rer_subspace_finish(rer_subspace *subspace, rer_error *error);
void rer_subspace_clear_tables(rer_subspace *subspace); /* frees what finish made */

/* rows.c: the functions of the reconstructor (fit/model.h). */
int64_t rer_subspace_scratch(const rer_model *model, int64_t rows);
void rer_subspace_prepare(const rer_model *model, const rer_run *run, const rer_block *block, bool left_out,
                          rer_scratch scratch);
void rer_subspace_errors(const rer_model *model, const rer_run *run, const rer_block *block, int32_t first,
                         int32_t classes, float *d2, rer_scratch scratch);
