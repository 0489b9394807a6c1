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

/* Arrays that are void are in the precision of scoring (fit/real.h). */
typedef struct block_scratch {
    const rer_real *real;
    bool *left_out;
    rer_scratch centroid;       /* what the centroid has prepared: */
    const void *t;              /* [rows, D] */
    const rer_row_terms *terms; /* [rows] */
    void *e2, *e_t;             /* [rows, classes] e^2 and e.T */
    void *product;              /* [rows, classes] T.w_k, then q_j */
    void *u_own;                /* [rows, D] u of each row's reference; only where pairs are not kept */
    void *between;              /* [rows, classes] its products, likewise */
    double *v;                  /* [D] */
} block_scratch;

static block_scratch lay_out(const rer_subspace *subspace, int64_t rows, rer_scratch *scratch)
{
    const rer_centroid *centroid = rer_centroid_of(subspace->metric);
    block_scratch parts = {.real = rer_subspace_real(subspace)};
    int64_t tile = rows * rer_min(RER_CLASS_TILE, subspace->C);
    size_t size = parts.real->size;
    parts.left_out = rer_take(scratch, 1, sizeof(bool));
    parts.e2 = rer_take(scratch, tile, size);
    parts.e_t = rer_take(scratch, tile, size);
    parts.product = rer_take(scratch, tile, size);
    if (subspace->pair_norm == NULL) {
        parts.u_own = rer_take(scratch, rows * subspace->D, size);
        parts.between = rer_take(scratch, tile, size);
    }
    parts.v = rer_take(scratch, subspace->D, sizeof *parts.v);
    parts.centroid = rer_take_part(scratch, rer_centroid_scratch(centroid, rows));
    rer_centroid_rows prepared = rer_centroid_prepared(centroid, rows, parts.centroid);
    parts.t = prepared.t;
    parts.terms = prepared.terms;
    return parts;
}

int64_t rer_subspace_scratch(const rer_model *model, int64_t rows)
{
    rer_scratch measure = RER_MEASURE;
    (void)lay_out(model->state, rows, &measure);
    return measure.used;
}

void rer_subspace_prepare(const rer_model *model, const rer_run *run, const rer_block *block, bool left_out,
                          rer_scratch scratch)
{
    const rer_subspace *subspace = model->state;
    const rer_centroid *centroid = rer_centroid_of(subspace->metric);
    int64_t D = subspace->D;
    block_scratch parts = lay_out(subspace, block->count, &scratch);
    const rer_real *real = parts.real;
    *parts.left_out = left_out;
    rer_centroid_prepare(centroid, run->kernels, block, left_out, parts.centroid);
    for (int64_t i = 0; subspace->pair_norm == NULL && i < block->count; i++)
        memcpy(rer_real_at(real, parts.u_own, i * D), rer_real_at(real, centroid->u, parts.terms[i].reference * D),
               (size_t)D * real->size);
}

/* Row of a table [C + 1, C], of its plane-th plane, from class `first` on. */
static const void *table_row(const rer_subspace *subspace, const rer_real *real, const void *table, int64_t plane,
                             int32_t reference, int32_t first)
{
    int64_t C = subspace->C;
    return rer_real_at(real, table, (plane * (C + 1) + reference) * C + first);
}

/* v^2 and v.T of a tile. */
static void start_tile(const rer_subspace *subspace, const rer_block *block, const block_scratch *parts, int32_t first,
                       int32_t classes)
{
    int64_t D = subspace->D;
    const rer_real *real = parts->real;
    const void *w = rer_real_at(real, subspace->center_real, first * D);
    const void *norm = rer_real_at(real, subspace->center_norm, first);
    const void *norm_own = rer_centroid_of(subspace->metric)->norm;
    real->multiply(parts->product, classes, parts->t, w, block->count, classes, D);
    if (subspace->pair_norm == NULL)
        real->multiply(parts->between, classes, parts->u_own, w, block->count, classes, D);
    for (int64_t i = 0; i < block->count; i++) {
        const rer_row_terms *terms = parts->terms + i;
        int64_t at = i * classes;
        const void *m = NULL;
        if (subspace->pair_norm != NULL) {
            m = table_row(subspace, real, subspace->pair_norm, 0, terms->reference, first);
        } else {
            void *made = rer_real_at(real, parts->between, at);
            double square = terms->reference < subspace->C ? real->get(norm_own, terms->reference) : 0;
            real->square_between(made, norm, square, classes);
            m = made;
        }
        real->start(rer_real_at(real, parts->e2, at), rer_real_at(real, parts->e_t, at),
                    rer_real_at(real, parts->product, at), m, terms->own, terms->h_own, classes);
    }
}

