/* Scores: T = residual root', then T u' for all classes, and a warp reduces a row's products to its errors, its nearest
 * classes and the channel's sums: fit/centroid_rows.c, score/reduce.c and channel/channel.c have the letters. */
#include "backend/cuda/networks.cuh"

#include <cmath>
#include <cstring>

#define WARP 32
#define ROWS 4          /* of a block, a warp each */
#define DEEPEST (-1e4f) /* as in backend/cpu/kernels_channel.c */
#define MOST_CERTAIN 700.0
#define SHARED_MOST 2048 /* classes whose errors a row has in shared memory; more take the place of its products */
#define TILE 32
#define THREADS 256

template <typename T> static void put(Card *card, T *to, const T *from, int64_t count)
{
    CHECK(card, cudaMemcpyAsync(to, from, (size_t)count * sizeof(T), cudaMemcpyDefault, card->compute));
}

/* Puts a matrix [rows, D] into one of `width` columns, the rest 0. */
static void put_wide(Card *card, float *to, const float *from, int64_t rows)
{
    size_t width = (size_t)card->width * sizeof(float), D = (size_t)card->shape.D * sizeof(float);
    CHECK(card, cudaMemsetAsync(to, 0, (size_t)rows * width, card->compute));
    CHECK(card, cudaMemcpy2DAsync(to, width, from, D, D, (size_t)rows, cudaMemcpyDefault, card->compute));
}

/* The root's lower triangle as what rows are multiplied with; the batches have room for it in between. */
static void put_root(Card *card, const float *root)
{
    int64_t D = card->shape.D;
    std::unique_ptr<float[]> lower = room_for<float>(card, D * D);
    for (int64_t j = 0; is_well(card) && j < D; j++)
        memcpy(&lower[j * D], root + j * D, (size_t)(j + 1) * sizeof(float));
    put(card, card->batches, lower.get(), D * D);
    make_right_operand(card, card->root, card->width, card->batches, D, D, card->width);
    CHECK(card, cudaStreamSynchronize(card->compute));
}

/* pairs [C, C] = |u_c - u_k|^2, in double until the end. */
static __global__ void measure_pairs(float *pairs, const float *u, int64_t C, int64_t width)
{
    __shared__ float own[TILE][TILE + 1], other[TILE][TILE + 1];
    int across = threadIdx.x % TILE, down = threadIdx.x / TILE;
    int64_t first = (int64_t)blockIdx.y * TILE, column = (int64_t)blockIdx.x * TILE;
    double sum[TILE * TILE / THREADS] = {};
    for (int64_t at = 0; at < width; at += TILE) {
        __syncthreads();
        for (int r = down; r < TILE; r += THREADS / TILE) {
            bool inside = at + across < width;
            own[r][across] = inside && first + r < C ? u[(first + r) * width + at + across] : 0;
            other[r][across] = inside && column + r < C ? u[(column + r) * width + at + across] : 0;
        }
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            for (int r = 0; r < TILE * TILE / THREADS; r++) {
                double apart = (double)own[down + r * (THREADS / TILE)][k] - (double)other[across][k];
                sum[r] += apart * apart;
            }
    }
    for (int r = 0; r < TILE * TILE / THREADS; r++) {
        int64_t c = first + down + r * (THREADS / TILE);
        if (c < C && column + across < C)
            pairs[c * C + column + across] = (float)sum[r];
    }
}

static void put_pairs(Card *card, const float *pairs)
{
    int64_t C = card->shape.C;
    if (pairs != NULL)
        put(card, card->pairs, pairs, C * C);
    if (pairs != NULL || !is_well(card))
        return;
    measure_pairs<<<dim3(blocks_for(C, TILE), blocks_for(C, TILE)), THREADS, 0, card->compute>>>(card->pairs, card->u,
                                                                                                 C, card->width);
    LAUNCHED(card);
}

static void put_channel(Card *card, const rer_device_channel *channel)
{
    int64_t C = card->shape.C;
    if (channel == NULL)
        return;
    card->channel = *channel;
    card->model.channel = &card->channel;
    put(card, card->bias, channel->bias, C);
    if (channel->rates != NULL)
        put(card, card->rates, channel->rates, C * C);
}

