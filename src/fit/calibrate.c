/* Calibration for any reconstructor: left-out errors of sampled rows, then the channel that explains their labels
 * (channel/fit.c). */
#include "fit/calibrate.h"

#include "channel/opinion.h"

#include <math.h>
#include <string.h>

#define SAMPLE_MOST 5000
#define SAMPLE_ERRORS (1 << 20) /* errors of the sample that are kept, [rows, C] */
#define SAMPLE_ROWS_MIN 500
#define SAMPLE_BLOCK 512 /* rows of an item: there are few, which threads are to share evenly */

int64_t rer_calibration_rows(const rer_run *run)
{
    return rer_min(SAMPLE_MOST, rer_max(SAMPLE_ROWS_MIN, SAMPLE_ERRORS / run->C));
}

rer_status rer_log_sizes(float **log_n, const int64_t *n, int32_t C, rer_error *error)
{
    rer_status status = rer_allocate(log_n, C, sizeof **log_n, "class sizes", error);
    for (int32_t c = 0; status == RER_OK && c < C; c++)
        (*log_n)[c] = n[c] > 0 ? logf((float)n[c]) : -INFINITY;
    return status;
}

typedef struct sample_pass {
    const rer_model *model;
    const rer_row_sample *sample;
    const rer_run *run;
    float *d2; /* [count, C] */
} sample_pass;

static rer_status score_sample(void *context, int64_t item, void *scratch, rer_error *error)
{
    (void)error;
    const sample_pass *pass = context;
    const rer_row_sample *sample = pass->sample;
    const rer_reconstructor *reconstructor = pass->model->reconstructor;
    int64_t first = item * SAMPLE_BLOCK, C = pass->model->C;
    rer_block block = {
        .count = rer_min(SAMPLE_BLOCK, sample->count - first),
        .x = sample->x + first * pass->model->D,
        .scale = sample->scale + first,
        .code = sample->code + first,
        .row = sample->row + first,
    };
    float *tile = rer_carve(&scratch, block.count * rer_min(RER_CLASS_TILE, C) * (int64_t)sizeof(float));
    reconstructor->prepare(pass->model, pass->run, &block, true, scratch);
    for (int64_t k = 0; k < C; k += RER_CLASS_TILE) {
        int64_t classes = rer_min(RER_CLASS_TILE, C - k);
        reconstructor->errors(pass->model, pass->run, &block, (int32_t)k, (int32_t)classes, tile, scratch);
        for (int64_t i = 0; i < block.count; i++)
            memcpy(pass->d2 + (first + i) * C + k, tile + i * classes, (size_t)classes * sizeof(float));
    }
    return RER_OK;
}

rer_status rer_sample_errors(float *d2, const rer_model *model, const rer_row_sample *sample, const rer_run *run,
                             rer_error *error)
{
    sample_pass pass = {model, sample, run, d2};
    int64_t block = rer_min(sample->count, SAMPLE_BLOCK);
    rer_job job = {
        .stage = "calibrating",
        .from = .45,
        .to = .5,
        .items = (sample->count + SAMPLE_BLOCK - 1) / SAMPLE_BLOCK,
        .scratch = model->reconstructor->scratch(model, block) +
                   block * rer_min(RER_CLASS_TILE, run->C) * (int64_t)sizeof(float) + 128,
        .work = score_sample,
        .context = &pass,
    };
    return rer_pool_run(run->pool, &job, error);
}

rer_channel_sample rer_calibration_sample(const rer_calibration *calibration, const float *local, int32_t C)
{
    return (rer_channel_sample){
        .value = {[RER_GLOBAL] = calibration->d2, [RER_LOCAL] = local, [RER_OPINION] = calibration->opinion},
        .code = calibration->rows.code,
        .log_n = calibration->log_n,
        .rows = calibration->rows.count,
        .C = C,
    };
}

rer_status rer_calibrate(rer_calibration *calibration, rer_model *model, rer_row_sample *rows, const rer_run *run,
                         rer_error *error)
{
    int64_t errors = model->C * (int64_t)sizeof(float);
    rer_calibration made = {.rows = *rows};
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
    if (status == RER_OK)
        status = rer_channel_fit(&model->channel, NULL, &sample, run->kernels, run->pool, error);
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
    rer_calibration made = {0};
    int64_t from = calibration->rows.count;
    rer_status status = rer_row_sample_thin(&made.rows, &calibration->rows, count, D, error);
    if (status == RER_OK)
        status = thin_values(&made.d2, calibration->d2, count, from, C, error);
    if (status == RER_OK && calibration->opinion != NULL)
        status = thin_values(&made.opinion, calibration->opinion, count, from, C, error);
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
