/* The search, in steps:
 *   1. every pair of blocks once: products S = A B', each of which serves the lists of both blocks;
 *      for the list of row a, b counts by |b|^2 / 2 - a.b, which orders as |a - b|^2 does;
 *   2. the candidates of a row (some more than are wanted: float products may swap those at the
 *      edge) once more, exactly.
 * A list is the same in whatever order the pairs are done: candidates are strictly ordered. */
#include "detect/neighbors.h"

#include "detect/pairs.h"

#include <float.h>
#include <pthread.h>

#define SPARE 8
#define CANDIDATES (RER_LISTED + SPARE)
#define STRETCH 64

typedef struct search {
    rer_pairs pairs;          /* of the rows that are searched among */
    float *worst;             /* [N] of the list, FLT_MAX while it is not full */
    int32_t *used;            /* [N] */
    rer_neighbor *candidates; /* [N, CANDIDATES] */
    pthread_mutex_t *locks;   /* [blocks] of the lists of a block's rows */
    rer_neighbor *list;       /* [N, RER_LISTED] the caller's */
} search;

/* ---- 1. candidates -------------------------------------------------------------------------- */

static void offer(search *s, int64_t to, int64_t row, float distance)
{
    rer_neighbor *list = s->candidates + to * CANDIDATES;
    if (to == row)
        return;
    s->used[to] = (int32_t)rer_keep_nearest(list, s->used[to], CANDIDATES, (rer_neighbor){distance, (int32_t)row});
    if (s->used[to] == CANDIDATES)
        s->worst[to] = list[CANDIDATES - 1].distance;
}

/* Products of row a with b..b+count-1, for the list of a. */
static void offer_to_row(search *s, int64_t a, int64_t b, int64_t count, const float *product)
{
    const float *half = s->pairs.half + b;
    for (int64_t first = 0; first < count; first += STRETCH) {
        int64_t last = rer_min(first + STRETCH, count);
        float worst = s->worst[a];
        int hit = 0;
#pragma omp simd reduction(| : hit)
        for (int64_t j = first; j < last; j++)
            hit |= half[j] - product[j] <= worst;
        for (int64_t j = first; hit != 0 && j < last; j++)
            if (half[j] - product[j] <= s->worst[a])
                offer(s, a, b + j, half[j] - product[j]);
    }
}

/* The same products, for the lists of b..b+count-1. */
static void offer_row(search *s, int64_t a, int64_t b, int64_t count, const float *product)
{
    const float half = s->pairs.half[a], *worst = s->worst + b;
    for (int64_t first = 0; first < count; first += STRETCH) {
        int64_t last = rer_min(first + STRETCH, count);
        int hit = 0;
#pragma omp simd reduction(| : hit)
        for (int64_t j = first; j < last; j++)
            hit |= half - product[j] <= worst[j];
        for (int64_t j = first; hit != 0 && j < last; j++)
            if (half - product[j] <= worst[j])
                offer(s, b + j, a, half - product[j]);
    }
}

/* The products of a tile, for the lists of both its blocks. */
static void search_tile(void *context, void *own, const rer_pair_tile *tile)
{
    (void)own;
    search *s = context;
    (void)pthread_mutex_lock(&s->locks[tile->i]);
    for (int64_t r = 0; r < tile->rows; r++)
        offer_to_row(s, tile->a + r, tile->b, tile->columns, tile->product + r * tile->columns);
    (void)pthread_mutex_unlock(&s->locks[tile->i]);
    if (tile->i == tile->j)
        return; /* both orders of a pair are in its products */
    (void)pthread_mutex_lock(&s->locks[tile->j]);
    for (int64_t r = 0; r < tile->rows; r++)
        if (isfinite(s->pairs.half[tile->a + r]))
            offer_row(s, tile->a + r, tile->b, tile->columns, tile->product + r * tile->columns);
    (void)pthread_mutex_unlock(&s->locks[tile->j]);
}

/* ---- 2. exactly ----------------------------------------------------------------------------- */

/* Memory for the rows of a block, and for one of another block. */
static rer_scratch lay_out(rer_scratch *one, const rer_features *features, rer_scratch *scratch)
{
    *one = rer_features_take(features, 1, scratch);
    return rer_features_take(features, rer_min(RER_BLOCK, features->run->N), scratch);
}

