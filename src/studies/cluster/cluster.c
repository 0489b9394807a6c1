/* Clusters as labels. In steps:
 *   1. the mean of all rows (unit length, or as given with --normalize none), and a random sample of rows,
 *      kept in memory relative to that mean;
 *   2. where K is to be chosen: k-means on four fifths of the sample, likelihood of the last fifth, over a
 *      coarse grid of K and then around the best of it;
 *   3. k-means on the sample from several random starts, the best one kept;
 *   4. Lloyd's steps over all rows, block by block, until hardly a row changes. */
#include "studies/cluster/kmeans.h"
#include "core/random.h"
#include "run/run.h"
#include "stats/order.h"

#define SAMPLE_LEAST 4096
#define SAMPLE_EACH 32 /* rows of the sample for each cluster */
#define STARTS 8
#define STARTS_CHOOSING 3
#define STEPS_MOST 60
#define GRID_MOST 12
#define HELD_OUT 5 /* every fifth row of the sample */

typedef struct cluster_run {
    rer_run run;
    int32_t *cluster; /* [N] of each row, -1: none yet */
    rer_normalizer normalizer;
    double *mean;           /* [D] */
    int64_t used;           /* valid rows */
    int64_t *picked;        /* [sample.n] rows of the sample, ascending */
    float *x;               /* [sample.n, D] */
    double *square;         /* [sample.n] */
    rer_kmeans_rows sample; /* over them: the held-out rows come last */
    int64_t n_train;
    int64_t K;
    float *centers; /* [K, D] */
} cluster_run;

/* ---- the mean and the sample ------------------------------------------------------------------ */

static rer_status load_block(void *context, int64_t item, void *scratch, rer_error *error)
{
    const cluster_run *cluster = context;
    return rer_block_load(scratch, &cluster->run, &cluster->normalizer, item, error);
}

static rer_status add_to_mean(void *context, int64_t item, void *scratch, rer_error *error)
{
    (void)item, (void)error;
    cluster_run *cluster = context;
    const rer_block *block = scratch;
    int64_t D = cluster->run.D;
    for (int64_t i = 0; i < block->count; i++)
        if (block->code[i] != RER_INVALID_ROW) {
            cluster->run.kernels->add_scaled(cluster->mean, block->x + i * D, block->scale[i], D);
            cluster->used++;
        }
    return RER_OK;
}

static rer_status find_mean(cluster_run *cluster, rer_error *error)
{
    rer_job job = {
        .stage = "reading",
        .to = .1,
        .items = rer_run_blocks(&cluster->run),
        .scratch = rer_block_scratch(&cluster->run),
        .work = load_block,
        .commit = add_to_mean,
        .context = cluster,
    };
    RER_TRY(rer_pool_run(cluster->run.pool, &job, error));
    for (int64_t j = 0; j < cluster->run.D; j++)
        cluster->mean[j] /= (double)rer_max(1, cluster->used);
    return RER_OK;
}

/* Every valid row has the same chance (Knuth's selection sampling: exactly `count` of `used`). */
static void pick_rows(cluster_run *cluster, int64_t count)
{
    int64_t drawn = 0, seen = 0;
    for (int64_t row = 0; row < cluster->run.N && drawn < count; row++) {
        if (cluster->run.invalid[row] != 0)
            continue;
        double u = rer_random_uniform(cluster->run.options->seed, RER_RANDOM_CENTERS, ~(uint64_t)0, (uint64_t)row);
        if (u * (double)(cluster->used - seen) < (double)(count - drawn))
            cluster->picked[drawn++] = row;
        seen++;
    }
}

/* Sampled row -> its place: held-out rows come after the others. */
static int64_t sample_place(int64_t s, int64_t n_train)
{
    return s % HELD_OUT == HELD_OUT - 1 ? n_train + s / HELD_OUT : s - s / HELD_OUT;
}

