/* The channel that makes the labels of sampled rows most likely, in steps:
 *   1. start with few mistakes of every kind, or with labels that go one way between classes, found at a sharp
 *      posterior; both ends are tried, since one does not lead to the other;
 *   2. t, lambda, e, v and beta by L-BFGS, the rates A as they are;
 *   3. the rates by expectation-maximisation, the others as they are; flows from class to class that are not worth
 *      what it takes to name them are given up;
 *   4. steps 2 and 3 until nothing is gained; the end that explains the labels in fewer nats is taken.
 *
 * Priors are worth one label of each kind, and one unit of beta for each class:
 *   beta_k ~ N(0, 1);  e, v ~ Beta(1, 10);  2 lambda ~ Beta(1, 1), the most likely logit of each.
 * With a tenth of a label instead of one, e vanishes where few rows are sampled (Fashion-MNIST, 1,000: 270 wrong labels
 * expected instead of 700; a judge counts 1,580).
 * A flow is named by one of C - 1 classes and a rate that n rows tell to 1 / sqrt(n): log(C - 1) + log(n) / 2 nats.
 * SHARP only says where flows are looked for at first. */
#include "channel/channel.h"

#include "core/core.h"
#include "stats/minimize.h"
#include "stats/order.h"

#include <math.h>
#include <string.h>

#define ROWS_OF_ITEM 128
#define SMALL 40000 /* values: a tenth of a millisecond */
#define ROUNDS 12
#define STEPS 15        /* of L-BFGS, each round; */
#define STEPS_ALONE 50  /* where there are no flows, all of them at once */
#define FLOW_STEPS 4    /* of expectation-maximisation, each round */
#define FREE_FLOWS 8    /* and at the start, before any flow is given up */
#define SETTLED 1e-5    /* nats a row that a round must gain, and */
#define FLAT 1e-4       /* the slope of the objective, a row, that is none */
#define BETA_SPREAD 1.0 /* sd of beta */
#define FEW 10.0        /* e, v ~ Beta(1, FEW) */
#define SHARP 5.0       /* nats between the two nearest classes of a median row, where flows are looked for */
#define LARGE 2000000   /* values, some thousand classes: there */
#define STEPS_LARGE 12  /* steps are dear, and few rows a class tell little more */
#define MOST_LAMBDA .5
#define LABELS_A_CLASS 20 /* sampled; with fewer no flow could be worth its name */
#define LEAST_UNIFORM 1e-5

enum { LOGIT_LAMBDA, LOGIT_BLUR, LOGIT_LIKENESS, LOGIT_UNIFORM, SHARES };

/* Variables of the search: log t_j of the kinds that are there, the shares (u only where there are no flows), beta [C]. */
typedef struct channel_fit {
    const rer_channel_sample *sample;
    const rer_kernels *kernels;
    rer_pool *pool;
    rer_channel *channel; /* at the variables; rates are those of the last expectation-maximisation */
    int kinds, kind[RER_EVIDENCE_KINDS];
    bool pairs;       /* rates of pairs, and likeness, are possible */
    double *x;        /* [size] */
    double *gradient; /* [size] of the evaluation under way */
    double value;
    double *gain;    /* [C seen, C true] nats that a flow is worth */
    double *counts;  /* [C seen, C true] of the step under way ... */
    double *totals;  /* [C] */
    double even;     /* labels wrong in any way */
    int64_t scratch; /* of the job under way */
} channel_fit;

static double logit(double p)
{
    return log(p / (1 - p));
}

static int64_t variables(const channel_fit *fit)
{
    return fit->kinds + SHARES + fit->sample->C;
}

