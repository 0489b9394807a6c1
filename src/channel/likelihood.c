/* Step 2 of fit.c: the objective, - log likelihood of the labels seen and priors, its slope, and the way down. */
#include "channel/search.h"
#include "stats/minimize.h"

#include <string.h>

#define SMALL 250000    /* values: a fifth of a millisecond, less than waking threads takes */
#define FLAT 1e-5       /* the slope of the objective, a row, that is none */
#define BETA_SPREAD 1.0 /* sd of beta */
#define GAUSSIAN .5     /* t of squared errors of Gaussian classes; */
#define CALIBRATED 1.0  /* and of probabilities that mean what they say; */
#define WORTH_SPREAD .5 /* log t ~ Cauchy with this scale */

/* u = least + logistic(x) span */
static double span_of_uniform(const rer_channel *channel)
{
    double largest = rer_channel_largest_confusion(channel, NULL);
    return rer_channel_most_uniform(largest, channel->likeness) - RER_CHANNEL_LEAST_UNIFORM;
}

void rer_channel_place(rer_channel_search *fit, const double *x)
{
    rer_channel *channel = fit->channel;
    for (int j = 0; j < fit->kinds; j++)
        channel->weight[fit->kind[j]] = exp(fmin(x[j], 80));
    const double *share = x + fit->kinds, *beta = share + RER_SHARES;
    channel->sharpness = RER_CHANNEL_MOST_LAMBDA * rer_logistic(share[RER_LOGIT_LAMBDA]);
    channel->blur = fit->all_right ? 0 : rer_logistic(share[RER_LOGIT_BLUR]);
    channel->likeness =
        fit->pairs && !fit->all_right ? RER_CHANNEL_MOST_LIKENESS * rer_logistic(share[RER_LOGIT_LIKENESS]) : 0;
    for (int32_t k = 0; k < channel->C; k++)
        channel->bias[k] = fit->sample->log_n[k] + (float)beta[k];
    if (fit->held || fit->all_right)
        return;
    channel->confusion = RER_CHANNEL_MOST_LAMBDA * rer_logistic(share[RER_LOGIT_CONFUSION]);
    if (fit->typical != NULL)
        rer_channel_confuse(fit);
    if (channel->right == NULL)
        return;
    channel->uniform = RER_CHANNEL_LEAST_UNIFORM + span_of_uniform(channel) * rer_logistic(share[RER_LOGIT_UNIFORM]);
    rer_channel_set_rates(channel);
}

/* The channel's u becomes that of the search. */
void rer_channel_keep_uniform(rer_channel_search *fit)
{
    double above = (fit->channel->uniform - RER_CHANNEL_LEAST_UNIFORM) / fmax(span_of_uniform(fit->channel), 1e-9);
    fit->x[fit->kinds + RER_LOGIT_UNIFORM] = rer_logit(fmin(fmax(above, 1e-9), .99));
}

rer_channel_rows rer_channel_rows_of(const rer_channel_search *fit, int64_t item)
{
    const rer_channel *channel = fit->channel;
    const rer_channel_sample *sample = fit->sample;
    int64_t first = item * RER_CHANNEL_ITEM, C = sample->C;
    rer_channel_rows rows = {
        .count = rer_min(RER_CHANNEL_ITEM, sample->rows - first),
        .n = sample->C,
        .kinds = fit->kinds,
        .bias = channel->bias,
        .code = sample->code + first,
        .stands = sample->stands != NULL ? sample->stands + first : NULL,
        .right = channel->right,
        .rates = channel->rates,
        .uniform = C > 1 ? channel->uniform / (double)(C - 1) : 0,
        .sharpness = channel->sharpness,
        .blur = channel->blur,
        .likeness = channel->likeness,
    };
    for (int j = 0; j < fit->kinds; j++) {
        rows.value[j] = sample->value[fit->kind[j]] + first * C;
        rows.weight[j] = (float)channel->weight[fit->kind[j]];
    }
    return rows;
}

int64_t rer_channel_items(const rer_channel_search *fit)
{
    return (fit->sample->rows + RER_CHANNEL_ITEM - 1) / RER_CHANNEL_ITEM;
}

/* How far it is after so many passes: how many it takes is known when they are done. */
static double progress_after(const rer_channel_search *fit, int passes)
{
    const rer_channel_sample *sample = fit->sample;
    return sample->to - (sample->to - sample->from) * exp(-passes / fmax(sample->usual, 1));
}

