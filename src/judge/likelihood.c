/* Temperature and noise rate by maximum likelihood: eta is a concave problem given the posteriors
 * (Newton's method), t a search on a logarithmic scale: coarse on a share of the rows, then golden
 * section on all of them, then the top of the parabola through its last three points. */
#include "judge/likelihood.h"

#include <math.h>
#include <stddef.h>

#define COARSE_STEPS 8 /* at most, to one side */
#define COARSE_FACTOR 4.0
#define COARSE_ROWS 500
#define GOLDEN_STEPS 7
#define ROUGH_STEPS 3
#define CORRECTED_STEPS 6
#define ROBUST_POWER .7 /* tells labels that fit from others well enough */
#define NEWTON_STEPS 60

/* A problem, and how much of it is looked at. */
typedef struct label_search {
    rer_label_problem problem;
    int64_t stride;    /* every stride-th row */
    double *posterior; /* [used] p_c of the label seen, to `power` */
    int64_t used;
    double power; /* of the robust mean, 0: the likelihood */
    /* Where all p_k of a row count, and not p_c alone: */
    const float *weight; /* [C seen, C], NULL: p_c */
    float *p, *bias;     /* [C] scratch, [C] power log_n */
} label_search;

/* log p_c */
static double log_own(const float *d2, int32_t c, const float *log_n, int32_t C, double t, const rer_kernels *kernels)
{
    return fmin(0, (double)log_n[c] - t / 2 * (double)d2[c] - kernels->log_sum_exp(d2, log_n, t / 2, C));
}

double rer_own_posterior(const float *d2, int32_t c, const float *log_n, int32_t C, double t,
                         const rer_kernels *kernels)
{
    return exp(log_own(d2, c, log_n, C, t, kernels));
}

void rer_posterior(float *p, const float *d2, const float *bias, double t, int32_t C, const rer_kernels *kernels)
{
    float half_t = (float)(t / 2);
    for (int32_t k = 0; k < C; k++)
        p[k] = -half_t * d2[k];
    (void)kernels->softmax(p, bias, C);
}

double rer_doubt(const float *p, int32_t C)
{
    float highest = 0;
#pragma omp simd reduction(max : highest)
    for (int32_t k = 0; k < C; k++)
        highest = p[k] > highest ? p[k] : highest;
    return 1 - (double)highest;
}

