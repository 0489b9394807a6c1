/* Noise channels with a rate for each pair of classes, by expectation-maximisation: directed
 * T_kc = N_kc / n_k, or mutual T_kc = (N_kc + N_ck) / (n_k + n_c). What for: channel.c. */
#ifndef RER_PAIR_CHANNEL_H
#define RER_PAIR_CHANNEL_H

#include "core/core.h"
#include "judge/likelihood.h"

/* Rounds of a fit that begins, at a given temperature or searching for one. */
#define RER_PAIR_ROUNDS 16
#define RER_PAIR_SEARCH_ROUNDS 36

/* One channel on its way. */
typedef struct rer_pair_fit {
    const rer_label_problem *problem;
    bool mutual, search_t; /* else directed; else at t as given */
    double t;
    float *p, *w;             /* [rows, C] posterior, responsibilities */
    double *counts, *next;    /* [C seen, C true] */
    double *totals;           /* [C true] */
    float *top, *bottom;      /* [C seen, C true], [C true]: T_kc = top / bottom, with the prior's counts */
    float *kept;              /* [C] mutual only: T_cc */
    double noise, likelihood; /* 1 - mean w_c, mean log likelihood */
    bool begun;               /* counts are there */
} rer_pair_fit;

/* The problem must outlive the fit. */
rer_status rer_pair_fit_make(rer_pair_fit *fit, const rer_label_problem *problem, double t, rer_error *error);
void rer_pair_fit_clear(rer_pair_fit *fit);
/* At most so many rounds, from where it stands; channel [C] is scratch. */
void rer_pair_fit_run(rer_pair_fit *fit, int rounds, float *channel);

/* mean(1 - max_k p_k) at its temperature. */
double rer_pair_fit_doubt(const rer_pair_fit *fit);
/* P(label is wrong) of each row. */
void rer_pair_fit_wrong(double *wrong, const rer_pair_fit *fit);
/* The same, without overlap: pairs that are taken for each other both ways overlap, and only what one way
 * has more than the other, or mistakes of any kind (a share eta) would make, are mistakes. A directed fit
 * makes overlap go one way, whichever it began with; so the mutual fit too must find one way twice as
 * often as the other. */
void rer_pair_fit_wrong_by_direction(double *wrong, const rer_pair_fit *fit, const rer_pair_fit *mutual, double eta);
/* N_kc with the prior's counts, and its sum over c. */
double rer_pair_fit_count(const rer_pair_fit *fit, int64_t k, int64_t c);
double rer_pair_fit_total(const rer_pair_fit *fit, int64_t k);
/* Hands over counts [C seen, C true] and totals [C true], with the prior's. */
void rer_pair_fit_take(rer_pair_fit *fit, double **counts, double **totals);

#endif
