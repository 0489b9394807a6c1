/* Step 1 of fit.c: where the search begins. */
#include "channel/search.h"
#include "stats/minimize.h"

#include <string.h>

#define FREE_FLOWS 8 /* steps of expectation-maximisation before any flow is given up */
#define SHARP 5.0    /* nats between the two nearest classes of a median row, where flows are looked for */

/* t at which the two nearest classes of a median row are SHARP nats apart. */
rer_status rer_channel_sharp_weight(double *weight, const rer_channel_sample *sample, rer_error *error)
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

static void set_start(rer_channel_search *fit, double weight, double blur, double likeness)
{
    memset(fit->x, 0, (size_t)rer_problem_size(rer_channel_variables(fit)) * sizeof *fit->x);
    for (int j = 0; j < fit->kinds; j++)
        fit->x[j] = log(weight);
    fit->x[fit->kinds + RER_LOGIT_BLUR] = rer_logit(blur);
    fit->x[fit->kinds + RER_LOGIT_LIKENESS] = rer_logit(likeness);
    rer_channel_place(fit, fit->x);
}

/* Units of other evidence than the global one at the start: half a nat for a typical own value. */
static void set_other_weights(rer_channel_search *fit)
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

static rer_status begin_rates(rer_channel_search *fit, double uniform, double directed, rer_error *error)
{
    rer_channel *channel = fit->channel;
    int64_t C = channel->C;
    rer_status status = RER_OK;
    memset(channel->totals, 0, (size_t)C * sizeof(double));
    for (int64_t i = 0; i < fit->sample->rows; i++)
        channel->totals[fit->sample->code[i]] += 1;
    channel->uniform = uniform;
    rer_channel_keep_uniform(fit);
    if (directed > 0)
        status = rer_allocate(&channel->counts, C * C, sizeof(double), "the noise channel", error);
    for (int64_t i = 0; status == RER_OK && directed > 0 && i < C * C; i++)
        channel->counts[i] = i / C != i % C ? directed / (double)(C - 1) * channel->totals[i % C] : 0;
    return status == RER_OK ? rer_channel_finish(channel, error) : status;
}

/* A channel of its own: few mistakes of every kind, */
rer_status rer_channel_start_even(rer_channel_search *fit, double weight, rer_error *error)
{
    set_start(fit, weight, .02, .01);
    set_other_weights(fit);
    return begin_rates(fit, .005, 0, error);
}

/* labels that go one way, */
rer_status rer_channel_start_directed(rer_channel_search *fit, double weight, rer_error *error)
{
    set_start(fit, weight, .002, .002);
    set_other_weights(fit);
    rer_channel_place(fit, fit->x);
    rer_status status = begin_rates(fit, .01, .1, error);
    if (status == RER_OK)
        status = rer_channel_move_rates(fit, FREE_FLOWS, 0, error);
    return status == RER_OK
               ? rer_channel_move_rates(fit, RER_CHANNEL_FLOW_STEPS, rer_channel_cost_of_flow(fit->sample), error)
               : status;
}

/* or what was found with less evidence. */
rer_status rer_channel_start_from(rer_channel_search *fit, const rer_channel *start, rer_error *error)
{
    rer_channel *channel = fit->channel;
    int64_t C = channel->C;
    double limit = 1 - 1e-9;
    set_start(fit, start->weight[RER_GLOBAL], fmax(start->blur, 1e-12), fmax(start->likeness, 1e-12));
    set_other_weights(fit);
    fit->x[fit->kinds + RER_LOGIT_LAMBDA] =
        rer_logit(fmin(fmax(start->sharpness / RER_CHANNEL_MOST_LAMBDA, 1e-9), limit));
    for (int32_t k = 0; k < C; k++)
        if (isfinite(fit->sample->log_n[k]))
            fit->x[fit->kinds + RER_SHARES + k] = (double)(start->bias[k] - fit->sample->log_n[k]);
    rer_channel_place(fit, fit->x);
    rer_status status = begin_rates(fit, start->uniform, start->counts != NULL ? 1 : 0, error);
    if (status != RER_OK)
        return status;
    memcpy(channel->totals, start->totals, (size_t)C * sizeof(double));
    if (start->counts != NULL)
        memcpy(channel->counts, start->counts, (size_t)(C * C) * sizeof(double));
    return rer_channel_finish(channel, error);
}
