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
#include "fit/real.h"

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

/* ---- a block ------------------------------------------------------------------------------ */

/* Arrays that are void are in the precision of scoring (fit/real.h). */
typedef struct block_scratch {
    const rer_real *real;
    void *t;              /* [rows, D] residuals in the metric */
    rer_row_terms *terms; /* [rows] */
    void *u_own;          /* [rows, D] u of each row's reference; only where pairs are not kept */
    void *m;              /* [rows, RER_CLASS_TILE] likewise */
    double *tile;         /* [rows, RER_CLASS_TILE] only in double: what is rounded to float */
    double *work;         /* [2, D] of square_in_double and group_square */
    void *toward;         /* [D] of leave_group */
    float *off;           /* [rows] how far rough products may be off */
    int32_t *near;        /* [RER_CLASS_TILE] of sharpen */
} block_scratch;

static block_scratch lay_out(const rer_centroid *centroid, int64_t rows, rer_scratch *scratch)
{
    int64_t D = centroid->D, tile = rer_min(RER_CLASS_TILE, centroid->C);
    block_scratch parts = {.real = rer_real_of(centroid->in_double)};
    size_t size = parts.real->size;
    parts.t = rer_take(scratch, rows * D, size);
    parts.terms = rer_take(scratch, rows, sizeof *parts.terms);
    if (centroid->pairs == NULL) {
        parts.u_own = rer_take(scratch, rows * D, size);
        parts.m = rer_take(scratch, rows * tile, size);
    }
    if (centroid->in_double)
        parts.tile = rer_take(scratch, rows * tile, sizeof *parts.tile);
    parts.work = rer_take(scratch, 2 * D, sizeof *parts.work);
    if (centroid->groups != NULL)
        parts.toward = rer_take(scratch, D, size);
    parts.off = rer_take(scratch, rows, sizeof *parts.off);
    parts.near = rer_take(scratch, tile, sizeof *parts.near);
    return parts;
}

int64_t rer_centroid_scratch(const rer_centroid *centroid, int64_t rows)
{
    rer_scratch measure = RER_MEASURE;
    (void)lay_out(centroid, rows, &measure);
    return measure.used;
}

rer_centroid_rows rer_centroid_prepared(const rer_centroid *centroid, int64_t rows, rer_scratch scratch)
{
    block_scratch parts = lay_out(centroid, rows, &scratch);
    return (rer_centroid_rows){parts.t, parts.terms};
}

void rer_centroid_prepare(const rer_centroid *centroid, const rer_kernels *kernels, const rer_block *block,
                          bool left_out, rer_scratch scratch)
{
    int64_t D = centroid->D;
    block_scratch parts = lay_out(centroid, block->count, &scratch);
    const rer_real *real = parts.real;
    for (int64_t i = 0; i < block->count; i++) {
        int32_t c = block->code[i];
        void *t = rer_real_at(real, parts.t, i * D);
        if (c == RER_INVALID_ROW)
            memset(t, 0, (size_t)D * real->size);
        else
            real->residual(kernels, t, block->x + i * D, block->scale[i],
                           c >= 0 ? centroid->mean + c * D : centroid->grand, D);
    }
    if (centroid->root_real != NULL)
        real->multiply_triangle(parts.t, centroid->root_real, block->count, D);
    for (int64_t i = 0; i < block->count; i++) {
        rer_row_terms *terms = parts.terms + i;
        terms->reference = block->code[i] >= 0 ? block->code[i] : centroid->C;
        const void *t = rer_real_at(real, parts.t, i * D),
                   *u_own = rer_real_at(real, centroid->u, terms->reference * D);
        terms->own = real->dot(kernels, t, t, D);
        terms->h_own = real->dot(kernels, t, u_own, D);
        bool seen = left_out && rer_block_has_seen(block, i);
        terms->cell = seen && centroid->groups != NULL ? centroid->groups->cell[rer_block_row(block, i)] : -1;
        leave_out(terms, centroid, block->code[i], seen && terms->cell < 0);
        if (parts.u_own != NULL)
            memcpy(rer_real_at(real, parts.u_own, i * D), u_own, (size_t)D * real->size);
    }
}

/* ---- a tile of classes -------------------------------------------------------------------- */

