/* The passes over rows that go through a card, a stretch at a time: while the card works on one slot the pool reads
 * the next stretch into the other. Where the card has room for all rows they are read once; where they lie on it already
 * the card measures them, and what follows from that is all that goes there. */
#include "device/device.h"

#include "channel/channel.h"
#include "fit/autoencoder/autoencoder.h"
#include "fit/centroid.h"
#include "fit/moments.h"
#include "score/near_rows.h"
#include "score/score.h"

typedef struct device_pass {
    const rer_run *run;
    const rer_normalizer *normalizer;
    void (*add)(void *card, int slot); /* what the card does with a stretch; NULL: nothing */
    const char *stage;
    double from, to;
    rer_class_sums *sums; /* of the first pass: what the CPU counts as it reads */
    rer_scores *scores;   /* of the scoring: where the rows go */
    rer_ratio_sums *ratios;
    const rer_model *model;
    bool left_out;
    /* of the stretch under way */
    rer_device_rows rows;
    int64_t first;
} device_pass;

static double progress_at(const device_pass *pass, int64_t row)
{
    return pass->from + (pass->to - pass->from) * (double)row / (double)pass->run->N;
}

/* ---- reading ----------------------------------------------------------------------------- */

static double *lay_out(const rer_run *run, rer_scratch *scratch, void **reading)
{
    int64_t rows = rer_min(RER_BLOCK, run->N);
    *reading = rer_take(scratch, rer_dataset_scratch(run->data, rows), 1);
    return rer_take(scratch, rows, sizeof(double));
}

static rer_status read_block(void *context, int64_t item, void *memory, rer_error *error)
{
    const device_pass *pass = context;
    const rer_run *run = pass->run;
    rer_scratch scratch = rer_pool_scratch(run->pool, memory);
    int64_t at = item * RER_BLOCK;
    rer_block block = {.x = pass->rows.x + at * run->D, .scale = pass->rows.scale + at, .code = pass->rows.code + at};
    block.square = lay_out(run, &scratch, &block.reading);
    return rer_block_read(&block, run, pass->normalizer, pass->first / RER_BLOCK + item, error);
}

/* The same of rows that lie on the card; scale holds their squared lengths. */
static rer_status describe_block(void *context, int64_t item, void *memory, rer_error *error)
{
    (void)memory;
    const device_pass *pass = context;
    const rer_run *run = pass->run;
    int64_t at = item * RER_BLOCK, first = pass->first + at;
    rer_block block = {.first = first,
                       .count = rer_min(RER_BLOCK, run->N - first),
                       .scale = pass->rows.scale + at,
                       .square = pass->rows.scale + at,
                       .code = pass->rows.code + at};
    return rer_block_describe(&block, run, pass->normalizer, error);
}

/* Whether all labelled rows are the same one; sums->labelled counts this one. */
static void compare_row(rer_class_sums *sums, const float *x)
{
    size_t bytes = (size_t)sums->D * sizeof *x;
    if (sums->labelled == 1)
        memcpy(sums->first_row, x, bytes);
    sums->all_equal = sums->all_equal && memcmp(sums->first_row, x, bytes) == 0;
}

/* The part of the class sums that is not the card's. */
static rer_status count_block(void *context, int64_t item, void *memory, rer_error *error)
{
    (void)memory, (void)error;
    const device_pass *pass = context;
    rer_class_sums *sums = pass->sums;
    int64_t at = item * RER_BLOCK, D = sums->D, end = rer_min(at + RER_BLOCK, pass->run->N - pass->first);
    for (int64_t i = at; i < end; i++) {
        int32_t code = pass->rows.code[i];
        if (code < 0)
            continue;
        sums->n[code]++;
        sums->labelled++;
        if (pass->rows.x != NULL)
            compare_row(sums, pass->rows.x + i * D);
    }
    return RER_OK;
}

static rer_status read_stretch(device_pass *pass, int slot, int64_t count, rer_error *error)
{
    const rer_device *device = pass->run->device;
    rer_scratch measure = RER_MEASURE;
    void *reading;
    (void)lay_out(pass->run, &measure, &reading);
    pass->rows = device->plugin->slot(device->card, slot);
    if (device->in_place)
        device->plugin->measure(device->card, pass->first, count, pass->rows.scale);
    rer_status status = rer_device_status(device, error);
    rer_job job = {
        .stage = pass->stage,
        .from = progress_at(pass, pass->first),
        .to = progress_at(pass, pass->first + count),
        .items = (count + RER_BLOCK - 1) / RER_BLOCK,
        .scratch = measure.used,
        .work = device->in_place ? describe_block : read_block,
        .commit = pass->sums != NULL ? count_block : NULL,
        .context = pass,
    };
    return status == RER_OK ? rer_pool_run(pass->run->pool, &job, error) : status;
}

