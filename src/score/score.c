/* The scoring pass. A worker reads a block, gets its squared errors class tile by class tile, and
 * reduces each row to its own error, its nearest other classes and the sum over all; sums over
 * rows are committed in block order. Nothing of size C x N is kept. */
#include "score/score.h"

#include "channel/channel.h"
#include "channel/opinion.h"
#include "core/random.h"
#include "fit/row_sample.h"
#include "run/result.h"

typedef struct score_pass {
    const rer_model *model;
    const rer_run *run;
    bool left_out;
    rer_scores *scores;
    rer_ratio_sums *blocks;           /* [blocks] of each block */
    rer_output *errors;               /* NULL: not wanted */
    float *log_n;                     /* [C] */
    const rer_score_stretch *stretch; /* whose errors are there, NULL: all are made here */
} score_pass;

/* A worker's scratch, itself at the head of it. */
typedef struct score_scratch {
    rer_block block;
    rer_ratio_sums sums;
    rer_row_errors *errors;   /* [rows] */
    rer_channel_state *state; /* [rows] what the channel knows of each */
    int32_t *likely;          /* [rows] likeliest class other than the label */
    float *flipped;           /* [rows] squared errors under a random other label; only for --probability density */
    float *z;                 /* [RER_CLASS_TILE] */
    float *tile;              /* [rows, RER_CLASS_TILE] */
    float *opinion;           /* [rows, C] evidence of the user's own probabilities, NULL where there are none */
    float *columns;           /* [rows, C] errors for the file, NULL where not wanted */
    void *reading;            /* what reading those probabilities needs */
    rer_scratch reconstructor;
} score_scratch;

static bool has_opinion(const score_pass *pass)
{
    return pass->run->data->pred_probs.name != NULL && pass->left_out;
}

static score_scratch lay_out(const score_pass *pass, rer_scratch *scratch)
{
    const rer_model *model = pass->model;
    int64_t rows = rer_min(RER_BLOCK, pass->run->N), C = model->C, tile = rer_min(RER_CLASS_TILE, C);
    score_scratch parts = {0};
    (void)rer_take(scratch, 1, sizeof parts);
    parts.block = rer_block_take(pass->run, scratch);
    parts.errors = rer_take(scratch, rows, sizeof *parts.errors);
    parts.state = rer_take(scratch, rows, sizeof *parts.state);
    parts.likely = rer_take(scratch, rows, sizeof *parts.likely);
    parts.flipped = rer_take(scratch, rows, sizeof *parts.flipped);
    parts.z = rer_take(scratch, tile, sizeof *parts.z);
    parts.tile = rer_take(scratch, rows * tile, sizeof *parts.tile);
    if (pass->errors != NULL)
        parts.columns = rer_take(scratch, rows * C, sizeof *parts.columns);
    if (has_opinion(pass)) {
        parts.opinion = rer_take(scratch, rows * C, sizeof *parts.opinion);
        parts.reading = rer_take(scratch, rer_opinion_scratch(pass->run->data, rows), 1);
    }
    parts.reconstructor = rer_take_part(scratch, model->reconstructor->scratch(model, rows));
    return parts;
}

/* A random class other than c, the same in every tile. */
static int32_t flipped_label(const score_pass *pass, int64_t row, int32_t c)
{
    double u = rer_random_uniform(pass->run->options->seed, RER_RANDOM_FLIP, (uint64_t)(pass->run->first_row + row), 0);
    int32_t other = (int32_t)(u * (pass->model->C - 1));
    return other + (other >= c);
}

/* The row's ratio with that label: its error over the best of the rest, the given one among them. */
static double flipped_ratio(const score_pass *pass, const rer_row_errors *errors, float flipped, int64_t row, int32_t c)
{
    bool is_nearest = flipped_label(pass, row, c) == errors->nearest.first_class;
    float rest = is_nearest ? errors->nearest.second : errors->nearest.first;
    rest = errors->own < rest ? errors->own : rest;
    return rer_chi(sqrt((double)flipped), sqrt((double)rest));
}