static void set_channel(channel_fit *fit, const double *x)
{
    rer_channel *channel = fit->channel;
    for (int j = 0; j < fit->kinds; j++)
        channel->weight[fit->kind[j]] = exp(fmin(x[j], 80));
    const double *share = x + fit->kinds, *beta = share + SHARES;
    channel->sharpness = MOST_LAMBDA * rer_logistic(share[LOGIT_LAMBDA]);
    channel->blur = rer_logistic(share[LOGIT_BLUR]);
    channel->likeness = fit->pairs ? rer_logistic(share[LOGIT_LIKENESS]) : 0;
    for (int32_t k = 0; k < channel->C; k++)
        channel->bias[k] = fit->sample->log_n[k] + (float)beta[k];
    if (channel->counts != NULL || channel->right == NULL)
        return;
    channel->uniform = fmax(rer_logistic(share[LOGIT_UNIFORM]), LEAST_UNIFORM);
    for (int32_t k = 0; k < channel->C; k++)
        channel->right[k] = (float)(1 - channel->uniform);
}

/* The channel's u becomes that of the search. */
static void keep_uniform(channel_fit *fit)
{
    fit->x[fit->kinds + LOGIT_UNIFORM] = logit(fmin(fmax(fit->channel->uniform, LEAST_UNIFORM), .99));
}

/* ---- 2. the objective and its slope ------------------------------------------------------ */

/* A worker's rows: their part of the objective and of its slope. */
typedef struct item_slope {
    double value, share[SHARES], weight[RER_EVIDENCE_KINDS];
    float *beta; /* [C] */
    float *z;    /* [C] of a row */
    float *room; /* [C] of the kernels */
} item_slope;

static rer_channel_evidence evidence_of(const channel_fit *fit, int64_t row)
{
    rer_channel_evidence evidence = {.count = fit->kinds};
    for (int j = 0; j < fit->kinds; j++) {
        evidence.value[j] = fit->sample->value[fit->kind[j]] + row * fit->sample->C;
        evidence.weight[j] = (float)fit->channel->weight[fit->kind[j]];
    }
    return evidence;
}

static rer_channel_row row_of(const channel_fit *fit, int64_t row)
{
    const rer_channel *channel = fit->channel;
    int32_t code = fit->sample->code[row];
    return (rer_channel_row){
        .rates = channel->rates != NULL ? channel->rates + (int64_t)code * channel->C : NULL,
        .uniform = channel->uniform / (channel->C - 1),
        .right = (double)channel->right[code],
        .sharpness = channel->sharpness,
        .blur = channel->blur,
        .likeness = channel->likeness,
        .code = code,
    };
}

/* At the head of the scratch: the struct itself, for the commit. */
static item_slope lay_out_slope(const channel_fit *fit, rer_scratch *scratch)
{
    int64_t C = fit->sample->C;
    item_slope slope = {0};
    (void)rer_take(scratch, 1, sizeof slope);
    slope.beta = rer_take(scratch, C, sizeof *slope.beta);
    slope.z = rer_take(scratch, C, sizeof *slope.z);
    slope.room = rer_take(scratch, C, sizeof *slope.room);
    return slope;
}

static rer_status slope_of_rows(void *context, int64_t item, void *memory, rer_error *error)
{
    (void)error;
    const channel_fit *fit = context;
    const rer_channel_kernels *kernels = fit->kernels->channel;
    int32_t C = fit->sample->C;
    rer_scratch scratch = rer_scratch_over(memory, fit->scratch);
    item_slope *slope = memory;
    *slope = lay_out_slope(fit, &scratch);
    float *z = slope->z;
    memset(slope->beta, 0, (size_t)C * sizeof *slope->beta);
    int64_t end = rer_min((item + 1) * ROWS_OF_ITEM, fit->sample->rows);
    for (int64_t i = item * ROWS_OF_ITEM; i < end; i++) {
        rer_channel_evidence evidence = evidence_of(fit, i);
        rer_channel_row row = row_of(fit, i);
        rer_channel_slope of_row;
        kernels->scores(z, fit->channel->bias, &evidence, C);
        slope->value += kernels->gradient(&of_row, z, slope->room, &row, C);
        slope->share[LOGIT_LAMBDA] += of_row.sharpness;
        slope->share[LOGIT_BLUR] += of_row.blur;
        slope->share[LOGIT_LIKENESS] += of_row.likeness;
        slope->share[LOGIT_UNIFORM] += of_row.uniform;
        for (int j = 0; j < fit->kinds; j++)
            slope->weight[j] -= fit->kernels->dot_f32(evidence.value[j], z, C);
        for (int32_t k = 0; k < C; k++)
            slope->beta[k] += z[k];
    }
    return RER_OK;
}

