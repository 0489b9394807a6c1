/* People, and models that label, mostly err towards a class that the sample resembles. With the
 * left-out posterior p, a row of true class k then has the label c != k with probability
 * v p_c / (1 - p_k), beside u / (C - 1) for mistakes of any kind:
 *
 *   P(label c) = (1 - u - v) p_c + u (1 - p_c) / (C - 1) + v p_c sum_{k != c} p_k / (1 - p_k)
 *
 * u = v = 0 is overlap alone. Overlap makes doubtful rows alone look mislabelled, this channel rows
 * beyond doubt too; so likelihood can tell one from the other, which the uniform channel cannot: it
 * takes such mistakes for overlap. */
#include "judge/likeness.h"

#include <math.h>

#define GRID 6 /* of log t, from near - STEP on */
#define STEP .5
#define GOLDEN_STEPS 6
#define ROUNDS 30
#define SETTLED 1e-5 /* a round that moved no share by more was the last */

/* sum_{k != c} p_k / (1 - p_k). The largest p_k may be 1 to all digits: the others make up its rest.
 * p is changed for a moment and restored. */
static double odds_of_others(float *p, int32_t C, int32_t c)
{
    int32_t top = 0;
    float largest = 0, rest = 0, sum = 0;
#pragma omp simd reduction(max : largest)
    for (int32_t k = 0; k < C; k++)
        largest = p[k] > largest ? p[k] : largest;
    while (top < C - 1 && p[top] != largest)
        top++;
    float kept = p[top], own = p[c];
    p[top] = p[c] = 0;
#pragma omp simd reduction(+ : rest, sum)
    for (int32_t k = 0; k < C; k++) {
        rest += p[k];
        sum += p[k] / (1 - p[k]);
    }
    p[c] = own;
    p[top] = kept;
    return c == top ? (double)sum : (double)sum + (double)kept / fmax((double)rest + (double)own, 1e-300);
}

/* ---- fitting ----------------------------------------------------------------------------- */

typedef struct likeness_search {
    const rer_label_problem *problem;
    double *part;          /* [rows, RER_SHARES] */
    float *p;              /* [C] */
    rer_likeness_fit from; /* shares to begin with */
} likeness_search;

static void set_parts(const likeness_search *search, double t)
{
    const rer_label_problem *problem = search->problem;
    int32_t C = problem->C;
    for (int64_t i = 0; i < problem->rows; i++) {
        double *part = search->part + i * RER_SHARES;
        int32_t c = problem->code[i];
        rer_posterior(search->p, problem->d2 + i * C, problem->log_n, t, C, problem->kernels);
        part[RER_RIGHT] = (double)search->p[c];
        part[RER_UNIFORM] = (1 - part[RER_RIGHT]) / (C - 1);
        part[RER_LIKENESS] = part[RER_RIGHT] * odds_of_others(search->p, C, c);
    }
}

/* Expectation-maximisation of the shares, from those given. */
static void fit_shares(const likeness_search *search, rer_likeness_fit *fit, int rounds)
{
    int64_t rows = search->problem->rows;
    const double *part = search->part;
    for (int round = 0; round < rounds; round++) {
        double right = 0, uniform = 0, a = fit->share[RER_RIGHT], u = fit->share[RER_UNIFORM];
        double v = fit->share[RER_LIKENESS];
#pragma omp simd reduction(+ : right, uniform)
        for (int64_t i = 0; i < rows; i++) {
            double of_right = a * part[i * RER_SHARES + RER_RIGHT], of_uniform = u * part[i * RER_SHARES + RER_UNIFORM];
            double sum = of_right + of_uniform + v * part[i * RER_SHARES + RER_LIKENESS];
            sum = sum > 1e-300 ? sum : 1e-300;
            right += of_right / sum;
            uniform += of_uniform / sum;
        }
        fit->share[RER_RIGHT] = right / (double)rows;
        fit->share[RER_UNIFORM] = uniform / (double)rows;
        fit->share[RER_LIKENESS] = fmax(0, 1 - fit->share[RER_RIGHT] - fit->share[RER_UNIFORM]);
        if (fmax(fabs(fit->share[RER_RIGHT] - a), fabs(fit->share[RER_UNIFORM] - u)) < SETTLED)
            break;
    }
    fit->likelihood = 0;
    for (int64_t i = 0; i < rows; i++) {
        double sum = 0;
        for (int s = 0; s < RER_SHARES; s++)
            sum += fit->share[s] * part[i * RER_SHARES + s];
        fit->likelihood += log(fmax(sum, 1e-300)) / (double)rows;
    }
}

/* The fit at one temperature. */
static rer_likeness_fit fit_at(const likeness_search *search, double log_t, int rounds)
{
    rer_likeness_fit fit = search->from;
    fit.temperature = exp(log_t);
    set_parts(search, fit.temperature);
    fit_shares(search, &fit, rounds);
    return fit;
}

static double likelihood_at(void *context, double log_t)
{
    return fit_at(context, log_t, ROUNDS).likelihood;
}

rer_likeness_fit rer_fit_likeness(const rer_label_problem *problem, double near, double *part, float *p)
{
    likeness_search search = {problem, part, p, {.share = {.9, .05, .05}}};
    rer_likeness_fit best = {.likelihood = -INFINITY};
    for (int i = 0; i < GRID; i++) {
        rer_likeness_fit fit = fit_at(&search, log(near) + STEP * (i - 1), ROUNDS);
        best = fit.likelihood > best.likelihood ? fit : best;
    }
    search.from = best;
    double log_t = log(best.temperature);
    log_t = rer_golden_section(likelihood_at, &search, log_t - STEP, log_t + STEP, GOLDEN_STEPS);
    return fit_at(&search, log_t, 2 * ROUNDS);
}

double rer_likeness_wrong(const rer_likeness_fit *fit, const double part[RER_SHARES])
{
    double right = fit->share[RER_RIGHT] * part[RER_RIGHT];
    double wrong = fit->share[RER_UNIFORM] * part[RER_UNIFORM] + fit->share[RER_LIKENESS] * part[RER_LIKENESS];
    return right + wrong > 0 ? wrong / (right + wrong) : 1;
}

/* ---- scores ------------------------------------------------------------------------------ */

double rer_likeness_logit(double uniform, double likeness, double t, const float *d2, int32_t c, const float *log_n,
                          int32_t C, float *p, const rer_kernels *kernels)
{
    for (int32_t k = 0; k < C; k++)
        p[k] = -(float)(t / 2) * d2[k];
    double log_own = (double)log_n[c] - t / 2 * (double)d2[c], log_sum = kernels->softmax(p, log_n, C), others = 0;
    for (int32_t k = 0; k < C; k++)
        others += k != c ? (double)p[k] : 0;
    double by_chance = log(fmax(uniform * others, 1e-300) / (C - 1)) + log_sum - log_own;
    double by_likeness = log(fmax(likeness * odds_of_others(p, C, c), 1e-300));
    double larger = fmax(by_chance, by_likeness);
    return larger + log1p(exp(fmin(by_chance, by_likeness) - larger)) - log(1 - uniform - likeness);
}
