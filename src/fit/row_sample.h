/* Sampled rows, kept in memory for what is chosen by the labels seen: a class-stratified random sample. */
#pragma once

#include "fit/model.h"

struct rer_row_sample {
    int64_t count;
    int64_t *row;  /* [count] ascending */
    float *x;      /* [count, D] */
    double *scale; /* [count] */
    int32_t *code; /* [count] */
    bool is_all;   /* every row that can be judged */
};

#define RER_SAMPLE_MOST 10000 /* rows: more would tell little more */

/* Rows to sample for a data set of C classes: enough for a stable fit, few enough to be cheap. */
int64_t rer_row_sample_size(const rer_run *run);
rer_status rer_row_sample_pick(rer_row_sample *sample, const rer_run *run, const int64_t *n, int64_t most,
                               rer_error *error);
/* `count` places [count] of rows, ascending: of each class its share, at random, the same ones each time. (Every second
 * of rows whose labels come in turns would be those of half the classes.) */
rer_status rer_thin_places(int64_t *place, int64_t count, const int32_t *code, int64_t all, int64_t C,
                           rer_error *error);
/* Rows `place` [count] of values [*, n]; free() it. */
rer_status rer_pick_rows(float **picked, const float *values, const int64_t *place, int64_t count, int64_t n,
                         rer_error *error);
/* Those of a filled sample. */
rer_status rer_row_sample_thin(rer_row_sample *thin, const rer_row_sample *sample, const int64_t *place, int64_t count,
                               int64_t D, rer_error *error);
/* Fetches the rows row [count] of a sample that has nothing else yet, where rows lie elsewhere. */
rer_status rer_row_sample_fetch(rer_row_sample *sample, const rer_normalizer *normalizer, const rer_run *run,
                                rer_error *error);
/* Reads the rows of a picked sample, where they are here. */
rer_status rer_row_sample_read(rer_row_sample *sample, const rer_normalizer *normalizer, const rer_run *run,
                               rer_error *error);
void rer_row_sample_free(rer_row_sample *sample);

/* Rows first.. of a sample as a block, at most `most`. */
rer_block rer_row_sample_block(const rer_row_sample *sample, int64_t first, int64_t most, int64_t D);
/* A tile [rows, classes] of errors into d2 [rows, C], from class `first` on. */
void rer_keep_tile(float *d2, const float *tile, int64_t rows, int64_t C, int64_t first, int64_t classes);
/* d2 [count, C]: errors of the sampled rows under a model, each left out. */
rer_status rer_sample_errors(float *d2, const rer_model *model, const rer_row_sample *sample, const rer_run *run,
                             rer_error *error);
/* log of the class sizes, -INFINITY for an empty class; free() it. */
rer_status rer_log_sizes(float **log_n, const int64_t *n, int32_t C, rer_error *error);
