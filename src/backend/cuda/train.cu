/* Networks trained side by side: fit/autoencoder/train.c has the steps, network.c the letters. All networks are at the
 * same step of their own; each product is made for all of them at once, and the gradient of the weights goes to Adam as it
 * leaves the product. One that has ended keeps its place until the host takes it out. No sum depends on who is first. */
#include "backend/cuda/networks.cuh"
#include "backend/cuda/product.cuh"
#include "core/random.h"

#include <cmath>
#include <cstring>

#define THREADS 128
#define WARP 32
#define LOOK 32 /* steps between looks at who has ended, and at whether to stop */

/* How far a network is. */
struct Progress {
    int64_t steps, each; /* done; of a report */
    double sum, best, first_loss, last_loss, reconstruction, layout, total;
    int32_t reports, waited;
    int32_t finite;
};

struct Training {
    rer_device_training of;
    rer_network laid;
    int64_t B, D, Z, pieces;
    float *w, *m, *v;              /* [count, parameters] */
    const float *x;                /* rows of all networks */
    const int64_t *x_start;        /* [count] */
    const int32_t *head, *tail;    /* draws of all */
    const int64_t *draw_start;     /* [count + 1] */
    const uint64_t *key;           /* [count] */
    Progress *progress;            /* [count] */
    int32_t *active;               /* [items] network, below 0: it has ended */
    float *batch;                  /* [items, 2B, D] */
    float *out[RER_LAYERS_MAX];    /* [items, rows, width] */
    float *delta[RER_LAYERS_MAX];  /* gradients before the activations */
    float *d_code;                 /* [items, B, Z] */
    int32_t *negatives, *shuffled; /* [items, RER_NEGATIVES B] */
    double *pull;                  /* [items, (1 + RER_NEGATIVES) B] slope of each pair */
    double *square;                /* [items, B] of each head */
    double *penalty;               /* [count, pieces] sums of squared weights */
};

static bool is_hidden(const rer_network *shape, int l)
{
    return l != shape->encoder - 1 && l != shape->layers - 1;
}

static int64_t rows_of(const Training *t, int l)
{
    return l < t->laid.encoder ? 2 * t->B : t->B;
}

/* Sum over the block's threads, for the first of them, in one order. */
static __device__ double sum_in_order(double value)
{
    __shared__ double part[THREADS / WARP];
    value = sum_of_warp(value);
    __syncthreads();
    if (threadIdx.x % WARP == 0)
        part[threadIdx.x / WARP] = value;
    __syncthreads();
    value = 0;
    for (int i = 0; i < THREADS / WARP; i++)
        value += part[i];
    return value;
}

/* ---- beginning --------------------------------------------------------------------------- */

static __global__ void set_weights(Training t, int layer, double bound)
{
    int64_t network = blockIdx.y, n = t.laid.width[layer] * t.laid.width[layer + 1];
    int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < n)
        t.w[network * t.laid.parameters + t.laid.weight[layer] + i] =
            (float)(bound * (2 * rer_random_uniform(t.of.seed, RER_RANDOM_WEIGHTS, t.key[network],
                                                    (uint64_t)(t.of.shape.weight[layer] + i)) -
                             1));
}

/* The squares of all weights but the last layer's, to the first of the pieces. */
static __global__ void begin_penalty(Training t)
{
    int64_t network = blockIdx.x;
    const float *w = t.w + network * t.laid.parameters;
    double sum = 0;
    for (int l = 0; l < t.laid.layers - 1; l++)
        for (int64_t i = threadIdx.x; i < t.laid.width[l] * t.laid.width[l + 1]; i += THREADS)
            sum += (double)w[t.laid.weight[l] + i] * (double)w[t.laid.weight[l] + i];
    sum = sum_in_order(sum);
    if (threadIdx.x == 0)
        t.penalty[network * t.pieces] = sum;
}

/* ---- a batch ----------------------------------------------------------------------------- */

/* A block a row: the heads, then the tails; draws are used round and round. */
static __global__ void fill_batch(Training t, int64_t step)
{
    int64_t item = blockIdx.y, p = blockIdx.x, network = t.active[item];
    if (network < 0)
        return;
    int64_t first = t.draw_start[network], draws = t.draw_start[network + 1] - first;
    int64_t draw = first + (step * t.B + p % t.B) % draws;
    const float *from = t.x + t.x_start[network] + (p < t.B ? t.head[draw] : t.tail[draw]) * t.D;
    float *to = t.batch + (item * 2 * t.B + p) * t.D;
    for (int64_t j = threadIdx.x; j < t.D; j += THREADS)
        to[j] = from[j];
}

