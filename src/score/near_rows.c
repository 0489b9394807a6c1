/* The search, a stretch of rows at a time:
 *   1. witnesses, as many as there is room for, are read, centred and scaled to unit length (in parallel by blocks), and
 *      sorted by class. Who asks for a class is gone through once for each stretch that has rows of it: where classes
 *      are many, the rows are gone through in rounds, each for some of the classes;
 *   2. class by class, products of its rows with the rows that ask for that class (in parallel by pieces of
 *      those, each of which owns its lists); |a - b|^2 = 2 - 2 a.b. Where the processor is fast at it, only of those
 *      rows that are not known to be too far by their eight-bit likeness (coarse_rows.h).
 * A product has the same bits whatever it is computed together with (rer_channel_kernels.products), and candidates
 * are strictly ordered: lists do not depend on threads, memory, or where the rows lie. */
#include "score/near_rows.h"

#include "score/coarse_rows.h"

#include "core/random.h"
#include "core/scratch.h"
#include "run/passes.h"

#include <math.h>
#include <string.h>

#define STRETCH_BYTES (48 << 20)
/* Rows of a class that a stretch has at least, about. ImageNet's shape, processor seconds: 1 (one round) 39.3, 64 (three)
 * 37.0, 128 (six) 37.3. */
#define AT_ONCE 64
#define LOADING .1 /* of the time of a stretch: reading its rows */
#define MANY 128   /* rows of which the likeliest are worth looking for first */
#define PIECE 32   /* asking rows of an item, and rows that they are compared with at a time */

/* Some of those that ask for a class. */
typedef struct near_item {
    int32_t class;
    int64_t first, end; /* of the class's places in `asked` */
} near_item;

typedef struct near_pass {
    rer_near *near;
    const rer_witnesses *witnesses;
    const rer_run *run;
    int64_t *ask_start; /* [C + 1] of each class in ... */
    int64_t *asked;     /* ... query * slots + slot */
    float *bar;         /* and the products below which rows are too far for both lists of that place */
    int32_t low, high;  /* classes of the round under way */
    int64_t room;       /* witnesses of a stretch */
    int64_t first, end; /* blocks of the stretch under way */
    int64_t *begin;     /* [end - first + 1] of each block's witnesses in ... */
    float *x;           /* [room, D] their values, */
    int32_t *row;       /* [room] rows, */
    bool *doubted;      /* [room] marks, */
    int32_t *code;      /* [room] and classes, -1: invalid after all */
    int64_t *start;     /* [C + 1] of each class in ... */
    int32_t *order;     /* ... places in x */
    near_item *items;   /* [n_items] of the stretch */
    int64_t n_items, capacity;
    rer_coarse_rows coarse; /* of the stretch, in `order` */
    int64_t scratch;        /* of an item */
} near_pass;

void rer_near_unit(float *unit, const float *x, double scale, const double *center, int64_t D,
                   const rer_kernels *kernels)
{
    double square = kernels->residual_f32(unit, x, scale, center, D);
    float factor = square > 0 ? (float)(1 / sqrt(square)) : 0;
    for (int64_t j = 0; j < D; j++)
        unit[j] *= factor;
}

/* ---- 1. a stretch ------------------------------------------------------------------------ */

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

/* Of a class of this round that is asked for. */
static bool is_witness(const near_pass *pass, int64_t row)
{
    int32_t class = pass->run->given[row];
    return class >= pass->low && class < pass->high && pass->ask_start[class] < pass->ask_start[class + 1] &&
           rer_near_is_witness(pass->witnesses, pass->run, row);
}

/* Takes the blocks from `first` on whose witnesses there is room for. */
static void begin_stretch(near_pass *pass)
{
    const rer_run *run = pass->run;
    int64_t all = rer_run_blocks(run), item = 0;
    pass->begin[0] = 0;
    for (; pass->first + item < all; item++) {
        int64_t row = (pass->first + item) * RER_BLOCK, end = rer_min(row + RER_BLOCK, run->N), count = 0;
        for (; row < end; row++)
            count += is_witness(pass, row);
        if (pass->begin[item] + count > pass->room)
            break;
        pass->begin[item + 1] = pass->begin[item] + count;
    }
    pass->end = pass->first + item;
}

