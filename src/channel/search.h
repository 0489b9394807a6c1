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

enum { RER_LOGIT_LAMBDA, RER_LOGIT_BLUR, RER_LOGIT_LIKENESS, RER_LOGIT_UNIFORM, RER_LOGIT_CONFUSION, RER_SHARES };

/* Variables of the search: log t_j of the kinds that are there, the shares, beta [C]. */
typedef struct rer_channel_search {
    const rer_channel_sample *sample;
    const rer_kernels *kernels;
    rer_pool *pool;
    rer_channel *channel; /* at the variables; rates are those of the last expectation-maximisation */
    int kinds, kind[RER_EVIDENCE_KINDS];
    bool pairs;       /* rates of pairs, and likeness, are possible */
    bool all_right;   /* no label is wrong: t and beta alone are sought */
    bool held;        /* e, v and A are known and stay; */
    bool confused;    /* the channel that it starts from has S, which stays where it is held */
    double *typical;  /* [kinds, C true, C seen] mean evidence of each label's rows; NULL: S is even, or held */
    double *x;        /* [size] */
    double *gradient; /* [size] of the evaluation under way */
    double value;
    rer_channel_slopes *slopes; /* [items] of the rows of each; */
    float *bias_slopes;         /* [items, C] theirs of the biases */
    float *pair_slopes;         /* [items, C seen, C true] those of A, NULL where typical is; */
    double *pair_sums;          /* [C seen, C true] of all rows */
    double *of_class;           /* [2, C] z and S of a class */
    double *gain;               /* [C seen, C true] nats that a flow is worth */
    double *counts;             /* [C seen, C true] of the step under way ... */
    double *totals;             /* [C] */
    double wrong;               /* labels that are wrong, by flows or in any way */
    float *flowing;             /* [C seen, C true] share of A that is a flow */
    int64_t scratch;            /* of the job under way */
    int *passes;                /* over the rows so far, of all searches of a stage */
} rer_channel_search;

static inline double rer_logit(double p)
{
    return log(p / (1 - p));
}

/* The largest u at which a clear label is as likely right as any one other class is true,
 *   (1 - v)(1 - u) >= v + (1 - v) u S_kc for all k and c,
 * and v <= 1/2. With more, and with flows of more, the names of classes could be exchanged, all labels with them. */
static inline double rer_channel_most_uniform(double largest, double v)
{
    return fmax((1 - v / (1 - v)) / (1 + largest), RER_CHANNEL_LEAST_UNIFORM);
}

/* d / d share of - log of the prior of u or v. */
static inline double rer_channel_prior_slope(double share)
{
    return RER_CHANNEL_FEW / (1 - share) - 1 / fmax(share, 1e-300);
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

/* sample.c. How many rows those that are sampled stand for; and some of them, of each class its share, in memory of
 * their own. */
double rer_channel_stands(const rer_channel_sample *sample);
typedef struct rer_channel_some {
    rer_channel_sample sample;
    float *value[RER_EVIDENCE_KINDS], *stands;
    int32_t *code;
} rer_channel_some;
rer_status rer_channel_some_rows(rer_channel_some *some, const rer_channel_sample *sample, int64_t most,
                                 rer_error *error);
void rer_channel_some_free(rer_channel_some *some);

/* confusion.c. Mean evidence of each label's rows; S of the channel at the variables; and the slopes by u, kappa, t and
 * beta of the sums over all rows, fit->pair_sums. */
rer_status rer_channel_typical_rows(double **typical, const rer_channel_search *fit, rer_error *error);
void rer_channel_confuse(rer_channel_search *fit);
/* The largest S_kc; its place in alike, where there is one. */
double rer_channel_largest_confusion(const rer_channel *channel, int64_t *place);
void rer_channel_add_confusion_slopes(rer_channel_search *fit);

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
/* The same, and labels that go one way beside it; counts is NULL where none are worth their cost. */
rer_status rer_channel_start_adding(rer_channel_search *fit, const rer_channel *start, rer_error *error);
/* No mistakes at all, and evidence worth what that channel says, or a hundredth of a usual worth. */
rer_status rer_channel_start_right(rer_channel_search *fit, const rer_channel *start, rer_error *error);
