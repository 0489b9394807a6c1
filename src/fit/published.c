/* published: what the paper's released code did (docs/methods.md says how we know). Its encoders
 * are NaN after one step, so that each class model is a constant sigmoid(bias), which Adam moves
 * from 1/2 towards the class mean and early stopping ends after 6 of 10 reports. Per class:
 *   1. min-max scaled rows, and their fuzzy neighbour graph;
 *   2. every row counts as often as it heads a drawn edge: weighted mean and variance;
 *   3. S = 6 max(1, floor(draws / 64 / 10)) steps of Adam on 20 * mean squared error, with the
 *      variance of a batch's mean in the second moment.
 * It exists so that published numbers can be reproduced. Nothing is left out; the errors are the
 * distances to the constants, which is the centroid model with constants for means. */
#include "fit/centroid.h"
#include "run/class_rows.h"
#include "fit/graph.h"

#define BATCH 64
#define REPORTS 10
#define REPORTS_RUN 6
#define LOSS_WEIGHT 20.0
#define LEARNING_RATE 1e-3

typedef struct published_pass {
    const rer_run *run;
    const rer_normalizer *normalizer;
    const rer_class_rows *classes;
    double *constants; /* [C, D] */
} published_pass;

/* How often each row heads a drawn edge, as shares; a class without edges counts all alike. */
static void head_shares(double *share, const rer_graph *graph, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        share[i] = graph->draws == 0 ? 1.0 / (double)n : 0;
    for (int64_t e = 0; e < graph->count; e++)
        share[graph->edges[e].head] += (double)graph->edges[e].count / (double)graph->draws;
}

#define LANES 8 /* features at a time: a step waits for the one before */

/* Biases of features after `steps` steps of Adam; gives sigmoid(bias).
 *   s = sigmoid(bias), slope = 20 * 2 / D * s (1 - s), g = slope (s - mean) */
static void descend(double *constant, const double *mean, const double *variance, int64_t D, int64_t steps)
{
    double bias[LANES] = {0}, first[LANES] = {0}, second[LANES] = {0}, e[LANES], decay1 = 1, decay2 = 1;
    for (int64_t t = 1; t <= steps; t++) {
        decay1 *= .9;
        decay2 *= .999;
        double rate = LEARNING_RATE * sqrt(1 - decay2) / (1 - decay1);
        for (int k = 0; k < LANES; k++)
            e[k] = exp(-bias[k]);
        for (int k = 0; k < LANES; k++) {
            double s = 1 / (1 + e[k]);
            double slope = LOSS_WEIGHT * 2 / (double)D * s * (1 - s);
            double g = slope * (s - mean[k]);
            first[k] += .1 * (g - first[k]);
            second[k] += .001 * (g * g + slope * slope * variance[k] / BATCH - second[k]);
            bias[k] -= rate * first[k] / (sqrt(second[k]) + 1e-7);
        }
    }
    for (int k = 0; k < LANES; k++)
        constant[k] = 1 / (1 + exp(-bias[k]));
}

static void descend_all(double *constant, const double *mean, const double *variance, int64_t D, int64_t steps)
{
    for (int64_t j = 0; j < D; j += LANES) {
        double part[3][LANES] = {{0}};
        size_t size = (size_t)rer_min(LANES, D - j) * sizeof(double);
        memcpy(part[0], mean + j, size);
        memcpy(part[1], variance + j, size);
        descend(part[2], part[0], part[1], D, steps);
        memcpy(constant + j, part[2], size);
    }
}

/* mean [D], variance [D]: of the rows x [n, D] in these shares. */
static void weigh_rows(double *mean, double *variance, const float *x, const double *share, int64_t n, int64_t D)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < D; j++)
            mean[j] += share[i] * (double)x[i * D + j];
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < D; j++) {
            double residual = (double)x[i * D + j] - mean[j];
            variance[j] += share[i] * residual * residual;
        }
}

static rer_status fit_constant(double *constant, const float *x, const rer_graph *graph, int64_t n, int64_t D,
                               rer_error *error)
{
    double *share = NULL, *mean = NULL, *variance = NULL;
    int64_t steps = REPORTS_RUN * rer_max(1, graph->draws / BATCH / REPORTS);
    rer_room rooms[] = {RER_ROOM(share, n), RER_ROOM(mean, D), RER_ROOM(variance, D)};
    RER_TRY(rer_allocate_all(rooms, RER_COUNT(rooms), "the mean of a class", error));
    head_shares(share, graph, n);
    weigh_rows(mean, variance, x, share, n, D);
    descend_all(constant, mean, variance, D, steps);
    RER_FREE_ALL(share, mean, variance);
    return RER_OK;
}

static rer_status fit_class(void *context, int64_t item, void *scratch, rer_error *error)
{
    const published_pass *pass = context;
    const rer_run *run = pass->run;
    int64_t n = rer_class_size(pass->classes, (int32_t)item), D = run->D;
    rer_graph graph = {0};
    float *x = NULL;
    if (n == 0)
        return RER_OK;
    rer_status status = rer_allocate(&x, n * D, sizeof *x, "the rows of a class", error);
    RER_THEN(status, rer_gather_rows(x, run, pass->normalizer, pass->classes->rows + pass->classes->start[item], n,
                                     scratch, error));
    RER_THEN(status, rer_graph_make(&graph, x, n, D, &(rer_graph_settings){.neighbors = 40, .epochs = 20}, run->kernels,
                                    error));
    RER_THEN(status, fit_constant(pass->constants + item * D, x, &graph, n, D, error));
    rer_graph_free(&graph);
    free(x);
    return status;
}

/* Replaces the class means by the constants. */
static rer_status fit_constants(rer_class_moments *moments, const rer_normalizer *normalizer, const rer_run *run,
                                rer_error *error)
{
    rer_class_rows classes = {0};
    published_pass pass = {.run = run, .normalizer = normalizer, .classes = &classes, .constants = moments->mean};
    rer_job job = {
        .stage = "fitting",
        .from = .15,
        .to = .45,
        .items = run->C,
        .scratch = rer_dataset_scratch(run->data, 1),
        .work = fit_class,
        .context = &pass,
    };
    rer_status status = rer_class_rows_make(&classes, run, error);
    RER_THEN(status, rer_pool_run(run->pool, &job, error));
    rer_class_rows_free(&classes);
    return status;
}

static rer_status fit(rer_model *model, rer_row_sample *sample, const rer_run *run, rer_error *error)
{
    return rer_centroid_fit(model, sample, run, fit_constants, error);
}

const rer_reconstructor rer_published_reconstructor = {
    .name = "published",
    .normalize = RER_MINMAX,
    .needs_minmax = true,
    .exponent = 1.808, /* the paper's */
    .scale_note =
        "with the reconstructor 'published' this is the number of training steps at work, not the sample size",
    .fit = fit,
    .scratch = rer_centroid_model_scratch,
    .prepare = rer_centroid_model_prepare,
    .errors = rer_centroid_model_errors,
    .save = rer_centroid_model_save,
    .load = rer_centroid_model_load,
    .free = rer_centroid_model_free,
};
