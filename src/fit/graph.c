/* A class's fuzzy neighbour graph, in steps:
 *   1. exact k nearest neighbours (the sample itself counts as the first), k = min(K, n - 1);
 *   2. rho_i: smallest non-zero distance; sigma_i by bisection so that the memberships
 *      exp(-max(0, d - rho_i) / sigma_i) of the k - 1 others sum to log2(k);
 *   3. union of both directions, w = w_ij + w_ji - w_ij w_ji;
 *   4. an edge is drawn floor(epochs w) times. */
#include "fit/graph.h"

#include "core/neighbor.h"

#define BISECTIONS 64
#define TOLERANCE 1e-5
#define SIGMA_LEAST 1e-3
#define TILE 128
#define SPARE 16 /* more candidates than neighbours: float products may swap those at the edge */

/* ---- 1. neighbours ----------------------------------------------------------------------- */

static double exact_distance(const float *a, const float *b, int64_t D)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < D; j++)
        sum += ((double)a[j] - (double)b[j]) * ((double)a[j] - (double)b[j]);
    return sqrt(sum);
}

/* The nearest others of row i: candidates by its products with all rows, then exactly. */
static void search_row(rer_neighbor *list, int64_t others, rer_neighbor *candidates, int64_t room, const float *x,
                       const double *square, const float *products, int64_t i, int64_t n, int64_t D)
{
    int64_t used = 0, sorted = 0;
    for (int64_t j = 0; j < n; j++)
        if (j != i) {
            double d2 = square[i] + square[j] - 2 * (double)products[j];
            used = rer_keep_nearest(candidates, used, room, (rer_neighbor){(float)d2, (int32_t)j});
        }
    for (int64_t e = 0; e < used; e++) {
        int32_t j = candidates[e].index;
        sorted =
            rer_keep_nearest(list, sorted, others, (rer_neighbor){(float)exact_distance(x + i * D, x + j * D, D), j});
    }
}

/* lists [n, others]: indices and distances, nearest first. */
static rer_status find_neighbors(rer_neighbor *lists, const float *x, int64_t n, int64_t D, int64_t others,
                                 const rer_kernels *kernels, rer_error *error)
{
    double *square = NULL;
    float *products = NULL; /* [tile, n] */
    rer_neighbor *candidates = NULL;
    int64_t tile = rer_min(TILE, n), room = rer_min(others + SPARE, n - 1);
    rer_room rooms[] = {RER_ROOM(square, n), RER_ROOM(products, tile * n), RER_ROOM(candidates, room)};
    RER_TRY(rer_allocate_all(rooms, RER_COUNT(rooms), "neighbours", error));
    for (int64_t i = 0; i < n; i++)
        square[i] = kernels->sum_squares(x + i * D, D);
    for (int64_t first = 0; first < n; first += tile) {
        int64_t count = rer_min(tile, n - first);
        rer_multiply_f32(products, n, x + first * D, x, count, n, D);
        for (int64_t i = first; i < first + count; i++)
            search_row(lists + i * others, others, candidates, room, x, square, products + (i - first) * n, i, n, D);
    }
    RER_FREE_ALL(square, products, candidates);
    return RER_OK;
}

/* ---- 2. memberships ---------------------------------------------------------------------- */

static double membership(double distance, double rho, double sigma)
{
    return distance <= rho || sigma <= 0 ? 1 : exp(-(distance - rho) / sigma);
}

static double find_sigma(const rer_neighbor *list, int64_t others, double rho, double target)
{
    double low = 0, high = INFINITY, sigma = 1;
    for (int step = 0; step < BISECTIONS; step++) {
        double sum = 0;
        for (int64_t e = 0; e < others; e++)
            sum += membership((double)list[e].distance, rho, sigma);
        if (fabs(sum - target) < TOLERANCE)
            break;
        if (sum > target) {
            high = sigma;
            sigma = (low + high) / 2;
        } else {
            low = sigma;
            sigma = isinf(high) ? 2 * sigma : (low + high) / 2;
        }
    }
    return sigma;
}

/* Turns the distances of every list into memberships. */
static void set_memberships(rer_neighbor *lists, int64_t n, int64_t others)
{
    double total = 0, target = log2((double)(others + 1));
    for (int64_t e = 0; e < n * others; e++)
        total += (double)lists[e].distance;
    for (int64_t i = 0; i < n; i++) {
        rer_neighbor *list = lists + i * others;
        double rho = 0, sum = 0;
        for (int64_t e = others - 1; e >= 0; e--) {
            sum += (double)list[e].distance;
            rho = list[e].distance > 0 ? (double)list[e].distance : rho;
        }
        /* Means count the sample itself, at distance 0. */
        double mean = rho > 0 ? sum / (double)(others + 1) : total / (double)(n * (others + 1));
        double sigma = fmax(find_sigma(list, others, rho, target), SIGMA_LEAST * mean);
        for (int64_t e = 0; e < others; e++)
            list[e].distance = (float)membership((double)list[e].distance, rho, sigma);
    }
}