/* As the pool runs it; a small job here and now, since waking threads would take longer than the work. */
rer_status rer_channel_run(const rer_channel_search *fit, const rer_job *job, rer_error *error)
{
    rer_job part = *job;
    part.from = progress_after(fit, *fit->passes);
    *fit->passes += (int)rer_max(1, fit->sample->rows / RER_CHANNEL_SEARCHED);
    part.to = progress_after(fit, *fit->passes);
    if (fit->sample->rows * fit->sample->C > SMALL)
        return rer_pool_run(fit->pool, &part, error);
    rer_status status = rer_pool_say(fit->pool, &part, error);
    return status == RER_OK ? rer_pool_run(NULL, &part, error) : status;
}

/* Sums of an item stay in a place of its own, and are added up when all are there: waiting for turns would take longer
 * than the work. */
static rer_status slopes_of_item(void *context, int64_t item, void *room, rer_error *error)
{
    (void)error;
    const rer_channel_search *fit = context;
    rer_channel_rows rows = rer_channel_rows_of(fit, item);
    float *bias = fit->bias_slopes + item * rows.n;
    memset(bias, 0, (size_t)rows.n * sizeof *bias);
    fit->slopes[item] = (rer_channel_slopes){.bias = bias};
    if (fit->typical != NULL) {
        int64_t pairs = (int64_t)rows.n * rows.n;
        fit->slopes[item].pairs = memset(fit->pair_slopes + item * pairs, 0, (size_t)pairs * sizeof *bias);
    }
    fit->kernels->rows->slopes(&fit->slopes[item], &rows, room);
    return RER_OK;
}

static void add_slopes(rer_channel_search *fit, const rer_channel_slopes *slopes)
{
    double *share = fit->gradient + fit->kinds;
    fit->value -= slopes->value;
    for (int j = 0; j < fit->kinds; j++)
        fit->gradient[j] -= slopes->weight[j];
    share[RER_LOGIT_LAMBDA] -= slopes->sharpness;
    share[RER_LOGIT_BLUR] -= slopes->blur;
    share[RER_LOGIT_LIKENESS] -= slopes->likeness;
    share[RER_LOGIT_UNIFORM] -= slopes->uniform;
    for (int32_t k = 0; k < fit->sample->C; k++)
        share[RER_SHARES + k] -= (double)slopes->bias[k];
    int64_t pairs = slopes->pairs != NULL ? (int64_t)fit->sample->C * fit->sample->C : 0;
    for (int64_t i = 0; i < pairs; i++)
        fit->pair_sums[i] += (double)slopes->pairs[i];
}

double rer_channel_share_priors(const rer_channel *channel, bool pairs)
{
    double lambda = channel->sharpness / RER_CHANNEL_MOST_LAMBDA;
    double share[] = {lambda, channel->uniform, channel->blur, channel->likeness}, value = 0;
    const double few[] = {1, RER_CHANNEL_FEW, RER_CHANNEL_FEW_BLUR, RER_CHANNEL_FEW};
    double kappa = channel->confusion / RER_CHANNEL_MOST_LAMBDA;
    if (channel->alike != NULL)
        value -= log(fmax(kappa, 1e-300)) + log(fmax(1 - kappa, 1e-300));
    for (int j = 0; j < 3 + pairs; j++)
        value -= log(fmax(share[j], 1e-300)) + few[j] * log(fmax(1 - share[j], 1e-300));
    return value;
}

/* The slopes of shares become those of their logits, with their priors. The room of u is the smaller the larger v is. */
static void add_share_priors(rer_channel_search *fit)
{
    const rer_channel *channel = fit->channel;
    double *share = fit->gradient + fit->kinds, lambda = channel->sharpness / RER_CHANNEL_MOST_LAMBDA;
    double e = channel->blur, v = channel->likeness, u = channel->uniform, alike = v / RER_CHANNEL_MOST_LIKENESS;
    double span = span_of_uniform(channel), above = span > 0 ? (u - RER_CHANNEL_LEAST_UNIFORM) / span : 0;
    double by_u = fit->held ? 0 : share[RER_LOGIT_UNIFORM] + rer_channel_prior_slope(u);
    double kappa = channel->confusion / RER_CHANNEL_MOST_LAMBDA;
    double u_by_v = span > 0 ? -above / (1 + rer_channel_largest_confusion(channel, NULL)) / ((1 - v) * (1 - v)) : 0;
    double by_v = share[RER_LOGIT_LIKENESS] + rer_channel_prior_slope(v) + by_u * u_by_v;
    share[RER_LOGIT_LAMBDA] = share[RER_LOGIT_LAMBDA] * channel->sharpness * (1 - lambda) - (1 - 2 * lambda);
    share[RER_LOGIT_BLUR] = share[RER_LOGIT_BLUR] * e * (1 - e) - (1 - e) + RER_CHANNEL_FEW_BLUR * e;
    share[RER_LOGIT_LIKENESS] = fit->pairs ? by_v * v * (1 - alike) : 0;
    share[RER_LOGIT_UNIFORM] = by_u * span * above * (1 - above);
    if (fit->held)
        share[RER_LOGIT_BLUR] = share[RER_LOGIT_LIKENESS] = 0;
    share[RER_LOGIT_CONFUSION] =
        fit->typical != NULL ? share[RER_LOGIT_CONFUSION] * channel->confusion * (1 - kappa) - (1 - 2 * kappa) : 0;
    fit->value += rer_channel_share_priors(channel, fit->pairs);
}

