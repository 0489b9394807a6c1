/* Principal directions of each class, and of each class without a fold (fit/folds.h), in double:
 *   1. T = residuals of the rows to their class mean, in the metric; m = their mean over the rows
 *      that are fitted on, so that w = u_c + m;
 *   2. the top eigenvectors of the scatter sum (T - m)(T - m)' [D, D] or, where rows are fewer than
 *      features, of the Gram matrix (T - m)'(T - m) [n, n], turned into directions by (T - m);
 *   3. rows that the fit has not seen get their own error, at all ranks at once since bases are
 *      nested:  v = T - m, p = V v, q = V T,  e^2 = v^2 - p^2, e.T = v.T - p.q,  own = e^2 + gain (e.T)^2,
 *      gain = beta / den of fit/centroid_rows.c: the row is left out of the metric too. */
#include "fit/folds.h"
#include "fit/subspace/subspace.h"

typedef struct fit_pass {
    const rer_run *run;
    const rer_normalizer *normalizer;
    const rer_centroid *centroid;
    const rer_fold_plan *plan;
    rer_subspace *subspace;
    const int32_t *ranks; /* [count] ascending */
    int count;
    int32_t most; /* the last of them */
    float *own;   /* [N, count] */
} fit_pass;

typedef struct fit_scratch {
    int64_t *rows;   /* [2, largest class] */
    double *t;       /* [rows_kept, D] */
    double *square;  /* [m, m] scatter or Gram matrix, m = min(largest class, D) */
    double *vectors; /* [most, m] */
    double *values;  /* [most] */
    double *mean;    /* [D] m */
    double *basis;   /* [most, D] */
    double *shift;   /* [most] V m */
    double *q;       /* [RER_BLOCK, most] */
    float *x;        /* [D] */
    void *read;
} fit_scratch;

static int64_t rows_kept(const fit_pass *pass)
{
    int64_t largest = rer_fold_largest(pass->plan);
    return rer_max(rer_min(largest, pass->run->D), rer_min(largest, RER_BLOCK));
}

static fit_scratch lay_out(const fit_pass *pass, rer_scratch *scratch)
{
    int64_t largest = rer_fold_largest(pass->plan), D = pass->run->D, m = rer_min(largest, D), most = pass->most;
    fit_scratch parts;
    parts.rows = rer_take(scratch, 2 * largest, sizeof *parts.rows);
    parts.t = rer_take(scratch, rows_kept(pass) * D, sizeof *parts.t);
    parts.square = rer_take(scratch, m * m, sizeof *parts.square);
    parts.vectors = rer_take(scratch, most * m, sizeof *parts.vectors);
    parts.values = rer_take(scratch, most, sizeof *parts.values);
    parts.mean = rer_take(scratch, D, sizeof *parts.mean);
    parts.basis = rer_take(scratch, most * D, sizeof *parts.basis);
    parts.shift = rer_take(scratch, most, sizeof *parts.shift);
    parts.q = rer_take(scratch, RER_BLOCK * most, sizeof *parts.q);
    parts.x = rer_take(scratch, D, sizeof *parts.x);
    parts.read = rer_take(scratch, rer_dataset_scratch(pass->run->data, 1), 1);
    return parts;
}

/* parts->t [count, D]: the rows' residuals to the mean of class c, in the metric. */
static rer_status load_residuals(const fit_pass *pass, fit_scratch *parts, int32_t c, const int64_t *rows,
                                 int64_t count, rer_error *error)
{
    const rer_run *run = pass->run;
    int64_t D = run->D;
    for (int64_t i = 0; i < count; i++) {
        RER_TRY(rer_dataset_rows_read(run->data, rows[i], 1, parts->x, parts->read, error));
        double scale = rer_normalize_row(pass->normalizer, parts->x, D, run->kernels->sum_squares(parts->x, D));
        run->kernels->residual_f64(parts->t + i * D, parts->x, scale, pass->centroid->mean + c * D, D);
    }
    if (pass->centroid->root != NULL)
        rer_multiply_triangle_f64(parts->t, pass->centroid->root, count, D);
    return RER_OK;
}

/* mean += the sum of the rows; returns the sum of their squares. */
static double add_rows(double *mean, const double *t, int64_t count, int64_t D)
{
    double squares = 0;
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < D; j++) {
            mean[j] += t[i * D + j];
            squares += t[i * D + j] * t[i * D + j];
        }
    return squares;
}

/* ---- directions -------------------------------------------------------------------------- */

