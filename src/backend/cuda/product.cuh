/* Products of floats on tensor cores, many of one shape side by side: op(a) [M, K] op(b) [K, N] of each item. A float is
 * the sum hi + lo of two numbers of 11 bits, and x y = hi hi' + lo hi' + hi lo' to float's own precision. Tensor cores cut
 * off what they add up, so PRODUCT_K columns at a time go to the sums by a rounded addition. What becomes of a product
 * is the caller's: `last` takes it in pieces of two columns each, PRODUCT_STEP apart, or, where that is better for what it
 * reads, tile by tile from shared memory. */
#pragma once

#include "backend/cuda/card.cuh"

#define PRODUCT_K 16
#define PRODUCT_STAGES 3
#define PRODUCT_THREADS 128
#define PRODUCT_WARPS (PRODUCT_THREADS / 32)
#define PRODUCT_STEP 8

/* Rows by columns of a block's tile. A warp has 32 rows of it. */
struct WideTile {
    static constexpr int M = 64, N = 128;
};
struct NarrowTile {
    static constexpr int M = 128, N = 16;
};

static inline bool is_narrow(int64_t N)
{
    return N <= NarrowTile::N;
}

static inline int64_t tiles_of(int64_t M, int64_t N)
{
    return is_narrow(N) ? blocks_for(M, NarrowTile::M)
                        : (int64_t)blocks_for(M, WideTile::M) * blocks_for(N, WideTile::N);
}

/* A matrix for each item. */
struct Operand {
    const float *at;
    int64_t apart;        /* between items */
    int64_t stride;       /* between rows */
    const int32_t *which; /* [items] of the matrices, below 0: the item is not there; NULL: each has its own */
};

static __device__ inline const float *matrix_of(const Operand &of, int64_t item)
{
    return of.at + (of.which != NULL ? of.which[item] : item) * of.apart;
}

static inline bool is_wide(const Operand &of, int64_t columns)
{
    return columns % 4 == 0 && of.stride % 4 == 0 && of.apart % 4 == 0 && (uintptr_t)of.at % 16 == 0;
}

/* ROWS by COLUMNS numbers, from (row, column) on, of a matrix [rows, columns]; outside of it they are 0. */
template <int ROWS, int COLUMNS, int STRIDE, bool WIDE>
static __device__ inline void load_tile(float *to, const float *from, int64_t stride, int64_t row, int64_t rows,
                                        int64_t column, int64_t columns)
{
#if __CUDA_ARCH__ >= 800
    constexpr int EACH = WIDE ? 4 : 1, ACROSS = COLUMNS / EACH;
    constexpr int ALL = ROWS * ACROSS;
#pragma unroll
    for (int at = 0; at < (ALL + PRODUCT_THREADS - 1) / PRODUCT_THREADS; at++) {
        int i = at * PRODUCT_THREADS + (int)threadIdx.x, r = i / ACROSS, c = i % ACROSS * EACH;
        if (ALL % PRODUCT_THREADS != 0 && i >= ALL)
            break;
        bool inside = row + r < rows && column + c < columns;
        const float *source = inside ? from + (row + r) * stride + column + c : from;
        unsigned place = (unsigned)__cvta_generic_to_shared(to + r * STRIDE + c), bytes = inside ? 4 * EACH : 0;
        if (WIDE)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(place), "l"(source), "r"(bytes));
        else
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(place), "l"(source), "r"(bytes));
    }
#endif
}

static __device__ inline void split_float(float x, unsigned *hi, unsigned *lo)
{
    float upper = upper_bits(x);
    *hi = __float_as_uint(upper);
    *lo = __float_as_uint(x - upper);
}

