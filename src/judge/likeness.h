/* Mistakes that follow likeness: the wrong label is drawn from the posterior without the true class.
 * See likeness.c. */
#ifndef RER_LIKENESS_H
#define RER_LIKENESS_H

#include "judge/likelihood.h"

/* Shares of labels that are right, uniformly wrong, and wrong by likeness. */
enum { RER_RIGHT, RER_UNIFORM, RER_LIKENESS, RER_SHARES };

typedef struct rer_likeness_fit {
    double temperature, share[RER_SHARES], likelihood; /* mean log likelihood of the labels seen */
} rer_likeness_fit;

/* Temperature (around `near`) and shares by maximum likelihood. part [rows, RER_SHARES] and p [C] are
 * scratch; part leaves with what each share says of each row's label (rer_likeness_wrong). */
rer_likeness_fit rer_fit_likeness(const rer_label_problem *problem, double near, double *part, float *p);
/* P(label is wrong) of a row, from its parts. */
double rer_likeness_wrong(const rer_likeness_fit *fit, const double part[RER_SHARES]);

/* Log odds that label c is wrong, at temperature t; p [C] is scratch. */
double rer_likeness_logit(double uniform, double likeness, double t, const float *d2, int32_t c, const float *log_n,
                          int32_t C, float *p, const rer_kernels *kernels);

#endif
