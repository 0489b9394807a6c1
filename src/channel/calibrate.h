/* Sampled rows, each judged by a model that has not seen it, and what their labels say: the channel. */
#pragma once

#include "channel/channel.h"
#include "fit/row_sample.h"

typedef struct rer_calibration {
    rer_row_sample rows;
    float *d2;      /* [count, C] */
    float *opinion; /* [count, C] evidence of the user's own probabilities, NULL: none */
    float *log_n;   /* [C] */
    float *stands;  /* [count] rows that each stands for, NULL: itself */
    bool thinned;   /* these are some of those rows */
    bool enough;    /* these are all rows that can be judged, or 5,000, or were before they were thinned */
} rer_calibration;

/* Takes the sampled rows over, makes their evidence and fits model->channel to it. model->n and model->N are set. */
rer_status rer_calibrate(rer_calibration *calibration, rer_model *model, rer_row_sample *rows, const rer_run *run,
                         rer_error *error);
/* About `count` of its rows, the rather the less sure `channel` is of their labels, and for how many each stands; without
 * opinions: none has a second look. */
rer_status rer_calibration_thin(rer_calibration *thin, const rer_calibration *calibration, const rer_channel *channel,
                                int64_t count, int64_t D, const rer_kernels *kernels, rer_error *error);
/* The labels and their evidence; `local` [count, C] may be NULL. */
rer_channel_sample rer_calibration_sample(const rer_calibration *calibration, const float *local, int32_t C);
void rer_calibration_free(rer_calibration *calibration);
