/* Step 1 of fit.c: where the search begins. */
#include "channel/search.h"
#include "stats/minimize.h"

#include <string.h>

#define FREE_FLOWS 8 /* steps of expectation-maximisation before any flow is given up */
#define BEGIN_CONFUSION .3
#define SHARP 5.0 /* nats between the two nearest classes of a median row, where the search begins */

/* By how much the nearest class of a row is nearer than the next. */
static float gap_of(const float *value, int32_t C, int32_t *nearest)
{
    float first = INFINITY, second = INFINITY;
    *nearest = 0;
    for (int32_t k = 0; k < C; k++)
        if (value[k] < first) {
            second = first;
            first = value[k];
            *nearest = k;
        } else
            second = fminf(second, value[k]);
    return second - first;
}

/* t at which the median of n gaps is SHARP nats; where half the rows and more lie between classes, the least gap. */
static double sharp_weight(float *gap, int64_t n)
{
    rer_sort_floats(gap, n);
    int64_t at = n / 2;
    while (at < n && !(gap[at] > 0))
        at++;
    return at < n && isfinite(gap[at]) ? SHARP / (double)gap[at] : 0;
}

rer_status rer_channel_sharp_weights(double *usual, double *sharpest, const rer_channel_sample *sample,
                                     rer_error *error)
{
    int64_t rows = sample->value[RER_GLOBAL] != NULL ? sample->rows : 0;
    float *gap = NULL, *of_class = NULL;
    int32_t *nearest = NULL;
    rer_room rooms[] = {RER_ROOM(gap, sample->rows), RER_ROOM(of_class, sample->rows), RER_ROOM(nearest, sample->rows)};
    rer_status status = rer_allocate_all(rooms, RER_COUNT(rooms), "margins", error);
    if (status != RER_OK)
        rows = 0;
    *sharpest = 0;
    for (int64_t i = 0; i < rows; i++)
        gap[i] = gap_of(sample->value[RER_GLOBAL] + i * sample->C, sample->C, nearest + i);
    for (int32_t k = 0; k < sample->C; k++) {
        int64_t n = 0;
        for (int64_t i = 0; i < rows; i++)
            if (nearest[i] == k)
                of_class[n++] = gap[i];
        if (n >= RER_CHANNEL_TO_TELL)
            *sharpest = fmax(*sharpest, sharp_weight(of_class, n));
    }
    double median = sharp_weight(gap, rows);
    *usual = median > 0 ? median : 1;
    *sharpest = fmax(*sharpest, *usual);
    RER_FREE_ALL(gap, of_class, nearest);
    return status;
}

static void set_start(rer_channel_search *fit, double weight, double blur, double likeness)
{
    memset(fit->x, 0, (size_t)rer_problem_size(rer_channel_variables(fit)) * sizeof *fit->x);
    for (int j = 0; j < fit->kinds; j++)
        fit->x[j] = log(weight);
    fit->x[fit->kinds + RER_LOGIT_BLUR] = rer_logit(blur);
    fit->x[fit->kinds + RER_LOGIT_LIKENESS] = rer_logit(likeness / RER_CHANNEL_MOST_LIKENESS);
    fit->x[fit->kinds + RER_LOGIT_CONFUSION] = rer_logit(BEGIN_CONFUSION / RER_CHANNEL_MOST_LAMBDA);
    rer_channel_place(fit, fit->x);
}

/* A usual worth of a kind of evidence: half a nat for a typical own value. */
static double usual_weight(const rer_channel_search *fit, int kind)
{
    const rer_channel_sample *sample = fit->sample;
    double sum = 0;
    for (int64_t i = 0; i < sample->rows; i++)
        sum += (double)sample->value[kind][i * sample->C + sample->code[i]];
    return .5 * (double)sample->rows / fmax(sum, 1e-9 * (double)sample->rows);
}

/* That of other evidence than the global one. */
static void set_other_weights(rer_channel_search *fit)
{
    for (int j = 0; j < fit->kinds; j++)
        if (fit->kind[j] != RER_GLOBAL)
            fit->x[j] = log(usual_weight(fit, fit->kind[j]));
}