static rer_status read_sample(void *context, int64_t item, void *memory, rer_error *error)
{
    cluster_run *cluster = context;
    const rer_run *run = &cluster->run;
    int64_t D = run->D, first = item * RER_BLOCK, end = rer_min(first + RER_BLOCK, cluster->sample.n);
    rer_scratch scratch = rer_pool_scratch(run->pool, memory);
    rer_raw_rows raw = rer_raw_rows_take(run, 1, &scratch);
    for (int64_t s = first; s < end; s++) {
        RER_TRY(rer_dataset_rows_read(run->data, cluster->picked[s], 1, raw.x, raw.reading, error));
        double scale = rer_normalize_row(&cluster->normalizer, raw.x, D, run->kernels->sum_squares(raw.x, D));
        int64_t place = sample_place(s, cluster->n_train);
        float *x = cluster->x + place * D;
        cluster->square[place] = run->kernels->residual_f32(x, raw.x, scale, cluster->mean, D);
    }
    return RER_OK;
}

static rer_status make_sample(cluster_run *cluster, int64_t K_most, rer_error *error)
{
    int64_t D = cluster->run.D, count = rer_min(cluster->used, rer_max(SAMPLE_LEAST, SAMPLE_EACH * K_most));
    const rer_room rooms[] = {RER_ROOM(cluster->picked, count), RER_ROOM(cluster->x, count * D),
                              RER_ROOM(cluster->square, count)};
    RER_TRY(rer_allocate_all(rooms, RER_COUNT(rooms), "sampled rows", error));
    pick_rows(cluster, count);
    cluster->sample = (rer_kmeans_rows){cluster->x, cluster->square, count, D};
    cluster->n_train = count - count / HELD_OUT;
    rer_job job = {
        .stage = "reading",
        .from = .1,
        .to = .12,
        .items = (count + RER_BLOCK - 1) / RER_BLOCK,
        .scratch = rer_raw_rows_scratch(&cluster->run, 1),
        .work = read_sample,
        .context = cluster,
    };
    return rer_pool_run(cluster->run.pool, &job, error);
}

/* ---- k-means on the sample -------------------------------------------------------------------- */

/* Several starts for each of several K, all at once; the best start of each is kept. */
typedef struct start_round {
    const cluster_run *cluster;
    rer_kmeans_rows rows;
    int starts, count;
    int64_t K[GRID_MOST];
    float *centers[GRID_MOST][STARTS]; /* [K, D] of each start, */
    double inertia[GRID_MOST][STARTS];
    int best[GRID_MOST]; /* and which of them is the best */
    double likelihood[GRID_MOST];
} start_round;

static rer_status run_start(void *context, int64_t item, void *scratch, rer_error *error)
{
    (void)scratch;
    start_round *round = context;
    const rer_run *run = &round->cluster->run;
    int64_t which = item / round->starts, start = item % round->starts, K = round->K[which];
    float **centers = &round->centers[which][start];
    RER_TRY(rer_allocate(centers, K * run->D, sizeof(float), "clusters", error));
    return rer_kmeans_fit(*centers, &round->inertia[which][start], &round->rows, K, run->options->seed,
                          (uint64_t)K << 16 | (uint64_t)start, run->kernels, error);
}

static void find_best(start_round *round)
{
    for (int i = 0; i < round->count; i++) {
        round->best[i] = 0;
        for (int s = 1; s < round->starts; s++)
            if (round->inertia[i][s] < round->inertia[i][round->best[i]])
                round->best[i] = s;
    }
}

static rer_status judge_start(void *context, int64_t item, void *scratch, rer_error *error)
{
    (void)scratch;
    start_round *round = context;
    const cluster_run *cluster = round->cluster;
    rer_kmeans_rows held = {cluster->x + cluster->n_train * cluster->run.D, cluster->square + cluster->n_train,
                            cluster->sample.n - cluster->n_train, cluster->run.D};
    return rer_kmeans_likelihood(&round->likelihood[item], &held, &round->rows, round->centers[item][round->best[item]],
                                 round->K[item], cluster->run.kernels, error);
}