static rer_status load_block(void *context, int64_t item, void *scratch, rer_error *error)
{
    const near_pass *pass = context;
    const rer_run *run = pass->run;
    int64_t D = run->D, at = pass->begin[item];
    rer_block *block = scratch;
    if (at == pass->begin[item + 1])
        return RER_OK;
    rer_status status = rer_block_load(block, run, pass->witnesses->normalizer, pass->first + item, error);
    for (int64_t i = 0; status == RER_OK && i < block->count; i++) {
        if (!is_witness(pass, block->first + i))
            continue;
        pass->code[at] = rer_max(block->code[i], -1);
        pass->row[at] = (int32_t)(block->first + i);
        pass->doubted[at] = pass->witnesses->doubted[block->first + i] != 0;
        rer_near_unit(pass->x + at * D, block->x + i * D, block->scale[i], pass->witnesses->center, D, run->kernels);
        at++;
    }
    return status;
}

/* Sorts the places of the stretch by class and lists what is to be compared. */
static rer_status plan_stretch(near_pass *pass, int64_t rows, rer_error *error)
{
    int32_t C = pass->run->C;
    rer_status status = RER_OK;
    memset(pass->start, 0, (size_t)(C + 1) * sizeof *pass->start);
    for (int64_t i = 0; i < rows; i++)
        if (pass->code[i] >= 0)
            pass->start[pass->code[i]]++;
    int64_t before = 0;
    for (int32_t c = 0; c <= C; c++) {
        int64_t count = c < C ? pass->start[c] : 0;
        pass->start[c] = before;
        before += count;
    }
    for (int64_t i = 0; i < rows; i++)
        if (pass->code[i] >= 0)
            pass->order[pass->start[pass->code[i]]++] = (int32_t)i;
    for (int32_t c = C; c > 0; c--) /* each start has become the next one */
        pass->start[c] = pass->start[c - 1];
    pass->start[0] = 0;
    pass->n_items = 0;
    for (int32_t c = 0; status == RER_OK && c < C; c++) {
        int64_t end = pass->ask_start[c + 1];
        if (pass->start[c] == pass->start[c + 1])
            continue;
        for (int64_t a = pass->ask_start[c]; status == RER_OK && a < end; a += PIECE) {
            status = rer_grow(&pass->items, &pass->capacity, pass->n_items + 1, sizeof *pass->items, "pieces", error);
            if (status == RER_OK)
                pass->items[pass->n_items++] = (near_item){c, a, rer_min(a + PIECE, end)};
        }
    }
    return status;
}

/* ---- 2. products ------------------------------------------------------------------------- */

static void keep_distance(float *list, float distance)
{
    int at = RER_NEAR - 1;
    if (!(distance < list[at]))
        return;
    for (; at > 0 && distance < list[at - 1]; at--)
        list[at] = list[at - 1];
    list[at] = distance;
}

static bool is_same_group(const rer_run *run, int64_t a, int64_t b)
{
    return run->groups != NULL && run->groups[a] >= 0 && run->groups[a] == run->groups[b];
}

/* A row of the stretch to the place asked[ask]. */
static void offer(const near_pass *pass, int64_t ask, int32_t at, float product)
{
    rer_near *near = pass->near;
    int64_t place = pass->asked[ask], asking = near->row[place / near->slots];
    int64_t row = pass->row[at], whole = pass->run->first_row + row;
    rer_neighbor *list = near->list + place * RER_NEAR_KEPT;
    float *trusted = near->trusted + place * RER_NEAR, distance = 2 - 2 * product;
    distance = distance > 0 ? distance : 0;
    if (asking == whole || is_same_group(pass->run, asking, row))
        return;
    (void)rer_keep_nearest(list, RER_NEAR_KEPT, RER_NEAR_KEPT, (rer_neighbor){distance, (int32_t)whole});
    if (!pass->doubted[at])
        keep_distance(trusted, distance);
    pass->bar[ask] = 1 - fmaxf(list[RER_NEAR_KEPT - 1].distance, trusted[RER_NEAR - 1]) / 2;
}

typedef struct coarse_scratch {
    float *most; /* [RER_COARSE_ROWS, RER_COARSE_CHUNK] */
    int32_t *at; /* [RER_COARSE_CHUNK] */
} coarse_scratch;

static coarse_scratch lay_out(rer_scratch *scratch)
{
    return (coarse_scratch){.most = rer_take(scratch, RER_COARSE_ROWS * RER_COARSE_CHUNK, sizeof(float)),
                            .at = rer_take(scratch, RER_COARSE_CHUNK, sizeof(int32_t))};
}

