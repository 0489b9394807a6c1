/* What the tests of a device's operations share: problems of many shapes, the device and plain loops to run them on
 * (plain_plugin.c), and numbers that are compared by their normalised error. The plug-in is that of RER_CUDA_PLUGIN, or
 * librer_cuda.so. */
#pragma once

#include "plain_plugin.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define MOST 1e-5

/* All of them are looked at: a card is rarely at hand. */
extern int wrong;
#define EXPECT(holds, ...)                                                                                             \
    do {                                                                                                               \
        if (!(holds)) {                                                                                                \
            wrong++;                                                                                                   \
            printf("WRONG: " __VA_ARGS__);                                                                             \
            printf(" (%s)\n", #holds);                                                                                 \
        }                                                                                                              \
    } while (0)

typedef struct shape {
    int64_t N, D, rows;
    int32_t C;
    double spread;   /* of the class means, in deviations of a row; 0: 1 */
    double outliers; /* some rows are so many times as far */
    bool copies;     /* rows come again and again */
} shape;

extern const shape shapes[];
extern const size_t n_shapes;

/* Everything that the operations are given. */
typedef struct problem {
    const shape *of;
    rer_device_rows rows; /* of all N */
    double *mean;         /* [C + 1, D] */
    float *root, *u, *norm, *pairs, *bias, *rates;
    int64_t *n;
} problem;

void *room(int64_t count, size_t size);
problem make_problem(const shape *of);
void free_problem(problem *made);
/* Whether that is more than RER_TEST_MOST: of shapes, of which a sanitizer sees small ones. */
bool is_left_out(int64_t work);

typedef struct machine {
    const rer_device_plugin *plugin;
    void *device;
    bool loaded;
} machine;

const rer_device_plugin *find_plugin(void);
machine open_machine(const rer_device_plugin *plugin, const shape *of);
void check_well(const machine *on);
/* All rows, a stretch at a time; add NULL: they are loaded. */
void run_stretches(machine *on, const problem *of, void (*add)(void *, int), rer_reduced_row *out);
rer_reduced_row *run_scores(machine *on, const problem *of, const rer_device_model *model);

/* Of a number of all rows: |got - want|^2 and |want|^2. */
typedef struct normalised {
    double error, size;
} normalised;

void take_error(normalised *of, double got, double want);
double error_of(const normalised *of);
void compare_rows(const rer_reduced_row *got, const rer_reduced_row *want, const problem *of, const char *what,
                  bool channel);
