/* Step 3 of fit.c: the rates by expectation-maximisation, all else as it is. */
#include "channel/search.h"

#include <string.h>

#define SURE .01 /* of a label: - log(1 - share) is more than the share */

/* The flows of an item, at the head of the scratch for the commit. */
static rer_channel_flows *lay_out_flows(const rer_channel_search *fit, rer_scratch *scratch, void **room)
{
    rer_channel_rows rows = rer_channel_rows_of(fit, 0);
    rer_channel_flows *flows = rer_take(scratch, 1, sizeof *flows);
    float *totals = rer_take(scratch, rows.n, sizeof *totals), *directed = NULL;
    *room = rer_take(scratch, fit->kernels->rows->room(&rows), 1);
    if (fit->channel->counts != NULL)
        directed = rer_take(scratch, RER_CHANNEL_ITEM * (int64_t)rows.n, sizeof *directed);
    if (scratch->size < INT64_MAX)
        *flows = (rer_channel_flows){.totals = totals, .directed = directed};
    return flows;
}

static rer_status flows_of_rows(void *context, int64_t item, void *memory, rer_error *error)
{
    (void)error;
    const rer_channel_search *fit = context;
    rer_channel_rows rows = rer_channel_rows_of(fit, item);
    rer_scratch scratch = rer_scratch_over(memory, fit->scratch);
    void *room;
    rer_channel_flows *flows = lay_out_flows(fit, &scratch, &room);
    memset(flows->totals, 0, (size_t)rows.n * sizeof *flows->totals);
    fit->kernels->rows->flows(flows, &rows, room);
    return RER_OK;
}

/* counts and gain [C]: of the label of a row that stands for so many, whose wrong ways are directed [C], `flowing` [C]
 * of which are flows. */
static void add_directed(double *restrict counts, double *restrict gain, float *restrict directed,
                         const float *restrict flowing, double stands, int32_t C)
{
    int sure = 0;
    for (int32_t k = 0; k < C; k++) {
        directed[k] *= flowing[k];
        counts[k] += stands * (double)directed[k];
        gain[k] += stands * (double)directed[k];
        sure |= directed[k] > (float)SURE;
    }
    for (int32_t k = 0; sure && k < C; k++)
        if (directed[k] > (float)SURE)
            gain[k] += stands * (-log1p(-fmin((double)directed[k], 1 - 1e-6)) - (double)directed[k]);
}

static rer_status add_flows(void *context, int64_t item, void *scratch, rer_error *error)
{
    (void)error;
    rer_channel_search *fit = context;
    rer_channel_rows rows = rer_channel_rows_of(fit, item);
    rer_channel_flows *flows = scratch;
    int64_t C = rows.n;
    fit->wrong += flows->wrong;
    for (int64_t k = 0; k < C; k++)
        fit->totals[k] += (double)flows->totals[k];
    for (int64_t i = 0; flows->directed != NULL && i < rows.count; i++) {
        int64_t label = rows.code[i] * C;
        add_directed(fit->counts + label, fit->gain + label, flows->directed + i * C, fit->flowing + label,
                     rows.stands != NULL ? (double)rows.stands[i] : 1, rows.n);
    }
    return RER_OK;
}

/* What share of each rate is a flow; none of a class's own. */
static void begin_step(rer_channel_search *fit)
{
    const rer_channel *channel = fit->channel;
    int64_t C = channel->C;
    memset(fit->totals, 0, (size_t)C * sizeof(double));
    fit->wrong = 0;
    if (channel->counts == NULL)
        return;
    memset(fit->counts, 0, (size_t)(C * C) * sizeof(double));
    memset(fit->gain, 0, (size_t)(C * C) * sizeof(double));
    for (int64_t i = 0; i < C * C; i++) {
        double flow = channel->counts[i] / fmax(channel->totals[i % C], 1);
        fit->flowing[i] = flow > 0 ? (float)(flow / (double)channel->rates[i]) : 0;
    }
}

/* Flows out of a class are no larger than that a clear label is as likely right as any other class is true (search.h):
 *   (1 - v) A_kk >= v + (1 - v) A_kc for every c. */
static void keep_the_most(rer_channel *channel)
{
    int64_t C = channel->C;
    double least = channel->uniform * (1 + rer_channel_largest_confusion(channel, NULL)), v = channel->likeness;
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
    for (int64_t i = 0; channel->counts != NULL && i < C * C; i++)
        fit->wrong -= fit->counts[i];
    for (int64_t k = 0; k < C; k++)
        labels += channel->totals[k] = fit->totals[k];
    channel->uniform = fmin((fmax(fit->wrong, 0) + 1) / (labels + RER_CHANNEL_FEW + 1),
                            rer_channel_most_uniform(rer_channel_largest_confusion(channel, NULL), channel->likeness));
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
    return log(fmax(sample->C - 1, 1)) + .5 * log(rer_channel_stands(sample));
}

rer_status rer_channel_move_rates(rer_channel_search *fit, int steps, double cost, rer_error *error)
{
    rer_scratch measure = RER_MEASURE;
    void *room;
    (void)lay_out_flows(fit, &measure, &room);
    rer_job job = {.stage = "looking at the labels",
                   .items = rer_channel_items(fit),
                   .scratch = fit->scratch = measure.used,
                   .work = flows_of_rows,
                   .commit = add_flows,
                   .context = fit};
    rer_status status = RER_OK;
    for (int step = 0; status == RER_OK && step < steps; step++) {
        begin_step(fit);
        status = rer_channel_run(fit, &job, error);
        if (status == RER_OK)
            status = take_flows(fit, cost, error);
    }
    return status;
}
