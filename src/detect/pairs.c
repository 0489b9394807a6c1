/* A sweep of all pairs: item step * blocks + i has the blocks i and i + step (around the end). */
#include "detect/pairs.h"

#define TILE 256 /* rows of A at a time: their products stay in the cache until all have seen them */

typedef struct measuring {
    rer_pairs *pairs;
    bool (*takes_part)(const rer_run *run, int64_t row);
} measuring;

static rer_scratch lay_out_rows(const rer_pairs *pairs, rer_scratch *scratch)
{
    return rer_features_take(&pairs->features, rer_min(RER_BLOCK, pairs->features.run->N), scratch);
}

static rer_status measure_block(void *context, int64_t item, void *memory, rer_error *error)
{
    const measuring *m = context;
    const rer_run *run = m->pairs->features.run;
    int64_t first = item * RER_BLOCK, count = rer_min(RER_BLOCK, run->N - first);
    rer_scratch scratch = rer_pool_scratch(run->pool, memory);
    const float *x = NULL;
    RER_TRY(rer_features_rows(&x, &m->pairs->features, first, count, lay_out_rows(m->pairs, &scratch), error));
    for (int64_t i = 0; i < count; i++) {
        int64_t row = first + i;
        bool part = run->invalid[row] == 0 && (m->takes_part == NULL || m->takes_part(run, row));
        m->pairs->half[row] = part ? (float)(run->kernels->sum_squares(x + i * run->D, run->D) / 2) : INFINITY;
    }
    return RER_OK;
}

rer_status rer_pairs_open(rer_pairs *pairs, const rer_run *run, bool centred,
                          bool (*takes_part)(const rer_run *run, int64_t row), rer_error *error)
{
    *pairs = (rer_pairs){.blocks = rer_run_blocks(run)};
    if (run->N > INT32_MAX)
        return rer_fail(error, RER_BAD_INPUT, "%s: %lld rows are too many to compare with each other; at most %d are",
                        run->data->features.name, (long long)run->N, INT32_MAX);
    RER_TRY(rer_features_open(&pairs->features, run, true, centred, error));
    RER_TRY(rer_features_keep(&pairs->features, NULL, run->N, error));
    RER_TRY(rer_allocate(&pairs->half, run->N, sizeof *pairs->half, "rows to compare", error));
    measuring m = {pairs, takes_part};
    rer_scratch measure = RER_MEASURE;
    (void)lay_out_rows(pairs, &measure);
    rer_job job = {.stage = "measuring rows",
                   .items = pairs->blocks,
                   .scratch = measure.used,
                   .work = measure_block,
                   .context = &m};
    return rer_pool_run(run->pool, &job, error);
}

void rer_pairs_close(rer_pairs *pairs)
{
    rer_features_close(&pairs->features);
    free(pairs->half);
}

typedef struct sweeping {
    const rer_pairs *pairs;
    const rer_sweep *sweep;
} sweeping;

typedef struct sweep_scratch {
    void *own; /* NULL: nothing */
    float *product;
    rer_scratch x, y; /* rows of both blocks */
} sweep_scratch;

static sweep_scratch lay_out_sweep(const sweeping *s, rer_scratch *scratch)
{
    sweep_scratch parts = {0};
    if (s->sweep->own_bytes > 0)
        parts.own = rer_take(scratch, s->sweep->own_bytes, 1);
    parts.product = rer_take(scratch, TILE * RER_BLOCK, sizeof *parts.product);
    parts.x = lay_out_rows(s->pairs, scratch);
    parts.y = lay_out_rows(s->pairs, scratch);
    return parts;
}

static rer_status sweep_pair(void *context, int64_t item, void *memory, rer_error *error)
{
    const sweeping *s = context;
    const rer_features *features = &s->pairs->features;
    int64_t blocks = s->pairs->blocks, D = features->run->D, N = features->run->N;
    rer_pair_tile tile = {.i = item % blocks, .j = (item % blocks + item / blocks) % blocks};
    int64_t first = tile.i * RER_BLOCK, rows = rer_min(RER_BLOCK, N - first);
    rer_scratch scratch = rer_pool_scratch(features->run->pool, memory);
    sweep_scratch parts = lay_out_sweep(s, &scratch);
    const float *x = NULL;
    tile.b = tile.j * RER_BLOCK;
    tile.columns = rer_min(RER_BLOCK, N - tile.b);
    tile.product = parts.product;
    RER_TRY(rer_features_rows(&x, features, first, rows, parts.x, error));
    RER_TRY(rer_features_rows(&tile.y, features, tile.b, tile.columns, parts.y, error));
    if (s->sweep->begin != NULL)
        s->sweep->begin(parts.own, tile.i, tile.j);
    for (int64_t from = 0; from < rows; from += TILE) {
        tile.a = first + from;
        tile.rows = rer_min(TILE, rows - from);
        tile.x = x + from * D;
        rer_multiply_f32(parts.product, tile.columns, tile.x, tile.y, tile.rows, tile.columns, D);
        s->sweep->take(s->sweep->context, parts.own, &tile);
    }
    return RER_OK;
}

static rer_status commit_pair(void *context, int64_t item, void *scratch, rer_error *error)
{
    const sweeping *s = context;
    return s->sweep->commit(s->sweep->context, item, scratch, error);
}

rer_status rer_pairs_sweep(const rer_pairs *pairs, const rer_sweep *sweep, rer_error *error)
{
    sweeping s = {pairs, sweep};
    rer_scratch measure = RER_MEASURE;
    (void)lay_out_sweep(&s, &measure);
    rer_job job = {.stage = sweep->stage,
                   .from = sweep->from,
                   .to = sweep->to,
                   .items = pairs->blocks * (pairs->blocks + 1) / 2,
                   .scratch = measure.used,
                   .work = sweep_pair,
                   .commit = sweep->commit != NULL ? commit_pair : NULL,
                   .context = &s};
    return rer_pool_run(pairs->features.run->pool, &job, error);
}