/* ---- a pass ------------------------------------------------------------------------------ */

/* The rows of a slot that the card has scored. */
static rer_status take_scores(const device_pass *pass, int slot, int64_t first, int64_t count, rer_error *error)
{
    const rer_device *device = pass->run->device;
    rer_score_stretch stretch = {
        .first = first,
        .count = count,
        .rows = device->plugin->score_rows(device->card, slot),
        .from = progress_at(pass, first),
        .to = progress_at(pass, first + count),
    };
    rer_status status = rer_device_status(device, error);
    return status == RER_OK
               ? rer_score_reduced(pass->scores, pass->ratios, &stretch, pass->model, pass->run, pass->left_out, error)
               : status;
}

/* The card works on the stretch of one slot while the CPU reads, or takes in, that of the other. */
static rer_status run_pass(device_pass *pass, rer_error *error)
{
    rer_device *device = pass->run->device;
    const rer_device_plugin *plugin = device->plugin;
    int64_t N = pass->run->N, rows = device->rows;
    int slot = 0;
    rer_status status = RER_OK;
    for (int64_t first = 0; status == RER_OK && first < N; first += rows) {
        int64_t count = rer_min(rows, N - first);
        pass->first = first;
        if (!device->loaded)
            status = read_stretch(pass, slot, count, error);
        if (status == RER_OK)
            plugin->load(device->card, slot, first, count, device->loaded);
        if (status == RER_OK && pass->add != NULL)
            pass->add(device->card, slot);
        slot = 1 - slot;
        if (status == RER_OK && pass->scores != NULL && first > 0)
            status = take_scores(pass, slot, first - rows, rows, error);
    }
    int64_t last = (N - 1) / rows * rows;
    if (status == RER_OK && pass->scores != NULL)
        status = take_scores(pass, 1 - slot, last, N - last, error);
    if (status == RER_OK)
        status = rer_device_status(device, error);
    device->loaded = device->loaded || (status == RER_OK && plugin->keeps_rows(device->card));
    return status;
}

rer_status rer_device_load(const char *stage, const rer_normalizer *normalizer, const rer_run *run, rer_error *error)
{
    device_pass pass = {.run = run, .normalizer = normalizer, .stage = stage};
    rer_status status = run_pass(&pass, error);
    run->device->loaded = false;
    return status;
}

/* ---- class sums -------------------------------------------------------------------------- */

/* What counting could not see of rows that lie on the card: blocks are read until two rows differ. */
static rer_status compare_rows_in_place(rer_class_sums *sums, const rer_normalizer *normalizer, const rer_run *run,
                                        rer_error *error)
{
    void *memory = NULL;
    rer_class_sums seen = {.D = sums->D, .first_row = sums->first_row, .all_equal = true};
    rer_scratch measure = RER_MEASURE;
    (void)rer_block_take(run, &measure);
    rer_status status = rer_allocate(&memory, measure.used, 1, "a block of rows", error);
    for (int64_t item = 0; status == RER_OK && seen.all_equal && item < rer_run_blocks(run); item++) {
        rer_scratch scratch = rer_scratch_over(memory, measure.used);
        rer_block block = rer_block_take(run, &scratch);
        status = rer_block_read(&block, run, normalizer, item, error);
        for (int64_t i = 0; status == RER_OK && i < block.count; i++)
            if (block.code[i] >= 0 && ++seen.labelled > 0)
                compare_row(&seen, block.x + i * seen.D);
    }
    sums->all_equal = sums->all_equal && seen.all_equal;
    free(memory);
    return status;
}

