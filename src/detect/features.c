/* Rows for detectors, in two passes: check and add up; then subtract the mean and, where it is
 * small enough, keep. Kept or read again, a row has the same bits. */
#include "detect/features.h"

#include <string.h>

#define STORED_MOST ((int64_t)1 << 30) /* bytes */

/* ---- first pass: check the rows, add them up ------------------------------------------------ */

typedef struct mean_pass {
    const rer_features *features;
    double *sum; /* [D] */
    int64_t valid;
} mean_pass;

/* Scratch: a block, the pointer to its sum [D], how many rows it has. */
typedef struct block_sum {
    double *sum;
    int64_t valid;
} block_sum;

static rer_status add_block(void *context, int64_t item, void *scratch, rer_error *error)
{
    mean_pass *pass = context;
    const rer_run *run = pass->features->run;
    void *cursor = scratch;
    rer_block block;
    block_sum *made = rer_carve(&cursor, sizeof *made);
    made->sum = rer_carve(&cursor, run->D * (int64_t)sizeof *made->sum);
    made->valid = 0;
    memset(made->sum, 0, (size_t)run->D * sizeof *made->sum);
    rer_status status = rer_block_load(&block, run, &pass->features->normalizer, item, &cursor, error);
    for (int64_t i = 0; status == RER_OK && i < block.count; i++)
        if (block.code[i] != RER_INVALID_ROW) {
            run->kernels->add_scaled(made->sum, block.x + i * run->D, block.scale[i], run->D);
            made->valid++;
        }
    return status;
}

static rer_status commit_sum(void *context, int64_t item, void *scratch, rer_error *error)
{
    mean_pass *pass = context;
    const block_sum *made = scratch;
    (void)item, (void)error;
    for (int64_t j = 0; j < pass->features->run->D; j++)
        pass->sum[j] += made->sum[j];
    pass->valid += made->valid;
    return RER_OK;
}

static rer_status find_mean(rer_features *features, bool centred, rer_error *error)
{
    const rer_run *run = features->run;
    mean_pass pass = {.features = features, .sum = features->mean};
    rer_job job = {.stage = "checking rows",
                   .items = rer_run_blocks(run),
                   .scratch = rer_block_scratch(run) + run->D * (int64_t)sizeof(double) + 128,
                   .work = add_block,
                   .commit = commit_sum,
                   .context = &pass};
    rer_status status = rer_pool_run(run->pool, &job, error);
    for (int64_t j = 0; j < run->D; j++)
        features->mean[j] = centred && pass.valid > 0 ? features->mean[j] / (double)pass.valid : 0;
    return status;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static rer_status read_rows(float *x, const rer_features *features, int64_t first, int64_t count, void *scratch,
                            rer_error *error)
{
    const rer_run *run = features->run;
    int64_t D = run->D;
    rer_status status = rer_dataset_rows_read(run->data, first, count, x, scratch, error);
    for (int64_t i = 0; status == RER_OK && i < count; i++) {
        float *row = x + i * D;
        if ((run->result->flags[first + i] & RER_FLAG_INVALID) != 0) {
            memset(row, 0, (size_t)D * sizeof *row);
            continue;
        }
        double scale = rer_normalize_row(&features->normalizer, row, D, run->kernels->sum_squares(row, D));
        (void)run->kernels->residual_f32(row, row, scale, features->mean, D);
    }
    return status;
}

int64_t rer_features_scratch(const rer_features *features, int64_t count)
{
    if (features->stored != NULL)
        return 0;
    return count * features->run->D * (int64_t)sizeof(float) + rer_dataset_scratch(features->run->data, count) + 128;
}

rer_status rer_features_rows(const float **x, const rer_features *features, int64_t first, int64_t count, void *cursor,
                             rer_error *error)
{
    int64_t D = features->run->D;
    if (features->stored != NULL) {
        *x = features->stored + first * D;
        return RER_OK;
    }
    float *made = rer_carve(cursor, count * D * (int64_t)sizeof *made);
    void *scratch = rer_carve(cursor, rer_dataset_scratch(features->run->data, count));
    *x = made;
    return read_rows(made, features, first, count, scratch, error);
}

/* ---- second pass: keep them ----------------------------------------------------------------- */

static rer_status store_block(void *context, int64_t item, void *scratch, rer_error *error)
{
    const rer_features *features = context;
    int64_t first = item * RER_BLOCK, count = rer_min(RER_BLOCK, features->run->N - first);
    return read_rows(features->stored + first * features->run->D, features, first, count, scratch, error);
}

static rer_status store_rows(rer_features *features, rer_error *error)
{
    const rer_run *run = features->run;
    int64_t values = 0, most = STORED_MOST;
    if (run->options->memory > 0)
        most = rer_min(most, run->options->memory / 2);
    if (!rer_product(run->N, run->D, &values) || values > most / (int64_t)sizeof(float))
        return RER_OK;
    rer_status status = rer_allocate(&features->stored, values, sizeof(float), "rows", error);
    rer_job job = {.stage = "reading rows",
                   .items = rer_run_blocks(run),
                   .scratch = rer_dataset_scratch(run->data, rer_min(RER_BLOCK, run->N)) + 64,
                   .work = store_block,
                   .context = features};
    return status == RER_OK ? rer_pool_run(run->pool, &job, error) : status;
}

rer_status rer_features_open(rer_features *features, const rer_run *run, bool unit, bool centred, rer_error *error)
{
    rer_features made = {.run = run, .normalizer = {.kind = unit ? RER_UNIT : RER_NONE}};
    rer_status status = rer_allocate(&made.mean, run->D, sizeof *made.mean, "the mean row", error);
    if (status == RER_OK)
        status = find_mean(&made, centred, error);
    if (status == RER_OK)
        status = store_rows(&made, error);
    if (status != RER_OK) {
        rer_features_close(&made);
        return status;
    }
    *features = made;
    return RER_OK;
}

void rer_features_close(rer_features *features)
{
    free(features->mean);
    free(features->stored);
    *features = (rer_features){0};
}