/* Takes one tile of a row's squared errors in. */
static void reduce_row(const score_pass *pass, score_scratch *parts, int64_t i, int32_t first, int32_t classes)
{
    float *d2 = parts->tile + i * classes;
    int32_t c = parts->block.code[i];
    const rer_kernels *kernels = pass->run->kernels;
    const float *value[RER_EVIDENCE_KINDS] = {[RER_GLOBAL] = d2};
    if (parts->opinion != NULL)
        value[RER_OPINION] = parts->opinion + i * pass->model->C + first;
    if (c != RER_INVALID_ROW && pass->scores->logit != NULL) {
        rer_channel_take(&parts->state[i], pass->model->channel, value, first, classes, c, parts->z, kernels);
        bool is_whole = classes == pass->model->C && c >= 0;
        parts->likely[i] = rer_channel_suggest(&parts->state[i], pass->model->channel, is_whole ? parts->z : NULL, c);
    }
    if (parts->columns != NULL)
        for (int32_t k = 0; k < classes; k++)
            parts->columns[i * pass->model->C + first + k] = c == RER_INVALID_ROW ? NAN : sqrtf(d2[k]);
    if (pass->scores->flipped != NULL && c >= 0) {
        int32_t other = flipped_label(pass, parts->block.first + i, c);
        if (other >= first && other < first + classes)
            parts->flipped[i] = d2[other - first];
    }
    rer_row_errors_take(&parts->errors[i], d2, first, classes, c, kernels);
}

/* How much nearer the best class is than the others, and the same without that class. */
static void keep_margins(rer_scores *scores, const rer_row_errors *errors, int64_t row, int32_t C, bool labelled)
{
    bool has_own = !isnan(errors->own);
    double first = sqrt((double)errors->nearest.first), second = sqrt((double)errors->nearest.second);
    double own = has_own ? sqrt((double)errors->own) : INFINITY, best = fmin(own, first);
    second = own < first ? first : fmin(own, second);
    int32_t classes = C - (labelled && !has_own);
    double others = errors->nearest.sum - best;
    scores->margin[row] = classes > 1 ? (float)(best - others / (classes - 1)) : NAN;
    scores->removed[row] = classes > 2 ? (float)(second - (others - second) / (classes - 2)) : NAN;
}

/* Log odds that the label, or else the likeliest class, is wrong. */
static double logit_of(const score_pass *pass, const score_scratch *parts, int64_t i)
{
    const rer_row_errors *errors = &parts->errors[i];
    const rer_channel *channel = pass->model->channel;
    int32_t c = parts->block.code[i];
    if (c == RER_NO_LABEL)
        return -rer_channel_right(&parts->state[i]);
    if (c < 0 || isnan(errors->own))
        return NAN;
    return pass->left_out ? rer_channel_wrong(&parts->state[i], channel, c)
                          : rer_channel_wrong_new(&parts->state[i], channel, c);
}

/* Numbers of a model that was loaded may be at fault as well as the row's. */
static rer_status fail_too_large(const score_pass *pass, int64_t row, rer_error *error)
{
    const char *features = pass->run->data->features.name, *model = pass->model->source;
    row += pass->run->first_row;
    if (model != NULL)
        return rer_fail(error, RER_BAD_INPUT,
                        "%s: under this model the errors of row %lld of %s are too large for float32: a damaged model, "
                        "or one of other features",
                        model, (long long)row, features);
    return rer_fail(error, RER_BAD_INPUT,
                    "%s: row %lld: its errors are too large for float32; scale the features down, or use --normalize "
                    "whiten, unit or minmax",
                    features, (long long)row);
}

