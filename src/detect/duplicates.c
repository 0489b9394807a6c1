/* The search, on rows of unit length around their mean (an offset that all rows share costs no digits):
 *   1. where the angle is to be chosen: that of sampled rows to their nearest one;
 *   2. every pair of blocks once: products A B', |a - b|^2 = |a|^2 + |b|^2 - 2 a.b; pairs near the limit
 *      once more in double; a block pair leaves a forest of at most 2 RER_BLOCK - 1 edges;
 *   3. the forests joined in item order (union-find): memory O(N), however many pairs there are.
 *
 * The angle from the data. Copies are much nearer than what is merely alike: below a fifth of the upper
 * quartile q of the angles to the nearest row, and below q exp(-8 s), s the spread of their logarithm,
 * measured above the quartile, (log q95 - log q75) / .970. So up to three quarters of the rows may be
 * copies, and data of few dimensions, where rows come near each other by chance, gets a smaller angle. */
#include "detect/duplicates.h"

#include "detect/pairs.h"
#include "run/passes.h"
#include "stats/order.h"

#define SAMPLE 1024
#define SMALL_SHARE .2
#define SPREADS 8.0
#define ANGLE_LEAST .01 /* degrees: rows that differ by rounding */
#define FLOAT_SLACK 1e-5F
#define TILE 256
#define DEGREE (M_PI / 180)

typedef struct search {
    rer_pairs pairs;
    int32_t *group;  /* [N] union-find: towards the smallest row of the group */
    double angle;    /* asked for, or chosen; in degrees */
    double limit;    /* of |a - b|^2 */
    int64_t sampled; /* 0: no angle is to be chosen */
    int64_t *row;    /* [sampled] ascending */
    float *x;        /* [sampled, D] */
    float *nearest;  /* [sampled] squared distance */
} search;

static int32_t find_root(int32_t *group, int32_t row)
{
    while (group[row] != row)
        row = group[row] = group[group[row]];
    return row;
}

static void join(int32_t *group, int32_t a, int32_t b)
{
    a = find_root(group, a);
    b = find_root(group, b);
    group[a > b ? a : b] = a > b ? b : a;
}

/* ---- 1. the angle ------------------------------------------------------------------------- */

static rer_status gather_sample(search *s, rer_error *error)
{
    const rer_run *run = s->pairs.features.run;
    rer_scratch room = RER_MEASURE;
    (void)rer_features_take(&s->pairs.features, 1, &room);
    room = rer_scratch_over(NULL, room.used);
    rer_status status = rer_allocate(&room.base, room.size, 1, "sampled rows", error);
    if (status == RER_OK)
        status = rer_allocate(&s->x, s->sampled * run->D, sizeof *s->x, "sampled rows", error);
    for (int64_t i = 0; status == RER_OK && i < s->sampled; i++) {
        const float *x = NULL;
        s->nearest[i] = INFINITY;
        status = rer_features_rows(&x, &s->pairs.features, s->row[i], 1, room, error);
        if (status == RER_OK)
            memcpy(s->x + i * run->D, x, (size_t)run->D * sizeof *x);
    }
    free(room.base);
    return status;
}

typedef struct near_scratch {
    float *nearest; /* [sampled] of the block's rows to each sampled one */
    float *product; /* [TILE, RER_BLOCK] */
    rer_scratch rows;
} near_scratch;

static near_scratch lay_out(const search *s, rer_scratch *scratch)
{
    near_scratch parts = {.nearest = rer_take(scratch, s->sampled, sizeof(float))};
    parts.product = rer_take(scratch, TILE * RER_BLOCK, sizeof *parts.product);
    parts.rows = rer_features_take(&s->pairs.features, rer_min(RER_BLOCK, s->pairs.features.run->N), scratch);
    return parts;
}

static rer_status near_block(void *context, int64_t item, void *memory, rer_error *error)
{
    search *s = context;
    const rer_run *run = s->pairs.features.run;
    int64_t first = item * RER_BLOCK, count = rer_min(RER_BLOCK, run->N - first);
    const float *y = NULL;
    rer_scratch scratch = rer_pool_scratch(run->pool, memory);
    near_scratch parts = lay_out(s, &scratch);
    RER_TRY(rer_features_rows(&y, &s->pairs.features, first, count, parts.rows, error));
    for (int64_t from = 0; from < s->sampled; from += TILE) {
        int64_t rows = rer_min(TILE, s->sampled - from);
        rer_multiply_f32(parts.product, count, s->x + from * run->D, y, rows, count, run->D);
        for (int64_t i = 0; i < rows; i++) {
            float best = INFINITY, half = s->pairs.half[s->row[from + i]];
            for (int64_t j = 0; j < count; j++) {
                float near = half + s->pairs.half[first + j] - parts.product[i * count + j];
                if (near < best && first + j != s->row[from + i])
                    best = near;
            }
            parts.nearest[from + i] = 2 * fmaxf(best, 0);
        }
    }
    return RER_OK;
}

