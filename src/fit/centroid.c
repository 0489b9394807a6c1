/* The centroid reconstructor, in steps:
 *   1. class means (moments.c, pass 1);
 *   2. W = within-class scatter (pass 2), S = W / dof, dof = N - C, tau = tr S / columns,
 *      S_a = (1 - a) S + a tau I = g g', root = g^-1, so that S_a^-1 = root' root;
 *   3. a by how well left-out rows explain their labels (select.c);
 *   4. left-out errors, block by block (centroid_rows.c).
 * dof and tau are taken once from all data; leaving a row out removes it from its class mean and
 * from W only. With --normalize minmax, unit or none the metric is the identity. */
#include "fit/centroid.h"

#include "core/tensors.h"

typedef struct centroid_state {
    rer_centroid centroid;
    rer_class_moments moments; /* owns mean, grand and n */
    rer_groups *groups;        /* NULL: none */
} centroid_state;

/* ---- the metric -------------------------------------------------------------------------- */

static void *to_float(const double *values, int64_t count, rer_error *error)
{
    float *out = NULL;
    if (rer_allocate(&out, count, sizeof(float), "the model in float", error) != RER_OK)
        return NULL;
    for (int64_t i = 0; i < count; i++)
        out[i] = (float)values[i];
    return out;
}

/* A copy of them, in double or float. */
static rer_status copy_real(void **slot, const double *values, int64_t count, bool in_double, rer_error *error)
{
    if (!in_double) {
        *slot = to_float(values, count, error);
        return *slot != NULL ? RER_OK : RER_SYSTEM;
    }
    rer_status status = rer_allocate(slot, count, sizeof(double), "the model in double", error);
    if (status == RER_OK)
        memcpy(*slot, values, (size_t)count * sizeof(double));
    return status;
}

#define PAIR_ROWS 64 /* of an item */

typedef struct pairs_job {
    rer_centroid *centroids;
    int64_t blocks; /* of each */
} pairs_job;

/* Some rows of pairs [C, C]: m_ck = |u_c|^2 + |u_k|^2 - 2 u_c.u_k, in double. */
static rer_status make_pairs(void *context, int64_t item, void *scratch, rer_error *error)
{
    (void)error;
    const pairs_job *job = context;
    const rer_centroid *centroid = &job->centroids[item / job->blocks];
    const double *u = centroid->exact_u, *norm = centroid->exact_norm;
    double *product = scratch;
    int64_t C = centroid->C, D = centroid->D, first = item % job->blocks * PAIR_ROWS;
    int64_t rows = rer_min(PAIR_ROWS, C - first);
    rer_multiply_f64(product, C, u + first * D, u, rows, C, D);
    for (int64_t c = first; c < first + rows; c++)
        for (int64_t k = 0; k < C; k++) {
            double m = norm[c] + norm[k] - 2 * product[(c - first) * C + k];
            m = c == k || m < 0 ? 0 : m;
            if (centroid->in_double)
                ((double *)centroid->pairs)[c * C + k] = m;
            else
                ((float *)centroid->pairs)[c * C + k] = (float)m;
        }
    return RER_OK;
}

static void clear_exact(rer_centroid *centroid)
{
    RER_FREE_ALL(centroid->exact_u, centroid->exact_norm);
    centroid->exact_u = centroid->exact_norm = NULL;
}

