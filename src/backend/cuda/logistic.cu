/* Sums of logistic regressions that are fitted side by side (detect/logistic_train.c): a stretch of one fold's rows after
 * the other meets the weights of all regressions that see it, a warp makes residuals of a row's products, and their
 * products with the rows are added up in float over PRODUCT_ROWS, in double from there on. A feature that is always 1
 * carries the residuals' own sums. */
#include "backend/cuda/card.cuh"

#include <cmath>

#define THREADS 128
#define WARP 32
#define STRETCH_MOST 16384                  /* rows of a stretch, ... */
#define RESIDUAL_BYTES ((int64_t)512 << 20) /* ... or as many as these of their residuals are */

struct Regressions {
    Rows rows;
    int32_t C, parts;
    bool unit;
    int64_t D, width;       /* with the feature that is 1; a multiple of 4 */
    int64_t stretch;        /* rows */
    double *mean;           /* [D] */
    int64_t *row;           /* rows of all folds */
    int32_t *label;         /* and their classes */
    float *w, *bias;        /* [folds, C, D], [folds, C] */
    float *w_operand;       /* [folds, C, parts width] */
    float *x;               /* [stretch, parts width] */
    float *residual, *rest; /* [stretch, others, C]: products, then residuals, and what their upper bits leave */
    double *loss, *missing; /* [stretch, others] */
    float *batches;         /* [stretch / PRODUCT_ROWS, others, C, width] */
    double *sum;            /* [folds, C, width] */
    double *total;          /* [folds, 2] of losses and what is missing */
};

struct Logistic {
    Regressions on;
    Moment moment;
    int32_t folds;
    std::unique_ptr<int64_t[]> start; /* [folds + 1] */
};

/* Rows of one fold, and the regressions that see them: all but the one at place `own`, where that is one. */
struct Stretch {
    int64_t first, count, padded;
    int32_t own, others;
};

static __device__ int64_t place_of(const Stretch &at, int64_t other)
{
    return other < at.own ? other : other + 1;
}

/* ---- on the card ------------------------------------------------------------------------- */

/* A warp a row; those past the last are 0. */
static __global__ void make_rows(Regressions of, Stretch at)
{
    int64_t i = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / WARP;
    int lane = threadIdx.x % WARP;
    if (i >= at.padded)
        return;
    bool is_there = i < at.count;
    const float *x = of.rows.x + (is_there ? of.row[at.first + i] : 0) * of.D;
    double square = 0, scale = 1;
    for (int64_t j = lane; of.unit && is_there && j < of.D; j += WARP)
        square += (double)x[j] * (double)x[j];
    square = sum_of_warp(square);
    if (of.unit && square > 0 && of.D >= 2)
        scale = 1 / sqrt(square);
    for (int64_t j = lane; j < of.width; j += WARP) {
        float value = !is_there || j > of.D ? 0 : j == of.D ? 1 : (float)(scale * (double)x[j] - of.mean[j]);
        put_operand(of.x + i * of.parts * of.width, j, of.width, of.parts, value);
    }
}

static __device__ float max_of_warp(float value)
{
    for (int step = WARP / 2; step > 0; step /= 2)
        value = fmaxf(value, __shfl_xor_sync(~0u, value, step));
    return value;
}

