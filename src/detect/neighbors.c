/* The search, in steps:
 *   1. every pair of blocks once: products S = A B', each of which serves the lists of both blocks;
 *      for the list of row a, b counts by |b|^2 / 2 - a.b, which orders as |a - b|^2 does;
 *   2. the candidates of a row (some more than are wanted: float products may swap those at the
 *      edge) once more, exactly.
 * A list is the same in whatever order the pairs are done: candidates are strictly ordered. */
#include "detect/neighbors.h"

#include "detect/features.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#define SPARE 8
#define CANDIDATES (RER_LISTED + SPARE)
#define TILE 256 /* rows of A at a time: their products stay in the cache until both sides have seen them */
#define STRETCH 64

typedef struct search {
    rer_features features;
    int64_t blocks;
    float *half;              /* [N] half the squared length; infinite for rows that are not searched among */
    float *worst;             /* [N] of the list, FLT_MAX while it is not full */
    int32_t *used;            /* [N] */
    rer_neighbor *candidates; /* [N, CANDIDATES] */
    pthread_mutex_t *locks;   /* [blocks] of the lists of a block's rows */
    rer_neighbor *list;       /* [N, RER_LISTED] */
} search;

static bool is_searched(const rer_run *run, int64_t row)
{
    return rer_run_has_label(run, row);
}

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
    const float *half = s->half + b;
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
    const float half = s->half[a], *worst = s->worst + b;
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

/* Pairs in an order in which those that are worked on at the same time share no block: item is
 * step * blocks + i, for the blocks i and i + step (around the end). */
static int64_t count_pairs(int64_t blocks)
{
    return blocks * (blocks + 1) / 2;
}

static rer_status search_pair(void *context, int64_t item, void *scratch, rer_error *error)
{
    search *s = context;
    const rer_run *run = s->features.run;
    int64_t i = item % s->blocks, j = (i + item / s->blocks) % s->blocks, D = run->D;
    int64_t a = i * RER_BLOCK, b = j * RER_BLOCK;
    int64_t rows = rer_min(RER_BLOCK, run->N - a), columns = rer_min(RER_BLOCK, run->N - b);
    void *cursor = scratch;
    float *product = rer_carve(&cursor, TILE * RER_BLOCK * (int64_t)sizeof *product);
    const float *x = NULL, *y = NULL;
    rer_status status = rer_features_rows(&x, &s->features, a, rows, &cursor, error);
    if (status == RER_OK)
        status = rer_features_rows(&y, &s->features, b, columns, &cursor, error);
    for (int64_t first = 0; status == RER_OK && first < rows; first += TILE) {
        int64_t count = rer_min(TILE, rows - first);
        rer_multiply_f32(product, columns, x + first * D, y, count, columns, D);
        (void)pthread_mutex_lock(&s->locks[i]);
        for (int64_t r = 0; r < count; r++)
            offer_to_row(s, a + first + r, b, columns, product + r * columns);
        (void)pthread_mutex_unlock(&s->locks[i]);
        if (i == j)
            continue; /* both orders of a pair are in its products */
        (void)pthread_mutex_lock(&s->locks[j]);
        for (int64_t r = 0; r < count; r++)
            if (isfinite(s->half[a + first + r]))
                offer_row(s, a + first + r, b, columns, product + r * columns);
        (void)pthread_mutex_unlock(&s->locks[j]);
    }
    return status;
}

/* ---- 2. exactly ----------------------------------------------------------------------------- */

