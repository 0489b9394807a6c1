/* What more threads are worth: seconds of fit + score with 2 threads over those with all (--threads, 16), the medians of
 * runs that take turns. By Amdahl the two tell how much of it one thread does alone. Status 77 where the machine has
 * fewer processors than that. */
#include "bench.h"

#include <stdio.h>
#include <unistd.h>

enum { FEW = 2, ROUNDS_MOST = 64 };

typedef struct stage_times {
    double fit[ROUNDS_MOST], score[ROUNDS_MOST], both[ROUNDS_MOST], judge[ROUNDS_MOST];
} stage_times;

static void time_once(stage_times *times, int round, const bench_files *files, int threads)
{
    rer_options options = rer_options_default();
    options.threads = threads;
    rer_seconds seconds = bench_analyze(files, &options);
    times->fit[round] = seconds.fit;
    times->score[round] = seconds.score;
    times->both[round] = seconds.fit + seconds.score;
    times->judge[round] = seconds.judge;
}

/* Of times t_few and t_all: t = alone + shared / threads. */
static double alone(const double *few, const double *all, const bench_settings *settings)
{
    double t_few = bench_median(few, settings->rounds), t_all = bench_median(all, settings->rounds);
    return (settings->threads * t_all - FEW * t_few) / (settings->threads - FEW);
}

static void measure(const bench_shape *shape, const bench_settings *settings)
{
    static stage_times few, all;
    bench_files files = bench_make_files(shape);
    for (int round = -1; round < settings->rounds; round++) {
        time_once(&few, round < 0 ? 0 : round, &files, FEW);
        time_once(&all, round < 0 ? 0 : round, &files, settings->threads);
    }
    bench_remove_files(&files);
    double with_few = bench_median(few.both, settings->rounds), with_all = bench_median(all.both, settings->rounds);
    printf("%lld x %lld x %d: fit + score %.3f s with %d threads, %.3f s with %d\n", (long long)shape->N,
           (long long)shape->D, shape->C, with_few, FEW, with_all, settings->threads);
    printf("  by one thread alone: %.3f s of fit, %.3f s of score, %.3f s of judge\n",
           alone(few.fit, all.fit, settings), alone(few.score, all.score, settings),
           alone(few.judge, all.judge, settings));
    bench_bar("times as fast", with_few / with_all, .8 * settings->threads / FEW, INFINITY);
}

int main(int argc, char **argv)
{
    static const bench_shape shapes[] = {
        {50000, 512, 10, false}, {3000000, 128, 100, true}, {1281167, 512, 1000, true}};
    bench_settings settings = bench_parse(argc, argv, 3);
    settings.threads = settings.threads > FEW ? settings.threads : 16;
    if (sysconf(_SC_NPROCESSORS_ONLN) < settings.threads) {
        printf("left out: %d threads need as many processors, and there are %ld\n", settings.threads,
               sysconf(_SC_NPROCESSORS_ONLN));
        return 77;
    }
    for (int i = 0; i < RER_COUNT(shapes) - settings.quick; i++)
        measure(&shapes[i], &settings);
    return bench_missed();
}
