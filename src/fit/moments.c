/* Class sums and within-class scatter, each one pass over the blocks:
 *   1. class means mu_c, counts n_c, ranges;
 *   2. W = sum_i r_i r_i', r_i = x_i - mu_{y_i}: residuals in double, rounded to float, one float
 *      rank-k update a block, added into double.
 * Both sums come out the same however their blocks are grouped, so that parts of the rows may be
 * summed anywhere and merged: class sums carry what each addition rounds off; updates are rounded to
 * multiples of a unit so large that adding them is exact. */
#include "fit/moments.h"

#include "run/passes.h"

/* ---- pass 1 ------------------------------------------------------------------------------ */

typedef struct means_pass {
    const rer_run *run;
    const rer_normalizer *normalizer;
    rer_class_sums *sums;
    int64_t first, every; /* blocks that are summed: first, first + every, ... */
} means_pass;

/* The sums of one block, made by a worker in its scratch. */
typedef struct block_sums {
    rer_block block;
    int64_t classes;        /* of the block's labelled rows */
    int32_t *code;          /* [classes] */
    int64_t *n;             /* [classes] */
    double *sum;            /* [classes, D] */
    double *square;         /* [D] of all of them */
    float *low, *high;      /* [D], NULL unless minmax */
    const float *first_row; /* [D] the first labelled one, NULL: none */
    bool all_equal;
    int64_t *places; /* [RER_BLOCK] of the labelled rows, by class */
} block_sums;

rer_status rer_class_sums_make(rer_class_sums *sums, int32_t C, int64_t D, bool ranges, rer_error *error)
{
    rer_class_sums made = {.C = C, .D = D, .all_equal = true};
    int64_t values = 0;
    if (!rer_product(C, D, &values))
        return rer_fail(error, RER_SYSTEM, "%d classes of %lld features are too many", C, (long long)D);
    rer_room rooms[] = {RER_ROOM(made.n, C),          RER_ROOM(made.sum, values),  RER_ROOM(made.rest, values),
                        RER_ROOM(made.square, 2 * D), RER_ROOM(made.first_row, D), RER_ROOM(made.low, 2 * D)};
    RER_TRY(rer_allocate_all(rooms, ranges ? RER_COUNT(rooms) : RER_COUNT(rooms) - 1, "class means", error));
    made.square_rest = made.square + D;
    made.high = ranges ? made.low + D : NULL;
    for (int64_t j = 0; ranges && j < D; j++) {
        made.low[j] = INFINITY;
        made.high[j] = -INFINITY;
    }
    *sums = made;
    return RER_OK;
}

void rer_class_sums_free(rer_class_sums *sums)
{
    RER_FREE_ALL(sums->n, sums->sum, sums->rest, sums->square, sums->first_row, sums->low);
    *sums = (rer_class_sums){0};
}

/* At the head of the scratch: the struct itself, for the commit. */
static block_sums lay_out_sums(const rer_run *run, rer_scratch *scratch)
{
    int64_t D = run->D, classes = rer_min(rer_min(RER_BLOCK, run->N), run->C);
    block_sums sums = {.all_equal = true};
    (void)rer_take(scratch, 1, sizeof sums);
    sums.block = rer_block_take(run, scratch);
    sums.places = rer_take(scratch, RER_BLOCK, sizeof *sums.places);
    sums.code = rer_take(scratch, classes, sizeof *sums.code);
    sums.n = rer_take(scratch, classes, sizeof *sums.n);
    sums.sum = rer_take(scratch, classes * D, sizeof *sums.sum);
    sums.square = rer_take(scratch, D, sizeof *sums.square);
    sums.low = rer_take(scratch, D, sizeof *sums.low);
    sums.high = rer_take(scratch, D, sizeof *sums.high);
    return sums;
}

static void widen_range(float *low, float *high, const float *row_low, const float *row_high, int64_t D)
{
    for (int64_t j = 0; j < D; j++) {
        low[j] = row_low[j] < low[j] ? row_low[j] : low[j];
        high[j] = row_high[j] > high[j] ? row_high[j] : high[j];
    }
}

static int by_number(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return a < b ? -1 : a > b;
}

/* Places of the labelled rows by class, in file order within a class; returns how many. */
static int64_t order_by_class(int64_t *places, const rer_block *block)
{
    int64_t count = 0;
    for (int64_t i = 0; i < block->count; i++)
        if (block->code[i] >= 0)
            places[count++] = (int64_t)block->code[i] * RER_BLOCK + i;
    if (count > 0)
        qsort(places, (size_t)count, sizeof *places, by_number);
    for (int64_t p = 0; p < count; p++)
        places[p] %= RER_BLOCK;
    return count;
}