/* Fisher and Yates, with the places drawn by all threads and the exchanges made by one. */
static __global__ void shuffle_negatives(Training t, int64_t step)
{
    extern __shared__ int32_t order[]; /* [n], where there is room */
    int64_t item = blockIdx.x, network = t.active[item], n = RER_NEGATIVES * t.B;
    if (network < 0)
        return;
    int32_t *place = t.shuffled + item * n, *out = t.negatives + item * n;
    for (int64_t i = threadIdx.x; i < n; i += THREADS) {
        double u =
            rer_random_uniform(t.of.seed, RER_RANDOM_NEGATIVES, t.key[network] << 32 | (uint64_t)step, (uint64_t)i);
        place[i] = (int32_t)(u * (double)(i + 1));
        order[i] = (int32_t)i;
    }
    __syncthreads();
    for (int64_t i = n - 1; threadIdx.x == 0 && i > 0; i--) {
        int32_t kept = order[i];
        order[i] = order[place[i]];
        order[place[i]] = kept;
    }
    __syncthreads();
    for (int64_t i = threadIdx.x; i < n; i += THREADS)
        out[i] = order[i] / RER_NEGATIVES;
}

/* A block an item: the distances between dropped units are drawn THREADS at a time, and added up. */
static __global__ void drop_units(Training t, int layer, int64_t n, uint64_t step, double log_kept)
{
    __shared__ int64_t sums[THREADS];
    int64_t item = blockIdx.x, network = t.active[item], before = 0;
    if (network < 0)
        return;
    float *h = t.out[layer] + item * n;
    for (uint64_t place = threadIdx.x; before < n; place += THREADS) {
        double u = rer_random_uniform(t.of.seed, RER_RANDOM_DROPOUT, t.key[network] << 8 | (uint64_t)layer,
                                      step << 32 | place);
        double gap = log1p(-u) / log_kept;
        int64_t sum = 1 + (gap < (double)n ? (int64_t)gap : n);
        for (int reach = 1; reach < WARP; reach *= 2) {
            int64_t other = __shfl_up_sync(~0u, sum, reach);
            sum += (int)(threadIdx.x % WARP) >= reach ? other : 0;
        }
        sums[threadIdx.x] = sum;
        __syncthreads();
        for (int warp = 0; warp < (int)(threadIdx.x / WARP); warp++)
            sum += sums[warp * WARP + WARP - 1];
        if (before + sum - 1 < n)
            h[before + sum - 1] = 0;
        for (int warp = 0; warp < THREADS / WARP; warp++)
            before += sums[warp * WARP + WARP - 1];
        __syncthreads();
    }
}

/* ---- losses ------------------------------------------------------------------------------ */

/* A block a head: its squared error, and the gradient before the sigmoid. */
static __global__ void compare_heads(Training t, float factor)
{
    int64_t item = blockIdx.y, i = blockIdx.x, at = (item * t.B + i) * t.D;
    if (t.active[item] < 0)
        return;
    const float *x = t.batch + (item * 2 * t.B + i) * t.D, *y = t.out[t.laid.layers - 1] + at;
    float *delta = t.delta[t.laid.layers - 1] + at;
    double sum = 0;
    for (int64_t j = threadIdx.x; j < t.D; j += THREADS) {
        float value = 1 / (1 + expf(-y[j])), apart = value - x[j];
        sum += (double)(apart * apart);
        delta[j] = factor * apart * value * (1 - value);
    }
    sum = sum_in_order(sum);
    if (threadIdx.x == 0)
        t.square[item * t.B + i] = sum;
}

