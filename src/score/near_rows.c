/* The search, a stretch of rows at a time:
 *   1. witnesses, as many as there is room for, are read, centred and scaled to unit length (in parallel by blocks), and
 *      sorted by class. Who asks for a class is gone through once for each stretch that has rows of it, and the more of
 *      them it has the fewer turn out to be near only for a while: the rows are gone through in rounds, each for some of
 *      the classes, which are read alone where that costs no more;
 *   2. class by class, products of its rows with the rows that ask for that class (near_stretch.c, in parallel by
 *      pieces of those, each of which owns its lists); |a - b|^2 = 2 - 2 a.b. Where the processor is fast at it, only of
 *      those rows that are not known to be too far by their eight-bit likeness (coarse_rows.h).
 * A product has the same bits whatever it is computed together with (rer_channel_kernels.products), and candidates
 * are strictly ordered: lists do not depend on threads, memory, or where the rows lie. */
#include "score/near_stretch.h"

#include "core/random.h"
#include "run/passes.h"

#include <math.h>

/* Of a stretch: a quarter of all rows, in these limits. New pages cost more than rounds. */
#define STRETCH_LEAST (8 << 20)
#define STRETCH_MOST (48 << 20)
/* Rows of a class that a stretch has at least, about: where rows are read one by one, and where each round reads all.
 * ImageNet's shape, processor seconds of reading and comparing: 512 (21 rounds) 6.2, 1024 (42) 5.8, all 1,281 (53) 5.9;
 * reading all in each round 64 (three) 10.3. 1,000,000 x 128 x 100: 820 (one round) 4.5, all 8,192 (11) 4.8. */
#define AT_ONCE_ALONE 1024
#define AT_ONCE 64
#define FEW 4 /* witnesses of a block are few, and read one by one, if it has more than so many times their number */
#define LOADING .1  /* of the time of a stretch: reading its rows */
#define PLACES 8192 /* whose lists are emptied at a time */

typedef struct near_pass {
    rer_stretch stretch; /* the one under way; has room for `room` rows */
    const rer_witnesses *witnesses;
    bool at_hand;       /* rows may be read one by one */
    int64_t rounds;     /* over the rows, ... */
    int32_t *round_of;  /* ... [C] of each class, */
    int64_t round;      /* the one under way, */
    uint16_t *found;    /* and [rounds, blocks] witnesses of each */
    int64_t room;       /* witnesses of a stretch */
    int64_t first, end; /* blocks of the stretch under way, */
    int64_t *begin;     /* [end - first + 1] and where each block's witnesses begin in it */
} near_pass;

void rer_near_unit(float *unit, const float *x, double scale, const double *center, int64_t D,
                   const rer_kernels *kernels)
{
    double square = kernels->residual_f32(unit, x, scale, center, D);
    float factor = square > 0 ? (float)(1 / sqrt(square)) : 0;
    for (int64_t j = 0; j < D; j++)
        unit[j] *= factor;
}

/* ---- a stretch ---------------------------------------------------------------------------- */

bool rer_near_is_witness(const rer_witnesses *witnesses, const rer_run *run, int64_t row)
{
    int32_t class = run->given[row];
    if (class < 0 || (run->fitted != NULL && !run->fitted[row]))
        return false;
    if (witnesses->share[class] >= 1)
        return true;
    uint64_t place = (uint64_t)(run->first_row + row);
    return rer_random_uniform(witnesses->seed, RER_RANDOM_WITNESS, place, 0) < (double)witnesses->share[class];
}

/* The round that a row is a witness in, of a class that is asked for; -1: none. */
static int64_t round_of(const near_pass *pass, int64_t row)
{
    int32_t class = pass->stretch.run->given[row];
    bool asked = class >= 0 && pass->stretch.ask_start[class] < pass->stretch.ask_start[class + 1];
    return asked && rer_near_is_witness(pass->witnesses, pass->stretch.run, row) ? pass->round_of[class] : -1;
}

