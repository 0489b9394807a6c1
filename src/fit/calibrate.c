/* Calibration for any reconstructor: left-out errors of sampled rows, then the likelihood of the
 * labels seen (judge/likelihood.h). */
#include "fit/calibrate.h"
#include "judge/opinion.h"

#include <math.h>
#include <string.h>

#define SAMPLE_MOST 5000
#define SAMPLE_ERRORS (8 << 20) /* errors of the sample that are kept, [rows, C] */
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

rer_status rer_calibrate_errors(rer_model *model, float *d2, const rer_row_sample *sample, const rer_run *run,
                                rer_error *error)
{
    float *log_n = NULL;
    rer_status status = rer_log_sizes(&log_n, model->n, model->C, error);
    rer_channel_sample labels = {
        .d2 = d2, .code = sample->code, .log_n = log_n, .rows = sample->count, .N = model->N, .C = model->C};
    if (status == RER_OK && run->data->pred_probs.name != NULL)
        status = rer_opinion_weigh(&model->opinion, d2, sample->row, &labels, run->data, run->kernels, error);
    if (status == RER_OK)
        status = rer_channel_fit(&model->channel, &labels, run->kernels, run->pool, error);
    free(log_n);
    return status;
}

rer_status rer_calibrate_model(rer_model *model, const rer_row_sample *sample, const rer_run *run, rer_error *error)
{
    float *d2 = NULL;
    rer_status status = rer_allocate(&d2, sample->count, model->C * (int64_t)sizeof(float), "sampled errors", error);
    if (status == RER_OK)
        status = rer_sample_errors(d2, model, sample, run, error);
    if (status == RER_OK)
        status = rer_calibrate_errors(model, d2, sample, run, error);
    free(d2);
    return status;
}
