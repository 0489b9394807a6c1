/* The plug-in: opens a card, gives it its memory, and moves rows to it. */
#include "backend/cuda/networks.cuh"

#include <rer.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <unistd.h>

#define THREADS 128
#define WARP 32

void fail(Card *card, const char *what, const char *why)
{
    if (is_well(card))
        (void)snprintf(card->failure, sizeof card->failure, "%s (%.100s)", why, what);
}

int32_t piece_count(const Card *card)
{
    return (int32_t)(card->shape.C + card->shape.rows / PIECE_ROWS + 1);
}

/* ---- memory ------------------------------------------------------------------------------ */

/* What an allocation came to; whether memory is what was missing is noted. */
static void see(Card *card, const char *what, cudaError_t result)
{
    card->no_room = card->no_room || result == cudaErrorMemoryAllocation;
    if (result != cudaSuccess)
        fail(card, what, cudaGetErrorString(result));
}

template <typename T> static void take(Card *card, T **where, int64_t count)
{
    void *made = NULL;
    if (is_well(card))
        see(card, "cudaMalloc", cudaMalloc(&made, (size_t)count * sizeof(T)));
    if (made != NULL)
        card->taken.push_back(made);
    card->used += count * (int64_t)sizeof(T);
    *where = (T *)made;
}

template <typename T> static void pin(Card *card, T **where, int64_t count)
{
    void *made = NULL;
    if (is_well(card))
        see(card, "cudaMallocHost", cudaMallocHost(&made, (size_t)count * sizeof(T)));
    if (made != NULL)
        card->pinned.push_back(made);
    *where = (T *)made;
}

/* Rows that lie on the card already stay where they are; nothing writes to them. */
static void take_rows(Card *card, Rows *rows, int64_t count)
{
    rows->x = const_cast<float *>(card->shape.x);
    if (card->shape.x == NULL)
        take(card, &rows->x, count * card->shape.D);
    take(card, &rows->scale, count);
    take(card, &rows->code, count);
}

static int64_t row_bytes(const Card *card)
{
    int64_t x = card->shape.x == NULL ? card->shape.D * (int64_t)sizeof(float) : 0;
    return x + (int64_t)(sizeof(double) + sizeof(int32_t));
}

static void take_slot(Card *card, Slot *slot)
{
    const rer_device_shape *shape = &card->shape;
    if (shape->x == NULL)
        pin(card, &slot->host.x, shape->rows * shape->D);
    pin(card, &slot->host.scale, shape->rows);
    pin(card, &slot->host.code, shape->rows);
    pin(card, &slot->order, shape->rows);
    pin(card, &slot->pieces, piece_count(card));
    pin(card, &slot->piece_start, shape->C + 1);
    pin(card, &slot->reduced, shape->rows);
    take(card, &slot->order_on_card, shape->rows);
    take(card, &slot->pieces_on_card, piece_count(card));
    take(card, &slot->piece_start_on_card, shape->C + 1);
    take(card, &slot->reduced_on_card, shape->rows);
    CHECK(card, cudaEventCreateWithFlags(&slot->copied, cudaEventDisableTiming));
    CHECK(card, cudaEventCreateWithFlags(&slot->computed, cudaEventDisableTiming));
    CHECK(card, cudaEventCreateWithFlags(&slot->returned, cudaEventDisableTiming));
}

static void take_workspace(Card *card)
{
    int64_t rows = card->shape.rows, D = card->shape.D, C = card->shape.C, width = card->width, parts = card->parts;
    for (int i = 0; i < RER_DEVICE_SLOTS; i++)
        take_slot(card, &card->slots[i]);
    take(card, &card->sum, C * D);
    take(card, &card->square, C * D);
    take(card, &card->piece_sums, piece_count(card) * 2 * D);
    take(card, &card->mean, (C + 1) * D);
    take(card, &card->operand, rows * parts * width);
    take(card, &card->batches, rows / PRODUCT_ROWS * width * 2 * width);
    take(card, &card->scatter, width * 2 * width);
    take(card, &card->far_rows, rows);
    take(card, &card->n_far, 1);
    take(card, &card->t, rows * width);
    take(card, &card->h, rows * C);
    take(card, &card->terms, rows);
    take(card, &card->root, width * parts * width);
    take(card, &card->u, (C + 1) * width);
    take(card, &card->u_operand, C * parts * width);
    take(card, &card->norm, C);
    take(card, &card->pairs, C * C);
    take(card, &card->bias, C);
    take(card, &card->rates, C * C);
    take(card, &card->n, C);
}