/* Whether a row may be a witness of the round under way: the quick part of round_of. */
static bool is_due(const near_pass *pass, int64_t row)
{
    int32_t class = pass->stretch.run->given[row];
    return class >= 0 && pass->round_of[class] == pass->round && round_of(pass, row) >= 0;
}

/* The witnesses of a block, for each of the rounds. */
static rer_status count_block(void *context, int64_t item, void *scratch, rer_error *error)
{
    (void)scratch, (void)error;
    const near_pass *pass = context;
    int64_t blocks = rer_run_blocks(pass->stretch.run);
    for (int64_t row = item * RER_BLOCK; row < rer_min((item + 1) * RER_BLOCK, pass->stretch.run->N); row++) {
        int64_t round = round_of(pass, row);
        if (round >= 0)
            pass->found[round * blocks + item]++;
    }
    return RER_OK;
}

/* Takes the blocks from `first` on whose witnesses there is room for. */
static void begin_stretch(near_pass *pass)
{
    int64_t all = rer_run_blocks(pass->stretch.run), item = 0;
    const uint16_t *found = pass->found + pass->round * all + pass->first;
    pass->begin[0] = 0;
    for (; pass->first + item < all && pass->begin[item] + found[item] <= pass->room; item++)
        pass->begin[item + 1] = pass->begin[item] + found[item];
    pass->end = pass->first + item;
}

static void keep_witness(const near_pass *pass, int64_t at, const rer_block *block, int64_t i)
{
    const rer_run *run = pass->stretch.run;
    int64_t D = run->D, row = block->first + i;
    pass->stretch.code[at] = rer_max(block->code[i], -1);
    pass->stretch.row[at] = (int32_t)row;
    pass->stretch.doubted[at] = pass->witnesses->doubted[row] != 0;
    rer_near_unit(pass->stretch.x + at * D, block->x + i * D, block->scale[i], pass->witnesses->center, D,
                  run->kernels);
}

/* One by one, each to the head of the block's rows. */
static rer_status load_few(const near_pass *pass, rer_block *block, int64_t item, rer_error *error)
{
    const rer_run *run = pass->stretch.run;
    int64_t at = pass->begin[item], end = pass->begin[item + 1];
    rer_status status = RER_OK;
    for (int64_t row = (pass->first + item) * RER_BLOCK; status == RER_OK && at < end; row++)
        if (is_due(pass, row)) {
            block->first = row;
            block->count = 1;
            status = rer_block_read_rows(block, run, pass->witnesses->normalizer, error);
            if (status == RER_OK)
                keep_witness(pass, at++, block, 0);
        }
    return status;
}

static rer_status load_block(void *context, int64_t item, void *memory, rer_error *error)
{
    const near_pass *pass = context;
    const rer_run *run = pass->stretch.run;
    int64_t at = pass->begin[item], count = pass->begin[item + 1] - at;
    rer_scratch scratch = rer_pool_scratch(run->pool, memory);
    rer_block block = rer_block_take(run, &scratch);
    if (count == 0)
        return RER_OK;
    if (pass->at_hand && FEW * count < RER_BLOCK)
        return load_few(pass, &block, item, error);
    rer_status status = rer_block_read(&block, run, pass->witnesses->normalizer, pass->first + item, error);
    for (int64_t i = 0; status == RER_OK && i < block.count; i++)
        if (is_due(pass, block.first + i))
            keep_witness(pass, at++, &block, i);
    return status;
}

/* ---- all of it --------------------------------------------------------------------------- */

static rer_status search_stretch(near_pass *pass, double from, double to, rer_error *error)
{
    const rer_run *run = pass->stretch.run;
    int64_t blocks = pass->end - pass->first;
    rer_job load = {.stage = "looking again",
                    .from = from,
                    .to = from + LOADING * (to - from),
                    .items = blocks,
                    .scratch = rer_block_scratch(run),
                    .work = load_block,
                    .context = pass};
    rer_status status = rer_pool_run(run->pool, &load, error);
    return status == RER_OK ? rer_stretch_compare(&pass->stretch, pass->begin[blocks], load.to, to, error) : status;
}

