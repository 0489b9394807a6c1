/* How far promised probabilities hold, from outcomes that were seen: a logistic regression with groups.
 *
 *     log odds of row i = L_i + a + b L_i + u_g(i)        L_i: the log odds that were promised
 *
 * a, b and the groups' own u_g are 0 before anything was seen, with these standard deviations. */
#pragma once

#include "core/core.h"

#define RER_SHIFT_SPREAD 1.0
#define RER_SLOPE_SPREAD .25
#define RER_GROUP_SPREAD 1.0

typedef struct rer_grouped_logistic {
    double shift, slope;  /* a, b */
    double covariance[3]; /* of (a, b): aa, ab, bb */
    int64_t groups;
    double *effect;    /* [groups] u */
    double *curvature; /* [groups] of the objective in u_g */
    double *mixed;     /* [groups, 2] and with a, b */
} rer_grouped_logistic;

/* The maximum of the posterior, by Newton's method, and its curvature there. promised, wrong (0 or 1) and group [n];
 * groups are 0..groups-1. */
rer_status rer_grouped_logistic_fit(rer_grouped_logistic *fit, const double *promised, const double *wrong,
                                    const int32_t *group, int64_t n, int64_t groups, rer_error *error);
void rer_grouped_logistic_free(rer_grouped_logistic *fit);
/* The corrected log odds; group -1: none that was seen. */
double rer_grouped_logistic_at(const rer_grouped_logistic *fit, double promised, int32_t group);
/* Sum of the probabilities of rows [n] and its standard deviation: of the outcomes, and of what is not known of a, b
 * and u. */
rer_status rer_grouped_logistic_sum(double *sum, double *spread, const rer_grouped_logistic *fit,
                                    const double *promised, const int32_t *group, int64_t n, rer_error *error);
