/* Temperature and noise of a fitted model, from the left-out errors of sampled rows. */
#ifndef RER_CALIBRATE_H
#define RER_CALIBRATE_H

#include "fit/moments.h"
#include "judge/likelihood.h"

/* Rows to sample for a data set of C classes: enough for a stable fit, few enough to be cheap. */
int64_t rer_calibration_rows(const rer_run *run);

/* log of the class sizes, -INFINITY for an empty class; free() it. */
rer_status rer_log_sizes(float **log_n, const int64_t *n, int32_t C, rer_error *error);

/* d2 [count, C]: errors of the sampled rows under any reconstructor, each left out. */
rer_status rer_sample_errors(float *d2, const rer_model *model, const rer_row_sample *sample, const rer_run *run,
                             rer_error *error);

/* Fits model->channel to the left-out errors d2 [count, C] of the sampled rows (which get the user's
 * opinion added, where there is one), */
rer_status rer_calibrate_errors(rer_model *model, float *d2, const rer_row_sample *sample, const rer_run *run,
                                rer_error *error);
/* which this makes first. model->n and model->N are set. */
rer_status rer_calibrate_model(rer_model *model, const rer_row_sample *sample, const rer_run *run, rer_error *error);

#endif