/* One pair of codes: its loss, and its slope in what is between them. */
static __device__ double pair_loss(const Training &t, const float *zi, const float *zj, bool pulled, double share,
                                   double *slope)
{
    double s = 0, b = t.of.b;
    for (int64_t k = 0; k < t.Z; k++)
        s += ((double)zi[k] - (double)zj[k]) * ((double)zi[k] - (double)zj[k]);
    double u = t.of.a * pow(s, b);
    *slope = 0;
    if (!(u > -1 && u < INFINITY))
        return NAN;
    double loss = pulled ? log(2 + u) : t.of.repulsion * log1p(1 / (1 + u));
    double by_u = pulled ? 1 / (2 + u) : -t.of.repulsion / ((1 + u) * (2 + u));
    *slope = share * (s > 0 ? by_u * b * u / s : 0) * 2;
    return share * loss;
}

/* A block an item: the layout's loss, dz, and with the reconstruction's the loss of the step. */
static __global__ void find_loss(Training t)
{
    int64_t item = blockIdx.x, network = t.active[item], B = t.B, Z = t.Z, pushes = RER_NEGATIVES * B;
    if (network < 0)
        return;
    const float *z = t.out[t.laid.encoder - 1] + item * 2 * B * Z;
    float *dz = t.delta[t.laid.encoder - 1] + item * 2 * B * Z;
    const int32_t *negatives = t.negatives + item * pushes;
    double *slope = t.pull + item * (B + pushes), layout = 0, square = 0, penalty = 0;
    double share = 1.0 / (double)(B * (1 + RER_NEGATIVES));
    for (int64_t q = threadIdx.x; q < B + pushes; q += THREADS) {
        int64_t i = q < B ? q : (q - B) / RER_NEGATIVES, j = B + (q < B ? q : negatives[q - B]);
        layout += pair_loss(t, z + i * Z, z + j * Z, q < B, share, slope + q);
    }
    for (int64_t i = threadIdx.x; i < B; i += THREADS)
        square += t.square[item * B + i];
    for (int64_t i = threadIdx.x; i < t.pieces; i += THREADS)
        penalty += t.penalty[network * t.pieces + i];
    layout = sum_in_order(layout);
    square = sum_in_order(square);
    penalty = sum_in_order(penalty);
    for (int64_t e = threadIdx.x; e < 2 * B * Z; e += THREADS) {
        int64_t row = e / Z, k = e % Z, p = row % B;
        double here = (double)z[e];
        float sum = (float)(slope[p] * (row < B ? here - (double)z[(B + p) * Z + k] : (double)z[p * Z + k] - here));
        sum = row < B ? sum : -sum;
        if (row < B)
            for (int64_t n = p * RER_NEGATIVES; n < (p + 1) * RER_NEGATIVES; n++)
                sum += (float)(slope[B + n] * (here - (double)z[(B + negatives[n]) * Z + k]));
        else
            for (int64_t n = 0; n < pushes; n++)
                if (negatives[n] == p)
                    sum -= (float)(slope[B + n] * ((double)z[n / RER_NEGATIVES * Z + k] - here));
        dz[e] = sum;
    }
    if (threadIdx.x != 0)
        return;
    Progress *progress = t.progress + network;
    progress->reconstruction = t.of.weight * square / (double)(B * t.D);
    progress->layout = layout;
    progress->total = progress->reconstruction + layout + t.of.regularization * penalty;
}

/* The heads' codes have a part in the reconstruction as well. */
static __global__ void add_codes(Training t, int64_t n)
{
    int64_t item = blockIdx.y, i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < n)
        t.delta[t.laid.encoder - 1][item * 2 * n + i] += t.d_code[item * n + i];
}

/* ---- Adam -------------------------------------------------------------------------------- */

struct AdamSettings {
    float rate, l2, clip;
};

static __device__ inline void adam(float *w, float *m, float *v, float g, const AdamSettings &by)
{
    float gradient = g + by.l2 * *w;
    gradient = gradient > by.clip ? by.clip : gradient < -by.clip ? -by.clip : gradient;
    *m += .1f * (gradient - *m);
    *v += .001f * (gradient * gradient - *v);
    *w -= by.rate * *m / (sqrtf(*v) + 1e-7f);
}

/* Takes the gradient of a layer's weights. */
struct Adam {
    float *w, *m, *v; /* the layer's, of network 0 */
    int64_t apart, N;
    const int32_t *active;
    double *penalty; /* [count, pieces] from the layer's first on; NULL: it has none */
    int64_t pieces;
    AdamSettings by;
    float squares;

    __device__ bool is_there(int64_t item) const
    {
        return active[item] >= 0;
    }