/* One row of a tile: its errors, and the terms that they are differences of, base + scale [classes]. */
typedef struct tile_row {
    int64_t i; /* of the block */
    void *d2;  /* [classes] */
    int32_t first, classes;
    const void *scale;
    double base;
} tile_row;

/* One entry from T + u_c - u_k, and from the row itself where that is too coarse. */
static void recompute(const rer_centroid *centroid, const rer_kernels *kernels, const rer_block *block,
                      const block_scratch *parts, const tile_row *row, int32_t k)
{
    const rer_real *real = parts->real;
    const rer_row_terms *terms = parts->terms + row->i;
    int64_t D = centroid->D;
    int32_t class = row->first + k;
    double direct, g, size = row->base + real->get(row->scale, k);
    real->direct(kernels, rer_real_at(real, parts->t, row->i * D), rer_real_at(real, centroid->u, terms->reference * D),
                 rer_real_at(real, centroid->u, class * D), D, &direct, &g);
    bool coarse = !centroid->in_double && !centroid->rough && direct < FLOAT_TOO_COARSE * size;
    if (coarse && class != terms->reference)
        square_in_double(centroid, kernels, block->x + row->i * D, block->scale[row->i], terms->reference, class,
                         parts->work, &direct, &g);
    real->set(row->d2, k, direct + terms->gain * g * g);
}

/* Recomputes the entries of a row that lost digits. g_k^2 <= own d2_k bounds what the left-out part has added, so
 * the test here takes in every entry that the kernel saw. */
static void refine(const rer_centroid *centroid, const rer_kernels *kernels, const rer_block *block,
                   const block_scratch *parts, const tile_row *row)
{
    const rer_real *real = parts->real;
    const rer_row_terms *terms = parts->terms + row->i;
    double lost = centroid->in_double ? RER_CANCELLED_BELOW : RER_QUICK_CANCELLED_BELOW;
    double below = 2 * lost * (1 + terms->gain * terms->own);
    for (int32_t k = 0; k < row->classes; k++)
        if (real->get(row->d2, k) <= below * (row->base + real->get(row->scale, k)))
            recompute(centroid, kernels, block, parts, row, k);
}

/* Recomputes what may be the nearest class after rough products, each off by `off` at most, so that what is kept of a
 * row is as good as float. d2_k is off by 2 off + gain (2 |g_k| off + off^2), with g_k^2 <= own d2_k. */
static void sharpen(const rer_centroid *centroid, const rer_kernels *kernels, const rer_block *block,
                    const block_scratch *parts, const tile_row *row, double off)
{
    const rer_row_terms *terms = parts->terms + row->i;
    float *d2 = row->d2;
    int32_t own = terms->reference - row->first, whole = row->classes / RER_COARSE_ROWS * RER_COARSE_ROWS;
    if (own >= 0 && own < row->classes)
        d2[own] = INFINITY; /* it is no other class, and not made of products */
    double least = (double)kernels->smallest(d2, row->classes);
    double slack = 2 * off * (1 + terms->gain * (sqrt(terms->own * fmax(least, 0)) + off));
    float limit = (float)(least + 2.1 * slack);
    int64_t count = kernels->coarse->between(parts->near, d2, -INFINITY, limit, whole);
    for (int32_t k = whole; k < row->classes; k++)
        if (d2[k] < limit)
            parts->near[count++] = k;
    for (int64_t i = 0; i < count; i++)
        recompute(centroid, kernels, block, parts, row, parts->near[i]);
}