static rer_status add_slope(void *context, int64_t item, void *scratch, rer_error *error)
{
    (void)item;
    (void)error;
    channel_fit *fit = context;
    const item_slope *slope = scratch;
    double *share = fit->gradient + fit->kinds;
    fit->value -= slope->value;
    for (int j = 0; j < fit->kinds; j++)
        fit->gradient[j] -= slope->weight[j];
    for (int j = 0; j < SHARES; j++)
        share[j] -= slope->share[j];
    for (int32_t k = 0; k < fit->sample->C; k++)
        share[SHARES + k] -= (double)slope->beta[k];
    return RER_OK;
}

/* - log of the priors; the slopes of shares become those of their logits. */
static void add_priors(channel_fit *fit, const double *x)
{
    const rer_channel *channel = fit->channel;
    double *gradient = fit->gradient, *share = gradient + fit->kinds, *beta = share + SHARES;
    const double *at = x + fit->kinds;
    for (int j = 0; j < fit->kinds; j++)
        gradient[j] *= channel->weight[fit->kind[j]];
    double lambda = rer_logistic(at[LOGIT_LAMBDA]),
           few[] = {rer_logistic(at[LOGIT_BLUR]), rer_logistic(at[LOGIT_LIKENESS])};
    share[LOGIT_LAMBDA] = share[LOGIT_LAMBDA] * channel->sharpness * (1 - lambda) - (1 - 2 * lambda);
    fit->value -= log(fmax(lambda, 1e-300)) + log(fmax(1 - lambda, 1e-300));
    for (int j = 0; j < 2; j++) {
        double p = few[j], *slope = &share[LOGIT_BLUR + j];
        *slope = *slope * p * (1 - p) - (1 - p) + FEW * p;
        fit->value -= log(fmax(p, 1e-300)) + FEW * log(fmax(1 - p, 1e-300));
    }
    if (!fit->pairs)
        share[LOGIT_LIKENESS] = 0;
    share[LOGIT_UNIFORM] *= channel->counts == NULL ? channel->uniform * (1 - channel->uniform) : 0;
    for (int32_t k = 0; k < fit->sample->C; k++) {
        double b = at[SHARES + k];
        fit->value += b * b / (2 * BETA_SPREAD * BETA_SPREAD);
        beta[k] += b / (BETA_SPREAD * BETA_SPREAD);
    }
}

static int64_t items_of(const channel_fit *fit)
{
    return (fit->sample->rows + ROWS_OF_ITEM - 1) / ROWS_OF_ITEM;
}

/* As the pool runs it; a small job here and now, since waking threads would take longer than the work. */
static rer_status run_job(const channel_fit *fit, const rer_job *job, rer_error *error)
{
    if (fit->sample->rows * fit->sample->C > SMALL)
        return rer_pool_run(fit->pool, job, error);
    void *scratch = NULL;
    rer_status status = rer_allocate(&scratch, job->scratch, 1, "the noise channel", error);
    for (int64_t item = 0; status == RER_OK && item < job->items; item++) {
        status = job->work(job->context, item, scratch, error);
        if (status == RER_OK)
            status = job->commit(job->context, item, scratch, error);
    }
    free(scratch);
    return status;
}