/* log t ~ Cauchy around what is usual: of whitened squared errors beside no local evidence, and of probabilities. */
static void add_worth_prior(rer_channel_search *fit, int j)
{
    bool has_local = fit->sample->value[RER_LOCAL] != NULL;
    double usual = fit->kind[j] == RER_OPINION                                         ? CALIBRATED
                   : fit->kind[j] == RER_GLOBAL && fit->sample->whitened && !has_local ? GAUSSIAN
                                                                                       : 0;
    if (usual == 0)
        return;
    double from = log(fit->channel->weight[fit->kind[j]] / usual) / WORTH_SPREAD;
    fit->gradient[j] += 2 * from / (1 + from * from) / WORTH_SPREAD;
    fit->value += log1p(from * from);
}

/* - log of the priors. */
static void add_priors(rer_channel_search *fit, const double *x)
{
    const rer_channel *channel = fit->channel;
    double *gradient = fit->gradient, *share = gradient + fit->kinds, *beta = share + RER_SHARES;
    const double *at = x + fit->kinds;
    for (int j = 0; j < fit->kinds; j++)
        gradient[j] *= channel->weight[fit->kind[j]];
    for (int j = 0; j < fit->kinds; j++)
        add_worth_prior(fit, j);
    if (fit->all_right)
        memset(share, 0, RER_SHARES * sizeof *share);
    else
        add_share_priors(fit);
    for (int32_t k = 0; k < fit->sample->C; k++) {
        double b = at[RER_SHARES + k];
        fit->value += b * b / (2 * BETA_SPREAD * BETA_SPREAD);
        beta[k] += b / (BETA_SPREAD * BETA_SPREAD);
    }
}

static rer_status evaluate(void *context, rer_problem *const *problems, int32_t count, rer_error *error)
{
    (void)count;
    rer_channel_search *fit = context;
    rer_problem *problem = problems[0];
    rer_channel_place(fit, problem->at);
    rer_channel_rows rows = rer_channel_rows_of(fit, 0);
    rer_job job = {.stage = "looking at the labels",
                   .items = rer_channel_items(fit),
                   .scratch = fit->kernels->rows->room(&rows),
                   .work = slopes_of_item,
                   .context = fit};
    rer_status status = rer_channel_run(fit, &job, error);
    if (status != RER_OK)
        return status;
    fit->gradient = problem->gradient;
    fit->value = 0;
    memset(fit->gradient, 0, (size_t)rer_channel_variables(fit) * sizeof *fit->gradient);
    if (fit->typical != NULL)
        memset(fit->pair_sums, 0, (size_t)(rows.n * (int64_t)rows.n) * sizeof *fit->pair_sums);
    for (int64_t item = 0; item < job.items; item++)
        add_slopes(fit, &fit->slopes[item]);
    if (fit->typical != NULL)
        rer_channel_add_confusion_slopes(fit);
    add_priors(fit, problem->at);
    double square = 0, flat = FLAT * rer_channel_stands(fit->sample);
    for (int64_t j = 0; j < rer_channel_variables(fit); j++)
        square += fit->gradient[j] * fit->gradient[j];
    problem->value = fit->value;
    problem->converged = square < flat * flat;
    return RER_OK;
}

/* Where t and lambda bend the slope fast a step of L-BFGS may lead far beyond, and none that is tried instead leads down;
 * anew, with nothing remembered, one does. (Of 800 drawn labels of 100 classes, 30 % of them moved, 78 % would be called
 * wrong, 640 nats above the end that is found so: 33 %.) */
rer_status rer_channel_climb(rer_channel_search *fit, int steps, rer_error *error)
{
    rer_problem problem = {.n = rer_channel_variables(fit), .x = fit->x, .value = INFINITY};
    rer_status status = RER_OK;
    double before, enough = FLAT * rer_channel_stands(fit->sample);
    do {
        before = problem.value;
        status = rer_minimize(&problem, 1, steps, evaluate, fit, error);
    } while (status == RER_OK && problem.stuck && before - problem.value > enough);
    if (status == RER_OK)
        rer_channel_place(fit, fit->x);
    fit->channel->surprise = problem.value;
    return status;
}
