/* The noise channel: how true classes became the labels seen, and what that says of each label.
 * See channel.c. */
#ifndef RER_CHANNEL_H
#define RER_CHANNEL_H

#include "core/pool.h"
#include "judge/likeness.h"

/* Squared errors are made for so many classes at a time; */
#define RER_CLASS_TILE 1024
/* with no more than that, rates of pairs of classes, or likeness, can explain mistakes. */
#define RER_CHANNEL_CLASSES RER_CLASS_TILE

/* Left-out squared errors of sampled rows. */
typedef struct rer_channel_sample {
    const float *d2;     /* [rows, C] */
    const int32_t *code; /* [rows] labels seen */
    const float *log_n;  /* [C] log class sizes */
    int64_t rows, N;     /* N: labelled rows that the sample was drawn from */
    int32_t C;
} rer_channel_sample;

typedef struct rer_channel {
    double temperature; /* t: class posterior ~ n_k exp(-t d2_k / 2) */
    double uniform;     /* eta: share of wrong labels where they are spread evenly */
    double likeness;    /* share of labels that are wrong by likeness (likeness.h); 0: another channel */
    /* A channel with a rate for each pair of classes; NULL: uniform. */
    double *counts; /* [C seen, C true] labels of each pair, with the prior's */
    double *totals; /* [C true] */
    float *bias;    /* [C seen, C true] log n_k T_kc / T_cc, from the two above */
    bool counted;   /* most rows of the data took part in the counts */
    int32_t C;
    double slope, offset; /* mistakenness = logistic(slope score + offset) */
    double noise_rate, noise_low, noise_high;
} rer_channel;

rer_status rer_channel_fit(rer_channel *channel, const rer_channel_sample *sample, const rer_kernels *kernels,
                           rer_pool *pool, rer_error *error);
/* Makes what is derived from counts and totals (a loaded channel). */
rer_status rer_channel_finish(rer_channel *channel, const float *log_n, rer_error *error);
void rer_channel_clear(rer_channel *channel);

/* The score that labels are ranked by, from a row's errors under classes first..first+classes-1:
 *   log sum_{k != c} n_k T_kc exp(-s t d2_k / 2) - log n_c T_cc exp(-s t d2_c / 2),
 * s = 1 with rates of pairs, else 2, of which this is the first term; d2 is changed for a moment and
 * restored. `row_counts`: the row took part in the channel's counts and is taken out of them; scratch
 * [classes]. */
double rer_channel_others(const rer_channel *channel, float *d2, int32_t first, int32_t classes, int32_t code,
                          const float *log_n, bool row_counts, float *scratch, const rer_kernels *kernels);
/* Log odds that the label is wrong, from that term and the row's own squared error. */
double rer_channel_logit(const rer_channel *channel, double others, double own, double log_n);

#endif
