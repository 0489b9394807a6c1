/* Step 3 of fit.c: the rates by expectation-maximisation, all else as it is. */
#include "channel/search.h"

#include <string.h>

/* w [RER_CHANNEL_ITEM, C] at the head, for the commit, and room for the kernels. */
static float *lay_out_flows(const rer_channel_search *fit, rer_scratch *scratch, float **room)
{
    int64_t C = fit->sample->C;
    float *w = rer_take(scratch, RER_CHANNEL_ITEM * C, sizeof *w);
    *room = rer_take(scratch, C, sizeof **room);
    return w;
}

static rer_status flows_of_rows(void *context, int64_t item, void *memory, rer_error *error)
{
    (void)error;
    const rer_channel_search *fit = context;
    int32_t C = fit->sample->C;
    rer_scratch scratch = rer_scratch_over(memory, fit->scratch);
    float *room, *w = lay_out_flows(fit, &scratch, &room);
    int64_t first = item * RER_CHANNEL_ITEM, end = rer_min(first + RER_CHANNEL_ITEM, fit->sample->rows);
    for (int64_t i = first; i < end; i++) {
        rer_channel_evidence evidence = rer_channel_evidence_of(fit, i);
        rer_channel_row row = rer_channel_row_of(fit, i);
        fit->kernels->channel->scores(w + (i - first) * C, fit->channel->bias, &evidence, C);
        (void)fit->kernels->channel->flows(w + (i - first) * C, room, &row, C);
    }
    return RER_OK;
}

static rer_status add_flows(void *context, int64_t item, void *scratch, rer_error *error)
{
    (void)error;
    rer_channel_search *fit = context;
    const rer_channel *channel = fit->channel;
    int32_t C = fit->sample->C;
    double even = channel->uniform / (C - 1);
    int64_t first = item * RER_CHANNEL_ITEM, end = rer_min(first + RER_CHANNEL_ITEM, fit->sample->rows);
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

/* Flows out of a class are no larger than that a clear label is as likely right as any other class is true (search.h):
 *   (1 - v) A_kk >= v + (1 - v) A_kc for every c. */
static void keep_the_most(rer_channel *channel)
{
    int64_t C = channel->C;
    double least = channel->uniform * (double)C / (double)(C - 1), v = channel->likeness;
    double most = fmax(0, 1 - v / (1 - v) - least) / 2;
    for (int64_t k = 0; k < C; k++) {
        double leaving = 0;
        for (int64_t c = 0; c < C; c++)
            leaving += channel->counts[c * C + k];
        double factor = most * fmax(channel->totals[k], 1) / leaving;
        for (int64_t c = 0; leaving > 0 && factor < 1 && c < C; c++)
            channel->counts[c * C + k] *= factor;
    }
}

/* The flows of the step become the channel's, but for those that are worth less than `cost`. */
static rer_status take_flows(rer_channel_search *fit, double cost, rer_error *error)
{
    rer_channel *channel = fit->channel;
    int64_t C = channel->C;
    double labels = 0;
    bool any = false;
    for (int64_t k = 0; k < C; k++)
        labels += channel->totals[k] = fit->totals[k];
    channel->uniform = fmin(fmax(fit->even / (labels + RER_CHANNEL_FEW - 1), RER_CHANNEL_LEAST_UNIFORM),
                            rer_channel_most_uniform(C, channel->likeness));
    rer_channel_keep_uniform(fit);
    for (int64_t i = 0; channel->counts != NULL && i < C * C; i++) {
        channel->counts[i] = fit->gain[i] >= cost ? fit->counts[i] : 0;
        any = any || channel->counts[i] > 0;
    }
    if (any) {
        keep_the_most(channel);
    } else {
        free(channel->counts);
        channel->counts = NULL;
    }
    return rer_channel_finish(channel, error);
}

double rer_channel_cost_of_flow(const rer_channel_sample *sample)
{
    return log(fmax(sample->C - 1, 1)) + .5 * log((double)sample->rows);
}

rer_status rer_channel_move_rates(rer_channel_search *fit, int steps, double cost, rer_error *error)
{
    int64_t C = fit->sample->C;
    rer_scratch measure = RER_MEASURE;
    float *room;
    (void)lay_out_flows(fit, &measure, &room);
    rer_job job = {.stage = "looking at the labels",
                   .items = rer_channel_items(fit),
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
        status = rer_channel_run(fit, &job, error);
        if (status == RER_OK)
            status = take_flows(fit, cost, error);
    }
    return status;
}
