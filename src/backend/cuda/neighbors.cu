/* The nearest rows of a row, by their angle. Rows of unit length, rounded to half precision, are multiplied a tile at a
 * time (search.cuh); a warp goes through a row's products and keeps the nearest CANDIDATES, one in each lane. These are
 * measured again in double, from the rows themselves. What rounding may have changed is bounded: a row whose list could be
 * another one for it is compared with all rows in double. So the lists are the exact ones, and have the same bits each
 * time. */
#include "backend/cuda/search.cuh"

#include <cfloat>
#include <cmath>

#define CANDIDATES SEARCH_CANDIDATES
#define TILE 32 /* rows by rows of products in double */

/* ---- the nearest, a row a warp ----------------------------------------------------------- */

static __device__ bool is_nearer(rer_neighbor a, rer_neighbor b)
{
    return a.distance != b.distance ? a.distance < b.distance : a.index < b.index;
}

static __device__ rer_neighbor from_lane(rer_neighbor mine, int lane)
{
    return rer_neighbor{__shfl_sync(~0u, mine.distance, lane), __shfl_sync(~0u, mine.index, lane)};
}

/* `mine` are ascending over the lanes, and stay so. */
static __device__ void keep(rer_neighbor *mine, rer_neighbor next, int lane)
{
    int place = __ffs((int)__ballot_sync(~0u, is_nearer(next, *mine))) - 1;
    rer_neighbor before = {__shfl_up_sync(~0u, mine->distance, 1), __shfl_up_sync(~0u, mine->index, 1)};
    if (place < 0 || lane < place)
        return;
    *mine = lane == place ? next : before;
}

static __device__ void read_keys(float keys[AT_ONCE], const float *distance, const float *half)
{
    (void)half;
#pragma unroll
    for (int e = 0; e < AT_ONCE; e++)
        keys[e] = distance[e];
}

/* Products [rows, stride] of columns first.. */
template <typename T>
static __global__ void look(Search s, const T *product, int64_t stride, int64_t asking, int64_t rows, int64_t first,
                            int64_t columns)
{
    int64_t i = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / WARP;
    int lane = threadIdx.x % WARP;
    if (i >= rows)
        return;
    const T *from = product + i * stride;
    int64_t self = s.asking[asking + i];
    rer_neighbor mine = s.nearest[(asking + i) * CANDIDATES + lane], worst = from_lane(mine, WARP - 1);
    for (int64_t at = 0; at < columns; at += WARP * AT_ONCE) {
        float keys[AT_ONCE];
        bool hit = false;
        int64_t j = at + lane * AT_ONCE;
        read_keys(keys, from + j, s.half + first + j);
#pragma unroll
        for (int e = 0; e < AT_ONCE; e++)
            hit = hit || keys[e] <= worst.distance;
        for (unsigned lanes = __ballot_sync(~0u, hit); lanes != 0; lanes &= lanes - 1) {
            int lane_of = __ffs((int)lanes) - 1;
#pragma unroll
            for (int e = 0; e < AT_ONCE; e++) {
                int64_t index = first + at + lane_of * AT_ONCE + e;
                rer_neighbor next = {__shfl_sync(~0u, keys[e], lane_of), (int32_t)index};
                if (next.distance <= worst.distance && index != self) {
                    keep(&mine, next, lane);
                    worst = from_lane(mine, WARP - 1);
                }
            }
        }
    }
    s.nearest[(asking + i) * CANDIDATES + lane] = mine;
}

static __global__ void begin_lists(Search s, int64_t rows)
{
    int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < rows * CANDIDATES)
        s.nearest[i] = rer_neighbor{FLT_MAX, INT32_MAX}; /* what is infinite is never kept */
}

/* A block a row that asks. */
static __global__ void gather_asked(Search s)
{
    for (int64_t j = threadIdx.x; j < s.depth; j += THREADS)
        s.asked[blockIdx.x * s.depth + j] = s.x[s.asking[blockIdx.x] * s.depth + j];
}

/* ---- exactly ----------------------------------------------------------------------------- */

static __device__ void put(const Search &s, int64_t i, int place, rer_neighbor one)
{
    if (place < RER_DEVICE_LISTED)
        s.list[i * RER_DEVICE_LISTED + place] = one.index == INT32_MAX ? rer_neighbor{INFINITY, -1} : one;
}

