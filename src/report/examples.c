/* Clean examples to compare a suspect with.
 *
 * 1. Of every class that a suspect has or should have, up to K clean rows are drawn at random.
 * 2. They are read once, scaled to unit length: [candidates, D].
 * 3. Each suspect is read, and the nearest candidates of its two classes are kept; where columns have names, those
 *    that tell the two apart are found from the candidates' values. */
#include "core/random.h"
#include "report/gallery.h"

enum { PER_CLASS_MAX = 128, PER_CLASS_MIN = 4, CANDIDATES_MAX = 1280 };

#define NUMBERS_MAX ((int64_t)1 << 24) /* of all candidates together */
#define CLEAN_LOGIT (-1.386F)          /* mistakenness below 0.2 */

typedef struct candidate {
    uint64_t key; /* random */
    int64_t row;
} candidate;

typedef struct pool_of_examples {
    const rer_result *result;
    const rer_run *run;
    rer_gallery *gallery;
    int32_t *slot;      /* [C] place of a class among those in use, or -1 */
    int64_t n_slots, K; /* candidates of a class at most */
    candidate *list;    /* [n_slots, K] */
    int64_t *count;     /* [n_slots] */
    float *x;           /* [n_slots, K, D], later of unit length */
    rer_typical typical;
} pool_of_examples;

static bool is_clean(const rer_result *result, int64_t row)
{
    return result->given[row] >= 0 && result->flags[row] == 0 && !isnan(result->own[row]) &&
           result->own[row] < result->other[row] && result->logit[row] < CLEAN_LOGIT;
}

/* Which classes suspects have or should have. */
static rer_status find_slots(pool_of_examples *p, rer_error *error)
{
    const rer_result *result = p->result;
    RER_TRY(rer_allocate(&p->slot, result->C, sizeof *p->slot, "classes", error));
    for (int32_t c = 0; c < result->C; c++)
        p->slot[c] = -1;
    for (int64_t i = 0; i < p->gallery->n_suspects; i++) {
        int64_t row = p->gallery->suspects[i];
        const int32_t pair[2] = {result->given[row], rer_suggested(result, row)};
        for (int k = 0; k < 2; k++)
            if (pair[k] >= 0 && p->slot[pair[k]] < 0)
                p->slot[pair[k]] = (int32_t)p->n_slots++;
    }
    int64_t n = rer_max(p->n_slots, 1), D = rer_max(p->run->D, 1);
    p->K = rer_min(CANDIDATES_MAX / n, NUMBERS_MAX / D / n);
    p->K = rer_max(PER_CLASS_MIN, rer_min(p->K, PER_CLASS_MAX));
    return RER_OK;
}

/* Keeps the K smallest keys of each class: a random choice that the order of the rows has no part in. */
static rer_status draw(pool_of_examples *p, rer_error *error)
{
    const rer_result *result = p->result;
    const rer_room rooms[] = {RER_ROOM(p->list, p->n_slots * p->K), RER_ROOM(p->count, p->n_slots)};
    RER_TRY(rer_allocate_all(rooms, RER_COUNT(rooms), "examples", error));
    for (int64_t row = 0; row < result->N; row++) {
        int32_t slot = result->given[row] >= 0 ? p->slot[result->given[row]] : -1;
        if (slot < 0 || !is_clean(result, row))
            continue;
        candidate *list = p->list + slot * p->K, new = {.row = row};
        new.key = rer_random_bits(result->options.seed, RER_RANDOM_EXAMPLE, (uint64_t)row, 0);
        int64_t at = p->count[slot];
        if (at == p->K && new.key >= list[at - 1].key)
            continue;
        at = at == p->K ? at - 1 : p->count[slot]++;
        for (; at > 0 && list[at - 1].key > new.key; at--) /* sorted by key */
            list[at] = list[at - 1];
        list[at] = new;
    }
    return RER_OK;
}

static void to_unit_length(const rer_run *run, float *x)
{
    double square = run->kernels->sum_squares(x, run->D);
    float scale = (float)(square > 0 && isfinite(square) ? 1 / sqrt(square) : 1);
    for (int64_t j = 0; j < run->D; j++)
        x[j] *= scale;
}

static rer_status read_candidate(void *context, int64_t item, void *scratch, rer_error *error)
{
    pool_of_examples *p = context;
    int64_t slot = item / p->K, k = item % p->K;
    float *x = p->x + item * p->run->D;
    if (k >= p->count[slot])
        return RER_OK;
    return rer_dataset_rows_read(p->run->data, p->list[item].row, 1, x, scratch, error);
}

