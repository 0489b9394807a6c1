/* The features as detectors want them: as they are or of unit length, centred or not, in blocks. */
#pragma once

#include "run/run.h"

typedef struct rer_features {
    const rer_run *run;
    rer_normalizer normalizer; /* RER_UNIT or RER_NONE */
    double *mean;              /* [D] of the valid rows; zeros where nothing is to be subtracted */
    int64_t count;             /* rows that are used */
    const int64_t *order;      /* [count] rows of the input, in the order wanted; NULL: as they are */
    float *stored;             /* [count, D] where that is small enough, else rows are read again and again */
} rer_features;

/* Checks every row on the way: NaN or Inf is an error or, with --drop-invalid, sets the row's flag
 * in the run's result; such a row is all zeros here. */
rer_status rer_features_open(rer_features *features, const rer_run *run, bool unit, bool centred, rer_error *error);
/* From here on only the rows order [count] (which must stay; NULL: all), in that order; they are kept
 * in memory where that is small enough. */
rer_status rer_features_keep(rer_features *features, const int64_t *order, int64_t count, rer_error *error);
void rer_features_close(rer_features *features);
/* Memory for `count` rows, where they are not stored. */
rer_scratch rer_features_take(const rer_features *features, int64_t count, rer_scratch *scratch);
/* *x [count, D]: rows first..first+count-1 (of the order), stored or in `room`, which was taken for as many or more. */
rer_status rer_features_rows(const float **x, const rer_features *features, int64_t first, int64_t count,
                             rer_scratch room, rer_error *error);
