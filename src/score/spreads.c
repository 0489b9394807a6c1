/* Both passes make all errors of a block as scoring does (score.c), row by row and class by class:
 *   1. count, sum, sum of squares, smallest and largest error, and the pairs;
 *   2. histograms between smallest and largest.
 * The error of row i under class k goes to class k and to the row's group, on the side `own` where k is
 * the row's class, else on the side `others`. */
#include "score/spreads.h"

#include "score/reduce.h"

typedef struct spread_pass {
    const rer_model *model;
    const rer_run *run;
    rer_spreads *spreads;
    const int32_t *subset; /* [N] or NULL */
    const float *own;      /* [N] */
    int64_t places;        /* 1 + C + G */
    bool is_second;
    const rer_pair *pairs;
    int n_pairs;
    int32_t *partner_start; /* [C + 1] pairs of each class: */
    int32_t *partner_pair;  /* [2 n_pairs] */
} spread_pass;

/* A worker's own, added up in block order. */
typedef struct spread_scratch {
    rer_spread_sums *sums; /* [places, RER_SIDES] pass 1 */
    int32_t *counts;       /* [places, RER_SIDES, RER_BINS] pass 2 */
    rer_pair_sums pairs[RER_PAIRS_DETAILED];
    rer_row_errors *errors; /* [rows] */
    float *own;             /* [rows] NaN: takes no part */
    float *partner;         /* [rows, n_pairs] squared error under the other class of the pair */
    float *tile;            /* [rows, RER_CLASS_TILE] */
    rer_scratch reconstructor;
    rer_block block;
} spread_scratch;

static spread_scratch lay_out(const spread_pass *pass, rer_scratch *scratch)
{
    const rer_model *model = pass->model;
    int64_t rows = rer_min(RER_BLOCK, pass->run->N), places = pass->places * RER_SIDES;
    spread_scratch parts = {0};
    (void)rer_take(scratch, 1, sizeof parts);
    if (pass->is_second)
        parts.counts = rer_take(scratch, places * RER_BINS, sizeof *parts.counts);
    else
        parts.sums = rer_take(scratch, places, sizeof *parts.sums);
    parts.errors = rer_take(scratch, rows, sizeof *parts.errors);
    parts.own = rer_take(scratch, rows, sizeof *parts.own);
    parts.partner = rer_take(scratch, rows * pass->n_pairs, sizeof *parts.partner);
    parts.tile = rer_take(scratch, rows * rer_min(RER_CLASS_TILE, model->C), sizeof *parts.tile);
    parts.reconstructor = rer_take_part(scratch, model->reconstructor->scratch(model, rows));
    parts.block = rer_block_take(pass->run, scratch);
    return parts;
}

static void clear_sums(const spread_pass *pass, spread_scratch *parts)
{
    int64_t places = pass->places * RER_SIDES;
    if (parts->counts != NULL)
        memset(parts->counts, 0, (size_t)(places * RER_BINS) * sizeof *parts->counts);
    for (int64_t i = 0; parts->sums != NULL && i < places; i++)
        parts->sums[i] = (rer_spread_sums){.low = INFINITY, .high = -INFINITY};
}

/* ---- one row -------------------------------------------------------------------------------- */

static void add_sum(rer_spread_sums *sums, float error)
{
    sums->n++;
    sums->sum += (double)error;
    sums->square += (double)error * (double)error;
    sums->low = error < sums->low ? error : sums->low;
    sums->high = error > sums->high ? error : sums->high;
}

static void add_count(int32_t *counts, const rer_spread_sums *sums, float error)
{
    float width = sums->high - sums->low;
    int64_t bin = width > 0 ? (int64_t)((double)(error - sums->low) / (double)width * RER_BINS) : 0;
    counts[bin < RER_BINS ? bin : RER_BINS - 1]++;
}

static void add_error(const spread_pass *pass, spread_scratch *parts, int64_t place, int side, float error)
{
    int64_t at = place * RER_SIDES + side;
    if (parts->sums != NULL)
        add_sum(&parts->sums[at], error);
    else
        add_count(parts->counts + at * RER_BINS, &pass->spreads->sums[at], error);
}