static rer_status evaluate(void *context, rer_problem *const *problems, int32_t count, rer_error *error)
{
    (void)count;
    channel_fit *fit = context;
    rer_problem *problem = problems[0];
    rer_scratch measure = {0};
    (void)lay_out_slope(fit, &measure);
    rer_job job = {.stage = "looking at the labels",
                   .from = .48,
                   .to = .5,
                   .items = items_of(fit),
                   .scratch = fit->scratch = measure.used,
                   .work = slope_of_rows,
                   .commit = add_slope,
                   .context = fit};
    set_channel(fit, problem->at);
    fit->gradient = problem->gradient;
    fit->value = 0;
    memset(fit->gradient, 0, (size_t)variables(fit) * sizeof *fit->gradient);
    rer_status status = run_job(fit, &job, error);
    if (status != RER_OK)
        return status;
    add_priors(fit, problem->at);
    double square = 0, flat = FLAT * (double)fit->sample->rows;
    for (int64_t j = 0; j < variables(fit); j++)
        square += fit->gradient[j] * fit->gradient[j];
    problem->value = fit->value;
    problem->converged = square < flat * flat;
    return RER_OK;
}

static rer_status climb(channel_fit *fit, int steps, rer_error *error)
{
    rer_problem problem = {.n = variables(fit), .x = fit->x};
    rer_status status = rer_minimize(&problem, 1, steps, evaluate, fit, error);
    if (status == RER_OK)
        set_channel(fit, fit->x);
    fit->channel->surprise = problem.value;
    return status;
}

/* ---- 3. expectation-maximisation of the rates -------------------------------------------- */

/* w [ROWS_OF_ITEM, C] at the head, for the commit, and room for the kernels. */
static float *lay_out_flows(const channel_fit *fit, rer_scratch *scratch, float **room)
{
    int64_t C = fit->sample->C;
    float *w = rer_take(scratch, ROWS_OF_ITEM * C, sizeof *w);
    *room = rer_take(scratch, C, sizeof **room);
    return w;
}

static rer_status flows_of_rows(void *context, int64_t item, void *memory, rer_error *error)
{
    (void)error;
    const channel_fit *fit = context;
    int32_t C = fit->sample->C;
    rer_scratch scratch = rer_scratch_over(memory, fit->scratch);
    float *room, *w = lay_out_flows(fit, &scratch, &room);
    int64_t first = item * ROWS_OF_ITEM, end = rer_min(first + ROWS_OF_ITEM, fit->sample->rows);
    for (int64_t i = first; i < end; i++) {
        rer_channel_evidence evidence = evidence_of(fit, i);
        rer_channel_row row = row_of(fit, i);
        fit->kernels->channel->scores(w + (i - first) * C, fit->channel->bias, &evidence, C);
        (void)fit->kernels->channel->flows(w + (i - first) * C, room, &row, C);
    }
    return RER_OK;
}

static rer_status add_flows(void *context, int64_t item, void *scratch, rer_error *error)
{
    (void)error;
    channel_fit *fit = context;
    const rer_channel *channel = fit->channel;
    int32_t C = fit->sample->C;
    double even = channel->uniform / (C - 1);
    int64_t first = item * ROWS_OF_ITEM, end = rer_min(first + ROWS_OF_ITEM, fit->sample->rows);
    for (int64_t i = first; i < end; i++) {
        const float *w = (const float *)scratch + (i - first) * C;
        int64_t seen = (int64_t)fit->sample->code[i] * C;
        for (int32_t k = 0; k < C; k++) {
            double share = (double)w[k];
            fit->totals[k] += share;
            if (seen == (int64_t)k * C)
                continue;
            double directed = channel->rates != NULL ? share * (1 - even / (double)channel->rates[seen + k]) : 0;
            fit->even += share - directed;
            if (directed > 1e-9) {
                fit->counts[seen + k] += directed;
                fit->gain[seen + k] += directed < .01 ? directed : -log1p(-fmin(directed, 1 - 1e-6));
            }
        }
    }
    return RER_OK;
}

/* The flows of the step become the channel's, but for those that are worth less than `cost`. */
static rer_status take_flows(channel_fit *fit, double cost, rer_error *error)
{
    rer_channel *channel = fit->channel;
    int64_t C = channel->C;
    double labels = 0;
    bool any = false;
    for (int64_t k = 0; k < C; k++)
        labels += channel->totals[k] = fit->totals[k];
    channel->uniform = fmax(fit->even / fmax(labels, 1), LEAST_UNIFORM);
    keep_uniform(fit);
    for (int64_t i = 0; channel->counts != NULL && i < C * C; i++) {
        channel->counts[i] = fit->gain[i] >= cost ? fit->counts[i] : 0;
        any = any || channel->counts[i] > 0;
    }
    if (!any) {
        free(channel->counts);
        channel->counts = NULL;
    }
    return rer_channel_finish(channel, error);
}

