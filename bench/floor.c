/* How near the analysis is to the dense operations alone.
 *
 * The floor is what no way of computing the closed form can leave out: the rank-k update of every
 * block, the triangular product and the product with the class means; float, the same BLAS calls,
 * blocks, threads, and operands that lie in memory as float already. Against it: fit + score of
 * rer_analyze, from a file in the page cache; without the second look (--probability density), which the
 * floor has no part of, and with it, as people run it. Floor and rer take turns, so that a slow moment of
 * the machine meets both; only the ratio of the medians is a claim. */
#include "backend/backend.h"
#include "bench.h"
#include "core/pool.h"

#include <stdio.h>
#include <time.h>

#define BLOCK 1024
#define TILE 1024
#define ROWS_MAX 65536 /* rows kept for the floor; a longer pass goes over them again */

typedef struct dense {
    const bench_shape *shape;
    float *x; /* [rows, D], spoilt by the triangular product */
    float *g; /* [D, D] lower, near the identity: x stays of size 1 however often it is multiplied */
    float *u; /* [C, D] */
    int64_t rows;
} dense;

static float *allocate(int64_t values)
{
    float *memory = NULL;
    rer_error error = {0};
    if (rer_allocate(&memory, values, sizeof *memory, "operands", &error) != RER_OK)
        bench_die(error.message);
    return memory;
}

static dense make_dense(const bench_shape *shape)
{
    uint64_t state = 3;
    int64_t D = shape->D;
    dense made = {.shape = shape, .rows = rer_min(shape->N, ROWS_MAX)};
    made.x = allocate(made.rows * D);
    made.g = allocate(D * D);
    made.u = allocate(shape->C * D);
    for (int64_t i = 0; i < made.rows * D; i++)
        made.x[i] = bench_normal(&state);
    for (int64_t i = 0; i < D; i++)
        for (int64_t j = 0; j <= i; j++)
            made.g[i * D + j] = i == j ? 1 : 1e-4f * bench_normal(&state);
    for (int64_t i = 0; i < shape->C * D; i++)
        made.u[i] = bench_normal(&state);
    return made;
}

static float *block_of(const dense *operands, int64_t item, int64_t *count)
{
    int64_t blocks = (operands->rows + BLOCK - 1) / BLOCK, first = item % blocks * BLOCK;
    *count = rer_min(rer_min(BLOCK, operands->rows - first), operands->shape->N - item * BLOCK);
    return operands->x + first * operands->shape->D;
}

static rer_status update(void *context, int64_t item, void *scratch, rer_error *error)
{
    (void)error;
    const dense *operands = context;
    int64_t count, D = operands->shape->D;
    const float *x = block_of(operands, item, &count);
    rer_rank_update(scratch, x, count, D);
    return RER_OK;
}

static rer_status multiply(void *context, int64_t item, void *scratch, rer_error *error)
{
    (void)error;
    const dense *operands = context;
    int64_t count, D = operands->shape->D, C = operands->shape->C;
    float *x = block_of(operands, item, &count);
    rer_multiply_triangle_f32(x, operands->g, count, D);
    for (int64_t first = 0; first < C; first += TILE) {
        int64_t classes = rer_min(TILE, C - first);
        rer_multiply_f32(scratch, classes, x, operands->u + first * D, count, classes, D);
    }
    return RER_OK;
}

static double processor_seconds(void)
{
    struct timespec time;
    return clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0 ? (double)time.tv_sec + 1e-9 * (double)time.tv_nsec : 0;
}

static double time_floor(dense *operands, int threads)
{
    const bench_shape *shape = operands->shape;
    rer_pool *pool = NULL;
    rer_error error = {0};
    rer_pool_settings settings = {.threads = threads, .enter = rer_backend_enter, .leave = rer_backend_leave};
    rer_job job = {
        .stage = "floor",
        .items = (shape->N + BLOCK - 1) / BLOCK,
        .scratch = rer_max(shape->D * shape->D, BLOCK * rer_min(TILE, shape->C)) * (int64_t)sizeof(float),
        .work = update,
        .context = operands,
    };
    double start = rer_now();
    rer_status status = rer_pool_open(&pool, &settings, &error);
    if (status == RER_OK)
        status = rer_pool_run(pool, &job, &error);
    job.work = multiply;
    if (status == RER_OK)
        status = rer_pool_run(pool, &job, &error);
    if (status != RER_OK)
        bench_die(error.message);
    rer_pool_close(pool);
    return rer_now() - start;
}