/* A warp a row and a regression: products become residuals, p - 1 of the label. */
static __global__ void find_residuals(Regressions of, Stretch at)
{
    int64_t item = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / WARP, i = item / at.others;
    int lane = threadIdx.x % WARP;
    if (i >= at.padded)
        return;
    bool is_there = i < at.count;
    int32_t C = of.C, label = is_there ? of.label[at.first + i] : -1;
    float *z = of.residual + item * C, *rest = of.rest + item * C, top = -INFINITY;
    const float *bias = of.bias + place_of(at, item % at.others) * C;
    double sum = 0;
    for (int32_t k = lane; is_there && k < C; k += WARP)
        top = fmaxf(top, z[k] + bias[k]);
    top = max_of_warp(top);
    for (int32_t k = lane; is_there && k < C; k += WARP)
        sum += (double)expf(z[k] + bias[k] - top);
    sum = sum_of_warp(sum);
    if (lane == 0) {
        double z_label = is_there ? (double)(z[label] + bias[label]) - (double)top : 0;
        of.loss[item] = is_there ? log(sum) - z_label : 0;
        of.missing[item] = is_there ? 1 - exp(z_label) / sum : 0;
    }
    __syncwarp();
    for (int32_t k = lane; k < C; k += WARP) {
        float p = is_there ? (float)((double)expf(z[k] + bias[k] - top) / sum) - (k == label ? 1.f : 0.f) : 0;
        float hi = of.parts == 1 ? p : upper_bits(p);
        z[k] = hi;
        if (of.parts > 1)
            rest[k] = upper_bits(p - hi);
    }
}

/* A block a regression: losses are added up in one order. */
static __global__ void add_losses(Regressions of, Stretch at)
{
    __shared__ double parts[2][THREADS];
    double loss = 0, missing = 0;
    for (int64_t i = threadIdx.x; i < at.count; i += THREADS) {
        loss += of.loss[i * at.others + blockIdx.x];
        missing += of.missing[i * at.others + blockIdx.x];
    }
    parts[0][threadIdx.x] = loss;
    parts[1][threadIdx.x] = missing;
    __syncthreads();
    if (threadIdx.x >= 2)
        return;
    double sum = 0;
    for (int i = 0; i < THREADS; i++)
        sum += parts[threadIdx.x][i];
    of.total[place_of(at, blockIdx.x) * 2 + threadIdx.x] += sum;
}

static __global__ void add_batches(Regressions of, Stretch at)
{
    int64_t each = of.C * of.width, entries = at.others * each, n = at.padded / PRODUCT_ROWS;
    int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= entries)
        return;
    double *to = of.sum + place_of(at, i / each) * each + i % each, sum = *to;
    for (int64_t b = 0; b < n; b++)
        sum += (double)of.batches[b * entries + i];
    *to = sum;
}

/* ---- a stretch --------------------------------------------------------------------------- */

/* batches (+)= residuals' rows [PRODUCT_ROWS at a time] by `part` of the operand's. */
static void multiply_residuals(Card *card, const Regressions *of, const Stretch *at, const float *residual, int part,
                               bool adds)
{
    float one = 1, before = adds ? 1 : 0;
    int width = (int)of->width, n = (int)(at->others * of->C), stride = (int)(of->parts * of->width);
    cublasComputeType_t type = of->parts == 1 ? CUBLAS_COMPUTE_32F : CUBLAS_COMPUTE_32F_FAST_TF32;
    if (is_well(card) &&
        cublasGemmStridedBatchedEx(card->products, CUBLAS_OP_N, CUBLAS_OP_T, width, n, PRODUCT_ROWS, &one,
                                   of->x + part * width, CUDA_R_32F, stride, (int64_t)PRODUCT_ROWS * stride, residual,
                                   CUDA_R_32F, n, (int64_t)PRODUCT_ROWS * n, &before, of->batches, CUDA_R_32F, width,
                                   (int64_t)n * width, (int)(at->padded / PRODUCT_ROWS), type,
                                   CUBLAS_GEMM_DEFAULT) != CUBLAS_STATUS_SUCCESS)
        fail(card, "cublasGemmStridedBatchedEx", "a product failed");
}

