/* The feature-independent scale of difficulty: how much of the left-out error chance explains.
 *   error     = share of rows whose nearest class is not the given one
 *   chance    = that share if nearest and given class had nothing to do with each other
 *             = 1 - sum_k P(given = k) P(nearest = k)
 *   difficulty = error / chance, in 0..1: one minus Cohen's kappa of given and nearest class.
 * 0: every row is nearest to its own class. 1: labels carry no information about the features. Of one class alone
 * nothing can be said. */
#include "judge/judge.h"

double rer_difficulty(int64_t wrong, const int64_t *given, const int64_t *predicted, int32_t C)
{
    double n = 0, met = 0;
    int32_t classes = 0;
    for (int32_t c = 0; c < C; c++) {
        classes += given[c] > 0;
        n += (double)given[c];
        met += (double)given[c] * (double)predicted[c];
    }
    double chance = 1 - met / (n * n);
    if (classes < 2)
        return NAN;
    return chance > 0 ? fmin(1, (double)wrong / n / chance) : 0;
}
