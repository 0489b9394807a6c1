/* A CUDA card that is open for one run: its memory, its slots and its streams. What copies in, what computes and what
 * copies out each have a stream, so that the three overlap; events order them. */
#pragma once

extern "C" {
#include "backend/device.h"
}

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <memory>
#include <new>
#include <thread>
#include <vector>

/* Products are made by the tensor cores where they are three times as fast: a float is the sum of two numbers of 11
 * bits, hi + lo, and x y = hi hi' + lo hi' + hi lo' to float's own precision. Operands lie as hi|lo|hi, what they are
 * multiplied with as hi|hi|lo. Elsewhere both are plain floats. */
#define SPLIT_PARTS 3

#define PRODUCT_ROWS RER_DEVICE_BLOCK /* whose products are added up in float; sums of these are doubles */
#define PIECE_ROWS 32                 /* of a class that one block sums up */

/* Rows of a class in the order of a stretch. */
struct Piece {
    int32_t code, first, end;
};

/* Rows on the card. */
struct Rows {
    float *x;
    double *scale;
    int32_t *code;
};

struct Slot {
    rer_device_rows host; /* pinned */
    Rows stage;           /* where the card does not keep rows */
    Rows rows;            /* of the stretch under way */
    const int32_t *code;  /* the same on the host */
    int64_t first, count;
    int32_t *order, *order_on_card; /* [rows] labelled rows by class */
    Piece *pieces, *pieces_on_card;
    int32_t *piece_start, *piece_start_on_card; /* [C + 1] */
    rer_reduced_row *reduced, *reduced_on_card; /* [rows] */
    cudaEvent_t copied, computed, returned;
};

struct Card {
    rer_device_shape shape;
    int64_t width; /* D, a multiple of 4 */
    int parts;     /* SPLIT_PARTS, or 1 */
    char name[256], failure[RER_DEVICE_MESSAGE];
    int before;   /* the caller's own card */
    bool no_room; /* that is why it failed: with less it may not */
    cudaStream_t in, compute, out;
    cublasHandle_t products;
    std::vector<void *> taken, pinned;
    bool keeps;
    Rows kept;
    int32_t *kept_code; /* on the host */
    Slot slots[RER_DEVICE_SLOTS];
    double *sum, *square; /* [C, D] */
    double *piece_sums;   /* [pieces, 2, D] */
    double *mean;         /* [C + 1, D] */
    float *operand;       /* [rows, parts width] */
    float *batches;       /* [rows / PRODUCT_ROWS, width, 2 width] */
    double *scatter;      /* [width, 2 width] hi hi' and hi lo'; width columns where parts is 1 */
    double far;
    int32_t *far_rows, *n_far;   /* [rows], [1] */
    float *t;                    /* [rows, width] */
    float *h;                    /* [rows, C] */
    float4 *terms;               /* [rows] own, h_own, gain, own error */
    float *root, *u, *u_operand; /* [width, parts width], [C + 1, width], [C, parts width] */
    float *norm, *pairs, *bias, *rates;
    int64_t *n;
    rer_device_model model; /* of the scoring: flags and numbers */
    rer_device_channel channel;
    bool has_root;
    int64_t used, left;          /* bytes of all this; that may be used beside it */
    struct Searching *searching; /* NULL: no search is under way */
    struct Logistic *logistic;   /* NULL: no regressions are */
    struct Sweep *sweep;         /* NULL: classes are no networks */
    bool is_recent, is_hopper;   /* has the products that networks need, and those of sweep.cu */
    std::thread *starting;       /* loads what the products need, which takes a while; NULL: it is there */
};

