/* Errors of rows under networks. All pairs of a row and a class are reconstructed in float; or, where there are many
 * classes and the card has the products for it (sweep.cu), in half precision, and then in float those that the results
 * are made of: a row's own class, the nearest ones, and the most likely ones. The others come in by their sums alone. */
#include "backend/cuda/networks.cuh"
#include "backend/cuda/product.cuh"
#include "backend/cuda/sweep.cuh"

#include <cstdio>

#define THREADS 256
#define WARP 32
#define CHOSEN 8    /* classes of a row that are done in float */
#define NEAREST 4   /* of these the own one and the nearest; the others are the likeliest */
#define LIKELY 16.f /* how far below the best a class may be that is still among those */
/* Features by classes: where they are so many, errors in half precision cancel in a row's sum over classes (5e-7 of it is
 * left at 300 by 900); fewer are all done in float. */
#define MANY ((int64_t)1 << 18)
#define LAYERS_BYTES ((int64_t)1 << 30)

/* ---- layout ------------------------------------------------------------------------------ */

rer_network lay_out_network(const rer_network *shape)
{
    rer_network laid = *shape;
    laid.parameters = 0;
    for (int l = 0; l < laid.layers; l++) {
        laid.weight[l] = laid.parameters;
        laid.bias[l] = round_up(laid.weight[l] + laid.width[l] * laid.width[l + 1], LAID_OUT);
        laid.parameters = round_up(laid.bias[l] + laid.width[l + 1], LAID_OUT);
    }
    return laid;
}

static void copy_layers(Card *card, float *to, const rer_network *to_shape, const float *from,
                        const rer_network *from_shape, int64_t count)
{
    size_t to_step = (size_t)to_shape->parameters * sizeof(float);
    size_t from_step = (size_t)from_shape->parameters * sizeof(float);
    for (int l = 0; l < to_shape->layers; l++) {
        size_t weights = (size_t)(to_shape->width[l] * to_shape->width[l + 1]) * sizeof(float);
        size_t biases = (size_t)to_shape->width[l + 1] * sizeof(float);
        CHECK(card, cudaMemcpy2DAsync(to + to_shape->weight[l], to_step, from + from_shape->weight[l], from_step,
                                      weights, (size_t)count, cudaMemcpyDefault, card->compute));
        CHECK(card, cudaMemcpy2DAsync(to + to_shape->bias[l], to_step, from + from_shape->bias[l], from_step, biases,
                                      (size_t)count, cudaMemcpyDefault, card->compute));
    }
}

void put_networks(Card *card, float *to, const rer_network *laid, const float *from, const rer_network *shape,
                  int64_t count)
{
    CHECK(card, cudaMemsetAsync(to, 0, (size_t)(count * laid->parameters) * sizeof(float), card->compute));
    copy_layers(card, to, laid, from, shape, count);
}

void take_networks(Card *card, float *to, const rer_network *shape, const float *from, const rer_network *laid,
                   int64_t count)
{
    copy_layers(card, to, shape, from, laid, count);
}

/* ---- in float ---------------------------------------------------------------------------- */

static int64_t widest(const rer_network *shape)
{
    int64_t most = 0;
    for (int l = 0; l < shape->layers; l++)
        most = shape->width[l + 1] > most ? shape->width[l + 1] : most;
    return most;
}

int64_t layer_bytes(const rer_network *shape)
{
    return ITEM_ROWS * (shape->width[0] + 2 * widest(shape)) * (int64_t)sizeof(float);
}

Layers take_layers(Moment *moment, const rer_network *shape, int64_t items)
{
    Layers made = {items, NULL, NULL, NULL};
    made.x = take<float>(moment, NULL, items * ITEM_ROWS * shape->width[0]);
    made.even = take<float>(moment, NULL, items * ITEM_ROWS * widest(shape));
    made.odd = take<float>(moment, NULL, items * ITEM_ROWS * widest(shape));
    return made;
}

/* A warp a row. */
static __global__ void gather_rows(float *to, Reconstruction of, int64_t D)
{
    int64_t i = (int64_t)blockIdx.x * (THREADS / WARP) + threadIdx.x / WARP;
    int32_t row = of.row[i];
    if (of.item[i / ITEM_ROWS] < 0)
        return;
    for (int64_t j = threadIdx.x % WARP; j < D; j += WARP)
        to[i * D + j] = row >= 0 ? of.x[row * D + j] : 0;
}

