/* The minimum, in steps:
 *   1. whiten: H = X'X / (n C) + penalty, the Hessian at W = 0 and, up to a factor, near the minimum;
 *      H = (G'G)^-1 with a lower triangle G, and L-BFGS works on V with W = V G: a fraction of the steps;
 *   2. L-BFGS for all folds side by side. An evaluation is one pass over the rows: a block's products
 *      with the weights of all folds but its own (float), softmax, residuals, and their products with the
 *      block, which are added up in double, in block order. */
#include "detect/logistic.h"

#include "backend/device.h"
#include "run/passes.h"
#include "stats/minimize.h"

/* Long rows may take 300 to the minimum, but rank wrong labels as well after these: AUROC within .0025 on measured
 * features of 100 classes. scikit-learn ends after 100 that are not whitened. */
#define ITERATIONS 40
#define WHITENED_MOST 4096 /* features; beyond, G is a diagonal */
/* Where the gradient (with respect to V, whose Hessian is near the mean of 1 - p, p of a row's label) leaves less than
 * this share of the objective to be gained, and none of its parts (with respect to W) is above the second: done. */
#define GAIN_LEFT 2e-7
#define GRADIENT_LEFT 1e-4

typedef struct training {
    rer_logistic *model;
    const rer_run *run;
    double penalty[RER_LOGISTIC_FOLDS]; /* 1 / (C n) */
    double *g;                          /* [D, D] lower or, where D is large, [D] */
    bool is_diagonal;
    double bias_scale; /* b = bias_scale v */
    bool elsewhere;    /* the run's passes make the sums of an evaluation */
    double excess[RER_LOGISTIC_FOLDS],
        first[RER_LOGISTIC_FOLDS]; /* the gradient over what may be left: least, at first */
    /* Of one evaluation: */
    rer_problem *const *wanted;
    int32_t count;     /* A of them */
    float *w, *bias;   /* [A, C, D], [A, C] */
    double *sum;       /* [A, C, D] of the gradient */
    double *bias_sum;  /* [A, C] */
    double *loss;      /* [A] */
    double *missing;   /* [A] sum of 1 - p of the labels */
    int32_t *in_folds; /* [folds] place of a fold among those wanted, or -1 */
} training;

/* ---- 1. whitening --------------------------------------------------------------------------- */

/* The sum of a block's squares, at the start; then its rows. */
static float *lay_out_square(rer_scratch *rows, const training *t, rer_scratch *scratch)
{
    float *w = rer_take(scratch, t->is_diagonal ? t->run->D : t->run->D * t->run->D, sizeof *w);
    *rows = rer_features_take(&t->model->features, t->model->block_rows, scratch);
    return w;
}

static rer_status square_block(void *context, int64_t item, void *memory, rer_error *error)
{
    training *t = context;
    const rer_fold_block *block = &t->model->blocks[item];
    int64_t D = t->run->D;
    rer_scratch scratch = rer_pool_scratch(t->run->pool, memory), rows;
    float *w = lay_out_square(&rows, t, &scratch);
    const float *x = NULL;
    RER_TRY(rer_features_rows(&x, &t->model->features, block->first, block->count, rows, error));
    if (!t->is_diagonal) {
        rer_rank_update(w, x, block->count, D);
        return RER_OK;
    }
    memset(w, 0, (size_t)D * sizeof *w);
    for (int64_t i = 0; i < block->count; i++)
        for (int64_t j = 0; j < D; j++)
            w[j] += x[i * D + j] * x[i * D + j];
    return RER_OK;
}

static rer_status commit_square(void *context, int64_t item, void *scratch, rer_error *error)
{
    training *t = context;
    int64_t D = t->run->D;
    const float *w = scratch;
    (void)item, (void)error;
    if (t->is_diagonal)
        t->run->kernels->add_block(t->g, w, D);
    for (int64_t j = 0; !t->is_diagonal && j < D; j++)
        t->run->kernels->add_block(t->g + j * D, w + j * D, j + 1);
    return RER_OK;
}

