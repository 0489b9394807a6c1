/* Zero-shot: the class whose given embedding is nearest. With p = softmax(cos / temperature) over the classes
 * and its entropy H, mistakenness is (1 + m exp(-H)) / 2, m = -1 where the most probable class is the label,
 * 1 where it is not. */
#include "detect/detect.h"
#include "detect/features.h"

typedef struct zeroshot {
    rer_verdict *verdict;
    const rer_run *run;
    rer_features features;
    float *classes; /* [C, D] of length 1 / temperature */
    float *no_bias; /* [C] zeros */
} zeroshot;

static rer_status scale_classes(zeroshot *z, rer_error *error)
{
    const rer_run *run = z->run;
    const float *given = run->data->class_embeddings;
    int64_t C = run->C, D = run->D;
    RER_TRY(rer_allocate(&z->classes, C * D, sizeof *z->classes, "class embeddings", error));
    RER_TRY(rer_allocate(&z->no_bias, C, sizeof *z->no_bias, "class embeddings", error));
    for (int64_t c = 0; c < C; c++) {
        double length = sqrt(run->kernels->sum_squares(given + c * D, D));
        for (int64_t j = 0; j < D; j++)
            z->classes[c * D + j] =
                (float)((double)given[c * D + j] / (length > 0 ? length : 1) / run->options->temperature);
    }
    return RER_OK;
}

static void judge_row(const zeroshot *z, int64_t row, float *p)
{
    rer_verdict *verdict = z->verdict;
    int32_t C = z->run->C, given = z->run->given[row], best = 0, other = -1;
    double entropy = 0;
    (void)z->run->kernels->softmax(p, z->no_bias, C);
    for (int32_t k = 0; k < C; k++) {
        best = p[k] > p[best] ? k : best;
        other = k != given && (other < 0 || p[k] > p[other]) ? k : other;
        entropy -= p[k] > 0 ? (double)p[k] * log((double)p[k]) : 0;
    }
    if (z->run->invalid[row] != 0)
        return;
    verdict->suggested[row] = other;
    if (given < 0)
        return;
    verdict->flagged[row] = best != given;
    verdict->mistakenness[row] = (1 + (best != given ? 1 : -1) * exp(-entropy)) / 2;
}

static float *lay_out(rer_scratch *rows, const zeroshot *z, rer_scratch *scratch)
{
    int64_t count = rer_min(RER_BLOCK, z->run->N);
    *rows = rer_features_take(&z->features, count, scratch);
    return rer_take(scratch, count * z->run->C, sizeof(float));
}

static rer_status judge_block(void *context, int64_t item, void *memory, rer_error *error)
{
    const zeroshot *z = context;
    int64_t C = z->run->C, D = z->run->D, first = item * RER_BLOCK, count = rer_min(RER_BLOCK, z->run->N - first);
    rer_scratch scratch = rer_pool_scratch(z->run->pool, memory), rows;
    float *p = lay_out(&rows, z, &scratch);
    const float *x = NULL;
    RER_TRY(rer_features_rows(&x, &z->features, first, count, rows, error));
    rer_multiply_f32(p, C, x, z->classes, count, C, D);
    for (int64_t i = 0; i < count; i++)
        judge_row(z, first + i, p + i * C);
    return RER_OK;
}

rer_status rer_detect_zeroshot(rer_verdict *verdict, rer_detection *detection, const rer_detector *detector,
                               rer_error *error)
{
    const rer_run *run = &detection->run;
    zeroshot z = {.verdict = verdict, .run = run};
    int64_t judged = 0, flagged = 0;
    if (run->data->class_embeddings == NULL)
        return rer_fail(error, RER_BAD_USAGE,
                        "the detector %s needs an embedding of each class: --class-embeddings FILE", detector->name);
    RER_TRY(rer_features_open(&z.features, run, true, false, error));
    rer_status status = scale_classes(&z, error);
    rer_scratch measure = RER_MEASURE, rows;
    (void)lay_out(&rows, &z, &measure);
    rer_job job = {.stage = "comparing with the classes",
                   .to = 1,
                   .items = rer_run_blocks(run),
                   .scratch = measure.used,
                   .work = judge_block,
                   .context = &z};
    RER_THEN(status, rer_pool_run(run->pool, &job, error));
    for (int64_t row = 0; status == RER_OK && row < run->N; row++) {
        judged += rer_run_has_label(run, row);
        flagged += verdict->flagged[row];
    }
    verdict->noise_rate = judged > 0 ? (double)flagged / (double)judged : NAN;
    RER_FREE_ALL(z.classes, z.no_bias);
    rer_features_close(&z.features);
    return status;
}