static rer_status fail_eigenvectors(const fit_pass *pass, int32_t c, rer_error *error)
{
    return rer_fail(error, RER_SYSTEM, "class '%s': no memory for its principal directions, or they do not converge",
                    rer_run_class_name(pass->run, c));
}

/* Few rows: k directions from the Gram matrix. */
static rer_status fit_gram(const fit_pass *pass, fit_scratch *parts, const rer_fold_task *task, int64_t k,
                           double *squares, rer_error *error)
{
    int64_t D = pass->run->D, n = task->n_fit;
    RER_TRY(load_residuals(pass, parts, task->class, task->fit, n, error));
    *squares = add_rows(parts->mean, parts->t, n, D);
    for (int64_t j = 0; j < D; j++)
        parts->mean[j] /= (double)n;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < D; j++)
            parts->t[i * D + j] -= parts->mean[j];
    if (k == 0)
        return RER_OK;
    rer_multiply_f64(parts->square, n, parts->t, parts->t, n, n, D);
    if (!rer_top_eigenvectors(parts->values, parts->vectors, parts->square, n, k))
        return fail_eigenvectors(pass, task->class, error);
    rer_gemm_f64(false, false, k, D, n, parts->vectors, parts->t, parts->basis);
    return RER_OK;
}

/* More rows than features: from the scatter, summed block by block. */
static rer_status fit_scatter(const fit_pass *pass, fit_scratch *parts, const rer_fold_task *task, int64_t k,
                              double *squares, rer_error *error)
{
    int64_t D = pass->run->D, n = task->n_fit;
    memset(parts->square, 0, (size_t)(D * D) * sizeof(double));
    for (int64_t first = 0; first < n; first += RER_BLOCK) {
        int64_t count = rer_min(RER_BLOCK, n - first);
        RER_TRY(load_residuals(pass, parts, task->class, task->fit + first, count, error));
        RER_TRY(rer_pool_pulse(pass->run->pool, error));
        *squares += add_rows(parts->mean, parts->t, count, D);
        if (k > 0)
            rer_add_rank_update_f64(parts->square, parts->t, count, D);
    }
    for (int64_t j = 0; j < D; j++)
        parts->mean[j] /= (double)n;
    for (int64_t i = 0; i < D; i++)
        for (int64_t j = 0; j <= i; j++)
            parts->square[i * D + j] -= (double)n * parts->mean[i] * parts->mean[j];
    return rer_top_eigenvectors(parts->values, parts->basis, parts->square, D, k)
               ? RER_OK
               : fail_eigenvectors(pass, task->class, error);
}

/* Unit length for the k directions that are there; zeros for those without variance and past k.
 * `noise` is what rounding alone can make an eigenvalue. */
static void clean_basis(const fit_pass *pass, fit_scratch *parts, int64_t k, double noise)
{
    int64_t D = pass->run->D;
    for (int64_t j = 0; j < pass->most; j++) {
        double *direction = parts->basis + j * D;
        bool is_there = j < k && parts->values[j] > noise && parts->values[j] > 1e-10 * parts->values[0];
        double square = is_there ? pass->run->kernels->dot_f64(direction, direction, D) : 0;
        double factor = square > 0 ? 1 / sqrt(square) : 0;
        for (int64_t d = 0; d < D; d++)
            direction[d] = factor > 0 ? factor * direction[d] : 0;
    }
}

static rer_status fit_rows(const fit_pass *pass, fit_scratch *parts, const rer_fold_task *task, rer_error *error)
{
    int64_t D = pass->run->D, n = task->n_fit, k = rer_min(pass->most, rer_max(0, n - 1));
    const double *u = pass->subspace->reference + task->class * D;
    double squares = 0;
    memset(parts->mean, 0, (size_t)D * sizeof(double));
    if (n > D)
        RER_TRY(fit_scatter(pass, parts, task, k, &squares, error));
    else if (n > 0)
        RER_TRY(fit_gram(pass, parts, task, k, &squares, error));
    clean_basis(pass, parts, k, 1e-20 * (squares + (double)n * pass->run->kernels->dot_f64(u, u, D)));
    return RER_OK;
}

/* ---- what becomes of a fit --------------------------------------------------------------- */

