/* Temperature and noise rate by maximum likelihood: eta is a concave problem given the posteriors
 * (Newton's method), t a search on a logarithmic scale: coarse on a share of the rows, then golden
 * section on all of them, then the top of the parabola through its last three points. */
#include "judge/likelihood.h"

#include "judge/judge.h"

#include <math.h>

#define COARSE_STEPS 9
#define COARSE_FACTOR 4.0
#define COARSE_ROWS 500
#define GOLDEN_STEPS 7
#define NEWTON_STEPS 60

int64_t rer_likelihood_scratch(int64_t rows)
{
    return rows * (int64_t)sizeof(double);
}

typedef struct label_problem {
    const float *d2;      /* [rows, C] */
    const int32_t *code;  /* [rows] */
    const float *log_n;   /* [C] */
    int64_t rows, stride; /* every stride-th row is looked at */
    int32_t C;
    const rer_kernels *kernels;
    double *posterior; /* [used] p_c of the label seen */
    int64_t used;
    double noise; /* eta where it is given, NaN: to be found */
} label_problem;

/* d/d eta of the log likelihood and its (negative) derivative; q = (1 - p) / (C - 1). */
static double noise_slope(const label_problem *problem, double eta, double *curvature)
{
    double slope = 0, bend = 0, others = problem->C - 1;
    const double *posterior = problem->posterior;
#pragma omp simd reduction(+ : slope, bend)
    for (int64_t i = 0; i < problem->used; i++) {
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

static rer_label_fit fit_at(label_problem *problem, double log_t)
{
    double t = exp(log_t);
    problem->used = 0;
    for (int64_t i = 0; i < problem->rows; i += problem->stride) {
        const float *d2 = problem->d2 + i * problem->C;
        int32_t c = problem->code[i];
        double all = problem->kernels->log_sum_exp(d2, problem->log_n, t / 2, problem->C);
        double own = exp((double)problem->log_n[c] - t / 2 * (double)d2[c] - all);
        problem->posterior[problem->used++] = own < 1 ? own : 1;
    }
    rer_label_fit fit = {.temperature = t, .noise = isnan(problem->noise) ? best_noise(problem) : problem->noise};
    for (int64_t i = 0; i < problem->used; i++) {
        double p = problem->posterior[i];
        double mixed = (1 - fit.noise) * p + fit.noise * (1 - p) / (problem->C - 1);
        fit.likelihood += log(mixed > 1e-300 ? mixed : 1e-300);
    }
    fit.likelihood /= (double)problem->used;
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

/* log t of the best of a coarse grid, on a share of the rows. */
static double search_coarse(label_problem *problem)
{
    double start = log(typical_temperature(problem)), best = start, highest = -INFINITY;
    problem->stride = problem->rows > COARSE_ROWS ? problem->rows / COARSE_ROWS : 1;
    for (int i = 0; i < COARSE_STEPS; i++) {
        double log_t = start + log(COARSE_FACTOR) * (i - COARSE_STEPS / 2);
        rer_label_fit fit = fit_at(problem, log_t);
        if (fit.likelihood > highest) {
            highest = fit.likelihood;
            best = log_t;
        }
    }
    problem->stride = 1;
    return best;
}

/* Where the parabola through (x[i], y[i]) has its top, or x[1] where it has none between them. */
static double parabola_top(const double x[3], const double y[3])
{
    double left = (x[1] - x[0]) * (y[1] - y[2]), right = (x[1] - x[2]) * (y[1] - y[0]);
    double top = x[1] - .5 * ((x[1] - x[0]) * left - (x[1] - x[2]) * right) / (left - right);
    return top > x[0] && top < x[2] ? top : x[1];
}

static rer_label_fit search_temperature(label_problem *problem)
{
    double center = search_coarse(problem), step = log(COARSE_FACTOR), golden = (sqrt(5) - 1) / 2;
    double low = center - step, high = center + step;
    double a = high - golden * (high - low), b = low + golden * (high - low);
    rer_label_fit at_a = fit_at(problem, a), at_b = fit_at(problem, b), outer = {0};
    double outside = NAN; /* the end of the bracket that was an inner point last */
    for (int i = 0; i < GOLDEN_STEPS; i++) {
        if (at_a.likelihood > at_b.likelihood) {
            outside = b;
            outer = at_b;
            high = b;
            b = a;
            at_b = at_a;
            a = high - golden * (high - low);
            at_a = fit_at(problem, a);
        } else {
            outside = a;
            outer = at_a;
            low = a;
            a = b;
            at_a = at_b;
            b = low + golden * (high - low);
            at_b = fit_at(problem, b);
        }
    }
    rer_label_fit best = at_a.likelihood > at_b.likelihood ? at_a : at_b;
    bool above = outside > b; /* three neighbouring points: a, b and the last one outside */
    double x[3] = {above ? a : outside, above ? b : a, above ? outside : b};
    double y[3] = {above ? at_a.likelihood : outer.likelihood, above ? at_b.likelihood : at_a.likelihood,
                   above ? outer.likelihood : at_b.likelihood};
    rer_label_fit top = fit_at(problem, parabola_top(x, y));
    return top.likelihood > best.likelihood ? top : best;
}

rer_label_fit rer_fit_labels(const float *d2, const int32_t *code, const float *log_n, int64_t rows, int32_t C,
                             const rer_kernels *kernels, void *scratch)
{
    return rer_fit_temperature(d2, code, log_n, rows, C, NAN, kernels, scratch);
}

rer_label_fit rer_fit_temperature(const float *d2, const int32_t *code, const float *log_n, int64_t rows, int32_t C,
                                  double noise, const rer_kernels *kernels, void *scratch)
{
    label_problem problem = {.d2 = d2,
                             .code = code,
                             .log_n = log_n,
                             .rows = rows,
                             .stride = 1,
                             .C = C,
                             .kernels = kernels,
                             .posterior = scratch,
                             .noise = noise};
    return search_temperature(&problem);
}

double rer_ratio_noise(float *d2, const int32_t *code, int64_t rows, int32_t C, const rer_kernels *kernels)
{
    rer_ratio_sums sums = {0};
    for (int64_t i = 0; i < rows; i++) {
        rer_row_errors row = rer_row_errors_none();
        rer_row_errors_take(&row, d2 + i * C, 0, C, code[i], kernels);
        rer_ratio_sums_add_row(&sums, &row, C);
    }
    return rer_noise_rate(sums.chi0 / (double)sums.n, sums.chi_rand / (double)sums.n);
}

rer_label_fit rer_fit_odds(float *d2, const int32_t *code, const float *log_n, int64_t rows, int32_t C, double noise,
                           const rer_kernels *kernels, void *scratch)
{
    double seen = rer_ratio_noise(d2, code, rows, C, kernels);
    return rer_fit_temperature(d2, code, log_n, rows, C, fmax(seen, noise), kernels, scratch);
}
