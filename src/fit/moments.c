/* Class sums and within-class scatter, each one pass over the blocks:
 *   1. class means mu_c, counts n_c, ranges;
 *   2. W = sum_i r_i r_i', r_i = x_i - mu_{y_i}: residuals in double, rounded to float, one float
 *      rank-k update a block, added into double in block order. */
#include "fit/moments.h"

#include <math.h>
#include <string.h>

/* ---- pass 1 ------------------------------------------------------------------------------ */

typedef struct means_pass {
    const rer_run *run;
    const rer_normalizer *normalizer;
    rer_class_moments *moments;
    float *low, *high; /* [D] range of the labelled rows, NULL unless minmax */
    double squares;    /* sum of the squared lengths of the labelled rows */
    float *first_row;  /* [D] of the first labelled row, to see whether all are equal */
} means_pass;

/* The rows of the block that a worker loaded, left for its commit at the head of its scratch. */
typedef struct loaded_block {
    rer_block block;
    double squares; /* pass 1: of the labelled rows */
    float *update;  /* pass 2: [D, D] rank-k update of the block */
    double *far;    /* [n_far, D] residuals of rows that are added on their own */
    int64_t n_far;
} loaded_block;

/* A row this far (in mean squared residuals) outweighs the others in W so much that the rounding of
 * its float products would show beside them: it is added in double. They are at most one in FAR_ROW;
 * a block keeps room for FAR_MOST. */
#define FAR_ROW 100
#define FAR_MOST 32

static rer_status load_for_means(void *context, int64_t item, void *scratch, rer_error *error)
{
    means_pass *pass = context;
    loaded_block *loaded = rer_carve(&scratch, sizeof *loaded);
    const rer_block *block = &loaded->block;
    rer_status status = rer_block_load(&loaded->block, pass->run, pass->normalizer, item, &scratch, error);
    loaded->squares = 0;
    for (int64_t i = 0; status == RER_OK && i < block->count; i++)
        if (block->code[i] >= 0)
            loaded->squares += block->scale[i] * block->scale[i] * block->square[i];
    return status;
}

static void widen_range(means_pass *pass, const float *row)
{
    for (int64_t j = 0; j < pass->run->D; j++) {
        pass->low[j] = row[j] < pass->low[j] ? row[j] : pass->low[j];
        pass->high[j] = row[j] > pass->high[j] ? row[j] : pass->high[j];
    }
}

static rer_status add_to_means(void *context, int64_t item, void *scratch, rer_error *error)
{
    (void)item;
    (void)error;
    means_pass *pass = context;
    rer_class_moments *moments = pass->moments;
    const rer_block *block = &((loaded_block *)scratch)->block;
    pass->squares += ((loaded_block *)scratch)->squares;
    int64_t D = pass->run->D;
    size_t row_bytes = (size_t)D * sizeof(float);
    for (int64_t i = 0; i < block->count; i++) {
        const float *row = block->x + i * D;
        int32_t c = block->code[i];
        if (c < 0)
            continue;
        if (moments->labelled == 0)
            memcpy(pass->first_row, row, row_bytes);
        else if (moments->all_equal)
            moments->all_equal = memcmp(pass->first_row, row, row_bytes) == 0;
        if (pass->low != NULL)
            widen_range(pass, row);
        pass->run->kernels->add_scaled(moments->mean + c * D, row, block->scale[i], D);
        moments->n[c]++;
        moments->labelled++;
    }
    return RER_OK;
}

/* sum |r|^2 = sum |x|^2 - sum n_c |mu_c|^2, from class sums. It loses digits where residuals are
 * small beside the means; it only tells far rows from others. */
static double residual_spread(const rer_class_moments *moments, double squares, int32_t C, int64_t D)
{
    for (int32_t c = 0; c < C; c++)
        for (int64_t j = 0; j < D && moments->n[c] > 0; j++)
            squares -= moments->mean[c * D + j] * moments->mean[c * D + j] / (double)moments->n[c];
    return moments->labelled > 0 && squares > 0 ? squares / (double)moments->labelled : 0;
}

/* Sums -> means; with minmax the means of the raw rows are scaled like the rows. */
static void finish_means(rer_class_moments *moments, const rer_normalizer *normalizer, int32_t C, int64_t D)
{
    for (int32_t c = 0; c < C; c++)
        for (int64_t j = 0; j < D; j++) {
            double *value = &moments->mean[c * D + j];
            if (moments->n[c] == 0)
                continue;
            moments->grand[j] += *value;
            *value /= (double)moments->n[c];
            if (normalizer->low != NULL)
                *value = (*value - normalizer->low[j]) * normalizer->factor[j];
        }
    for (int64_t j = 0; j < D; j++) {
        moments->grand[j] /= (double)rer_max(1, moments->labelled);
        if (normalizer->low != NULL)
            moments->grand[j] = (moments->grand[j] - normalizer->low[j]) * normalizer->factor[j];
    }
}

