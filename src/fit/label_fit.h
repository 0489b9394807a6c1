/* How well left-out errors explain the labels seen, with a temperature and a uniform noise rate. */
#pragma once

#include "backend/backend.h"

typedef struct rer_label_fit {
    double temperature, noise, objective; /* t, eta, what they maximise: a mean over the rows */
} rer_label_fit;

/* Left-out squared errors of some rows and the labels seen. */
typedef struct rer_label_problem {
    const float *d2;     /* [rows, C] */
    const int32_t *code; /* [rows] >= 0 */
    const float *log_n;  /* [C] log class sizes */
    int64_t rows;
    int32_t C;
    const rer_kernels *kernels;
    double *scratch; /* [rows] */
} rer_label_problem;

/* p_c of one row labelled c: p_k ~ exp(log_n[k] - t d2_k / 2), d2 [C]. */
double rer_own_posterior(const float *d2, int32_t c, const float *log_n, int32_t C, double t,
                         const rer_kernels *kernels);

/* Maximises L(t, eta) = mean log[(1 - eta) p_c + eta (1 - p_c) / (C - 1)]. */
rer_label_fit rer_fit_labels(const rer_label_problem *problem);
/* Maximises mean p_c^.7 over t, which labels that do not fit hardly move; `objective` is that mean.
 * Roughly: the mean to about 1e-4, which is flat at its top, with fewer looks. */
rer_label_fit rer_fit_robust(const rer_label_problem *problem, bool roughly);
/* Where the parabola through (x[i], y[i]), x increasing, has its top, or x[1] where it has none between them. */
double rer_parabola_top(const double x[3], const double y[3]);
