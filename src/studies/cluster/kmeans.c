/* k-means on rows in memory, in steps:
 *   1. k-means++: the first center is a random row; each next one is drawn with a probability
 *      proportional to the squared distance to the nearest center so far; of a few such draws the one
 *      that leaves the smallest sum of squared distances is kept;
 *   2. Lloyd's steps: every row to its nearest center, every center to the mean of its rows, until no row
 *      changes. A center without rows goes to the row that is farthest from its own.
 * Distances are |x|^2 + |c|^2 - 2 x.c, the products by blocks through the backend. */
#include "studies/cluster/kmeans.h"

#include "core/random.h"
#include "run/run.h"

#define STEPS_MOST 100

void rer_kmeans_norms(float *norm, const float *centers, int64_t K, int64_t D, const rer_kernels *kernels)
{
    for (int64_t k = 0; k < K; k++)
        norm[k] = (float)kernels->sum_squares(centers + k * D, D);
}

void rer_kmeans_nearest(int32_t *label, float *d2, const rer_kmeans_rows *rows, int64_t first, int64_t count,
                        const float *centers, const float *norm, int64_t K, float *tile)
{
    rer_multiply_f32(tile, K, rows->x + first * rows->D, centers, count, K, rows->D);
    for (int64_t i = 0; i < count; i++) {
        const float *h = tile + i * K;
        float least = INFINITY;
        int32_t best = 0;
        for (int64_t k = 0; k < K; k++) {
            float value = norm[k] - 2 * h[k];
            best = value < least ? (int32_t)k : best;
            least = value < least ? value : least;
        }
        label[i] = best;
        d2[i] = fmaxf(0, (float)(rows->square[first + i] + (double)least));
    }
}

/* ---- k-means++ ------------------------------------------------------------------------------ */

typedef struct kmeans_scratch {
    int32_t *label;   /* [n] */
    float *d2;        /* [n] to the nearest center */
    float *tile;      /* [RER_BLOCK, K] */
    float *norm;      /* [K] */
    double *sum;      /* [K, D] */
    int64_t *size;    /* [K] */
    float *candidate; /* [n] squared distance to a row that may become a center */
} kmeans_scratch;

static void free_scratch(kmeans_scratch *scratch)
{
    RER_FREE_ALL(scratch->label, scratch->d2, scratch->tile, scratch->norm, scratch->sum, scratch->size,
                 scratch->candidate);
}

static rer_status allocate_scratch(kmeans_scratch *scratch, int64_t n, int64_t K, int64_t D, rer_error *error)
{
    const rer_room rooms[] = {RER_ROOM(scratch->label, n),
                              RER_ROOM(scratch->d2, n),
                              RER_ROOM(scratch->tile, rer_min(n, RER_BLOCK) * K),
                              RER_ROOM(scratch->norm, K),
                              RER_ROOM(scratch->sum, K * D),
                              RER_ROOM(scratch->size, K),
                              RER_ROOM(scratch->candidate, n)};
    return rer_allocate_all(rooms, RER_COUNT(rooms), "clusters", error);
}

/* A row drawn in proportion to d2; u in [0, 1). */
static int64_t draw_row(const float *d2, int64_t n, double u)
{
    double total = 0, sum = 0;
    for (int64_t i = 0; i < n; i++)
        total += (double)d2[i];
    for (int64_t i = 0; i < n; i++) {
        sum += (double)d2[i];
        if (sum > u * total)
            return i;
    }
    return (int64_t)(u * (double)n); /* all rows are centers already */
}

/* candidate [n] = min(d2, distance to row c); returns its sum. */
static double try_row(float *candidate, const float *d2, const rer_kmeans_rows *rows, int64_t c,
                      const rer_kernels *kernels)
{
    const float *center = rows->x + c * rows->D;
    double total = 0;
    for (int64_t i = 0; i < rows->n; i++) {
        double h = kernels->dot_f32(rows->x + i * rows->D, center, rows->D);
        float value = fmaxf(0, (float)(rows->square[i] + rows->square[c] - 2 * h));
        candidate[i] = value < d2[i] ? value : d2[i];
        total += (double)candidate[i];
    }
    return total;
}

static void seed_centers(float *centers, kmeans_scratch *scratch, const rer_kmeans_rows *rows, int64_t K, int64_t seed,
                         uint64_t key, const rer_kernels *kernels)
{
    int64_t D = rows->D, trials = 2 + (int64_t)log((double)K);
    size_t row_bytes = (size_t)D * sizeof(float);
    for (int64_t i = 0; i < rows->n; i++)
        scratch->d2[i] = INFINITY;
    for (int64_t k = 0; k < K; k++) {
        int64_t best = -1, tries = k == 0 ? 1 : trials;
        double least = INFINITY;
        for (int64_t t = 0; t < tries; t++) {
            double u = rer_random_uniform(seed, RER_RANDOM_CENTERS, key, (uint64_t)(k * trials + t));
            int64_t row = k == 0 ? (int64_t)(u * (double)rows->n) : draw_row(scratch->d2, rows->n, u);
            double total = try_row(scratch->candidate, scratch->d2, rows, row, kernels);
            if (best < 0 || total < least) {
                best = row;
                least = total;
            }
        }
        (void)try_row(scratch->candidate, scratch->d2, rows, best, kernels);
        memcpy(scratch->d2, scratch->candidate, (size_t)rows->n * sizeof(float));
        memcpy(centers + k * D, rows->x + best * D, row_bytes);
    }
}

/* ---- Lloyd's steps -------------------------------------------------------------------------- */