/* Products of an asking row with rows of the stretch, in fours. */
static void offer_rows(const near_pass *pass, int64_t ask, const int32_t *order, int64_t n)
{
    int64_t D = pass->run->D;
    const float *x = pass->near->x + pass->asked[ask] / pass->near->slots * D, *y[4];
    float product[4];
    for (int64_t k = 0; k < n; k += 4) {
        for (int64_t l = 0; l < 4; l++) /* the last ones fill up what is missing */
            y[l] = pass->x + (int64_t)order[rer_min(k + l, n - 1)] * D;
        pass->run->kernels->channel->row_products(product, x, y, D);
        for (int64_t l = 0; l < rer_min(4, n - k); l++)
            if (product[l] >= pass->bar[ask])
                offer(pass, ask, order[k + l], product[l]);
    }
}

/* An asking row with those rows of the item's class, of n from `first` on, that may be near enough: of many first the
 * likeliest, then those that may still be when these are known. */
static void compare_row(const near_pass *pass, const near_item *item, int64_t ask, const float *most, int32_t *at,
                        int64_t first, int64_t n)
{
    const rer_coarse_kernels *kernels = pass->coarse.kernels;
    int64_t start = pass->start[item->class], end = pass->start[item->class + 1];
    bool many = n >= MANY;
    float above = INFINITY, likely = many ? kernels->level(most, n, RER_NEAR_KEPT + 1) : -INFINITY;
    for (int turn = 0; turn < 1 + many; turn++) {
        float bar = rer_coarse_bar(&pass->coarse, pass->bar[ask]), from = turn == 0 && likely > bar ? likely : bar;
        int64_t found = kernels->between(at, most, from, above, n), kept = 0;
        for (int64_t i = 0; i < found; i++)
            if (first + at[i] >= start && first + at[i] < end)
                at[kept++] = pass->order[first + at[i]];
        offer_rows(pass, ask, at, kept);
        above = from;
    }
}

/* Asking rows are many and far apart: what is known of the next one is on its way while this one is compared. */
static void fetch_place(const rer_near *near, int64_t place)
{
    const float *x = near->x + place / near->slots * near->D;
    const char *list = (const char *)(near->list + place * RER_NEAR_KEPT);
    for (int64_t j = 0; j < near->D; j += 16)
        __builtin_prefetch(x + j);
    __builtin_prefetch(list);
    __builtin_prefetch(list + 64);
}

/* Four asking rows, at `a`, with the class's rows b..end-1. */
static void compare_four(const near_pass *pass, const near_item *item, int64_t a, int64_t b, int64_t end)
{
    int64_t D = pass->run->D;
    const float *x[4], *y[4];
    float product[16];
    for (int i = 0; i < 4; i++) /* the last ones fill up what is missing */
        x[i] = pass->near->x + pass->asked[rer_min(a + i, item->end - 1)] / pass->near->slots * D;
    for (; b < end; b += 4) {
        for (int k = 0; k < 4; k++)
            y[k] = pass->x + (int64_t)pass->order[rer_min(b + k, end - 1)] * D;
        pass->run->kernels->channel->products(product, x, y, D);
        for (int64_t i = 0; i < rer_min(4, item->end - a); i++)
            for (int64_t k = 0; k < rer_min(4, end - b); k++)
                if (product[4 * i + k] >= pass->bar[a + i])
                    offer(pass, a + i, pass->order[b + k], product[4 * i + k]);
    }
}

/* RER_COARSE_ROWS of an item's asking rows, from `a` on, with n rows from `first` on: those that one may be near to. Among
 * copies of one row none is known to be too far: most are compared then, and all of them together cost less. */
static void compare_group(const near_pass *pass, const near_item *item, int64_t a, const coarse_scratch *parts,
                          int64_t first, int64_t n)
{
    int64_t query[RER_COARSE_ROWS], ask[RER_COARSE_ROWS], count = 0, near = 0;
    int64_t end = rer_min(a + RER_COARSE_ROWS, item->end);
    for (int64_t i = 0; i < RER_COARSE_ROWS; i++) /* the last ones fill up what is missing */
        query[i] = pass->asked[rer_min(a + i, item->end - 1)] / pass->near->slots;
    rer_coarse_bounds(&pass->coarse, parts->most, query, first, n);
    for (int64_t i = 0; a + i < end; i++) {
        float bar = rer_coarse_bar(&pass->coarse, pass->bar[a + i]), *most = parts->most + i * RER_COARSE_CHUNK;
        bool is_first = !isfinite(bar); /* nothing is known yet: all are looked at, the likeliest first */
        int64_t found = is_first ? 0 : pass->coarse.kernels->between(parts->at, most, bar, INFINITY, n);
        near += found;
        if (is_first || found > 0)
            ask[count++] = a + i;
    }
    if (2 * near > (end - a) * n) {
        int64_t from = rer_max(first, pass->start[item->class]), to = rer_min(first + n, pass->start[item->class + 1]);
        for (; a < end; a += 4)
            compare_four(pass, item, a, from, to);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        if (i + 1 < count)
            fetch_place(pass->near, pass->asked[ask[i + 1]]);
        compare_row(pass, item, ask[i], parts->most + (ask[i] - a) * RER_COARSE_CHUNK, parts->at, first, n);
    }
}