static rer_status add_class_sums(rer_class_sums *sums, const rer_normalizer *normalizer, const rer_run *run,
                                 rer_error *error)
{
    const rer_device *device = run->device;
    const rer_device_plugin *plugin = device->plugin;
    double *square = NULL;
    rer_status status = rer_allocate(&square, sums->C * sums->D, sizeof(double), "sums of squares", error);
    if (status != RER_OK)
        return status;
    device_pass pass = {
        .run = run, .normalizer = normalizer, .add = plugin->sums_add, .stage = "reading", .to = .15, .sums = sums};
    plugin->sums_begin(device->card);
    status = run_pass(&pass, error);
    plugin->sums_end(device->card, sums->sum, square);
    if (status == RER_OK)
        status = rer_device_status(device, error);
    if (status == RER_OK && device->in_place)
        status = compare_rows_in_place(sums, normalizer, run, error);
    for (int32_t c = 0; c < sums->C; c++)
        for (int64_t j = 0; j < sums->D; j++)
            sums->square[j] += square[c * sums->D + j];
    free(square);
    return status;
}

/* ---- scatter ----------------------------------------------------------------------------- */

#define FAR_ROW 100 /* as in fit/moments.c */

static rer_status add_scatter(double *scatter, rer_row_sample *sample, const rer_class_moments *moments,
                              const rer_normalizer *normalizer, const rer_run *run, rer_error *error)
{
    const rer_device *device = run->device;
    const rer_device_plugin *plugin = device->plugin;
    rer_status status = sample != NULL ? rer_row_sample_read(sample, normalizer, run, error) : RER_OK;
    if (status != RER_OK || scatter == NULL)
        return status;
    device_pass pass = {
        .run = run, .normalizer = normalizer, .add = plugin->scatter_add, .stage = "fitting", .from = .15, .to = .45};
    plugin->scatter_begin(device->card, moments->mean, FAR_ROW * moments->spread);
    status = run_pass(&pass, error);
    plugin->scatter_end(device->card, scatter);
    return status == RER_OK ? rer_device_status(device, error) : status;
}

/* ---- scores ------------------------------------------------------------------------------ */

static rer_device_channel channel_of(const rer_channel *channel)
{
    return (rer_device_channel){
        .weight = channel->weight[RER_GLOBAL],
        .edge = channel->edge[RER_GLOBAL],
        .sharpness = channel->sharpness,
        .bias = channel->bias,
        .rates = channel->rates,
        .whole = channel->C <= RER_CLASS_TILE,
    };
}

static bool can_score(const rer_scores *scores, const rer_run *run, const rer_output *errors)
{
    return run->fitted == NULL && run->data->pred_probs.name == NULL && errors == NULL && scores->flipped == NULL;
}

/* What all models have in common is filled in here. */
static rer_status score_with(rer_device_model *on_card, rer_scores *scores, rer_ratio_sums *sums,
                             const rer_model *model, const rer_run *run, bool left_out, rer_error *error)
{
    const rer_device *device = run->device;
    rer_device_channel channel = scores->logit != NULL ? channel_of(model->channel) : (rer_device_channel){0};
    on_card->channel = scores->logit != NULL ? &channel : NULL;
    device_pass pass = {.run = run,
                        .normalizer = &model->normalizer,
                        .add = device->plugin->score_add,
                        .stage = "scoring",
                        .from = left_out ? .5 : 0,
                        .to = left_out ? .78 : .97,
                        .scores = scores,
                        .ratios = sums,
                        .model = model,
                        .left_out = left_out};
    device->plugin->score_begin(device->card, on_card);
    return run_pass(&pass, error);
}

static rer_status score(rer_scores *scores, rer_ratio_sums *sums, const rer_model *model, const rer_run *run,
                        bool left_out, rer_output *errors, rer_error *error)
{
    const rer_centroid *centroid = rer_centroid_of(model->state);
    int64_t C = run->C, D = run->D;
    double *mean = NULL;
    if (!can_score(scores, run, errors) || centroid->in_double || centroid->groups != NULL)
        return rer_passes_here.score(scores, sums, model, run, left_out, errors, error);
    rer_status status = rer_allocate(&mean, (C + 1) * D, sizeof *mean, "class means", error);
    if (status != RER_OK)
        return status;
    memcpy(mean, centroid->mean, (size_t)(C * D) * sizeof *mean);
    memcpy(mean + C * D, centroid->grand, (size_t)D * sizeof *mean);
    rer_device_model on_card = {
        .mean = mean,
        .root = centroid->root_real,
        .u = centroid->u,
        .norm = centroid->norm,
        .pairs = centroid->pairs,
        .n = centroid->n,
        .weight = centroid->weight,
        .left_out = left_out && !centroid->in_sample,
    };
    status = score_with(&on_card, scores, sums, model, run, left_out, error);
    free(mean);
    return status;
}