static rer_status refine_block(void *context, int64_t item, void *scratch, rer_error *error)
{
    search *s = context;
    const rer_run *run = s->features.run;
    int64_t D = run->D, first = item * RER_BLOCK, count = rer_min(RER_BLOCK, run->N - first);
    void *cursor = scratch;
    const float *x = NULL;
    rer_status status = rer_features_rows(&x, &s->features, first, count, &cursor, error);
    for (int64_t i = first; status == RER_OK && i < first + count; i++) {
        rer_neighbor *list = s->list + i * RER_LISTED;
        const float *row = x + (i - first) * D;
        double square = run->kernels->dot_f32(row, row, D);
        int64_t used = 0;
        for (int32_t e = 0; status == RER_OK && e < s->used[i]; e++) {
            void *row_cursor = cursor;
            const float *other = NULL;
            int32_t index = s->candidates[i * CANDIDATES + e].index;
            status = rer_features_rows(&other, &s->features, index, 1, &row_cursor, error);
            if (status == RER_OK) {
                double distance = square - 2 * run->kernels->dot_f32(row, other, D) +
                                  run->kernels->dot_f32(other, other, D); /* of doubles: 0 for equal rows */
                used = rer_keep_nearest(list, used, RER_LISTED, (rer_neighbor){(float)fmax(distance, 0), index});
            }
        }
        for (; used < RER_LISTED; used++)
            list[used] = (rer_neighbor){INFINITY, -1};
    }
    return status;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static rer_status measure_block(void *context, int64_t item, void *scratch, rer_error *error)
{
    search *s = context;
    const rer_run *run = s->features.run;
    int64_t first = item * RER_BLOCK, count = rer_min(RER_BLOCK, run->N - first);
    const float *x = NULL;
    rer_status status = rer_features_rows(&x, &s->features, first, count, &scratch, error);
    for (int64_t i = 0; status == RER_OK && i < count; i++) {
        s->worst[first + i] = FLT_MAX;
        s->half[first + i] =
            is_searched(run, first + i) ? (float)(run->kernels->sum_squares(x + i * run->D, run->D) / 2) : INFINITY;
    }
    return status;
}

static rer_status run_search(search *s, rer_error *error)
{
    int64_t block = rer_features_scratch(&s->features, rer_min(RER_BLOCK, s->features.run->N));
    rer_pool *pool = s->features.run->pool;
    rer_job measure = {
        .stage = "measuring rows", .items = s->blocks, .scratch = block, .work = measure_block, .context = s};
    rer_job pairs = {.stage = "finding neighbours",
                     .to = .95,
                     .items = count_pairs(s->blocks),
                     .scratch = 2 * block + TILE * RER_BLOCK * (int64_t)sizeof(float) + 64,
                     .work = search_pair,
                     .context = s};
    rer_job refine = {.stage = "finding neighbours",
                      .from = .95,
                      .to = 1,
                      .items = s->blocks,
                      .scratch = block + rer_features_scratch(&s->features, 1),
                      .work = refine_block,
                      .context = s};
    rer_status status = rer_pool_run(pool, &measure, error);
    if (status == RER_OK)
        status = rer_pool_run(pool, &pairs, error);
    if (status == RER_OK)
        status = rer_pool_run(pool, &refine, error);
    return status;
}

static rer_status allocate_search(search *s, int64_t N, rer_error *error)
{
    rer_status status = rer_allocate(&s->half, N, sizeof *s->half, "neighbours", error);
    if (status == RER_OK)
        status = rer_allocate(&s->worst, N, sizeof *s->worst, "neighbours", error);
    if (status == RER_OK)
        status = rer_allocate(&s->used, N, sizeof *s->used, "neighbours", error);
    if (status == RER_OK)
        status = rer_allocate(&s->candidates, N, CANDIDATES * (int64_t)sizeof *s->candidates, "neighbours", error);
    if (status == RER_OK)
        status = rer_allocate(&s->list, N, RER_LISTED * (int64_t)sizeof *s->list, "neighbours", error);
    if (status == RER_OK)
        status = rer_allocate(&s->locks, s->blocks, sizeof *s->locks, "neighbours", error);
    for (int64_t i = 0; status == RER_OK && i < s->blocks; i++)
        (void)pthread_mutex_init(&s->locks[i], NULL);
    return status;
}

static void free_search(search *s)
{
    rer_features_close(&s->features);
    for (int64_t i = 0; s->locks != NULL && i < s->blocks; i++)
        (void)pthread_mutex_destroy(&s->locks[i]);
    free(s->locks);
    free(s->half);
    free(s->worst);
    free(s->used);
    free(s->candidates);
    free(s->list);
}

rer_status rer_neighbors_find(rer_neighbors *neighbors, const rer_run *run, rer_error *error)
{
    search s = {.blocks = rer_run_blocks(run)};
    rer_neighbors made = {0};
    if (run->N > INT32_MAX)
        return rer_fail(error, RER_BAD_INPUT, "%s: %lld rows are too many to search for neighbours; at most %d are",
                        run->data->features.name, (long long)run->N, INT32_MAX);
    rer_status status = rer_features_open(&s.features, run, true, false, error);
    if (status == RER_OK)
        status = rer_features_keep(&s.features, NULL, run->N, error);
    if (status == RER_OK)
        status = allocate_search(&s, run->N, error);
    if (status == RER_OK)
        status = rer_allocate(&made.among, run->N, sizeof *made.among, "neighbours", error);
    if (status == RER_OK)
        status = run_search(&s, error);
    if (status == RER_OK) {
        for (int64_t row = 0; row < run->N; row++)
            made.among[row] = is_searched(run, row);
        made.list = s.list;
        s.list = NULL;
        *neighbors = made;
    } else {
        rer_neighbors_free(&made);
    }
    free_search(&s);
    return status;
}

bool rer_neighbors_hold(const rer_neighbors *neighbors, const rer_run *run)
{
    for (int64_t row = 0; neighbors->list != NULL && row < run->N; row++)
        if ((neighbors->among[row] != 0) != is_searched(run, row))
            return false;
    return neighbors->list != NULL;
}

void rer_neighbors_free(rer_neighbors *neighbors)
{
    free(neighbors->list);
    free(neighbors->among);
    *neighbors = (rer_neighbors){0};
}