static void add_row(block_sums *sums, const rer_run *run, int64_t i)
{
    const rer_block *block = &sums->block;
    int64_t D = run->D, last = sums->classes - 1;
    const float *row = block->x + i * D;
    int32_t c = block->code[i];
    if (last < 0 || sums->code[last] != c) { /* rows come by class */
        last = sums->classes++;
        sums->code[last] = c;
        sums->n[last] = 0;
        memset(sums->sum + last * D, 0, (size_t)D * sizeof(double));
    }
    run->kernels->add_scaled(sums->sum + last * D, row, block->scale[i], D);
    run->kernels->add_squares(sums->square, row, block->scale[i], D);
    sums->n[last]++;
}

static rer_status sum_block(void *context, int64_t item, void *memory, rer_error *error)
{
    const means_pass *pass = context;
    const rer_run *run = pass->run;
    int64_t D = run->D;
    rer_scratch scratch = rer_pool_scratch(pass->run->pool, memory);
    block_sums *sums = memory;
    *sums = lay_out_sums(run, &scratch);
    const rer_block *block = &sums->block;
    RER_TRY(rer_block_read(&sums->block, run, pass->normalizer, pass->first + item * pass->every, error));
    memset(sums->square, 0, (size_t)D * sizeof(double));
    int64_t count = order_by_class(sums->places, block);
    for (int64_t p = 0; p < count; p++)
        add_row(sums, run, sums->places[p]);
    for (int64_t i = 0; i < block->count; i++) {
        const float *row = block->x + i * D;
        if (block->code[i] < 0)
            continue;
        if (sums->first_row == NULL) {
            sums->first_row = row;
            memcpy(sums->low, row, (size_t)D * sizeof(float));
            memcpy(sums->high, row, (size_t)D * sizeof(float));
        }
        sums->all_equal = sums->all_equal && memcmp(sums->first_row, row, (size_t)D * sizeof(float)) == 0;
        if (pass->sums->low != NULL)
            widen_range(sums->low, sums->high, row, row, D);
    }
    return RER_OK;
}

/* Takes in whether other labelled rows are all equal, and to ours. */
static void compare_rows(rer_class_sums *sums, const float *first_row, bool all_equal)
{
    size_t bytes = (size_t)sums->D * sizeof(float);
    if (sums->labelled == 0)
        memcpy(sums->first_row, first_row, bytes);
    sums->all_equal = sums->all_equal && all_equal && memcmp(sums->first_row, first_row, bytes) == 0;
}

/* Features of a lane: first..end-1. */
static int64_t lane_start(int64_t D, int lane)
{
    return D * lane / RER_LANES;
}

/* What is not added feature by feature. */
static void count_rows(rer_class_sums *sums, const block_sums *more)
{
    compare_rows(sums, more->first_row, more->all_equal);
    for (int64_t k = 0; k < more->classes; k++) {
        sums->n[more->code[k]] += more->n[k];
        sums->labelled += more->n[k];
    }
}

static void add_to_sums(void *context, int64_t item, int lane, void *scratch)
{
    (void)item;
    const means_pass *pass = context;
    const rer_kernels *kernels = pass->run->kernels;
    rer_class_sums *sums = pass->sums;
    const block_sums *more = scratch;
    int64_t D = sums->D, at = lane_start(D, lane), count = lane_start(D, lane + 1) - at;
    if (more->first_row == NULL)
        return;
    if (lane == 0)
        count_rows(sums, more);
    for (int64_t k = 0; k < more->classes; k++) {
        int64_t to = more->code[k] * D + at;
        kernels->add_pair(sums->sum + to, sums->rest + to, more->sum + k * D + at, count);
    }
    kernels->add_pair(sums->square + at, sums->square_rest + at, more->square + at, count);
    if (sums->low != NULL)
        widen_range(sums->low + at, sums->high + at, more->low + at, more->high + at, count);
}

rer_status rer_class_sums_add(rer_class_sums *sums, const rer_normalizer *normalizer, const rer_run *run,
                              rer_error *error)
{
    rer_scratch measure = RER_MEASURE;
    (void)lay_out_sums(run, &measure);
    int64_t every = rer_max(1, run->every), before = run->first_row / RER_BLOCK;
    means_pass pass = {run, normalizer, sums, .every = every, .first = (every - before % every) % every};
    rer_job job = {
        .stage = "reading",
        .to = run->every > 0 ? 0 : .15, /* a look ahead is no part of the way */
        .items = rer_max(0, rer_run_blocks(run) - pass.first + every - 1) / every,
        .scratch = measure.used,
        .work = sum_block,
        .add = add_to_sums,
        .context = &pass,
    };
    return rer_pool_run(run->pool, &job, error);
}