void score_begin(void *device, const rer_device_model *model)
{
    Card *card = (Card *)device;
    int64_t C = card->shape.C, D = card->shape.D;
    finish_start(card);
    card->model = *model;
    put_channel(card, model->channel);
    if (model->networks != NULL) {
        sweep_begin(card, model->networks);
        return;
    }
    card->has_root = model->root != NULL;
    put(card, card->mean, model->mean, (C + 1) * D);
    put_wide(card, card->u, model->u, C + 1);
    put(card, card->norm, model->norm, C);
    put_pairs(card, model->pairs);
    put(card, card->n, model->n, C);
    if (card->has_root)
        put_root(card, model->root);
    make_right_operand(card, card->u_operand, C, card->u, C, card->width, card->width);
    CHECK(card, cudaStreamSynchronize(card->compute));
}

/* ---- what a row brings to all classes ---------------------------------------------------- */

struct Terms {
    const float *t, *u;
    float *operand; /* NULL: it is there */
    float4 *terms;
    const int32_t *code;
    const int64_t *n;
    int64_t count, width;
    int32_t C;
    int parts;
    double weight;
    bool left_out;
};

static __device__ float4 leave_out(const Terms &to, int32_t code, double own, double h_own)
{
    float4 terms = {(float)own, (float)h_own, 0, (float)own};
    if (code < 0 || !to.left_out)
        return terms;
    double n = (double)to.n[code];
    if (n < 2) {
        terms.w = NAN;
        return terms;
    }
    double share = n / (n - 1), beta = to.weight * share, rest = 1 - beta * own;
    rest = rest > 1e-12 ? rest : 1e-12;
    terms.z = (float)(beta / rest);
    terms.w = (float)(share * share * own / rest);
    return terms;
}

static __global__ void make_terms(Terms to)
{
    int64_t i = (int64_t)blockIdx.x * ROWS + threadIdx.x / WARP;
    int lane = threadIdx.x % WARP;
    if (i >= to.count)
        return;
    int32_t code = to.code[i];
    const float *t = to.t + i * to.width, *u = to.u + (int64_t)(code >= 0 ? code : to.C) * to.width;
    double own = 0, h_own = 0;
    for (int64_t j = lane; j < to.width; j += WARP) {
        own += (double)t[j] * (double)t[j];
        h_own += (double)t[j] * (double)u[j];
        if (to.operand != NULL)
            put_operand(to.operand + i * to.parts * to.width, j, to.width, to.parts, t[j]);
    }
    own = sum_of_warp(own);
    h_own = sum_of_warp(h_own);
    if (lane == 0)
        to.terms[i] = leave_out(to, code, own, h_own);
}

/* ---- a row under all classes ------------------------------------------------------------- */

struct Reduction {
    rer_reduced_row *out;
    float *h;
    const float4 *terms; /* NULL: h are errors, and ... */
    const float *own;    /* ... [rows] those of the own class, NULL: they are among them */
    const int32_t *code;
    const float *pairs, *norm, *bias, *rates; /* bias NULL: no channel; rates NULL: none */
    int64_t count;
    int32_t C;
    double weight, edge;
    float sharpness;
    bool whole;
};

/* Of equals the first. */
static __device__ void offer(rer_nearest *nearest, float d2, int32_t k)
{
    if (d2 < nearest->first || (d2 == nearest->first && k < nearest->first_class)) {
        nearest->second = nearest->first;
        nearest->second_class = nearest->first_class;
        nearest->first = d2;
        nearest->first_class = k;
    } else if (d2 < nearest->second || (d2 == nearest->second && k < nearest->second_class)) {
        nearest->second = d2;
        nearest->second_class = k;
    }
}

static __device__ void merge_nearest(rer_nearest *nearest)
{
    for (int step = WARP / 2; step > 0; step /= 2) {
        float first = __shfl_xor_sync(~0u, nearest->first, step), second = __shfl_xor_sync(~0u, nearest->second, step);
        int32_t first_class = __shfl_xor_sync(~0u, nearest->first_class, step);
        int32_t second_class = __shfl_xor_sync(~0u, nearest->second_class, step);
        offer(nearest, first, first_class);
        offer(nearest, second, second_class);
    }
}

/* To a few of a float's last digits, which is what the errors have. */
static __device__ float quick_root(float value)
{
    float root;
    asm("sqrt.approx.f32 %0, %1;" : "=f"(root) : "f"(value));
    return root;
}

static __device__ float quick_exp(float value)
{
    return exp2f(1.44269504f * value);
}

