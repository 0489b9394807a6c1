/* Class by class, products of a stretch's rows with the rows that ask for that class: step 2 of near_rows.c. */
#include "score/near_stretch.h"

#include "core/scratch.h"

#include <math.h>
#include <string.h>

#define MANY 128      /* rows of which the likeliest are worth looking for first */
#define APART 1.2e-7F /* two steps of a float below 1 */
#define PIECE 32      /* asking rows of an item, and rows that they are compared with at a time */

/* ---- who is compared with whom ------------------------------------------------------------- */

/* Where each of the classes ends among `n` that are sorted by class; -1 is none of them. Whoever then puts them in from
 * the last one on, each before the end of its class, is left with where each begins. */
static void find_ends(int64_t *end, const int32_t *class, int64_t n, int32_t C)
{
    memset(end, 0, (size_t)(C + 1) * sizeof *end);
    for (int64_t i = 0; i < n; i++)
        if (class[i] >= 0)
            end[class[i]]++;
    for (int32_t c = 1; c <= C; c++)
        end[c] += end[c - 1];
}

void rer_near_list_asked(int64_t *start, int64_t *asked, const rer_near *near, int32_t C)
{
    int64_t places = near->count * near->slots;
    find_ends(start, near->class, places, C);
    for (int64_t i = places - 1; i >= 0; i--)
        if (near->class[i] >= 0)
            asked[--start[near->class[i]]] = i;
}

static rer_status list_items(rer_stretch *stretch, int32_t class, rer_error *error)
{
    int64_t end = stretch->ask_start[class + 1];
    for (int64_t a = stretch->ask_start[class]; a < end; a += PIECE) {
        rer_status status = rer_grow(&stretch->items, &stretch->capacity, stretch->n_items + 1, sizeof *stretch->items,
                                     "pieces", error);
        if (status != RER_OK)
            return status;
        stretch->items[stretch->n_items++] = (rer_near_item){class, a, rer_min(a + PIECE, end)};
    }
    return RER_OK;
}

/* Sorts the places of the stretch by class and lists what is to be compared. */
static rer_status plan(rer_stretch *stretch, int64_t rows, rer_error *error)
{
    int32_t C = stretch->run->C;
    rer_status status = RER_OK;
    find_ends(stretch->start, stretch->code, rows, C);
    for (int64_t i = rows - 1; i >= 0; i--)
        if (stretch->code[i] >= 0)
            stretch->order[--stretch->start[stretch->code[i]]] = (int32_t)i;
    stretch->n_items = 0;
    for (int32_t c = 0; status == RER_OK && c < C; c++)
        if (stretch->start[c] < stretch->start[c + 1])
            status = list_items(stretch, c, error);
    return status;
}

/* ---- products ------------------------------------------------------------------------------ */

static bool is_same_group(const rer_run *run, int64_t a, int64_t b)
{
    return run->groups != NULL && run->groups[a] >= 0 && run->groups[a] == run->groups[b];
}