static void compare_coarse(const near_pass *pass, const near_item *item, void *memory)
{
    rer_scratch scratch = rer_scratch_over(memory, pass->scratch);
    coarse_scratch parts = lay_out(&scratch);
    int64_t start = pass->start[item->class], end = pass->start[item->class + 1];
    for (int64_t first = start / RER_COARSE_ROWS * RER_COARSE_ROWS; first < end; first += RER_COARSE_CHUNK) {
        int64_t packs = (rer_min(end - first, RER_COARSE_CHUNK) + RER_COARSE_ROWS - 1) / RER_COARSE_ROWS;
        for (int64_t a = item->first; a < item->end; a += RER_COARSE_ROWS)
            compare_group(pass, item, a, &parts, first, packs * RER_COARSE_ROWS);
    }
}

static rer_status compare_item(void *context, int64_t index, void *scratch, rer_error *error)
{
    (void)error;
    const near_pass *pass = context;
    const near_item *item = &pass->items[index];
    int64_t end = pass->start[item->class + 1];
    if (pass->coarse.kernels != NULL) {
        compare_coarse(pass, item, scratch);
        return RER_OK;
    }
    for (int64_t b = pass->start[item->class]; b < end; b += PIECE) /* both pieces stay in the cache */
        for (int64_t a = item->first; a < item->end; a += 4)
            compare_four(pass, item, a, b, rer_min(b + PIECE, end));
    return RER_OK;
}

/* ---- all of it --------------------------------------------------------------------------- */

static rer_status search_stretch(near_pass *pass, double from, double to, rer_error *error)
{
    const rer_run *run = pass->run;
    int64_t blocks = pass->end - pass->first;
    rer_job load = {.stage = "looking again",
                    .from = from,
                    .to = from + LOADING * (to - from),
                    .items = blocks,
                    .scratch = rer_block_scratch(run),
                    .work = load_block,
                    .context = pass};
    rer_status status = rer_pool_run(run->pool, &load, error);
    if (status == RER_OK)
        status = plan_stretch(pass, pass->begin[blocks], error);
    if (status == RER_OK && pass->n_items > 0)
        status = rer_coarse_load(&pass->coarse, pass->x, pass->order, pass->start[run->C], run, load.to, error);
    rer_scratch measure = RER_MEASURE;
    (void)lay_out(&measure);
    pass->scratch = measure.used;
    rer_job compare = {.scratch = pass->scratch,
                       .stage = load.stage,
                       .from = load.to,
                       .to = to,
                       .items = pass->n_items,
                       .work = compare_item,
                       .context = pass};
    return status == RER_OK ? rer_pool_run(run->pool, &compare, error) : status;
}

void rer_near_list_asked(int64_t *start, int64_t *asked, const rer_near *near, int32_t C)
{
    int64_t places = near->count * near->slots, before = 0;
    memset(start, 0, (size_t)(C + 1) * sizeof *start);
    for (int64_t i = 0; i < places; i++)
        if (near->class[i] >= 0)
            start[near->class[i]]++;
    for (int32_t c = 0; c <= C; c++) {
        int64_t count = c < C ? start[c] : 0;
        start[c] = before;
        before += count;
    }
    for (int64_t i = 0; i < places; i++)
        if (near->class[i] >= 0)
            asked[start[near->class[i]]++] = i;
    for (int32_t c = C; c > 0; c--) /* each start has become the next one */
        start[c] = start[c - 1];
    start[0] = 0;
}

static rer_status allocate_pass(near_pass *pass, rer_error *error)
{
    int64_t C = pass->run->C, D = pass->run->D, rows = pass->room;
    rer_room rooms[] = {
        RER_ROOM(pass->ask_start, C + 1),
        RER_ROOM(pass->asked, pass->near->count * pass->near->slots),
        RER_ROOM(pass->bar, pass->near->count * pass->near->slots),
        RER_ROOM(pass->begin, rer_run_blocks(pass->run) + 1),
        RER_ROOM(pass->x, rows * D),
        RER_ROOM(pass->row, rows),
        RER_ROOM(pass->doubted, rows),
        RER_ROOM(pass->code, rows),
        RER_ROOM(pass->start, C + 1),
        RER_ROOM(pass->order, rows),
    };
    return rer_allocate_all(rooms, RER_COUNT(rooms), "rows to compare with", error);
}

