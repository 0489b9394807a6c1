/* Promises against outcomes: see grouped_logistic.h.
 *
 * Every row is in one group, so the curvature is an arrow: a full 2 x 2 for (a, b), a diagonal for u, and a 2-vector m_g
 * between them. With S = A - sum_g m_g m_g' / d_g, steps and covariances take O(n):
 *
 *     cov(a, b) = S^-1,  cov((a, b), u_g) = -S^-1 m_g / d_g,  cov(u_g, u_h) = [g = h] / d_g + m_g' S^-1 m_h / (d_g d_h) */
#include "stats/grouped_logistic.h"

#include "stats/order.h"

enum { STEPS_MOST = 100 };

typedef struct objective {
    const double *promised, *wrong;
    const int32_t *group;
    int64_t n;
} objective;

static double square(double x)
{
    return x * x;
}

void rer_grouped_logistic_free(rer_grouped_logistic *fit)
{
    RER_FREE_ALL(fit->effect, fit->curvature, fit->mixed);
    *fit = (rer_grouped_logistic){0};
}

double rer_grouped_logistic_at(const rer_grouped_logistic *fit, double promised, int32_t group)
{
    return promised + fit->shift + fit->slope * promised + (group >= 0 ? fit->effect[group] : 0);
}

/* Minus the log posterior, up to a constant. */
static double value_of(const rer_grouped_logistic *fit, const objective *seen)
{
    double sum = .5 * (square(fit->shift / RER_SHIFT_SPREAD) + square(fit->slope / RER_SLOPE_SPREAD));
    for (int64_t g = 0; g < fit->groups; g++)
        sum += .5 * square(fit->effect[g] / RER_GROUP_SPREAD);
    for (int64_t i = 0; i < seen->n; i++) {
        double odds = rer_grouped_logistic_at(fit, seen->promised[i], seen->group[i]);
        sum += fmax(odds, 0) + log1p(exp(-fabs(odds))) - seen->wrong[i] * odds;
    }
    return sum;
}

/* Gradient [2 + groups] and curvature; A [3] is its part of (a, b). */
static void differentiate(rer_grouped_logistic *fit, double *gradient, double *A, const objective *seen)
{
    gradient[0] = fit->shift / square(RER_SHIFT_SPREAD);
    gradient[1] = fit->slope / square(RER_SLOPE_SPREAD);
    A[0] = 1 / square(RER_SHIFT_SPREAD);
    A[1] = 0;
    A[2] = 1 / square(RER_SLOPE_SPREAD);
    for (int64_t g = 0; g < fit->groups; g++) {
        gradient[2 + g] = fit->effect[g] / square(RER_GROUP_SPREAD);
        fit->curvature[g] = 1 / square(RER_GROUP_SPREAD);
        fit->mixed[2 * g] = fit->mixed[2 * g + 1] = 0;
    }
    for (int64_t i = 0; i < seen->n; i++) {
        double L = seen->promised[i], p = rer_logistic(rer_grouped_logistic_at(fit, L, seen->group[i]));
        double miss = p - seen->wrong[i], weight = p * (1 - p);
        int32_t g = seen->group[i];
        gradient[0] += miss;
        gradient[1] += miss * L;
        gradient[2 + g] += miss;
        A[0] += weight;
        A[1] += weight * L;
        A[2] += weight * L * L;
        fit->curvature[g] += weight;
        fit->mixed[2 * g] += weight;
        fit->mixed[2 * g + 1] += weight * L;
    }
}

/* covariance = S^-1. */
static void invert(rer_grouped_logistic *fit, const double *A)
{
    double S[3] = {A[0], A[1], A[2]};
    for (int64_t g = 0; g < fit->groups; g++) {
        const double *m = fit->mixed + 2 * g;
        S[0] -= m[0] * m[0] / fit->curvature[g];
        S[1] -= m[0] * m[1] / fit->curvature[g];
        S[2] -= m[1] * m[1] / fit->curvature[g];
    }
    double determinant = S[0] * S[2] - S[1] * S[1]; /* positive: the priors are in S */
    fit->covariance[0] = S[2] / determinant;
    fit->covariance[1] = -S[1] / determinant;
    fit->covariance[2] = S[0] / determinant;
}

