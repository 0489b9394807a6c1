/* Anonymous memory (what cannot be dropped and read again) of the whole command, outputs included,
 * at ImageNet's shape and with very many classes. */
#include "bench.h"

#include <stdio.h>

static void measure(const bench_shape *shape, const bench_settings *settings, double bar_mib)
{
    char out[260], threads[16], what[100];
    int64_t peak = 0;
    bench_files files = bench_make_files(shape);
    (void)snprintf(out, sizeof out, "%s/out", files.folder);
    (void)snprintf(threads, sizeof threads, "%d", settings->threads);
    const char *command[] = {settings->rer, "analyze",   files.features, files.labels, "--out",
                             out,           "--threads", threads,        NULL};
    double seconds = bench_run(command, &peak);
    bench_remove_files(&files);
    (void)snprintf(what, sizeof what, "MiB anonymous, %lld x %lld x %d", (long long)shape->N, (long long)shape->D,
                   shape->C);
    printf("whole command: %.1f s\n", seconds);
    bench_bar(what, (double)peak / (1 << 20), 0, bar_mib);
}

int main(int argc, char **argv)
{
    bench_settings settings = bench_parse(argc, argv, 1);
    measure(&(bench_shape){1281167, 512, 1000, true}, &settings, 400);
    if (!settings.quick)
        measure(&(bench_shape){500000, 128, 100000, true}, &settings, 2048);
    else
        printf("skipped: 500000 x 128 x 100000 (--quick)\n");
    return bench_missed();
}