static double cost_of_flow(const rer_channel_sample *sample)
{
    return log(fmax(sample->C - 1, 1)) + .5 * log((double)sample->rows);
}

static rer_status move_rates(channel_fit *fit, int steps, double cost, rer_error *error)
{
    int64_t C = fit->sample->C;
    rer_scratch measure = {0};
    float *room;
    (void)lay_out_flows(fit, &measure, &room);
    rer_job job = {.stage = "looking at the labels",
                   .from = .48,
                   .to = .5,
                   .items = items_of(fit),
                   .scratch = fit->scratch = measure.used,
                   .work = flows_of_rows,
                   .commit = add_flows,
                   .context = fit};
    rer_status status = RER_OK;
    for (int step = 0; status == RER_OK && step < steps; step++) {
        memset(fit->totals, 0, (size_t)C * sizeof(double));
        if (fit->channel->counts != NULL) {
            memset(fit->counts, 0, (size_t)(C * C) * sizeof(double));
            memset(fit->gain, 0, (size_t)(C * C) * sizeof(double));
        }
        fit->even = 0;
        status = run_job(fit, &job, error);
        if (status == RER_OK)
            status = take_flows(fit, cost, error);
    }
    return status;
}

/* ---- 1. starts --------------------------------------------------------------------------- */

/* t at which the two nearest classes of a median row are SHARP nats apart. */
static rer_status sharp_weight(double *weight, const rer_channel_sample *sample, rer_error *error)
{
    float *gap = NULL;
    rer_status status = rer_allocate(&gap, sample->rows, sizeof *gap, "margins", error);
    if (status != RER_OK)
        return status;
    for (int64_t i = 0; i < sample->rows && sample->value[RER_GLOBAL] != NULL; i++) {
        const float *value = sample->value[RER_GLOBAL] + i * sample->C;
        float first = INFINITY, second = INFINITY;
        for (int32_t k = 0; k < sample->C; k++) {
            float v = value[k];
            second = v < first ? first : v < second ? v : second;
            first = v < first ? v : first;
        }
        gap[i] = second - first;
    }
    rer_sort_floats(gap, sample->rows);
    double typical = (double)gap[sample->rows / 2];
    for (int64_t i = sample->rows / 2; !(typical > 0) && i < sample->rows; i++)
        typical = (double)gap[i]; /* half the rows and more lie between classes */
    *weight = typical > 0 && isfinite(typical) ? SHARP / typical : 1;
    free(gap);
    return RER_OK;
}

static void set_start(channel_fit *fit, double weight, double blur, double likeness)
{
    memset(fit->x, 0, (size_t)rer_problem_size(variables(fit)) * sizeof *fit->x);
    for (int j = 0; j < fit->kinds; j++)
        fit->x[j] = log(weight);
    fit->x[fit->kinds + LOGIT_BLUR] = logit(blur);
    fit->x[fit->kinds + LOGIT_LIKENESS] = logit(likeness);
    set_channel(fit, fit->x);
}

/* Units of other evidence than the global one at the start: half a nat for a typical own value. */
static void set_other_weights(channel_fit *fit)
{
    const rer_channel_sample *sample = fit->sample;
    for (int j = 0; j < fit->kinds; j++) {
        double sum = 0;
        if (fit->kind[j] == RER_GLOBAL)
            continue;
        for (int64_t i = 0; i < sample->rows; i++)
            sum += (double)sample->value[fit->kind[j]][i * sample->C + sample->code[i]];
        fit->x[j] = log(.5 * (double)sample->rows / fmax(sum, 1e-9 * (double)sample->rows));
    }
}