/* A warp a row: |sigmoid(y) - x|^2. */
static __global__ void compare_rows(Reconstruction of, const float *x, const float *y, int64_t D)
{
    int64_t i = (int64_t)blockIdx.x * (THREADS / WARP) + threadIdx.x / WARP;
    int32_t row = of.row[i], network = of.item[i / ITEM_ROWS];
    double sum = 0;
    if (row < 0 || network < 0)
        return;
    for (int64_t j = threadIdx.x % WARP; j < D; j += WARP) {
        float apart = 1 / (1 + expf(-y[i * D + j])) - x[i * D + j];
        sum += (double)(apart * apart);
    }
    sum = sum_of_warp(sum);
    if (threadIdx.x % WARP == 0)
        of.out[row * of.row_step + network * of.network_step] = (float)sum;
}

static void reconstruct_some(Card *card, const Reconstruction *of, const Layers *layers, int64_t items)
{
    const rer_network *laid = of->laid;
    const float *input = layers->x;
    int64_t D = laid->width[0];
    unsigned blocks = blocks_for(items * ITEM_ROWS, THREADS / WARP);
    if (!is_well(card))
        return;
    gather_rows<<<blocks, THREADS, 0, card->compute>>>(layers->x, *of, D);
    LAUNCHED(card);
    for (int l = 0; l < laid->layers; l++) {
        int64_t in = laid->width[l], out = laid->width[l + 1];
        Operand rows = {input, ITEM_ROWS * in, in, NULL};
        Operand weights = {of->weights + laid->weight[l], laid->parameters, out, of->item};
        Layer layer;
        layer.out = l % 2 == 0 ? layers->even : layers->odd;
        layer.M = ITEM_ROWS;
        layer.N = out;
        layer.bias = Operand{of->weights + laid->bias[l], laid->parameters, 0, of->item};
        layer.scale = 1;
        layer.relu = l != laid->encoder - 1 && l != laid->layers - 1;
        multiply_all<false, false>(card, rows, weights, items, ITEM_ROWS, out, in, layer);
        input = layer.out;
    }
    if (!is_well(card))
        return;
    compare_rows<<<blocks, THREADS, 0, card->compute>>>(*of, layers->x, input, D);
    LAUNCHED(card);
}

void reconstruct(Card *card, const Reconstruction *of, const Layers *layers, int64_t items)
{
    for (int64_t first = 0; first < items; first += layers->items) {
        Reconstruction some = *of;
        some.row += first * ITEM_ROWS;
        some.item += first;
        reconstruct_some(card, &some, layers, items - first < layers->items ? items - first : layers->items);
    }
}

/* ---- a sweep ----------------------------------------------------------------------------- */

struct Sweep {
    rer_network laid;
    Moment moment;
    Layers layers;
    Packed packed; /* in half precision, where that is done */
    bool in_half;
    float *weights, *own; /* [C, parameters], [N] or NULL */
    int32_t *row, *item;  /* [items, ITEM_ROWS], [items] */
    int64_t items;
    int32_t *chosen;        /* [rows, CHOSEN] below 0: none */
    int32_t *count, *start; /* [C] of the rows that have chosen a class, [C] its first item */
};

void free_sweep(Card *card)
{
    Sweep *sweep = card->sweep;
    if (sweep == NULL)
        return;
    release(&sweep->moment);
    delete sweep;
    card->sweep = NULL;
}

bool takes_networks(void *device, const rer_network *shape)
{
    Card *card = (Card *)device;
    return card->is_recent && widest(shape) <= 8192 && shape->width[0] <= 8192;
}

/* Pairs of rows and classes, first_class.. by the stretch's rows. */
static __global__ void list_all(int32_t *row, int32_t *item, int64_t count, int64_t chunks, int32_t first_class)
{
    int64_t i = blockIdx.x, at = i % chunks * ITEM_ROWS + threadIdx.x;
    row[i * ITEM_ROWS + threadIdx.x] = at < count ? (int32_t)at : -1;
    if (threadIdx.x == 0)
        item[i] = first_class + (int32_t)(i / chunks);
}

static void sweep_all(Card *card, const Slot *slot)
{
    Sweep *sweep = card->sweep;
    int64_t chunks = (slot->count + ITEM_ROWS - 1) / ITEM_ROWS;
    int32_t C = card->shape.C, at_once = (int32_t)(sweep->items / chunks);
    for (int32_t first = 0; is_well(card) && first < C; first += at_once) {
        int32_t classes = first + at_once < C ? at_once : C - first;
        Reconstruction of = {&sweep->laid, sweep->weights, slot->rows.x, sweep->row, sweep->item, card->h, C, 1};
        list_all<<<(unsigned)(classes * chunks), ITEM_ROWS, 0, card->compute>>>(sweep->row, sweep->item, slot->count,
                                                                                chunks, first);
        LAUNCHED(card);
        reconstruct(card, &of, &sweep->layers, classes * chunks);
    }
}

/* ---- those that count -------------------------------------------------------------------- */