static rer_status begin_rates(rer_channel_search *fit, double uniform, double directed, rer_error *error)
{
    rer_channel *channel = fit->channel;
    int64_t C = channel->C;
    rer_status status = RER_OK;
    memset(channel->totals, 0, (size_t)C * sizeof(double));
    for (int64_t i = 0; i < fit->sample->rows; i++)
        channel->totals[fit->sample->code[i]] += fit->sample->stands != NULL ? (double)fit->sample->stands[i] : 1;
    channel->uniform = uniform;
    rer_channel_keep_uniform(fit);
    if (directed > 0)
        status = rer_allocate(&channel->counts, C * C, sizeof(double), "the noise channel", error);
    for (int64_t i = 0; status == RER_OK && directed > 0 && i < C * C; i++)
        channel->counts[i] = i / C != i % C ? directed / (double)(C - 1) * channel->totals[i % C] : 0;
    return status == RER_OK ? rer_channel_finish(channel, error) : status;
}

/* Flows of all directions; those that are worth their cost stay. */
static rer_status find_flows(rer_channel_search *fit, double uniform, rer_error *error)
{
    RER_TRY(begin_rates(fit, uniform, .1, error));
    RER_TRY(rer_channel_move_rates(fit, FREE_FLOWS, 0, error));
    return rer_channel_move_rates(fit, RER_CHANNEL_FLOW_STEPS, rer_channel_cost_of_flow(fit->sample), error);
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
    return find_flows(fit, .01, error);
}

/* what was found with less evidence; */
rer_status rer_channel_start_from(rer_channel_search *fit, const rer_channel *start, rer_error *error)
{
    rer_channel *channel = fit->channel;
    int64_t C = channel->C;
    double limit = 1 - 1e-9;
    set_start(fit, start->weight[RER_GLOBAL], fmax(start->blur, 1e-12),
              fmin(fmax(start->likeness, 1e-12), .999 * RER_CHANNEL_MOST_LIKENESS));
    set_other_weights(fit);
    for (int j = 0; j < fit->kinds; j++)
        if (start->weight[fit->kind[j]] > 0)
            fit->x[j] = log(start->weight[fit->kind[j]]);
    fit->x[fit->kinds + RER_LOGIT_LAMBDA] =
        rer_logit(fmin(fmax(start->sharpness / RER_CHANNEL_MOST_LAMBDA, 1e-9), limit));
    if (start->alike != NULL)
        fit->x[fit->kinds + RER_LOGIT_CONFUSION] =
            rer_logit(fmin(fmax(start->confusion / RER_CHANNEL_MOST_LAMBDA, 1e-9), limit));
    for (int32_t k = 0; k < C; k++)
        if (isfinite(fit->sample->log_n[k]))
            fit->x[fit->kinds + RER_SHARES + k] = (double)(start->bias[k] - fit->sample->log_n[k]);
    if (fit->held && fit->confused) {
        channel->confusion = start->confusion;
        memcpy(channel->alike, start->alike, (size_t)(C * C) * sizeof *channel->alike);
    }
    rer_channel_place(fit, fit->x);
    rer_status status = begin_rates(fit, start->uniform, start->counts != NULL ? 1 : 0, error);
    if (status != RER_OK)
        return status;
    memcpy(channel->totals, start->totals, (size_t)C * sizeof(double));
    if (start->counts != NULL)
        memcpy(channel->counts, start->counts, (size_t)(C * C) * sizeof(double));
    return rer_channel_finish(channel, error);
}

/* the same, and labels that go one way beside it; */
rer_status rer_channel_start_adding(rer_channel_search *fit, const rer_channel *start, rer_error *error)
{
    RER_TRY(rer_channel_start_from(fit, start, error));
    return find_flows(fit, start->uniform, error);
}

/* or no mistakes at all, and evidence worth what that channel says, or a hundredth of a usual worth. */
rer_status rer_channel_start_right(rer_channel_search *fit, const rer_channel *start, rer_error *error)
{
    set_start(fit, 1, .5, .25);
    for (int j = 0; j < fit->kinds; j++)
        fit->x[j] = log(fmax(start->weight[fit->kind[j]], .01 * usual_weight(fit, fit->kind[j])));
    rer_channel_place(fit, fit->x);
    return begin_rates(fit, RER_CHANNEL_LEAST_UNIFORM, 0, error);
}
