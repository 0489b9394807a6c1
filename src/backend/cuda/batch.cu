/* The rows of a step of training, and its losses. No sum depends on who is first. */
#include "backend/cuda/training.cuh"

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
    if (t.D % 4 == 0)
        for (int64_t j = threadIdx.x; j < t.D / 4; j += THREADS)
            ((float4 *)to)[j] = ((const float4 *)from)[j];
    else
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

static __global__ void add_codes(Training t, int64_t n)
{
    int64_t item = blockIdx.y, i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < n)
        t.delta[t.laid.encoder - 1][item * 2 * n + i] += t.d_code[item * n + i];
}

/* ---- all networks ------------------------------------------------------------------------ */

void fill_batches(Card *card, const Training *t, int64_t items, uint64_t step)
{
    unsigned n = (unsigned)items;
    if (!is_well(card))
        return;
    fill_batch<<<dim3((unsigned)(2 * t->B), n), THREADS, 0, card->compute>>>(*t, (int64_t)step);
    shuffle_negatives<<<n, THREADS, (size_t)(RER_NEGATIVES * t->B) * sizeof(int32_t), card->compute>>>(*t,
                                                                                                       (int64_t)step);
    LAUNCHED(card);
}

void find_losses(Card *card, const Training *t, int64_t items)
{
    unsigned n = (unsigned)items;
    float factor = (float)(2 * t->of.weight / (double)(t->B * t->D));
    if (!is_well(card))
        return;
    compare_heads<<<dim3((unsigned)t->B, n), THREADS, 0, card->compute>>>(*t, factor);
    find_loss<<<n, THREADS, 0, card->compute>>>(*t);
    LAUNCHED(card);
}

void join_codes(Card *card, const Training *t, int64_t items)
{
    int64_t codes = t->B * t->Z;
    if (!is_well(card))
        return;
    add_codes<<<dim3(blocks_for(codes, THREADS), (unsigned)items), THREADS, 0, card->compute>>>(*t, codes);
    LAUNCHED(card);
}