    __device__ void take(int64_t item, int64_t i, int64_t j, const float (&g)[PRODUCT_PAIRS][2])
    {
        int64_t at = active[item] * apart + i * N + j;
        float2 ws[PRODUCT_PAIRS], ms[PRODUCT_PAIRS], vs[PRODUCT_PAIRS];
        if (N % 2 != 0) {
            take_singly(at, j, g);
            return;
        }
#pragma unroll
        for (int c = 0; c < PRODUCT_PAIRS; c++)
            if (j + c * PRODUCT_STEP < N) {
                ws[c] = *(const float2 *)(w + at + c * PRODUCT_STEP);
                ms[c] = *(const float2 *)(m + at + c * PRODUCT_STEP);
                vs[c] = *(const float2 *)(v + at + c * PRODUCT_STEP);
            }
#pragma unroll
        for (int c = 0; c < PRODUCT_PAIRS; c++)
            if (j + c * PRODUCT_STEP < N) {
                adam(&ws[c].x, &ms[c].x, &vs[c].x, g[c][0], by);
                adam(&ws[c].y, &ms[c].y, &vs[c].y, g[c][1], by);
                squares += ws[c].x * ws[c].x + ws[c].y * ws[c].y;
                *(float2 *)(w + at + c * PRODUCT_STEP) = ws[c];
                *(float2 *)(m + at + c * PRODUCT_STEP) = ms[c];
                *(float2 *)(v + at + c * PRODUCT_STEP) = vs[c];
            }
    }

    __device__ void take_singly(int64_t at, int64_t j, const float (&g)[PRODUCT_PAIRS][2])
    {
#pragma unroll
        for (int c = 0; c < PRODUCT_PAIRS; c++)
#pragma unroll
            for (int e = 0; e < 2; e++)
                if (j + c * PRODUCT_STEP + e < N) {
                    int64_t place = at + c * PRODUCT_STEP + e;
                    adam(w + place, m + place, v + place, g[c][e], by);
                    squares += w[place] * w[place];
                }
    }

    __device__ void finish(int64_t item, int piece, int lane) const
    {
        double sum = sum_of_warp((double)squares);
        if (penalty != NULL && lane == 0)
            penalty[active[item] * pieces + piece] = sum;
    }
};

/* A thread a column of a layer. */
static __global__ void step_biases(Training t, int layer, int64_t rows, AdamSettings by)
{
    int64_t item = blockIdx.y, j = (int64_t)blockIdx.x * THREADS + threadIdx.x, out = t.laid.width[layer + 1];
    int64_t network = t.active[item], at = network * t.laid.parameters + t.laid.bias[layer] + j;
    if (network < 0 || j >= out)
        return;
    const float *delta = t.delta[layer] + item * rows * out + j;
    float sum = 0;
    for (int64_t i = 0; i < rows; i++)
        sum += delta[i * out];
    adam(t.w + at, t.m + at, t.v + at, sum, by);
}

/* ---- a step ------------------------------------------------------------------------------ */

static void go_forward(Card *card, const Training *t, int64_t items, uint64_t step)
{
    const rer_network *laid = &t->laid;
    for (int l = 0; l < laid->layers; l++) {
        int64_t in = laid->width[l], out = laid->width[l + 1], rows = rows_of(t, l);
        const float *input = l == 0 ? t->batch : t->out[l - 1];
        /* Of the codes the heads' alone go on. */
        Operand x = {input, (l == 0 ? 2 * t->B : rows_of(t, l - 1)) * in, in, NULL};
        Operand weights = {t->w + laid->weight[l], laid->parameters, out, t->active};
        Layer layer;
        layer.out = t->out[l];
        layer.M = rows;
        layer.N = out;
        layer.bias = Operand{t->w + laid->bias[l], laid->parameters, 0, t->active};
        layer.scale = (float)(1 / (1 - t->of.dropout));
        layer.relu = is_hidden(laid, l);
        multiply_all<false, false>(card, x, weights, items, rows, out, in, layer);
        if (!layer.relu || !(t->of.dropout > 0) || !is_well(card))
            continue;
        drop_units<<<(unsigned)items, THREADS, 0, card->compute>>>(*t, l, rows * out, step, log1p(-t->of.dropout));
        LAUNCHED(card);
    }
}