rer_status rer_centroid_set_pairs(rer_centroid *centroids, int count, rer_pool *pool, rer_error *error)
{
    int64_t C = centroids[0].C;
    pairs_job pairs = {.centroids = centroids, .blocks = (C + PAIR_ROWS - 1) / PAIR_ROWS};
    rer_job job = {.stage = "fitting",
                   .items = count * pairs.blocks,
                   .scratch = PAIR_ROWS * C * (int64_t)sizeof(double),
                   .work = make_pairs,
                   .context = &pairs};
    rer_status status = RER_OK;
    bool wanted = C <= RER_CENTROID_PAIRS_MAX;
    for (int i = 0; wanted && status == RER_OK && i < count; i++) {
        int64_t size = centroids[i].in_double ? sizeof(double) : sizeof(float);
        status = rer_allocate(&centroids[i].pairs, C * C, size, "distances between classes", error);
    }
    if (wanted && status == RER_OK)
        status = rer_pool_run(pool, &job, error);
    for (int i = 0; i < count; i++) {
        clear_exact(&centroids[i]);
        if (status != RER_OK)
            rer_centroid_clear(&centroids[i]);
    }
    return status;
}

/* u [C, D] <- u root' */
static rer_status multiply_by_root(const rer_centroid *centroid, double *u, rer_error *error)
{
    int64_t C = centroid->C, D = centroid->D;
    if (!centroid->rough) {
        rer_multiply_triangle_f64(u, centroid->root, C, D);
        return RER_OK;
    }
    float *real = to_float(u, C * D, error);
    if (real == NULL)
        return RER_SYSTEM;
    rer_multiply_triangle_f32(real, centroid->root_real, C, D);
    for (int64_t i = 0; i < C * D; i++)
        u[i] = (double)real[i];
    free(real);
    return RER_OK;
}

/* The part of every metric that a loaded model repeats: from root and weight on. */
static rer_status finish_metric(rer_centroid *centroid, rer_error *error)
{
    int64_t C = centroid->C, D = centroid->D;
    if (!rer_backend_enter())
        return rer_fail(error, RER_SYSTEM, "out of memory: buffers for the metric");
    rer_room rooms[] = {RER_ROOM(centroid->exact_u, (C + 1) * D), RER_ROOM(centroid->exact_norm, C)};
    rer_status status = rer_allocate_all(rooms, RER_COUNT(rooms), "class means in the metric", error);
    double *u = centroid->exact_u, *norm = centroid->exact_norm;
    if (status != RER_OK) {
        rer_centroid_clear(centroid);
        return status;
    }
    for (int64_t c = 0; c < C; c++)
        for (int64_t j = 0; j < D; j++)
            u[c * D + j] = centroid->mean[c * D + j] - centroid->grand[j];
    if (centroid->root != NULL && !centroid->rough) {
        centroid->root_real = centroid->in_double ? centroid->root : to_float(centroid->root, D * D, error);
        status = centroid->root_real != NULL ? RER_OK : RER_SYSTEM;
    }
    if (status == RER_OK && centroid->root_real != NULL)
        status = multiply_by_root(centroid, u, error);
    for (int64_t c = 0; c < C; c++)
        for (int64_t j = 0; j < D; j++)
            norm[c] += u[c * D + j] * u[c * D + j];
    RER_THEN(status, copy_real(&centroid->u, u, (C + 1) * D, centroid->in_double, error));
    RER_THEN(status, copy_real(&centroid->norm, norm, C, centroid->in_double, error));
    if (status != RER_OK)
        rer_centroid_clear(centroid);
    return status;
}

static rer_status fail_singular(double a, rer_error *error)
{
    return rer_fail(error, RER_BAD_INPUT,
                    "--shrinkage %g: the within-class covariance is singular (constant or duplicated features, or "
                    "fewer samples than features); use --shrinkage auto or a value above 0",
                    a);
}

/* S_a = weight scatter + ridge I */
typedef struct shrunk_covariance {
    const double *scatter;
    int64_t D;
    double weight, ridge; /* (1 - a) / dof, a tau */
} shrunk_covariance;

static shrunk_covariance shrink(const rer_centroid *centroid, const double *scatter, double dof, double a)
{
    int64_t D = centroid->D;
    double trace = 0;
    for (int64_t j = 0; j < D; j++)
        trace += scatter[j * D + j];
    return (shrunk_covariance){scatter, D, (1 - a) / dof, a * (trace / dof / (double)centroid->columns)};
}