static __device__ inline void multiply_add(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

/* A_T: a is [K, M] as it lies; B_T: b is [N, K]. */
template <bool A_T, bool B_T, bool A_WIDE, bool B_WIDE, class Tile, class Last>
static __global__ void __launch_bounds__(PRODUCT_THREADS, 3)
    multiply_items(Operand a, Operand b, int64_t M, int64_t N, int64_t K, unsigned tiles, Last last)
{
    constexpr int A_STRIDE = A_T ? Tile::M + 8 : PRODUCT_K + 4, B_STRIDE = B_T ? PRODUCT_K + 4 : Tile::N + 8;
    constexpr int A_SIZE = (A_T ? PRODUCT_K : Tile::M) * A_STRIDE, B_SIZE = (B_T ? Tile::N : PRODUCT_K) * B_STRIDE;
    constexpr int ACROSS = PRODUCT_WARPS / (Tile::M / 32), PAIRS = Tile::N / ACROSS / 8, OUT_STRIDE = Tile::N + 4;
    constexpr int LOADED = PRODUCT_STAGES * (A_SIZE + B_SIZE), MADE = Last::by_tile ? Tile::M * OUT_STRIDE : 0;
    __shared__ __align__(16) float memory[LOADED > MADE ? LOADED : MADE];
    float *a_tile = memory, *b_tile = memory + PRODUCT_STAGES * A_SIZE;
    int64_t item = blockIdx.x / tiles, tile = blockIdx.x % tiles, across = (N + Tile::N - 1) / Tile::N;
    int64_t first = tile / across * Tile::M, column = tile % across * Tile::N;
    if ((a.which != NULL && a.which[item] < 0) || (b.which != NULL && b.which[item] < 0) || !last.is_there(item))
        return;
    const float *a_from = matrix_of(a, item), *b_from = matrix_of(b, item);
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    int down = warp / ACROSS * 32, right = warp % ACROSS * PAIRS * 8, steps = (int)((K + PRODUCT_K - 1) / PRODUCT_K);
    float sum[2][PAIRS][4] = {};
    auto load = [&](int step) {
        float *a_to = a_tile + step % PRODUCT_STAGES * A_SIZE, *b_to = b_tile + step % PRODUCT_STAGES * B_SIZE;
        int64_t k = (int64_t)step * PRODUCT_K;
        if (step < steps) {
            if (A_T)
                load_tile<PRODUCT_K, Tile::M, A_STRIDE, A_WIDE>(a_to, a_from, a.stride, k, K, first, M);
            else
                load_tile<Tile::M, PRODUCT_K, A_STRIDE, A_WIDE>(a_to, a_from, a.stride, first, M, k, K);
            if (B_T)
                load_tile<Tile::N, PRODUCT_K, B_STRIDE, B_WIDE>(b_to, b_from, b.stride, column, N, k, K);
            else
                load_tile<PRODUCT_K, Tile::N, B_STRIDE, B_WIDE>(b_to, b_from, b.stride, k, K, column, N);
        }
#if __CUDA_ARCH__ >= 800
        asm volatile("cp.async.commit_group;");
#endif
    };
    for (int step = 0; step < PRODUCT_STAGES - 1; step++)
        load(step);
    for (int step = 0; step < steps; step++) {
#if __CUDA_ARCH__ >= 800
        asm volatile("cp.async.wait_group %0;" ::"n"(PRODUCT_STAGES - 2));
#endif
        __syncthreads();
        load(step + PRODUCT_STAGES - 1);
        const float *as = a_tile + step % PRODUCT_STAGES * A_SIZE, *bs = b_tile + step % PRODUCT_STAGES * B_SIZE;
        unsigned a_hi[2][2][4], a_lo[2][2][4];
#pragma unroll
        for (int half = 0; half < 2; half++)
#pragma unroll
            for (int r = 0; r < 2; r++)
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    int i = down + r * 16 + g + e % 2 * 8, k = half * 8 + t + e / 2 * 4;
                    split_float(A_T ? as[k * A_STRIDE + i] : as[i * A_STRIDE + k], &a_hi[half][r][e],
                                &a_lo[half][r][e]);
                }
#pragma unroll
        for (int c = 0; c < PAIRS; c++) {
            float part[2][4] = {};
#pragma unroll
            for (int half = 0; half < 2; half++) {
                unsigned b_hi[2], b_lo[2];
#pragma unroll
                for (int e = 0; e < 2; e++) {
                    int j = right + c * 8 + g, k = half * 8 + t + e * 4;
                    split_float(B_T ? bs[j * B_STRIDE + k] : bs[k * B_STRIDE + j], &b_hi[e], &b_lo[e]);
                }
#pragma unroll
                for (int r = 0; r < 2; r++) {
                    multiply_add(part[r], a_lo[half][r], b_hi);
                    multiply_add(part[r], a_hi[half][r], b_lo);
                    multiply_add(part[r], a_hi[half][r], b_hi);
                }
            }
#pragma unroll
            for (int r = 0; r < 2; r++)
#pragma unroll
                for (int e = 0; e < 4; e++)
                    sum[r][c][e] += part[r][e];
        }
    }
    if (Last::by_tile)
        __syncthreads(); /* all have done with what was loaded */
#pragma unroll
    for (int r = 0; r < 2; r++)
#pragma unroll
        for (int lower = 0; lower < 2; lower++) {
            float pairs[PAIRS][2];
            int at = down + r * 16 + lower * 8 + g;
#pragma unroll
            for (int c = 0; c < PAIRS; c++) {
                pairs[c][0] = sum[r][c][2 * lower];
                pairs[c][1] = sum[r][c][2 * lower + 1];
                if (Last::by_tile)
                    *(float2 *)(memory + at * OUT_STRIDE + right + 2 * t + c * PRODUCT_STEP) =
                        make_float2(pairs[c][0], pairs[c][1]);
            }
            if constexpr (!Last::by_tile)
                if (first + at < M)
                    last.take(item, first + at, column + right + 2 * t, pairs);
        }
    if constexpr (Last::by_tile) {
        __syncthreads();
        last.template take_tile<Tile::M, Tile::N, OUT_STRIDE>(item, first, M, column, memory);
    }
    last.finish(item, (int)(tile * PRODUCT_WARPS + warp), lane);
}

