/* Squared errors of a block of rows under the subspace model, in float or double.
 *
 * With T, own = |T|^2, h_c = T.u_c, gain of fit/centroid_rows.c, and for class k
 *   v = T + u_c - w_k        v^2 = own + 2 (h_c - T.w_k) + |u_c - w_k|^2      v.T = own + h_c - T.w_k
 *   q_j = V_jk T             p_j = q_j + V_jk (u_c - w_k)
 *   e^2 = v^2 - sum p_j^2    e.T = v.T - sum p_j q_j                          d2_k = e^2 + gain (e.T)^2
 * so a tile of classes is one product with their w and one with each of their directions. The own
 * class of a row that was fitted on has its error already (directions.c).
 *
 * e^2 loses digits where it is much smaller than the terms it is the difference of: such entries
 * are recomputed from v itself and, where T in float is too coarse, from the row. */
#include "fit/subspace/subspace.h"

#include <math.h>
#include <string.h>

/* As in fit/centroid_rows.c: below this share of its terms an entry from T in float is too coarse. */
#define FLOAT_TOO_COARSE 1e-3

/* v [D] of row i of the block for class k from the row itself, in double. */
static void load_difference(double *v, const rer_subspace *subspace, const rer_kernels *kernels, const rer_block *block,
                            int64_t i, int32_t k)
{
    const rer_centroid *centroid = rer_centroid_of(subspace->metric);
    int64_t D = subspace->D;
    kernels->residual_f64(v, block->x + i * D, block->scale[i], centroid->grand, D);
    if (centroid->root != NULL)
        rer_multiply_triangle_f64(v, centroid->root, 1, D);
    for (int64_t d = 0; d < D; d++)
        v[d] -= subspace->center[k * D + d];
}

static int64_t tile_classes(const rer_subspace *subspace)
{
    return rer_min(RER_CLASS_TILE, subspace->C);
}

#define REAL float
#define REAL_NAME(name) name##_f32
#include "fit/subspace/rows.inc"
#undef REAL
#undef REAL_NAME
#define REAL double
#define REAL_NAME(name) name##_f64
#include "fit/subspace/rows.inc"
#undef REAL
#undef REAL_NAME

static bool in_double(const rer_subspace *subspace)
{
    return rer_centroid_of(subspace->metric)->in_double;
}

int64_t rer_subspace_scratch(const rer_model *model, int64_t rows)
{
    const rer_subspace *subspace = model->state;
    rer_scratch measure = {0};
    if (in_double(subspace))
        (void)lay_out_f64(subspace, rows, &measure);
    else
        (void)lay_out_f32(subspace, rows, &measure);
    return measure.used;
}

void rer_subspace_prepare(const rer_model *model, const rer_run *run, const rer_block *block, bool left_out,
                          rer_scratch scratch)
{
    const rer_subspace *subspace = model->state;
    if (in_double(subspace))
        prepare_f64(subspace, run->kernels, block, left_out, scratch);
    else
        prepare_f32(subspace, run->kernels, block, left_out, scratch);
}

void rer_subspace_errors(const rer_model *model, const rer_run *run, const rer_block *block, int32_t first,
                         int32_t classes, float *d2, rer_scratch scratch)
{
    const rer_subspace *subspace = model->state;
    if (in_double(subspace))
        tile_f64(subspace, run->kernels, block, first, classes, d2, scratch);
    else
        tile_f32(subspace, run->kernels, block, first, classes, d2, scratch);
}