struct Choice {
    const float *d2, *bias; /* [rows, C], [C] or NULL */
    const int32_t *code;
    int32_t *chosen, *count;
    int64_t rows;
    int32_t C;
    float weight;
};

/* Of those that are not in `mine` the one of the least key, of equals the first; a lane has one of `mine` each. */
static __device__ int32_t choose_next(const Choice &of, const float *d2, int32_t mine, bool by_odds, float *key)
{
    int lane = threadIdx.x % WARP;
    float least = INFINITY;
    int32_t at = INT32_MAX;
    for (int32_t first = 0; first < of.C; first += WARP) {
        int32_t k = first + lane;
        bool is_free = k < of.C;
        for (int other = 0; other < CHOSEN; other++)
            is_free &= __shfl_sync(~0u, mine, other) != k;
        float value = !is_free ? INFINITY : by_odds ? of.weight * d2[k] - of.bias[k] : d2[k];
        if (value < least) {
            least = value;
            at = k;
        }
    }
    for (int step = WARP / 2; step > 0; step /= 2) {
        float other = __shfl_xor_sync(~0u, least, step);
        int32_t other_at = __shfl_xor_sync(~0u, at, step);
        if (other < least || (other == least && other_at < at)) {
            least = other;
            at = other_at;
        }
    }
    *key = least;
    return at;
}

/* A warp a row. */
static __global__ void choose(Choice of)
{
    int64_t i = (int64_t)blockIdx.x * (THREADS / WARP) + threadIdx.x / WARP;
    int lane = threadIdx.x % WARP, used = 0;
    if (i >= of.rows)
        return;
    const float *d2 = of.d2 + i * of.C;
    int32_t code = of.code[i], mine = -1;
    float best = INFINITY;
    if (code >= 0) {
        mine = lane == 0 ? code : -1;
        used = 1;
    }
    for (; code >= -1 && used < CHOSEN && used < of.C; used++) {
        float key;
        bool by_odds = of.bias != NULL && used >= NEAREST;
        int32_t next = choose_next(of, d2, mine, by_odds, &key);
        best = by_odds && key < best ? key : best;
        if (next == INT32_MAX || (by_odds && key > best + LIKELY))
            break;
        mine = lane == used ? next : mine;
    }
    if (lane < CHOSEN) {
        of.chosen[i * CHOSEN + lane] = mine;
        if (mine >= 0)
            (void)atomicAdd(of.count + mine, 1);
    }
}

/* One block: where each class's items start; its count becomes 0 again. */
static __global__ void start_items(int32_t *start, int32_t *count, int32_t *item, int32_t C)
{
    __shared__ int32_t before[THREADS];
    int32_t each = (C + THREADS - 1) / THREADS, first = (int32_t)threadIdx.x * each, sum = 0;
    for (int32_t c = first; c < first + each && c < C; c++)
        sum += (count[c] + ITEM_ROWS - 1) / ITEM_ROWS;
    before[threadIdx.x] = sum;
    __syncthreads();
    int32_t at = 0;
    for (int other = 0; other < (int)threadIdx.x; other++)
        at += before[other];
    for (int32_t c = first; c < first + each && c < C; c++) {
        start[c] = at;
        for (int32_t left = count[c]; left > 0; left -= ITEM_ROWS)
            item[at++] = c;
        count[c] = 0;
    }
}

/* Which rows share an item does not change their bits. */
static __global__ void place_rows(int32_t *row, const int32_t *start, int32_t *count, const int32_t *chosen, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= n || chosen[i] < 0)
        return;
    int64_t at = atomicAdd(count + chosen[i], 1);
    row[start[chosen[i]] * ITEM_ROWS + at] = (int32_t)(i / CHOSEN);
}

static void sweep_chosen(Card *card, const Slot *slot)
{
    Sweep *sweep = card->sweep;
    const rer_device_channel *channel = card->model.channel;
    int32_t C = card->shape.C;
    int64_t items = slot->count * CHOSEN / ITEM_ROWS + C;
    Choice of = {
        card->h, channel != NULL ? card->bias : NULL,         slot->rows.code, sweep->chosen, sweep->count, slot->count,
        C,       channel != NULL ? (float)channel->weight : 0};
    CHECK(card, cudaMemsetAsync(sweep->count, 0, (size_t)C * sizeof(int32_t), card->compute));
    CHECK(card, cudaMemsetAsync(sweep->item, 0xff, (size_t)items * sizeof(int32_t), card->compute));
    CHECK(card, cudaMemsetAsync(sweep->row, 0xff, (size_t)(items * ITEM_ROWS) * sizeof(int32_t), card->compute));
    if (!is_well(card))
        return;
    choose<<<blocks_for(slot->count, THREADS / WARP), THREADS, 0, card->compute>>>(of);
    start_items<<<1, THREADS, 0, card->compute>>>(sweep->start, sweep->count, sweep->item, C);
    place_rows<<<blocks_for(slot->count * CHOSEN, THREADS), THREADS, 0, card->compute>>>(
        sweep->row, sweep->start, sweep->count, sweep->chosen, slot->count * CHOSEN);
    LAUNCHED(card);
    Reconstruction all = {&sweep->laid, sweep->weights, slot->rows.x, sweep->row, sweep->item, card->h, C, 1};
    reconstruct(card, &all, &sweep->layers, items);
}

