/* How many labels are wrong. See noise_rate.c. */
#ifndef RER_NOISE_RATE_H
#define RER_NOISE_RATE_H

#include "judge/likeness.h"
#include "judge/pair_channel.h"

enum { RER_NOISE_LOW, RER_NOISE_MIDDLE, RER_NOISE_HIGH, RER_NOISE_PLACES };

typedef struct rer_noise_fit {
    const rer_label_problem *problem;
    double t;           /* that of the labels that fit */
    double odds, doubt; /* at t: share of labels at odds with the posterior, and of rows that it is in doubt of */
    /* The same at three temperatures around the corrected one. */
    double near_odds[RER_NOISE_PLACES], near_doubt[RER_NOISE_PLACES];
    /* Only with rates of pairs of classes: */
    double *wrong;   /* [rows] P(label is wrong) at t */
    float *inverse;  /* [C seen, C true] T^-1 */
    double *channel; /* [2, C, C] T, and room for the inverse */
    int32_t *pivots; /* [C] */
} rer_noise_fit;

/* The problem must outlive the fit and have scratch of its own. */
rer_status rer_noise_fit_make(rer_noise_fit *fit, const rer_label_problem *problem, bool pairs, rer_error *error);
void rer_noise_fit_clear(rer_noise_fit *fit);
/* Sets t. */
void rer_noise_fit_start(rer_noise_fit *fit);
/* All the rest, by rates of pairs of classes (pair: a directed one, at a given t, that has not begun; p [2, C] is
 * scratch), */
void rer_noise_fit_run(rer_noise_fit *fit, rer_pair_fit *pair, float *p);
/* or by a uniform rate; p [C] is scratch. */
void rer_noise_fit_run_uniform(rer_noise_fit *fit, float *p);

typedef struct rer_noise_estimate {
    double rate, low, high; /* with a 90 % interval */
} rer_noise_estimate;
/* `likeness`: what that channel has found (shares of 0: nothing). */
rer_noise_estimate rer_noise_fit_rate(const rer_noise_fit *fit, const rer_likeness_fit *likeness);
/* The rate at t itself, which takes more mistakes for overlap: what is certainly there. */
double rer_noise_fit_least(const rer_noise_fit *fit, const rer_likeness_fit *likeness);

#endif
