/* Left-out squared errors of a block of rows under the centroid model, in float or double.
 *
 * For a row x of class c with n = n_c (all in the metric S_a^-1 = root' root):
 *   T = (x - mu_c) root'          own = |T|^2        h_k = T . u_k      m_ck = |u_c - u_k|^2
 *   beta = (1 - a) / dof * n / (n - 1)               den = 1 - beta own
 *   d2_k = own + 2 (h_c - h_k) + m_ck                g_k = own + h_c - h_k
 * left out:  other classes  d2_k + g_k^2 beta / den,   own class  (n / (n - 1))^2 own / den.
 * Rows without a label and new rows have the grand mean (u = 0) in the place of mu_c; nothing is
 * left out of the model for them. A row alone in its class takes d2_k as it is; its own is NaN.
 *
 * The sums lose digits where x lies much nearer to mu_k than to mu_c; such entries are recomputed
 * from T + u_c - u_k directly and, where T in float is too coarse for that (mislabelled rows of
 * classes far apart), from the row itself in double. */
#include "fit/centroid.h"

#include <math.h>
#include <string.h>

/* 1 - beta own: > 0 in exact arithmetic; rounding may touch 0 where the row alone spans a direction. */
static double denominator(double beta, double own)
{
    double den = 1 - beta * own;
    return den > 1e-12 ? den : 1e-12;
}

double rer_centroid_gain(const rer_centroid *centroid, int32_t c, double own)
{
    double n = (double)centroid->n[c];
    if (centroid->in_sample || n < 2)
        return 0;
    double beta = centroid->weight * n / (n - 1);
    return beta / denominator(beta, own);
}

/* beta / den and the own-class error, all in double. */
static void leave_out(rer_row_terms *terms, const rer_centroid *centroid, int32_t c, bool left_out)
{
    terms->gain = 0;
    terms->own_error = terms->own;
    if (c < 0 || !left_out || centroid->in_sample)
        return;
    double n = (double)centroid->n[c];
    if (n < 2) {
        terms->own_error = NAN;
        return;
    }
    terms->gain = rer_centroid_gain(centroid, c, terms->own);
    terms->own_error =
        (n / (n - 1)) * (n / (n - 1)) * terms->own / denominator(centroid->weight * n / (n - 1), terms->own);
}

/* An entry below this share of the terms that it is the difference of has lost too many digits in
 * float: T is good to some 5e-7 of its length, and the entry then to 2 * 5e-7 / sqrt(share). */
#define FLOAT_TOO_COARSE 1e-3

/* d2_k and g_k of one row from the row itself, in double; work [2, D]. */
static void square_in_double(const rer_centroid *centroid, const rer_kernels *kernels, const float *x, double scale,
                             int32_t reference, int32_t k, double *work, double *d2, double *g)
{
    int64_t D = centroid->D;
    const double *mean = reference < centroid->C ? centroid->mean + reference * D : centroid->grand;
    kernels->residual_f64(work, x, scale, mean, D);
    kernels->residual_f64(work + D, x, scale, centroid->mean + k * D, D);
    if (centroid->root != NULL)
        rer_multiply_triangle_f64(work, centroid->root, 2, D);
    *d2 = kernels->dot_f64(work + D, work + D, D);
    *g = kernels->dot_f64(work, work + D, D);
}

/* ---- whole groups ------------------------------------------------------------------------
 *
 * A row x of class c with a group G that has m of the n rows of c (and perhaps rows of other classes k):
 *   class means without the group's rows,        mu_k(-G) = mu_k - m_k / (n_k - m_k) r_k,
 *   r_k the mean of the group's residuals in k, and out of W the part of the group's mean in c,
 *   W(-G) = W - m n / (n - m) r_c r_c'; the scatter within the group stays.
 * With R = root r_c, z_k = root (x - mu_k(-G)) and gamma = weight m n / (n - m):
 *   d2_k = |z_k|^2 + gamma / (1 - gamma |R|^2) (R.z_k)^2.
 * A group of one gives the formulas above. A class other than c that is one group stays as it is. */