/* Rows stay on the card where a tenth of its free memory is left, or what the caller allows; else a stretch of each
 * slot does. */
static void take_data(Card *card, int64_t free_before)
{
    size_t free_now = 0, total = 0;
    CHECK(card, cudaMemGetInfo(&free_now, &total));
    int64_t used = card->used, cap = card->shape.memory; /* other processes' part of the card is not counted */
    int64_t stages = RER_DEVICE_SLOTS * card->shape.rows * row_bytes(card), all = card->shape.N * row_bytes(card);
    int64_t room = cap > 0 ? cap - used : (int64_t)free_now - free_before / 10;
    card->keeps = all <= room;
    card->left = cap > 0 ? room - (card->keeps ? all : stages) : INT64_MAX;
    if (card->keeps) {
        card->kept_code = (int32_t *)malloc((size_t)card->shape.N * sizeof(int32_t));
        card->keeps = card->kept_code != NULL;
    }
    if (card->keeps) {
        take_rows(card, &card->kept, card->shape.N);
        return;
    }
    if (card->shape.x != NULL) {
        fail(card, "rows on the card", "there is no room for their factors and classes");
        card->no_room = true;
    } else if (cap > 0 && stages > room) {
        char why[100];
        (void)snprintf(why, sizeof why, "%lld bytes are the least that it needs", (long long)(used + stages));
        fail(card, "--device-memory", why);
        card->no_room = true;
    }
    for (int i = 0; i < RER_DEVICE_SLOTS; i++)
        take_rows(card, &card->slots[i].stage, card->shape.rows);
}

/* ---- open and close ---------------------------------------------------------------------- */

/* Cards of these have tensor cores that are worth it. */
static int parts_of(const cudaDeviceProp *properties)
{
    return properties->minor == 0 && properties->major >= 8 ? SPLIT_PARTS : 1;
}

/* Whether this process may use a card: none that was forked by one that has. */
static bool is_first_process(char message[RER_DEVICE_MESSAGE])
{
    static std::atomic<pid_t> first(0); /* process that asked */
    pid_t none = 0, self = getpid();
    if (!first.compare_exchange_strong(none, self) && none != self) {
        (void)snprintf(
            message, RER_DEVICE_MESSAGE,
            "process %d used a card before it forked this one, which cannot: start processes anew (in Python: "
            "multiprocessing's spawn)",
            (int)none);
        return false;
    }
    return true;
}

static void wake_card(int32_t card)
{
    char unsaid[RER_DEVICE_MESSAGE];
    if (is_first_process(unsaid) && cudaSetDevice(card) == cudaSuccess)
        (void)cudaFree(NULL); /* any call that needs the card's context makes it */
    (void)cudaGetLastError();
}

static bool find_card(Card *card, char message[RER_DEVICE_MESSAGE])
{
    int count = 0;
    if (!is_first_process(message))
        return false;
    cudaError_t result = cudaGetDeviceCount(&count);
    if (result != cudaSuccess || count == 0) {
        (void)snprintf(message, RER_DEVICE_MESSAGE, "no card can be used: %s",
                       result != cudaSuccess ? cudaGetErrorString(result) : "there is none");
        return false;
    }
    if (card->shape.card >= count) {
        (void)snprintf(message, RER_DEVICE_MESSAGE, "there is no card %d: their numbers end at %d", card->shape.card,
                       count - 1);
        return false;
    }
    return true;
}

