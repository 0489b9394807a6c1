/* Made data sets: Gaussian classes with what is asked for, the same on every machine. */
#pragma once

#include "core/options.h"

/* Uniform in (0, 1) and standard normal; *state is any number, moved on. */
double made_uniform(uint64_t *state);
double made_normal(uint64_t *state);
/* x [n] normal, times exp(tails * normal): with tails a few are everything. And a product in double. */
void made_tailed(float *x, int64_t n, uint64_t seed, double tails);
double made_product(const float *x, const float *y, int64_t n);

typedef struct made_settings {
    int64_t N, D;
    int32_t C;
    double separation;     /* of class means, in units of the within-class deviation; 0: 1 */
    double condition;      /* of the within-class covariance; 0: 1 */
    double offset;         /* added to every feature */
    int64_t class_size;    /* the last class gets this many rows, the others the rest; 0: even */
    int32_t singletons;    /* this many of the first classes have one row each */
    int64_t unlabelled;    /* this many of the last rows have no label */
    int64_t mislabelled;   /* this many rows, spread evenly, carry the next class's label */
    bool duplicated;       /* every second row repeats the one before, label and all */
    bool constant_feature; /* feature 0 is the same everywhere */
    uint64_t seed;
} made_settings;

typedef struct made_data {
    int64_t N, D;
    int32_t C;
    float *x;       /* [N, D] */
    int32_t *code;  /* [N] class, -1: no label */
    int32_t *truth; /* [N] class that the row was drawn from */
} made_data;

made_data made_data_make(const made_settings *settings);
void made_data_free(made_data *data);
/* A data set over it (it must stay); asserts that it worked and that classes keep their numbers. */
rer_dataset *made_data_wrap(const made_data *data);
