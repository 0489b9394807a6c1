/* The law of sample size: least squares of y(n) = (limit n^g0 + g1) / (n^g0 + g2) to a few points.
 *
 *   1. with m = n / (geometric mean of n) and h = g2 in that unit the law is
 *          y = limit + B / (m^g0 + h):
 *      linear in limit and B once g0 and h are known, so a grid over these two finds where to start;
 *   2. Levenberg and Marquardt's steps in (limit, B, log h, log g0);
 *   3. 95 % intervals by the delta method: s^2 (J'J)^-1 in (limit, g1, g2, g0), s^2 = RSS / (points -
 *      parameters), times Student's t.
 * h > 0, so that the law has no pole and runs from g1 / g2 (n = 0) to the limit without turning; the
 * limit is not below 0. */
#include "core/core.h"

enum { LIMIT, B, LOG_H, LOG_G0, PARAMETERS };

#define H_LOW 1e-6
#define H_HIGH 1e6
#define G0_LOW .25
#define G0_HIGH 4.0
#define H_STEPS 49
#define G0_STEPS 33
#define STEPS_MOST 500

typedef struct law_problem {
    const double *n, *y; /* [count] */
    int count;
    int free; /* parameters to fit: PARAMETERS, or one less with g0 given */
    double log_center;
} law_problem;

static double power(const law_problem *problem, int i, const double *at)
{
    return exp(exp(at[LOG_G0]) * (log(problem->n[i]) - problem->log_center));
}

static double residual(const law_problem *problem, int i, const double *at)
{
    return problem->y[i] - at[LIMIT] - at[B] / (power(problem, i, at) + exp(at[LOG_H]));
}

static double squares(const law_problem *problem, const double *at)
{
    double sum = 0;
    for (int i = 0; i < problem->count; i++)
        sum += residual(problem, i, at) * residual(problem, i, at);
    return sum;
}

/* limit and B by linear regression of y on 1 / (m^g0 + h). */
static void regress(const law_problem *problem, double *at)
{
    double mean_w = 0, mean_y = 0, cross = 0, square = 0, count = problem->count;
    for (int i = 0; i < problem->count; i++) {
        mean_w += 1 / (power(problem, i, at) + exp(at[LOG_H])) / count;
        mean_y += problem->y[i] / count;
    }
    for (int i = 0; i < problem->count; i++) {
        double w = 1 / (power(problem, i, at) + exp(at[LOG_H])) - mean_w;
        cross += w * (problem->y[i] - mean_y);
        square += w * w;
    }
    at[B] = square > 0 ? cross / square : 0;
    at[LIMIT] = mean_y - at[B] * mean_w;
    if (at[LIMIT] < 0) { /* through the origin */
        square += count * mean_w * mean_w;
        at[B] = (cross + count * mean_w * mean_y) / square;
        at[LIMIT] = 0;
    }
}

static void search_grid(const law_problem *problem, double *best)
{
    double least = INFINITY, at[PARAMETERS];
    int g0_steps = problem->free == PARAMETERS ? G0_STEPS : 1;
    memcpy(at, best, sizeof at);
    for (int j = 0; j < g0_steps; j++) {
        if (g0_steps > 1)
            at[LOG_G0] = log(G0_LOW) + log(G0_HIGH / G0_LOW) * j / (g0_steps - 1);
        for (int i = 0; i < H_STEPS; i++) {
            at[LOG_H] = log(H_LOW) + log(H_HIGH / H_LOW) * i / (H_STEPS - 1);
            regress(problem, at);
            double sum = squares(problem, at);
            if (sum < least) {
                least = sum;
                memcpy(best, at, sizeof at);
            }
        }
    }
}

