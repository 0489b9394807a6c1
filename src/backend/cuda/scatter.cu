/* The scatter: products of PRODUCT_ROWS residuals in float, their sums in double. A row so far that its float products
 * would drown the others is added in double. */
#include "backend/cuda/card.cuh"

#define THREADS 256
#define SCAN 1024
#define TILE 16

static int64_t columns(const Card *card)
{
    return card->parts == 1 ? card->width : 2 * card->width;
}

void scatter_begin(void *device, const double *mean, double far)
{
    Card *card = (Card *)device;
    size_t bytes = (size_t)(card->shape.C * card->shape.D) * sizeof(double);
    card->far = far;
    finish_start(card);
    CHECK(card, cudaMemcpyAsync(card->mean, mean, bytes, cudaMemcpyDefault, card->compute));
    CHECK(card,
          cudaMemsetAsync(card->scatter, 0, (size_t)(card->width * columns(card)) * sizeof(double), card->compute));
    CHECK(card, cudaStreamSynchronize(card->compute));
}

/* far_rows [count]: marks become the numbers of the marked rows, ascending; one block. */
static __global__ void list_far(int32_t *far_rows, int32_t *n_far, int32_t count)
{
    __shared__ int32_t before[SCAN];
    int32_t each = (count + SCAN - 1) / SCAN, first = (int32_t)threadIdx.x * each;
    int32_t end = first + each < count ? first + each : count, marked = 0;
    for (int32_t i = first; i < end; i++)
        marked += far_rows[i];
    before[threadIdx.x] = marked;
    __syncthreads();
    for (int step = 1; step < SCAN; step *= 2) {
        int32_t more = (int)threadIdx.x >= step ? before[threadIdx.x - step] : 0;
        __syncthreads();
        before[threadIdx.x] += more;
        __syncthreads();
    }
    if (threadIdx.x == SCAN - 1)
        *n_far = before[SCAN - 1];
    if (before[SCAN - 1] == 0)
        return;
    /* In place: a thread's numbers go to places that are not behind its marks, thread after thread. */
    for (int turn = 0; turn < SCAN; turn++) {
        if (turn == (int)threadIdx.x) {
            int32_t at = before[threadIdx.x] - marked;
            for (int32_t i = first; i < end; i++)
                if (far_rows[i] != 0)
                    far_rows[at++] = i;
        }
        __syncthreads();
    }
}

/* The lower triangle of a tile of entries. */
static __global__ void add_far(double *scatter, int64_t stride, const int32_t *far_rows, const int32_t *n_far,
                               Rows rows, const double *mean, int64_t D)
{
    int64_t j = (int64_t)blockIdx.y * TILE + threadIdx.y, k = (int64_t)blockIdx.x * TILE + threadIdx.x;
    if (*n_far == 0 || j >= D || k > j)
        return;
    double sum = 0;
    for (int32_t f = 0; f < *n_far; f++) {
        int64_t i = far_rows[f];
        const float *x = rows.x + i * D;
        const double *center = mean + (int64_t)rows.code[i] * D;
        sum += (rows.scale[i] * (double)x[j] - center[j]) * (rows.scale[i] * (double)x[k] - center[k]);
    }
    scatter[j * stride + k] += sum;
}

static __global__ void add_batches(double *scatter, const float *batches, int64_t entries, int n)
{
    int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= entries)
        return;
    double sum = scatter[i];
    for (int b = 0; b < n; b++)
        sum += (double)batches[b * entries + i];
    scatter[i] = sum;
}

/* batches [n, width, columns] = hi' (hi | lo), or plain. */
void multiply_batches(Card *card, int n)
{
    float one = 1, zero = 0;
    int stride = (int)(card->parts * card->width), wide = (int)columns(card), width = (int)card->width;
    cublasComputeType_t type = card->parts == 1 ? CUBLAS_COMPUTE_32F : CUBLAS_COMPUTE_32F_FAST_TF32;
    if (is_well(card) &&
        cublasGemmStridedBatchedEx(card->products, CUBLAS_OP_N, CUBLAS_OP_T, wide, width, PRODUCT_ROWS, &one,
                                   card->operand, CUDA_R_32F, stride, (int64_t)PRODUCT_ROWS * stride, card->operand,
                                   CUDA_R_32F, stride, (int64_t)PRODUCT_ROWS * stride, &zero, card->batches, CUDA_R_32F,
                                   wide, (int64_t)width * wide, n, type, CUBLAS_GEMM_DEFAULT) != CUBLAS_STATUS_SUCCESS)
        fail(card, "cublasGemmStridedBatchedEx", "a product failed");
}

void scatter_add(void *device, int which)
{
    Card *card = (Card *)device;
    Slot *slot = &card->slots[which];
    if (!is_well(card))
        return;
    int64_t D = card->shape.D, entries = card->width * columns(card);
    int n = (int)((slot->count + PRODUCT_ROWS - 1) / PRODUCT_ROWS);
    make_residuals(card, slot, (int64_t)n * PRODUCT_ROWS, false, true, NULL);
    multiply_batches(card, n);
    if (!is_well(card))
        return;
    add_batches<<<blocks_for(entries, THREADS), THREADS, 0, card->compute>>>(card->scatter, card->batches, entries, n);
    list_far<<<1, SCAN, 0, card->compute>>>(card->far_rows, card->n_far, (int32_t)slot->count);
    add_far<<<dim3(blocks_for(D, TILE), blocks_for(D, TILE)), dim3(TILE, TILE), 0, card->compute>>>(
        card->scatter, columns(card), card->far_rows, card->n_far, slot->rows, card->mean, D);
    LAUNCHED(card);
    CHECK(card, cudaEventRecord(slot->computed, card->compute));
}

void scatter_end(void *device, double *scatter)
{
    Card *card = (Card *)device;
    int64_t D = card->shape.D, wide = columns(card), width = card->width;
    std::unique_ptr<double[]> sums = room_for<double>(card, width * wide);
    CHECK(card, cudaMemcpyAsync(sums.get(), card->scatter, (size_t)(width * wide) * sizeof(double), cudaMemcpyDefault,
                                card->compute));
    CHECK(card, cudaStreamSynchronize(card->compute));
    for (int64_t j = 0; is_well(card) && j < D; j++)
        for (int64_t k = 0; k <= j; k++) {
            double crossed = card->parts == 1 ? 0 : sums[j * wide + width + k] + sums[k * wide + width + j];
            scatter[j * D + k] = sums[j * wide + k] + crossed;
        }
}