static rer_status allocate_pass(near_pass *pass, rer_error *error)
{
    int64_t C = pass->stretch.run->C, D = pass->stretch.run->D, rows = pass->room,
            blocks = rer_run_blocks(pass->stretch.run);
    rer_room rooms[] = {
        RER_ROOM(pass->round_of, C),
        RER_ROOM(pass->found, pass->rounds * blocks),
        RER_ROOM(pass->stretch.ask_start, C + 1),
        RER_UNSET(pass->stretch.asked, pass->stretch.near->count * pass->stretch.near->slots),
        RER_UNSET(pass->stretch.bar, pass->stretch.near->count * pass->stretch.near->slots),
        RER_ROOM(pass->begin, blocks + 1),
        RER_UNSET(pass->stretch.x, rows * D),
        RER_ROOM(pass->stretch.row, rows),
        RER_ROOM(pass->stretch.doubted, rows),
        RER_ROOM(pass->stretch.code, rows),
        RER_ROOM(pass->stretch.start, C + 1),
        RER_ROOM(pass->stretch.order, rows),
    };
    return rer_allocate_all(rooms, RER_COUNT(rooms), "rows to compare with", error);
}

/* As many as let a stretch have enough rows of its classes. */
static int64_t rounds_of(const near_pass *pass)
{
    int64_t C = pass->stretch.run->C, stretches = (pass->stretch.run->N + pass->room - 1) / pass->room;
    int64_t rows = pass->at_hand ? AT_ONCE_ALONE : AT_ONCE, enough = (C * rows + pass->room - 1) / pass->room;
    return rer_max(1, rer_min(rer_min(stretches, C), enough));
}

static rer_status count_witnesses(near_pass *pass, rer_error *error)
{
    int64_t C = pass->stretch.run->C;
    for (int64_t c = 0; c < C; c++)
        pass->round_of[c] = (int32_t)(c * pass->rounds / C);
    rer_job job = {.stage = "looking again",
                   .from = .8,
                   .to = .8,
                   .items = rer_run_blocks(pass->stretch.run),
                   .work = count_block,
                   .context = pass};
    return rer_pool_run(pass->stretch.run->pool, &job, error);
}

static rer_status search_rounds(near_pass *pass, rer_error *error)
{
    int64_t all = rer_run_blocks(pass->stretch.run);
    double span = .15 / (double)(all * pass->rounds);
    rer_status status = count_witnesses(pass, error);
    for (pass->round = 0; status == RER_OK && pass->round < pass->rounds; pass->round++) {
        double done = .8 + span * (double)(all * pass->round);
        for (pass->first = 0; status == RER_OK && pass->first < all; pass->first = pass->end) {
            begin_stretch(pass);
            status = search_stretch(pass, done + span * (double)pass->first, done + span * (double)pass->end, error);
        }
    }
    return status;
}

rer_status rer_near_here(rer_near *near, const rer_witnesses *witnesses, const rer_run *run, rer_error *error)
{
    int64_t all = rer_run_blocks(run), block = RER_BLOCK * run->D * (int64_t)sizeof(float);
    int64_t fit = rer_max(STRETCH_LEAST, rer_min(STRETCH_MOST, all * block / 4)) / block;
    int64_t room = rer_min(all, rer_max(1, fit)) * RER_BLOCK;
    near_pass pass = {.stretch = {.near = near, .run = run},
                      .witnesses = witnesses,
                      .room = room,
                      .at_hand = rer_dataset_is_at_hand(run->data)};
    pass.rounds = rounds_of(&pass);
    rer_status status = allocate_pass(&pass, error);
    if (status == RER_OK)
        status = rer_coarse_make(&pass.stretch.coarse, near->x, near->count, run->D, pass.room, run, .8, error);
    if (status == RER_OK)
        rer_near_list_asked(pass.stretch.ask_start, pass.stretch.asked, near, run->C);
    for (int64_t i = 0; status == RER_OK && i < near->count * near->slots; i++)
        pass.stretch.bar[i] = -INFINITY;
    if (status == RER_OK)
        status = search_rounds(&pass, error);
    RER_FREE_ALL(pass.round_of, pass.found, pass.stretch.ask_start, pass.stretch.asked, pass.stretch.bar, pass.begin,
                 pass.stretch.x, pass.stretch.row, pass.stretch.doubted, pass.stretch.code, pass.stretch.start,
                 pass.stretch.order, pass.stretch.items);
    rer_coarse_free(&pass.stretch.coarse);
    return status;
}