/* ---- begin and add ----------------------------------------------------------------------- */

static int64_t items_of(const Card *card, const rer_network *shape, bool in_half)
{
    int64_t rows = card->shape.rows, C = card->shape.C, chunks = (rows + ITEM_ROWS - 1) / ITEM_ROWS;
    int64_t most = LAYERS_BYTES / layer_bytes(shape);
    if (in_half)
        return rows * CHOSEN / ITEM_ROWS + C;
    return most < chunks ? chunks : most / chunks * chunks;
}

/* With room for the layers of so many items at a time. */
static bool take_sweep(Card *card, Sweep *sweep, const rer_device_networks *networks, int64_t at_once)
{
    int64_t C = card->shape.C;
    Moment *moment = &sweep->moment;
    release(moment);
    sweep->items = items_of(card, &networks->shape, sweep->in_half);
    sweep->weights = take<float>(moment, NULL, C * sweep->laid.parameters);
    sweep->own = networks->own != NULL ? take(moment, networks->own, card->shape.N) : NULL;
    sweep->row = take<int32_t>(moment, NULL, sweep->items * ITEM_ROWS);
    sweep->item = take<int32_t>(moment, NULL, sweep->items);
    sweep->chosen = take<int32_t>(moment, NULL, card->shape.rows * CHOSEN);
    sweep->count = take<int32_t>(moment, NULL, C);
    sweep->start = take<int32_t>(moment, NULL, C);
    sweep->layers = take_layers(moment, &networks->shape, at_once < sweep->items ? at_once : sweep->items);
    if (sweep->in_half)
        sweep->packed = take_packed(moment, &networks->shape, card->shape.rows, C);
    return !moment->failed;
}

/* Where memory is short, fewer items at a time; then without half precision, whose weights take more. */
static bool find_room(Card *card, Sweep *sweep, const rer_device_networks *networks)
{
    int64_t most = LAYERS_BYTES / layer_bytes(&networks->shape);
    int64_t at_once = most = most > 0 ? most : 1;
    while (!take_sweep(card, sweep, networks, at_once)) {
        if (at_once == 1 && !sweep->in_half)
            return false;
        sweep->in_half = sweep->in_half && at_once > 1;
        at_once = at_once > 1 ? at_once / 2 : most;
    }
    return true;
}

static void say_no_room(Card *card, int64_t wanted)
{
    char why[100];
    (void)snprintf(why, sizeof why, "%lld bytes are the least that its networks need beside the %lld taken",
                   (long long)wanted, (long long)(card->shape.memory - card->left));
    fail(card, card->shape.memory > 0 ? "--device-memory" : "networks",
         card->shape.memory > 0 ? why : "out of memory on the card");
}

void sweep_begin(Card *card, const rer_device_networks *networks)
{
    free_sweep(card);
    Sweep *sweep = new (std::nothrow) Sweep();
    if (sweep == NULL) {
        fail(card, "host", "out of memory");
        return;
    }
    card->sweep = sweep;
    sweep->laid = lay_out_network(&networks->shape);
    sweep->moment = Moment{card, {}, false};
    sweep->in_half = card->shape.C * card->shape.D >= MANY && can_pack(card, &networks->shape);
    if (!find_room(card, sweep, networks)) {
        int64_t wanted = sweep->moment.wanted;
        free_sweep(card);
        say_no_room(card, wanted);
        return;
    }
    put_networks(card, sweep->weights, &sweep->laid, networks->weights, &networks->shape, card->shape.C);
    if (sweep->in_half)
        pack(card, &sweep->packed, sweep->weights, &sweep->laid, card->shape.C);
    CHECK(card, cudaStreamSynchronize(card->compute));
}

void sweep_add(Card *card, const Slot *slot)
{
    Sweep *sweep = card->sweep;
    if (!is_well(card))
        return;
    if (!sweep->in_half) {
        sweep_all(card, slot);
        return;
    }
    sweep_packed(card, &sweep->packed, slot, card->h, card->shape.C);
    sweep_chosen(card, slot);
}

const float *sweep_own(const Card *card)
{
    return card->sweep->own;
}
