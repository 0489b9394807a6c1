/* The search for the likeliest channel, which fit.c runs, in parts: likelihood.c, flows.c, starts.c. */
#pragma once

#include "channel/channel.h"
#include "core/scratch.h"
#include "stats/order.h"

#include <math.h>

#define RER_CHANNEL_ITEM 128 /* rows of an item of work */
#define RER_CHANNEL_MOST_LAMBDA .5
#define RER_CHANNEL_MOST_LIKENESS .5
#define RER_CHANNEL_LEAST_UNIFORM 1e-5
#define RER_CHANNEL_FEW 10.0     /* v, u ~ Beta(1, FEW); */
#define RER_CHANNEL_FEW_BLUR 6.0 /* e ~ Beta(1, FEW_BLUR), see fit.c */
#define RER_CHANNEL_FLOW_STEPS 4 /* of expectation-maximisation, each round */

enum { RER_LOGIT_LAMBDA, RER_LOGIT_BLUR, RER_LOGIT_LIKENESS, RER_LOGIT_UNIFORM, RER_SHARES };

/* Variables of the search: log t_j of the kinds that are there, the shares (u only where there are no flows), beta [C]. */
typedef struct rer_channel_search {
    const rer_channel_sample *sample;
    const rer_kernels *kernels;
    rer_pool *pool;
    rer_channel *channel; /* at the variables; rates are those of the last expectation-maximisation */
    int kinds, kind[RER_EVIDENCE_KINDS];
    bool pairs;       /* rates of pairs, and likeness, are possible */
    bool all_right;   /* no label is wrong: t and beta alone are sought */
    double *x;        /* [size] */
    double *gradient; /* [size] of the evaluation under way */
    double value;
    rer_channel_slopes *slopes; /* [items] of the rows of each; */
    float *bias_slopes;         /* [items, C] theirs of the biases */
    double *gain;               /* [C seen, C true] nats that a flow is worth */
    double *counts;             /* [C seen, C true] of the step under way ... */
    double *totals;             /* [C] */
    double even;                /* labels wrong in any way */
    int64_t scratch;            /* of the job under way */
    int *passes;                /* over the rows so far, of all searches of a stage */
} rer_channel_search;

static inline double rer_logit(double p)
{
    return log(p / (1 - p));
}

/* The largest u at which a clear label is as likely right as any one other class is true,
 *   (1 - v)(1 - u) >= v + (1 - v) u / (C - 1),
 * and v <= 1/2. With more, and with flows of more, the names of classes could be exchanged, all labels with them. */
static inline double rer_channel_most_uniform(int64_t C, double v)
{
    return fmax((double)(C - 1) / (double)C * (1 - v / (1 - v)), RER_CHANNEL_LEAST_UNIFORM);
}

static inline int64_t rer_channel_variables(const rer_channel_search *fit)
{
    return fit->kinds + RER_SHARES + fit->sample->C;
}

/* likelihood.c. The channel at the variables x; its u, back into those of the search. */
void rer_channel_place(rer_channel_search *fit, const double *x);
void rer_channel_keep_uniform(rer_channel_search *fit);
/* The sampled rows of an item as the kernels want them. */
rer_channel_rows rer_channel_rows_of(const rer_channel_search *fit, int64_t item);
/* Items of work, and running them: as the pool does it, but a small job here and now. */
int64_t rer_channel_items(const rer_channel_search *fit);
rer_status rer_channel_run(const rer_channel_search *fit, const rer_job *job, rer_error *error);
/* Step 2: at most `steps` steps of L-BFGS. */
rer_status rer_channel_climb(rer_channel_search *fit, int steps, rer_error *error);
/* - log of the priors of the shares e, v, u and of lambda. */
double rer_channel_share_priors(const rer_channel *channel, bool pairs);

/* flows.c. Step 3; flows that are worth less than `cost` nats are given up. */
rer_status rer_channel_move_rates(rer_channel_search *fit, int steps, double cost, rer_error *error);
double rer_channel_cost_of_flow(const rer_channel_sample *sample);

/* starts.c. Step 1: t at which the two nearest classes of a median row are far apart, and of the median row of every
 * class; a channel with few mistakes of every kind, with labels that go one way, or with what was found from less
 * evidence. */
rer_status rer_channel_sharp_weights(double *usual, double *sharpest, const rer_channel_sample *sample,
                                     rer_error *error);
rer_status rer_channel_start_even(rer_channel_search *fit, double weight, rer_error *error);
rer_status rer_channel_start_directed(rer_channel_search *fit, double weight, rer_error *error);
rer_status rer_channel_start_from(rer_channel_search *fit, const rer_channel *start, rer_error *error);
/* No mistakes at all, and evidence worth what that channel says, or a hundredth of a usual worth. */
rer_status rer_channel_start_right(rer_channel_search *fit, const rer_channel *start, rer_error *error);