/* The gradients before all activations, from the last one's; layers first.. */
static void go_back(Card *card, const Training *t, int64_t items, int first, int last)
{
    const rer_network *laid = &t->laid;
    for (int l = last - 1; l >= first; l--) {
        int64_t in = laid->width[l], out = laid->width[l + 1], rows = rows_of(t, l);
        if (l == 0)
            return;
        Operand delta = {t->delta[l], rows * out, out, NULL};
        Operand weights = {t->w + laid->weight[l], laid->parameters, out, t->active};
        Slope slope;
        slope.out = l == laid->encoder ? t->d_code : t->delta[l - 1];
        slope.M = rows;
        slope.N = in;
        slope.h = is_hidden(laid, l - 1) ? t->out[l - 1] : NULL;
        slope.scale = (float)(1 / (1 - t->of.dropout));
        multiply_all<false, true>(card, delta, weights, items, rows, in, out, slope);
    }
}

static int64_t pieces_of(const rer_network *laid, int l)
{
    return (int64_t)blocks_for(laid->width[l], PRODUCT_M) * blocks_for(laid->width[l + 1], PRODUCT_N) * PRODUCT_WARPS;
}

static void step_weights(Card *card, const Training *t, int64_t items, uint64_t step)
{
    const rer_network *laid = &t->laid;
    double decay1 = pow(.9, (double)(step + 1)), decay2 = pow(.999, (double)(step + 1));
    AdamSettings by = {(float)(t->of.learning_rate * sqrt(1 - decay2) / (1 - decay1)), 0, (float)t->of.clip};
    int64_t piece = 0;
    for (int l = 0; l < laid->layers; l++) {
        int64_t in = laid->width[l], out = laid->width[l + 1], rows = rows_of(t, l);
        Operand before = {l == 0 ? t->batch : t->out[l - 1], (l == 0 ? 2 * t->B : rows_of(t, l - 1)) * in, in, NULL};
        Operand delta = {t->delta[l], rows * out, out, NULL};
        bool is_last = l == laid->layers - 1;
        AdamSettings with_l2 = by;
        with_l2.l2 = is_last ? 0 : (float)(2 * t->of.regularization);
        Adam adam = {t->w + laid->weight[l],
                     t->m + laid->weight[l],
                     t->v + laid->weight[l],
                     laid->parameters,
                     out,
                     t->active,
                     is_last ? NULL : t->penalty + piece,
                     t->pieces,
                     with_l2,
                     0};
        multiply_all<true, false>(card, before, delta, items, in, out, rows, adam);
        if (!is_well(card))
            return;
        step_biases<<<dim3(blocks_for(out, THREADS), (unsigned)items), THREADS, 0, card->compute>>>(*t, l, rows, by);
        LAUNCHED(card);
        piece += is_last ? 0 : pieces_of(laid, l);
    }
}

/* What became of the step; a thread an item. */
static __global__ void end_step(Training t, int64_t items)
{
    int64_t item = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (item >= items || t.active[item] < 0)
        return;
    Progress *of = t.progress + t.active[item];
    of->steps++;
    of->sum += of->total;
    of->finite = of->finite && isfinite(of->total);
    bool ends = !of->finite;
    if (of->steps % of->each == 0) {
        double mean = of->sum / (double)of->each;
        bool gained = mean < of->best - t.of.least_gain;
        of->waited = gained ? 0 : of->waited + 1;
        of->best = gained ? mean : of->best;
        of->first_loss = of->reports == 0 ? mean : of->first_loss;
        of->last_loss = mean;
        of->sum = 0;
        of->reports++;
        ends = ends || of->reports == t.of.reports || of->waited == t.of.patience;
    }
    if (ends)
        t.active[item] = -1;
}