/* The errors d2 [classes] of row i. */
static void add_row(const spread_pass *pass, spread_scratch *parts, const float *d2, int32_t first, int32_t classes,
                    int32_t c, int32_t group)
{
    for (int32_t k = 0; k < classes; k++) {
        int side = first + k == c ? RER_OWN : RER_OTHERS;
        float error = sqrtf(d2[k]);
        add_error(pass, parts, 0, side, error);
        add_error(pass, parts, 1 + first + k, side, error);
        if (group >= 0)
            add_error(pass, parts, 1 + pass->model->C + group, side, error);
    }
}

/* ---- pairs ---------------------------------------------------------------------------------- */

static void keep_partners(const spread_pass *pass, float *partner, const float *d2, int32_t first, int32_t classes,
                          int32_t c)
{
    for (int32_t j = pass->partner_start[c]; j < pass->partner_start[c + 1]; j++) {
        const rer_pair *pair = &pass->pairs[pass->partner_pair[j]];
        int32_t other = pair->a == c ? pair->b : pair->a;
        if (other >= first && other < first + classes)
            partner[pass->partner_pair[j]] = d2[other - first];
    }
}

static void add_pairs(const spread_pass *pass, rer_pair_sums *sums, const float *partner, const rer_row_errors *row,
                      int32_t c)
{
    const rer_nearest *nearest = &row->nearest;
    for (int32_t j = pass->partner_start[c]; j < pass->partner_start[c + 1]; j++) {
        int32_t p = pass->partner_pair[j];
        int side = pass->pairs[p].b == c;
        int32_t other = side == 1 ? pass->pairs[p].a : pass->pairs[p].b;
        double own = (double)row->own, beside = (double)partner[p];
        double rest = (double)(nearest->first_class == other ? nearest->second : nearest->first);
        sums[p].n[side]++;
        sums[p].crossed[side] += beside < own;
        sums[p].wrong += row->nearest.first < row->own;
        sums[p].merged_wrong += rest < fmin(own, beside);
        sums[p].chi += rer_chi(sqrt(own), sqrt((double)nearest->first));
        sums[p].merged_chi += rer_chi(sqrt(fmin(own, beside)), sqrt(rest));
    }
}

/* ---- passes --------------------------------------------------------------------------------- */

/* The own errors of scoring say which rows take part. */
static void begin_block(const spread_pass *pass, const rer_block *block, spread_scratch *parts)
{
    const rer_model *model = pass->model;
    for (int64_t i = 0; i < block->count; i++) {
        parts->errors[i] = rer_row_errors_none();
        parts->own[i] = pass->own[block->first + i];
    }
    model->reconstructor->prepare(model, pass->run, block, true, parts->reconstructor);
}

static rer_status spread_block(void *context, int64_t item, void *memory, rer_error *error)
{
    const spread_pass *pass = context;
    const rer_model *model = pass->model;
    rer_scratch scratch = rer_pool_scratch(pass->run->pool, memory);
    spread_scratch *parts = memory;
    *parts = lay_out(pass, &scratch);
    clear_sums(pass, parts);
    rer_block block = parts->block;
    rer_status status = rer_block_read(&block, pass->run, &model->normalizer, item, error);
    if (status != RER_OK)
        return status;
    begin_block(pass, &block, parts);
    for (int32_t first = 0; first < model->C; first += RER_CLASS_TILE) {
        int32_t classes = (int32_t)rer_min(RER_CLASS_TILE, model->C - first);
        model->reconstructor->errors(model, pass->run, &block, first, classes, parts->tile, parts->reconstructor);
        for (int64_t i = 0; i < block.count; i++) {
            float *d2 = parts->tile + i * classes;
            int32_t c = block.code[i], group = pass->subset != NULL ? pass->subset[block.first + i] : -1;
            if (c < 0 || isnan(parts->own[i]))
                continue;
            add_row(pass, parts, d2, first, classes, c, group);
            if (pass->is_second)
                continue;
            rer_row_errors_take(&parts->errors[i], d2, first, classes, c, pass->run->kernels);
            keep_partners(pass, parts->partner + i * pass->n_pairs, d2, first, classes, c);
        }
    }
    for (int64_t i = 0; i < block.count && !pass->is_second; i++)
        if (block.code[i] >= 0 && !isnan(parts->own[i]))
            add_pairs(pass, parts->pairs, parts->partner + i * pass->n_pairs, &parts->errors[i], block.code[i]);
    return RER_OK;
}