static rer_status whiten(training *t, double penalty, double scale, rer_error *error)
{
    int64_t D = t->run->D, values = t->is_diagonal ? D : D * D, stride = t->is_diagonal ? 1 : D + 1;
    double trace = 0;
    RER_TRY(rer_allocate(&t->g, values, sizeof *t->g, "the whitening of features", error));
    rer_scratch measure = RER_MEASURE, rows;
    (void)lay_out_square(&rows, t, &measure);
    rer_job job = {.stage = "fitting logistic regression",
                   .from = .01, /* the rows are there */
                   .to = .01,
                   .items = t->model->n_labelled_blocks,
                   .scratch = measure.used,
                   .work = square_block,
                   .commit = commit_square,
                   .context = t};
    RER_TRY(rer_pool_run(t->run->pool, &job, error));
    for (int64_t i = 0; i < values; i++)
        t->g[i] *= scale;
    for (int64_t j = 0; j < D; j++)
        trace += t->g[j * stride];
    /* What float sums cannot tell from 0 must not be blown up. */
    double ridge = fmax(penalty, 1e-6 * trace / (double)D);
    for (int64_t j = 0; j < D; j++)
        t->g[j * stride] += ridge;
    for (int64_t j = 0; t->is_diagonal && j < D; j++)
        t->g[j] = 1 / sqrt(t->g[j]);
    if (!t->is_diagonal && rer_invert_cholesky_f64(t->g, D) <= 0)
        return rer_fail(error, RER_BAD_INPUT, "%s: the covariance of the features cannot be inverted",
                        t->run->data->features.name);
    return RER_OK;
}

/* ---- 2. an evaluation ----------------------------------------------------------------------- */

/* r [C, D] <- r G, or r G' with `back`. */
static void apply_whitening(double *r, const training *t, bool back)
{
    int64_t C = t->run->C, D = t->run->D;
    if (!t->is_diagonal && back)
        rer_multiply_triangle_f64(r, t->g, C, D);
    else if (!t->is_diagonal)
        rer_multiply_triangle_back_f64(r, t->g, C, D);
    for (int64_t c = 0; t->is_diagonal && c < C; c++)
        for (int64_t j = 0; j < D; j++)
            r[c * D + j] *= t->g[j];
}

/* Weights and bias at v, whose first C D numbers are destroyed in `room`. */
static void set_weights(float *w, float *bias, const training *t, int32_t fold, const double *v, double *room)
{
    int64_t C = t->run->C, D = t->run->D;
    const bool *present = t->model->present + fold * C;
    if (room != v)
        memcpy(room, v, (size_t)(C * D) * sizeof *room);
    apply_whitening(room, t, false);
    for (int64_t i = 0; i < C * D; i++)
        w[i] = (float)room[i];
    for (int64_t c = 0; c < C; c++)
        bias[c] = present[c] ? (float)(t->bias_scale * v[C * D + c]) : -INFINITY;
}

static rer_status prepare_problem(void *context, int64_t item, void *scratch, rer_error *error)
{
    training *t = context;
    const rer_problem *problem = t->wanted[item];
    int64_t C = t->run->C, D = t->run->D;
    (void)scratch, (void)error;
    set_weights(t->w + item * C * D, t->bias + item * C, t, problem->index, problem->at, problem->gradient);
    memset(t->sum + item * C * D, 0, (size_t)(C * D) * sizeof *t->sum);
    memset(t->bias_sum + item * C, 0, (size_t)C * sizeof *t->bias_sum);
    t->loss[item] = t->missing[item] = 0;
    return RER_OK;
}

/* What a block adds, in the scratch of its worker. */
typedef struct block_part {
    int32_t others;   /* A' problems that it counts for: all but its own fold's */
    float *z;         /* [rows, A', C] products, then residuals p - (label) */
    float *gradient;  /* [A', C, D] */
    double *bias_sum; /* [A', C] */
    double *loss;     /* [A'] */
    double *missing;  /* [A'] */
    rer_scratch rows;
} block_part;

static block_part lay_out_part(const training *t, int32_t others, rer_scratch *scratch)
{
    int64_t C = t->run->C;
    block_part part = {.others = others};
    (void)rer_take(scratch, 1, sizeof part);
    part.z = rer_take(scratch, t->model->block_rows * others * C, sizeof *part.z);
    part.gradient = rer_take(scratch, others * C * t->run->D, sizeof *part.gradient);
    part.bias_sum = rer_take(scratch, others * C, sizeof *part.bias_sum);
    part.loss = rer_take(scratch, others, sizeof *part.loss);
    part.missing = rer_take(scratch, others, sizeof *part.missing);
    part.rows = rer_features_take(&t->model->features, t->model->block_rows, scratch);
    return part;
}