void rer_class_sums_merge(rer_class_sums *sums, const rer_class_sums *more, const rer_kernels *kernels)
{
    int64_t values = sums->C * sums->D;
    if (more->labelled == 0)
        return;
    compare_rows(sums, more->first_row, more->all_equal);
    kernels->add_pair(sums->sum, sums->rest, more->sum, values);
    kernels->add_pair(sums->sum, sums->rest, more->rest, values);
    kernels->add_pair(sums->square, sums->square_rest, more->square, sums->D);
    kernels->add_pair(sums->square, sums->square_rest, more->square_rest, sums->D);
    for (int32_t c = 0; c < sums->C; c++)
        sums->n[c] += more->n[c];
    sums->labelled += more->labelled;
    if (sums->low != NULL)
        widen_range(sums->low, sums->high, more->low, more->high, sums->D);
}

/* Power of two above the square root of a feature's part of W, so that W_jk < unit_j unit_k. */
static double unit_above(double scatter)
{
    enum { LOWEST = -400 }; /* products of units and of what is rounded to them stay normal numbers */
    int exponent = LOWEST;
    if (scatter > 0)
        (void)frexp(2 * sqrt(scatter), &exponent);
    return ldexp(1, exponent > LOWEST ? exponent : LOWEST);
}

/* W_jj = sum_i x_ij^2 - sum_c n_c mu_cj^2 of each feature, from class sums: it loses digits where
 * residuals are small beside the means, which the units allow for. With minmax the rows of pass 2 are
 * scaled. Sets spread, their mean squared length, and unit. */
static void set_spread(rer_class_moments *moments, const rer_class_sums *sums, const rer_normalizer *normalizer)
{
    enum { CERTAIN = 40 }; /* bits of a difference of two sums */
    double *scatter = moments->unit;
    for (int64_t j = 0; j < sums->D; j++)
        scatter[j] = sums->square[j] + sums->square_rest[j];
    for (int32_t c = 0; c < sums->C; c++)
        for (int64_t j = 0; j < sums->D && sums->n[c] > 0; j++) {
            double sum = sums->sum[c * sums->D + j] + sums->rest[c * sums->D + j];
            scatter[j] -= sum * (sum / (double)sums->n[c]);
        }
    for (int64_t j = 0; j < sums->D; j++) {
        double factor = normalizer->low != NULL ? normalizer->factor[j] : 1;
        double rounded = ldexp(sums->square[j], -CERTAIN);
        double positive = scatter[j] > 0 ? scatter[j] : 0;
        moments->spread += positive;
        moments->unit[j] = unit_above(factor * factor * (positive + rounded));
    }
    moments->spread = sums->labelled > 0 ? moments->spread / (double)sums->labelled : 0;
}

/* Sums -> means, in their place; with minmax the means of the raw rows are scaled like the rows. */
static void set_means(rer_class_moments *moments, const rer_class_sums *sums, const rer_normalizer *normalizer)
{
    int64_t D = sums->D;
    for (int32_t c = 0; c < sums->C; c++)
        for (int64_t j = 0; j < D && sums->n[c] > 0; j++) {
            double *value = &sums->sum[c * D + j], sum = *value + sums->rest[c * D + j];
            moments->grand[j] += sum;
            *value = sum / (double)sums->n[c];
            if (normalizer->low != NULL)
                *value = (*value - normalizer->low[j]) * normalizer->factor[j];
        }
    for (int64_t j = 0; j < D; j++) {
        moments->grand[j] /= (double)rer_max(1, sums->labelled);
        if (normalizer->low != NULL)
            moments->grand[j] = (moments->grand[j] - normalizer->low[j]) * normalizer->factor[j];
    }
}

/* What the moments keep of the sums moves. */
static rer_status finish_sums(rer_class_moments *moments, rer_normalizer *normalizer, rer_class_sums *sums,
                              rer_error *error)
{
    rer_class_moments made = {.labelled = sums->labelled, .all_equal = sums->all_equal};
    rer_status status = RER_OK;
    if (sums->low != NULL && sums->labelled > 0)
        status = rer_normalizer_set_range(normalizer, sums->low, sums->high, sums->D, error);
    rer_room rooms[] = {RER_ROOM(made.grand, sums->D), RER_ROOM(made.unit, sums->D)};
    RER_THEN(status, rer_allocate_all(rooms, RER_COUNT(rooms), "the mean and units", error));
    if (status != RER_OK) {
        rer_class_moments_free(&made);
        return status;
    }
    set_spread(&made, sums, normalizer);
    set_means(&made, sums, normalizer);
    made.n = sums->n;
    made.mean = sums->sum;
    sums->n = NULL;
    sums->sum = NULL;
    *moments = made;
    return RER_OK;
}

