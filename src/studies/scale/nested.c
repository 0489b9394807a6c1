/* How far rows are from the means of smaller classes. The metric is a yardstick: it stays that of the
 * whole data, each row left out of it, while the means are those of the subset. In the metric
 * (centroid_rows.c has the letters), with u_c of the whole class, v_k of the subset's class k, and
 * T the residual of a row of class c to the whole class mean:
 *   h_k = T . v_k,   m_ck = |u_c - v_k|^2
 *   d2_k = own + 2 (T . u_c - h_k) + m_ck,   g_k = own + T . u_c - h_k
 *   error_k = d2_k + g_k^2 beta / den;   of the own class, for rows of the subset, times (n / (n - 1))^2.
 * With the subset of all rows v = u, and this is the left-out error of the whole model.
 *
 * Two passes: class sums of what each subset adds to the one before; then T once a block, and for each
 * subset a product and a reduction. */
#include "studies/scale/nested.h"

#include "fit/centroid.h"
#include "run/result.h"

typedef struct subset_pass {
    const rer_nested *nested;
    const rer_model *whole;
    const rer_centroid *centroid;
    const rer_run *run;
    int64_t D, C, tile;
    int64_t *n;   /* [count, C] rows of each class */
    double *mean; /* [count, C, D]; sums of what is new at first */
    float *u;     /* [C, D] means of the whole classes in the metric */
    float *v;     /* [count, C, D] those of the subsets */
    float *norm;  /* [C] |u_c|^2 */
    float *norms; /* [count, C] |v_k|^2 */
    float *pairs; /* [count, C, C] m_ck; NULL past RER_CENTROID_PAIRS_MAX: made for each block */
    rer_nested_sums *sums;
} subset_pass;

static void add_row(rer_nested_sums *sums, const rer_row_errors *row, int32_t C)
{
    if (isnan(row->own))
        return;
    rer_ratio_sums_add_row(&sums->ratios, row, C);
    sums->chi += rer_chi(sqrt((double)row->own), sqrt((double)row->nearest.first));
    sums->wrong += row->own > row->nearest.first;
}

/* ---- pass 1: sums --------------------------------------------------------------------------- */

static rer_status load_rows(void *context, int64_t item, void *scratch, rer_error *error)
{
    const subset_pass *pass = context;
    return rer_block_load(scratch, pass->run, &pass->whole->normalizer, item, error);
}

/* The smallest subset that the row belongs to, or `count`. */
static int first_subset(const rer_nested *nested, int64_t row)
{
    int s = 0;
    while (s < nested->count && nested->place[row] >= nested->sizes[s])
        s++;
    return s;
}

static rer_status add_rows(void *context, int64_t item, void *scratch, rer_error *error)
{
    (void)item, (void)error;
    subset_pass *pass = context;
    const rer_block *block = scratch;
    for (int64_t i = 0; i < block->count; i++) {
        int32_t c = block->code[i];
        int s = c >= 0 ? first_subset(pass->nested, block->first + i) : pass->nested->count;
        if (s == pass->nested->count)
            continue;
        pass->n[s * pass->C + c]++;
        pass->run->kernels->add_scaled(pass->mean + (s * pass->C + c) * pass->D, block->x + i * pass->D,
                                       block->scale[i], pass->D);
    }
    return RER_OK;
}

static rer_status sum_rows(subset_pass *pass, rer_error *error)
{
    int64_t each = pass->C * pass->D;
    rer_job job = {
        .stage = "fitting",
        .to = .2,
        .items = rer_run_blocks(pass->run),
        .scratch = rer_block_scratch(pass->run),
        .work = load_rows,
        .commit = add_rows,
        .context = pass,
    };
    RER_TRY(rer_pool_run(pass->run->pool, &job, error));
    for (int s = 1; s < pass->nested->count; s++) { /* what is new -> all */
        for (int64_t c = 0; c < pass->C; c++)
            pass->n[s * pass->C + c] += pass->n[(s - 1) * pass->C + c];
        for (int64_t j = 0; j < each; j++)
            pass->mean[s * each + j] += pass->mean[(s - 1) * each + j];
    }
    for (int64_t k = 0; k < pass->nested->count * pass->C; k++)
        for (int64_t j = 0; j < pass->D; j++)
            pass->mean[k * pass->D + j] /= (double)rer_max(1, pass->n[k]);
    return RER_OK;
}

