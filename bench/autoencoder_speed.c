/* How near the autoencoder is to the machine's own rate of multiplying matrices.
 *
 * The rate: sgemm of 1024 x 1024 x 1024, one in each thread at once. Against it, in the flop that their
 * products need and nothing else: training (graph, draws, steps, Adam: all of rer_train) of classes the
 * size of food10's, and the sweep of rows over all classes' networks. The three take turns, so that a
 * slow moment of the machine meets all; only the ratios of the medians are claims. */
#include "backend/backend.h"
#include "bench.h"
#include "core/pool.h"
#include "fit/autoencoder/train.h"

#include <stdio.h>

#define SQUARE 1024
#define PRODUCTS 12
#define ROWS 250 /* of a class */
#define CLASSES 4
#define BLOCKS 8
#define BLOCK 1024

typedef struct work {
    rer_training training;
    rer_pool *pool;
    float *square[2];     /* [SQUARE, SQUARE] */
    float *rows;          /* [CLASSES, ROWS, D] */
    float *block;         /* [BLOCK, D] */
    float *weights;       /* [CLASSES, parameters] */
    rer_trained *trained; /* [CLASSES] */
    double train_flop;    /* of a step, but for ... */
    double row_flop;      /* ... each of its different rows */
    double sweep_flop;    /* of a row and a class */
} work;

static float *make_numbers(int64_t count)
{
    float *memory = NULL;
    rer_error error = {0};
    uint64_t state = 3;
    if (rer_allocate(&memory, count, sizeof *memory, "operands", &error) != RER_OK)
        bench_die(error.message);
    for (int64_t i = 0; i < count; i++) {
        float value = .5f + .15f * bench_normal(&state);
        memory[i] = value < 0 ? 0 : value > 1 ? 1 : value;
    }
    return memory;
}

/* Products of layer l in a step: forward, dW, and the gradient of its input but for the first. In the
 * first, a row that comes several times in a batch is multiplied once. */
static void count_flop(work *made)
{
    const rer_network *network = &made->training.network;
    for (int l = 0; l < network->layers; l++) {
        double product = 2 * (double)network->width[l] * (double)network->width[l + 1];
        double rows = (double)made->training.batch * (l < network->encoder ? 2 : 1);
        made->train_flop += l == 0 ? 0 : 3 * rows * product;
        made->row_flop += l == 0 ? 2 * product : 0;
        made->sweep_flop += product;
    }
}

static work make_work(int64_t D)
{
    static const int32_t hidden[] = {256};
    work made = {
        .training = {
            .network = rer_network_shape(D, hidden, 1, 10),
            .loss =
                {.curve = rer_curve_fit(25, 24), .weight = 20, .repulsion = 1, .dropout = .01, .regularization = 1e-6},
            .graph = {.neighbors = 40, .epochs = 20},
            .batch = 64,
            .learning_rate = 1e-3,
            .seed = 1,
        }};
    rer_error error = {0};
    made.square[0] = make_numbers(SQUARE * SQUARE);
    made.square[1] = make_numbers(SQUARE * SQUARE);
    made.rows = make_numbers(CLASSES * ROWS * D);
    made.block = make_numbers(BLOCK * D);
    made.weights = make_numbers(CLASSES * made.training.network.parameters);
    if (rer_allocate(&made.trained, CLASSES, sizeof *made.trained, "steps", &error) != RER_OK)
        bench_die(error.message);
    count_flop(&made);
    return made;
}

static void free_work(work *made)
{
    free(made->square[0]);
    free(made->square[1]);
    free(made->rows);
    free(made->block);
    free(made->weights);
    free(made->trained);
}

static rer_status multiply(void *context, int64_t item, void *scratch, rer_error *error)
{
    (void)item, (void)error;
    const work *given = context;
    rer_gemm_f32(false, false, SQUARE, SQUARE, SQUARE, given->square[0], given->square[1], scratch);
    return RER_OK;
}

