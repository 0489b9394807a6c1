/* A class-stratified, seeded sample of the labelled rows.
 *
 * Line the usable rows up by class (in file order within a class) and cut the line into `count`
 * pieces of equal length: one row is drawn from each, so every class is there in proportion. A
 * row's place in the line is offset[c] + the rows of c before it: no sorting, one sweep. */
#include "fit/row_sample.h"

#include "core/random.h"
#include "run/passes.h"

#define SAMPLE_ERRORS (1 << 20) /* errors of the sample that are kept, [rows, C] */
#define SAMPLE_ROWS_MIN 500
#define SAMPLE_BLOCK 512 /* rows of an item: there are few, which threads are to share evenly */

/* All but the rows' numbers. */
static rer_status allocate_rows(rer_row_sample *sample, int64_t count, int64_t D, rer_error *error)
{
    int64_t values = 0;
    sample->count = count;
    if (!rer_product(count, D, &values))
        return rer_fail(error, RER_SYSTEM, "%lld features are too many", (long long)D);
    rer_room rooms[] = {RER_ROOM(sample->x, values), RER_ROOM(sample->scale, count), RER_ROOM(sample->code, count)};
    return rer_allocate_all(rooms, RER_COUNT(rooms), "sampled rows", error);
}

static rer_status allocate_sample(rer_row_sample *sample, int64_t count, int64_t D, rer_error *error)
{
    RER_TRY(rer_allocate(&sample->row, count, sizeof(int64_t), "sampled rows", error));
    return allocate_rows(sample, count, D, error);
}

rer_status rer_row_sample_fetch(rer_row_sample *sample, const rer_normalizer *normalizer, const rer_run *run,
                                rer_error *error)
{
    RER_TRY(allocate_rows(sample, sample->count, run->D, error));
    return run->passes->scatter(NULL, sample, NULL, normalizer, run, error);
}

typedef struct reading_pass {
    rer_row_sample *sample;
    const rer_normalizer *normalizer;
    const rer_run *run;
} reading_pass;

static rer_status read_sample(void *context, int64_t item, void *scratch, rer_error *error)
{
    const reading_pass *pass = context;
    rer_block block = rer_row_sample_block(pass->sample, item * SAMPLE_BLOCK, SAMPLE_BLOCK, pass->run->D);
    block.reading = scratch;
    return rer_block_pick(&block, pass->run, pass->normalizer, error);
}

rer_status rer_row_sample_read(rer_row_sample *sample, const rer_normalizer *normalizer, const rer_run *run,
                               rer_error *error)
{
    reading_pass pass = {sample, normalizer, run};
    rer_job job = {
        .stage = "fitting",
        .from = .44,
        .to = .45,
        .items = (sample->count + SAMPLE_BLOCK - 1) / SAMPLE_BLOCK,
        .scratch = rer_dataset_scratch(run->data, 1),
        .work = read_sample,
        .context = &pass,
    };
    return rer_pool_run(run->pool, &job, error);
}

/* Where a class's next row is among all places, and the place that is drawn of the piece around it. */
typedef struct class_place {
    int64_t next, drawn, end;
} class_place;

static void enter_piece(class_place *at, int64_t usable, int64_t count, int64_t seed)
{
    /* Piece p holds the places from ceil(p usable / count) on; the products stay small. */
    __int128 piece = (__int128)at->next * count / usable;
    int64_t first = (int64_t)((piece * usable + count - 1) / count);
    at->end = (int64_t)(((piece + 1) * usable + count - 1) / count);
    double u = rer_random_uniform(seed, RER_RANDOM_SAMPLE, (uint64_t)piece, 0);
    at->drawn = first + (int64_t)(u * (double)(at->end - first));
}

/* Takes the class's next place. */
static bool is_drawn(class_place *at, int64_t usable, int64_t count, int64_t seed)
{
    if (at->next >= at->end)
        enter_piece(at, usable, count, seed);
    return at->next++ == at->drawn;
}