static rer_status run_starts(start_round *round, bool judge, rer_error *error)
{
    rer_job starts = {
        .stage = "clustering",
        .from = .12,
        .to = .4,
        .items = (int64_t)round->count * round->starts,
        .work = run_start,
        .context = round,
    };
    rer_job judging = {
        .stage = "clustering", .from = .4, .to = .4, .items = round->count, .work = judge_start, .context = round};
    rer_status status = rer_pool_run(round->cluster->run.pool, &starts, error);
    find_best(round);
    return status == RER_OK && judge ? rer_pool_run(round->cluster->run.pool, &judging, error) : status;
}

static void clear_round(start_round *round)
{
    for (int i = 0; i < round->count; i++)
        for (int start = 0; start < round->starts; start++)
            free(round->centers[i][start]);
    memset(round->centers, 0, sizeof round->centers);
    round->count = 0;
}

/* ---- the number of clusters ------------------------------------------------------------------- */

typedef struct tried_k {
    int64_t K;
    double likelihood;
} tried_k;

/* What is known so far, ascending in K. */
typedef struct k_search {
    tried_k *tried;
    int64_t count, capacity;
} k_search;

static rer_status try_round(k_search *search, start_round *round, rer_error *error)
{
    rer_status status = run_starts(round, true, error);
    for (int i = 0; status == RER_OK && i < round->count; i++) {
        status =
            rer_grow(&search->tried, &search->capacity, search->count + 1, sizeof *search->tried, "clusters", error);
        if (status != RER_OK)
            break;
        int64_t at = search->count++;
        for (; at > 0 && search->tried[at - 1].K > round->K[i]; at--)
            search->tried[at] = search->tried[at - 1];
        search->tried[at] = (tried_k){round->K[i], round->likelihood[i]};
    }
    clear_round(round);
    return status;
}

static int64_t best_of(const k_search *search)
{
    int64_t best = 0;
    for (int64_t i = 1; i < search->count; i++)
        best = search->tried[i].likelihood > search->tried[best].likelihood ? i : best;
    return best;
}

/* A grid even in log K, then the middle of the gaps beside the best until there are none. */
static rer_status choose_k(cluster_run *cluster, int64_t low, int64_t high, rer_error *error)
{
    k_search search = {0};
    start_round round = {.cluster = cluster, .starts = STARTS_CHOOSING};
    round.rows = (rer_kmeans_rows){cluster->x, cluster->square, cluster->n_train, cluster->run.D};
    for (int i = 0; i < GRID_MOST; i++) {
        double share = (double)i / (GRID_MOST - 1);
        int64_t K = high - low < GRID_MOST ? low + i : llround((double)low * pow((double)high / (double)low, share));
        if (K <= high && (round.count == 0 || K > round.K[round.count - 1]))
            round.K[round.count++] = K;
    }
    rer_status status = RER_OK;
    while (status == RER_OK && round.count > 0) {
        status = try_round(&search, &round, error);
        if (status != RER_OK)
            break;
        int64_t best = best_of(&search), K = search.tried[best].K;
        int64_t before = best > 0 ? search.tried[best - 1].K : K;
        int64_t after = best + 1 < search.count ? search.tried[best + 1].K : K;
        if (K - before > 1)
            round.K[round.count++] = (before + K) / 2;
        if (after - K > 1)
            round.K[round.count++] = (after + K) / 2;
    }
    if (status == RER_OK)
        cluster->K = search.tried[best_of(&search)].K;
    clear_round(&round);
    free(search.tried);
    return status;
}

static rer_status start_centers(cluster_run *cluster, rer_error *error)
{
    start_round round = {.cluster = cluster, .rows = cluster->sample, .starts = STARTS, .count = 1};
    round.K[0] = cluster->K;
    rer_status status = run_starts(&round, false, error);
    if (status == RER_OK) {
        cluster->centers = round.centers[0][round.best[0]];
        round.centers[0][round.best[0]] = NULL;
    }
    clear_round(&round);
    return status;
}