/* ---- 3 and 4. edges ---------------------------------------------------------------------- */

static int by_index(const void *left, const void *right)
{
    const rer_neighbor *a = left, *b = right;
    return a->index < b->index ? -1 : a->index > b->index;
}

/* Where `from` lists `to`, or NULL. Lists are sorted by index. */
static const rer_neighbor *find_entry(const rer_neighbor *lists, int64_t others, int64_t from, int32_t to)
{
    rer_neighbor wanted = {.index = to};
    return bsearch(&wanted, lists + from * others, (size_t)others, sizeof wanted, by_index);
}

static int by_ends(const void *left, const void *right)
{
    const rer_edge *a = left, *b = right;
    if (a->head != b->head)
        return a->head < b->head ? -1 : 1;
    return a->tail < b->tail ? -1 : a->tail > b->tail;
}

/* Every i -> j of the lists, and j -> i where j does not list i. */
static int64_t list_edges(rer_edge *edges, rer_neighbor *lists, int64_t n, int64_t others)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        qsort(lists + i * others, (size_t)others, sizeof *lists, by_index);
    for (int64_t i = 0; i < n; i++)
        for (int64_t e = 0; e < others; e++) {
            int32_t j = lists[i * others + e].index;
            const rer_neighbor *entry = find_entry(lists, others, j, (int32_t)i);
            /* In float, as umap-learn does it: 1 + w - w may be a little less than 1, and the floor of
             * 20 times it is 19 then. */
            float there = lists[i * others + e].distance, back = entry != NULL ? entry->distance : 0;
            float weight = (there + back) - there * back;
            edges[count++] = (rer_edge){(int32_t)i, j, weight, 0};
            if (entry == NULL)
                edges[count++] = (rer_edge){j, (int32_t)i, weight, 0};
        }
    return count;
}

/* Keeps the edges that are drawn at all. umap-learn drops those below largest weight / epochs before:
 * weights are at most 1, so that these would be drawn 0 times. */
static void count_draws(rer_graph *graph, int64_t epochs)
{
    int64_t kept = 0;
    for (int64_t e = 0; e < graph->count; e++) {
        rer_edge edge = graph->edges[e];
        edge.count = (int32_t)((float)epochs * edge.weight);
        if (edge.count == 0)
            continue;
        graph->edges[kept++] = edge;
        graph->draws += edge.count;
    }
    graph->count = kept;
    if (kept > 0)
        qsort(graph->edges, (size_t)kept, sizeof *graph->edges, by_ends);
}

/* Cosine distance 1 - cos = |a - b|^2 / 2 of unit rows. */
static rer_status unit_rows(float **out, const float *x, int64_t n, int64_t D, const rer_kernels *kernels,
                            rer_error *error)
{
    RER_TRY(rer_allocate(out, n * D, sizeof(float), "unit rows", error));
    for (int64_t i = 0; i < n; i++) {
        double length = sqrt(kernels->sum_squares(x + i * D, D));
        for (int64_t j = 0; j < D; j++)
            (*out)[i * D + j] = (float)((double)x[i * D + j] / (length > 0 ? length : 1));
    }
    return RER_OK;
}

rer_status rer_graph_make(rer_graph *graph, const float *x, int64_t n, int64_t D, const rer_graph_settings *settings,
                          const rer_kernels *kernels, rer_error *error)
{
    rer_graph made = {0};
    rer_neighbor *lists = NULL;
    float *unit = NULL;
    int64_t others = rer_min(settings->neighbors, n - 1) - 1;
    if (others < 1) { /* k = 1 is the sample alone: a graph without edges */
        *graph = made;
        return RER_OK;
    }
    rer_status status = rer_allocate(&lists, n * others, sizeof *lists, "neighbours", error);
    if (status == RER_OK && settings->cosine)
        status = unit_rows(&unit, x, n, D, kernels, error);
    RER_THEN(status, find_neighbors(lists, unit != NULL ? unit : x, n, D, others, kernels, error));
    for (int64_t e = 0; status == RER_OK && settings->cosine && e < n * others; e++)
        lists[e].distance = lists[e].distance * lists[e].distance / 2;
    RER_THEN(status, rer_allocate(&made.edges, 2 * n * others, sizeof *made.edges, "edges", error));
    if (status == RER_OK) {
        set_memberships(lists, n, others);
        made.count = list_edges(made.edges, lists, n, others);
        count_draws(&made, settings->epochs);
        *graph = made;
    }
    RER_FREE_ALL(lists, unit);
    return status;
}

void rer_graph_free(rer_graph *graph)
{
    free(graph->edges);
    *graph = (rer_graph){0};
}