/* Takes what direction j explains out of them. */
static void project_tile(const rer_subspace *subspace, const rer_block *block, const block_scratch *parts, int64_t j,
                         int32_t first, int32_t classes)
{
    int64_t C = subspace->C, D = subspace->D;
    const rer_real *real = parts->real;
    const void *directions = rer_real_at(real, subspace->basis, (j * C + first) * D);
    const void *lift = rer_real_at(real, subspace->lift, j * C + first);
    real->multiply(parts->product, classes, parts->t, directions, block->count, classes, D);
    if (subspace->pair_norm == NULL)
        real->multiply(parts->between, classes, parts->u_own, directions, block->count, classes, D);
    for (int64_t i = 0; i < block->count; i++) {
        int64_t at = i * classes;
        const void *shift = NULL;
        if (subspace->pair_norm != NULL) {
            shift = table_row(subspace, real, subspace->pair_shift, j, parts->terms[i].reference, first);
        } else {
            void *made = rer_real_at(real, parts->between, at);
            real->subtract(made, lift, classes);
            shift = made;
        }
        real->project(rer_real_at(real, parts->e2, at), rer_real_at(real, parts->e_t, at),
                      rer_real_at(real, parts->product, at), shift, classes);
    }
}

/* e^2 + gain (e.T)^2 of v, direction by direction; v becomes e. */
static double direct(const rer_subspace *subspace, const rer_real *real, double *v, const void *t, int32_t k,
                     double gain, double *e2)
{
    int64_t C = subspace->C, D = subspace->D;
    for (int64_t j = 0; j < subspace->rank; j++)
        real->remove(v, rer_real_at(real, subspace->basis, (j * C + k) * D), D);
    double e_t = real->dot_double(v, t, D);
    *e2 = rer_real_f64.dot_double(v, v, D);
    return *e2 + gain * e_t * e_t;
}

/* An entry that lost digits; `size` is that of the terms that it is the difference of. */
static float refine(const rer_subspace *subspace, const rer_kernels *kernels, const rer_block *block,
                    const block_scratch *parts, int64_t i, int32_t k, double size)
{
    int64_t D = subspace->D;
    const rer_real *real = parts->real;
    const rer_row_terms *terms = parts->terms + i;
    const void *t = rer_real_at(real, parts->t, i * D);
    const double *u = subspace->reference + terms->reference * D, *w = subspace->center + k * D;
    double e2 = 0;
    for (int64_t d = 0; d < D; d++)
        parts->v[d] = real->get(t, d) + (u[d] - w[d]);
    double d2 = direct(subspace, real, parts->v, t, k, terms->gain, &e2);
    if (real == &rer_real_f32 && e2 < FLOAT_TOO_COARSE * size) {
        load_difference(parts->v, subspace, kernels, block, i, k);
        d2 = direct(subspace, real, parts->v, t, k, terms->gain, &e2);
    }
    return (float)d2;
}

/* d2 [classes] of row i from its e^2 and e.T. */
static void finish_row(const rer_subspace *subspace, const rer_kernels *kernels, const rer_block *block,
                       const block_scratch *parts, int64_t i, int32_t first, int32_t classes, float *d2)
{
    const rer_real *real = parts->real;
    const rer_row_terms *terms = parts->terms + i;
    const void *scale = rer_real_at(real, subspace->center_norm, first);
    double base = terms->own;
    if (subspace->pair_norm != NULL)
        scale = table_row(subspace, real, subspace->pair_norm, 0, terms->reference, first);
    else if (terms->reference < subspace->C)
        base += real->get(rer_centroid_of(subspace->metric)->norm, terms->reference);
    bool cancelled = real->finish(d2, rer_real_at(real, parts->e2, i * classes),
                                  rer_real_at(real, parts->e_t, i * classes), scale, base, terms->gain, classes);
    int32_t own = block->code[i] - first;
    if (*parts->left_out && subspace->own != NULL && rer_block_has_seen(block, i) && own >= 0 && own < classes)
        d2[own] = subspace->own[rer_block_row(block, i)];
    for (int32_t k = 0; cancelled && k < classes; k++)
        if (d2[k] < 0)
            d2[k] = refine(subspace, kernels, block, parts, i, first + k, base + real->get(scale, k));
}

void rer_subspace_errors(const rer_model *model, const rer_run *run, const rer_block *block, int32_t first,
                         int32_t classes, float *d2, rer_scratch scratch)
{
    const rer_subspace *subspace = model->state;
    block_scratch parts = lay_out(subspace, block->count, &scratch);
    start_tile(subspace, block, &parts, first, classes);
    for (int64_t j = 0; j < subspace->rank; j++)
        project_tile(subspace, block, &parts, j, first, classes);
    for (int64_t i = 0; i < block->count; i++)
        finish_row(subspace, run->kernels, block, &parts, i, first, classes, d2 + i * classes);
}