/* A warp a row: its candidates in double, in their order, to the list. */
static __global__ void measure_candidates(Search s, int64_t rows)
{
    int64_t i = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / WARP;
    int lane = threadIdx.x % WARP, place = 0;
    if (i >= rows)
        return;
    int64_t row = s.asking[i];
    rer_neighbor found = s.nearest[i * CANDIDATES + lane], mine = {INFINITY, found.index};
    for (int e = 0; e < CANDIDATES; e++) {
        int32_t other = __shfl_sync(~0u, found.index, e);
        if (other == INT32_MAX)
            break;
        double product = 0;
        for (int64_t j = lane; j < s.D; j += WARP)
            product += (double)unit_at(s, row, j) * (double)unit_at(s, other, j);
        double distance = s.square[row] - 2 * sum_of_warp(product) + s.square[other];
        if (lane == e)
            mine.distance = (float)fmax(distance, 0.0);
    }
    for (int e = 0; e < CANDIDATES; e++)
        place += is_nearer(from_lane(mine, e), mine) && e != lane;
    put(s, i, mine.index == INT32_MAX ? lane : place, mine);
    float last = __shfl_sync(~0u, mine.distance, __ffs((int)__ballot_sync(~0u, place == RER_DEVICE_LISTED - 1)) - 1);
    if (lane == WARP - 1) { /* the last candidate: all that are none come after it */
        double least = s.around[row] + 2 * ((double)found.distance - error_bound(s, row));
        least *= (double)*s.longest * (double)*s.longest;
        s.unsure[i] = found.index != INT32_MAX && !(least > (double)last * (1 + LEAST_FLOAT) + (double)LEAST_FLOAT);
    }
}

/* out [rows, padded] distances of rows that ask to all, in double until the end. */
static __global__ void measure_all(Search s, float *out, int64_t rows)
{
    __shared__ double own[TILE][TILE + 1], other[TILE][TILE + 1];
    int across = threadIdx.x % TILE, down = threadIdx.x / TILE;
    int64_t column = (int64_t)blockIdx.x * TILE, first = (int64_t)blockIdx.y * TILE;
    double sum[TILE / (THREADS / TILE)] = {};
    for (int64_t at = 0; at < s.D; at += TILE) {
        __syncthreads();
        for (int r = down; r < TILE; r += THREADS / TILE) {
            bool inside = at + across < s.D;
            own[r][across] = inside && first + r < rows ? (double)unit_at(s, s.asking[first + r], at + across) : 0;
            other[r][across] = inside && column + r < s.N ? (double)unit_at(s, column + r, at + across) : 0;
        }
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            for (int r = 0; r < TILE / (THREADS / TILE); r++)
                sum[r] += own[down + r * (THREADS / TILE)][k] * other[across][k];
    }
    for (int r = 0; r < TILE / (THREADS / TILE); r++) {
        int64_t i = first + down + r * (THREADS / TILE), j = column + across;
        if (i >= rows || j >= s.padded)
            continue;
        bool is_among = j < s.N && s.among[j] != 0;
        double distance = is_among ? s.square[s.asking[i]] - 2 * sum[r] + s.square[j] : 0;
        out[i * s.padded + j] = is_among ? (float)fmax(distance, 0.0) : INFINITY;
    }
}

static __global__ void put_nearest(Search s, int64_t rows)
{
    int64_t i = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / WARP;
    if (i < rows)
        put(s, i, threadIdx.x % WARP, s.nearest[i * CANDIDATES + threadIdx.x % WARP]);
}

/* ---- a search ---------------------------------------------------------------------------- */

/* Candidates of the rows that ask. */
static void find_candidates(Card *card, const Searching *searching, int64_t count)
{
    const Search *s = &searching->on;
    int64_t each = RER_DEVICE_ASKING / SEARCH_PARTS;
    for (int64_t column = 0; column < s->padded; column += s->tile)
        for (int part = 0; part * each < count; part++) {
            int64_t from = part * each, rows = count - from < each ? count - from : each;
            __half *product = s->product + from * s->tile;
            cudaStream_t stream = searching->stream[part];
            multiply_tile(card, s, product, s->asked + from * s->depth, rows, column, stream);
            if (!is_well(card))
                return;
            look<<<warps_for(rows), THREADS, 0, stream>>>(*s, (const __half *)product, s->tile, from, rows, column,
                                                          s->tile);
            LAUNCHED(card);
        }
    for (cudaStream_t stream : searching->stream)
        CHECK(card, cudaStreamSynchronize(stream));
}