static void do_step(Card *card, const Training *t, int64_t items, uint64_t step)
{
    const rer_network *laid = &t->laid;
    int64_t B = t->B, codes = B * t->Z;
    unsigned n = (unsigned)items;
    if (!is_well(card))
        return;
    fill_batch<<<dim3((unsigned)(2 * B), n), THREADS, 0, card->compute>>>(*t, (int64_t)step);
    shuffle_negatives<<<n, THREADS, (size_t)(RER_NEGATIVES * B) * sizeof(int32_t), card->compute>>>(*t, (int64_t)step);
    LAUNCHED(card);
    go_forward(card, t, items, step);
    if (!is_well(card))
        return;
    compare_heads<<<dim3((unsigned)B, n), THREADS, 0, card->compute>>>(*t,
                                                                       (float)(2 * t->of.weight / (double)(B * t->D)));
    find_loss<<<n, THREADS, 0, card->compute>>>(*t);
    LAUNCHED(card);
    go_back(card, t, items, laid->encoder, laid->layers);
    if (!is_well(card))
        return;
    add_codes<<<dim3(blocks_for(codes, THREADS), n), THREADS, 0, card->compute>>>(*t, codes);
    LAUNCHED(card);
    go_back(card, t, items, 0, laid->encoder);
    step_weights(card, t, items, step);
    if (!is_well(card))
        return;
    end_step<<<blocks_for(items, THREADS), THREADS, 0, card->compute>>>(*t, items);
    LAUNCHED(card);
}

/* ---- all --------------------------------------------------------------------------------- */

/* Steps until all have ended. */
static void run_steps(Card *card, const Training *t, int32_t count, bool (*stop)(void *context), void *context)
{
    int64_t items = count;
    std::unique_ptr<int32_t[]> active = room_for<int32_t>(card, count);
    for (uint64_t step = 0; is_well(card) && items > 0; step++) {
        do_step(card, t, items, step);
        if (step % LOOK != LOOK - 1)
            continue;
        int64_t left = 0;
        size_t bytes = (size_t)items * sizeof(int32_t);
        CHECK(card, cudaMemcpyAsync(active.get(), t->active, bytes, cudaMemcpyDefault, card->compute));
        CHECK(card, cudaStreamSynchronize(card->compute));
        for (int64_t i = 0; i < items; i++)
            if (active[i] >= 0)
                active[left++] = active[i];
        items = stop(context) ? 0 : left;
        CHECK(card, cudaMemcpyAsync(t->active, active.get(), (size_t)items * sizeof(int32_t), cudaMemcpyDefault,
                                    card->compute));
        CHECK(card, cudaStreamSynchronize(card->compute));
    }
}

/* Copies of what the trainees have, one after the other. */
template <typename T>
static void join(Card *card, T *to, const rer_device_trainee *trainees, int32_t count,
                 const T *(*part)(const rer_device_trainee *), int64_t (*size)(const rer_device_trainee *, int64_t),
                 int64_t D)
{
    for (int32_t i = 0; i < count; i++) {
        int64_t n = size(&trainees[i], D);
        if (n > 0)
            CHECK(card,
                  cudaMemcpyAsync(to, part(&trainees[i]), (size_t)n * sizeof(T), cudaMemcpyDefault, card->compute));
        to += n;
    }
}

static int64_t row_values(const rer_device_trainee *of, int64_t D)
{
    return of->n * D;
}

static int64_t held_values(const rer_device_trainee *of, int64_t D)
{
    return of->n_held * D;
}

static int64_t draw_values(const rer_device_trainee *of, int64_t)
{
    return of->draws;
}

static int64_t total_of(const rer_device_trainee *trainees, int32_t count,
                        int64_t (*size)(const rer_device_trainee *, int64_t), int64_t D)
{
    int64_t sum = 0;
    for (int32_t i = 0; i < count; i++)
        sum += size(&trainees[i], D);
    return sum;
}

static void take_batches(Moment *moment, Training *t, int64_t count)
{
    int64_t B = t->B, pairs = RER_NEGATIVES * B;
    const rer_network *laid = &t->laid;
    for (int l = 0; l < laid->layers; l++) {
        t->out[l] = take<float>(moment, NULL, count * rows_of(t, l) * laid->width[l + 1]);
        t->delta[l] = take<float>(moment, NULL, count * rows_of(t, l) * laid->width[l + 1]);
        t->pieces += l < laid->layers - 1 ? pieces_of(laid, l) : 0;
    }
    t->batch = take<float>(moment, NULL, count * 2 * B * t->D);
    t->d_code = take<float>(moment, NULL, count * B * t->Z);
    t->negatives = take<int32_t>(moment, NULL, count * pairs);
    t->shuffled = take<int32_t>(moment, NULL, count * pairs);
    t->pull = take<double>(moment, NULL, count * (B + pairs));
    t->square = take<double>(moment, NULL, count * B);
    t->penalty = take<double>(moment, NULL, count * t->pieces);
    t->w = take<float>(moment, NULL, count * laid->parameters);
    t->m = take<float>(moment, NULL, count * laid->parameters);
    t->v = take<float>(moment, NULL, count * laid->parameters);
}