/* ---- means in the metric -------------------------------------------------------------------- */

/* out [C, D] and norm [C] of mean [C, D]; work [C, D] is left with the same in double. */
static void to_metric(float *out, float *norm, double *work, const double *mean, const rer_centroid *centroid)
{
    int64_t C = centroid->C, D = centroid->D;
    for (int64_t c = 0; c < C; c++)
        for (int64_t j = 0; j < D; j++)
            work[c * D + j] = mean[c * D + j] - centroid->grand[j];
    if (centroid->root != NULL)
        rer_multiply_triangle_f64(work, centroid->root, C, D);
    for (int64_t c = 0; c < C; c++) {
        double square = 0;
        for (int64_t j = 0; j < D; j++) {
            out[c * D + j] = (float)work[c * D + j];
            square += work[c * D + j] * work[c * D + j];
        }
        norm[c] = (float)square;
    }
}

/* pairs [C, C] = |u_c - v_k|^2, in double: u and v are alike. */
static void make_pairs(float *pairs, const double *u, const double *v, double *product, int64_t C, int64_t D)
{
    double norm_u, norm_v;
    rer_multiply_f64(product, C, u, v, C, C, D);
    for (int64_t c = 0; c < C; c++) {
        norm_u = 0;
        for (int64_t j = 0; j < D; j++)
            norm_u += u[c * D + j] * u[c * D + j];
        for (int64_t k = 0; k < C; k++)
            product[c * C + k] = norm_u - 2 * product[c * C + k];
    }
    for (int64_t k = 0; k < C; k++) {
        norm_v = 0;
        for (int64_t j = 0; j < D; j++)
            norm_v += v[k * D + j] * v[k * D + j];
        for (int64_t c = 0; c < C; c++)
            pairs[c * C + k] = (float)fmax(0, product[c * C + k] + norm_v);
    }
}

static rer_status make_tables(subset_pass *pass, rer_error *error)
{
    int64_t C = pass->C, D = pass->D;
    double *u = NULL, *v = NULL, *product = NULL;
    const rer_room rooms[] = {RER_ROOM(u, C * D), RER_ROOM(v, C * D)};
    rer_status status = rer_allocate_all(rooms, RER_COUNT(rooms), "class means in the metric", error);
    if (status == RER_OK && pass->pairs != NULL)
        status = rer_allocate(&product, C * C, sizeof *product, "distances between classes", error);
    if (status == RER_OK && !rer_backend_enter())
        status = rer_fail(error, RER_SYSTEM, "out of memory: buffers for the metric");
    if (status == RER_OK) {
        to_metric(pass->u, pass->norm, u, pass->centroid->mean, pass->centroid);
        for (int64_t s = 0; s < pass->nested->count; s++) {
            to_metric(pass->v + s * C * D, pass->norms + s * C, v, pass->mean + s * C * D, pass->centroid);
            if (pass->pairs != NULL)
                make_pairs(pass->pairs + s * C * C, u, v, product, C, D);
        }
    }
    RER_FREE_ALL(u, v, product);
    return status;
}

/* ---- pass 2: scores ------------------------------------------------------------------------- */

typedef struct subset_scratch {
    rer_nested_sums sums[RER_NESTED_MAX];
    rer_row_errors *errors; /* [rows] */
    float *t;               /* [rows, D] */
    float *u_own;           /* [rows, D] u of each row's class; only without pairs */
    float *m;               /* [rows, tile], likewise */
    float *d2;              /* [rows, tile] */
    rer_scratch centroid;   /* the centroid's own */
    rer_block block;
} subset_scratch;