static rer_seconds time_rer(const bench_files *files, int threads, double shrinkage, rer_probability probability)
{
    rer_options options = rer_options_default();
    options.threads = threads;
    options.shrinkage = shrinkage;
    options.probability = probability;
    return bench_analyze(files, &options);
}

static void measure(const bench_shape *shape, int rounds, int threads)
{
    enum { FLOOR, GIVEN, AUTO, WHOLE, KINDS };
    double seconds[KINDS][64], processor[KINDS][64], median[KINDS], busy[KINDS], fit[64], score[64],
        N = (double)shape->N, D = (double)shape->D;
    double flop = 2 * N * D * D + 2 * N * D * shape->C;
    bench_files files = bench_make_files(shape);
    dense operands = make_dense(shape);
    for (int round = -1; round < rounds; round++) { /* the first one warms up */
        int place = round < 0 ? 0 : round;
        double start = processor_seconds();
        seconds[FLOOR][place] = time_floor(&operands, threads);
        double after_floor = processor_seconds();
        rer_seconds given = time_rer(&files, threads, .1, RER_DENSITY);
        seconds[GIVEN][place] = given.fit + given.score;
        double after_given = processor_seconds();
        rer_seconds automatic = time_rer(&files, threads, RER_AUTO, RER_DENSITY);
        seconds[AUTO][place] = automatic.fit + automatic.score;
        double after_automatic = processor_seconds();
        rer_seconds whole = time_rer(&files, threads, RER_AUTO, RER_CHANNEL);
        seconds[WHOLE][place] = whole.fit + whole.score;
        processor[FLOOR][place] = after_floor - start;
        processor[GIVEN][place] = after_given - after_floor;
        processor[AUTO][place] = after_automatic - after_given;
        processor[WHOLE][place] = processor_seconds() - after_automatic;
        fit[place] = given.fit;
        score[place] = given.score;
    }
    for (int kind = 0; kind < KINDS; kind++) {
        median[kind] = bench_median(seconds[kind], rounds);
        busy[kind] = bench_median(processor[kind], rounds);
    }
    printf("%lld x %lld x %d, %s, %d threads, median of %d\n", (long long)shape->N, (long long)shape->D, shape->C,
           shape->half ? "float16" : "float32", threads, rounds);
    printf("  floor %.3f s (%.3g flop, %.0f Gflop/s); shrinkage .1: %.3f s (fit %.3f, score %.3f); automatic: %.3f s; "
           "with "
           "the second look: %.3f s\n",
           median[FLOOR], flop, flop / median[FLOOR] / 1e9, median[GIVEN], bench_median(fit, rounds),
           bench_median(score, rounds), median[AUTO], median[WHOLE]);
    printf("  processor seconds, all of open + analyze: floor %.3f, given %.3f (%.2f x), automatic %.3f (%.2f x), "
           "with the second look %.3f (%.2f x)\n",
           busy[FLOOR], busy[GIVEN], busy[GIVEN] / busy[FLOOR], busy[AUTO], busy[AUTO] / busy[FLOOR], busy[WHOLE],
           busy[WHOLE] / busy[FLOOR]);
    bench_bar("fit + score, shrinkage given, over the floor", median[GIVEN] / median[FLOOR], 0, 2);
    bench_bar("fit + score, shrinkage chosen, over the floor", median[AUTO] / median[FLOOR], 0, 2.5);
    bench_bar("the same with the second look", median[WHOLE] / median[FLOOR], 0, 8);
    free(operands.x);
    free(operands.g);
    free(operands.u);
    bench_remove_files(&files);
}

int main(int argc, char **argv)
{
    bench_settings settings = bench_parse(argc, argv, 9);
    measure(&(bench_shape){50000, 512, 10, false}, settings.rounds, settings.threads);
    measure(&(bench_shape){50000, 768, 100, false}, settings.rounds, settings.threads);
    if (!settings.quick) /* ImageNet's shape */
        measure(&(bench_shape){1281167, 512, 1000, true}, settings.rounds < 3 ? settings.rounds : 3, settings.threads);
    return bench_missed();
}