/* Inverts the symmetric a [k, k] in place, scaled to a unit diagonal first; false where it is singular. */
static bool invert(double a[PARAMETERS][PARAMETERS], int k)
{
    double scale[PARAMETERS], whole[PARAMETERS][2 * PARAMETERS] = {{0}};
    for (int i = 0; i < k; i++)
        scale[i] = a[i][i] > 0 ? 1 / sqrt(a[i][i]) : 1;
    for (int i = 0; i < k; i++) {
        for (int j = 0; j < k; j++)
            whole[i][j] = a[i][j] * scale[i] * scale[j];
        whole[i][k + i] = 1;
    }
    for (int p = 0; p < k; p++) { /* Gauss and Jordan; pivots of such a matrix are positive */
        double pivot = whole[p][p];
        if (!(pivot > 1e-14))
            return false;
        for (int j = 0; j < 2 * k; j++)
            whole[p][j] /= pivot;
        for (int i = 0; i < k; i++) {
            double factor = whole[i][p];
            for (int j = 0; j < 2 * k && i != p; j++)
                whole[i][j] -= factor * whole[p][j];
        }
    }
    for (int i = 0; i < k; i++)
        for (int j = 0; j < k; j++)
            a[i][j] = whole[i][k + j] * scale[i] * scale[j];
    return true;
}

static void add_outer(double a[PARAMETERS][PARAMETERS], const double *v, int k)
{
    for (int i = 0; i < k; i++)
        for (int j = 0; j < k; j++)
            a[i][j] += v[i] * v[j];
}

static double lowest(int parameter)
{
    return parameter == LIMIT ? 0 : parameter == B ? -INFINITY : parameter == LOG_H ? log(H_LOW) : log(G0_LOW);
}

static double highest(int parameter)
{
    return parameter == LOG_H ? log(H_HIGH) : parameter == LOG_G0 ? log(G0_HIGH) : INFINITY;
}

/* A parameter at a bound that the step would cross stays there. */
static void hold_at_bounds(double normal[PARAMETERS][PARAMETERS], double *slope, const double *at, int k)
{
    for (int j = 0; j < k; j++) {
        if ((at[j] > lowest(j) || slope[j] >= 0) && (at[j] < highest(j) || slope[j] <= 0))
            continue;
        for (int i = 0; i < k; i++)
            normal[i][j] = normal[j][i] = i == j;
        slope[j] = 0;
    }
}

/* One damped step from `at`; false where it cannot be made. */
static bool step_from(const law_problem *problem, const double *at, double damping, double *next)
{
    double normal[PARAMETERS][PARAMETERS] = {{0}}, slope[PARAMETERS] = {0};
    int k = problem->free;
    for (int i = 0; i < problem->count; i++) {
        double p = power(problem, i, at), h = exp(at[LOG_H]), g0 = exp(at[LOG_G0]), w = 1 / (p + h);
        double v[PARAMETERS] = {1, w, -at[B] * w * w * h,
                                -at[B] * w * w * p * g0 * (log(problem->n[i]) - problem->log_center)};
        double r = residual(problem, i, at);
        add_outer(normal, v, k);
        for (int j = 0; j < k; j++)
            slope[j] += v[j] * r;
    }
    hold_at_bounds(normal, slope, at, k);
    for (int j = 0; j < k; j++)
        normal[j][j] = normal[j][j] * (1 + damping) + 1e-300;
    if (!invert(normal, k))
        return false;
    memcpy(next, at, PARAMETERS * sizeof *next);
    for (int i = 0; i < k; i++) {
        for (int j = 0; j < k; j++)
            next[i] += normal[i][j] * slope[j];
        next[i] = fmin(fmax(next[i], lowest(i)), highest(i));
    }
    return true;
}

static void descend(const law_problem *problem, double *at)
{
    double next[PARAMETERS], sum = squares(problem, at), damping = 1e-3;
    for (int step = 0; step < STEPS_MOST && damping < 1e12; step++) {
        double lower = step_from(problem, at, damping, next) ? squares(problem, next) : INFINITY;
        if (!(lower < sum)) {
            damping *= 8;
            continue;
        }
        bool is_small = sum - lower <= 1e-14 * sum;
        sum = lower;
        memcpy(at, next, sizeof next);
        damping /= 8;
        if (is_small)
            break;
    }
}