static void start(Card *card)
{
    cudaDeviceProp properties;
    memset(&properties, 0, sizeof properties);
    CHECK(card, cudaGetDevice(&card->before));
    CHECK(card, cudaSetDevice(card->shape.card));
    CHECK(card, cudaGetDeviceProperties(&properties, card->shape.card));
    card->parts = parts_of(&properties);
    card->is_recent = properties.major >= 8;
    card->is_hopper = properties.major == 9;
    card->width = (card->shape.D + 3) / 4 * 4;
    (void)snprintf(card->name, sizeof card->name, "%s", properties.name);
    CHECK(card, cudaStreamCreateWithFlags(&card->in, cudaStreamNonBlocking));
    CHECK(card, cudaStreamCreateWithFlags(&card->compute, cudaStreamNonBlocking));
    CHECK(card, cudaStreamCreateWithFlags(&card->out, cudaStreamNonBlocking));
    if (is_well(card) && (cublasCreate(&card->products) != CUBLAS_STATUS_SUCCESS ||
                          cublasSetStream(card->products, card->compute) != CUBLAS_STATUS_SUCCESS))
        fail(card, "cublasCreate", "cuBLAS cannot start");
}

/* The products of a pass once, on zeros, so that cuBLAS has their kernels when they are wanted; a failure will be seen
 * there. The card's arrays for them are not in use yet. */
static void make_products_ready(Card card)
{
    int64_t rows = card.shape.rows, width = card.width, C = card.shape.C, each = card.parts * width;
    card.products = NULL;
    if (cudaSetDevice(card.shape.card) != cudaSuccess || cublasCreate(&card.products) != CUBLAS_STATUS_SUCCESS)
        return;
    (void)cublasSetStream(card.products, card.out);
    CHECK(&card, cudaMemsetAsync(card.operand, 0, (size_t)(rows * each) * sizeof(float), card.out));
    CHECK(&card, cudaMemsetAsync(card.root, 0, (size_t)(width * each) * sizeof(float), card.out));
    CHECK(&card, cudaMemsetAsync(card.u_operand, 0, (size_t)(C * each) * sizeof(float), card.out));
    /* What products fill: initcheck does not see all of cuBLAS's own stores. */
    CHECK(&card, cudaMemsetAsync(card.batches, 0, (size_t)(rows / PRODUCT_ROWS * width * 2 * width) * sizeof(float),
                                 card.out));
    CHECK(&card, cudaMemsetAsync(card.t, 0, (size_t)(rows * width) * sizeof(float), card.out));
    CHECK(&card, cudaMemsetAsync(card.h, 0, (size_t)(rows * C) * sizeof(float), card.out));
    multiply_batches(&card, (int)(rows / PRODUCT_ROWS));
    multiply(&card, card.t, width, card.operand, card.root, rows, width, width);
    multiply(&card, card.h, C, card.operand, card.u_operand, rows, C, width);
    CHECK(&card, cudaStreamSynchronize(card.out));
    (void)cublasDestroy(card.products);
}

static void begin_start(Card *card)
{
    try {
        card->starting = new std::thread(make_products_ready, *card);
    } catch (const std::exception &) {
        card->starting = NULL; /* then they are loaded when they are wanted */
    }
}

void finish_start(Card *card)
{
    if (card->starting == NULL)
        return;
    card->starting->join();
    delete card->starting;
    card->starting = NULL;
}

static void close_card(void *device)
{
    Card *card = (Card *)device;
    finish_start(card);
    (void)cudaDeviceSynchronize();
    neighbors_end(card);
    logistic_end(card);
    free_sweep(card);
    for (int i = 0; i < RER_DEVICE_SLOTS; i++)
        for (cudaEvent_t event : {card->slots[i].copied, card->slots[i].computed, card->slots[i].returned})
            if (event != NULL)
                (void)cudaEventDestroy(event);
    for (void *memory : card->taken)
        (void)cudaFree(memory);
    for (void *memory : card->pinned)
        (void)cudaFreeHost(memory);
    if (card->products != NULL)
        (void)cublasDestroy(card->products);
    for (cudaStream_t stream : {card->in, card->compute, card->out})
        if (stream != NULL)
            (void)cudaStreamDestroy(stream);
    if (card->before != card->shape.card)
        (void)cudaSetDevice(card->before);
    (void)cudaGetLastError();
    free(card->kept_code);
    delete card;
}