/* A row of the stretch to the place asked[ask]. */
static void offer(const rer_stretch *stretch, int64_t ask, int32_t at, float product)
{
    rer_near *near = stretch->near;
    int64_t place = stretch->asked[ask], asking = near->row[place / near->slots];
    int64_t row = stretch->row[at], whole = stretch->run->first_row + row;
    rer_neighbor *list = near->list + place * RER_NEAR_KEPT;
    float *trusted = near->trusted + place * RER_NEAR, distance = 2 - 2 * product;
    distance = distance > 0 ? distance : 0;
    if (asking == whole || is_same_group(stretch->run, asking, row))
        return;
    (void)rer_keep_nearest(list, RER_NEAR_KEPT, RER_NEAR_KEPT, (rer_neighbor){distance, (int32_t)whole});
    if (!stretch->doubted[at])
        rer_near_keep(trusted, distance);
    /* Products of one distance lie a little apart, and the row's number decides between them. */
    stretch->bar[ask] = 1 - fmaxf(list[RER_NEAR_KEPT - 1].distance, trusted[RER_NEAR - 1]) / 2 - APART;
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
static void offer_rows(const rer_stretch *stretch, int64_t ask, const int32_t *order, int64_t n)
{
    int64_t D = stretch->run->D;
    const float *x = stretch->near->x + stretch->asked[ask] / stretch->near->slots * D, *y[4];
    float product[4];
    for (int64_t k = 0; k < n; k += 4) {
        for (int64_t l = 0; l < 4; l++) /* the last ones fill up what is missing */
            y[l] = stretch->x + (int64_t)order[rer_min(k + l, n - 1)] * D;
        stretch->run->kernels->channel->row_products(product, x, y, D);
        for (int64_t l = 0; l < rer_min(4, n - k); l++)
            if (product[l] >= stretch->bar[ask])
                offer(stretch, ask, order[k + l], product[l]);
    }
}

/* An asking row with those rows of the item's class, of n from `first` on, that may be near enough, `near` of them: of
 * many first the likeliest, then those that may still be when these are known. */
static void compare_row(const rer_stretch *stretch, const rer_near_item *item, int64_t ask, const float *most,
                        int32_t *at, int64_t first, int64_t n, int64_t near)
{
    const rer_coarse_kernels *kernels = stretch->coarse.kernels;
    int64_t start = stretch->start[item->class], end = stretch->start[item->class + 1];
    bool many = near >= MANY;
    float above = INFINITY, likely = many ? kernels->level(most, n, RER_NEAR_KEPT + 1) : -INFINITY;
    for (int turn = 0; turn < 1 + many; turn++) {
        float bar = rer_coarse_bar(&stretch->coarse, stretch->bar[ask]),
              from = turn == 0 && likely > bar ? likely : bar;
        int64_t found = kernels->between(at, most, from, above, n), kept = 0;
        for (int64_t i = 0; i < found; i++)
            if (first + at[i] >= start && first + at[i] < end)
                at[kept++] = stretch->order[first + at[i]];
        offer_rows(stretch, ask, at, kept);
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
static void compare_four(const rer_stretch *stretch, const rer_near_item *item, int64_t a, int64_t b, int64_t end)
{
    int64_t D = stretch->run->D;
    const float *x[4], *y[4];
    float product[16];
    for (int i = 0; i < 4; i++) /* the last ones fill up what is missing */
        x[i] = stretch->near->x + stretch->asked[rer_min(a + i, item->end - 1)] / stretch->near->slots * D;
    for (; b < end; b += 4) {
        for (int k = 0; k < 4; k++)
            y[k] = stretch->x + (int64_t)stretch->order[rer_min(b + k, end - 1)] * D;
        stretch->run->kernels->channel->products(product, x, y, D);
        for (int64_t i = 0; i < rer_min(4, item->end - a); i++)
            for (int64_t k = 0; k < rer_min(4, end - b); k++)
                if (product[4 * i + k] >= stretch->bar[a + i])
                    offer(stretch, a + i, stretch->order[b + k], product[4 * i + k]);
    }
}

/* RER_COARSE_ROWS of an item's asking rows, from `a` on, with n rows from `first` on: those that one may be near to. Among
 * copies of one row none is known to be too far: most are compared then, and all of them together cost less. */
static void compare_group(const rer_stretch *stretch, const rer_near_item *item, int64_t a, const coarse_scratch *parts,
                          int64_t first, int64_t n)
{
    int64_t query[RER_COARSE_ROWS], found[RER_COARSE_ROWS], near = 0, next = 0;
    int64_t end = rer_min(a + RER_COARSE_ROWS, item->end);
    for (int64_t i = 0; i < RER_COARSE_ROWS; i++) /* the last ones fill up what is missing */
        query[i] = stretch->asked[rer_min(a + i, item->end - 1)] / stretch->near->slots;
    rer_coarse_bounds(&stretch->coarse, parts->most, query, first, n);
    for (int64_t i = 0; a + i < end; i++) {
        float bar = rer_coarse_bar(&stretch->coarse, stretch->bar[a + i]), *most = parts->most + i * RER_COARSE_CHUNK;
        bool is_first = !isfinite(bar); /* nothing is known yet: all are looked at, the likeliest first */
        found[i] = is_first ? n : stretch->coarse.kernels->between(parts->at, most, bar, INFINITY, n);
        near += is_first ? 0 : found[i];
    }
    if (2 * near > (end - a) * n) {
        int64_t from = rer_max(first, stretch->start[item->class]),
                to = rer_min(first + n, stretch->start[item->class + 1]);
        for (; a < end; a += 4)
            compare_four(stretch, item, a, from, to);
        return;
    }
    for (int64_t i = 0; a + i < end; i = next) {
        for (next = i + 1; a + next < end && found[next] == 0;)
            next++;
        if (a + next < end)
            fetch_place(stretch->near, stretch->asked[a + next]);
        if (found[i] > 0)
            compare_row(stretch, item, a + i, parts->most + i * RER_COARSE_CHUNK, parts->at, first, n, found[i]);
    }
}

static void compare_coarse(const rer_stretch *stretch, const rer_near_item *item, void *memory)
{
    rer_scratch scratch = rer_scratch_over(memory, stretch->scratch);
    coarse_scratch parts = lay_out(&scratch);
    int64_t start = stretch->start[item->class], end = stretch->start[item->class + 1];
    for (int64_t first = start / RER_COARSE_ROWS * RER_COARSE_ROWS; first < end; first += RER_COARSE_CHUNK) {
        int64_t packs = (rer_min(end - first, RER_COARSE_CHUNK) + RER_COARSE_ROWS - 1) / RER_COARSE_ROWS;
        for (int64_t a = item->first; a < item->end; a += RER_COARSE_ROWS)
            compare_group(stretch, item, a, &parts, first, packs * RER_COARSE_ROWS);
    }
}

static rer_status compare_item(void *context, int64_t index, void *scratch, rer_error *error)
{
    (void)error;
    const rer_stretch *stretch = context;
    const rer_near_item *item = &stretch->items[index];
    int64_t end = stretch->start[item->class + 1];
    if (stretch->coarse.kernels != NULL) {
        compare_coarse(stretch, item, scratch);
        return RER_OK;
    }
    for (int64_t b = stretch->start[item->class]; b < end; b += PIECE) /* both pieces stay in the cache */
        for (int64_t a = item->first; a < item->end; a += 4)
            compare_four(stretch, item, a, b, rer_min(b + PIECE, end));
    return RER_OK;
}

rer_status rer_stretch_compare(rer_stretch *stretch, int64_t rows, double from, double to, rer_error *error)
{
    const rer_run *run = stretch->run;
    rer_scratch measure = RER_MEASURE;
    rer_status status = plan(stretch, rows, error);
    if (status == RER_OK && stretch->n_items > 0)
        status =
            rer_coarse_load(&stretch->coarse, stretch->x, stretch->order, stretch->start[run->C], run, from, error);
    (void)lay_out(&measure);
    stretch->scratch = measure.used;
    rer_job job = {.scratch = stretch->scratch,
                   .stage = "looking again",
                   .from = from,
                   .to = to,
                   .items = stretch->n_items,
                   .work = compare_item,
                   .context = stretch};
    return status == RER_OK ? rer_pool_run(run->pool, &job, error) : status;
}