static rer_status commit_near(void *context, int64_t item, void *scratch, rer_error *error)
{
    search *s = context;
    const float *nearest = scratch;
    (void)item, (void)error;
    for (int64_t i = 0; i < s->sampled; i++)
        s->nearest[i] = fminf(s->nearest[i], nearest[i]);
    return RER_OK;
}

static double to_degrees(double square)
{
    return 2 * asin(fmin(1, sqrt(square) / 2)) / DEGREE;
}

static double choose_angle(search *s)
{
    int64_t n = 0;
    for (int64_t i = 0; i < s->sampled; i++)
        if (isfinite(s->nearest[i]))
            s->nearest[n++] = s->nearest[i];
    if (n == 0)
        return ANGLE_LEAST;
    rer_sort_floats(s->nearest, n);
    double q75 = to_degrees((double)s->nearest[(int64_t)(.75 * (double)(n - 1))]);
    double q95 = to_degrees((double)s->nearest[(int64_t)(.95 * (double)(n - 1))]);
    double spread = q75 > 0 ? log(q95 / q75) / .970 : 0;
    return fmax(ANGLE_LEAST, q75 * fmin(SMALL_SHARE, exp(-SPREADS * spread)));
}

/* Once the nearest rows of the sampled ones are known. */
static double set_limit(void *context)
{
    search *s = context;
    if (s->sampled > 0)
        s->angle = choose_angle(s);
    s->limit = 4 * pow(sin(s->angle * DEGREE / 2), 2);
    return s->limit;
}

static rer_status sample_nearest(search *s, rer_error *error)
{
    const rer_run *run = s->pairs.features.run;
    rer_scratch measure = RER_MEASURE;
    (void)lay_out(s, &measure);
    rer_job job = {.stage = "finding copies",
                   .to = .2,
                   .items = s->pairs.blocks,
                   .scratch = measure.used,
                   .work = near_block,
                   .commit = commit_near,
                   .context = s};
    rer_status status = gather_sample(s, error);
    return status == RER_OK ? rer_pool_run(run->pool, &job, error) : status;
}

/* ---- 2. pairs ----------------------------------------------------------------------------- */

/* Rows of two blocks as numbers 0..2 RER_BLOCK - 1, the second block's from RER_BLOCK on. */
typedef struct pair_forest {
    int64_t first[2];
    int32_t group[2 * RER_BLOCK];
} pair_forest;

static double squared_distance(const float *a, const float *b, int64_t D)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < D; j++)
        sum += ((double)a[j] - (double)b[j]) * ((double)a[j] - (double)b[j]);
    return sum;
}

/* Row r of the tile with all of the second block's rows; in one block, with those that come after it. */
static void take_row(const search *s, pair_forest *forest, const rer_pair_tile *tile, int64_t r)
{
    int64_t D = s->pairs.features.run->D, columns = tile->columns, i = tile->a + r - forest->first[0];
    bool same = tile->i == tile->j;
    const float *half = s->pairs.half + tile->b, *product = tile->product + r * columns;
    float own = s->pairs.half[tile->a + r];
    for (int64_t j = same ? i + 1 : 0; j < columns; j++) {
        float sum = own + half[j];
        if (!(sum - product[j] <= (float)(s->limit / 2) + FLOAT_SLACK * sum) || isinf(sum))
            continue;
        int32_t a = (int32_t)i, b = (same ? 0 : RER_BLOCK) + (int32_t)j;
        if (find_root(forest->group, a) != find_root(forest->group, b) &&
            squared_distance(tile->x + r * D, tile->y + j * D, D) <= s->limit)
            join(forest->group, a, b);
    }
}

static void begin_forest(void *own, int64_t i, int64_t j)
{
    pair_forest *forest = own;
    forest->first[0] = i * RER_BLOCK;
    forest->first[1] = j * RER_BLOCK;
    for (int32_t k = 0; k < 2 * RER_BLOCK; k++)
        forest->group[k] = k;
}