static double entry(const shrunk_covariance *s, int64_t j, int64_t k)
{
    return s->weight * s->scatter[j * s->D + k] + (j == k ? s->ridge : 0);
}

/* All but the pairs. */
static rer_status set_exact_metric(rer_centroid *centroid, const double *scatter, double dof, double a,
                                   rer_error *error)
{
    int64_t D = centroid->D;
    if (scatter == NULL)
        return finish_metric(centroid, error);
    const shrunk_covariance shrunk = shrink(centroid, scatter, dof, a);
    if (!rer_backend_enter())
        return rer_fail(error, RER_SYSTEM, "out of memory: buffers for the metric");
    RER_TRY(rer_allocate(&centroid->root, D * D, sizeof(double), "the covariance", error));
    for (int64_t j = 0; j < D; j++)
        for (int64_t k = 0; k <= j; k++)
            centroid->root[j * D + k] = entry(&shrunk, j, k);
    double pivot = rer_invert_cholesky_f64(centroid->root, D);
    /* The scatter was summed in float: pivots below its rounding are zero. */
    if (pivot <= 0 || (a == 0 && pivot < (double)D * 1e-7)) {
        rer_centroid_clear(centroid);
        return fail_singular(a, error);
    }
    centroid->weight = shrunk.weight;
    return finish_metric(centroid, error);
}

rer_status rer_centroid_set_metric(rer_centroid *centroid, const double *scatter, double dof, double a, rer_pool *pool,
                                   rer_error *error)
{
    rer_status status = set_exact_metric(centroid, scatter, dof, a, error);
    return status == RER_OK ? rer_centroid_set_pairs(centroid, 1, pool, error) : status;
}

rer_status rer_centroid_set_rough_metric(rer_centroid *centroid, const double *scatter, double dof, double a,
                                         rer_error *error)
{
    int64_t D = centroid->D;
    const shrunk_covariance shrunk = shrink(centroid, scatter, dof, a);
    float *root = NULL;
    if (centroid->in_double)
        return set_exact_metric(centroid, scatter, dof, a, error);
    if (!rer_backend_enter())
        return rer_fail(error, RER_SYSTEM, "out of memory: buffers for the metric");
    rer_status status = RER_OK;
    RER_TRY(rer_allocate(&root, D * D, sizeof(float), "the covariance", error));
    for (int64_t j = 0; j < D; j++)
        for (int64_t k = 0; k <= j; k++)
            root[j * D + k] = (float)entry(&shrunk, j, k);
    if (rer_invert_cholesky_f32(root, D) <= 0) { /* too much for float */
        free(root);
        return set_exact_metric(centroid, scatter, dof, a, error);
    }
    centroid->rough = true;
    centroid->root_real = root;
    centroid->weight = shrunk.weight;
    if (centroid->groups != NULL) /* which are left out in double */
        status = rer_allocate(&centroid->root, D * D, sizeof(double), "the covariance", error);
    if (status != RER_OK) {
        rer_centroid_clear(centroid);
        return status;
    }
    for (int64_t i = 0; centroid->root != NULL && i < D * D; i++)
        centroid->root[i] = (double)root[i];
    return finish_metric(centroid, error);
}

void rer_centroid_clear(rer_centroid *centroid)
{
    if (!centroid->in_double)
        free(centroid->root_real);
    clear_exact(centroid);
    RER_FREE_ALL(centroid->root, centroid->u, centroid->norm, centroid->pairs);
    centroid->root = NULL;
    centroid->root_real = centroid->u = centroid->norm = centroid->pairs = NULL;
    centroid->rough = false;
}

/* ---- fitting ----------------------------------------------------------------------------- */

void rer_centroid_model_free(void *state)
{
    centroid_state *self = state;
    if (self == NULL)
        return;
    rer_centroid_clear(&self->centroid);
    rer_class_moments_free(&self->moments);
    rer_groups_free(self->groups);
    free(self);
}

