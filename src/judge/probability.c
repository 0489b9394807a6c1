/* The paper's share of wrong labels and its threshold.
 *
 *   symbol     equation
 *   eta_chi    (chi0 - chi_rand) / (1 - chi_rand)
 *   threshold  1.01 chi0^(-1.5 / (1 + 13.8 eta_chi)), or, where the largest chi is below 1.12,
 *              max(1.01, 1 + (1 / chi_rand - 1) / (1 + 10 eta_chi)) */
#include "judge/judge.h"

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
