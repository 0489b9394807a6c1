/* A search among rows of unit length: makes them ready, and multiplies. */
#include "backend/cuda/search.cuh"

#include <cfloat>
#include <cmath>

#define TILE_COLUMNS 32768 /* products of a row at a time */
#define MEAN_ROWS 4096     /* that a thread adds up */

/* ---- rows of unit length ----------------------------------------------------------------- */

/* A warp a row. One that is not there is all zeros. */
static __global__ void measure_units(Search s)
{
    int64_t row = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / WARP;
    int lane = threadIdx.x % WARP;
    if (row >= s.N)
        return;
    bool is_there = s.rows.code[row] >= -1;
    const float *x = s.rows.x + row * s.D;
    double length = 0, square = 0;
    for (int64_t j = lane; is_there && j < s.D; j += WARP)
        length += (double)x[j] * (double)x[j];
    length = sum_of_warp(length);
    double scale = !is_there ? 0 : length > 0 ? 1 / sqrt(length) : 1;
    for (int64_t j = lane; is_there && j < s.D; j += WARP) {
        float value = (float)(scale * (double)x[j]);
        square += (double)value * (double)value;
    }
    square = sum_of_warp(square);
    if (lane == 0) {
        s.scale[row] = scale;
        s.square[row] = square;
    }
}

/* sums [rows / MEAN_ROWS, D], a thread a column of so many rows; then their mean: any vector will do. */
static __global__ void sum_units(Search s, double *sums)
{
    int64_t j = (int64_t)blockIdx.y * THREADS + threadIdx.x, first = (int64_t)blockIdx.x * MEAN_ROWS;
    double sum = 0;
    if (j >= s.D)
        return;
    for (int64_t row = first; row < first + MEAN_ROWS && row < s.N; row++)
        sum += (double)unit_at(s, row, j);
    sums[blockIdx.x * s.D + j] = sum;
}

static __global__ void find_mean(Search s, const double *sums, int64_t count)
{
    int64_t j = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    double sum = 0;
    if (j >= s.D)
        return;
    for (int64_t i = 0; i < count; i++)
        sum += sums[i * s.D + j];
    s.mean[j] = sum / (double)s.N;
}

/* In the order of floats that are not negative. */
static __device__ void raise(float *most, float value)
{
    (void)atomicMax((int *)most, __float_as_int(value));
}

static __device__ double around_at(const Search &s, int64_t row, int64_t j)
{
    return s.scale[row] > 0 ? (double)unit_at(s, row, j) - s.mean[j] : 0;
}

/* A warp a row. */
static __global__ void find_longest(Search s)
{
    int64_t row = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / WARP;
    double square = 0;
    if (row >= s.N)
        return;
    for (int64_t j = threadIdx.x % WARP; j < s.D; j += WARP)
        square += around_at(s, row, j) * around_at(s, row, j);
    square = sum_of_warp(square);
    if (threadIdx.x % WARP == 0)
        raise(s.longest, fmaxf((float)sqrt(square) * (1 + LEAST_FLOAT), FLT_MIN));
}

static __global__ void make_units(Search s)
{
    int64_t row = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / WARP;
    int lane = threadIdx.x % WARP;
    double square = 0, lost = 0, by = 1 / (double)*s.longest;
    if (row >= s.N)
        return;
    for (int64_t j = lane; j < s.depth; j += WARP) {
        double value = j < s.D ? by * around_at(s, row, j) : 0;
        __half rounded = __float2half((float)value);
        double apart = value - (double)__half2float(rounded);
        s.x[row * s.depth + j] = rounded;
        square += value * value;
        lost += apart * apart;
    }
    square = sum_of_warp(square);
    lost = sum_of_warp(lost);
    if (lane != 0)
        return;
    s.around[row] = square;
    s.half[row] = s.among[row] != 0 ? (float)(square / 2) : INFINITY;
    s.lost[row] = (float)sqrt(lost) * (1 + LEAST_FLOAT);
    s.group[row] = (int32_t)row;
    raise(s.most_lost, s.lost[row]);
}

/* ---- a search ---------------------------------------------------------------------------- */

