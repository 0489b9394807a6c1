/* What the benchmarks share: data of a given shape in a temporary folder, medians, and bars that
 * are met or missed. A benchmark exits 1 where a bar is missed. */
#pragma once

#include "core/core.h"
#include "core/options.h"

#include <sys/types.h>

typedef struct bench_shape {
    int64_t N, D;
    int32_t C;
    bool half; /* the file holds float16, else float32 */
} bench_shape;

typedef struct bench_files {
    char folder[200], features[240], labels[240];
} bench_files;

/* Writes X.npy and y.npy (int32) of a shape into a fresh folder under $TMPDIR: unit noise around
 * class means so far apart that a few per cent of the rows lie nearer to another class, and every
 * 33rd label is wrong. The files are in the page cache afterwards. Exits on an error. */
bench_files bench_make_files(const bench_shape *shape);
/* Seconds of an analysis of the files. Exits on an error. */
rer_seconds bench_analyze(const bench_files *files, const rer_options *options);
/* Removes the folder with all in it, one level deep. */
void bench_remove_files(const bench_files *files);

/* Standard normal but for its tails: the sum of four uniforms. The state is any number. */
float bench_normal(uint64_t *state);

double bench_median(const double *values, int count); /* values stay as they are */

/* --threads N (2), --rounds N, --rer FILE (build folder's), --quick. Exits on anything else. */
typedef struct bench_settings {
    int threads, rounds;
    bool quick;
    const char *rer;
} bench_settings;
bench_settings bench_parse(int argc, char **argv, int rounds);

/* Runs the command with its output thrown away; *anonymous (or NULL) is the peak of its anonymous
 * memory in bytes, looked at every millisecond. Returns wall seconds; exits where it fails. */
double bench_run(const char *const *command, int64_t *anonymous);

/* Prints the line and whether low <= value <= high. */
void bench_bar(const char *what, double value, double low, double high);
int bench_missed(void); /* 1 where a bar was missed so far, else 0 */

_Noreturn void bench_die(const char *what);