static rer_status begin_rates(channel_fit *fit, double uniform, double directed, rer_error *error)
{
    rer_channel *channel = fit->channel;
    int64_t C = channel->C;
    rer_status status = RER_OK;
    memset(channel->totals, 0, (size_t)C * sizeof(double));
    for (int64_t i = 0; i < fit->sample->rows; i++)
        channel->totals[fit->sample->code[i]] += 1;
    channel->uniform = uniform;
    keep_uniform(fit);
    if (directed > 0)
        status = rer_allocate(&channel->counts, C * C, sizeof(double), "the noise channel", error);
    for (int64_t i = 0; status == RER_OK && directed > 0 && i < C * C; i++)
        channel->counts[i] = i / C != i % C ? directed / (double)(C - 1) * channel->totals[i % C] : 0;
    return status == RER_OK ? rer_channel_finish(channel, error) : status;
}

/* A channel of its own: few mistakes of every kind, */
static rer_status start_even(channel_fit *fit, double weight, rer_error *error)
{
    set_start(fit, weight, .02, .01);
    set_other_weights(fit);
    return begin_rates(fit, .005, 0, error);
}

/* labels that go one way, */
static rer_status start_directed(channel_fit *fit, double weight, rer_error *error)
{
    set_start(fit, weight, .002, .002);
    set_other_weights(fit);
    set_channel(fit, fit->x);
    rer_status status = begin_rates(fit, .01, .1, error);
    if (status == RER_OK)
        status = move_rates(fit, FREE_FLOWS, 0, error);
    return status == RER_OK ? move_rates(fit, FLOW_STEPS, cost_of_flow(fit->sample), error) : status;
}

/* or what was found with less evidence. */
static rer_status start_from(channel_fit *fit, const rer_channel *start, rer_error *error)
{
    rer_channel *channel = fit->channel;
    int64_t C = channel->C;
    double limit = 1 - 1e-9;
    set_start(fit, start->weight[RER_GLOBAL], fmax(start->blur, 1e-12), fmax(start->likeness, 1e-12));
    set_other_weights(fit);
    fit->x[fit->kinds + LOGIT_LAMBDA] = logit(fmin(fmax(start->sharpness / MOST_LAMBDA, 1e-9), limit));
    for (int32_t k = 0; k < C; k++)
        if (isfinite(fit->sample->log_n[k]))
            fit->x[fit->kinds + SHARES + k] = (double)(start->bias[k] - fit->sample->log_n[k]);
    set_channel(fit, fit->x);
    rer_status status = begin_rates(fit, start->uniform, start->counts != NULL ? 1 : 0, error);
    if (status != RER_OK)
        return status;
    memcpy(channel->totals, start->totals, (size_t)C * sizeof(double));
    if (start->counts != NULL)
        memcpy(channel->counts, start->counts, (size_t)(C * C) * sizeof(double));
    return rer_channel_finish(channel, error);
}

/* ---- 4. all of it ------------------------------------------------------------------------ */

static rer_status settle(channel_fit *fit, rer_error *error)
{
    rer_channel *channel = fit->channel;
    double cost = cost_of_flow(fit->sample), before = INFINITY, enough = SETTLED * (double)fit->sample->rows;
    rer_status status = RER_OK;
    for (int round = 0; status == RER_OK && round < ROUNDS; round++) {
        bool alone = channel->counts == NULL;
        int most = fit->sample->rows * channel->C > LARGE ? STEPS_LARGE : STEPS_ALONE;
        status = climb(fit, alone ? most : STEPS, error);
        if (status == RER_OK)
            status = move_rates(fit, alone ? 1 : FLOW_STEPS, cost, error);
        if (alone || (round > 1 && fabs(before - channel->surprise) < enough))
            break;
        before = channel->surprise;
    }
    return status;
}

typedef enum start_kind { EVEN, DIRECTED, FROM } start_kind;