/* Products become residuals; their sums and the loss are added up. */
static void make_residuals(block_part *part, const training *t, const rer_fold_block *block, int32_t own)
{
    const rer_run *run = t->run;
    int64_t C = run->C;
    for (int64_t i = 0; i < block->count; i++) {
        int32_t label = run->given[t->model->order[block->first + i]];
        for (int32_t a = 0; a < part->others; a++) {
            float *z = part->z + (i * part->others + a) * C;
            const float *bias = t->bias + (own >= 0 && a >= own ? a + 1 : a) * C;
            float score = z[label] + bias[label]; /* rounded as softmax does: the loss is a small difference */
            part->loss[a] += run->kernels->softmax(z, bias, C) - (double)score;
            z[label] -= 1;
            part->missing[a] -= (double)z[label];
            run->kernels->add_block(part->bias_sum + a * C, z, C);
        }
    }
}

static rer_status pass_block(void *context, int64_t item, void *memory, rer_error *error)
{
    training *t = context;
    const rer_fold_block *block = &t->model->blocks[item];
    int64_t C = t->run->C, D = t->run->D;
    int32_t own = t->in_folds[block->fold], others = own >= 0 ? t->count - 1 : t->count;
    int32_t below = own >= 0 ? own : t->count;
    rer_scratch scratch = rer_pool_scratch(t->run->pool, memory);
    const float *x = NULL;
    block_part *part = memory;
    *part = lay_out_part(t, others, &scratch);
    if (others == 0)
        return RER_OK;
    RER_TRY(rer_features_rows(&x, &t->model->features, block->first, block->count, part->rows, error));
    int64_t stride = others * C;
    memset(part->bias_sum, 0, (size_t)stride * sizeof *part->bias_sum);
    memset(part->loss, 0, (size_t)others * sizeof *part->loss);
    memset(part->missing, 0, (size_t)others * sizeof *part->missing);
    if (below > 0)
        rer_multiply_f32(part->z, stride, x, t->w, block->count, below * C, D);
    if (below < others)
        rer_multiply_f32(part->z + below * C, stride, x, t->w + (below + 1) * C * D, block->count, (others - below) * C,
                         D);
    make_residuals(part, t, block, own);
    rer_gemm_f32(true, false, stride, D, block->count, part->z, x, part->gradient);
    return RER_OK;
}

static rer_status commit_block(void *context, int64_t item, void *scratch, rer_error *error)
{
    training *t = context;
    const block_part *part = scratch;
    int64_t C = t->run->C, D = t->run->D;
    int32_t own = t->in_folds[t->model->blocks[item].fold];
    (void)error;
    for (int32_t a = 0; a < part->others; a++) {
        int32_t to = own >= 0 && a >= own ? a + 1 : a;
        t->run->kernels->add_block(t->sum + to * C * D, part->gradient + a * C * D, C * D);
        for (int64_t c = 0; c < C; c++)
            t->bias_sum[to * C + c] += part->bias_sum[a * C + c];
        t->loss[to] += part->loss[a];
        t->missing[to] += part->missing[a];
    }
    return RER_OK;
}

/* The sums of all rows, by the run's passes. */
static rer_status pass_elsewhere(const training *t, rer_error *error)
{
    int32_t fold[RER_LOGISTIC_FOLDS];
    for (int32_t a = 0; a < t->count; a++)
        fold[a] = t->wanted[a]->index;
    rer_device_softmax at = {.count = t->count,
                             .fold = fold,
                             .w = t->w,
                             .bias = t->bias,
                             .sum = t->sum,
                             .bias_sum = t->bias_sum,
                             .loss = t->loss,
                             .missing = t->missing};
    return t->run->passes->logistic_sums(&at, t->run, error);
}

static void note_excess(training *t, const rer_problem *problem, double excess)
{
    double *least = &t->excess[problem->index], *first = &t->first[problem->index];
    *first = *first > 0 ? *first : excess;
    *least = *least > 0 ? fmin(*least, excess) : excess;
}

/* The gradient falls by about the same factor with each step: how far it has come, of the fold that is farthest off; or
 * how many of the steps that there may be are done. */
