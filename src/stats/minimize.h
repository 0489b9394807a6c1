/* Several smooth problems minimised side by side by L-BFGS (libLBFGS). Whenever all of them wait for
 * an objective, one call evaluates them together: one pass over the data serves them all. */
#pragma once

#include "core/core.h"

typedef struct rer_problem {
    int32_t index;     /* the caller's name for it */
    int64_t n;         /* variables */
    double *x;         /* [rer_problem_size(n)] where to start, then where it ended */
    double value;      /* of the objective where it ended */
    int32_t evaluated; /* how often */
    bool stuck;        /* it ended where no step led down: rounding, or a slope that bends too fast for its memory */
    /* What an evaluation is given and what it fills in (value too): */
    const double *at; /* [n] */
    double *gradient; /* [n] */
    bool converged;   /* no need to go on */
} rer_problem;

typedef rer_status rer_evaluate(void *context, rer_problem *const *problems, int32_t count, rer_error *error);

/* Room that x needs: libLBFGS works on whole vectors, those past n are zeros. */
static inline int64_t rer_problem_size(int64_t n)
{
    return (n + 15) & ~(int64_t)15;
}

/* A problem ends when an evaluation says so, after `iterations`, or when rounding stops its progress. */
rer_status rer_minimize(rer_problem *problems, int32_t count, int32_t iterations, rer_evaluate *evaluate, void *context,
                        rer_error *error);