void neighbors_end(void *device)
{
    Card *card = (Card *)device;
    if (card->searching == NULL)
        return;
    for (int part = 0; card->searching->streams && part < SEARCH_PARTS; part++)
        (void)cudaStreamDestroy(card->searching->stream[part]);
    release(&card->searching->moment);
    (void)cublasSetStream(card->products, card->compute);
    (void)cublasSetMathMode(card->products, CUBLAS_DEFAULT_MATH);
    delete card->searching;
    card->searching = NULL;
}

static bool take_search(Search *s, Moment *moment, const uint8_t *among)
{
    s->among = take(moment, among, s->N);
    s->x = take<__half>(moment, NULL, s->padded * s->depth);
    s->scale = take<double>(moment, NULL, s->N);
    s->square = take<double>(moment, NULL, s->N);
    s->mean = take<double>(moment, NULL, s->D);
    s->around = take<double>(moment, NULL, s->N);
    s->half = take<float>(moment, NULL, s->padded);
    s->lost = take<float>(moment, NULL, s->N);
    s->most_lost = take<float>(moment, NULL, 1);
    s->longest = take<float>(moment, NULL, 1);
    s->asked = take<__half>(moment, NULL, RER_DEVICE_ASKING * s->depth);
    s->product = take<__half>(moment, NULL, RER_DEVICE_ASKING * s->tile);
    s->asking = take<int64_t>(moment, NULL, RER_DEVICE_ASKING);
    s->nearest = take<rer_neighbor>(moment, NULL, RER_DEVICE_ASKING * SEARCH_CANDIDATES);
    s->list = take<rer_neighbor>(moment, NULL, RER_DEVICE_ASKING * RER_DEVICE_LISTED);
    s->unsure = take<uint8_t>(moment, NULL, RER_DEVICE_ASKING);
    s->group = take<int32_t>(moment, NULL, s->N);
    return !moment->failed;
}

/* The sums that the mean is made of go where products will: rows that fit on a card have fewer of them. */
static void prepare_units(Card *card, const Search *s)
{
    double *sums = (double *)s->product;
    unsigned parts = blocks_for(s->N, MEAN_ROWS), across = blocks_for(s->D, THREADS);
    if (!is_well(card))
        return;
    measure_units<<<warps_for(s->N), THREADS, 0, card->compute>>>(*s);
    sum_units<<<dim3(parts, across), THREADS, 0, card->compute>>>(*s, sums);
    find_mean<<<across, THREADS, 0, card->compute>>>(*s, sums, parts);
    find_longest<<<warps_for(s->N), THREADS, 0, card->compute>>>(*s);
    make_units<<<warps_for(s->N), THREADS, 0, card->compute>>>(*s);
    LAUNCHED(card);
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
    CHECK(card, cudaMemsetAsync(s->longest, 0, sizeof(float), card->compute));
    for (int part = 0; part < SEARCH_PARTS; part++)
        CHECK(card, cudaStreamCreateWithFlags(&searching->stream[part], cudaStreamNonBlocking));
    searching->streams = is_well(card);
    if (!is_well(card))
        return;
    (void)cublasSetMathMode(card->products, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
    prepare_units(card, s);
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
    bool fits = s->padded * 4 <= RER_DEVICE_ASKING * tile * 2 && take_search(s, &made->moment, among);
    if (fits)
        start_search(card, made);
    else
        neighbors_end(card);
    return fits;
}

void multiply_tile(Card *card, const Search *s, __half *product, const __half *rows, int64_t count, int64_t column,
                   cudaStream_t stream)
{
    float one = 1, zero = 0;
    if (is_well(card) && (cublasSetStream(card->products, stream) != CUBLAS_STATUS_SUCCESS ||
                          cublasGemmEx(card->products, CUBLAS_OP_T, CUBLAS_OP_N, (int)s->tile, (int)count,
                                       (int)s->depth, &one, s->x + column * s->depth, CUDA_R_16F, (int)s->depth, rows,
                                       CUDA_R_16F, (int)s->depth, &zero, product, CUDA_R_16F, (int)s->tile,
                                       CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT) != CUBLAS_STATUS_SUCCESS))
        fail(card, "cublasGemmEx", "a product failed");
}