/* The own errors of one row, T [D] and q [most], at each rank. */
static void own_errors(const fit_pass *pass, const fit_scratch *parts, int32_t c, const double *t, const double *q,
                       float *own)
{
    int64_t D = pass->run->D;
    double square = pass->run->kernels->dot_f64(t, t, D), e2 = 0, e_t = 0;
    double gain = rer_centroid_gain(pass->centroid, c, square);
    for (int64_t d = 0; d < D; d++) {
        double v = t[d] - parts->mean[d];
        e2 += v * v;
        e_t += v * t[d];
    }
    int32_t used = 0;
    for (int i = 0; i < pass->count; i++) {
        for (; used < pass->ranks[i]; used++) {
            double p = q[used] - parts->shift[used];
            e2 -= p * p;
            e_t -= p * q[used];
        }
        own[i] = (float)((e2 > 0 ? e2 : 0) + gain * e_t * e_t);
    }
}

static rer_status score_rows(const fit_pass *pass, fit_scratch *parts, int32_t c, const int64_t *rows, int64_t count,
                             rer_error *error)
{
    int64_t D = pass->run->D, most = pass->most;
    for (int64_t j = 0; j < most; j++)
        parts->shift[j] = pass->run->kernels->dot_f64(parts->basis + j * D, parts->mean, D);
    for (int64_t first = 0; first < count; first += RER_BLOCK) {
        int64_t some = rer_min(RER_BLOCK, count - first);
        RER_TRY(load_residuals(pass, parts, c, rows + first, some, error));
        if (most > 0)
            rer_multiply_f64(parts->q, most, parts->t, parts->basis, some, most, D);
        for (int64_t i = 0; i < some; i++)
            own_errors(pass, parts, c, parts->t + i * D, parts->q + i * most,
                       pass->own + rows[first + i] * pass->count);
    }
    return RER_OK;
}

static void keep_model(const fit_pass *pass, const fit_scratch *parts, int32_t c)
{
    rer_subspace *subspace = pass->subspace;
    int64_t D = subspace->D;
    const rer_real *real = rer_subspace_real(subspace);
    for (int64_t d = 0; d < D; d++)
        subspace->center[c * D + d] = subspace->reference[c * D + d] + parts->mean[d];
    for (int64_t j = 0; j < pass->most; j++)
        real->from_double(rer_real_at(real, subspace->basis, (j * subspace->C + c) * D), parts->basis + j * D, D);
}

static rer_status fit_task(void *context, int64_t item, void *memory, rer_error *error)
{
    const fit_pass *pass = context;
    rer_scratch scratch = rer_pool_scratch(pass->run->pool, memory);
    fit_scratch parts = lay_out(pass, &scratch);
    rer_fold_task task = rer_fold_task_of(pass->plan, item, parts.rows);
    if (!task.is_model && (task.n_fit == 0 || task.n_held == 0))
        return RER_OK; /* a row alone in its class has no fit without it */
    RER_TRY(fit_rows(pass, &parts, &task, error));
    if (task.is_model)
        keep_model(pass, &parts, task.class);
    if (!task.is_model)
        return score_rows(pass, &parts, task.class, task.held, task.n_held, error);
    if (pass->plan->folds > 1)
        return RER_OK;
    const rer_class_rows *classes = &pass->plan->classes; /* in-sample */
    return score_rows(pass, &parts, task.class, classes->rows + classes->start[task.class],
                      rer_class_size(classes, task.class), error);
}

rer_status rer_subspace_fit_classes(rer_subspace *subspace, float *own, const int32_t *ranks, int count,
                                    const rer_normalizer *normalizer, const rer_run *run, rer_error *error)
{
    rer_fold_plan plan = {0};
    fit_pass pass = {
        .run = run,
        .normalizer = normalizer,
        .centroid = rer_centroid_of(subspace->metric),
        .plan = &plan,
        .subspace = subspace,
        .ranks = ranks,
        .count = count,
        .most = ranks[count - 1],
        .own = own,
    };
    rer_status status = rer_fold_plan_make(&plan, run, error);
    RER_THEN(status, rer_allocate(&subspace->center, run->C, run->D * (int64_t)sizeof(double), "class means", error));
    RER_THEN(status, rer_allocate(&subspace->basis, (int64_t)pass.most * run->C,
                                  run->D * (int64_t)rer_subspace_real(subspace)->size, "principal directions", error));
    if (status == RER_OK) {
        rer_scratch measure = RER_MEASURE;
        (void)lay_out(&pass, &measure);
        rer_job job = {
            .stage = "fitting subspaces",
            .from = .46,
            .to = .47,
            .items = rer_fold_tasks(&plan),
            .scratch = measure.used,
            .work = fit_task,
            .context = &pass,
        };
        status = rer_pool_run(run->pool, &job, error);
    }
    rer_fold_plan_free(&plan);
    return status;
}