/* toward [D] = R; returns gamma / (1 - gamma |R|^2), NaN where the group is all of its class. */
static double group_toward(const rer_centroid *centroid, const rer_kernels *kernels, int64_t cell, double *toward)
{
    int64_t D = centroid->D;
    double m = (double)centroid->groups->rows[cell], n = (double)centroid->n[centroid->groups->code[cell]];
    for (int64_t j = 0; j < D; j++)
        toward[j] = (double)centroid->groups->residual[cell * D + j];
    if (n <= m)
        return NAN;
    if (centroid->root != NULL)
        rer_multiply_triangle_f64(toward, centroid->root, 1, D);
    double gamma = centroid->weight * m * n / (n - m);
    return gamma / denominator(gamma, kernels->dot_f64(toward, toward, D));
}

/* d2_k from the row itself, in double; cell: the group's in class k, or -1. work [2, D]: R, and room. */
static double group_square(const rer_centroid *centroid, const rer_kernels *kernels, const rer_block *block, int64_t i,
                           int64_t cell, int32_t k, double gain, double *work)
{
    int64_t D = centroid->D;
    double *z = work + D;
    kernels->residual_f64(z, block->x + i * D, block->scale[i], centroid->mean + k * D, D);
    double m = cell >= 0 ? (double)centroid->groups->rows[cell] : 0, n = (double)centroid->n[k];
    for (int64_t j = 0; j < D && m > 0 && n > m; j++)
        z[j] += m / (n - m) * (double)centroid->groups->residual[cell * D + j];
    if (centroid->root != NULL)
        rer_multiply_triangle_f64(z, centroid->root, 1, D);
    double g = kernels->dot_f64(work, z, D);
    return kernels->dot_f64(z, z, D) + gain * g * g;
}

#define REAL float
#define REAL_NAME(name) name##_f32
#define REAL_KERNEL(name) kernels->name##_f32
#include "fit/centroid_rows.inc"
#undef REAL
#undef REAL_NAME
#undef REAL_KERNEL
#define REAL double
#define REAL_NAME(name) name##_f64
#define REAL_KERNEL(name) kernels->name##_f64
#include "fit/centroid_rows.inc"
#undef REAL
#undef REAL_NAME
#undef REAL_KERNEL

int64_t rer_centroid_scratch(const rer_centroid *centroid, int64_t rows)
{
    rer_scratch measure = {0};
    if (centroid->in_double)
        (void)lay_out_f64(centroid, rows, &measure);
    else
        (void)lay_out_f32(centroid, rows, &measure);
    return measure.used;
}

void rer_centroid_prepare(const rer_centroid *centroid, const rer_kernels *kernels, const rer_block *block,
                          bool left_out, rer_scratch scratch)
{
    if (centroid->in_double)
        prepare_f64(centroid, kernels, block, left_out, scratch);
    else
        prepare_f32(centroid, kernels, block, left_out, scratch);
}

rer_centroid_rows rer_centroid_prepared(const rer_centroid *centroid, int64_t rows, rer_scratch scratch)
{
    if (centroid->in_double) {
        block_scratch_f64 parts = lay_out_f64(centroid, rows, &scratch);
        return (rer_centroid_rows){parts.t, parts.terms};
    }
    block_scratch_f32 parts = lay_out_f32(centroid, rows, &scratch);
    return (rer_centroid_rows){parts.t, parts.terms};
}

void rer_centroid_tile_f64(const rer_centroid *centroid, const rer_kernels *kernels, const rer_block *block,
                           int32_t first, int32_t classes, double *d2, rer_scratch scratch)
{
    tile_f64(centroid, kernels, block, first, classes, d2, scratch);
}

void rer_centroid_tile(const rer_centroid *centroid, const rer_kernels *kernels, const rer_block *block, int32_t first,
                       int32_t classes, float *d2, rer_scratch scratch)
{
    if (!centroid->in_double) {
        tile_f32(centroid, kernels, block, first, classes, d2, scratch);
        return;
    }
    rer_scratch again = scratch;
    block_scratch_f64 parts = lay_out_f64(centroid, block->count, &again);
    tile_f64(centroid, kernels, block, first, classes, parts.tile, scratch);
    for (int64_t i = 0; i < block->count * classes; i++)
        d2[i] = (float)parts.tile[i];
}