static void add_stretch(Card *card, const Regressions *of, const Stretch *at)
{
    int64_t C = of->C, below = at->own < at->others ? at->own : at->others, n = at->others * C;
    int64_t each = C * of->parts * of->width;
    if (!is_well(card) || at->others == 0)
        return;
    make_rows<<<blocks_for(at->padded, THREADS / WARP), THREADS, 0, card->compute>>>(*of, *at);
    LAUNCHED(card);
    if (below > 0)
        multiply(card, of->residual, n, of->x, of->w_operand, at->padded, below * C, of->width);
    if (below < at->others)
        multiply(card, of->residual + below * C, n, of->x, of->w_operand + (below + 1) * each, at->padded,
                 (at->others - below) * C, of->width);
    if (!is_well(card))
        return;
    find_residuals<<<blocks_for(at->padded * at->others, THREADS / WARP), THREADS, 0, card->compute>>>(*of, *at);
    add_losses<<<(unsigned)at->others, THREADS, 0, card->compute>>>(*of, *at);
    LAUNCHED(card);
    multiply_residuals(card, of, at, of->residual, 0, false);
    if (of->parts > 1) {
        multiply_residuals(card, of, at, of->rest, 0, true);
        multiply_residuals(card, of, at, of->residual, 1, true);
    }
    if (!is_well(card))
        return;
    add_batches<<<blocks_for(n * of->width, THREADS), THREADS, 0, card->compute>>>(*of, *at);
    LAUNCHED(card);
}

/* ---- begin, sums, end -------------------------------------------------------------------- */

void logistic_end(void *device)
{
    Card *card = (Card *)device;
    if (card->logistic == NULL)
        return;
    (void)cudaStreamSynchronize(card->compute);
    release(&card->logistic->moment);
    delete card->logistic;
    card->logistic = NULL;
}

static bool take_regressions(Regressions *of, Moment *moment, const rer_device_logistic *given)
{
    int64_t C = of->C, D = of->D, folds = given->folds, rows = given->start[folds];
    int64_t others = folds, residuals = of->stretch * others * C;
    of->mean = take(moment, given->mean, D);
    of->row = take(moment, given->row, rows);
    of->label = take(moment, given->label, rows);
    of->w = take<float>(moment, NULL, folds * C * D);
    of->bias = take<float>(moment, NULL, folds * C);
    of->w_operand = take<float>(moment, NULL, folds * C * of->parts * of->width);
    of->x = take<float>(moment, NULL, of->stretch * of->parts * of->width);
    of->residual = take<float>(moment, NULL, residuals);
    of->rest = take<float>(moment, NULL, of->parts > 1 ? residuals : 1);
    of->loss = take<double>(moment, NULL, of->stretch * others);
    of->missing = take<double>(moment, NULL, of->stretch * others);
    of->batches = take<float>(moment, NULL, of->stretch / PRODUCT_ROWS * others * C * of->width);
    of->sum = take<double>(moment, NULL, folds * C * of->width);
    of->total = take<double>(moment, NULL, folds * 2);
    return !moment->failed;
}

/* Rows of a stretch, at least PRODUCT_ROWS. */
static int64_t stretch_of(const rer_device_logistic *given, int32_t C)
{
    int64_t most = 0, fits = RESIDUAL_BYTES / (given->folds * (int64_t)C * (int64_t)sizeof(float));
    for (int32_t fold = 0; fold < given->folds; fold++) {
        int64_t rows = round_up(given->start[fold + 1] - given->start[fold], PRODUCT_ROWS);
        most = rows > most ? rows : most;
    }
    fits = fits < STRETCH_MOST ? fits / PRODUCT_ROWS * PRODUCT_ROWS : STRETCH_MOST;
    fits = fits < most ? fits : most;
    return fits > PRODUCT_ROWS ? fits : PRODUCT_ROWS;
}

/* Smaller stretches where there is no room. */
static bool find_room(Logistic *made, const rer_device_logistic *given)
{
    while (!take_regressions(&made->on, &made->moment, given)) {
        release(&made->moment);
        if (made->on.stretch == PRODUCT_ROWS)
            return false;
        made->on.stretch = round_up(made->on.stretch / 2, PRODUCT_ROWS);
    }
    return true;
}