static void put_asking(Card *card, const Search *s, const int64_t *rows, int64_t count)
{
    CHECK(card, cudaMemcpyAsync(s->asking, rows, (size_t)count * sizeof *rows, cudaMemcpyDefault, card->compute));
    if (!is_well(card))
        return;
    begin_lists<<<blocks_for(count * CANDIDATES, THREADS), THREADS, 0, card->compute>>>(*s, count);
    gather_asked<<<(unsigned)count, THREADS, 0, card->compute>>>(*s);
    LAUNCHED(card);
    CHECK(card, cudaStreamSynchronize(card->compute));
}

static void take_list(Card *card, const Search *s, rer_neighbor *list, int64_t count)
{
    CHECK(card, cudaStreamSynchronize(card->compute));
    CHECK(card, cudaMemcpy(list, s->list, (size_t)(count * RER_DEVICE_LISTED) * sizeof *list, cudaMemcpyDefault));
}

/* The rows that rounding could have changed, with all others. */
static void find_exactly(Card *card, const Search *s, const int64_t *rows, int64_t count, rer_neighbor *list)
{
    float *distance = (float *)s->product;
    put_asking(card, s, rows, count);
    if (!is_well(card))
        return;
    measure_all<<<dim3(blocks_for(s->padded, TILE), blocks_for(count, TILE)), THREADS, 0, card->compute>>>(*s, distance,
                                                                                                           count);
    look<<<warps_for(count), THREADS, 0, card->compute>>>(*s, (const float *)distance, s->padded, (int64_t)0, count,
                                                          (int64_t)0, s->padded);
    put_nearest<<<warps_for(count), THREADS, 0, card->compute>>>(*s, count);
    LAUNCHED(card);
    take_list(card, s, list, count);
}

/* Of the rows that asked those that are not sure, again. */
static void mend(Card *card, const Search *s, const uint8_t *unsure, const int64_t *row, int64_t count,
                 rer_neighbor *list)
{
    int64_t most = RER_DEVICE_ASKING * s->tile * 2 / (s->padded * 4), n = 0;
    most = most < RER_DEVICE_ASKING ? most : RER_DEVICE_ASKING;
    std::unique_ptr<int64_t[]> rows = room_for<int64_t>(card, most), place = room_for<int64_t>(card, most);
    std::unique_ptr<rer_neighbor[]> found = room_for<rer_neighbor>(card, most * RER_DEVICE_LISTED);
    for (int64_t i = 0; is_well(card) && i < count; i++) {
        if (unsure[i] != 0) {
            rows[n] = row[i];
            place[n++] = i;
        }
        if (n == 0 || (n < most && i < count - 1))
            continue;
        find_exactly(card, s, rows.get(), n, found.get());
        for (int64_t k = 0; k < n * RER_DEVICE_LISTED; k++)
            list[place[k / RER_DEVICE_LISTED] * RER_DEVICE_LISTED + k % RER_DEVICE_LISTED] = found[k];
        n = 0;
    }
}

void neighbors_find(void *device, const int64_t *row, int64_t count, rer_neighbor *list)
{
    Card *card = (Card *)device;
    if (!is_well(card))
        return;
    const Search *s = &card->searching->on;
    std::unique_ptr<uint8_t[]> unsure = room_for<uint8_t>(card, count);
    put_asking(card, s, row, count);
    find_candidates(card, card->searching, count);
    if (!is_well(card))
        return;
    measure_candidates<<<warps_for(count), THREADS, 0, card->compute>>>(*s, count);
    LAUNCHED(card);
    take_list(card, s, list, count);
    CHECK(card, cudaMemcpy(unsure.get(), s->unsure, (size_t)count, cudaMemcpyDefault));
    mend(card, s, unsure.get(), row, count, list);
}