static rer_status train(void *context, int64_t item, void *scratch, rer_error *error)
{
    (void)scratch;
    const work *given = context;
    const rer_network *network = &given->training.network;
    return rer_train(given->weights + item * network->parameters, &given->trained[item], &given->training,
                     given->rows + item * ROWS * network->width[0], ROWS, (uint64_t)item, "a class", NULL,
                     rer_cpu_kernels(), error);
}

static float *lay_out_sweep(rer_scratch *rest, const rer_network *network, rer_scratch *scratch)
{
    *rest = rer_take_part(scratch, rer_network_sweep_scratch(network, BLOCK));
    return rer_take(scratch, BLOCK * CLASSES, sizeof(float));
}

static rer_status sweep(void *context, int64_t item, void *memory, rer_error *error)
{
    (void)item, (void)error;
    const work *given = context;
    const rer_network *network = &given->training.network;
    rer_scratch scratch = rer_pool_scratch(given->pool, memory), rest;
    float *errors = lay_out_sweep(&rest, network, &scratch);
    for (int k = 0; k < CLASSES; k++)
        rer_network_errors(network, given->weights + k * network->parameters, given->block, BLOCK, errors + k, CLASSES,
                           rest, rer_cpu_kernels());
    return RER_OK;
}

static double time_job(rer_pool *pool, work *given, rer_pool_step *step, int64_t items)
{
    int64_t square = SQUARE * SQUARE * (int64_t)sizeof(float);
    rer_scratch measure = RER_MEASURE, rest;
    (void)lay_out_sweep(&rest, &given->training.network, &measure);
    given->pool = pool;
    rer_error error = {0};
    rer_job job = {
        .stage = "bench", .items = items, .scratch = rer_max(square, measure.used), .work = step, .context = given};
    double start = rer_now();
    if (rer_pool_run(pool, &job, &error) != RER_OK)
        bench_die(error.message);
    return rer_now() - start;
}

static void measure(int64_t D, int rounds, int threads)
{
    enum { MULTIPLY, TRAIN, SWEEP, KINDS };
    double rate[KINDS][64], median[KINDS];
    work given = make_work(D);
    rer_pool *pool = NULL;
    rer_error error = {0};
    rer_pool_settings settings = {.threads = threads, .enter = rer_backend_enter, .leave = rer_backend_leave};
    if (rer_pool_open(&pool, &settings, &error) != RER_OK)
        bench_die(error.message);
    for (int round = -1; round < rounds; round++) { /* the first one warms up */
        int place = round < 0 ? 0 : round;
        double flop = 0;
        rate[MULTIPLY][place] = PRODUCTS * 2.0 * SQUARE * SQUARE * SQUARE / time_job(pool, &given, multiply, PRODUCTS);
        double seconds = time_job(pool, &given, train, CLASSES);
        for (int k = 0; k < CLASSES; k++)
            flop += (double)given.trained[k].steps * given.train_flop + (double)given.trained[k].rows * given.row_flop;
        rate[TRAIN][place] = flop / seconds;
        rate[SWEEP][place] = given.sweep_flop * BLOCK * BLOCKS * CLASSES / time_job(pool, &given, sweep, BLOCKS);
    }
    rer_pool_close(pool);
    for (int kind = 0; kind < KINDS; kind++)
        median[kind] = bench_median(rate[kind], rounds);
    printf("D = %lld, %d threads, median of %d: sgemm %.0f Gflop/s, training %.0f (%.0f of 128 rows of a batch "
           "differ), sweep %.0f\n",
           (long long)D, threads, rounds, median[MULTIPLY] / 1e9, median[TRAIN] / 1e9,
           (double)given.trained[0].rows / (double)given.trained[0].steps, median[SWEEP] / 1e9);
    bench_bar("training over sgemm", median[TRAIN] / median[MULTIPLY], .5, 10);
    bench_bar("sweep over sgemm", median[SWEEP] / median[MULTIPLY], .7, 10);
    free_work(&given);
}

int main(int argc, char **argv)
{
    bench_settings settings = bench_parse(argc, argv, 5);
    measure(512, settings.rounds, settings.threads);
    measure(768, settings.rounds, settings.threads);
    return bench_missed();
}