/* Labels of all rows; returns whether one has changed. */
static bool assign(kmeans_scratch *scratch, double *inertia, const rer_kmeans_rows *rows, const float *centers,
                   int64_t K, const rer_kernels *kernels)
{
    int32_t before[RER_BLOCK];
    bool changed = false;
    *inertia = 0;
    rer_kmeans_norms(scratch->norm, centers, K, rows->D, kernels);
    for (int64_t first = 0; first < rows->n; first += RER_BLOCK) {
        int64_t count = rer_min(RER_BLOCK, rows->n - first);
        memcpy(before, scratch->label + first, (size_t)count * sizeof *before);
        rer_kmeans_nearest(scratch->label + first, scratch->d2 + first, rows, first, count, centers, scratch->norm, K,
                           scratch->tile);
        changed = changed || memcmp(before, scratch->label + first, (size_t)count * sizeof *before) != 0;
        for (int64_t i = first; i < first + count; i++)
            *inertia += (double)scratch->d2[i];
    }
    return changed;
}

static int64_t farthest_row(const float *d2, int64_t n)
{
    int64_t row = 0;
    for (int64_t i = 1; i < n; i++)
        row = d2[i] > d2[row] ? i : row;
    return row;
}

static void move_centers(float *centers, kmeans_scratch *scratch, const rer_kmeans_rows *rows, int64_t K,
                         const rer_kernels *kernels)
{
    int64_t D = rows->D;
    memset(scratch->sum, 0, (size_t)(K * D) * sizeof(double));
    memset(scratch->size, 0, (size_t)K * sizeof(int64_t));
    for (int64_t i = 0; i < rows->n; i++) {
        kernels->add_scaled(scratch->sum + scratch->label[i] * D, rows->x + i * D, 1, D);
        scratch->size[scratch->label[i]]++;
    }
    for (int64_t k = 0; k < K; k++) {
        if (scratch->size[k] > 0) {
            for (int64_t j = 0; j < D; j++)
                centers[k * D + j] = (float)(scratch->sum[k * D + j] / (double)scratch->size[k]);
            continue;
        }
        int64_t row = farthest_row(scratch->d2, rows->n);
        memcpy(centers + k * D, rows->x + row * D, (size_t)D * sizeof(float));
        scratch->d2[row] = 0;
    }
}

rer_status rer_kmeans_fit(float *centers, double *inertia, const rer_kmeans_rows *rows, int64_t K, int64_t seed,
                          uint64_t key, const rer_kernels *kernels, rer_error *error)
{
    kmeans_scratch scratch = {0};
    RER_TRY(allocate_scratch(&scratch, rows->n, K, rows->D, error));
    seed_centers(centers, &scratch, rows, K, seed, key, kernels);
    (void)assign(&scratch, inertia, rows, centers, K, kernels);
    for (int step = 0; step < STEPS_MOST; step++) {
        move_centers(centers, &scratch, rows, K, kernels);
        if (!assign(&scratch, inertia, rows, centers, K, kernels))
            break;
    }
    free_scratch(&scratch);
    return RER_OK;
}

/* ---- likelihood ----------------------------------------------------------------------------- */

/* log sum_k share_k exp(-d2_k / (2 s2)) of a row. (GCC 12 for aarch64 fails where fmax finds the highest.) */
static double log_mixture(const float *h, const float *norm, const float *log_share, double square, double s2,
                          int64_t K)
{
    double high = -INFINITY, sum = 0;
    for (int64_t k = 0; k < K; k++) {
        double term = (double)log_share[k] - (square + (double)norm[k] - 2 * (double)h[k]) / (2 * s2);
        high = term > high ? term : high;
    }
    for (int64_t k = 0; k < K; k++)
        sum += exp((double)log_share[k] - (square + (double)norm[k] - 2 * (double)h[k]) / (2 * s2) - high);
    return high + log(sum);
}

rer_status rer_kmeans_likelihood(double *likelihood, const rer_kmeans_rows *rows, const rer_kmeans_rows *train,
                                 const float *centers, int64_t K, const rer_kernels *kernels, rer_error *error)
{
    kmeans_scratch scratch = {0};
    float *log_share = NULL;
    double inertia = 0, sum = 0;
    rer_status status = allocate_scratch(&scratch, train->n, K, train->D, error);
    RER_THEN(status, rer_allocate(&log_share, K, sizeof *log_share, "clusters", error));
    if (status == RER_OK && rows->n > train->n) {
        free(scratch.tile);
        status = rer_allocate(&scratch.tile, rer_min(rows->n, RER_BLOCK) * K, sizeof(float), "clusters", error);
    }
    if (status == RER_OK) {
        (void)assign(&scratch, &inertia, train, centers, K, kernels);
        for (int64_t i = 0; i < train->n; i++)
            scratch.size[scratch.label[i]]++;
        for (int64_t k = 0; k < K; k++)
            log_share[k] = scratch.size[k] > 0 ? logf((float)scratch.size[k] / (float)train->n) : -INFINITY;
        double s2 = fmax(inertia / ((double)train->n * (double)train->D), 1e-300);
        for (int64_t first = 0; first < rows->n; first += RER_BLOCK) {
            int64_t count = rer_min(RER_BLOCK, rows->n - first);
            rer_multiply_f32(scratch.tile, K, rows->x + first * rows->D, centers, count, K, rows->D);
            for (int64_t i = 0; i < count; i++)
                sum += log_mixture(scratch.tile + i * K, scratch.norm, log_share, rows->square[first + i], s2, K);
        }
        *likelihood = sum / (double)rows->n - .5 * (double)rows->D * log(2 * 3.14159265358979323846 * s2);
    }
    free(log_share);
    free_scratch(&scratch);
    return status;
}