rer_status rer_row_sample_pick(rer_row_sample *sample, const rer_run *run, const int64_t *n, int64_t most,
                               rer_error *error)
{
    rer_row_sample made = {0};
    class_place *place = NULL;
    int64_t usable = 0, drawn = 0;
    RER_TRY(rer_allocate(&place, run->C, sizeof *place, "class offsets", error));
    for (int32_t c = 0; c < run->C; c++) {
        place[c].next = usable;
        usable += n[c] >= 2 ? n[c] : 0; /* a sample alone in its class has no left-out error */
    }
    int64_t count = rer_min(most, usable);
    made.is_all = count == usable;
    rer_status status = allocate_sample(&made, count, run->D, error);
    for (int64_t i = 0; status == RER_OK && i < run->N && drawn < count; i++) {
        int32_t c = run->given[i];
        if (!rer_run_has_label(run, i) || n[c] < 2)
            continue;
        if (is_drawn(&place[c], usable, count, run->options->seed))
            made.row[drawn++] = i;
    }
    free(place);
    if (status == RER_OK)
        *sample = made;
    else
        rer_row_sample_free(&made);
    return status;
}

void rer_row_sample_free(rer_row_sample *sample)
{
    RER_FREE_ALL(sample->row, sample->x, sample->scale, sample->code);
    *sample = (rer_row_sample){0};
}

/* Places [all] of rows by their class, in their order within one. */
static rer_status sort_by_class(int64_t *place, const int32_t *code, int64_t all, int64_t C, rer_error *error)
{
    int64_t *next = NULL;
    RER_TRY(rer_allocate(&next, C + 1, sizeof *next, "class offsets", error));
    for (int64_t i = 0; i < all; i++)
        next[code[i] + 1]++;
    for (int64_t c = 0; c < C; c++)
        next[c + 1] += next[c];
    for (int64_t i = 0; i < all; i++)
        place[next[code[i]]++] = i;
    free(next);
    return RER_OK;
}

rer_status rer_thin_places(int64_t *place, int64_t count, const int32_t *code, int64_t all, int64_t C, rer_error *error)
{
    int64_t *by_class = NULL, taken = 0;
    bool *is_taken = NULL;
    rer_room rooms[] = {RER_ROOM(by_class, all), RER_ROOM(is_taken, all)};
    RER_TRY(rer_allocate_all(rooms, RER_COUNT(rooms), "sampled rows", error));
    rer_status status = sort_by_class(by_class, code, all, C, error);
    for (int64_t i = 0; status == RER_OK && i < count; i++) {
        int64_t first = (int64_t)((__int128)i * all / count), end = (int64_t)((__int128)(i + 1) * all / count);
        double u = rer_random_uniform(0, RER_RANDOM_SAMPLE, (uint64_t)i, (uint64_t)count);
        is_taken[by_class[first + (int64_t)(u * (double)(end - first))]] = true;
    }
    for (int64_t i = 0; status == RER_OK && i < all; i++)
        if (is_taken[i])
            place[taken++] = i;
    RER_FREE_ALL(by_class, is_taken);
    return status;
}

rer_status rer_pick_rows(float **picked, const float *values, const int64_t *place, int64_t count, int64_t n,
                         rer_error *error)
{
    RER_TRY(rer_allocate(picked, count, n * (int64_t)sizeof **picked, "sampled rows", error));
    for (int64_t i = 0; i < count; i++)
        memcpy(*picked + i * n, values + place[i] * n, (size_t)n * sizeof **picked);
    return RER_OK;
}

rer_status rer_row_sample_thin(rer_row_sample *thin, const rer_row_sample *sample, const int64_t *place, int64_t count,
                               int64_t D, rer_error *error)
{
    rer_row_sample made = {0};
    rer_status status = allocate_sample(&made, count, D, error);
    for (int64_t i = 0; status == RER_OK && i < count; i++) {
        made.row[i] = sample->row[place[i]];
        made.scale[i] = sample->scale[place[i]];
        made.code[i] = sample->code[place[i]];
        memcpy(made.x + i * D, sample->x + place[i] * D, (size_t)D * sizeof *made.x);
    }
    if (status == RER_OK)
        *thin = made;
    else
        rer_row_sample_free(&made);
    return status;
}