/* The rows once more for each of the rounds that let a stretch have enough of each class. */
static rer_status search_rounds(near_pass *pass, rer_error *error)
{
    const rer_run *run = pass->run;
    int64_t all = rer_run_blocks(run), stretches = (run->N + pass->room - 1) / pass->room;
    int64_t rounds = rer_max(1, rer_min(stretches, ((int64_t)run->C * AT_ONCE + pass->room - 1) / pass->room));
    double span = .15 / (double)(all * rounds);
    rer_status status = RER_OK;
    for (int64_t round = 0; status == RER_OK && round < rounds; round++) {
        pass->low = (int32_t)(run->C * round / rounds);
        pass->high = (int32_t)(run->C * (round + 1) / rounds);
        for (pass->first = 0; status == RER_OK && pass->first < all; pass->first = pass->end) {
            double done = .8 + span * (double)(all * round);
            begin_stretch(pass);
            status = search_stretch(pass, done + span * (double)pass->first, done + span * (double)pass->end, error);
        }
    }
    return status;
}

rer_status rer_near_here(rer_near *near, const rer_witnesses *witnesses, const rer_run *run, rer_error *error)
{
    int64_t all = rer_run_blocks(run), fit = STRETCH_BYTES / (RER_BLOCK * run->D * (int64_t)sizeof(float));
    int64_t room = rer_min(all, rer_max(1, fit)) * RER_BLOCK;
    near_pass pass = {.near = near, .witnesses = witnesses, .run = run, .room = room};
    rer_status status = allocate_pass(&pass, error);
    if (status == RER_OK)
        status = rer_coarse_make(&pass.coarse, near->x, near->count, run->D, pass.room, run, .8, error);
    if (status == RER_OK)
        rer_near_list_asked(pass.ask_start, pass.asked, near, run->C);
    for (int64_t i = 0; status == RER_OK && i < near->count * near->slots; i++)
        pass.bar[i] = -INFINITY;
    if (status == RER_OK)
        status = search_rounds(&pass, error);
    free(pass.ask_start);
    free(pass.asked);
    free(pass.bar);
    free(pass.begin);
    free(pass.x);
    free(pass.row);
    free(pass.doubted);
    free(pass.code);
    free(pass.start);
    free(pass.order);
    free(pass.items);
    rer_coarse_free(&pass.coarse);
    return status;
}

rer_status rer_near_search(rer_near *near, const rer_witnesses *witnesses, const rer_run *run, rer_error *error)
{
    int64_t places = near->count * near->slots;
    for (int64_t i = 0; i < places * RER_NEAR_KEPT; i++)
        near->list[i] = (rer_neighbor){INFINITY, INT32_MAX};
    for (int64_t i = 0; i < places * RER_NEAR; i++)
        near->trusted[i] = INFINITY;
    return run->passes->near(near, witnesses, run, error);
}

void rer_near_merge(rer_near *near, const rer_neighbor *list, const float *trusted)
{
    int64_t places = near->count * near->slots;
    for (int64_t i = 0; i < places; i++) {
        for (int j = 0; j < RER_NEAR_KEPT; j++)
            (void)rer_keep_nearest(near->list + i * RER_NEAR_KEPT, RER_NEAR_KEPT, RER_NEAR_KEPT,
                                   list[i * RER_NEAR_KEPT + j]);
        for (int j = 0; j < RER_NEAR; j++)
            keep_distance(near->trusted + i * RER_NEAR, trusted[i * RER_NEAR + j]);
    }
}

rer_status rer_near_make_lists(rer_near *near, rer_error *error)
{
    int64_t places = near->count * near->slots;
    rer_room rooms[] = {RER_ROOM(near->list, places * RER_NEAR_KEPT), RER_ROOM(near->trusted, places * RER_NEAR)};
    return rer_allocate_all(rooms, RER_COUNT(rooms), "nearest rows", error);
}

rer_status rer_near_make(rer_near *near, int64_t count, int32_t slots, int64_t D, rer_error *error)
{
    rer_near made = {.count = count, .D = D, .slots = slots};
    int64_t places = count * slots, values = 0;
    if (!rer_product(count, D, &values))
        return rer_fail(error, RER_SYSTEM, "%lld features are too many", (long long)D);
    rer_room rooms[] = {RER_ROOM(made.row, count), RER_ROOM(made.x, values), RER_ROOM(made.class, places)};
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