/* d/d eta of the log likelihood and its (negative) derivative; q = (1 - p) / (C - 1). */
static double noise_slope(const label_search *search, double eta, double *curvature)
{
    double slope = 0, bend = 0, others = search->problem.C - 1;
    const double *posterior = search->posterior;
#pragma omp simd reduction(+ : slope, bend)
    for (int64_t i = 0; i < search->used; i++) {
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
static double best_noise(const label_search *search)
{
    double low = 0, high = 1, eta = .05, curvature;
    if (noise_slope(search, 0, &curvature) <= 0)
        return 0;
    for (int step = 0; step < NEWTON_STEPS && high - low > 1e-9; step++) {
        double slope = noise_slope(search, eta, &curvature);
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

/* sum_k weight[c, k] p_k^q: with z_k = log_n_k - t d2_k / 2, p_k^q = softmax(q z)_k exp(log sum exp(q z) - q log sum
 * exp(z)). */
static double weighted_power(const label_search *search, int64_t i, double t)
{
    const rer_label_problem *problem = &search->problem;
    const rer_kernels *kernels = problem->kernels;
    int32_t C = problem->C;
    const float *d2 = problem->d2 + i * C;
    double q = search->power, log_sum = kernels->log_sum_exp(d2, problem->log_n, t / 2, C);
    for (int32_t k = 0; k < C; k++)
        search->p[k] = -(float)(q * t / 2) * d2[k];
    double of_power = kernels->softmax(search->p, search->bias, C);
    return kernels->dot_f32(search->p, search->weight + (int64_t)problem->code[i] * C, C) * exp(of_power - q * log_sum);
}

/* p_c^power of the rows looked at; the power 0 stands for 1. */
static void set_posteriors(label_search *search, double t)
{
    const rer_label_problem *problem = &search->problem;
    double power = search->power > 0 ? search->power : 1;
    search->used = 0;
    for (int64_t i = 0; i < problem->rows; i += search->stride)
        search->posterior[search->used++] = search->weight != NULL
                                                ? weighted_power(search, i, t)
                                                : exp(power * log_own(problem->d2 + i * problem->C, problem->code[i],
                                                                      problem->log_n, problem->C, t, problem->kernels));
}

static rer_label_fit fit_at(label_search *search, double log_t)
{
    rer_label_fit fit = {.temperature = exp(log_t)};
    double others = search->problem.C - 1;
    set_posteriors(search, fit.temperature);
    if (search->power == 0)
        fit.noise = best_noise(search);
    for (int64_t i = 0; i < search->used; i++) {
        double p = search->posterior[i];
        double mixed = (1 - fit.noise) * p + fit.noise * (1 - p) / others;
        fit.likelihood += search->power > 0 ? p : log(mixed > 1e-300 ? mixed : 1e-300);
    }
    fit.likelihood /= (double)search->used;
    return fit;
}

/* Squared errors come in any unit. With a mean own error m a useful t lies around 50 / m (posteriors
 * neither flat nor all 0 and 1); the search starts there. */
static double typical_temperature(const rer_label_problem *problem)
{
    double sum = 0;
    for (int64_t i = 0; i < problem->rows; i++)
        sum += (double)problem->d2[i * problem->C + problem->code[i]];
    return sum > 0 ? 50 * (double)problem->rows / sum : 1;
}

/* log t of the best of a coarse grid, on a share of the rows: uphill from its middle. */
static double search_coarse(label_search *search)
{
    double best = log(typical_temperature(&search->problem));
    /* The robust mean is nearly flat above its top: a share of the rows would end up anywhere. */
    if (search->power == 0 && search->problem.rows > COARSE_ROWS)
        search->stride = search->problem.rows / COARSE_ROWS;
    double highest = fit_at(search, best).likelihood;
    for (int side = -1; side <= 1; side += 2) {
        int moves = 0;
        for (; moves < COARSE_STEPS; moves++) {
            rer_label_fit fit = fit_at(search, best + side * log(COARSE_FACTOR));
            if (!(fit.likelihood > highest))
                break;
            highest = fit.likelihood;
            best += side * log(COARSE_FACTOR);
        }
        if (moves > 0)
            break;
    }
    search->stride = 1;
    return best;
}

double rer_parabola_top(const double x[3], const double y[3])
{
    double left = (x[1] - x[0]) * (y[1] - y[2]), right = (x[1] - x[2]) * (y[1] - y[0]);
    double top = x[1] - .5 * ((x[1] - x[0]) * left - (x[1] - x[2]) * right) / (left - right);
    return top > x[0] && top < x[2] ? top : x[1];
}

/* The best log t between low and high. */
static rer_label_fit search_between(label_search *search, double low, double high, int steps)
{
    double golden = (sqrt(5) - 1) / 2;
    double a = high - golden * (high - low), b = low + golden * (high - low);
    rer_label_fit at_a = fit_at(search, a), at_b = fit_at(search, b), outer = {0};
    double outside = NAN; /* the end of the bracket that was an inner point last */
    for (int i = 0; i < steps; i++) {
        if (at_a.likelihood > at_b.likelihood) {
            outside = b;
            outer = at_b;
            high = b;
            b = a;
            at_b = at_a;
            a = high - golden * (high - low);
            at_a = fit_at(search, a);
        } else {
            outside = a;
            outer = at_a;
            low = a;
            a = b;
            at_a = at_b;
            b = low + golden * (high - low);
            at_b = fit_at(search, b);
        }
    }
    rer_label_fit best = at_a.likelihood > at_b.likelihood ? at_a : at_b;
    bool above = outside > b; /* three neighbouring points: a, b and the last one outside */
    double x[3] = {above ? a : outside, above ? b : a, above ? outside : b};
    double y[3] = {above ? at_a.likelihood : outer.likelihood, above ? at_b.likelihood : at_a.likelihood,
                   above ? outer.likelihood : at_b.likelihood};
    rer_label_fit top = fit_at(search, rer_parabola_top(x, y));
    return top.likelihood > best.likelihood ? top : best;
}

static rer_label_fit search_temperature(label_search *search, int steps)
{
    double center = search_coarse(search), step = log(COARSE_FACTOR);
    return search_between(search, center - step, center + step, steps);
}

rer_label_fit rer_fit_labels(const rer_label_problem *problem)
{
    label_search search = {.problem = *problem, .stride = 1, .posterior = problem->scratch};
    return search_temperature(&search, GOLDEN_STEPS);
}

rer_label_fit rer_fit_robust(const rer_label_problem *problem, bool roughly)
{
    label_search search = {.problem = *problem, .stride = 1, .posterior = problem->scratch, .power = ROBUST_POWER};
    return search_temperature(&search, roughly ? ROUGH_STEPS : GOLDEN_STEPS);
}

rer_label_fit rer_fit_corrected(const rer_label_problem *problem, const float *weight, double t, float *p)
{
    label_search search = {.problem = *problem,
                           .stride = 1,
                           .posterior = problem->scratch,
                           .power = ROBUST_POWER,
                           .weight = weight,
                           .p = p,
                           .bias = p + problem->C};
    for (int32_t k = 0; k < problem->C; k++)
        search.bias[k] = (float)ROBUST_POWER * problem->log_n[k];
    return search_between(&search, log(t / 2), log(t * 4), CORRECTED_STEPS);
}

double rer_noise_at(const rer_label_problem *problem, double t)
{
    label_search search = {.problem = *problem, .stride = 1, .posterior = problem->scratch};
    set_posteriors(&search, t);
    return best_noise(&search);
}

double rer_golden_section(double (*value)(void *context, double x), void *context, double low, double high, int steps)
{
    double golden = (sqrt(5) - 1) / 2, x[2] = {high - golden * (high - low), low + golden * (high - low)};
    double y[2] = {value(context, x[0]), 0};
    y[1] = value(context, x[1]);
    for (int step = 0; step < steps; step++) {
        int worse = y[0] > y[1] ? 1 : 0, fresh = 1 - worse; /* the kept point becomes the other inner one */
        if (worse == 1)
            high = x[1];
        else
            low = x[0];
        x[worse] = x[1 - worse];
        y[worse] = y[1 - worse];
        x[fresh] = fresh == 0 ? high - golden * (high - low) : low + golden * (high - low);
        y[fresh] = value(context, x[fresh]);
    }
    return y[0] > y[1] ? x[0] : x[1];
}