/* ---- Lloyd's steps over all rows --------------------------------------------------------------- */

typedef struct lloyd_pass {
    cluster_run *cluster;
    float *norm;   /* [K] */
    double *sum;   /* [K, D] */
    int64_t *size; /* [K] */
    int64_t changed, farthest;
    double inertia;
    float distance; /* of the farthest row */
} lloyd_pass;

/* A worker's part of it. */
typedef struct lloyd_scratch {
    double *sum; /* [K, D] */
    int64_t *size;
    float *tile, *d2;
    double *square;
    int32_t *label;
    int64_t changed, farthest;
    double inertia;
    float distance;
    rer_block block;
} lloyd_scratch;

static lloyd_scratch lay_out_lloyd(const cluster_run *cluster, rer_scratch *scratch)
{
    int64_t rows = rer_min(RER_BLOCK, cluster->run.N), K = cluster->K;
    lloyd_scratch parts = {.farthest = -1, .distance = -1};
    (void)rer_take(scratch, 1, sizeof parts);
    parts.sum = rer_take(scratch, K * cluster->run.D, sizeof *parts.sum);
    parts.size = rer_take(scratch, K, sizeof *parts.size);
    parts.tile = rer_take(scratch, rows * K, sizeof *parts.tile);
    parts.d2 = rer_take(scratch, rows, sizeof *parts.d2);
    parts.square = rer_take(scratch, rows, sizeof *parts.square);
    parts.label = rer_take(scratch, rows, sizeof *parts.label);
    parts.block = rer_block_take(&cluster->run, scratch);
    return parts;
}

static rer_status assign_block(void *context, int64_t item, void *memory, rer_error *error)
{
    lloyd_pass *pass = context;
    cluster_run *cluster = pass->cluster;
    const rer_kernels *kernels = cluster->run.kernels;
    int64_t K = cluster->K, D = cluster->run.D;
    rer_scratch scratch = rer_pool_scratch(cluster->run.pool, memory);
    lloyd_scratch *parts = memory;
    *parts = lay_out_lloyd(cluster, &scratch);
    rer_block block = parts->block;
    RER_TRY(rer_block_read(&block, &cluster->run, &cluster->normalizer, item, error));
    memset(parts->sum, 0, (size_t)(K * D) * sizeof(double));
    memset(parts->size, 0, (size_t)K * sizeof(int64_t));
    for (int64_t i = 0; i < block.count; i++) {
        float *x = block.x + i * D;
        if (block.code[i] == RER_INVALID_ROW)
            memset(x, 0, (size_t)D * sizeof(float));
        else
            parts->square[i] = kernels->residual_f32(x, x, block.scale[i], cluster->mean, D);
    }
    rer_kmeans_rows rows = {block.x, parts->square, block.count, D};
    rer_kmeans_nearest(parts->label, parts->d2, &rows, 0, block.count, cluster->centers, pass->norm, K, parts->tile);
    for (int64_t i = 0; i < block.count; i++) {
        if (block.code[i] == RER_INVALID_ROW)
            continue;
        int32_t *label = &cluster->cluster[block.first + i], k = parts->label[i];
        parts->changed += *label != k;
        *label = k;
        parts->size[k]++;
        parts->inertia += (double)parts->d2[i];
        kernels->add_scaled(parts->sum + k * D, block.x + i * D, 1, D);
        if (parts->d2[i] > parts->distance) {
            parts->distance = parts->d2[i];
            parts->farthest = block.first + i;
        }
    }
    return RER_OK;
}

static rer_status add_block_sums(void *context, int64_t item, void *memory, rer_error *error)
{
    (void)item, (void)error;
    lloyd_pass *pass = context;
    const lloyd_scratch *parts = memory;
    int64_t K = pass->cluster->K, D = pass->cluster->run.D;
    for (int64_t k = 0; k < K; k++) {
        pass->size[k] += parts->size[k];
        for (int64_t j = 0; j < D && parts->size[k] > 0; j++)
            pass->sum[k * D + j] += parts->sum[k * D + j];
    }
    pass->changed += parts->changed;
    pass->inertia += parts->inertia;
    if (parts->distance > pass->distance) {
        pass->distance = parts->distance;
        pass->farthest = parts->farthest;
    }
    return RER_OK;
}

