/* How true classes became the labels seen: one model of all labels. See channel.c. */
#pragma once

#include "core/output.h"
#include "fit/model.h"
#include "run/scores.h"

/* With more classes than are scored at a time wrong labels are taken to be uniform or blurred: rates of pairs and
 * likeness need all of a row's classes at once. */
#define RER_CHANNEL_PAIRS_MOST RER_CLASS_TILE
/* Labels of a class that could show a flow: with fewer none could be worth its name. */
#define RER_CHANNEL_TO_TELL 20
/* And those that could show which classes it is confused with: ten of a hundred may be wrong. */
#define RER_CHANNEL_TO_CONFUSE 100

/* What a row says of its class. */
typedef enum rer_evidence_kind {
    RER_GLOBAL,  /* squared error under the class's model */
    RER_LOCAL,   /* mean squared distance to the nearest rows of the class (score/second_look.h) */
    RER_OPINION, /* the user's own probabilities (channel/opinion.h) */
    RER_EVIDENCE_KINDS,
} rer_evidence_kind;

typedef struct rer_channel {
    int32_t C;
    double weight[RER_EVIDENCE_KINDS]; /* t_j, what a unit of each evidence is worth; 0: it is not there */
    double edge[RER_EVIDENCE_KINDS];   /* smallest evidence of the oddest sampled rows: beyond it nothing is known */
    float *bias;                       /* [C] log n_k + beta_k */
    double blur, sharpness;            /* e: share of labels that were given to a blurred reading; lambda */
    double likeness;                   /* v: share of the others that are wrong by likeness */
    double uniform;                    /* u: ... that are wrong in any way; they are another class c with */
    double confusion;                  /* S_kc, the sharper the larger kappa is: confusion.c */
    float *alike;                      /* [C seen, C true] S, NULL: 1 / (C - 1) for any class */
    double all_right;                  /* P(all labels are right, and overlap explains them); 0: it was not asked */
    double *counts;                    /* [C seen, C true] labels that went one way from class to class, NULL: none */
    double *totals;                    /* [C true] labels */
    float *rates;                      /* [C seen, C true] A, but for A_cc; NULL where counts and alike are */
    float *right;                      /* [C] A_cc */
    double surprise;                   /* what the fit has minimised: - log likelihood and priors */
} rer_channel;

/* Sampled rows, each judged by a model that has not seen it. */
typedef struct rer_channel_sample {
    const float *value[RER_EVIDENCE_KINDS]; /* each [rows, C], NULL: not there */
    const int32_t *code;                    /* [rows] labels seen */
    const float *stands;                    /* [rows] rows that each stands for, NULL: itself */
    const float *log_n;                     /* [C] log class sizes */
    int64_t rows;
    int32_t C;
    bool whitened;   /* global evidence is in units of the classes' spread */
    bool thinned;    /* there are fewer rows than the start was found from, which knows better how labels go wrong */
    bool enough;     /* rows, to ask whether all labels are right */
    double from, to; /* the stage's part of the whole progress, */
    double usual;    /* passes over the rows that its fits may take, one over many counted as several, */
    int *passes;     /* and that they have made so far; NULL: there is one fit */
} rer_channel_sample;

/* The likeliest channel. start NULL: from mistakes that follow likeness, and from labels that go one way;
 * else from that channel, which knew less. */
rer_status rer_channel_fit(rer_channel *channel, const rer_channel *start, const rer_channel_sample *sample,
                           const rer_kernels *kernels, rer_pool *pool, rer_error *error);
/* Nats a row that is gained where a thinned sample may say anew how labels go wrong; see fit.c. */
#define RER_CHANNEL_FREED .02
/* Sampled rows that tell one end of a search from another; where it lies all of them tell. */
#define RER_CHANNEL_SEARCHED 5000
/* Passes over so many rows, or over fewer, that such a fit takes, more or less: anew or from a channel. */
double rer_channel_usual_passes(int32_t C, bool anew);
/* Makes what is derived from u, S, counts and totals (a loaded channel); the same where there is room for it. */
rer_status rer_channel_finish(rer_channel *channel, rer_error *error);
void rer_channel_set_rates(rer_channel *channel);
/* A_cc is not held at the least that it may be. */
bool rer_channel_is_free(const rer_channel *channel, int64_t c);
void rer_channel_clear(rer_channel *channel);
/* One with nothing in it. */
rer_status rer_channel_make(rer_channel **channel, int32_t C, rer_error *error);
void rer_channel_free(rer_channel *channel);

/* A row as its classes come in, tile by tile. */
typedef struct rer_channel_state {
    rer_channel_sums sums; /* over all classes but the label's */
    double odds;           /* sum over them of p_k / (1 - p_k), but for the best one; whole rows only */
    float own;             /* z of the label */
} rer_channel_state;
rer_channel_state rer_channel_begin(void);
/* Takes classes first..first+classes-1 in: value[j] [classes] of each kind that has a weight. code: the row's label,
 * or negative. z [classes] is left with exp(z - top), and that top is returned. */
float rer_channel_take(rer_channel_state *state, const rer_channel *channel, const float *const *value, int32_t first,
                       int32_t classes, int32_t code, float *z, const rer_kernels *kernels);
/* Log odds that the label is wrong, after the last class: of the labels that the channel explains, and of a new one,
 * which says for itself whether overlap explains it. */
double rer_channel_wrong(const rer_channel_state *state, const rer_channel *channel, int32_t code);
double rer_channel_wrong_new(const rer_channel_state *state, const rer_channel *channel, int32_t code);
/* Log odds of f P, from those of P. */
double rer_channel_times(double logit, double f);
/* p of the label. */
double rer_channel_posterior(const rer_channel_state *state);
/* Log odds that the likeliest class is the true one of a row without a label. */
double rer_channel_right(const rer_channel_state *state);
/* The likeliest class other than the label; z of the whole row as rer_channel_take has left it, NULL: it came in
 * tiles. */
int32_t rer_channel_suggest(const rer_channel_state *state, const rer_channel *channel, const float *z, int32_t code);

/* The classes other than the label that are likeliest to be the true one, the likeliest first. */
typedef struct rer_channel_others {
    int32_t class[RER_LIKELY_OTHERS]; /* -1: none */
    double share[RER_LIKELY_OTHERS];  /* of the probability that the label is wrong; until the end log P(label and k) */
    double wrong;                     /* log of the sum of these over all others */
} rer_channel_others;
rer_channel_others rer_channel_no_others(void);
/* Takes the classes in that rer_channel_take has just taken, with the z and the top that it has left. */
void rer_channel_keep_others(rer_channel_others *others, const rer_channel_state *state, const rer_channel *channel,
                             const float *z, float top, int32_t first, int32_t classes, int32_t code);
/* After the last class. The suggestion goes by how labels go from class to class alone; where all ways together make
 * another class likelier, both get the mean: what is suggested is never the less likely one. */
void rer_channel_share_out(rer_channel_others *others, int32_t suggested);

/* rer_model_save up to its last step, rer_output_commit. */
rer_status rer_model_stage(rer_output *output, const rer_model *model, const char *path, rer_error *error);