static double share_done(const training *t, int32_t evaluated)
{
    double share = 1, least = fmin((evaluated + .5) / (1.1 * ITERATIONS), .98);
    for (int32_t fold = 0; fold < RER_LOGISTIC_FOLDS; fold++)
        if (t->first[fold] > 1)
            share = fmin(share, 1 - log(fmax(t->excess[fold], 1)) / log(t->first[fold]));
    return share < 1 ? fmax(share, least) : least; /* nothing is known before the first */
}

/* The sums over rows become objective and gradient with respect to V. */
static rer_status finish_problem(void *context, int64_t item, void *scratch, rer_error *error)
{
    training *t = context;
    rer_problem *problem = t->wanted[item];
    int64_t C = t->run->C, D = t->run->D;
    const float *w = t->w + item * C * D;
    double n = (double)t->model->n_fit[problem->index], penalty = t->penalty[problem->index];
    double squares = 0, largest = 0, length = 0, *gradient = problem->gradient;
    (void)scratch, (void)error;
    for (int64_t i = 0; i < C * D; i++) {
        gradient[i] = t->sum[item * C * D + i] / n + penalty * (double)w[i];
        squares += (double)w[i] * (double)w[i];
        largest = fmax(largest, fabs(gradient[i]));
    }
    for (int64_t c = 0; c < C; c++) {
        double slope = t->bias_sum[item * C + c] / n;
        largest = fmax(largest, fabs(slope));
        gradient[C * D + c] = t->bias_scale * slope;
    }
    apply_whitening(gradient, t, true);
    for (int64_t i = 0; i < problem->n; i++)
        length += gradient[i] * gradient[i];
    problem->value = t->loss[item] / n + penalty / 2 * squares;
    double enough = GAIN_LEFT * problem->value * t->missing[item] / n;
    problem->converged = largest <= GRADIENT_LEFT && length <= enough;
    note_excess(t, problem, fmax(largest / GRADIENT_LEFT, sqrt(length / enough)));
    return RER_OK;
}

