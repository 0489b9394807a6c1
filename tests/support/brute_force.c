/* Left-out errors by refitting: see brute_force.h. */
#include "brute_force.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double *zeros(int64_t count)
{
    double *memory = calloc((size_t)count, sizeof(double));
    if (memory == NULL)
        abort();
    return memory;
}

void brute_fit(double *mean, int64_t *n, double *scatter, const brute_data *data, int64_t without)
{
    int64_t D = data->D;
    memset(mean, 0, (size_t)(data->C * D) * sizeof *mean);
    memset(n, 0, (size_t)data->C * sizeof *n);
    memset(scatter, 0, (size_t)(D * D) * sizeof *scatter);
    for (int64_t i = 0; i < data->N; i++) {
        int32_t c = data->code[i];
        if (c < 0 || i == without)
            continue;
        n[c]++;
        for (int64_t j = 0; j < D; j++)
            mean[c * D + j] += data->x[i * D + j];
    }
    for (int32_t c = 0; c < data->C; c++)
        for (int64_t j = 0; j < D; j++)
            mean[c * D + j] /= (double)n[c]; /* NaN for an empty class */
    for (int64_t i = 0; i < data->N; i++) {
        int32_t c = data->code[i];
        if (c < 0 || i == without)
            continue;
        for (int64_t j = 0; j < D; j++)
            for (int64_t k = 0; k < D; k++)
                scatter[j * D + k] += (data->x[i * D + j] - mean[c * D + j]) * (data->x[i * D + k] - mean[c * D + k]);
    }
}

/* s [D, D] <- its lower Cholesky factor, textbook. */
static void factor(double *s, int64_t D)
{
    for (int64_t j = 0; j < D; j++)
        for (int64_t i = j; i < D; i++) {
            double sum = s[i * D + j];
            for (int64_t k = 0; k < j; k++)
                sum -= s[i * D + k] * s[j * D + k];
            s[i * D + j] = i == j ? sqrt(sum) : sum / s[j * D + j];
        }
}

/* r' (L L')^-1 r by forward substitution. */
static double square_in(const double *lower, const double *x, const double *mean, int64_t D)
{
    double square = 0, *z = zeros(D);
    for (int64_t i = 0; i < D; i++) {
        double sum = x[i] - mean[i];
        for (int64_t k = 0; k < i; k++)
            sum -= lower[i * D + k] * z[k];
        z[i] = sum / lower[i * D + i];
        square += z[i] * z[i];
    }
    free(z);
    return square;
}

typedef struct brute_fitted {
    double *mean;  /* [C, D] */
    double *lower; /* [D, D] Cholesky factor of S */
    int64_t *n;    /* [C] */
} brute_fitted;

static brute_fitted fit_without(const brute_data *data, int64_t without, double a, bool identity)
{
    int64_t D = data->D, rows = 0;
    brute_fitted fitted = {.mean = zeros(data->C * D), .lower = zeros(D * D), .n = (int64_t *)zeros(data->C)};
    double trace = 0;
    brute_fit(fitted.mean, fitted.n, fitted.lower, data, -1);
    for (int32_t c = 0; c < data->C; c++)
        rows += fitted.n[c];
    for (int64_t j = 0; j < D; j++)
        trace += fitted.lower[j * D + j];
    double dof = (double)(rows - data->C), tau = trace / dof / (double)D;
    brute_fit(fitted.mean, fitted.n, fitted.lower, data, without);
    for (int64_t j = 0; j < D; j++)
        for (int64_t k = 0; k < D; k++) {
            double *s = &fitted.lower[j * D + k];
            *s = identity ? (j == k) : (1 - a) * *s / dof + (j == k ? a * tau : 0);
        }
    factor(fitted.lower, D);
    return fitted;
}

static void free_fitted(brute_fitted *fitted)
{
    free(fitted->mean);
    free(fitted->lower);
    free(fitted->n);
}

void brute_new_row(double *d2, const brute_data *data, const double *x, double a, bool identity)
{
    brute_fitted fitted = fit_without(data, -1, a, identity);
    for (int32_t k = 0; k < data->C; k++)
        d2[k] = square_in(fitted.lower, x, fitted.mean + k * data->D, data->D);
    free_fitted(&fitted);
}

/* The left-out row shrinks S_a by a rank-one term: den = |S_a(-i)| / |S_a|. */
static double left_of_determinant(const brute_fitted *without, const brute_fitted *all, int64_t D)
{
    double log_ratio = 0;
    for (int64_t j = 0; j < D; j++)
        log_ratio += 2 * log(without->lower[j * D + j] / all->lower[j * D + j]);
    return exp(log_ratio);
}

void brute_left_out(double *d2, double *den, const brute_data *data, int64_t row, double a, bool identity)
{
    const double *x = data->x + row * data->D;
    brute_fitted all = fit_without(data, -1, a, identity), fitted = fit_without(data, row, a, identity);
    for (int32_t k = 0; k < data->C; k++)
        d2[k] = fitted.n[k] > 0 ? square_in(fitted.lower, x, fitted.mean + k * data->D, data->D) : NAN;
    *den = left_of_determinant(&fitted, &all, data->D);
    free_fitted(&all);
    free_fitted(&fitted);
}