/* What each network has of its own, as the host gives it. */
struct Given {
    std::unique_ptr<int64_t[]> x_start, draw_start;
    std::unique_ptr<uint64_t[]> key;
    std::unique_ptr<int32_t[]> active;
    std::unique_ptr<Progress[]> progress;
};

static Given list_given(Card *card, const rer_device_training *of, const rer_device_trainee *trainees, int32_t count)
{
    Given made = {room_for<int64_t>(card, count), room_for<int64_t>(card, count + 1), room_for<uint64_t>(card, count),
                  room_for<int32_t>(card, count), room_for<Progress>(card, count)};
    int64_t x = 0, draws = 0;
    for (int32_t i = 0; is_well(card) && i < count; i++) {
        const rer_device_trainee *one = &trainees[i];
        int64_t each = one->draws / of->batch / of->reports;
        made.x_start[i] = x;
        made.draw_start[i] = draws;
        made.key[i] = one->key;
        made.active[i] = i;
        made.progress[i].each = each > 1 ? each : 1;
        made.progress[i].best = INFINITY;
        made.progress[i].finite = 1;
        x += one->n * of->shape.width[0];
        draws += one->draws;
    }
    if (is_well(card))
        made.draw_start[count] = draws;
    return made;
}

static void begin_training(Card *card, const Training *t, int32_t count)
{
    size_t bytes = (size_t)(count * t->laid.parameters) * sizeof(float);
    CHECK(card, cudaMemsetAsync(t->w, 0, bytes, card->compute));
    CHECK(card, cudaMemsetAsync(t->m, 0, bytes, card->compute));
    CHECK(card, cudaMemsetAsync(t->v, 0, bytes, card->compute));
    CHECK(card, cudaMemsetAsync(t->penalty, 0, (size_t)(count * t->pieces) * sizeof(double), card->compute));
    for (int l = 0; is_well(card) && l < t->laid.layers; l++) {
        int64_t in = t->laid.width[l], out = t->laid.width[l + 1];
        set_weights<<<dim3(blocks_for(in * out, THREADS), (unsigned)count), THREADS, 0, card->compute>>>(
            *t, l, sqrt(6.0 / (double)(in + out)));
        LAUNCHED(card);
    }
    if (!is_well(card))
        return;
    begin_penalty<<<(unsigned)count, THREADS, 0, card->compute>>>(*t);
    LAUNCHED(card);
}

/* Errors of the rows that were held out, which lie one network's after the other's. */
static void judge_held(Card *card, Moment *moment, const Training *t, const float *held, int64_t rows,
                       rer_device_trainee *trainees, int32_t count)
{
    int64_t items = 0, at = 0, n = 0;
    for (int32_t i = 0; i < count; i++)
        items += (trainees[i].n_held + ITEM_ROWS - 1) / ITEM_ROWS;
    std::unique_ptr<int32_t[]> row = room_for<int32_t>(card, items * ITEM_ROWS), item = room_for<int32_t>(card, items);
    std::unique_ptr<float[]> errors = room_for<float>(card, rows);
    if (!is_well(card) || items == 0)
        return;
    for (int32_t i = 0; i < count; i++)
        for (int64_t first = 0; first < trainees[i].n_held; first += ITEM_ROWS, n++) {
            item[n] = i;
            for (int64_t r = 0; r < ITEM_ROWS; r++)
                row[n * ITEM_ROWS + r] = first + r < trainees[i].n_held ? (int32_t)at++ : -1;
        }
    float *out = take<float>(moment, NULL, rows);
    int32_t *rows_on_card = take(moment, (const int32_t *)row.get(), items * ITEM_ROWS);
    int32_t *items_on_card = take(moment, (const int32_t *)item.get(), items);
    Layers layers = take_layers(moment, &t->laid, items < 512 ? items : 512);
    if (moment->failed) {
        fail(card, "training", "out of memory on the card");
        return;
    }
    Reconstruction of = {&t->laid, t->w, held, rows_on_card, items_on_card, out, 1, 0};
    reconstruct(card, &of, &layers, items);
    CHECK(card, cudaMemcpyAsync(errors.get(), out, (size_t)rows * sizeof(float), cudaMemcpyDefault, card->compute));
    CHECK(card, cudaStreamSynchronize(card->compute));
    at = 0;
    for (int32_t i = 0; i < count; i++) {
        if (trainees[i].n_held > 0)
            memcpy(trainees[i].errors, &errors[at], (size_t)trainees[i].n_held * sizeof(float));
        at += trainees[i].n_held;
    }
}