/* ---- their errors ------------------------------------------------------------------------- */

int64_t rer_row_sample_size(const rer_run *run)
{
    return rer_min(RER_SAMPLE_MOST, rer_max(SAMPLE_ROWS_MIN, SAMPLE_ERRORS / rer_max(1, run->C)));
}

rer_status rer_log_sizes(float **log_n, const int64_t *n, int32_t C, rer_error *error)
{
    RER_TRY(rer_allocate(log_n, C, sizeof **log_n, "class sizes", error));
    for (int32_t c = 0; c < C; c++)
        (*log_n)[c] = n[c] > 0 ? logf((float)n[c]) : -INFINITY;
    return RER_OK;
}

rer_block rer_row_sample_block(const rer_row_sample *sample, int64_t first, int64_t most, int64_t D)
{
    return (rer_block){
        .count = rer_min(most, sample->count - first),
        .x = sample->x + first * D,
        .scale = sample->scale + first,
        .code = sample->code + first,
        .row = sample->row + first,
        .exact = true,
    };
}

void rer_keep_tile(float *d2, const float *tile, int64_t rows, int64_t C, int64_t first, int64_t classes)
{
    for (int64_t i = 0; i < rows; i++)
        memcpy(d2 + i * C + first, tile + i * classes, (size_t)classes * sizeof(float));
}

typedef struct sample_pass {
    const rer_model *model;
    const rer_row_sample *sample;
    const rer_run *run;
    float *d2; /* [count, C] */
} sample_pass;

/* A tile [rows, classes] of squared errors, and what the reconstructor needs for them. */
static float *lay_out(const sample_pass *pass, rer_scratch *scratch, rer_scratch *reconstructor)
{
    const rer_model *model = pass->model;
    int64_t rows = rer_min(SAMPLE_BLOCK, pass->sample->count);
    *reconstructor = rer_take_part(scratch, model->reconstructor->scratch(model, rows));
    return rer_take(scratch, rows * rer_min(RER_CLASS_TILE, model->C), sizeof(float));
}

static rer_status score_sample(void *context, int64_t item, void *memory, rer_error *error)
{
    (void)error;
    const sample_pass *pass = context;
    const rer_row_sample *sample = pass->sample;
    const rer_reconstructor *reconstructor = pass->model->reconstructor;
    int64_t first = item * SAMPLE_BLOCK, C = pass->model->C;
    rer_block block = rer_row_sample_block(sample, first, SAMPLE_BLOCK, pass->model->D);
    rer_scratch all = rer_pool_scratch(pass->run->pool, memory), scratch;
    float *tile = lay_out(pass, &all, &scratch);
    reconstructor->prepare(pass->model, pass->run, &block, true, scratch);
    for (int64_t k = 0; k < C; k += RER_CLASS_TILE) {
        int64_t classes = rer_min(RER_CLASS_TILE, C - k);
        reconstructor->errors(pass->model, pass->run, &block, (int32_t)k, (int32_t)classes, tile, scratch);
        rer_keep_tile(pass->d2 + first * C, tile, block.count, C, k, classes);
    }
    return RER_OK;
}

rer_status rer_sample_errors(float *d2, const rer_model *model, const rer_row_sample *sample, const rer_run *run,
                             rer_error *error)
{
    sample_pass pass = {model, sample, run, d2};
    rer_scratch measure = RER_MEASURE, reconstructor;
    (void)lay_out(&pass, &measure, &reconstructor);
    rer_job job = {
        .stage = "calibrating",
        .from = .47,
        .to = .48,
        .items = (sample->count + SAMPLE_BLOCK - 1) / SAMPLE_BLOCK,
        .scratch = measure.used,
        .work = score_sample,
        .context = &pass,
    };
    return rer_pool_run(run->pool, &job, error);
}
