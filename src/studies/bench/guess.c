/* How long a comparison will take, before it has begun: what its detectors multiply, over how quickly this machine does,
 * which some milliseconds tell. The first round then says more. */
#include "detect/logistic.h"
#include "studies/bench/bench.h"

enum { SIDE = 256, PRODUCTS = 16 };
#define LOOK 2e10   /* multiplications of a second look, at most */
#define ALONG 1e5   /* what else an analysis does for a row and class, in multiplications: channel, votes */
#define VECTORS 1.5 /* a regression's work over that of its products: whitening, L-BFGS */

/* Multiplications of a cross-fitted logistic regression, from how often its objective was evaluated on measured
 * features of 100 classes (and on normal ones, where it is two thirds of that). */
static double regression(const rer_bench *bench, rer_classifier classifier)
{
    double evaluations = classifier.unit && classifier.C <= 1 ? 22 : 40;
    return VECTORS * evaluations * 2 * (RER_LOGISTIC_FOLDS - 1) * (double)bench->N * (double)bench->D *
           (double)bench->C;
}

/* Multiplications of one round, and in *once those that serve all of them. */
static double count_multiplications(const rer_bench *bench, double *once)
{
    double N = (double)bench->N, D = (double)bench->D, C = (double)bench->C, sum = 0, neighbors = 0;
    *once = (bench->options.noise_types >> RER_NOISE_CONFIDENCE & 1) != 0
                ? regression(bench, (rer_classifier){.unit = false, .C = 1})
                : 0;
    for (int k = 0; k < bench->n_contestants; k++) {
        const rer_detector *detector = bench->contestants[k].detector;
        if (bench->contestants[k].as_in_paper)
            sum += 3 * N * D * (D + C);
        else if (detector == NULL)
            sum += 3 * N * D * (D + C) + ALONG * N * C + fmin(LOOK, N * fmin(N, 40960) * D / 10);
        else if (detector->run != rer_detect_confident)
            neighbors = N * N * D / 2;
        else if (!detector->margin) /* which has the probabilities of the one before */
            sum += regression(bench, detector->classifier);
    }
    *once += neighbors;
    return sum;
}

static rer_status multiply(void *context, int64_t item, void *scratch, rer_error *error)
{
    float *product = scratch, *factor = product + SIDE * SIDE;
    (void)context, (void)item, (void)error;
    memset(factor, 0, SIDE * SIDE * sizeof *factor);
    rer_multiply_f32(product, SIDE, factor, factor, SIDE, SIDE, SIDE);
    return RER_OK;
}

rer_status rer_bench_guess(double *seconds, const rer_bench *bench, rer_pool *pool, rer_error *error)
{
    double once, round = count_multiplications(bench, &once), least = INFINITY;
    const rer_job job = {
        .stage = "measuring", .items = PRODUCTS, .scratch = 2 * SIDE * SIDE * (int64_t)sizeof(float), .work = multiply};
    for (int i = 0; i < 2; i++) {
        double start = rer_now();
        RER_TRY(rer_pool_run(pool, &job, error));
        least = fmin(least, rer_now() - start);
    }
    *seconds = (once + bench->n_trials * round) * least / ((double)PRODUCTS * SIDE * SIDE * SIDE);
    return RER_OK;
}