/* The lists of some places, empty: the first to touch their pages. */
static rer_status clear_lists(void *context, int64_t item, void *scratch, rer_error *error)
{
    (void)scratch, (void)error;
    const rer_near *near = context;
    int64_t first = item * PLACES, end = rer_min(first + PLACES, near->count * near->slots);
    for (int64_t i = first * RER_NEAR_KEPT; i < end * RER_NEAR_KEPT; i++)
        near->list[i] = (rer_neighbor){INFINITY, INT32_MAX};
    for (int64_t i = first * RER_NEAR; i < end * RER_NEAR; i++)
        near->trusted[i] = INFINITY;
    return RER_OK;
}

rer_status rer_near_search(rer_near *near, const rer_witnesses *witnesses, const rer_run *run, rer_error *error)
{
    int64_t places = near->count * near->slots;
    rer_job clear = {.stage = "looking again",
                     .from = .8,
                     .to = .8,
                     .items = (places + PLACES - 1) / PLACES,
                     .work = clear_lists,
                     .context = near};
    rer_status status = rer_pool_run(run->pool, &clear, error);
    return status == RER_OK ? run->passes->near(near, witnesses, run, error) : status;
}

void rer_near_merge(rer_near *near, const rer_neighbor *list, const float *trusted)
{
    int64_t places = near->count * near->slots;
    for (int64_t i = 0; i < places; i++) {
        for (int j = 0; j < RER_NEAR_KEPT; j++)
            (void)rer_keep_nearest(near->list + i * RER_NEAR_KEPT, RER_NEAR_KEPT, RER_NEAR_KEPT,
                                   list[i * RER_NEAR_KEPT + j]);
        for (int j = 0; j < RER_NEAR; j++)
            rer_near_keep(near->trusted + i * RER_NEAR, trusted[i * RER_NEAR + j]);
    }
}

rer_status rer_near_make_lists(rer_near *near, rer_error *error)
{
    int64_t places = near->count * near->slots;
    rer_room rooms[] = {RER_UNSET(near->list, places * RER_NEAR_KEPT), RER_UNSET(near->trusted, places * RER_NEAR)};
    return rer_allocate_all(rooms, RER_COUNT(rooms), "nearest rows", error);
}

rer_status rer_near_make(rer_near *near, int64_t count, int32_t slots, int64_t D, rer_error *error)
{
    rer_near made = {.count = count, .D = D, .slots = slots};
    int64_t places = count * slots, values = 0;
    if (!rer_product(count, D, &values))
        return rer_fail(error, RER_SYSTEM, "%lld features are too many", (long long)D);
    rer_room rooms[] = {RER_UNSET(made.row, count), RER_UNSET(made.x, values), RER_UNSET(made.class, places)};
    rer_status status = rer_allocate_all(rooms, RER_COUNT(rooms), "rows to look at", error);
    if (status == RER_OK)
        status = rer_near_make_lists(&made, error);
    if (status != RER_OK) {
        rer_near_free(&made);
        return status;
    }
    *near = made;
    return RER_OK;
}

void rer_near_free(rer_near *near)
{
    free(near->row);
    free(near->x);
    free(near->class);
    free(near->list);
    free(near->trusted);
    *near = (rer_near){0};
}
