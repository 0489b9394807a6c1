/* Probability that a label is wrong, the share of wrong labels, and the paper's threshold.
 *
 *   symbol     equation
 *   w          t / 2: two classes k, c have posterior odds exp(-t (d2_k - d2_c) / 2)
 *   b          log[eta / ((1 - eta) (C - 1))]: odds of a wrong label before looking, for one of the
 *              C - 1 others
 *   eta_chi    (chi0 - chi_rand) / (1 - chi_rand)
 *   threshold  1.01 chi0^(-1.5 / (1 + 13.8 eta_chi)), or, where the largest chi is below 1.12,
 *              max(1.01, 1 + (1 / chi_rand - 1) / (1 + 10 eta_chi)) */
#include "judge/judge.h"

#include <math.h>

rer_calibration rer_calibrate(const rer_model *model)
{
    /* Half a sample of N at least: an estimate of 0 would rule out every mistake. */
    double least = .5 / (double)rer_max(1, model->N);
    double eta = fmin(fmax(model->noise, least), 1 - least);
    return (rer_calibration){.w = model->temperature / 2, .b = log(eta / ((1 - eta) * (model->C - 1)))};
}

double rer_noise_rate(double chi0, double chi_rand)
{
    if (!(chi_rand < 1))
        return 0;
    return fmin(fmax((chi0 - chi_rand) / (1 - chi_rand), 0), 1);
}

double rer_paper_threshold(double chi0, double chi_rand, double eta, double chi_max)
{
    if (chi_max < 1.12)
        return fmax(1.01, 1 + (1 / chi_rand - 1) / (1 + 10 * eta));
    return 1.01 * pow(chi0, -1.5 / (1 + 13.8 * eta));
}
