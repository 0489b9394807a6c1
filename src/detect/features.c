/* Rows for detectors, in two passes: check and add up; then subtract the mean and, where it is
 * small enough, keep. Kept or read again, a row has the same bits. */
#include "detect/features.h"

#define STORED_MOST ((int64_t)1 << 30) /* bytes */

/* ---- first pass: check the rows, add them up ------------------------------------------------ */

typedef struct mean_pass {
    const rer_features *features;
    double *sum; /* [D] */
    int64_t valid;
} mean_pass;

typedef struct block_sum {
    double *sum; /* [D] */
    int64_t valid;
    rer_block block;
} block_sum;

static block_sum lay_out_sum(const rer_run *run, rer_scratch *scratch)
{
    block_sum made = {0};
    (void)rer_take(scratch, 1, sizeof made);
    made.sum = rer_take(scratch, run->D, sizeof *made.sum);
    made.block = rer_block_take(run, scratch);
    return made;
}

static rer_status add_block(void *context, int64_t item, void *memory, rer_error *error)
{
    mean_pass *pass = context;
    const rer_run *run = pass->features->run;
    rer_scratch scratch = rer_pool_scratch(run->pool, memory);
    block_sum *made = memory;
    *made = lay_out_sum(run, &scratch);
    memset(made->sum, 0, (size_t)run->D * sizeof *made->sum);
    rer_block block = made->block;
    RER_TRY(rer_block_read(&block, run, &pass->features->normalizer, item, error));
    for (int64_t i = 0; i < block.count; i++)
        if (block.code[i] != RER_INVALID_ROW) {
            run->kernels->add_scaled(made->sum, block.x + i * run->D, block.scale[i], run->D);
            made->valid++;
        }
    return RER_OK;
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
    rer_scratch measure = RER_MEASURE;
    (void)lay_out_sum(run, &measure);
    rer_job job = {.stage = "checking rows",
                   .items = rer_run_blocks(run),
                   .scratch = measure.used,
                   .work = add_block,
                   .commit = commit_sum,
                   .context = &pass};
    RER_TRY(rer_pool_run(run->pool, &job, error));
    for (int64_t j = 0; j < run->D; j++)
        features->mean[j] = centred && pass.valid > 0 ? features->mean[j] / (double)pass.valid : 0;
    return RER_OK;
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* A row as read becomes the one that is used. */
static void prepare_row(float *x, const rer_features *features, int64_t row)
{
    const rer_run *run = features->run;
    if (run->invalid[row] != 0) {
        memset(x, 0, (size_t)run->D * sizeof *x);
        return;
    }
    double scale = rer_normalize_row(&features->normalizer, x, run->D, run->kernels->sum_squares(x, run->D));
    (void)run->kernels->residual_f32(x, x, scale, features->mean, run->D);
}

static rer_status read_rows(rer_raw_rows *rows, const rer_features *features, int64_t first, int64_t count,
                            rer_error *error)
{
    const rer_dataset *data = features->run->data;
    float *x = rows->x;
    int64_t D = data->D;
    RER_TRY(features->order == NULL
                ? rer_dataset_rows_read(data, first, count, x, rows->reading, error)
                : rer_dataset_rows_pick(data, features->order + first, count, x, rows->reading, error));
    for (int64_t i = 0; i < count; i++)
        prepare_row(x + i * D, features, features->order != NULL ? features->order[first + i] : first + i);
    return RER_OK;
}

rer_scratch rer_features_take(const rer_features *features, int64_t count, rer_scratch *scratch)
{
    return rer_take_part(scratch, features->stored != NULL ? 0 : rer_raw_rows_scratch(features->run, count));
}

rer_status rer_features_rows(const float **x, const rer_features *features, int64_t first, int64_t count,
                             rer_scratch room, rer_error *error)
{
    if (features->stored != NULL) {
        *x = features->stored + first * features->run->D;
        return RER_OK;
    }
    rer_raw_rows rows = rer_raw_rows_take(features->run, count, &room);
    *x = rows.x;
    return read_rows(&rows, features, first, count, error);
}

/* ---- second pass: keep them ----------------------------------------------------------------- */

typedef struct store_pass {
    const rer_features *features;
    const int64_t *place; /* [N] in the order, -1: not used; NULL: as they are */
} store_pass;

/* Reads a block in the order of the input, which every kind of file can do, and spreads its rows. */
static rer_status store_block(void *context, int64_t item, void *memory, rer_error *error)
{
    const store_pass *pass = context;
    const rer_features *features = pass->features;
    const rer_dataset *data = features->run->data;
    int64_t D = data->D, first = item * RER_BLOCK, count = rer_min(RER_BLOCK, data->N - first);
    rer_scratch scratch = rer_pool_scratch(features->run->pool, memory);
    rer_raw_rows rows = rer_raw_rows_take(features->run, count, &scratch);
    RER_TRY(rer_dataset_rows_read(data, first, count, rows.x, rows.reading, error));
    for (int64_t i = 0; i < count; i++) {
        int64_t to = pass->place != NULL ? pass->place[first + i] : first + i;
        if (to < 0)
            continue;
        prepare_row(rows.x + i * D, features, first + i);
        memcpy(features->stored + to * D, rows.x + i * D, (size_t)D * sizeof *rows.x);
    }
    return RER_OK;
}

static bool is_small(const rer_features *features)
{
    const rer_run *run = features->run;
    int64_t values = 0, most = STORED_MOST, cap = run->options->memory;
    if (cap > 0)
        most = rer_min(most, cap / 2);
    return rer_product(features->count, run->D, &values) && values <= most / (int64_t)sizeof(float);
}

rer_status rer_features_keep(rer_features *features, const int64_t *order, int64_t count, rer_error *error)
{
    const rer_run *run = features->run;
    int64_t *place = NULL;
    features->order = order;
    features->count = count;
    if (!is_small(features))
        return RER_OK;
    rer_status status = RER_OK;
    if (order != NULL)
        status = rer_allocate(&place, run->N, sizeof *place, "the order of rows", error);
    for (int64_t row = 0; status == RER_OK && order != NULL && row < run->N; row++)
        place[row] = -1;
    for (int64_t i = 0; status == RER_OK && order != NULL && i < count; i++)
        place[order[i]] = i;
    RER_THEN(status, rer_allocate(&features->stored, count * run->D, sizeof(float), "rows", error));
    store_pass pass = {features, place};
    rer_job job = {.stage = "reading rows",
                   .items = rer_run_blocks(run),
                   .scratch = rer_raw_rows_scratch(run, rer_min(RER_BLOCK, run->N)),
                   .work = store_block,
                   .context = &pass};
    RER_THEN(status, rer_pool_run(run->pool, &job, error));
    free(place);
    return status;
}

rer_status rer_features_open(rer_features *features, const rer_run *run, bool unit, bool centred, rer_error *error)
{
    rer_features made = {.run = run, .normalizer = {.kind = unit ? RER_UNIT : RER_NONE}, .count = run->N};
    rer_status status = rer_allocate(&made.mean, run->D, sizeof *made.mean, "the mean row", error);
    RER_THEN(status, find_mean(&made, centred, error));
    if (status == RER_OK)
        *features = made;
    else
        rer_features_close(&made);
    return status;
}

void rer_features_close(rer_features *features)
{
    RER_FREE_ALL(features->mean, features->stored);
    *features = (rer_features){0};
}
