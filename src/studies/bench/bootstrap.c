/* The paired bootstrap over samples: n rows are drawn with replacement, the same ones for every detector, and
 * each detector's AUROC is taken again. The spread of the differences is the interval. */
#include "studies/bench/bench.h"
#include "core/random.h"
#include "stats/order.h"

typedef struct resampling {
    double *replicates; /* [n_contestants, B] */
    const rer_ranking *rankings;
    int n_contestants;
    const bool *wrong; /* [n] */
    int64_t n;
    int32_t B;
    int n_trials;
    int64_t seed;
} resampling;

static rer_status resample(void *context, int64_t b, void *scratch, rer_error *error)
{
    const resampling *pass = context;
    uint16_t *weight = scratch; /* [n] times that a row is drawn */
    (void)error;
    memset(weight, 0, (size_t)pass->n * sizeof *weight);
    for (int64_t i = 0; i < pass->n; i++) {
        double u = rer_random_uniform(pass->seed, RER_RANDOM_BOOTSTRAP, (uint64_t)b, (uint64_t)i);
        weight[(int64_t)(u * (double)pass->n)]++;
    }
    for (int k = 0; k < pass->n_contestants; k++)
        pass->replicates[k * pass->B + b] += rer_auroc(&pass->rankings[k], pass->wrong, weight) / pass->n_trials;
    return RER_OK;
}

rer_status rer_bench_resample(double *replicates, const rer_ranking *rankings, int n_contestants, const bool *wrong,
                              int64_t n, int n_trials, const rer_options *options, rer_pool *pool, rer_error *error)
{
    resampling pass = {.replicates = replicates,
                       .rankings = rankings,
                       .n_contestants = n_contestants,
                       .wrong = wrong,
                       .n = n,
                       .B = options->bootstrap,
                       .n_trials = n_trials,
                       .seed = options->seed};
    rer_job job = {.stage = "resampling",
                   .items = options->bootstrap,
                   .scratch = n * (int64_t)sizeof(uint16_t),
                   .work = resample,
                   .context = &pass};
    return options->bootstrap > 0 ? rer_pool_run(pool, &job, error) : RER_OK;
}

rer_status rer_bench_difference_of(rer_bench_difference *gap, const rer_bench *bench, int cell, int detector, int other,
                                   rer_error *error)
{
    int32_t B = bench->options.bootstrap;
    double *difference = NULL; /* [B] */
    int64_t n = 0;
    *gap = (rer_bench_difference){
        .mean =
            rer_bench_cell_mean(bench, cell, detector, RER_AUROC) - rer_bench_cell_mean(bench, cell, other, RER_AUROC),
        .low = NAN,
        .high = NAN,
    };
    if (B == 0)
        return RER_OK;
    RER_TRY(rer_allocate(&difference, B, sizeof *difference, "differences", error));
    const double *all = bench->replicates + (int64_t)cell * bench->n_contestants * B;
    for (int32_t b = 0; b < B; b++) {
        double d = all[(int64_t)detector * B + b] - all[(int64_t)other * B + b];
        if (!isnan(d)) /* a draw without any wrong label says nothing */
            difference[n++] = d;
    }
    rer_sort_doubles(difference, n);
    if (n > 0) {
        gap->low = rer_percentile(difference, n, .025);
        gap->high = rer_percentile(difference, n, .975);
    }
    free(difference);
    return RER_OK;
}

rer_status rer_bench_gap(rer_bench_difference *gap, const rer_bench *bench, int cell, int detector, int other,
                         rer_error *error)
{
    rer_error_clear(error);
    if (rer_bench_cell_at(bench, cell) == NULL || rer_bench_detector(bench, detector) == NULL ||
        rer_bench_detector(bench, other) == NULL)
        return rer_fail(error, RER_BAD_USAGE, "there is no cell %d with the detectors %d and %d", cell, detector,
                        other);
    return rer_bench_difference_of(gap, bench, cell, detector, other, error);
}