/* Leaves the row's group out: its d2 is what the whole model says; see group_square. */
static void leave_group(const rer_centroid *centroid, const rer_kernels *kernels, const rer_block *block,
                        const block_scratch *parts, const tile_row *row)
{
    const rer_real *real = parts->real;
    const rer_groups *groups = centroid->groups;
    const rer_row_terms *terms = parts->terms + row->i;
    int64_t D = centroid->D, p = terms->cell;
    int32_t own = terms->reference - row->first;
    double gain = group_toward(centroid, kernels, p, parts->work);
    if (isnan(gain)) { /* the group is the whole class */
        if (own >= 0 && own < row->classes)
            real->set(row->d2, own, NAN);
        return;
    }
    real->from_double(parts->toward, parts->work, D);
    double from = real->dot(kernels, parts->toward, rer_real_at(real, parts->t, row->i * D), D) +
                  real->dot(kernels, parts->toward, rer_real_at(real, centroid->u, terms->reference * D), D);
    for (int32_t k = 0; k < row->classes; k++) {
        double d2 = real->get(row->d2, k);
        double g = from - real->dot(kernels, parts->toward, rer_real_at(real, centroid->u, (row->first + k) * D), D);
        bool cancelled = d2 < FLOAT_TOO_COARSE * (row->base + real->get(row->scale, k));
        real->set(row->d2, k,
                  cancelled ? group_square(centroid, kernels, block, row->i, -1, row->first + k, gain, parts->work)
                            : d2 + gain * g * g);
    }
    while (p > 0 && groups->group[p - 1] == groups->group[p])
        p--;
    for (int32_t group = groups->group[p]; p < groups->cells && groups->group[p] == group; p++)
        if (groups->code[p] >= row->first && groups->code[p] < row->first + row->classes)
            real->set(row->d2, groups->code[p] - row->first,
                      group_square(centroid, kernels, block, row->i, p, groups->code[p], gain, parts->work));
}

/* d2 [count, classes] of classes first.., in the precision of scoring. */
static void score_tile(const rer_centroid *centroid, const rer_kernels *kernels, const rer_block *block, int32_t first,
                       int32_t classes, void *d2, const block_scratch *parts)
{
    int64_t D = centroid->D, C = centroid->C;
    const rer_real *real = parts->real;
    const void *u = rer_real_at(real, centroid->u, first * D), *norm = rer_real_at(real, centroid->norm, first);
    rer_real_multiply *multiply = block->exact ? real->multiply : real->multiply_quickly;
    bool is_rough = !block->exact && centroid->groups == NULL &&
                    real->multiply_roughly(d2, classes, parts->t, u, block->count, classes, D, parts->off);
    if (!is_rough)
        multiply(d2, classes, parts->t, u, block->count, classes, D);
    if (centroid->pairs == NULL)
        multiply(parts->m, classes, parts->u_own, u, block->count, classes, D);
    for (int64_t i = 0; i < block->count; i++) {
        const rer_row_terms *terms = parts->terms + i;
        const void *m = norm; /* from the grand mean: |u_k|^2 */
        tile_row row = {.i = i, .first = first, .classes = classes, .scale = norm, .base = terms->own};
        row.d2 = rer_real_at(real, d2, i * classes);
        if (terms->reference < C && centroid->pairs != NULL) {
            m = row.scale = rer_real_at(real, centroid->pairs, terms->reference * C + first);
        } else if (terms->reference < C) {
            double norm_own = real->get(centroid->norm, terms->reference);
            void *made = rer_real_at(real, parts->m, i * classes);
            real->square_between(made, norm, norm_own, classes); /* |u_c - u_k|^2 from their product */
            m = made;
            row.base += norm_own;
        }
        if (real->left_out(kernels, row.d2, m, row.scale, row.base, terms->own, terms->h_own, terms->gain, classes))
            refine(centroid, kernels, block, parts, &row);
        if (is_rough)
            sharpen(centroid, kernels, block, parts, &row, (double)parts->off[i]);
        if (terms->reference >= first && terms->reference < first + classes)
            real->set(row.d2, terms->reference - first, terms->own_error);
        if (terms->cell >= 0)
            leave_group(centroid, kernels, block, parts, &row);
    }
}

void rer_centroid_tile_f64(const rer_centroid *centroid, const rer_kernels *kernels, const rer_block *block,
                           int32_t first, int32_t classes, double *d2, rer_scratch scratch)
{
    block_scratch parts = lay_out(centroid, block->count, &scratch);
    score_tile(centroid, kernels, block, first, classes, d2, &parts);
}

void rer_centroid_tile(const rer_centroid *centroid, const rer_kernels *kernels, const rer_block *block, int32_t first,
                       int32_t classes, float *d2, rer_scratch scratch)
{
    bool in_double = centroid->in_double;
    block_scratch parts = lay_out(centroid, block->count, &scratch);
    score_tile(centroid, kernels, block, first, classes, in_double ? (void *)parts.tile : d2, &parts);
    for (int64_t i = 0; in_double && i < block->count * classes; i++)
        d2[i] = (float)parts.tile[i];
}