/* *again: with smaller stretches there may be room. */
static Card *try_to_open(const rer_device_shape *shape, bool *again, char message[RER_DEVICE_MESSAGE])
{
    Card *card = new (std::nothrow) Card();
    *again = false;
    if (card == NULL) {
        (void)snprintf(message, RER_DEVICE_MESSAGE, "out of memory");
        return NULL;
    }
    card->shape = *shape;
    if (!find_card(card, message)) {
        delete card;
        return NULL;
    }
    size_t free_before = 0, total = 0;
    start(card);
    CHECK(card, cudaMemGetInfo(&free_before, &total));
    take_workspace(card);
    take_data(card, (int64_t)free_before);
    if (is_well(card))
        return card;
    *again = card->no_room && shape->rows > PRODUCT_ROWS;
    (void)snprintf(message, RER_DEVICE_MESSAGE, "%s", card->failure);
    close_card(card);
    return NULL;
}

static void *open_card(rer_device_shape *shape, char message[RER_DEVICE_MESSAGE])
{
    bool again = false;
    Card *card = try_to_open(shape, &again, message);
    while (again) {
        shape->rows = (shape->rows / PRODUCT_ROWS + 1) / 2 * PRODUCT_ROWS;
        card = try_to_open(shape, &again, message);
    }
    if (card != NULL)
        begin_start(card);
    return card;
}

static const char *name_of(void *device)
{
    return ((Card *)device)->name;
}

static const char *failure_of(void *device)
{
    Card *card = (Card *)device;
    return is_well(card) ? NULL : card->failure;
}

static bool keeps_rows(void *device)
{
    return ((Card *)device)->keeps;
}

/* ---- rows -------------------------------------------------------------------------------- */

static rer_device_rows slot_of(void *device, int slot)
{
    Card *card = (Card *)device;
    CHECK(card, cudaEventSynchronize(card->slots[slot].copied));
    return card->slots[slot].host;
}

static Rows rows_at(const Card *card, const Rows *all, int64_t first)
{
    return Rows{all->x + first * card->shape.D, all->scale + first, all->code + first};
}

static void copy_in(Card *card, const Slot *slot)
{
    size_t count = (size_t)slot->count, D = (size_t)card->shape.D;
    const rer_device_rows *from = &slot->host;
    if (from->x != NULL)
        CHECK(card, cudaMemcpyAsync(slot->rows.x, from->x, count * D * sizeof(float), cudaMemcpyDefault, card->in));
    CHECK(card, cudaMemcpyAsync(slot->rows.scale, from->scale, count * sizeof(double), cudaMemcpyDefault, card->in));
    CHECK(card, cudaMemcpyAsync(slot->rows.code, from->code, count * sizeof(int32_t), cudaMemcpyDefault, card->in));
}

static void load(void *device, int which, int64_t first, int64_t count, bool kept)
{
    Card *card = (Card *)device;
    Slot *slot = &card->slots[which];
    slot->first = first;
    slot->count = count;
    slot->rows = card->keeps ? rows_at(card, &card->kept, first) : slot->stage;
    slot->code = kept ? card->kept_code + first : slot->host.code;
    if (kept)
        return;
    if (card->keeps)
        memcpy(card->kept_code + first, slot->host.code, (size_t)count * sizeof(int32_t));
    else
        CHECK(card, cudaStreamWaitEvent(card->in, slot->computed, 0));
    copy_in(card, slot);
    CHECK(card, cudaEventRecord(slot->copied, card->in));
    CHECK(card, cudaStreamWaitEvent(card->compute, slot->copied, 0));
}

static __global__ void measure_rows(double *square, const float *x, int64_t count, int64_t D)
{
    int64_t i = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / WARP;
    double sum = 0;
    if (i >= count)
        return;
    for (int64_t j = threadIdx.x % WARP; j < D; j += WARP)
        sum += (double)x[i * D + j] * (double)x[i * D + j];
    sum = sum_of_warp(sum);
    if (threadIdx.x % WARP == 0)
        square[i] = sum;
}

static void measure(void *device, int64_t first, int64_t count, double *square)
{
    Card *card = (Card *)device;
    double *squares = card->kept.scale + first; /* their place until the factors come */
    if (!is_well(card))
        return;
    measure_rows<<<blocks_for(count, THREADS / WARP), THREADS, 0, card->in>>>(
        squares, card->shape.x + first * card->shape.D, count, card->shape.D);
    LAUNCHED(card);
    CHECK(card, cudaMemcpyAsync(square, squares, (size_t)count * sizeof *square, cudaMemcpyDefault, card->in));
    CHECK(card, cudaStreamSynchronize(card->in));
}