static rer_status allocate_fit(channel_fit *fit, rer_error *error)
{
    int64_t C = fit->sample->C, pairs = fit->pairs ? C * C : 0;
    rer_room rooms[] = {
        RER_ROOM(fit->x, rer_problem_size(variables(fit))),
        RER_ROOM(fit->gain, pairs),
        RER_ROOM(fit->counts, pairs),
        RER_ROOM(fit->totals, C),
        RER_ROOM(fit->channel->bias, C),
        RER_ROOM(fit->channel->totals, C),
    };
    return rer_allocate_all(rooms, RER_COUNT(rooms), "the noise channel", error);
}

static rer_status fit_from(rer_channel *channel, start_kind kind, const rer_channel *start, double weight,
                           const channel_fit *common, rer_error *error)
{
    channel_fit fit = *common;
    fit.channel = channel;
    *channel = (rer_channel){.C = fit.sample->C};
    rer_status status = allocate_fit(&fit, error);
    if (status == RER_OK)
        status = kind == FROM       ? start_from(&fit, start, error)
                 : kind == DIRECTED ? start_directed(&fit, weight, error)
                                    : start_even(&fit, weight, error);
    if (status == RER_OK)
        status = settle(&fit, error);
    free(fit.x);
    free(fit.gain);
    free(fit.counts);
    free(fit.totals);
    if (status != RER_OK)
        rer_channel_clear(channel);
    return status;
}

/* What it takes to name all of a channel's flows. */
static double cost_of_flows(const rer_channel *channel, const rer_channel_sample *sample)
{
    int64_t C = channel->C, flows = 0;
    for (int64_t i = 0; channel->counts != NULL && i < C * C; i++)
        flows += channel->counts[i] > 0;
    return cost_of_flow(sample) * (double)flows;
}

/* The smallest evidence of the oddest sampled rows: one in a hundred, one at least, is beyond. */
static rer_status set_edges(rer_channel *channel, const rer_channel_sample *sample, rer_error *error)
{
    float *least = NULL;
    rer_status status = rer_allocate(&least, sample->rows, sizeof *least, "evidence", error);
    for (int j = 0; status == RER_OK && j < RER_EVIDENCE_KINDS; j++) {
        if (sample->value[j] == NULL || j == RER_OPINION || sample->C > RER_CHANNEL_PAIRS_MOST)
            continue;
        for (int64_t i = 0; i < sample->rows; i++) {
            least[i] = INFINITY;
            for (int32_t k = 0; k < sample->C; k++)
                least[i] = fminf(least[i], sample->value[j][i * sample->C + k]);
        }
        rer_sort_floats(least, sample->rows);
        channel->edge[j] = (double)least[rer_max(0, sample->rows - 1 - rer_max(1, sample->rows / 100))];
    }
    free(least);
    return status;
}

rer_status rer_channel_fit(rer_channel *channel, const rer_channel *start, const rer_channel_sample *sample,
                           const rer_kernels *kernels, rer_pool *pool, rer_error *error)
{
    channel_fit common = {
        .sample = sample, .kernels = kernels, .pool = pool, .pairs = sample->C <= RER_CHANNEL_PAIRS_MOST};
    rer_channel made = {0}, other = {0};
    double weight = 1;
    for (int j = 0; j < RER_EVIDENCE_KINDS; j++)
        if (sample->value[j] != NULL)
            common.kind[common.kinds++] = j;
    rer_status status = start == NULL ? sharp_weight(&weight, sample, error) : RER_OK;
    if (status == RER_OK)
        status = fit_from(&made, start != NULL ? FROM : EVEN, start, weight, &common, error);
    if (status == RER_OK && start == NULL && common.pairs && sample->C > 2 &&
        sample->rows >= LABELS_A_CLASS * sample->C)
        status = fit_from(&other, DIRECTED, NULL, weight, &common, error);
    if (status == RER_OK && other.bias != NULL &&
        other.surprise + cost_of_flows(&other, sample) < made.surprise + cost_of_flows(&made, sample)) {
        rer_channel lost = made;
        made = other;
        other = lost;
    }
    rer_channel_clear(&other);
    if (status == RER_OK)
        status = set_edges(&made, sample, error);
    if (status != RER_OK) {
        rer_channel_clear(&made);
        return status;
    }
    *channel = made;
    return RER_OK;
}