/* Student's t for a two-sided 95 % interval. */
static double student(int dof)
{
    static const double table[] = {12.706204736, 4.3026527297, 3.1824463053, 2.7764451052, 2.5705818356,
                                   2.4469118511, 2.3646242516, 2.3060041352, 2.2621571628, 2.2281388520,
                                   2.2009851601, 2.1788128297, 2.1603686565, 2.1447866879};
    int last = (int)(sizeof table / sizeof *table);
    if (dof <= last)
        return table[dof - 1];
    double z = 1.9599639845, d = dof; /* Cornish and Fisher's expansion: five digits from here on */
    return z + (z * z * z + z) / (4 * d) + (5 * pow(z, 5) + 16 * z * z * z + 3 * z) / (96 * d * d);
}

double rer_scale_law_at(const rer_scale_law *law, double n)
{
    double p = pow(n, law->gamma0);
    return isinf(p) ? law->limit : (law->limit * p + law->gamma1) / (p + law->gamma2);
}

static rer_interval around(double value, double half)
{
    return (rer_interval){value - half, value + half};
}

/* Delta method in the law's own parameters. At a bound (h or g0) the curve says nothing about that
 * parameter: it is taken as given, and has no interval. */
static void set_intervals(rer_scale_law *law, const law_problem *problem, const double *at, double rss)
{
    enum { L, G1, G2, G0 };
    double normal[PARAMETERS][PARAMETERS] = {{0}};
    bool h_free = at[LOG_H] > lowest(LOG_H) && at[LOG_H] < highest(LOG_H);
    bool g0_free = law->is_free && at[LOG_G0] > lowest(LOG_G0) && at[LOG_G0] < highest(LOG_G0);
    int k = 2 + h_free + g0_free, dof = problem->count - problem->free;
    for (int i = 0; i < problem->count; i++) {
        double p = pow(problem->n[i], law->gamma0), sum = p + law->gamma2;
        double y = (law->limit * p + law->gamma1) / sum;
        double v[PARAMETERS] = {p / sum, 1 / sum};
        int used = 2;
        if (h_free)
            v[used++] = -y / sum;
        if (g0_free)
            v[used++] = (law->limit - y) * p * log(problem->n[i]) / sum;
        add_outer(normal, v, k);
    }
    if (dof < 1 || !invert(normal, k))
        return;
    double half[PARAMETERS], factor = student(dof) * sqrt(rss / dof);
    for (int i = 0; i < k; i++)
        half[i] = factor * sqrt(fmax(0, normal[i][i]));
    law->limit_within = around(law->limit, half[L]);
    law->gamma1_within = around(law->gamma1, half[G1]);
    if (h_free)
        law->gamma2_within = around(law->gamma2, half[G2]);
    if (g0_free)
        law->gamma0_within = around(law->gamma0, half[h_free ? G0 : G2]);
}

rer_scale_law rer_scale_law_fit(const double *n, const double *y, int count, double exponent)
{
    static const rer_interval none = {NAN, NAN};
    rer_scale_law law = {NAN, NAN, NAN, NAN, isnan(exponent), NAN, none, none, none, none};
    law_problem problem = {n, y, count, law.is_free ? PARAMETERS : PARAMETERS - 1, 0};
    double at[PARAMETERS] = {0}, mean = 0, spread = 0;
    if (count < problem.free)
        return law;
    at[LOG_G0] = law.is_free ? 0 : log(exponent);
    for (int i = 0; i < count; i++) {
        problem.log_center += log(n[i]) / count;
        mean += y[i] / count;
    }
    for (int i = 0; i < count; i++)
        spread += (y[i] - mean) * (y[i] - mean);
    search_grid(&problem, at);
    descend(&problem, at);
    double rss = squares(&problem, at), unit = exp(exp(at[LOG_G0]) * problem.log_center);
    law.limit = at[LIMIT];
    law.gamma0 = law.is_free ? exp(at[LOG_G0]) : exponent;
    law.gamma2 = exp(at[LOG_H]) * unit;
    law.gamma1 = at[B] * unit + at[LIMIT] * law.gamma2;
    law.r2 = spread > 0 ? 1 - rss / spread : 1;
    set_intervals(&law, &problem, at, rss);
    return law;
}
