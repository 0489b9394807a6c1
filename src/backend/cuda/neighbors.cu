/* The nearest rows of every row, by their angle. Rows of unit length, rounded to half precision, are multiplied a tile at
 * a time; a warp goes through a row's products and keeps the nearest CANDIDATES, one in each lane. These are measured
 * again in double, from the rows themselves. What rounding may have changed is bounded: a row whose list could be another
 * one for it is compared with all rows in double. So the lists are the exact ones, and have the same bits each time. */
#include "backend/cuda/card.cuh"

#include <cfloat>
#include <cmath>
#include <cuda_fp16.h>

#define WARP 32
#define CANDIDATES WARP
#define THREADS 256
#define PARTS 2             /* of the rows that ask, each with a stream: one multiplies while the other looks */
#define TILE_COLUMNS 32768  /* products of a row at a time */
#define AT_ONCE 8           /* of them that a thread reads */
#define TILE 32             /* rows by rows of products in double */
#define LEAST_FLOAT 2.4e-7f /* relative: no two floats of a distance are nearer */

struct Search {
    Rows rows;
    const uint8_t *among;  /* [N] */
    __half *x;             /* [padded, depth] of unit length */
    double *scale;         /* [N] that makes it so */
    double *square;        /* [N] squared length of the float row */
    float *half;           /* [padded] half of it, INFINITY: not searched among */
    float *lost;           /* [N] length of what rounding to half precision took, ... */
    float *most_lost;      /* [1] ... and the most of all */
    __half *product;       /* [PARTS, rows of a part, tile] or floats */
    int64_t *asking;       /* [RER_DEVICE_ASKING] rows */
    rer_neighbor *nearest; /* [RER_DEVICE_ASKING, CANDIDATES] by half |b|^2 - a b, or by distance */
    rer_neighbor *list;    /* [RER_DEVICE_ASKING, RER_DEVICE_LISTED] */
    uint8_t *unsure;       /* [RER_DEVICE_ASKING] */
    int64_t N, D, depth, tile, padded;
};

struct Searching {
    Search on;
    Moment moment;
    cudaStream_t stream[PARTS];
    bool streams;
};

/* ---- rows of unit length ----------------------------------------------------------------- */

static __device__ float unit_at(const Search &s, int64_t row, int64_t j)
{
    double scale = s.scale[row];
    return scale > 0 ? (float)(scale * (double)s.rows.x[row * s.D + j]) : 0;
}

/* A warp a row. One that is not there is all zeros. */
static __global__ void make_units(Search s)
{
    int64_t row = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / WARP;
    int lane = threadIdx.x % WARP;
    if (row >= s.N)
        return;
    bool is_there = s.rows.code[row] >= -1;
    const float *x = s.rows.x + row * s.D;
    double square = 0, lost = 0;
    for (int64_t j = lane; is_there && j < s.D; j += WARP)
        square += (double)x[j] * (double)x[j];
    square = sum_of_warp(square);
    double scale = !is_there ? 0 : square > 0 ? 1 / sqrt(square) : 1;
    square = 0;
    for (int64_t j = lane; j < s.depth; j += WARP) {
        float value = is_there && j < s.D ? (float)(scale * (double)x[j]) : 0;
        __half rounded = __float2half(value);
        double apart = (double)value - (double)__half2float(rounded);
        s.x[row * s.depth + j] = rounded;
        square += (double)value * (double)value;
        lost += apart * apart;
    }
    square = sum_of_warp(square);
    lost = sum_of_warp(lost);
    if (lane != 0)
        return;
    s.scale[row] = scale;
    s.square[row] = square;
    s.half[row] = s.among[row] != 0 ? (float)(square / 2) : INFINITY;
    s.lost[row] = (float)sqrt(lost) * (1 + LEAST_FLOAT);
    (void)atomicMax((int *)s.most_lost, __float_as_int(s.lost[row])); /* in the order of floats that are not negative */
}

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