/* Centers to the means of their rows; one without rows to the farthest row. */
static rer_status move_all(lloyd_pass *pass, bool *emptied, rer_error *error)
{
    cluster_run *cluster = pass->cluster;
    const rer_run *run = &cluster->run;
    int64_t D = run->D;
    void *scratch = NULL;
    *emptied = false;
    for (int64_t k = 0; k < cluster->K; k++) {
        for (int64_t j = 0; j < D && pass->size[k] > 0; j++)
            cluster->centers[k * D + j] = (float)(pass->sum[k * D + j] / (double)pass->size[k]);
        if (pass->size[k] > 0 || *emptied || !(pass->distance > 0))
            continue;
        float *center = cluster->centers + k * D;
        rer_status status = rer_allocate(&scratch, rer_dataset_scratch(run->data, 1), 1, "a row", error);
        if (status == RER_OK)
            status = rer_dataset_rows_read(run->data, pass->farthest, 1, center, scratch, error);
        free(scratch);
        if (status != RER_OK)
            return status;
        double scale = rer_normalize_row(&cluster->normalizer, center, D, run->kernels->sum_squares(center, D));
        (void)run->kernels->residual_f32(center, center, scale, cluster->mean, D);
        *emptied = true;
    }
    return RER_OK;
}

/* By the steps that there may be, or by how few rows still change their cluster. */
static double share_done(int steps, int64_t changed, int64_t rows)
{
    return fmax((double)steps / STEPS_MOST, 1 - log((double)rer_max(1, changed)) / log((double)rows));
}

static rer_status run_lloyd(cluster_run *cluster, double *inertia, rer_error *error)
{
    int64_t K = cluster->K, D = cluster->run.D;
    lloyd_pass pass = {.cluster = cluster};
    const rer_room rooms[] = {RER_ROOM(pass.norm, K), RER_ROOM(pass.sum, K * D), RER_ROOM(pass.size, K)};
    rer_status status = rer_allocate_all(rooms, RER_COUNT(rooms), "clusters", error);
    bool moves = true, emptied = false;
    double done = 0;
    rer_scratch measure = RER_MEASURE;
    (void)lay_out_lloyd(cluster, &measure);
    for (int step = 0; status == RER_OK && moves; step++) {
        rer_job job = {
            .stage = "clustering",
            .from = .4 + .6 * done,
            .to = .4 + .6 * fmin(1, done + 1. / STEPS_MOST),
            .items = rer_run_blocks(&cluster->run),
            .scratch = measure.used,
            .work = assign_block,
            .commit = add_block_sums,
            .context = &pass,
        };
        memset(pass.sum, 0, (size_t)(K * D) * sizeof(double));
        memset(pass.size, 0, (size_t)K * sizeof(int64_t));
        pass.changed = 0;
        pass.inertia = 0;
        pass.distance = -1;
        rer_kmeans_norms(pass.norm, cluster->centers, K, D, cluster->run.kernels);
        status = rer_pool_run(cluster->run.pool, &job, error);
        RER_THEN(status, move_all(&pass, &emptied, error));
        done = share_done(step + 1, pass.changed, cluster->run.N);
        moves = (pass.changed > 0 || emptied) && step + 1 < STEPS_MOST;
    }
    *inertia = pass.inertia;
    RER_FREE_ALL(pass.norm, pass.sum, pass.size);
    return status;
}

/* ---- all of it -------------------------------------------------------------------------------- */

