/* The bootstrap: means of samples drawn with replacement, their 2.5 and 97.5 percentiles (interpolated as
 * numpy does it). */
#include "stats/bootstrap.h"

#include "core/random.h"
#include "stats/order.h"

#define RESAMPLES 1000
#define RESAMPLES_LARGE 200 /* of many values: the interval is narrow, and its ends need not be known well */
#define LARGE 20000

/* Mean of n values drawn with replacement: two draws from each 64 random bits. */
static double draw_mean(const float *values, int64_t n, int64_t seed, uint64_t stream)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i += 2) {
        uint64_t bits = rer_random_bits(seed, RER_RANDOM_BOOTSTRAP, stream, (uint64_t)i);
        sum += (double)values[((bits & 0xFFFFFFFFu) * (uint64_t)n) >> 32];
        if (i + 1 < n)
            sum += (double)values[((bits >> 32) * (uint64_t)n) >> 32];
    }
    return sum / (double)n;
}

rer_status rer_bootstrap_mean(rer_interval *interval, const float *values, int64_t n, int64_t seed, uint64_t key,
                              rer_error *error)
{
    int count = n > LARGE ? RESAMPLES_LARGE : RESAMPLES;
    double *means = NULL;
    *interval = (rer_interval){NAN, NAN};
    if (n < 2)
        return RER_OK;
    RER_TRY(rer_allocate(&means, count, sizeof *means, "resampled means", error));
    for (int r = 0; r < count; r++)
        means[r] = draw_mean(values, n, seed, key << 16 | (uint64_t)r);
    rer_sort_doubles(means, count);
    *interval = (rer_interval){rer_percentile(means, count, .025), rer_percentile(means, count, .975)};
    free(means);
    return RER_OK;
}
