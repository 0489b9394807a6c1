/* How well left-out errors explain the labels seen, with a temperature and a uniform noise rate. */
#ifndef RER_LIKELIHOOD_H
#define RER_LIKELIHOOD_H

#include "backend/backend.h"

typedef struct rer_label_fit {
    double temperature, noise, likelihood; /* t, eta, mean log likelihood */
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

/* p [C] of all classes; bias: log_n, or more. */
void rer_posterior(float *p, const float *d2, const float *bias, double t, int32_t C, const rer_kernels *kernels);

/* 1 - max_k p_k of p [C] */
double rer_doubt(const float *p, int32_t C);

/* Maximises L(t, eta) = mean log[(1 - eta) p_c + eta (1 - p_c) / (C - 1)]. */
rer_label_fit rer_fit_labels(const rer_label_problem *problem);
/* The eta that maximises L at a given t. */
double rer_noise_at(const rer_label_problem *problem, double t);
/* Maximises mean p_c^.7 over t, which labels that do not fit hardly move; `likelihood` is that mean.
 * Roughly: the mean to about 1e-4, which is flat at its top, with fewer looks. */
rer_label_fit rer_fit_robust(const rer_label_problem *problem, bool roughly);
/* The same of mean_i sum_k weight[c_i, k] p_ik^.7, weight [C, C], from t / 2 to 4 t; p [2, C] is scratch. */
rer_label_fit rer_fit_corrected(const rer_label_problem *problem, const float *weight, double t, float *p);

/* Where `value` is highest between low and high, by `steps` golden sections (it should have one top). */
double rer_golden_section(double (*value)(void *context, double x), void *context, double low, double high, int steps);
/* Where the parabola through (x[i], y[i]), x increasing, has its top, or x[1] where it has none between them. */
double rer_parabola_top(const double x[3], const double y[3]);

#endif