static rer_status allocate_means(rer_class_moments *moments, means_pass *pass, const rer_run *run, rer_error *error)
{
    bool minmax = pass->normalizer->kind == RER_MINMAX;
    rer_status status = rer_allocate(&moments->n, run->C, sizeof(int64_t), "class sizes", error);
    int64_t values = 0;
    if (status == RER_OK && !rer_product(run->C, run->D, &values))
        status = rer_fail(error, RER_SYSTEM, "%d classes of %lld features are too many", run->C, (long long)run->D);
    if (status == RER_OK)
        status = rer_allocate(&moments->mean, values, sizeof(double), "class means", error);
    if (status == RER_OK)
        status = rer_allocate(&moments->grand, run->D, sizeof(double), "the mean", error);
    if (status == RER_OK)
        status = rer_allocate(&pass->first_row, run->D, sizeof(float), "a row", error);
    if (status == RER_OK && minmax)
        status = rer_allocate(&pass->low, run->D, sizeof(float), "feature ranges", error);
    if (status == RER_OK && minmax)
        status = rer_allocate(&pass->high, run->D, sizeof(float), "feature ranges", error);
    for (int64_t j = 0; status == RER_OK && minmax && j < run->D; j++) {
        pass->low[j] = INFINITY;
        pass->high[j] = -INFINITY;
    }
    return status;
}

rer_status rer_class_means(rer_class_moments *moments, rer_normalizer *normalizer, const rer_run *run, rer_error *error)
{
    rer_class_moments made = {.all_equal = true};
    means_pass pass = {.run = run, .normalizer = normalizer, .moments = &made};
    rer_status status = allocate_means(&made, &pass, run, error);
    rer_job job = {
        .stage = "reading",
        .from = 0,
        .to = .15,
        .items = rer_run_blocks(run),
        .scratch = rer_block_scratch(run) + (int64_t)sizeof(loaded_block) + 64,
        .work = load_for_means,
        .commit = add_to_means,
        .context = &pass,
    };
    if (status == RER_OK)
        status = rer_pool_run(run->pool, &job, error);
    if (status == RER_OK && pass.low != NULL && made.labelled > 0)
        status = rer_normalizer_set_range(normalizer, pass.low, pass.high, run->D, error);
    if (status == RER_OK) {
        made.spread = residual_spread(&made, pass.squares, run->C, run->D);
        finish_means(&made, normalizer, run->C, run->D);
        *moments = made;
    } else {
        rer_class_moments_free(&made);
    }
    free(pass.first_row);
    free(pass.low);
    free(pass.high);
    return status;
}

