/* Dense products of rows, and the operands that they take. */
#include "backend/cuda/card.cuh"

#define THREADS 128

void multiply(Card *card, float *out, int64_t stride, const float *a, const float *b, int64_t rows, int64_t n,
              int64_t width)
{
    float one = 1, zero = 0;
    int k = (int)(card->parts * width);
    cublasComputeType_t type = card->parts == 1 ? CUBLAS_COMPUTE_32F : CUBLAS_COMPUTE_32F_FAST_TF32;
    if (is_well(card) && cublasGemmEx(card->products, CUBLAS_OP_T, CUBLAS_OP_N, (int)n, (int)rows, k, &one, b,
                                      CUDA_R_32F, k, a, CUDA_R_32F, k, &zero, out, CUDA_R_32F, (int)stride, type,
                                      CUBLAS_GEMM_DEFAULT) != CUBLAS_STATUS_SUCCESS)
        fail(card, "cublasGemmEx", "a product failed");
}

/* One block a row. */
static __global__ void right_operand(float *to, const float *x, int64_t rows, int64_t columns, int64_t width, int parts)
{
    int64_t i = blockIdx.x;
    float *row = to + i * parts * width;
    for (int64_t j = threadIdx.x; j < width; j += THREADS) {
        float value = i < rows && j < columns ? x[i * columns + j] : 0;
        if (parts == 1) {
            row[j] = value;
        } else {
            float hi = upper_bits(value);
            row[j] = row[width + j] = hi;
            row[2 * width + j] = upper_bits(value - hi);
        }
    }
}

void make_right_operand(Card *card, float *to, int64_t rows_to, const float *x, int64_t rows, int64_t columns,
                        int64_t width)
{
    if (!is_well(card))
        return;
    right_operand<<<(unsigned)rows_to, THREADS, 0, card->compute>>>(to, x, rows, columns, width, card->parts);
    LAUNCHED(card);
}

struct Residuals {
    Rows rows;
    const double *mean;
    int64_t count, D, width;
    int32_t C;
    int parts;
    bool all;
    double far;
    int32_t *far_rows; /* marks, NULL: nothing is far */
    float *operand, *plain;
};

/* Sum over the block's threads, for all of them. */
static __device__ double sum_of_block(double value)
{
    __shared__ double part[THREADS / 32];
    value = sum_of_warp(value);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = value;
    __syncthreads();
    value = 0;
    for (int i = 0; i < THREADS / 32; i++)
        value += part[i];
    return value;
}

/* One block a row. */
static __global__ void residuals(Residuals to)
{
    int64_t i = blockIdx.x;
    int32_t code = i < to.count ? to.rows.code[i] : -2;
    if (code == -1 && to.all)
        code = to.C;
    bool is_there = code >= 0;
    const float *x = to.rows.x + i * to.D;
    const double *mean = to.mean + (int64_t)code * to.D;
    double scale = is_there ? to.rows.scale[i] : 0;
    if (to.far_rows != NULL) {
        double square = 0;
        for (int64_t j = threadIdx.x; is_there && j < to.D; j += THREADS) {
            double r = scale * (double)x[j] - mean[j];
            square += r * r;
        }
        bool is_far = sum_of_block(square) > to.far;
        if (threadIdx.x == 0 && i < to.count)
            to.far_rows[i] = is_far;
        is_there = is_there && !is_far;
    }
    for (int64_t j = threadIdx.x; j < to.width; j += THREADS) {
        float r = is_there && j < to.D ? (float)(scale * (double)x[j] - mean[j]) : 0;
        put_operand(to.operand + i * to.parts * to.width, j, to.width, to.parts, r);
        if (to.plain != NULL)
            to.plain[i * to.width + j] = r;
    }
}

void make_residuals(Card *card, const Slot *slot, int64_t padded, bool all, bool far, float *plain)
{
    Residuals to = {slot->rows,    card->mean,  slot->count, card->shape.D, card->width,
                    card->shape.C, card->parts, all,         card->far,     far ? card->far_rows : NULL,
                    card->operand, plain};
    if (!is_well(card))
        return;
    residuals<<<(unsigned)padded, THREADS, 0, card->compute>>>(to);
    LAUNCHED(card);
}