template <bool A_T, bool B_T, class Tile, class Last> static auto kernel_for(bool a_wide, bool b_wide)
{
    return a_wide   ? b_wide ? multiply_items<A_T, B_T, true, true, Tile, Last>
                             : multiply_items<A_T, B_T, true, false, Tile, Last>
             : b_wide ? multiply_items<A_T, B_T, false, true, Tile, Last>
                    : multiply_items<A_T, B_T, false, false, Tile, Last>;
}

template <bool A_T, bool B_T, class Last>
static void multiply_all(Card *card, const Operand &a, const Operand &b, int64_t items, int64_t M, int64_t N, int64_t K,
                         const Last &last)
{
    unsigned tiles = (unsigned)tiles_of(M, N), blocks = (unsigned)items * tiles;
    bool a_wide = is_wide(a, A_T ? M : K), b_wide = is_wide(b, B_T ? K : N);
    if (!is_well(card) || items == 0)
        return;
    auto kernel = is_narrow(N) ? kernel_for<A_T, B_T, NarrowTile, Last>(a_wide, b_wide)
                               : kernel_for<A_T, B_T, WideTile, Last>(a_wide, b_wide);
    kernel<<<blocks, PRODUCT_THREADS, 0, card->compute>>>(a, b, M, N, K, tiles, last);
    LAUNCHED(card);
}

/* ---- what becomes of products ------------------------------------------------------------ */

/* out [M, N] of each item. */
struct Stored {
    static constexpr bool by_tile = false;
    float *out;
    int64_t M, N;

    __device__ bool is_there(int64_t) const
    {
        return true;
    }
    __device__ void finish(int64_t, int, int) const
    {
    }
    /* change(x, place in out, column) of each number. */
    template <int PAIRS, class Change>
    __device__ void store(int64_t item, int64_t i, int64_t j, const float (&x)[PAIRS][2], Change change) const
    {
        int64_t at = (item * M + i) * N + j;
#pragma unroll
        for (int c = 0; c < PAIRS; c++, at += PRODUCT_STEP, j += PRODUCT_STEP)
            if (N % 2 == 0) {
                if (j < N)
                    *(float2 *)(out + at) = make_float2(change(x[c][0], at, j), change(x[c][1], at + 1, j + 1));
            } else {
#pragma unroll
                for (int e = 0; e < 2; e++)
                    if (j + e < N)
                        out[at + e] = change(x[c][e], at + e, j + e);
            }
    }
};

/* max(0, x + bias) scale, or x + bias alone. */
struct Layer : Stored {
    Operand bias;
    float scale;
    bool relu;

    template <int PAIRS> __device__ void take(int64_t item, int64_t i, int64_t j, const float (&x)[PAIRS][2]) const
    {
        const float *b = matrix_of(bias, item);
        store(item, i, j, x, [&](float value, int64_t, int64_t column) {
            float y = value + b[column];
            return !relu ? y : y > 0 ? y * scale : 0.f;
        });
    }
};

/* The gradient behind a layer: x scale where its output h was above 0; h NULL: as it is. */
struct Slope : Stored {
    const float *h; /* [items, M, N] */
    float scale;

    template <int PAIRS> __device__ void take(int64_t item, int64_t i, int64_t j, const float (&x)[PAIRS][2]) const
    {
        store(item, i, j, x, [&](float value, int64_t at, int64_t) {
            return h == NULL ? value : h[at] > 0 ? value * scale : 0.f;
        });
    }
};