rer_status rer_class_means(rer_class_moments *moments, rer_normalizer *normalizer, const rer_run *run, rer_error *error)
{
    rer_class_sums sums = {0};
    rer_status status = rer_class_sums_make(&sums, run->C, run->D, normalizer->kind == RER_MINMAX, error);
    RER_THEN(status, run->passes->class_sums(&sums, normalizer, run, error));
    RER_THEN(status, finish_sums(moments, normalizer, &sums, error));
    rer_class_sums_free(&sums);
    return status;
}

rer_status rer_check_classes(const rer_class_moments *moments, const rer_run *run, rer_error *error)
{
    int32_t present = 0, usable = 0;
    const char *name = run->data->features.name, *labels = run->data->labels.source;
    for (int32_t c = 0; c < run->C; c++) {
        const char *class = rer_run_class_name(run, c);
        present += moments->n[c] > 0;
        usable += moments->n[c] > 1;
        if (moments->n[c] == 0)
            return rer_fail(error, RER_BAD_INPUT,
                            "%s: every row of class '%s' has NaN or Inf; mend them, or take its labels out", name,
                            RER_QUOTED(class));
    }
    labels = labels != NULL ? labels : "labels";
    if (present < 2)
        return rer_fail(error, RER_BAD_INPUT, "%s: the usable rows have %d class%s; at least two classes are needed",
                        labels, present, present == 1 ? "" : "es");
    if (usable == 0)
        return rer_fail(error, RER_BAD_INPUT,
                        "%s: no class has two samples (%d classes, %lld labelled rows); are the labels really classes?",
                        labels, present, (long long)moments->labelled);
    if (moments->all_equal)
        return rer_fail(error, RER_BAD_INPUT,
                        "%s: all %lld labelled rows are identical; nothing tells the classes apart", name,
                        (long long)moments->labelled);
    return RER_OK;
}

void rer_class_moments_free(rer_class_moments *moments)
{
    RER_FREE_ALL(moments->n, moments->mean, moments->grand, moments->unit);
    *moments = (rer_class_moments){0};
}

/* ---- pass 2 ------------------------------------------------------------------------------ */

/* The rows of the block that a worker loaded, left for its commit at the head of its scratch. */
typedef struct loaded_block {
    rer_block block;
    float *update; /* [D, D] rank-k update of the block */
    double *far;   /* [n_far, D] residuals of rows that are added on their own */
    int64_t n_far;
    float *again;  /* [D] a row that is read once more ... */
    void *reading; /* ... and what that needs */
} loaded_block;

/* A row this far (in mean squared residuals) outweighs the others in W so much that the rounding of
 * its float products would show beside them: it is added in double. They are at most one in FAR_ROW;
 * a block keeps room for FAR_MOST. */
#define FAR_ROW 100
#define FAR_MOST 32

typedef struct scatter_pass {
    const rer_run *run;
    const rer_normalizer *normalizer;
    const rer_class_moments *moments;
    rer_row_sample *sample; /* may be NULL */
    double *scatter;        /* may be NULL */
} scatter_pass;

static loaded_block lay_out_loaded(const scatter_pass *pass, rer_scratch *scratch)
{
    const rer_run *run = pass->run;
    loaded_block loaded = {0};
    (void)rer_take(scratch, 1, sizeof loaded);
    loaded.block = rer_block_take(run, scratch);
    if (pass->scatter == NULL)
        return loaded;
    loaded.update = rer_take(scratch, run->D * run->D, sizeof *loaded.update);
    loaded.far = rer_take(scratch, FAR_MOST * run->D, sizeof *loaded.far);
    loaded.again = rer_take(scratch, run->D, sizeof *loaded.again);
    loaded.reading = rer_take(scratch, rer_dataset_scratch(run->data, 1), 1);
    return loaded;
}

/* Sampled rows have their own places, so that workers fill them without a lock. */
static void keep_sampled_rows(rer_row_sample *sample, const rer_block *block, int64_t first_row, int64_t D)
{
    int64_t low = 0, high = sample->count, start = first_row + block->first;
    while (low < high) { /* first sampled row of the block */
        int64_t middle = (low + high) / 2;
        if (sample->row[middle] < start)
            low = middle + 1;
        else
            high = middle;
    }
    for (int64_t s = low; s < sample->count && sample->row[s] < start + block->count; s++) {
        int64_t i = sample->row[s] - start;
        memcpy(sample->x + s * D, block->x + i * D, (size_t)D * sizeof(float));
        sample->scale[s] = block->scale[i];
        sample->code[s] = block->code[i];
    }
}