bool logistic_begin(void *device, const rer_device_logistic *given)
{
    Card *card = (Card *)device;
    if (!card->keeps || !is_well(card))
        return false;
    Logistic *made = new (std::nothrow) Logistic();
    if (made == NULL)
        return false;
    finish_start(card);
    card->logistic = made;
    made->moment = Moment{card, {}, false};
    made->folds = given->folds;
    made->start = room_for<int64_t>(card, given->folds + 1);
    made->on.rows = card->kept;
    made->on.C = card->shape.C;
    made->on.parts = card->parts;
    made->on.unit = given->unit;
    made->on.D = card->shape.D;
    made->on.width = round_up(card->shape.D + 1, 4);
    made->on.stretch = stretch_of(given, card->shape.C);
    bool fits = is_well(card) && find_room(made, given);
    for (int32_t fold = 0; fits && fold <= given->folds; fold++)
        made->start[fold] = given->start[fold];
    CHECK(card, cudaStreamSynchronize(card->compute)); /* the caller's arrays are copied */
    if (!fits)
        logistic_end(card);
    return fits;
}

static void begin_sums(Card *card, const Regressions *of, const rer_device_softmax *at)
{
    size_t C = (size_t)of->C, n = (size_t)at->count, D = (size_t)of->D, width = (size_t)of->width;
    CHECK(card, cudaMemcpyAsync(of->w, at->w, n * C * D * sizeof(float), cudaMemcpyDefault, card->compute));
    CHECK(card, cudaMemcpyAsync(of->bias, at->bias, n * C * sizeof(float), cudaMemcpyDefault, card->compute));
    CHECK(card, cudaMemsetAsync(of->sum, 0, n * C * width * sizeof(double), card->compute));
    CHECK(card, cudaMemsetAsync(of->total, 0, n * 2 * sizeof(double), card->compute));
    make_right_operand(card, of->w_operand, at->count * (int64_t)of->C, of->w, at->count * (int64_t)of->C, of->D,
                       of->width);
}

static void take_sums(Card *card, const Regressions *of, const rer_device_softmax *at)
{
    size_t C = (size_t)of->C, n = (size_t)at->count, D = (size_t)of->D, each = sizeof(double);
    size_t pitch = (size_t)of->width * each;
    std::unique_ptr<double[]> total = room_for<double>(card, at->count * 2);
    CHECK(card,
          cudaMemcpy2DAsync(at->sum, D * each, of->sum, pitch, D * each, n * C, cudaMemcpyDefault, card->compute));
    CHECK(card,
          cudaMemcpy2DAsync(at->bias_sum, each, of->sum + D, pitch, each, n * C, cudaMemcpyDefault, card->compute));
    CHECK(card, cudaMemcpyAsync(total.get(), of->total, n * 2 * each, cudaMemcpyDefault, card->compute));
    CHECK(card, cudaStreamSynchronize(card->compute));
    for (int32_t i = 0; is_well(card) && i < at->count; i++) {
        at->loss[i] = total[2 * i];
        at->missing[i] = total[2 * i + 1];
    }
}

void logistic_sums(void *device, const rer_device_softmax *at)
{
    Card *card = (Card *)device;
    if (!is_well(card))
        return;
    const Logistic *logistic = card->logistic;
    const Regressions *of = &logistic->on;
    begin_sums(card, of, at);
    for (int32_t fold = 0; fold < logistic->folds; fold++) {
        int32_t own = 0;
        while (own < at->count && at->fold[own] != fold)
            own++;
        for (int64_t first = logistic->start[fold]; first < logistic->start[fold + 1]; first += of->stretch) {
            int64_t left = logistic->start[fold + 1] - first, count = left < of->stretch ? left : of->stretch;
            Stretch stretch = {first, count, round_up(count, PRODUCT_ROWS), own,
                               own < at->count ? at->count - 1 : at->count};
            add_stretch(card, of, &stretch);
        }
    }
    take_sums(card, of, at);
}
