/* Blocks of rows, read and normalised. */
#include "run/pace.h"

rer_status rer_run_start(rer_run *run, const rer_dataset *data, const int32_t *given, int32_t C,
                         const rer_options *options, const rer_progress *progress, rer_error *error)
{
    rer_pool_settings settings = {
        .threads = options->threads,
        .memory = options->memory,
        .progress = progress,
        .enter = rer_backend_enter,
        .leave = rer_backend_leave,
    };
    *run = (rer_run){
        .data = data,
        .as_came = data,
        .options = options,
        .kernels = rer_cpu_kernels(),
        .given = given,
        .N = data->N,
        .D = data->D,
        .columns = data->D,
        .C = C,
    };
    RER_TRY(rer_allocate(&run->invalid, data->N, sizeof *run->invalid, "invalid rows", error));
    return rer_pool_open(&run->pool, &settings, error);
}

void rer_run_end(rer_run *run)
{
    rer_pool_close(run->pool);
    free(run->invalid);
    if (run->view != NULL)
        free(run->view->features.owned);
    free(run->view);
    *run = (rer_run){0};
}

void rer_pace_enter(const rer_run *run, rer_pace_stage part)
{
    rer_pool_begin_part(run->pool);
    if (run->pace != NULL)
        run->pace->part = part;
}

int64_t rer_run_blocks(const rer_run *run)
{
    return (run->N + RER_BLOCK - 1) / RER_BLOCK;
}

rer_raw_rows rer_raw_rows_take(const rer_run *run, int64_t count, rer_scratch *scratch)
{
    rer_raw_rows rows = {.x = rer_take(scratch, count * run->D, sizeof *rows.x)};
    rows.reading = rer_take(scratch, rer_dataset_scratch(run->data, count), 1);
    return rows;
}

int64_t rer_raw_rows_scratch(const rer_run *run, int64_t count)
{
    rer_scratch measure = RER_MEASURE;
    (void)rer_raw_rows_take(run, count, &measure);
    return measure.used;
}

rer_block rer_block_take(const rer_run *run, rer_scratch *scratch)
{
    int64_t rows = rer_min(RER_BLOCK, run->N);
    rer_raw_rows raw = rer_raw_rows_take(run, rows, scratch);
    rer_block block = {.x = raw.x, .reading = raw.reading};
    block.scale = rer_take(scratch, rows, sizeof *block.scale);
    block.square = rer_take(scratch, rows, sizeof *block.square);
    block.code = rer_take(scratch, rows, sizeof *block.code);
    return block;
}

static rer_block lay_out(const rer_run *run, rer_scratch *scratch)
{
    (void)rer_take(scratch, 1, sizeof(rer_block));
    return rer_block_take(run, scratch);
}

int64_t rer_block_scratch(const rer_run *run)
{
    rer_scratch measure = RER_MEASURE;
    (void)lay_out(run, &measure);
    return measure.used;
}

static rer_status fail_invalid_row(const rer_run *run, const float *row, int64_t i, rer_error *error)
{
    int64_t j = 0;
    while (j + 1 < run->D && isfinite(row[j]))
        j++;
    return rer_fail(error, RER_BAD_INPUT,
                    "%s: row %lld, column %lld is %s; features must be finite numbers (rows and columns count from "
                    "0). --drop-invalid leaves such rows out",
                    run->data->features.name, (long long)i, (long long)j,
                    isnan(row[j]) ? "NaN"
                    : row[j] > 0  ? "Inf as float32 (over 3.4e38)"
                                  : "-Inf as float32 (under -3.4e38)");
}

/* Row i by its squared length: its class and its factor. False: it has a number that is none. */
static bool describe_row(rer_block *block, const rer_run *run, const rer_normalizer *normalizer, int64_t i, float *row,
                         double square)
{
    bool valid = isfinite(square);
    int32_t given = run->given != NULL ? run->given[block->first + i] : RER_NO_LABEL;
    block->code[i] = valid ? given : RER_INVALID_ROW;
    if (!valid) {
        run->invalid[block->first + i] = 1;
        return false;
    }
    block->square[i] = square;
    block->scale[i] = rer_normalize_row(normalizer, row, run->D, square);
    return true;
}

/* A row that lies elsewhere is read for what is to be said of it. */
static rer_status read_invalid_row(const rer_run *run, int64_t i, rer_error *error)
{
    float *row = NULL;
    unsigned char *reading = NULL;
    rer_room rooms[] = {RER_ROOM(row, run->D), RER_ROOM(reading, rer_dataset_scratch(run->data, 1))};
    rer_status status = rer_allocate_all(rooms, RER_COUNT(rooms), "a row", error);
    RER_THEN(status, rer_dataset_rows_read(run->data, i, 1, row, reading, error));
    RER_THEN(status, fail_invalid_row(run, row, run->first_row + i, error));
    RER_FREE_ALL(row, reading);
    return status;
}

rer_status rer_block_describe(rer_block *block, const rer_run *run, const rer_normalizer *normalizer, rer_error *error)
{
    for (int64_t i = 0; i < block->count; i++)
        if (!describe_row(block, run, normalizer, i, NULL, block->square[i]) && !run->options->drop_invalid)
            RER_TRY(read_invalid_row(run, block->first + i, error));
    return RER_OK;
}

rer_status rer_block_load(rer_block *block, const rer_run *run, const rer_normalizer *normalizer, int64_t item,
                          rer_error *error)
{
    rer_scratch scratch = rer_pool_scratch(run->pool, block);
    *block = lay_out(run, &scratch);
    return rer_block_read(block, run, normalizer, item, error);
}

rer_status rer_block_read(rer_block *block, const rer_run *run, const rer_normalizer *normalizer, int64_t item,
                          rer_error *error)
{
    block->first = item * RER_BLOCK;
    block->count = rer_min(RER_BLOCK, run->N - block->first);
    return rer_block_read_rows(block, run, normalizer, error);
}

rer_status rer_block_read_rows(rer_block *block, const rer_run *run, const rer_normalizer *normalizer, rer_error *error)
{
    int64_t D = run->D;
    block->fitted = run->fitted != NULL ? run->fitted + block->first : NULL;
    RER_TRY(rer_dataset_rows_read(run->data, block->first, block->count, block->x, block->reading, error));
    for (int64_t i = 0; i < block->count; i++) {
        float *row = block->x + i * D;
        double square = run->kernels->sum_squares(row, D);
        if (!describe_row(block, run, normalizer, i, row, square) && !run->options->drop_invalid)
            return fail_invalid_row(run, row, run->first_row + block->first + i, error);
    }
    return RER_OK;
}

rer_status rer_block_pick(rer_block *block, const rer_run *run, const rer_normalizer *normalizer, rer_error *error)
{
    int64_t D = run->D;
    RER_TRY(rer_dataset_rows_pick(run->data, block->row, block->count, block->x, block->reading, error));
    for (int64_t i = 0; i < block->count; i++) {
        float *x = block->x + i * D;
        block->code[i] = run->given[block->row[i]];
        block->scale[i] = rer_normalize_row(normalizer, x, D, run->kernels->sum_squares(x, D));
    }
    return RER_OK;
}