/* Waits until products can be made. */
void finish_start(Card *card);
/* Keeps the first failure. */
void fail(Card *card, const char *what, const char *why);
static inline bool is_well(const Card *card)
{
    return card->failure[0] == 0;
}
#define CHECK(card, call)                                                                                              \
    do {                                                                                                               \
        cudaError_t result = is_well(card) ? (call) : cudaSuccess;                                                     \
        if (result != cudaSuccess)                                                                                     \
            fail(card, #call, cudaGetErrorString(result));                                                             \
    } while (0)
/* After a launch. */
#define LAUNCHED(card) CHECK(card, cudaGetLastError())

/* Memory of the host for the moment; none where there is none left, which is a failure. */
template <typename T> std::unique_ptr<T[]> room_for(Card *card, int64_t count)
{
    std::unique_ptr<T[]> made(new (std::nothrow) T[(size_t)count]());
    if (made == nullptr)
        fail(card, "host", "out of memory");
    return made;
}

/* Memory for the moment, of what the card may use. */
struct Moment {
    Card *card;
    std::vector<void *> taken;
    bool failed;
    int64_t bytes = 0, wanted = 0; /* taken; with what there was no room for */
};

/* With a copy of what is in `from`. */
template <typename T> T *take(Moment *moment, const T *from, int64_t count)
{
    void *made = NULL;
    int64_t bytes = (count > 0 ? count : 1) * (int64_t)sizeof(T);
    moment->wanted += bytes;
    moment->failed = moment->failed || bytes > moment->card->left || cudaMalloc(&made, (size_t)bytes) != cudaSuccess;
    if (moment->failed) {
        (void)cudaGetLastError();
        return NULL;
    }
    moment->taken.push_back(made);
    moment->bytes += bytes;
    moment->card->left -= bytes;
    if (from != NULL)
        CHECK(moment->card,
              cudaMemcpyAsync(made, from, (size_t)count * sizeof(T), cudaMemcpyDefault, moment->card->compute));
    return (T *)made;
}

static inline void release(Moment *moment)
{
    for (void *memory : moment->taken)
        (void)cudaFree(memory);
    moment->card->left += moment->bytes;
    *moment = Moment{moment->card, {}, false};
}

static inline unsigned blocks_for(int64_t items, int64_t each)
{
    return (unsigned)((items + each - 1) / each);
}

static inline int64_t round_up(int64_t count, int64_t to)
{
    return (count + to - 1) / to * to;
}

int32_t piece_count(const Card *card); /* most of a stretch */
/* batches [n, width, columns] = products of the operand's rows, PRODUCT_ROWS at a time. */
void multiply_batches(Card *card, int n);
/* out [rows, n] = a b', rows of `parts width` each; out has `stride` columns. */
void multiply(Card *card, float *out, int64_t stride, const float *a, const float *b, int64_t rows, int64_t n,
              int64_t width);
/* What multiply takes on its right-hand side, from x [rows, columns]; to [rows_to, parts width], the rest is 0. */
void make_right_operand(Card *card, float *to, int64_t rows_to, const float *x, int64_t rows, int64_t columns,
                        int64_t width);
/* operand <- scale x - mean of the row's class; rows past the last are 0 up to `padded`. Rows without a label are 0 too,
 * or with `all` compared with the mean past the last class. */
void make_residuals(Card *card, const Slot *slot, int64_t padded, bool all, bool far, float *plain);

__device__ inline float upper_bits(float x)
{
    return __uint_as_float((__float_as_uint(x) + 0x1000u) & 0xffffe000u);
}

/* Puts x into its places of a left operand's row. */
__device__ inline void put_operand(float *row, int64_t j, int64_t width, int parts, float x)
{
    if (parts == 1) {
        row[j] = x;
        return;
    }
    float hi = upper_bits(x);
    row[j] = row[2 * width + j] = hi;
    row[width + j] = upper_bits(x - hi);
}

__device__ inline double sum_of_warp(double value)
{
    for (int step = 16; step > 0; step /= 2)
        value += __shfl_xor_sync(~0u, value, step);
    return value;
}

void sums_begin(void *device);
void sums_add(void *device, int slot);
void sums_end(void *device, double *sum, double *square);
void scatter_begin(void *device, const double *mean, double far);
void scatter_add(void *device, int slot);
void scatter_end(void *device, double *scatter);
void score_begin(void *device, const rer_device_model *model);
void score_add(void *device, int slot);
const rer_reduced_row *score_rows(void *device, int slot);
bool takes_networks(void *device, const rer_network *shape);
bool train_networks(void *device, const rer_device_training *training, rer_device_trainee *trainees, int32_t count,
                    bool (*stop)(void *context), void *context);
bool near_rows(void *device, const rer_device_near *near);
bool neighbors_begin(void *device, const uint8_t *among);
void neighbors_find(void *device, const int64_t *row, int64_t count, rer_neighbor *list);
void copies_join(void *device, double limit, int64_t first, int64_t count);
void copies_take(void *device, int32_t *group);
void neighbors_end(void *device);
bool logistic_begin(void *device, const rer_device_logistic *of);
void logistic_sums(void *device, const rer_device_softmax *at);
void logistic_end(void *device);
