/* Copies: groups of rows that point the same way, found by the products of a search. A warp goes through a row's
 * products; what may be near enough and is not in one group yet is measured in double, from the rows themselves. A group
 * is a tree towards its first row, which no order of the joins changes. */
#include "backend/cuda/search.cuh"

#include <cfloat>

/* Of a row's group, so far. On the way rows are led to those that theirs are led to: still to the same first row. */
static __device__ int32_t first_of(int32_t *group, int32_t row)
{
    for (;;) {
        int32_t next = atomicAdd(group + row, 0);
        if (next == row)
            return row;
        int32_t beyond = atomicAdd(group + next, 0);
        if (beyond != next)
            (void)atomicCAS(group + row, next, beyond);
        row = next;
    }
}

static __device__ void join(int32_t *group, int32_t a, int32_t b)
{
    for (;;) {
        a = first_of(group, a);
        b = first_of(group, b);
        if (a == b || atomicCAS(group + max(a, b), max(a, b), min(a, b)) == max(a, b))
            return;
    }
}

/* By all lanes of a warp. */
static __device__ double squared_distance(const Search &s, int64_t a, int64_t b, int lane)
{
    const float *x = s.rows.x + a * s.D, *y = s.rows.x + b * s.D;
    double sum = 0, by = s.scale[a], other = s.scale[b];
    for (int64_t j = lane; j < s.D; j += WARP) {
        double apart = by * (double)x[j] - other * (double)y[j];
        sum += apart * apart;
    }
    return sum_of_warp(sum);
}

/* Products [rows, tile] of the rows first.. with those from `column` on. */
static __global__ void join_near(Search s, const __half *product, int64_t first, int64_t rows, int64_t column,
                                 double limit)
{
    int64_t i = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / WARP, row = first + i;
    int lane = threadIdx.x % WARP;
    if (i >= rows || isinf(s.half[row]))
        return;
    double apart = (sqrt(limit) + 5e-7) / (double)*s.longest; /* floats of unit length are so near to what they round */
    float own = s.half[row], edge = (float)((apart * apart / 2 + error_bound(s, row)) * (1 + 1e-6));
    edge = fminf(edge, FLT_MAX); /* what is infinite takes no part */
    for (int64_t at = 0; at < s.tile; at += WARP * AT_ONCE) {
        float keys[AT_ONCE];
        bool hit = false;
        int64_t j = at + lane * AT_ONCE;
        if (column + at + WARP * AT_ONCE <= row)
            continue;
        read_keys(keys, product + i * s.tile + j, s.half + column + j);
#pragma unroll
        for (int e = 0; e < AT_ONCE; e++)
            hit = hit || own + keys[e] <= edge;
        if (!__any_sync(~0u, hit))
            continue;
#pragma unroll
        for (int e = 0; e < AT_ONCE; e++) {
            int32_t other = (int32_t)(column + j + e);
            bool is_new =
                own + keys[e] <= edge && other > row && first_of(s.group, other) != first_of(s.group, (int32_t)row);
            for (unsigned lanes = __ballot_sync(~0u, is_new); lanes != 0; lanes &= lanes - 1) {
                int32_t next = __shfl_sync(~0u, other, __ffs((int)lanes) - 1);
                double distance = squared_distance(s, row, next, lane);
                if (lane == 0 && distance <= limit)
                    join(s.group, (int32_t)row, next);
            }
        }
    }
}

static __global__ void finish_groups(Search s)
{
    int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (row < s.N)
        s.group[row] = first_of(s.group, (int32_t)row);
}

void copies_join(void *device, double limit, int64_t first, int64_t count)
{
    Card *card = (Card *)device;
    if (!is_well(card))
        return;
    const Searching *searching = card->searching;
    const Search *s = &searching->on;
    int64_t each = RER_DEVICE_ASKING / SEARCH_PARTS;
    for (int64_t column = first / s->tile * s->tile; column < s->padded; column += s->tile)
        for (int part = 0; part * each < count; part++) {
            int64_t from = part * each, rows = count - from < each ? count - from : each;
            __half *product = s->product + from * s->tile;
            cudaStream_t stream = searching->stream[part];
            multiply_tile(card, s, product, s->x + (first + from) * s->depth, rows, column, stream);
            if (!is_well(card))
                return;
            join_near<<<warps_for(rows), THREADS, 0, stream>>>(*s, product, first + from, rows, column, limit);
            LAUNCHED(card);
        }
    for (cudaStream_t stream : searching->stream)
        CHECK(card, cudaStreamSynchronize(stream));
}

void copies_take(void *device, int32_t *group)
{
    Card *card = (Card *)device;
    if (!is_well(card))
        return;
    const Search *s = &card->searching->on;
    finish_groups<<<blocks_for(s->N, THREADS), THREADS, 0, card->compute>>>(*s);
    LAUNCHED(card);
    CHECK(card, cudaStreamSynchronize(card->compute));
    CHECK(card, cudaMemcpy(group, s->group, (size_t)s->N * sizeof *group, cudaMemcpyDefault));
}