/* ---- rows of others ---------------------------------------------------------------------- */

/* For the moment, another card is the caller's own. */
struct OnCard {
    int before = 0;
    cudaError_t result;
    explicit OnCard(int32_t card)
    {
        result = cudaGetDevice(&before);
        if (result == cudaSuccess)
            result = cudaSetDevice(card);
    }
    ~OnCard()
    {
        (void)cudaSetDevice(before);
    }
};

static bool is_done(cudaError_t result, char message[RER_DEVICE_MESSAGE])
{
    if (result == cudaSuccess)
        return true;
    (void)snprintf(message, RER_DEVICE_MESSAGE, "%s", cudaGetErrorString(result));
    (void)cudaGetLastError();
    return false;
}

static int32_t card_of(const void *memory, char message[RER_DEVICE_MESSAGE])
{
    cudaPointerAttributes found;
    if (!is_first_process(message) || !is_done(cudaPointerGetAttributes(&found, memory), message))
        return -1;
    if (found.type != cudaMemoryTypeDevice && found.type != cudaMemoryTypeManaged) {
        (void)snprintf(message, RER_DEVICE_MESSAGE, "it lies on no card");
        return -1;
    }
    OnCard here(found.device); /* who made it has ordered that before the default stream */
    if (here.result == cudaSuccess)
        here.result = cudaStreamSynchronize(cudaStreamLegacy);
    return is_done(here.result, message) ? found.device : -1;
}

static bool fetch(void *out, int32_t card, const void *from, int64_t bytes, char message[RER_DEVICE_MESSAGE])
{
    if (!is_first_process(message))
        return false;
    OnCard here(card);
    if (here.result == cudaSuccess)
        here.result = cudaMemcpy(out, from, (size_t)bytes, cudaMemcpyDeviceToHost);
    return is_done(here.result, message);
}

/* A block a row. */
static __global__ void gather(float *out, const float *from, const int64_t *row, int64_t D)
{
    for (int64_t j = threadIdx.x; j < D; j += THREADS)
        out[blockIdx.x * D + j] = from[row[blockIdx.x] * D + j];
}

static bool fetch_rows(float *out, int32_t card, const float *from, int64_t D, const int64_t *row, int64_t count,
                       char message[RER_DEVICE_MESSAGE])
{
    if (!is_first_process(message))
        return false;
    OnCard here(card);
    size_t listed = (size_t)count * sizeof *row, bytes = (size_t)(count * D) * sizeof *out;
    void *room = NULL; /* the list, then the rows */
    cudaStream_t stream = cudaStreamPerThread;
    cudaError_t result = here.result;
    if (result == cudaSuccess)
        result = cudaMallocAsync(&room, listed + bytes, stream);
    if (result == cudaSuccess)
        result = cudaMemcpyAsync(room, row, listed, cudaMemcpyHostToDevice, stream);
    float *rows = (float *)((char *)room + listed);
    if (result == cudaSuccess && count > 0) {
        gather<<<(unsigned)count, THREADS, 0, stream>>>(rows, from, (const int64_t *)room, D);
        result = cudaGetLastError();
    }
    if (result == cudaSuccess)
        result = cudaMemcpyAsync(out, rows, bytes, cudaMemcpyDeviceToHost, stream);
    if (room != NULL)
        (void)cudaFreeAsync(room, stream);
    if (result == cudaSuccess)
        result = cudaStreamSynchronize(stream);
    return is_done(result, message);
}

static const rer_device_plugin plugin = {
    RER_DEVICE_INTERFACE,
    RER_VERSION,
    card_of,
    fetch,
    fetch_rows,
    wake_card,
    open_card,
    close_card,
    name_of,
    failure_of,
    keeps_rows,
    slot_of,
    measure,
    load,
    sums_begin,
    sums_add,
    sums_end,
    scatter_begin,
    scatter_add,
    scatter_end,
    score_begin,
    score_add,
    score_rows,
    takes_networks,
    train_networks,
    near_rows,
    neighbors_begin,
    neighbors_find,
    copies_join,
    copies_take,
    neighbors_end,
    logistic_begin,
    logistic_sums,
    logistic_end,
};

extern "C" __attribute__((visibility("default"))) const rer_device_plugin *rer_device_load(void)
{
    return &plugin;
}