static __device__ float least_of_warp(float value)
{
    for (int step = WARP / 2; step > 0; step /= 2)
        value = fminf(value, __shfl_xor_sync(~0u, value, step));
    return value;
}

/* The squared errors of a row, to d2 [C] and reduced; returns the smallest of all. */
static __device__ float reduce_errors(rer_reduced_row *row, float *d2, const Reduction &from, int64_t i, int32_t code,
                                      int lane)
{
    const float *h = from.h + i * from.C, *m = code >= 0 ? from.pairs + (int64_t)code * from.C : from.norm;
    float known = code < 0 ? NAN : from.own != NULL ? from.own[i] : h[code];
    float4 terms = from.terms != NULL ? from.terms[i] : float4{0, 0, 0, known};
    float own = terms.x, h_own = terms.y, gain = terms.z, least = INFINITY, sum = 0;
    __syncwarp(); /* errors may take the place of products */
    int again = 0;
    row->nearest = rer_nearest{INFINITY, INFINITY, INT32_MAX, INT32_MAX, 0};
    for (int32_t k = lane; k < from.C; k += WARP) {
        bool is_own = k == code;
        float error = h[k];
        if (from.terms != NULL) {
            float difference = h_own - error, g = own + difference;
            error = g + difference + m[k];
            again |= !is_own && !(error >= (float)RER_CANCELLED_BELOW * (own + m[k]));
            error = fmaxf(error + gain * g * g, 0);
        }
        error = is_own ? terms.w : error;
        again |= !is_own && !(error < INFINITY);
        d2[k] = error;
        least = error < least ? error : least;
        sum += is_own && isnan(error) ? 0 : quick_root(error);
        if (!is_own)
            offer(&row->nearest, error, k);
    }
    merge_nearest(&row->nearest);
    if (row->nearest.second_class == INT32_MAX)
        row->nearest.second_class = -1;
    row->nearest.sum = sum_of_warp((double)sum);
    row->own = code >= 0 ? terms.w : NAN;
    row->again = __any_sync(~0u, again) || isinf(row->own);
    return least_of_warp(least);
}

/* Of all lanes' values the highest, and its class; of equals the first. A lane that has none says INT32_MAX. */
static __device__ void take_highest(float *value, int32_t *k)
{
    for (int step = WARP / 2; step > 0; step /= 2) {
        float other = __shfl_xor_sync(~0u, *value, step);
        int32_t at = __shfl_xor_sync(~0u, *k, step);
        if (at != INT32_MAX && (*k == INT32_MAX || other > *value || (other == *value && at < *k))) {
            *value = other;
            *k = at;
        }
    }
}

/* d2 [C] becomes z, then exp(z - top). */
static __device__ void reduce_channel(rer_reduced_row *row, float *d2, const Reduction &from, int32_t code, float least,
                                      int lane)
{
    bool capped = from.whole && from.edge > 0 && (double)least > from.edge;
    float weight = (float)(capped ? from.weight * from.edge / (double)least : from.weight), top = -INFINITY;
    int32_t best = INT32_MAX;
    for (int32_t k = lane; k < from.C; k += WARP) {
        float z = from.bias[k] - weight * d2[k];
        d2[k] = z;
        if (k != code && (z > top || best == INT32_MAX)) {
            top = z;
            best = k;
        }
    }
    take_highest(&top, &best);
    __syncwarp();
    float score = code >= 0 ? d2[code] : -INFINITY, rest = 0, blurred = 0, flow = 0, most = -INFINITY;
    int32_t likely = INT32_MAX;
    const float *rates = from.rates != NULL && code >= 0 ? from.rates + (int64_t)code * from.C : NULL;
    __syncwarp();
    for (int32_t k = lane; k < from.C; k += WARP) {
        float below = k == code ? -INFINITY : d2[k] - top, e = k == best ? 1 : quick_exp(below);
        d2[k] = e;
        rest += k == best ? 0 : e;
        blurred += quick_exp(from.sharpness * fmaxf(below, DEEPEST));
        float way = rates != NULL && k != code ? rates[k] * e : -INFINITY;
        flow += way > 0 ? way : 0;
        if (way > most) {
            most = way;
            likely = k;
        }
    }
    take_highest(&most, &likely);
    double others = sum_of_warp((double)rest);
    row->sums = rer_channel_sums{top, best, others, sum_of_warp((double)blurred), sum_of_warp((double)flow)};
    row->score = score;
    row->odds = 0;
    row->likely = rates != NULL && best < from.C && most > rates[best] ? likely : best;
    row->again = row->again || !(top > -INFINITY);
    if (!from.whole || code < 0)
        return;
    float all = (float)(others + 1 + exp(fmin((double)score - (double)top, MOST_CERTAIN))), odds = 0;
    for (int32_t k = lane; k < from.C; k += WARP)
        odds += k == best ? 0 : __fdividef(d2[k], all - (d2[k] < .75f * all ? d2[k] : 0));
    row->odds = sum_of_warp((double)odds);
}

