/* Calibration for any reconstructor: left-out errors of sampled rows, then the channel that explains their labels
 * (channel/fit.c). */
#include "channel/calibrate.h"

#include "channel/opinion.h"

#include <string.h>

rer_channel_sample rer_calibration_sample(const rer_calibration *calibration, const float *local, int32_t C)
{
    return (rer_channel_sample){
        .value = {[RER_GLOBAL] = calibration->d2, [RER_LOCAL] = local, [RER_OPINION] = calibration->opinion},
        .code = calibration->rows.code,
        .log_n = calibration->log_n,
        .rows = calibration->rows.count,
        .C = C,
        .from = .48,
        .to = .5,
        .usual = rer_channel_usual_passes(C, true),
    };
}

rer_status rer_calibrate(rer_calibration *calibration, rer_model *model, rer_row_sample *rows, const rer_run *run,
                         rer_error *error)
{
    int64_t errors = model->C * (int64_t)sizeof(float);
    rer_calibration made = {.rows = *rows, .enough = rows->is_all || rows->count == RER_SAMPLE_MOST};
    *rows = (rer_row_sample){0};
    rer_status status = rer_log_sizes(&made.log_n, model->n, model->C, error);
    if (status == RER_OK)
        status = rer_allocate(&made.d2, made.rows.count, errors, "sampled errors", error);
    if (status == RER_OK)
        status = rer_sample_errors(made.d2, model, &made.rows, run, error);
    if (status == RER_OK && run->data->pred_probs.name != NULL)
        status = rer_allocate(&made.opinion, made.rows.count, errors, "sampled probabilities", error);
    if (status == RER_OK && made.opinion != NULL)
        status = rer_opinion_of(made.opinion, run->data, made.rows.row, made.rows.count, made.log_n, error);
    rer_channel_sample sample = rer_calibration_sample(&made, NULL, model->C);
    sample.enough = made.enough;
    sample.whitened = model->normalizer.kind == RER_WHITEN;
    if (status == RER_OK)
        status = rer_channel_make(&model->channel, model->C, error);
    if (status == RER_OK)
        status = rer_channel_fit(model->channel, NULL, &sample, run->kernels, run->pool, error);
    if (status != RER_OK) {
        rer_calibration_free(&made);
        return status;
    }
    *calibration = made;
    return RER_OK;
}

/* Rows of values [*, C] as rer_row_sample_thin takes them. */
static rer_status thin_values(float **thin, const float *values, int64_t count, int64_t from, int64_t C,
                              rer_error *error)
{
    rer_status status = rer_allocate(thin, count, C * (int64_t)sizeof(float), "evidence", error);
    for (int64_t i = 0; status == RER_OK && i < count; i++)
        memcpy(*thin + i * C, values + rer_thin_place(i, from, count) * C, (size_t)C * sizeof(float));
    return status;
}

rer_status rer_calibration_thin(rer_calibration *thin, const rer_calibration *calibration, int64_t count, int64_t D,
                                int32_t C, rer_error *error)
{
    int64_t from = calibration->rows.count;
    rer_calibration made = {.enough = calibration->enough};
    rer_status status = rer_row_sample_thin(&made.rows, &calibration->rows, count, D, error);
    if (status == RER_OK)
        status = thin_values(&made.d2, calibration->d2, count, from, C, error);
    if (status == RER_OK)
        status = thin_values(&made.log_n, calibration->log_n, 1, 1, C, error);
    if (status != RER_OK) {
        rer_calibration_free(&made);
        return status;
    }
    *thin = made;
    return RER_OK;
}

void rer_calibration_free(rer_calibration *calibration)
{
    rer_row_sample_free(&calibration->rows);
    free(calibration->d2);
    free(calibration->opinion);
    free(calibration->log_n);
    *calibration = (rer_calibration){0};
}
