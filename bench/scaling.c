/* How the time of rer_analyze grows: with N (slope of log time over log N) and with C (the share of
 * the variance that a + b C explains). Opening the file is included. What is found from a sample of
 * at most 10,000 rows (the shrinkage, the noise channel) does not grow with N: the slope is taken where
 * that constant, a tenth of a second, is small against the rest. */
#include "bench.h"

#include <math.h>
#include <stdio.h>

static double time_once(const bench_files *files, int threads, double shrinkage)
{
    rer_options options = rer_options_default();
    options.threads = threads;
    options.shrinkage = shrinkage;
    double start = rer_now();
    (void)bench_analyze(files, &options);
    return rer_now() - start;
}

/* Median seconds of each shape; rounds go over all shapes, so that a slow moment spoils no single one. */
static void time_shapes(double *median, const bench_shape *shapes, int count, double shrinkage,
                        const bench_settings *settings)
{
    enum { MOST = 8 };
    bench_files files[MOST];
    double seconds[MOST][64];
    for (int s = 0; s < count; s++)
        files[s] = bench_make_files(&shapes[s]);
    for (int round = -1; round < settings->rounds; round++)
        for (int s = 0; s < count; s++)
            seconds[s][round < 0 ? 0 : round] = time_once(&files[s], settings->threads, shrinkage);
    for (int s = 0; s < count; s++) {
        median[s] = bench_median(seconds[s], settings->rounds);
        printf("  %7lld x %lld x %4d: %.3f s\n", (long long)shapes[s].N, (long long)shapes[s].D, shapes[s].C,
               median[s]);
        bench_remove_files(&files[s]);
    }
}

/* Least squares y = a + b x; returns the coefficient of determination. */
static double fit_line(const double *x, const double *y, int count, double *a, double *b)
{
    double mean_x = 0, mean_y = 0, xx = 0, xy = 0, yy = 0;
    for (int i = 0; i < count; i++) {
        mean_x += x[i] / count;
        mean_y += y[i] / count;
    }
    for (int i = 0; i < count; i++) {
        xx += (x[i] - mean_x) * (x[i] - mean_x);
        xy += (x[i] - mean_x) * (y[i] - mean_y);
        yy += (y[i] - mean_y) * (y[i] - mean_y);
    }
    *b = xy / xx;
    *a = mean_y - *b * mean_x;
    return xy * xy / (xx * yy);
}

static void measure_rows(double shrinkage, const char *what, const bench_settings *settings)
{
    enum { COUNT = 4 };
    bench_shape shapes[COUNT];
    double seconds[COUNT], n[COUNT], log_n[COUNT], log_seconds[COUNT], a, b;
    for (int s = 0; s < COUNT; s++)
        shapes[s] = (bench_shape){400000LL << s, 256, 10, true};
    printf("time against N, %s\n", what);
    time_shapes(seconds, shapes, COUNT, shrinkage, settings);
    for (int s = 0; s < COUNT; s++) {
        n[s] = (double)shapes[s].N;
        log_n[s] = log(n[s]);
        log_seconds[s] = log(seconds[s]);
    }
    (void)fit_line(log_n, log_seconds, COUNT, &a, &b);
    bench_bar("slope of log time over log N", b, .9, 1.1);
    double r2 = fit_line(n, seconds, COUNT, &a, &b);
    printf("  %.3f s + %.3f s for a million rows\n", a, 1e6 * b);
    bench_bar("R2 of time = a + b N", r2, .99, INFINITY);
}

static void measure_classes(const bench_settings *settings)
{
    enum { COUNT = 6 };
    static const int32_t classes[COUNT] = {10, 100, 500, 1000, 1500, 2000};
    bench_shape shapes[COUNT];
    double seconds[COUNT], x[COUNT], a, b;
    for (int s = 0; s < COUNT; s++) {
        shapes[s] = (bench_shape){100000, 256, classes[s], true};
        x[s] = classes[s];
    }
    printf("time against C\n");
    time_shapes(seconds, shapes, COUNT, RER_AUTO, settings);
    double r2 = fit_line(x, seconds, COUNT, &a, &b);
    printf("  %.3f s + %.3f ms C\n", a, 1e3 * b);
    bench_bar("R2 of time = a + b C", r2, .98, INFINITY);
}

int main(int argc, char **argv)
{
    bench_settings settings = bench_parse(argc, argv, 7);
    measure_rows(.1, "shrinkage given", &settings);
    measure_rows(RER_AUTO, "shrinkage chosen", &settings);
    measure_classes(&settings);
    return bench_missed();
}