/* Residuals of the labelled rows, packed, in the place of the rows; *packed says how many. Far ones,
 * read once more since their residual may have overwritten them, go to loaded->far instead. */
static rer_status pack_residuals(const scatter_pass *pass, loaded_block *loaded, int64_t *packed, rer_error *error)
{
    const rer_block *block = &loaded->block;
    const rer_kernels *kernels = pass->run->kernels;
    int64_t D = pass->run->D, used = 0;
    double limit = FAR_ROW * pass->moments->spread;
    for (int64_t i = 0; i < block->count; i++) {
        if (block->code[i] < 0)
            continue;
        int64_t row = block->first + i;
        const double *mean = pass->moments->mean + block->code[i] * D;
        double length = kernels->residual_f32(block->x + used * D, block->x + i * D, block->scale[i], mean, D);
        if (length <= limit || loaded->n_far == FAR_MOST) {
            used++;
            continue;
        }
        RER_TRY(rer_dataset_rows_read(pass->run->data, row, 1, loaded->again, loaded->reading, error));
        (void)kernels->residual_f64(loaded->far + loaded->n_far++ * D, loaded->again, block->scale[i], mean, D);
    }
    *packed = used;
    return RER_OK;
}

static rer_status load_for_scatter(void *context, int64_t item, void *memory, rer_error *error)
{
    scatter_pass *pass = context;
    const rer_run *run = pass->run;
    int64_t D = run->D;
    rer_scratch scratch = rer_pool_scratch(pass->run->pool, memory);
    loaded_block *loaded = memory;
    *loaded = lay_out_loaded(pass, &scratch);
    rer_block *block = &loaded->block;
    RER_TRY(rer_block_read(block, run, pass->normalizer, item, error));
    if (pass->sample != NULL)
        keep_sampled_rows(pass->sample, block, run->first_row, D);
    if (pass->scatter == NULL)
        return RER_OK;
    int64_t packed = 0;
    RER_TRY(pack_residuals(pass, loaded, &packed, error));
    rer_rank_update(loaded->update, block->x, packed, D);
    return RER_OK;
}

/* A lane has every RER_LANES-th row of W: as much of its triangle as another. */
static void add_to_scatter(void *context, int64_t item, int lane, void *scratch)
{
    (void)item;
    const scatter_pass *pass = context;
    const loaded_block *loaded = scratch;
    const double *unit = pass->moments->unit;
    int64_t D = pass->run->D;
    for (int64_t j = lane; j < D; j += RER_LANES) {
        double *row = pass->scatter + j * D;
        pass->run->kernels->add_rounded(row, loaded->update + j * D, 2 * unit[j], unit, j + 1);
        for (int64_t f = 0; f < loaded->n_far; f++) {
            const double *r = loaded->far + f * D;
            for (int64_t k = 0; k <= j; k++) {
                double above = 2 * unit[j] * unit[k];
                row[k] += (r[j] * r[k] + above) - above; /* as add_rounded */
            }
        }
    }
}

rer_status rer_scatter_add(double *scatter, rer_row_sample *sample, const rer_class_moments *moments,
                           const rer_normalizer *normalizer, const rer_run *run, rer_error *error)
{
    scatter_pass pass = {run, normalizer, moments, sample, scatter};
    rer_scratch measure = RER_MEASURE;
    int64_t update = 0;
    if (scatter != NULL && (!rer_product(run->D, run->D, &update) || update > INT64_MAX / 16))
        return rer_fail(error, RER_SYSTEM, "%lld features are too many for a covariance", (long long)run->D);
    (void)lay_out_loaded(&pass, &measure);
    rer_job job = {
        .stage = "fitting",
        .from = .15,
        .to = .45,
        .items = rer_run_blocks(run),
        .scratch = measure.used,
        .work = load_for_scatter,
        .add = scatter != NULL ? add_to_scatter : NULL,
        .context = &pass,
    };
    return rer_pool_run(run->pool, &job, error);
}

rer_status rer_within_scatter(double *scatter, rer_row_sample *sample, const rer_class_moments *moments,
                              const rer_normalizer *normalizer, const rer_run *run, rer_error *error)
{
    return run->passes->scatter(scatter, sample, moments, normalizer, run, error);
}