rer_centroid *rer_centroid_of(void *state)
{
    return &((centroid_state *)state)->centroid;
}

/* Rows whose classes are all constant have no scatter: the identity takes its place. */
static bool has_scatter(const double *scatter, int64_t D)
{
    double trace = 0;
    for (int64_t j = 0; j < D; j++)
        trace += scatter[j * D + j];
    return trace > 0;
}

/* The metric of a given or chosen shrinkage, or the identity. */
static rer_status set_metric(rer_model *model, rer_centroid *centroid, const double *scatter, double dof,
                             const rer_row_sample *sample, const rer_run *run, rer_error *error)
{
    model->shrinkage = scatter == NULL ? NAN : run->options->shrinkage;
    if (scatter == NULL || run->options->shrinkage >= 0)
        return rer_centroid_set_metric(centroid, scatter, dof, run->options->shrinkage, run->pool, error);
    return rer_centroid_choose(&model->shrinkage, centroid, scatter, dof, sample, run, error);
}

static rer_status fit_metric(rer_model *model, rer_row_sample *sample, centroid_state *state, const rer_run *run,
                             rer_error *error)
{
    double *scatter = NULL, dof = (double)(state->moments.labelled - run->C);
    const rer_class_moments *moments = &state->moments;
    bool whiten = model->normalizer.kind == RER_WHITEN;
    const int64_t *usable = state->groups != NULL ? state->groups->usable : moments->n;
    rer_status status = rer_row_sample_pick(sample, run, usable, rer_row_sample_size(run), error);
    if (status == RER_OK && whiten)
        status = rer_allocate(&scatter, run->D * run->D, sizeof(double), "the covariance", error);
    RER_THEN(status, rer_within_scatter(scatter, sample, moments, &model->normalizer, run, error));
    if (status == RER_OK && whiten && !has_scatter(scatter, run->D)) {
        free(scatter);
        scatter = NULL;
    }
    RER_THEN(status, set_metric(model, &state->centroid, scatter, dof, sample, run, error));
    free(scatter);
    return status;
}

rer_status rer_centroid_fit(rer_model *model, rer_row_sample *sample, const rer_run *run, rer_adjust_means *adjust,
                            rer_error *error)
{
    centroid_state *state = NULL;
    rer_status status = rer_allocate(&state, 1, sizeof *state, "the model", error);
    RER_THEN(status, rer_class_means(&state->moments, &model->normalizer, run, error));
    RER_THEN(status, rer_check_classes(&state->moments, run, error));
    if (status == RER_OK && adjust != NULL)
        status = adjust(&state->moments, &model->normalizer, run, error);
    if (status == RER_OK && run->groups != NULL)
        status = rer_groups_make(&state->groups, &state->moments, &model->normalizer, run, error);
    if (status == RER_OK) {
        state->centroid = (rer_centroid){
            .D = run->D,
            .columns = run->columns,
            .C = run->C,
            .mean = state->moments.mean,
            .grand = state->moments.grand,
            .n = state->moments.n,
            .in_double = state->moments.labelled < 4 * run->D,
            .in_sample = adjust != NULL,
            .groups = state->groups,
        };
        memcpy(model->n, state->moments.n, (size_t)run->C * sizeof *model->n);
        model->N = state->moments.labelled;
        status = fit_metric(model, sample, state, run, error);
    }
    if (status != RER_OK) {
        rer_centroid_model_free(state);
        return status;
    }
    model->state = state;
    return RER_OK;
}

/* ---- scoring ----------------------------------------------------------------------------- */

int64_t rer_centroid_model_scratch(const rer_model *model, int64_t rows)
{
    return rer_centroid_scratch(&((const centroid_state *)model->state)->centroid, rows);
}

void rer_centroid_model_prepare(const rer_model *model, const rer_run *run, const rer_block *block, bool left_out,
                                rer_scratch scratch)
{
    rer_centroid_prepare(&((const centroid_state *)model->state)->centroid, run->kernels, block, left_out, scratch);
}