/* What the candidates have in common, before their lengths are lost. */
static rer_status find_typical(pool_of_examples *p, rer_error *error)
{
    int64_t D = p->run->D, n = p->gallery->n_suspects * RER_TELLING;
    RER_TRY(rer_allocate(&p->gallery->telling, n, sizeof *p->gallery->telling, "telling columns", error));
    for (int64_t i = 0; i < n; i++)
        p->gallery->telling[i].column = -1;
    return rer_typical_find(&p->typical, p->x, p->count, p->n_slots, p->K, D, error);
}

/* The nearest candidates of class c to x, into out [RER_EXAMPLES]. */
static void find_nearest(const pool_of_examples *p, const float *x, int32_t c, int64_t self, int64_t *out)
{
    float near[PER_CLASS_MAX], best[RER_EXAMPLES];
    int found = 0;
    int64_t slot = c >= 0 ? p->slot[c] : -1, D = p->run->D;
    if (slot < 0 || p->count[slot] == 0)
        return;
    rer_multiply_f32(near, p->K, x, p->x + slot * p->K * D, 1, p->count[slot], D); /* of unit length: the cosines */
    for (int64_t k = 0; k < p->count[slot]; k++) {
        int64_t item = slot * p->K + k;
        if (p->list[item].row == self || (found == RER_EXAMPLES && !(near[k] > best[found - 1])))
            continue;
        int at = found < RER_EXAMPLES ? found++ : RER_EXAMPLES - 1;
        for (; at > 0 && best[at - 1] < near[k]; at--) {
            best[at] = best[at - 1];
            out[at] = out[at - 1];
        }
        best[at] = near[k];
        out[at] = p->list[item].row;
    }
}

static rer_status compare_suspect(void *context, int64_t item, void *memory, rer_error *error)
{
    const pool_of_examples *p = context;
    const rer_result *result = p->result;
    int64_t row = p->gallery->suspects[item], *out = p->gallery->examples + item * 2 * RER_EXAMPLES;
    rer_scratch scratch = rer_pool_scratch(p->run->pool, memory);
    rer_raw_rows raw = rer_raw_rows_take(p->run, 1, &scratch);
    RER_TRY(rer_dataset_rows_read(p->run->data, row, 1, raw.x, raw.reading, error));
    int32_t given = result->given[row], suggested = rer_suggested(result, row);
    if (p->gallery->telling != NULL && suggested >= 0 && p->count[p->slot[given]] > 0 &&
        p->count[p->slot[suggested]] > 0)
        rer_typical_tell(p->gallery->telling + item * RER_TELLING, &p->typical, raw.x, p->slot[given],
                         p->slot[suggested]);
    to_unit_length(p->run, raw.x);
    find_nearest(p, raw.x, given, row, out);
    find_nearest(p, raw.x, suggested, row, out + RER_EXAMPLES);
    return RER_OK;
}

/* A table's columns are shown where there is nothing else to look at. */
static bool tells_columns(const rer_dataset *data)
{
    return data->columns.count == data->D && !rer_thumbnails_are_possible(data) &&
           !rer_row_texts_are_there(&data->texts);
}

rer_status rer_gallery_examples(rer_gallery *gallery, const rer_result *result, const rer_run *run, rer_error *error)
{
    pool_of_examples p = {.result = result, .run = run, .gallery = gallery};
    if (gallery->n_suspects == 0)
        return RER_OK;
    rer_status status = find_slots(&p, error);
    RER_THEN(status, draw(&p, error));
    RER_THEN(status, rer_allocate(&p.x, p.n_slots * p.K * run->D, sizeof *p.x, "examples", error));
    rer_job read = {.stage = "reading examples",
                    .from = 0,
                    .to = 0,
                    .items = p.n_slots * p.K,
                    .scratch = rer_dataset_scratch(run->data, 1),
                    .work = read_candidate,
                    .context = &p};
    rer_job compare = {.stage = "comparing suspects",
                       .from = 0,
                       .to = 0,
                       .items = gallery->n_suspects,
                       .scratch = rer_raw_rows_scratch(run, 1),
                       .work = compare_suspect,
                       .context = &p};
    RER_THEN(status, rer_pool_run(run->pool, &read, error));
    if (status == RER_OK && tells_columns(run->data))
        status = find_typical(&p, error);
    for (int64_t i = 0; status == RER_OK && i < p.n_slots * p.K; i++)
        to_unit_length(run, p.x + i * run->D);
    RER_THEN(status, rer_pool_run(run->pool, &compare, error));
    rer_typical_free(&p.typical);
    RER_FREE_ALL(p.slot, p.list, p.count, p.x);
    return status;
}