rer_status rer_check_classes(const rer_class_moments *moments, const rer_run *run, rer_error *error)
{
    int32_t present = 0, usable = 0;
    const char *name = run->data->features.name, *labels = run->data->labels.source;
    for (int32_t c = 0; c < run->C; c++) {
        char quoted[80];
        const char *class = run->result->names[c];
        present += moments->n[c] > 0;
        usable += moments->n[c] > 1;
        if (moments->n[c] == 0)
            return rer_fail(error, RER_BAD_INPUT,
                            "%s: every row of class '%s' has NaN or Inf; mend them, or take its labels out", name,
                            rer_quote(quoted, sizeof quoted, class, (int64_t)strlen(class)));
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
    free(moments->n);
    free(moments->mean);
    free(moments->grand);
    *moments = (rer_class_moments){0};
}

/* ---- pass 2 ------------------------------------------------------------------------------ */

typedef struct scatter_pass {
    const rer_run *run;
    const rer_normalizer *normalizer;
    const rer_class_moments *moments;
    rer_row_sample *sample; /* may be NULL */
    double *scatter;        /* may be NULL */
} scatter_pass;

/* Sampled rows have their own places, so that workers fill them without a lock. */
static void keep_sampled_rows(rer_row_sample *sample, const rer_block *block, int64_t D)
{
    int64_t low = 0, high = sample->count;
    while (low < high) { /* first sampled row of the block */
        int64_t middle = (low + high) / 2;
        if (sample->row[middle] < block->first)
            low = middle + 1;
        else
            high = middle;
    }
    for (int64_t s = low; s < sample->count && sample->row[s] < block->first + block->count; s++) {
        int64_t i = sample->row[s] - block->first;
        memcpy(sample->x + s * D, block->x + i * D, (size_t)D * sizeof(float));
        sample->scale[s] = block->scale[i];
        sample->code[s] = block->code[i];
    }
}

/* Residuals of the labelled rows, packed, in the place of the rows; *packed says how many. Far ones,
 * read once more since their residual may have overwritten them, go to loaded->far instead. */
static rer_status pack_residuals(const scatter_pass *pass, loaded_block *loaded, int64_t *packed, void *scratch,
                                 rer_error *error)
{
    const rer_block *block = &loaded->block;
    const rer_kernels *kernels = pass->run->kernels;
    int64_t D = pass->run->D, used = 0;
    float *again = rer_carve(&scratch, D * (int64_t)sizeof(float));
    double limit = FAR_ROW * pass->moments->spread;
    rer_status status = RER_OK;
    loaded->n_far = 0;
    for (int64_t i = 0; status == RER_OK && i < block->count; i++) {
        if (block->code[i] < 0)
            continue;
        int64_t row = block->first + i;
        const double *mean = pass->moments->mean + block->code[i] * D;
        double length = kernels->residual_f32(block->x + used * D, block->x + i * D, block->scale[i], mean, D);
        if (length <= limit || loaded->n_far == FAR_MOST) {
            used++;
            continue;
        }
        status = rer_dataset_rows_read(pass->run->data, row, 1, again, scratch, error);
        if (status == RER_OK)
            (void)kernels->residual_f64(loaded->far + loaded->n_far++ * D, again, block->scale[i], mean, D);
    }
    *packed = used;
    return status;
}

static rer_status load_for_scatter(void *context, int64_t item, void *scratch, rer_error *error)
{
    scatter_pass *pass = context;
    const rer_run *run = pass->run;
    int64_t D = run->D;
    loaded_block *loaded = rer_carve(&scratch, sizeof *loaded);
    rer_block *block = &loaded->block;
    rer_status status = rer_block_load(block, run, pass->normalizer, item, &scratch, error);
    if (status != RER_OK)
        return status;
    if (pass->sample != NULL)
        keep_sampled_rows(pass->sample, block, D);
    if (pass->scatter == NULL)
        return RER_OK;
    loaded->update = rer_carve(&scratch, D * D * (int64_t)sizeof(float));
    loaded->far = rer_carve(&scratch, FAR_MOST * D * (int64_t)sizeof(double));
    int64_t packed = 0;
    status = pack_residuals(pass, loaded, &packed, scratch, error);
    if (status == RER_OK)
        rer_rank_update(loaded->update, block->x, packed, D);
    return status;
}

static rer_status add_to_scatter(void *context, int64_t item, void *scratch, rer_error *error)
{
    (void)item;
    (void)error;
    scatter_pass *pass = context;
    const loaded_block *loaded = scratch;
    int64_t D = pass->run->D;
    for (int64_t j = 0; pass->scatter != NULL && j < D; j++)
        pass->run->kernels->add_block(pass->scatter + j * D, loaded->update + j * D, j + 1);
    for (int64_t f = 0; pass->scatter != NULL && f < loaded->n_far; f++) {
        const double *r = loaded->far + f * D;
        for (int64_t j = 0; j < D; j++)
            for (int64_t k = 0; k <= j; k++)
                pass->scatter[j * D + k] += r[j] * r[k];
    }
    return RER_OK;
}

rer_status rer_within_scatter(double *scatter, rer_row_sample *sample, const rer_class_moments *moments,
                              const rer_normalizer *normalizer, const rer_run *run, rer_error *error)
{
    scatter_pass pass = {run, normalizer, moments, sample, scatter};
    int64_t update = 0;
    if (scatter != NULL && (!rer_product(run->D, run->D, &update) || update > INT64_MAX / 16))
        return rer_fail(error, RER_SYSTEM, "%lld features are too many for a covariance", (long long)run->D);
    rer_job job = {
        .stage = "fitting",
        .from = .15,
        .to = .45,
        .items = rer_run_blocks(run),
        .scratch = rer_block_scratch(run) + update * (int64_t)sizeof(float) +
                   run->D * (int64_t)(FAR_MOST * sizeof(double) + sizeof(float)) + rer_dataset_scratch(run->data, 1) +
                   (int64_t)sizeof(loaded_block) + 320,
        .work = load_for_scatter,
        .commit = add_to_scatter,
        .context = &pass,
    };
    return rer_pool_run(run->pool, &job, error);
}
