/* Temperature and noise rate by maximum likelihood: eta is a concave problem given the posteriors
 * (Newton's method), t a search on a logarithmic scale: coarse on a share of the rows, then golden
 * section on all of them, then the top of the parabola through its last three points. */
#include "fit/label_fit.h"

#include <math.h>
#include <stddef.h>

#define COARSE_STEPS 8 /* at most, to one side */
#define COARSE_FACTOR 4.0
#define COARSE_ROWS 500
#define GOLDEN_STEPS 7
#define ROUGH_STEPS 3
#define ROBUST_POWER .7 /* tells labels that fit from others well enough */
#define NEWTON_STEPS 60

/* A problem, and how much of it is looked at. */
typedef struct label_search {
    rer_label_problem problem;
    int64_t stride;    /* every stride-th row */
    double *posterior; /* [used] p_c of the label seen, to `power` */
    int64_t used;
    double power; /* of the robust mean, 0: the likelihood */
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

static void set_posteriors(label_search *search, double t)
{
    const rer_label_problem *problem = &search->problem;
    double power = search->power > 0 ? search->power : 1;
    search->used = 0;
    for (int64_t i = 0; i < problem->rows; i += search->stride)
        search->posterior[search->used++] = exp(power * log_own(problem->d2 + i * problem->C, problem->code[i],
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
        fit.objective += search->power > 0 ? p : log(mixed > 1e-300 ? mixed : 1e-300);
    }
    fit.objective /= (double)search->used;
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
    double highest = fit_at(search, best).objective;
    for (int side = -1; side <= 1; side += 2) {
        int moves = 0;
        for (; moves < COARSE_STEPS; moves++) {
            rer_label_fit fit = fit_at(search, best + side * log(COARSE_FACTOR));
            if (!(fit.objective > highest))
                break;
            highest = fit.objective;
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
        if (at_a.objective > at_b.objective) {
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
    rer_label_fit best = at_a.objective > at_b.objective ? at_a : at_b;
    bool above = outside > b; /* three neighbouring points: a, b and the last one outside */
    double x[3] = {above ? a : outside, above ? b : a, above ? outside : b};
    double y[3] = {above ? at_a.objective : outer.objective, above ? at_b.objective : at_a.objective,
                   above ? outer.objective : at_b.objective};
    rer_label_fit top = fit_at(search, rer_parabola_top(x, y));
    return top.objective > best.objective ? top : best;
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
