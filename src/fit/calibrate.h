/* Sampled rows, each judged by a model that has not seen it, and what their labels say: the channel. */
#ifndef RER_CALIBRATE_H
#define RER_CALIBRATE_H

#include "fit/label_fit.h"
#include "fit/moments.h"

/* Rows to sample for a data set of C classes: enough for a stable fit, few enough to be cheap. */
int64_t rer_calibration_rows(const rer_run *run);

/* log of the class sizes, -INFINITY for an empty class; free() it. */
rer_status rer_log_sizes(float **log_n, const int64_t *n, int32_t C, rer_error *error);

/* d2 [count, C]: errors of the sampled rows under any reconstructor, each left out. */
rer_status rer_sample_errors(float *d2, const rer_model *model, const rer_row_sample *sample, const rer_run *run,
                             rer_error *error);

typedef struct rer_calibration {
    rer_row_sample rows;
    float *d2;      /* [count, C] */
    float *opinion; /* [count, C] evidence of the user's own probabilities, NULL: none */
    float *log_n;   /* [C] */
} rer_calibration;

/* Takes the sampled rows over, makes their evidence and fits model->channel to it. model->n and model->N are set. */
rer_status rer_calibrate(rer_calibration *calibration, rer_model *model, rer_row_sample *rows, const rer_run *run,
                         rer_error *error);
/* `count` of its rows, evenly spread. */
rer_status rer_calibration_thin(rer_calibration *thin, const rer_calibration *calibration, int64_t count, int64_t D,
                                int32_t C, rer_error *error);
/* The labels and their evidence; `local` [count, C] may be NULL. */
rer_channel_sample rer_calibration_sample(const rer_calibration *calibration, const float *local, int32_t C);
void rer_calibration_free(rer_calibration *calibration);

#endif