static subset_scratch lay_out(const subset_pass *pass, rer_scratch *scratch)
{
    int64_t rows = rer_min(RER_BLOCK, pass->run->N);
    subset_scratch parts = {0};
    (void)rer_take(scratch, 1, sizeof parts);
    parts.errors = rer_take(scratch, rows, sizeof *parts.errors);
    parts.t = rer_take(scratch, rows * pass->D, sizeof *parts.t);
    parts.u_own = rer_take(scratch, rows * pass->D, sizeof *parts.u_own);
    parts.m = rer_take(scratch, rows * pass->tile, sizeof *parts.m);
    parts.d2 = rer_take(scratch, rows * pass->tile, sizeof *parts.d2);
    parts.centroid = rer_take_part(scratch, rer_centroid_scratch(pass->centroid, rows));
    parts.block = rer_block_take(pass->run, scratch);
    return parts;
}

/* T and each row's terms, by the whole model; T in float. */
static const rer_row_terms *prepare_block(const subset_pass *pass, const rer_block *block, subset_scratch *parts)
{
    int64_t D = pass->D;
    rer_centroid_prepare(pass->centroid, pass->run->kernels, block, true, parts->centroid);
    rer_centroid_rows rows = rer_centroid_prepared(pass->centroid, block->count, parts->centroid);
    const double *t = rows.t;
    if (pass->centroid->in_double)
        for (int64_t i = 0; i < block->count * D; i++)
            parts->t[i] = (float)t[i];
    else
        memcpy(parts->t, rows.t, (size_t)(block->count * D) * sizeof(float));
    for (int64_t i = 0; i < block->count && pass->pairs == NULL; i++)
        memcpy(parts->u_own + i * D, pass->u + rer_max(0, block->code[i]) * D, (size_t)D * sizeof(float));
    return rows.terms;
}

/* Entries that the expansion has lost digits of, from T + u_c - v_k itself. */
static void refine(const subset_pass *pass, const float *t, const float *u, const float *v, const rer_row_terms *terms,
                   const float *m, float *d2, int64_t classes)
{
    double below = 2 * RER_QUICK_CANCELLED_BELOW * (1 + terms->gain * terms->own), direct, g;
    for (int64_t k = 0; k < classes; k++) {
        if ((double)d2[k] > below * (terms->own + (double)m[k]))
            continue;
        pass->run->kernels->direct_f32(t, u, v + k * pass->D, pass->D, &direct, &g);
        d2[k] = (float)(direct + terms->gain * g * g);
    }
}

/* m [rows, classes] of a tile where pairs are not kept. */
static void make_block_pairs(const subset_pass *pass, const rer_block *block, subset_scratch *parts, int s,
                             int32_t first, int64_t classes)
{
    const float *v = pass->v + (s * pass->C + first) * pass->D, *norms = pass->norms + s * pass->C + first;
    rer_multiply_quickly_f32(parts->m, classes, parts->u_own, v, block->count, classes, pass->D);
    for (int64_t i = 0; i < block->count; i++) {
        float norm = pass->norm[rer_max(0, block->code[i])], *m = parts->m + i * classes;
        for (int64_t k = 0; k < classes; k++)
            m[k] = fmaxf(0, norm + norms[k] - 2 * m[k]);
    }
}

/* Errors of the block under subset s, classes first.. */
static void score_tile(const subset_pass *pass, const rer_block *block, const rer_row_terms *terms,
                       subset_scratch *parts, int s, int32_t first)
{
    int64_t D = pass->D, C = pass->C, classes = rer_min(pass->tile, C - first);
    const float *v = pass->v + (s * C + first) * D;
    rer_multiply_quickly_f32(parts->d2, classes, parts->t, v, block->count, classes, D);
    if (pass->pairs == NULL)
        make_block_pairs(pass, block, parts, s, first, classes);
    for (int64_t i = 0; i < block->count; i++) {
        int32_t c = block->code[i];
        float *d2 = parts->d2 + i * classes;
        if (c < 0)
            continue;
        const float *m = pass->pairs != NULL ? pass->pairs + (s * C + c) * C + first : parts->m + i * classes;
        if (pass->run->kernels->left_out_f32(d2, m, m, terms[i].own, terms[i].own, terms[i].h_own, terms[i].gain,
                                             classes))
            refine(pass, parts->t + i * D, pass->u + c * D, v, &terms[i], m, d2, classes);
        bool is_inside = pass->nested->place[block->first + i] < pass->nested->sizes[s];
        if (is_inside && c >= first && c < first + classes) {
            float n = (float)pass->n[s * C + c];
            d2[c - first] = n > 1 ? d2[c - first] * (n / (n - 1)) * (n / (n - 1)) : NAN;
        }
        rer_row_errors_take(&parts->errors[i], d2, first, (int32_t)classes, c, pass->run->kernels);
    }
}