void rer_centroid_model_errors(const rer_model *model, const rer_run *run, const rer_block *block, int32_t first,
                               int32_t classes, float *d2, rer_scratch scratch)
{
    rer_centroid_tile(&((const centroid_state *)model->state)->centroid, run->kernels, block, first, classes, d2,
                      scratch);
}

/* ---- saving ------------------------------------------------------------------------------ */

void rer_centroid_model_save(const rer_model *model, rer_tensors *tensors)
{
    const rer_centroid *centroid = &((const centroid_state *)model->state)->centroid;
    int64_t C = model->C, D = model->D;
    rer_tensors_add(tensors, "centroid.mean", RER_F64, RER_SHAPE(C, D), centroid->mean);
    rer_tensors_add(tensors, "centroid.grand_mean", RER_F64, RER_SHAPE(D), centroid->grand);
    if (centroid->root != NULL)
        rer_tensors_add(tensors, "centroid.root", RER_F64, RER_SHAPE(D, D), centroid->root);
    rer_tensors_set_number(tensors, "centroid.weight", centroid->weight);
    rer_tensors_set_number(tensors, "centroid.in_double", centroid->in_double);
}

static rer_status load_state(centroid_state *state, const rer_model *model, rer_tensors *tensors, rer_error *error)
{
    int64_t C = model->C, D = model->D;
    rer_class_moments *moments = &state->moments;
    RER_TRY(rer_allocate(&moments->n, C, sizeof *moments->n, "class sizes", error));
    memcpy(moments->n, model->n, (size_t)C * sizeof *model->n);
    moments->labelled = model->N;
    moments->mean = rer_tensors_copy(tensors, "centroid.mean", RER_F64, RER_SHAPE(C, D));
    moments->grand = rer_tensors_copy(tensors, "centroid.grand_mean", RER_F64, RER_SHAPE(D));
    state->centroid =
        (rer_centroid){.D = D, .C = model->C, .mean = moments->mean, .grand = moments->grand, .n = moments->n};
    /* The metric is there exactly where a shrinkage is: without it the model would be another one. */
    if (!isnan(model->shrinkage))
        state->centroid.root = rer_tensors_copy(tensors, "centroid.root", RER_F64, RER_SHAPE(D, D));
    state->centroid.weight = rer_tensors_number(tensors, "centroid.weight");
    state->centroid.in_double = rer_tensors_number(tensors, "centroid.in_double") != 0;
    RER_TRY(rer_tensors_status(tensors, error));
    RER_TRY(finish_metric(&state->centroid, error));
    return rer_centroid_set_pairs(&state->centroid, 1, NULL, error);
}

rer_status rer_centroid_model_load(rer_model *model, rer_tensors *tensors, rer_error *error)
{
    centroid_state *state = NULL;
    rer_status status = rer_allocate(&state, 1, sizeof *state, "the model", error);
    RER_THEN(status, load_state(state, model, tensors, error));
    if (status != RER_OK) {
        rer_centroid_model_free(state);
        return status;
    }
    model->state = state;
    return RER_OK;
}

static rer_status fit(rer_model *model, rer_row_sample *sample, const rer_run *run, rer_error *error)
{
    return rer_centroid_fit(model, sample, run, NULL, error);
}

const rer_reconstructor rer_centroid_reconstructor = {
    .name = "centroid",
    .normalize = RER_WHITEN,
    .is_closed_form = true,
    .exponent = 1, /* the square of a mean's error falls with 1 / n */
    .fit = fit,
    .scratch = rer_centroid_model_scratch,
    .prepare = rer_centroid_model_prepare,
    .errors = rer_centroid_model_errors,
    .save = rer_centroid_model_save,
    .load = rer_centroid_model_load,
    .free = rer_centroid_model_free,
};