static __device__ void read_keys(float keys[AT_ONCE], const __half *product, const float *half)
{
    uint4 bits = *(const uint4 *)product;
    const __half2 *pairs = (const __half2 *)&bits;
    float4 low = *(const float4 *)half, high = *(const float4 *)(half + 4);
    const float halves[AT_ONCE] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
    for (int e = 0; e < AT_ONCE; e += 2) {
        float2 both = __half22float2(pairs[e / 2]);
        keys[e] = halves[e] - both.x;
        keys[e + 1] = halves[e + 1] - both.y;
    }
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

/* ---- exactly ----------------------------------------------------------------------------- */

static __device__ void put(const Search &s, int64_t i, int place, rer_neighbor one)
{
    if (place < RER_DEVICE_LISTED)
        s.list[i * RER_DEVICE_LISTED + place] = one.index == INT32_MAX ? rer_neighbor{INFINITY, -1} : one;
}

/* How far the product of a row and another, and half the other's square, may be from what they are in double. */
static __device__ double error_bound(const Search &s, int64_t row)
{
    double own = (double)s.lost[row], other = (double)*s.most_lost;
    double rounded = 1.001 * (own + other) + own * other, added = (double)s.D / (1 << 22), stored = 1.0 / (1 << 12);
    return rounded + added + stored + 1e-6;
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
        double least = s.square[row] + 2 * ((double)found.distance - error_bound(s, row));
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

static int64_t round_up(int64_t count, int64_t to)
{
    return (count + to - 1) / to * to;
}

static unsigned warps_for(int64_t rows)
{
    return blocks_for(rows, THREADS / WARP);
}

void neighbors_end(void *device)
{
    Card *card = (Card *)device;
    if (card->searching == NULL)
        return;
    for (int part = 0; card->searching->streams && part < PARTS; part++)
        (void)cudaStreamDestroy(card->searching->stream[part]);
    for (void *memory : card->searching->moment.taken)
        (void)cudaFree(memory);
    (void)cublasSetStream(card->products, card->compute);
    (void)cublasSetMathMode(card->products, CUBLAS_DEFAULT_MATH);
    delete card->searching;
    card->searching = NULL;
}

/* Bytes of what take_search takes, but for a few. */
static int64_t bytes_of(const Search *s)
{
    return s->padded * (s->depth * 2 + 4) + s->N * (2 * 8 + 4 + 1) +
           RER_DEVICE_ASKING * (s->tile * 2 + CANDIDATES * 8 + RER_DEVICE_LISTED * 8 + 9);
}

static bool take_search(Search *s, Moment *moment, const uint8_t *among)
{
    s->among = take(moment, among, s->N);
    s->x = take<__half>(moment, NULL, s->padded * s->depth);
    s->scale = take<double>(moment, NULL, s->N);
    s->square = take<double>(moment, NULL, s->N);
    s->half = take<float>(moment, NULL, s->padded);
    s->lost = take<float>(moment, NULL, s->N);
    s->most_lost = take<float>(moment, NULL, 1);
    s->product = take<__half>(moment, NULL, RER_DEVICE_ASKING * s->tile);
    s->asking = take<int64_t>(moment, NULL, RER_DEVICE_ASKING);
    s->nearest = take<rer_neighbor>(moment, NULL, RER_DEVICE_ASKING * CANDIDATES);
    s->list = take<rer_neighbor>(moment, NULL, RER_DEVICE_ASKING * RER_DEVICE_LISTED);
    s->unsure = take<uint8_t>(moment, NULL, RER_DEVICE_ASKING);
    return !moment->failed;
}

static void start_search(Card *card, Searching *searching)
{
    Search *s = &searching->on;
    std::unique_ptr<float[]> none = room_for<float>(card, s->padded);
    for (int64_t j = 0; is_well(card) && j < s->padded; j++)
        none[j] = INFINITY;
    CHECK(card,
          cudaMemcpyAsync(s->half, none.get(), (size_t)s->padded * sizeof(float), cudaMemcpyDefault, card->compute));
    CHECK(card, cudaMemsetAsync(s->x, 0, (size_t)(s->padded * s->depth) * sizeof *s->x, card->compute));
    CHECK(card, cudaMemsetAsync(s->product, 0, (size_t)(RER_DEVICE_ASKING * s->tile) * sizeof *s->product,
                                card->compute)); /* initcheck does not see what cuBLAS stores there */
    CHECK(card, cudaMemsetAsync(s->most_lost, 0, sizeof(float), card->compute));
    for (int part = 0; part < PARTS; part++)
        CHECK(card, cudaStreamCreateWithFlags(&searching->stream[part], cudaStreamNonBlocking));
    searching->streams = is_well(card);
    if (!is_well(card))
        return;
    (void)cublasSetMathMode(card->products, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
    make_units<<<warps_for(s->N), THREADS, 0, card->compute>>>(*s);
    LAUNCHED(card);
    CHECK(card, cudaStreamSynchronize(card->compute));
}

bool neighbors_begin(void *device, const uint8_t *among)
{
    Card *card = (Card *)device;
    int64_t N = card->shape.N, D = card->shape.D, tile = round_up(N, THREADS);
    if (!card->keeps || !is_well(card) || D < 2 || N > INT32_MAX)
        return false;
    tile = tile < TILE_COLUMNS ? tile : TILE_COLUMNS;
    Searching *made = new (std::nothrow) Searching();
    if (made == NULL)
        return false;
    made->moment.card = card;
    Search *s = &made->on;
    s->rows = card->kept;
    s->N = N;
    s->D = D;
    s->depth = round_up(D, 8);
    s->tile = tile;
    s->padded = round_up(N, tile);
    card->searching = made;
    bool fits = s->padded * 4 <= RER_DEVICE_ASKING * tile * 2 && bytes_of(s) <= card->left &&
                take_search(s, &made->moment, among);
    if (fits)
        start_search(card, made);
    else
        neighbors_end(card);
    return fits;
}

static void multiply_tile(Card *card, const Search *s, __half *product, int64_t row, int64_t rows, int64_t column,
                          cudaStream_t stream)
{
    float one = 1, zero = 0;
    if (is_well(card) && (cublasSetStream(card->products, stream) != CUBLAS_STATUS_SUCCESS ||
                          cublasGemmEx(card->products, CUBLAS_OP_T, CUBLAS_OP_N, (int)s->tile, (int)rows, (int)s->depth,
                                       &one, s->x + column * s->depth, CUDA_R_16F, (int)s->depth, s->x + row * s->depth,
                                       CUDA_R_16F, (int)s->depth, &zero, product, CUDA_R_16F, (int)s->tile,
                                       CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT) != CUBLAS_STATUS_SUCCESS))
        fail(card, "cublasGemmEx", "a product failed");
}

/* Candidates of rows first..first+count-1. */
static void find_candidates(Card *card, const Searching *searching, int64_t first, int64_t count)
{
    const Search *s = &searching->on;
    int64_t each = RER_DEVICE_ASKING / PARTS;
    for (int64_t column = 0; column < s->padded; column += s->tile)
        for (int part = 0; part * each < count; part++) {
            int64_t from = part * each, rows = count - from < each ? count - from : each;
            __half *product = s->product + from * s->tile;
            cudaStream_t stream = searching->stream[part];
            multiply_tile(card, s, product, first + from, rows, column, stream);
            if (!is_well(card))
                return;
            look<<<warps_for(rows), THREADS, 0, stream>>>(*s, (const __half *)product, s->tile, from, rows, column,
                                                          s->tile);
            LAUNCHED(card);
        }
    for (int part = 0; part < PARTS; part++)
        CHECK(card, cudaStreamSynchronize(searching->stream[part]));
}

static void put_asking(Card *card, const Search *s, const int64_t *rows, int64_t count)
{
    CHECK(card, cudaMemcpyAsync(s->asking, rows, (size_t)count * sizeof *rows, cudaMemcpyDefault, card->compute));
    if (!is_well(card))
        return;
    begin_lists<<<blocks_for(count * CANDIDATES, THREADS), THREADS, 0, card->compute>>>(*s, count);
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

/* Of the rows first.. those that are not sure: their places, in the lists too. */
static void mend(Card *card, const Search *s, const uint8_t *unsure, int64_t first, int64_t count, rer_neighbor *list)
{
    int64_t most = RER_DEVICE_ASKING * s->tile * 2 / (s->padded * 4), n = 0;
    most = most < RER_DEVICE_ASKING ? most : RER_DEVICE_ASKING;
    std::unique_ptr<int64_t[]> rows = room_for<int64_t>(card, most);
    std::unique_ptr<rer_neighbor[]> found = room_for<rer_neighbor>(card, most * RER_DEVICE_LISTED);
    for (int64_t i = 0; is_well(card) && i < count; i++) {
        if (unsure[i] != 0)
            rows[n++] = first + i;
        if (n == 0 || (n < most && i < count - 1))
            continue;
        find_exactly(card, s, rows.get(), n, found.get());
        for (int64_t k = 0; k < n * RER_DEVICE_LISTED; k++)
            list[(rows[k / RER_DEVICE_LISTED] - first) * RER_DEVICE_LISTED + k % RER_DEVICE_LISTED] = found[k];
        n = 0;
    }
}

void neighbors_find(void *device, int64_t first, int64_t count, rer_neighbor *list)
{
    Card *card = (Card *)device;
    if (!is_well(card))
        return;
    const Search *s = &card->searching->on;
    std::unique_ptr<int64_t[]> rows = room_for<int64_t>(card, count);
    std::unique_ptr<uint8_t[]> unsure = room_for<uint8_t>(card, count);
    for (int64_t i = 0; is_well(card) && i < count; i++)
        rows[i] = first + i;
    put_asking(card, s, rows.get(), count);
    find_candidates(card, card->searching, first, count);
    if (!is_well(card))
        return;
    measure_candidates<<<warps_for(count), THREADS, 0, card->compute>>>(*s, count);
    LAUNCHED(card);
    take_list(card, s, list, count);
    CHECK(card, cudaMemcpy(unsure.get(), s->unsure, (size_t)count, cudaMemcpyDefault));
    mend(card, s, unsure.get(), first, count, list);
}