/* step [2 + groups] = curvature^-1 gradient */
static void solve(double *step, const rer_grouped_logistic *fit, const double *gradient)
{
    double rest[2] = {gradient[0], gradient[1]};
    const double *cov = fit->covariance;
    for (int64_t g = 0; g < fit->groups; g++)
        for (int k = 0; k < 2; k++)
            rest[k] -= fit->mixed[2 * g + k] * gradient[2 + g] / fit->curvature[g];
    step[0] = cov[0] * rest[0] + cov[1] * rest[1];
    step[1] = cov[1] * rest[0] + cov[2] * rest[1];
    for (int64_t g = 0; g < fit->groups; g++)
        step[2 + g] =
            (gradient[2 + g] - fit->mixed[2 * g] * step[0] - fit->mixed[2 * g + 1] * step[1]) / fit->curvature[g];
}

static void move(rer_grouped_logistic *fit, const double *step, double by)
{
    fit->shift -= by * step[0];
    fit->slope -= by * step[1];
    for (int64_t g = 0; g < fit->groups; g++)
        fit->effect[g] -= by * step[2 + g];
}

/* Newton's step, halved while it leads up. Returns how far it went. */
static double descend(rer_grouped_logistic *fit, const double *step, const objective *seen)
{
    double before = value_of(fit, seen), by = 1, far = 0;
    move(fit, step, by);
    while (value_of(fit, seen) > before + 1e-12 * fabs(before) && by > 1e-6) {
        move(fit, step, -by / 2);
        by /= 2;
    }
    for (int64_t k = 0; k < 2 + fit->groups; k++)
        far = fmax(far, by * fabs(step[k]));
    return far;
}

rer_status rer_grouped_logistic_fit(rer_grouped_logistic *fit, const double *promised, const double *wrong,
                                    const int32_t *group, int64_t n, int64_t groups, rer_error *error)
{
    rer_grouped_logistic made = {.groups = groups};
    const objective seen = {promised, wrong, group, n};
    double *gradient = NULL, *step = NULL, A[3], far = INFINITY;
    const rer_room rooms[] = {RER_ROOM(made.effect, groups), RER_ROOM(made.curvature, groups),
                              RER_ROOM(made.mixed, 2 * groups), RER_ROOM(gradient, 2 + groups),
                              RER_ROOM(step, 2 + groups)};
    RER_TRY(rer_allocate_all(rooms, RER_COUNT(rooms), "a regression", error));
    for (int i = 0; i < STEPS_MOST && far > 1e-10; i++) {
        differentiate(&made, gradient, A, &seen);
        invert(&made, A);
        solve(step, &made, gradient);
        far = descend(&made, step, &seen);
    }
    RER_FREE_ALL(gradient, step);
    *fit = made;
    return RER_OK;
}

rer_status rer_grouped_logistic_sum(double *sum, double *spread, const rer_grouped_logistic *fit,
                                    const double *promised, const int32_t *group, int64_t n, rer_error *error)
{
    double *slopes = NULL, *back = NULL, total = 0, variance = 0; /* slopes: of the sum in a, b and u */
    const rer_room rooms[] = {RER_ROOM(slopes, 2 + fit->groups), RER_ROOM(back, 2 + fit->groups)};
    RER_TRY(rer_allocate_all(rooms, RER_COUNT(rooms), "a regression", error));
    for (int64_t i = 0; i < n; i++) {
        double p = rer_logistic(rer_grouped_logistic_at(fit, promised[i], group[i])), weight = p * (1 - p);
        total += p;
        variance += weight;
        slopes[0] += weight;
        slopes[1] += weight * promised[i];
        if (group[i] >= 0)
            slopes[2 + group[i]] += weight;
        else
            variance += square(weight * RER_GROUP_SPREAD); /* a group of its own, as far as is known */
    }
    solve(back, fit, slopes);
    for (int64_t k = 0; k < 2 + fit->groups; k++)
        variance += slopes[k] * back[k];
    *sum = total;
    *spread = sqrt(variance);
    RER_FREE_ALL(slopes, back);
    return RER_OK;
}