static rer_status score_networks(rer_scores *scores, rer_ratio_sums *sums, const rer_model *model, const rer_run *run,
                                 bool left_out, rer_output *errors, rer_error *error)
{
    const rer_device *device = run->device;
    const rer_autoencoder *state = model->state;
    rer_device_networks networks = {state->network, state->weights, left_out ? state->own : NULL};
    rer_device_model on_card = {.networks = &networks};
    if (!can_score(scores, run, errors) || !device->plugin->takes_networks(device->card, &state->network))
        return rer_passes_here.score(scores, sums, model, run, left_out, errors, error);
    return score_with(&on_card, scores, sums, model, run, left_out, error);
}

/* ---- near rows --------------------------------------------------------------------------- */

_Static_assert(RER_DEVICE_NEAR == RER_NEAR && RER_DEVICE_NEAR_KEPT == RER_NEAR_KEPT, "lists of one length");

/* The rows that may be near, by class: start [C + 1] of each in witness [N]. */
static void list_witnesses(int64_t *start, int32_t *witness, const rer_witnesses *witnesses, const rer_run *run)
{
    int64_t before = 0;
    for (int64_t i = 0; i < run->N; i++)
        if (rer_run_has_label(run, i) && rer_near_is_witness(witnesses, run, i))
            start[run->given[i]]++;
    for (int32_t c = 0; c <= run->C; c++) {
        int64_t count = c < run->C ? start[c] : 0;
        start[c] = before;
        before += count;
    }
    for (int64_t i = 0; i < run->N; i++)
        if (rer_run_has_label(run, i) && rer_near_is_witness(witnesses, run, i))
            witness[start[run->given[i]]++] = (int32_t)i;
    for (int32_t c = run->C; c > 0; c--) /* each start has become the next one */
        start[c] = start[c - 1];
    start[0] = 0;
}

static rer_status find_near(rer_near *near, const rer_witnesses *witnesses, const rer_run *run, rer_error *error)
{
    const rer_device *device = run->device;
    int64_t *ask_start = NULL, *asked = NULL, *start = NULL;
    int32_t *witness = NULL;
    if (!device->loaded || run->groups != NULL)
        return rer_near_here(near, witnesses, run, error);
    rer_room rooms[] = {RER_ROOM(ask_start, run->C + 1), RER_ROOM(asked, near->count * near->slots),
                        RER_ROOM(start, run->C + 1), RER_ROOM(witness, run->N)};
    rer_status status = rer_allocate_all(rooms, RER_COUNT(rooms), "rows to compare with", error);
    bool done = false;
    if (status == RER_OK) {
        rer_near_list_asked(ask_start, asked, near, run->C);
        list_witnesses(start, witness, witnesses, run);
        rer_device_near on_card = {
            .count = near->count,
            .slots = near->slots,
            .row = near->row,
            .x = near->x,
            .center = witnesses->center,
            .ask_start = ask_start,
            .asked = asked,
            .start = start,
            .witness = witness,
            .doubted = witnesses->doubted,
            .list = near->list,
            .trusted = near->trusted,
        };
        done = device->plugin->near(device->card, &on_card);
        status = rer_device_status(device, error);
    }
    RER_FREE_ALL(ask_start, asked, start, witness);
    return status == RER_OK && !done ? rer_near_here(near, witnesses, run, error) : status;
}

/* ---- the tables --------------------------------------------------------------------------- */

const rer_passes rer_passes_device = {
    .class_sums = add_class_sums,
    .scatter = add_scatter,
    .score = score,
    .near = find_near,
    .neighbors = rer_device_neighbors,
    .copies = rer_device_copies,
    .logistic_begin = rer_device_logistic_begin,
    .logistic_sums = rer_device_logistic_sums,
    .logistic_end = rer_device_logistic_end,
    .reads_rows = true,
};

/* Networks are fitted to rows that are scaled by what the first pass finds: the card has them when they are scored. */
const rer_passes rer_passes_networks = {
    .class_sums = rer_class_sums_add,
    .scatter = rer_scatter_add,
    .score = score_networks,
    .near = find_near,
    .copies = rer_device_copies,
    .train = rer_device_train,
    .reads_rows = true,
};
