/* How well left-out errors explain the labels seen, with a temperature and a uniform noise rate. */
#ifndef RER_LIKELIHOOD_H
#define RER_LIKELIHOOD_H

#include "backend/backend.h"

typedef struct rer_label_fit {
    double temperature, noise, likelihood; /* t, eta, mean log likelihood */
} rer_label_fit;

int64_t rer_likelihood_scratch(int64_t rows); /* bytes */

/* Maximises L(t, eta) = mean log[(1 - eta) p_c + eta (1 - p_c) / (C - 1)],
 * p_k ~ exp(log_n[k] - t d2_k / 2), over d2 [rows, C] and code [rows] >= 0. */
rer_label_fit rer_fit_labels(const float *d2, const int32_t *code, const float *log_n, int64_t rows, int32_t C,
                             const rer_kernels *kernels, void *scratch);

/* The same with eta given. */
rer_label_fit rer_fit_temperature(const float *d2, const int32_t *code, const float *log_n, int64_t rows, int32_t C,
                                  double noise, const rer_kernels *kernels, void *scratch);

/* eta of the ratios (judge.h) from the errors themselves. d2 is changed for a moment and restored. */
double rer_ratio_noise(float *d2, const int32_t *code, int64_t rows, int32_t C, const rer_kernels *kernels);

/* The odds of a mistake: the likelihood's own eta takes systematic mistakes (one class for another)
 * for confusable classes and comes out near 0 for them; the ratios' eta does not. The larger of the
 * two counts, and the likelihood chooses the temperature that goes with it. */
rer_label_fit rer_fit_odds(float *d2, const int32_t *code, const float *log_n, int64_t rows, int32_t C, double noise,
                           const rer_kernels *kernels, void *scratch);

#endif