static rer_status score_block(void *context, int64_t item, void *memory, rer_error *error)
{
    const subset_pass *pass = context;
    rer_scratch scratch = rer_pool_scratch(pass->run->pool, memory);
    subset_scratch *parts = memory;
    *parts = lay_out(pass, &scratch);
    rer_block block = parts->block;
    RER_TRY(rer_block_read(&block, pass->run, &pass->whole->normalizer, item, error));
    const rer_row_terms *terms = prepare_block(pass, &block, parts);
    for (int s = 0; s < pass->nested->count; s++) {
        for (int64_t i = 0; i < block.count; i++)
            parts->errors[i] = rer_row_errors_none();
        for (int64_t first = 0; first < pass->C; first += pass->tile)
            score_tile(pass, &block, terms, parts, s, (int32_t)first);
        for (int64_t i = 0; i < block.count; i++)
            add_row(&parts->sums[s], &parts->errors[i], (int32_t)pass->C);
    }
    return RER_OK;
}

static rer_status commit_block(void *context, int64_t item, void *memory, rer_error *error)
{
    (void)item, (void)error;
    const subset_pass *pass = context;
    const subset_scratch *parts = memory;
    for (int s = 0; s < pass->nested->count; s++) {
        rer_ratio_sums_add(&pass->sums[s].ratios, &parts->sums[s].ratios);
        pass->sums[s].chi += parts->sums[s].chi;
        pass->sums[s].wrong += parts->sums[s].wrong;
    }
    return RER_OK;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static rer_status allocate_pass(subset_pass *pass, rer_error *error)
{
    int64_t C = pass->C, D = pass->D, count = pass->nested->count, each = 0;
    if (!rer_product(C, D, &each) || each > INT64_MAX / 256)
        return rer_fail(error, RER_SYSTEM, "%lld classes of %lld features are too many", (long long)C, (long long)D);
    const rer_room rooms[] = {RER_ROOM(pass->n, count * C), RER_ROOM(pass->mean, count * each),
                              RER_ROOM(pass->u, each),      RER_ROOM(pass->v, count * each),
                              RER_ROOM(pass->norm, C),      RER_ROOM(pass->norms, count * C)};
    RER_TRY(rer_allocate_all(rooms, RER_COUNT(rooms), "class sizes", error));
    if (C <= RER_CENTROID_PAIRS_MAX)
        RER_TRY(rer_allocate(&pass->pairs, count * C * C, sizeof *pass->pairs, "distances between classes", error));
    return RER_OK;
}

rer_status rer_score_nested(rer_nested_sums *sums, const rer_nested *nested, const rer_model *whole, const rer_run *run,
                            rer_error *error)
{
    subset_pass pass = {
        .nested = nested,
        .whole = whole,
        .centroid = rer_centroid_of(whole->state),
        .run = run,
        .D = run->D,
        .C = run->C,
        .tile = rer_min(RER_CLASS_TILE, run->C),
        .sums = sums,
    };
    memset(sums, 0, (size_t)nested->count * sizeof *sums);
    rer_status status = allocate_pass(&pass, error);
    RER_THEN(status, sum_rows(&pass, error));
    RER_THEN(status, make_tables(&pass, error));
    rer_scratch measure = RER_MEASURE;
    (void)lay_out(&pass, &measure);
    rer_job job = {
        .stage = "scoring",
        .from = .2,
        .to = 1,
        .items = rer_run_blocks(run),
        .scratch = measure.used,
        .work = score_block,
        .commit = commit_block,
        .context = &pass,
    };
    RER_THEN(status, rer_pool_run(run->pool, &job, error));
    RER_FREE_ALL(pass.n, pass.mean, pass.u, pass.v, pass.norm, pass.norms, pass.pairs);
    return status;
}