/* A row's O(1) results from its reduced errors, and its share of the sums. */
static rer_status keep_row(const score_pass *pass, score_scratch *parts, int64_t i, rer_error *error)
{
    rer_scores *scores = pass->scores;
    const rer_row_errors *errors = &parts->errors[i];
    int64_t row = parts->block.first + i;
    int32_t c = parts->block.code[i];
    if (c != RER_INVALID_ROW && (errors->nearest.first_class < 0 || isinf(errors->own)))
        return fail_too_large(pass, row, error);
    scores->own[row] = c >= 0 ? (float)sqrt((double)errors->own) : NAN;
    scores->other[row] = c == RER_INVALID_ROW ? NAN : (float)sqrt((double)errors->nearest.first);
    scores->nearest[row] = c == RER_INVALID_ROW ? -1 : errors->nearest.first_class;
    if (scores->logit != NULL)
        scores->logit[row] = (float)logit_of(pass, parts, i);
    if (scores->proposed != NULL)
        scores->proposed[row] = c == RER_INVALID_ROW ? -1 : parts->likely[i];
    if (scores->margin != NULL && c != RER_INVALID_ROW)
        keep_margins(scores, errors, row, pass->model->C, c >= 0);
    if (scores->flipped != NULL)
        scores->flipped[row] =
            c >= 0 && !isnan(errors->own) ? (float)flipped_ratio(pass, errors, parts->flipped[i], row, c) : NAN;
    rer_ratio_sums_add_row(&parts->sums, errors, pass->model->C);
    return RER_OK;
}

/* The errors of a block's rows, reduced. */
static void reduce_rows(const score_pass *pass, score_scratch *parts)
{
    const rer_model *model = pass->model;
    const rer_block *block = &parts->block;
    for (int64_t i = 0; i < block->count; i++) {
        parts->errors[i] = rer_row_errors_none();
        parts->state[i] = rer_channel_begin();
    }
    model->reconstructor->prepare(model, pass->run, block, pass->left_out, parts->reconstructor);
    for (int32_t first = 0; first < model->C; first += RER_CLASS_TILE) {
        int32_t classes = (int32_t)rer_min(RER_CLASS_TILE, model->C - first);
        model->reconstructor->errors(model, pass->run, block, first, classes, parts->tile, parts->reconstructor);
        for (int64_t i = 0; i < block->count; i++)
            reduce_row(pass, parts, i, first, classes);
    }
}

static rer_status make_errors(const score_pass *pass, score_scratch *parts, int64_t item, rer_error *error)
{
    rer_block *block = &parts->block;
    rer_status status = rer_block_read(block, pass->run, &pass->model->normalizer, item, error);
    if (status == RER_OK && parts->opinion != NULL)
        status = rer_opinion_rows(parts->opinion, pass->run->data, block->first, block->count,
                                  pass->run->invalid + block->first, pass->log_n, parts->reading, error);
    block->exact = pass->errors != NULL;
    if (status == RER_OK)
        reduce_rows(pass, parts);
    return status;
}

/* Errors that come reduced. Those of rows that are done again are made first, at the head of the block, and then
 * moved to their places from the last one on. */
static rer_status take_errors(const score_pass *pass, score_scratch *parts, int64_t item, rer_error *error)
{
    const rer_run *run = pass->run;
    const rer_reduced_row *rows = pass->stretch->rows + item * RER_BLOCK;
    rer_block *block = &parts->block;
    int64_t again[RER_BLOCK], first = pass->stretch->first + item * RER_BLOCK;
    int64_t count = rer_min(RER_BLOCK, pass->stretch->count - item * RER_BLOCK);
    *block =
        (rer_block){.x = block->x, .scale = block->scale, .code = block->code, .row = again, .reading = block->reading};
    for (int64_t i = 0; i < count; i++)
        if (rows[i].again != 0)
            again[block->count++] = first + i;
    rer_status status = rer_block_pick(block, run, &pass->model->normalizer, error);
    if (status != RER_OK)
        return status;
    reduce_rows(pass, parts);
    for (int64_t i = count - 1, made = block->count - 1; i >= 0; i--) {
        bool is_made = rows[i].again != 0, is_invalid = run->invalid[first + i] != 0;
        parts->errors[i] = is_made      ? parts->errors[made]
                           : is_invalid ? rer_row_errors_none()
                                        : (rer_row_errors){rows[i].nearest, rows[i].own};
        parts->state[i] = is_made ? parts->state[made] : (rer_channel_state){rows[i].sums, rows[i].odds, rows[i].score};
        parts->likely[i] = is_made ? parts->likely[made] : rows[i].likely;
        made -= is_made;
        block->code[i] = is_invalid ? RER_INVALID_ROW : run->given[first + i];
    }
    block->row = NULL;
    block->first = first;
    block->count = count;
    return RER_OK;
}