static void give_back(Card *card, const Training *t, rer_device_trainee *trainees, Progress *progress, int32_t count)
{
    CHECK(card,
          cudaMemcpyAsync(progress, t->progress, (size_t)count * sizeof *progress, cudaMemcpyDefault, card->compute));
    for (int32_t i = 0; i < count; i++)
        if (trainees[i].w != NULL)
            take_networks(card, trainees[i].w, &t->of.shape, t->w + i * t->laid.parameters, &t->laid, 1);
    CHECK(card, cudaStreamSynchronize(card->compute));
    for (int32_t i = 0; is_well(card) && i < count; i++) {
        trainees[i].steps = progress[i].steps;
        trainees[i].first_loss = progress[i].first_loss;
        trainees[i].last_loss = progress[i].last_loss;
        trainees[i].reconstruction = progress[i].reconstruction;
        trainees[i].layout = progress[i].layout;
        trainees[i].is_finite = progress[i].finite != 0;
    }
}

static bool train_with(Card *card, Moment *moment, const rer_device_training *training, rer_device_trainee *trainees,
                       int32_t count, bool (*stop)(void *context), void *context)
{
    const rer_network *shape = &training->shape;
    int64_t D = shape->width[0], rows = total_of(trainees, count, held_values, D) / D;
    Given given = list_given(card, training, trainees, count);
    if (!is_well(card))
        return false;
    Training t = {};
    t.of = *training;
    t.laid = lay_out_network(shape);
    t.B = training->batch;
    t.D = D;
    t.Z = shape->width[shape->encoder];
    take_batches(moment, &t, count);
    float *x = take<float>(moment, NULL, total_of(trainees, count, row_values, D));
    float *held = take<float>(moment, NULL, rows * D);
    int32_t *head = take<int32_t>(moment, NULL, given.draw_start[count]);
    int32_t *tail = take<int32_t>(moment, NULL, given.draw_start[count]);
    t.x_start = take(moment, (const int64_t *)given.x_start.get(), count);
    t.draw_start = take(moment, (const int64_t *)given.draw_start.get(), count + 1);
    t.key = take(moment, (const uint64_t *)given.key.get(), count);
    t.active = take(moment, (const int32_t *)given.active.get(), count);
    t.progress = take(moment, (const Progress *)given.progress.get(), count);
    if (moment->failed)
        return false;
    join<float>(
        card, x, trainees, count, [](const rer_device_trainee *of) { return of->x; }, row_values, D);
    join<float>(
        card, held, trainees, count, [](const rer_device_trainee *of) { return of->held; }, held_values, D);
    join<int32_t>(
        card, head, trainees, count, [](const rer_device_trainee *of) { return of->head; }, draw_values, D);
    join<int32_t>(
        card, tail, trainees, count, [](const rer_device_trainee *of) { return of->tail; }, draw_values, D);
    t.x = x;
    t.head = head;
    t.tail = tail;
    begin_training(card, &t, count);
    run_steps(card, &t, count, stop, context);
    judge_held(card, moment, &t, held, rows, trainees, count);
    give_back(card, &t, trainees, given.progress.get(), count);
    return true;
}

bool train_networks(void *device, const rer_device_training *training, rer_device_trainee *trainees, int32_t count,
                    bool (*stop)(void *context), void *context)
{
    Card *card = (Card *)device;
    if (!is_well(card) || !takes_networks(device, &training->shape) || training->batch > 2048)
        return false;
    finish_start(card);
    Moment moment = {card, {}, false};
    bool done = train_with(card, &moment, training, trainees, count, stop, context);
    CHECK(card, cudaStreamSynchronize(card->compute));
    for (void *memory : moment.taken)
        (void)cudaFree(memory);
    return done;
}
