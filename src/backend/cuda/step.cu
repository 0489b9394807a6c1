/* A step of training, of all networks at once: each product is made for all of them, and the gradient of the weights goes
 * to Adam as it leaves the product. */
#include "backend/cuda/training.cuh"

/* ---- dropout ----------------------------------------------------------------------------- */

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

/* Takes the gradient of a layer's weights, by tiles: what it reads lies in rows. */
struct Adam {
    static constexpr bool by_tile = true;
    static constexpr int AT_ONCE = 4;
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

    /* g [M, N] of a tile, its rows `stride` apart: of the layer's from (row, column) on. */
    template <int TILE_M, int TILE_N, int STRIDE>
    __device__ void take_tile(int64_t item, int64_t row, int64_t rows, int64_t column, const float *g)
    {
        int64_t from = active[item] * apart;
        if (N % 4 != 0) {
            for (int at = threadIdx.x; at < TILE_M * TILE_N; at += PRODUCT_THREADS) {
                int64_t i = row + at / TILE_N, j = column + at % TILE_N, place = from + i * N + j;
                if (i < rows && j < N)
                    step_one(place, g[at / TILE_N * STRIDE + at % TILE_N]);
            }
            return;
        }
        for (int at = threadIdx.x * 4; at < TILE_M * TILE_N; at += AT_ONCE * 4 * PRODUCT_THREADS)
            step_fours<TILE_M, TILE_N, STRIDE>(from, at, row, rows, column, g);
    }

    __device__ void step_one(int64_t place, float gradient)
    {
        adam(w + place, m + place, v + place, gradient, by);
        squares += w[place] * w[place];
    }

    /* AT_ONCE times four numbers, all of them read before the first is written. */
    template <int TILE_M, int TILE_N, int STRIDE>
    __device__ void step_fours(int64_t from, int at, int64_t row, int64_t rows, int64_t column, const float *g)
    {
        float4 ws[AT_ONCE], ms[AT_ONCE], vs[AT_ONCE];
        int64_t place[AT_ONCE];
#pragma unroll
        for (int e = 0; e < AT_ONCE; e++) {
            int one = at + e * 4 * PRODUCT_THREADS;
            int64_t i = row + one / TILE_N, j = column + one % TILE_N;
            place[e] = one < TILE_M * TILE_N && i < rows && j < N ? from + i * N + j : -1;
            if (place[e] < 0)
                continue;
            ws[e] = *(const float4 *)(w + place[e]);
            ms[e] = *(const float4 *)(m + place[e]);
            vs[e] = *(const float4 *)(v + place[e]);
        }
#pragma unroll
        for (int e = 0; e < AT_ONCE; e++) {
            int one = at + e * 4 * PRODUCT_THREADS;
            if (place[e] < 0)
                continue;
            float4 gradient = *(const float4 *)(g + one / TILE_N * STRIDE + one % TILE_N);
            adam(&ws[e].x, &ms[e].x, &vs[e].x, gradient.x, by);
            adam(&ws[e].y, &ms[e].y, &vs[e].y, gradient.y, by);
            adam(&ws[e].z, &ms[e].z, &vs[e].z, gradient.z, by);
            adam(&ws[e].w, &ms[e].w, &vs[e].w, gradient.w, by);
            squares += ws[e].x * ws[e].x + ws[e].y * ws[e].y + ws[e].z * ws[e].z + ws[e].w * ws[e].w;
            *(float4 *)(w + place[e]) = ws[e];
            *(float4 *)(m + place[e]) = ms[e];
            *(float4 *)(v + place[e]) = vs[e];
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
#pragma unroll 16
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

void do_step(Card *card, const Training *t, int64_t items, uint64_t step)
{
    const rer_network *laid = &t->laid;
    fill_batches(card, t, items, step);
    go_forward(card, t, items, step);
    find_losses(card, t, items);
    go_back(card, t, items, laid->encoder, laid->layers);
    join_codes(card, t, items);
    go_back(card, t, items, 0, laid->encoder);
    step_weights(card, t, items, step);
    if (!is_well(card))
        return;
    end_step<<<blocks_for(items, THREADS), THREADS, 0, card->compute>>>(*t, items);
    LAUNCHED(card);
}