static rer_status score_block(void *context, int64_t item, void *memory, rer_error *error)
{
    const score_pass *pass = context;
    rer_scratch scratch = rer_pool_scratch(pass->run->pool, memory);
    score_scratch *parts = memory;
    *parts = lay_out(pass, &scratch);
    rer_status status =
        pass->stretch != NULL ? take_errors(pass, parts, item, error) : make_errors(pass, parts, item, error);
    for (int64_t i = 0; status == RER_OK && i < parts->block.count; i++)
        status = keep_row(pass, parts, i, error);
    pass->blocks[item] = parts->sums;
    return status;
}

static rer_status write_errors(void *context, int64_t item, void *memory, rer_error *error)
{
    (void)item;
    const score_pass *pass = context;
    const score_scratch *parts = memory;
    return rer_output_write(pass->errors, parts->columns, parts->block.count * pass->model->C * (int64_t)sizeof(float),
                            error);
}

/* Column i, one sample, is contiguous in Fortran order, so rows can be appended. */
rer_status rer_errors_open(rer_output *errors, const char *path, int32_t C, int64_t N, rer_error *error)
{
    int64_t shape[] = {C, N};
    rer_status status = rer_output_open(errors, path, error);
    return status == RER_OK ? rer_output_npy_header(errors, "<f4", true, 2, shape, error) : status;
}

static int64_t blocks_of(const score_pass *pass)
{
    return pass->stretch != NULL ? (pass->stretch->count + RER_BLOCK - 1) / RER_BLOCK : rer_run_blocks(pass->run);
}

static rer_status run_pass(score_pass *pass, rer_error *error)
{
    const rer_model *model = pass->model;
    rer_status status = rer_log_sizes(&pass->log_n, model->n, model->C, error);
    if (status != RER_OK)
        return status;
    rer_scratch measure = RER_MEASURE;
    (void)lay_out(pass, &measure);
    rer_job job = {
        .stage = "scoring",
        .from = pass->left_out ? .5 : 0,
        .to = pass->left_out ? .78 : .97,
        .items = blocks_of(pass),
        .scratch = measure.used,
        .work = score_block,
        .commit = pass->errors != NULL ? write_errors : NULL,
        .context = pass,
    };
    if (pass->stretch != NULL) {
        job.from = pass->stretch->from;
        job.to = pass->stretch->to;
    }
    status = rer_pool_run(pass->run->pool, &job, error);
    free(pass->log_n);
    return status;
}

/* Blocks are added in their order when all are there: none waits for its turn. */
static rer_status sum_pass(score_pass *pass, rer_ratio_sums *sums, rer_error *error)
{
    rer_status status = rer_allocate(&pass->blocks, blocks_of(pass), sizeof *pass->blocks, "sums of blocks", error);
    if (status == RER_OK)
        status = run_pass(pass, error);
    for (int64_t i = 0; status == RER_OK && i < blocks_of(pass); i++)
        rer_ratio_sums_add(sums, &pass->blocks[i]);
    free(pass->blocks);
    return status;
}

rer_status rer_score_here(rer_scores *scores, rer_ratio_sums *sums, const rer_model *model, const rer_run *run,
                          bool left_out, rer_output *errors, rer_error *error)
{
    score_pass pass = {.model = model, .run = run, .left_out = left_out, .scores = scores, .errors = errors};
    return sum_pass(&pass, sums, error);
}

rer_status rer_score_blocks(rer_scores *scores, rer_ratio_sums *blocks, const rer_model *model, const rer_run *run,
                            bool left_out, rer_error *error)
{
    score_pass pass = {.model = model, .run = run, .left_out = left_out, .scores = scores, .blocks = blocks};
    return run_pass(&pass, error);
}

rer_status rer_score_reduced(rer_scores *scores, rer_ratio_sums *sums, const rer_score_stretch *stretch,
                             const rer_model *model, const rer_run *run, bool left_out, rer_error *error)
{
    score_pass pass = {.model = model, .run = run, .left_out = left_out, .scores = scores, .stretch = stretch};
    return sum_pass(&pass, sums, error);
}
