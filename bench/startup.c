/* What the whole command costs where there is hardly anything to compute. With --out the time is that
 * of syncing four files and their folder, which is the disk's, so the bar holds without it. */
#include "bench.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    bench_settings settings = bench_parse(argc, argv, 50);
    bench_files files = bench_make_files(&(bench_shape){1000, 64, 10, false});
    char out[260], threads[16];
    double bare[64], written[64];
    (void)snprintf(out, sizeof out, "%s/out", files.folder);
    (void)snprintf(threads, sizeof threads, "%d", settings.threads);
    const char *command[] = {settings.rer, "analyze", files.features, files.labels, "--threads", threads, NULL,
                             out,          NULL};
    for (int round = -1; round < settings.rounds; round++) {
        int place = round < 0 ? 0 : round;
        command[6] = NULL;
        bare[place] = bench_run(command, NULL);
        command[6] = "--out";
        written[place] = bench_run(command, NULL);
    }
    bench_remove_files(&files);
    double lowest = bare[0];
    for (int round = 1; round < settings.rounds; round++)
        lowest = bare[round] < lowest ? bare[round] : lowest;
    printf("rer analyze, 1000 x 64 x 10, median of %d; %.1f ms at best, %.1f ms with --out (the disk's syncs)\n",
           settings.rounds, 1e3 * lowest, 1e3 * bench_median(written, settings.rounds));
    bench_bar("ms, whole command", 1e3 * bench_median(bare, settings.rounds), 0, 100);
    return bench_missed();
}