/* The largest cluster becomes class 0, and so on; rows that were left out have no label. */
static rer_status set_labels(rer_dataset *data, const cluster_run *cluster, rer_error *error)
{
    int32_t *labels = NULL, *place = NULL;
    rer_ranked *sized = NULL;
    const rer_room rooms[] = {RER_ROOM(labels, data->N), RER_ROOM(place, cluster->K), RER_ROOM(sized, cluster->K)};
    RER_TRY(rer_allocate_all(rooms, RER_COUNT(rooms), "labels", error));
    for (int32_t k = 0; k < cluster->K; k++)
        sized[k].place = k;
    for (int64_t row = 0; row < data->N; row++)
        if (cluster->run.invalid[row] == 0)
            sized[cluster->cluster[row]].value--; /* the largest first */
    rer_sort_ranked(sized, cluster->K);
    for (int32_t k = 0; k < cluster->K; k++)
        place[sized[k].place] = k;
    for (int64_t row = 0; row < data->N; row++)
        labels[row] = cluster->run.invalid[row] == 0 ? place[cluster->cluster[row]] : -1;
    rer_view view = {.data = labels, .dtype = RER_I32, .rank = 1, .shape = {data->N}};
    rer_status status = rer_dataset_set_labels(data, &view, error);
    RER_FREE_ALL(labels, place, sized);
    return status;
}

static rer_status check_range(const cluster_run *cluster, int64_t low, int64_t high, rer_error *error)
{
    if (low < 2 || high < low || 2 * high > cluster->used)
        return rer_fail(error, RER_BAD_USAGE,
                        "--clusters: %lld to %lld clusters cannot be made of %lld rows; 2 to half as many as rows can",
                        (long long)low, (long long)high, (long long)cluster->used);
    return RER_OK;
}

static rer_status run_all(cluster_run *cluster, rer_dataset *data, const rer_options *options, double *inertia,
                          rer_error *error)
{
    int64_t low = options->clusters[0], high = rer_max(low, options->clusters[1]);
    RER_TRY(rer_allocate(&cluster->mean, data->D, sizeof(double), "the mean", error));
    RER_TRY(find_mean(cluster, error));
    RER_TRY(check_range(cluster, low, high, error));
    RER_TRY(make_sample(cluster, high, error));
    cluster->K = low;
    if (high > low)
        RER_TRY(choose_k(cluster, low, high, error));
    RER_TRY(start_centers(cluster, error));
    RER_TRY(run_lloyd(cluster, inertia, error));
    return set_labels(data, cluster, error);
}

static rer_status cluster_rows(rer_dataset *data, rer_clustering *clustering, const rer_options *options,
                               const rer_progress *progress, rer_error *error)
{
    cluster_run cluster = {.normalizer = {.kind = options->normalize == RER_NONE ? RER_NONE : RER_UNIT}};
    double inertia = NAN;
    rer_status status = rer_allocate(&cluster.cluster, data->N, sizeof *cluster.cluster, "clusters", error);
    RER_THEN(status, rer_run_start(&cluster.run, data, NULL, 0, options, progress, error));
    for (int64_t row = 0; status == RER_OK && row < data->N; row++)
        cluster.cluster[row] = -1;
    RER_THEN(status, run_all(&cluster, data, options, &inertia, error));
    if (status == RER_OK) {
        data->clusters = (int32_t)cluster.K;
        *clustering = (rer_clustering){.clusters = (int32_t)cluster.K, .inertia = inertia};
    }
    rer_run_end(&cluster.run);
    RER_FREE_ALL(cluster.cluster, cluster.mean, cluster.picked, cluster.x, cluster.square, cluster.centers);
    return status;
}

rer_status rer_dataset_cluster(rer_dataset *data, rer_clustering *clustering, const rer_options *given,
                               const rer_progress *progress, rer_error *error)
{
    rer_options options;
    rer_clustering made;
    rer_error_clear(error);
    RER_TRY(rer_options_take(&options, given, error));
    RER_TRY(rer_struct_check(clustering, "rer_clustering", error));
    RER_TRY(rer_dataset_check(data, error));
    RER_TRY(cluster_rows(data, &made, &options, progress, error));
    rer_struct_give(clustering, &made, sizeof made);
    return RER_OK;
}