static void commit_pairs(rer_pair_sums *sums, const rer_pair_sums *more)
{
    for (int side = 0; side < 2; side++) {
        sums->n[side] += more->n[side];
        sums->crossed[side] += more->crossed[side];
    }
    sums->wrong += more->wrong;
    sums->merged_wrong += more->merged_wrong;
    sums->chi += more->chi;
    sums->merged_chi += more->merged_chi;
}

static rer_status commit_block(void *context, int64_t item, void *memory, rer_error *error)
{
    (void)item, (void)error;
    const spread_pass *pass = context;
    const spread_scratch *parts = memory;
    rer_spreads *spreads = pass->spreads;
    for (int64_t i = 0; parts->counts != NULL && i < pass->places * RER_SIDES * RER_BINS; i++)
        spreads->counts[i] += parts->counts[i];
    for (int64_t i = 0; parts->sums != NULL && i < pass->places * RER_SIDES; i++) {
        rer_spread_sums *sums = &spreads->sums[i];
        const rer_spread_sums *more = &parts->sums[i];
        if (more->n == 0)
            continue;
        sums->low = sums->n == 0 || more->low < sums->low ? more->low : sums->low;
        sums->high = sums->n == 0 || more->high > sums->high ? more->high : sums->high;
        sums->n += more->n;
        sums->sum += more->sum;
        sums->square += more->square;
    }
    for (int p = 0; parts->sums != NULL && p < pass->n_pairs; p++)
        commit_pairs(&spreads->pairs[p], &parts->pairs[p]);
    return RER_OK;
}

/* Which pairs each class is in. */
static rer_status list_partners(spread_pass *pass, rer_error *error)
{
    int32_t C = pass->model->C;
    rer_room rooms[] = {RER_ROOM(pass->partner_start, C + 1), RER_ROOM(pass->partner_pair, 2 * (int64_t)pass->n_pairs)};
    rer_status status = rer_allocate_all(rooms, RER_COUNT(rooms), "pairs of classes", error);
    if (status != RER_OK)
        return status;
    int32_t used = 0;
    for (int32_t c = 0; c < C; c++) {
        for (int p = 0; p < pass->n_pairs; p++)
            if (pass->pairs[p].a == c || pass->pairs[p].b == c)
                pass->partner_pair[used++] = p;
        pass->partner_start[c + 1] = used;
    }
    return RER_OK;
}

rer_status rer_spreads_fill(rer_spreads *spreads, const rer_pair *pairs, int n_pairs, const int32_t *subset, int32_t G,
                            const float *own, const rer_model *model, const rer_run *run, rer_error *error)
{
    spread_pass pass = {
        .model = model,
        .run = run,
        .spreads = spreads,
        .subset = subset,
        .own = own,
        .places = 1 + (int64_t)model->C + G,
        .pairs = pairs,
        .n_pairs = n_pairs,
    };
    rer_status status = list_partners(&pass, error);
    for (int second = 0; status == RER_OK && second < 2; second++) {
        rer_scratch measure = RER_MEASURE;
        pass.is_second = second == 1;
        (void)lay_out(&pass, &measure);
        rer_job job = {
            .stage = "distributions",
            .from = .25 * second,
            .to = .25 + .25 * second,
            .items = rer_run_blocks(run),
            .scratch = measure.used,
            .work = spread_block,
            .commit = commit_block,
            .context = &pass,
        };
        status = rer_pool_run(run->pool, &job, error);
    }
    RER_FREE_ALL(pass.partner_start, pass.partner_pair);
    return status;
}