static rer_status evaluate(void *context, rer_problem *const *wanted, int32_t count, rer_error *error)
{
    training *t = context;
    rer_pool *pool = t->run->pool;
    const char *stage = "fitting logistic regression";
    int32_t passes = wanted[0]->evaluated - 1;
    double progress = share_done(t, passes), next = fmin(1, progress * (1 + 1. / rer_max(1, passes)));
    t->wanted = wanted;
    t->count = count;
    for (int32_t fold = 0; fold < RER_LOGISTIC_FOLDS; fold++)
        t->in_folds[fold] = -1;
    for (int32_t a = 0; a < count; a++)
        t->in_folds[wanted[a]->index] = a;
    rer_scratch measure = RER_MEASURE;
    (void)lay_out_part(t, count, &measure);
    rer_job prepare = {
        .stage = stage, .from = progress, .to = progress, .items = count, .work = prepare_problem, .context = t};
    rer_job pass = {.stage = stage,
                    .from = progress,
                    .to = next,
                    .items = t->model->n_labelled_blocks,
                    .scratch = measure.used,
                    .work = pass_block,
                    .commit = commit_block,
                    .context = t};
    rer_job finish = {.stage = stage, .from = next, .to = next, .items = count, .work = finish_problem, .context = t};
    rer_status status = rer_pool_run(pool, &prepare, error);
    if (status == RER_OK)
        status = t->elsewhere ? pass_elsewhere(t, error) : rer_pool_run(pool, &pass, error);
    return status == RER_OK ? rer_pool_run(pool, &finish, error) : status;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static rer_status allocate_training(training *t, rer_problem *problems, int32_t *count, rer_error *error)
{
    rer_logistic *model = t->model;
    int64_t C = t->run->C, D = t->run->D, A = RER_LOGISTIC_FOLDS, weights = 0;
    if (!rer_product(C, D + 1, &weights) || weights > INT64_MAX / 64 / A)
        return rer_fail(error, RER_SYSTEM, "%lld classes of %lld features are too many weights", (long long)C,
                        (long long)D);
    rer_room rooms[] = {RER_ROOM(model->weights, A * C * D),
                        RER_ROOM(model->bias, A * C),
                        RER_ROOM(t->sum, A * C * D),
                        RER_ROOM(t->bias_sum, A * C),
                        RER_ROOM(t->loss, A),
                        RER_ROOM(t->missing, A),
                        RER_ROOM(t->in_folds, A)};
    RER_TRY(rer_allocate_all(rooms, RER_COUNT(rooms), "gradients", error));
    /* While training, the weights at which the objective is wanted stand where the result will. */
    t->w = model->weights;
    t->bias = model->bias;
    for (int32_t fold = 0; fold < RER_LOGISTIC_FOLDS; fold++) {
        if (model->n_fit[fold] == 0 || model->n_fit[fold] == model->n_labelled)
            continue; /* nothing to learn from, or nobody to tell */
        rer_problem *problem = &problems[(*count)++];
        *problem = (rer_problem){.index = fold, .n = weights};
        RER_TRY(rer_allocate(&problem->x, rer_problem_size(weights), sizeof(double), "weights", error));
    }
    return RER_OK;
}

static void set_penalties(training *t, double C)
{
    for (int32_t fold = 0; fold < RER_LOGISTIC_FOLDS; fold++) {
        int32_t present = 0;
        for (int32_t c = 0; c < t->run->C; c++)
            present += t->model->present[fold * t->run->C + c];
        t->penalty[fold] = (present == 2 ? 2 : 1) / (C * (double)rer_max(1, t->model->n_fit[fold]));
    }
}

/* Gives the labelled rows to the run's passes, where they have a part in this. */
static rer_status begin_elsewhere(training *t, rer_error *error)
{
    const rer_logistic *model = t->model;
    const rer_passes *passes = t->run->passes;
    int64_t start[RER_LOGISTIC_FOLDS + 1] = {0};
    int32_t *label = NULL;
    if (passes == NULL || passes->logistic_begin == NULL)
        return RER_OK;
    rer_status status = rer_allocate(&label, model->n_labelled, sizeof *label, "labels", error);
    for (int64_t i = 0; status == RER_OK && i < model->n_labelled; i++)
        label[i] = t->run->given[model->order[i]];
    for (int32_t fold = 0; fold < RER_LOGISTIC_FOLDS; fold++)
        start[fold + 1] = start[fold] + model->n_labelled - model->n_fit[fold];
    rer_device_logistic of = {.folds = RER_LOGISTIC_FOLDS,
                              .unit = model->features.normalizer.kind == RER_UNIT,
                              .mean = model->features.mean,
                              .start = start,
                              .row = model->order,
                              .label = label};
    if (status == RER_OK)
        status = passes->logistic_begin(&of, t->run, &t->elsewhere, error);
    free(label);
    return status;
}

static void keep_weights(const training *t, rer_problem *problems, int32_t count)
{
    rer_logistic *model = t->model;
    int64_t C = t->run->C, D = t->run->D;
    for (int64_t c = 0; c < RER_LOGISTIC_FOLDS * C; c++)
        model->bias[c] = 0;
    memset(model->weights, 0, (size_t)(RER_LOGISTIC_FOLDS * C * D) * sizeof *model->weights);
    for (int32_t i = 0; i < count; i++) {
        int32_t fold = problems[i].index;
        set_weights(model->weights + fold * C * D, model->bias + fold * C, t, fold, problems[i].x, problems[i].x);
        model->evaluated[fold] = problems[i].evaluated;
    }
}

rer_status rer_logistic_train(rer_logistic *logistic, double C, rer_error *error)
{
    const rer_run *run = logistic->features.run;
    rer_problem problems[RER_LOGISTIC_FOLDS] = {0};
    int32_t count = 0;
    double n = (double)rer_max(1, logistic->n_labelled);
    training t = {
        .model = logistic, .run = run, .is_diagonal = run->D > WHITENED_MOST, .bias_scale = sqrt((double)run->C)};
    set_penalties(&t, C);
    rer_status status = allocate_training(&t, problems, &count, error);
    if (status == RER_OK)
        status = whiten(&t, t.penalty[0], 1 / (n * (double)run->C), error);
    if (status == RER_OK)
        status = begin_elsewhere(&t, error);
    if (status == RER_OK && count > 0)
        status = rer_minimize(problems, count, ITERATIONS, evaluate, &t, error);
    if (t.elsewhere)
        run->passes->logistic_end(run);
    if (status == RER_OK)
        keep_weights(&t, problems, count);
    for (int32_t fold = 0; fold < RER_LOGISTIC_FOLDS; fold++)
        free(problems[fold].x);
    RER_FREE_ALL(t.g, t.sum, t.bias_sum, t.loss, t.missing, t.in_folds);
    return status;
}