static rer_status refine_block(void *context, int64_t item, void *memory, rer_error *error)
{
    search *s = context;
    const rer_run *run = s->pairs.features.run;
    int64_t D = run->D, first = item * RER_BLOCK, count = rer_min(RER_BLOCK, run->N - first);
    rer_scratch scratch = rer_pool_scratch(run->pool, memory), one, block = lay_out(&one, &s->pairs.features, &scratch);
    const float *x = NULL;
    RER_TRY(rer_features_rows(&x, &s->pairs.features, first, count, block, error));
    for (int64_t i = first; i < first + count; i++) {
        rer_neighbor *list = s->list + i * RER_LISTED;
        const float *row = x + (i - first) * D;
        double square = run->kernels->dot_f32(row, row, D);
        int64_t used = 0;
        for (int32_t e = 0; e < s->used[i]; e++) {
            const float *other = NULL;
            int32_t index = s->candidates[i * CANDIDATES + e].index;
            RER_TRY(rer_features_rows(&other, &s->pairs.features, index, 1, one, error));
            double distance = square - 2 * run->kernels->dot_f32(row, other, D) +
                              run->kernels->dot_f32(other, other, D); /* of doubles: 0 for equal rows */
            used = rer_keep_nearest(list, used, RER_LISTED, (rer_neighbor){(float)fmax(distance, 0), index});
        }
        for (; used < RER_LISTED; used++)
            list[used] = (rer_neighbor){INFINITY, -1};
    }
    return RER_OK;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static rer_status run_search(search *s, rer_error *error)
{
    const rer_features *features = &s->pairs.features;
    rer_sweep sweep = {.stage = "finding neighbours", .to = .95, .take = search_tile, .context = s};
    rer_scratch measure = RER_MEASURE, one;
    (void)lay_out(&one, features, &measure);
    rer_job refine = {.stage = sweep.stage,
                      .from = .95,
                      .to = 1,
                      .items = s->pairs.blocks,
                      .scratch = measure.used,
                      .work = refine_block,
                      .context = s};
    RER_TRY(rer_pairs_sweep(&s->pairs, &sweep, error));
    return rer_pool_run(features->run->pool, &refine, error);
}

static rer_status allocate_search(search *s, int64_t N, rer_error *error)
{
    rer_room rooms[] = {
        RER_ROOM(s->worst, N),
        RER_ROOM(s->used, N),
        RER_ROOM(s->candidates, N * CANDIDATES),
        RER_ROOM(s->locks, s->pairs.blocks),
    };
    RER_TRY(rer_allocate_all(rooms, RER_COUNT(rooms), "neighbours", error));
    for (int64_t i = 0; i < s->pairs.blocks; i++)
        (void)pthread_mutex_init(&s->locks[i], NULL);
    for (int64_t row = 0; row < N; row++)
        s->worst[row] = FLT_MAX;
    return RER_OK;
}

static void free_search(search *s)
{
    for (int64_t i = 0; s->locks != NULL && i < s->pairs.blocks; i++)
        (void)pthread_mutex_destroy(&s->locks[i]);
    free(s->locks);
    rer_pairs_close(&s->pairs);
    RER_FREE_ALL(s->worst, s->used, s->candidates);
}

/* On the CPU: s->list. */
static rer_status search_here(search *s, const rer_run *run, rer_error *error)
{
    RER_TRY(rer_pairs_open(&s->pairs, run, false, rer_run_has_label, error));
    RER_TRY(allocate_search(s, run->N, error));
    return run_search(s, error);
}

rer_status rer_neighbors_find(rer_neighbors *neighbors, const rer_run *run, rer_error *error)
{
    const struct rer_passes *passes = run->passes;
    rer_neighbors made = {0};
    bool done = false;
    rer_room rooms[] = {RER_ROOM(made.among, run->N), RER_ROOM(made.list, run->N * RER_LISTED)};
    rer_status status = rer_allocate_all(rooms, RER_COUNT(rooms), "neighbours", error);
    for (int64_t row = 0; status == RER_OK && row < run->N; row++)
        made.among[row] = rer_run_has_label(run, row);
    if (status == RER_OK && passes != NULL && passes->neighbors != NULL)
        status = passes->neighbors(made.list, made.among, run, &done, error);
    if (status == RER_OK && !done) {
        search s = {.list = made.list};
        status = search_here(&s, run, error);
        free_search(&s);
    }
    if (status == RER_OK)
        *neighbors = made;
    else
        rer_neighbors_free(&made);
    return status;
}

bool rer_neighbors_hold(const rer_neighbors *neighbors, const rer_run *run)
{
    for (int64_t row = 0; neighbors->list != NULL && row < run->N; row++)
        if ((neighbors->among[row] != 0) != rer_run_has_label(run, row))
            return false;
    return neighbors->list != NULL;
}

void rer_neighbors_free(rer_neighbors *neighbors)
{
    RER_FREE_ALL(neighbors->list, neighbors->among);
    *neighbors = (rer_neighbors){0};
}