static void search_tile(void *context, void *own, const rer_pair_tile *tile)
{
    for (int64_t r = 0; r < tile->rows; r++)
        take_row(context, own, tile, r);
}

/* ---- 3. groups ---------------------------------------------------------------------------- */

static int32_t row_of(const pair_forest *forest, int32_t k)
{
    return (int32_t)(forest->first[k / RER_BLOCK] + k % RER_BLOCK);
}

static rer_status commit_pair(void *context, int64_t item, void *scratch, rer_error *error)
{
    search *s = context;
    const pair_forest *forest = scratch;
    (void)item, (void)error;
    for (int32_t k = 0; k < 2 * RER_BLOCK; k++)
        if (forest->group[k] != k)
            join(s->group, row_of(forest, k), row_of(forest, forest->group[k]));
    return RER_OK;
}

/* What is known of a group, at its smallest row. */
typedef struct group_facts {
    int32_t rows, label; /* label -1: none yet */
    int32_t number;
    bool disagrees;
} group_facts;

/* Numbers the groups, those whose labels disagree first, else by their first row. */
static void number_groups(rer_result *result, search *s, group_facts *facts)
{
    rer_summary *summary = &result->summary;
    for (int32_t row = 0; row < result->N; row++) {
        group_facts *group = &facts[find_root(s->group, row)];
        int32_t label = result->given[row];
        if (group->rows++ == 0)
            group->label = -1;
        group->disagrees |= group->label >= 0 && label >= 0 && label != group->label;
        group->label = group->label >= 0 ? group->label : label;
    }
    for (int pass = 0; pass < 2; pass++)
        for (int64_t row = 0; row < result->N; row++)
            if (facts[row].rows > 1 && facts[row].disagrees == (pass == 0)) {
                facts[row].number = (int32_t)summary->n_duplicate_groups++;
                summary->n_duplicate_conflicts += pass == 0;
                summary->n_duplicates += facts[row].rows;
            }
    for (int32_t row = 0; row < result->N; row++) {
        const group_facts *group = &facts[find_root(s->group, row)];
        result->duplicate[row] = group->rows > 1 ? group->number : -1;
    }
}

/* ---- all of it ---------------------------------------------------------------------------- */

static rer_status search_here(search *s, const rer_run *run, rer_error *error)
{
    rer_sweep sweep = {.stage = "finding copies",
                       .from = .2,
                       .to = 1,
                       .own_bytes = sizeof(pair_forest),
                       .begin = begin_forest,
                       .take = search_tile,
                       .commit = commit_pair,
                       .context = s};
    rer_status status = rer_pairs_open(&s->pairs, run, true, NULL, error);
    if (status == RER_OK && s->sampled > 0)
        status = sample_nearest(s, error);
    if (status != RER_OK)
        return status;
    (void)set_limit(s);
    for (int64_t row = 0; row < run->N; row++)
        s->group[row] = (int32_t)row;
    return rer_pairs_sweep(&s->pairs, &sweep, error);
}

/* By the passes that have a part in this, or else here. */
static rer_status run_search(search *s, const rer_run *run, rer_error *error)
{
    const rer_passes *passes = run->passes;
    rer_copies copies = {s->sampled, s->row, s->nearest, set_limit, s, s->group};
    bool done = false;
    rer_status status = RER_OK;
    for (int64_t i = 0; i < s->sampled; i++)
        s->row[i] = i * run->N / s->sampled;
    if (passes != NULL && passes->copies != NULL)
        status = passes->copies(&copies, run, &done, error);
    return status == RER_OK && !done ? search_here(s, run, error) : status;
}

rer_status rer_duplicates_find(rer_result *result, const rer_run *run, rer_error *error)
{
    search s = {.angle = run->options->duplicates};
    group_facts *facts = NULL;
    s.sampled = s.angle >= 0 ? 0 : rer_min(SAMPLE, run->N);
    rer_room rooms[] = {RER_ROOM(s.group, run->N), RER_ROOM(facts, run->N), RER_ROOM(result->duplicate, run->N),
                        RER_ROOM(s.row, s.sampled), RER_ROOM(s.nearest, s.sampled)};
    rer_status status = rer_allocate_all(rooms, RER_COUNT(rooms), "duplicates", error);
    if (status == RER_OK)
        status = run_search(&s, run, error);
    if (status == RER_OK)
        number_groups(result, &s, facts);
    result->summary.duplicate_angle = s.angle;
    rer_pairs_close(&s.pairs);
    RER_FREE_ALL(s.group, s.row, s.x, s.nearest, facts);
    return status;
}
