/* Likelihood takes mistakes that follow likeness for overlap: it lowers t until they are plausible. A
 * loss that gives up on labels that do not fit, mean(1 - p_c^q) (Zhang and Sabuncu 2018), does not: its t
 * is that of the labels that do fit. At that t a share n = 1 - mean w_c of the labels is at odds with a
 * directed channel, and the posterior itself is in doubt of u = mean(1 - max_k p_k) of the rows, whatever
 * their labels:
 *
 *   n = x (1 - s u) + (1 - x) u,    the noise rate is x.
 *
 * s is the share of the mistakes that follow likeness (likeness.c): where the posterior errs, they agree
 * with it. The wrong labels still pull t down, the more there are the further. With the channel
 * T [C true, C seen] that was found, the mean over the true labels follows from that over those seen,
 *
 *   mean p_true^q = mean_i sum_k (T^-1)_{c_i k} p_ik^q
 *
 * (Natarajan and others 2013), whose t no longer depends on how many are wrong; T is found anew there. */
#include "judge/noise_rate.h"

#include <math.h>

#define CORRECTIONS 2
#define CORRECTED_ROUNDS 8
#define NEAR_ROUNDS 4
#define ENOUGH .05 /* a correction that moved log t by less was the last */
/* So many labels of each class that follow a uniform channel are added before T is inverted: rates of few
 * labels would make a wild inverse. */
#define STEADYING_LABELS 50.0
#define NEAR_FACTOR 1.0595 /* 2^1/12 */
#define UNCERTAIN .05      /* of the mistakes may have been taken for overlap, and as much overlap for mistakes */

rer_status rer_noise_fit_make(rer_noise_fit *fit, const rer_label_problem *problem, bool pairs, rer_error *error)
{
    int64_t C = problem->C;
    *fit = (rer_noise_fit){.problem = problem};
    rer_status status = RER_OK;
    if (!pairs)
        return status;
    status = rer_allocate(&fit->wrong, problem->rows, sizeof(double), "probabilities", error);
    if (status == RER_OK)
        status = rer_allocate(&fit->inverse, C * C, sizeof(float), "the noise channel", error);
    if (status == RER_OK)
        status = rer_allocate(&fit->channel, 2 * C * C, sizeof(double), "the noise channel", error);
    if (status == RER_OK)
        status = rer_allocate(&fit->pivots, C, sizeof(int32_t), "the noise channel", error);
    return status;
}

void rer_noise_fit_clear(rer_noise_fit *fit)
{
    free(fit->wrong);
    free(fit->inverse);
    free(fit->channel);
    free(fit->pivots);
}

/* u = mean(1 - max_k p_k) at temperature t; p [C]. */
static double mean_doubt(const rer_label_problem *problem, double t, float *p)
{
    double sum = 0;
    for (int64_t i = 0; i < problem->rows; i++) {
        rer_posterior(p, problem->d2 + i * problem->C, problem->log_n, t, problem->C, problem->kernels);
        sum += rer_doubt(p, problem->C);
    }
    return sum / (double)problem->rows;
}

/* x of n and u; `alike` is s. */
static double wrong_share(double odds, double doubt, double alike)
{
    return fmax(0, (odds - doubt) / fmax(1 - doubt * (1 + alike), 1e-9));
}

void rer_noise_fit_start(rer_noise_fit *fit)
{
    fit->t = rer_fit_robust(fit->problem, false).temperature;
}

/* inverse <- T^-1, T steadied; false: T has none. */
static bool invert_channel(rer_noise_fit *fit, const rer_pair_fit *pair, double x)
{
    int64_t C = fit->problem->C;
    double *T = fit->channel, *made = fit->channel + C * C;
    for (int64_t k = 0; k < C; k++)
        for (int64_t c = 0; c < C; c++) {
            double steady = STEADYING_LABELS * (k == c ? 1 - x : x / (double)(C - 1));
            T[k * C + c] = (rer_pair_fit_count(pair, k, c) + steady) / (rer_pair_fit_total(pair, k) + STEADYING_LABELS);
        }
    if (!rer_invert(made, T, fit->pivots, C))
        return false;
    for (int64_t i = 0; i < C * C; i++)
        fit->inverse[i] = (float)made[i];
    return true;
}

void rer_noise_fit_run(rer_noise_fit *fit, rer_pair_fit *pair, float *p)
{
    static const int order[] = {RER_NOISE_HIGH, RER_NOISE_LOW, RER_NOISE_MIDDLE};
    pair->t = fit->t;
    rer_pair_fit_run(pair, RER_PAIR_ROUNDS, p);
    rer_pair_fit_wrong(fit->wrong, pair);
    fit->odds = pair->noise;
    double doubt = fit->doubt = rer_pair_fit_doubt(pair);
    double moved = INFINITY;
    for (int i = 0; i < CORRECTIONS && moved > ENOUGH; i++) {
        if (!invert_channel(fit, pair, wrong_share(pair->noise, doubt, 0)))
            break;
        double before = pair->t;
        pair->t = rer_fit_corrected(fit->problem, fit->inverse, before, p).temperature;
        moved = fabs(log(pair->t / before));
        rer_pair_fit_run(pair, CORRECTED_ROUNDS, p);
        doubt = rer_pair_fit_doubt(pair);
    }
    double corrected = pair->t;
    for (int i = 0; i < RER_NOISE_PLACES; i++) {
        pair->t = corrected * pow(NEAR_FACTOR, order[i] - RER_NOISE_MIDDLE);
        rer_pair_fit_run(pair, NEAR_ROUNDS, p);
        fit->near_odds[order[i]] = pair->noise;
        fit->near_doubt[order[i]] = rer_pair_fit_doubt(pair);
    }
}

void rer_noise_fit_run_uniform(rer_noise_fit *fit, float *p)
{
    for (int i = 0; i < RER_NOISE_PLACES; i++) {
        double t = fit->t * pow(NEAR_FACTOR, i - RER_NOISE_MIDDLE);
        fit->near_odds[i] = rer_noise_at(fit->problem, t);
        fit->near_doubt[i] = mean_doubt(fit->problem, t, p);
    }
}

static double found_by(const rer_likeness_fit *likeness)
{
    return likeness->share[RER_UNIFORM] + likeness->share[RER_LIKENESS];
}

/* x, or what the likeness channel has found where that is more: each takes some mistakes for overlap. */
rer_noise_estimate rer_noise_fit_rate(const rer_noise_fit *fit, const rer_likeness_fit *likeness)
{
    double found = found_by(likeness), alike = found > 0 ? likeness->share[RER_LIKENESS] / found : 0;
    double x[RER_NOISE_PLACES];
    for (int i = 0; i < RER_NOISE_PLACES; i++)
        x[i] = wrong_share(fit->near_odds[i], fit->near_doubt[i], alike);
    double rate = fmin(1, fmax(x[RER_NOISE_MIDDLE], found));
    double sampling = 1.645 * sqrt(rate * (1 - rate) / (double)fit->problem->rows);
    double least = x[RER_NOISE_MIDDLE] < rate ? (x[RER_NOISE_MIDDLE] + rate) / 2 : fmin(x[RER_NOISE_LOW], rate);
    return (rer_noise_estimate){
        .rate = rate,
        .low = fmax(0, least - UNCERTAIN * rate - sampling),
        .high = fmin(1, fmax(x[RER_NOISE_HIGH], rate) + UNCERTAIN * rate + sampling),
    };
}

double rer_noise_fit_least(const rer_noise_fit *fit, const rer_likeness_fit *likeness)
{
    return fmax(wrong_share(fit->odds, fit->doubt, 0), found_by(likeness));
}