static __global__ void reduce_rows(Reduction from)
{
    extern __shared__ float errors[]; /* [ROWS, C], or nothing */
    int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    int64_t i = (int64_t)blockIdx.x * ROWS + warp;
    if (i >= from.count)
        return;
    int32_t code = from.code[i];
    rer_reduced_row row = {};
    row.nearest.first_class = row.nearest.second_class = -1;
    if (code >= -1) {
        float *d2 = from.C <= SHARED_MOST ? errors + (int64_t)warp * from.C : from.h + i * from.C;
        float least = reduce_errors(&row, d2, from, i, code, lane);
        if (from.bias != NULL)
            reduce_channel(&row, d2, from, code, least, lane);
    }
    if (lane == 0)
        from.out[i] = row;
}

/* ---- a stretch --------------------------------------------------------------------------- */

/* h <- products with all classes, and what else their errors are made of. */
static void multiply_classes(Card *card, const Slot *slot)
{
    int64_t count = slot->count, C = card->shape.C;
    make_residuals(card, slot, count, true, false, card->has_root ? NULL : card->t);
    if (card->has_root)
        multiply(card, card->t, card->width, card->operand, card->root, count, card->width, card->width);
    if (!is_well(card))
        return;
    Terms terms = {card->t,
                   card->u,
                   card->has_root ? card->operand : NULL,
                   card->terms,
                   slot->rows.code,
                   card->n,
                   count,
                   card->width,
                   card->shape.C,
                   card->parts,
                   card->model.weight,
                   card->model.left_out};
    make_terms<<<blocks_for(count, ROWS), ROWS * WARP, 0, card->compute>>>(terms);
    LAUNCHED(card);
    multiply(card, card->h, C, card->operand, card->u_operand, count, C, card->width);
}

void score_add(void *device, int which)
{
    Card *card = (Card *)device;
    Slot *slot = &card->slots[which];
    int64_t count = slot->count, C = card->shape.C;
    bool networks = card->model.networks != NULL;
    if (!is_well(card))
        return;
    if (networks)
        sweep_add(card, slot);
    else
        multiply_classes(card, slot);
    if (!is_well(card))
        return;
    const float *own = networks ? sweep_own(card) : NULL;
    const rer_device_channel *channel = card->model.channel;
    Reduction from = {slot->reduced_on_card,
                      card->h,
                      networks ? NULL : card->terms,
                      own != NULL ? own + slot->first : NULL,
                      slot->rows.code,
                      card->pairs,
                      card->norm,
                      channel != NULL ? card->bias : NULL,
                      channel != NULL && channel->rates != NULL ? card->rates : NULL,
                      count,
                      card->shape.C,
                      channel != NULL ? channel->weight : 0,
                      channel != NULL ? channel->edge : 0,
                      channel != NULL ? (float)channel->sharpness : 0,
                      channel != NULL && channel->whole};
    size_t shared = C <= SHARED_MOST ? (size_t)(ROWS * C) * sizeof(float) : 0;
    reduce_rows<<<blocks_for(count, ROWS), ROWS * WARP, shared, card->compute>>>(from);
    LAUNCHED(card);
    CHECK(card, cudaEventRecord(slot->computed, card->compute));
    CHECK(card, cudaStreamWaitEvent(card->out, slot->computed, 0));
    CHECK(card, cudaMemcpyAsync(slot->reduced, slot->reduced_on_card, (size_t)count * sizeof(rer_reduced_row),
                                cudaMemcpyDefault, card->out));
    CHECK(card, cudaEventRecord(slot->returned, card->out));
}

const rer_reduced_row *score_rows(void *device, int which)
{
    Card *card = (Card *)device;
    CHECK(card, cudaEventSynchronize(card->slots[which].returned));
    return card->slots[which].reduced;
}
