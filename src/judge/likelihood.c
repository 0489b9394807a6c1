/* Temperature and noise rate by maximum likelihood: eta is a concave problem given the posteriors
 * (Newton's method), t a search on a logarithmic scale, coarse and then golden section. */
#include "judge/likelihood.h"

#include <math.h>

#define COARSE_STEPS 9
#define COARSE_FACTOR 4.0
#define GOLDEN_STEPS 12
#define NEWTON_STEPS 60

int64_t rer_likelihood_scratch(int64_t rows)
{
    return rows * (int64_t)sizeof(double);
}

typedef struct label_problem {
    const float *d2;     /* [rows, C] */
    const int32_t *code; /* [rows] */
    const float *log_n;  /* [C] */
    int64_t rows;
    int32_t C;
    const rer_kernels *kernels;
    double *posterior; /* [rows] p_c of the label seen */
} label_problem;

/* d/d eta of the log likelihood and its (negative) derivative; q = (1 - p) / (C - 1). */
static double noise_slope(const label_problem *problem, double eta, double *curvature)
{
    double slope = 0, bend = 0, others = problem->C - 1;
    const double *posterior = problem->posterior;
#pragma omp simd reduction(+ : slope, bend)
    for (int64_t i = 0; i < problem->rows; i++) {
        double p = posterior[i], q = (1 - p) / others;
        double mixed = (1 - eta) * p + eta * q;
        double term = (q - p) / (mixed > 1e-300 ? mixed : 1e-300);
        slope += term;
        bend -= term * term;
    }
    *curvature = bend;
    return slope;
}

/* The likelihood is concave in eta: Newton's steps, kept inside the bracket of its slope's root. */
static double best_noise(const label_problem *problem)
{
    double low = 0, high = 1, eta = .05, curvature;
    if (noise_slope(problem, 0, &curvature) <= 0)
        return 0;
    for (int step = 0; step < NEWTON_STEPS && high - low > 1e-9; step++) {
        double slope = noise_slope(problem, eta, &curvature);
        if (slope > 0)
            low = eta;
        else
            high = eta;
        double next = curvature < 0 ? eta - slope / curvature : low;
        if (fabs(next - eta) < 1e-9)
            break;
        eta = next > low && next < high ? next : (low + high) / 2;
    }
    return eta;
}

static rer_label_fit fit_at(const label_problem *problem, double t)
{
    for (int64_t i = 0; i < problem->rows; i++) {
        const float *d2 = problem->d2 + i * problem->C;
        int32_t c = problem->code[i];
        double all = problem->kernels->log_sum_exp(d2, problem->log_n, t / 2, problem->C);
        double own = exp((double)problem->log_n[c] - t / 2 * (double)d2[c] - all);
        problem->posterior[i] = own < 1 ? own : 1;
    }
    rer_label_fit fit = {.temperature = t, .noise = best_noise(problem)};
    for (int64_t i = 0; i < problem->rows; i++) {
        double p = problem->posterior[i];
        double mixed = (1 - fit.noise) * p + fit.noise * (1 - p) / (problem->C - 1);
        fit.likelihood += log(mixed > 1e-300 ? mixed : 1e-300) / (double)problem->rows;
    }
    return fit;
}

/* Squared errors come in any unit. With a mean own error m a useful t lies around 50 / m (posteriors
 * neither flat nor all 0 and 1); the search goes four powers of four to each side. */
static double typical_temperature(const label_problem *problem)
{
    double sum = 0;
    for (int64_t i = 0; i < problem->rows; i++)
        sum += (double)problem->d2[i * problem->C + problem->code[i]];
    return sum > 0 ? 50 * (double)problem->rows / sum : 1;
}

rer_label_fit rer_fit_labels(const float *d2, const int32_t *code, const float *log_n, int64_t rows, int32_t C,
                             const rer_kernels *kernels, void *scratch)
{
    label_problem problem = {d2, code, log_n, rows, C, kernels, scratch};
    double start = log(typical_temperature(&problem)), step = log(COARSE_FACTOR), golden = (sqrt(5) - 1) / 2;
    rer_label_fit best = {.likelihood = -INFINITY};
    for (int i = 0; i < COARSE_STEPS; i++) {
        rer_label_fit fit = fit_at(&problem, exp(start + step * (i - COARSE_STEPS / 2)));
        if (fit.likelihood > best.likelihood)
            best = fit;
    }
    double low = log(best.temperature) - step, high = log(best.temperature) + step;
    double a = high - golden * (high - low), b = low + golden * (high - low);
    rer_label_fit at_a = fit_at(&problem, exp(a)), at_b = fit_at(&problem, exp(b));
    for (int i = 0; i < GOLDEN_STEPS; i++) {
        if (at_a.likelihood > at_b.likelihood) {
            high = b;
            b = a;
            at_b = at_a;
            a = high - golden * (high - low);
            at_a = fit_at(&problem, exp(a));
        } else {
            low = a;
            a = b;
            at_a = at_b;
            b = low + golden * (high - low);
            at_b = fit_at(&problem, exp(b));
        }
    }
    best = at_a.likelihood > best.likelihood ? at_a : best;
    return at_b.likelihood > best.likelihood ? at_b : best;
}
