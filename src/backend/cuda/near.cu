/* The nearest rows of a class to those that ask for it. A block has TILE of those: it multiplies them with the class's
 * rows, TILE at a time, and then a thread each offers the products to its row's lists, in the order of the rows: the
 * same bits each time. Rows are centred and scaled as they are read. */
#include "backend/cuda/card.cuh"

#include <cmath>

#define TILE 64
#define DEEP 16 /* columns at a time */
#define EACH 4  /* by as many: the products of a thread */
#define THREADS 256
#define WARP 32

/* Some of those that ask for a class. */
struct Item {
    int32_t code;
    int64_t first, end; /* in `asked` */
};

struct Near {
    Rows rows;
    const float *x;
    const double *center;
    const int64_t *row, *asked, *start;
    const int32_t *witness;
    const float *factor; /* [witnesses] 1 / length */
    const uint8_t *doubted;
    const Item *items;
    rer_neighbor *list;
    float *trusted;
    int64_t D;
    int32_t slots;
};

/* A warp a row. */
static __global__ void find_factors(float *factor, Rows rows, const int32_t *witness, const double *center,
                                    int64_t count, int64_t D)
{
    int64_t i = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / WARP;
    int lane = threadIdx.x % WARP;
    if (i >= count)
        return;
    int64_t row = witness[i];
    double square = 0;
    for (int64_t j = lane; j < D; j += WARP) {
        double r = rows.scale[row] * (double)rows.x[row * D + j] - center[j];
        square += r * r;
    }
    square = sum_of_warp(square);
    if (lane == 0)
        factor[i] = square > 0 ? (float)(1 / sqrt(square)) : 0;
}

/* The lists of a place, nearest first. */
struct Lists {
    rer_neighbor near[RER_DEVICE_NEAR_KEPT];
    float trusted[RER_DEVICE_NEAR];
};

/* As in core/neighbor.h. */
static __device__ bool is_nearer(rer_neighbor a, rer_neighbor b)
{
    return a.distance != b.distance ? a.distance < b.distance : a.index < b.index;
}

static __device__ void offer(Lists *lists, rer_neighbor next, bool doubted)
{
    if (is_nearer(next, lists->near[RER_DEVICE_NEAR_KEPT - 1])) {
        int at = RER_DEVICE_NEAR_KEPT - 1;
        for (; at > 0 && is_nearer(next, lists->near[at - 1]); at--)
            lists->near[at] = lists->near[at - 1];
        lists->near[at] = next;
    }
    if (!doubted && next.distance < lists->trusted[RER_DEVICE_NEAR - 1]) {
        int at = RER_DEVICE_NEAR - 1;
        for (; at > 0 && next.distance < lists->trusted[at - 1]; at--)
            lists->trusted[at] = lists->trusted[at - 1];
        lists->trusted[at] = next.distance;
    }
}

static __global__ void compare(Near of)
{
    __shared__ float asking[DEEP][TILE + 4], class_rows[DEEP][TILE + 4], product[TILE][TILE + 1];
    __shared__ Lists lists[TILE];
    __shared__ int64_t query[TILE], self[TILE];
    __shared__ int32_t row[TILE];
    __shared__ float factor[TILE];
    Item item = of.items[blockIdx.x];
    int asks = (int)(item.end - item.first), thread = threadIdx.x;
    int across = thread % (TILE / EACH), down = thread / (TILE / EACH);
    if (thread < TILE) {
        query[thread] = of.asked[item.first + (thread < asks ? thread : 0)] / of.slots;
        self[thread] = of.row[query[thread]];
        for (int k = 0; k < RER_DEVICE_NEAR_KEPT; k++)
            lists[thread].near[k] = rer_neighbor{INFINITY, INT32_MAX};
        for (int k = 0; k < RER_DEVICE_NEAR; k++)
            lists[thread].trusted[k] = INFINITY;
    }
    for (int64_t at = of.start[item.code]; at < of.start[item.code + 1]; at += TILE) {
        int n = (int)(of.start[item.code + 1] - at < TILE ? of.start[item.code + 1] - at : TILE);
        float sum[EACH][EACH] = {};
        __syncthreads();
        if (thread < TILE) {
            row[thread] = of.witness[at + (thread < n ? thread : 0)];
            factor[thread] = of.factor[at + (thread < n ? thread : 0)];
        }
        for (int64_t first = 0; first < of.D; first += DEEP) {
            __syncthreads();
            for (int k = thread; k < TILE * DEEP; k += THREADS) {
                int i = k / DEEP;
                int64_t j = first + k % DEEP, from = row[i];
                float x = j < of.D ? of.x[query[i] * of.D + j] : 0;
                double y = j < of.D ? of.rows.scale[from] * (double)of.rows.x[from * of.D + j] - of.center[j] : 0;
                asking[k % DEEP][i] = x;
                class_rows[k % DEEP][i] = (float)y * factor[i];
            }
            __syncthreads();
            for (int k = 0; k < DEEP; k++)
                for (int a = 0; a < EACH; a++)
                    for (int b = 0; b < EACH; b++)
                        sum[a][b] += asking[k][down * EACH + a] * class_rows[k][across * EACH + b];
        }
        for (int a = 0; a < EACH; a++)
            for (int b = 0; b < EACH; b++)
                product[down * EACH + a][across * EACH + b] = sum[a][b];
        __syncthreads();
        for (int k = 0; thread < asks && k < n; k++) {
            float distance = fmaxf(2 - 2 * product[thread][k], 0);
            if (row[k] != self[thread] && (distance <= lists[thread].near[RER_DEVICE_NEAR_KEPT - 1].distance ||
                                           distance < lists[thread].trusted[RER_DEVICE_NEAR - 1]))
                offer(&lists[thread], rer_neighbor{distance, row[k]}, of.doubted[row[k]] != 0);
        }
    }
    if (thread >= asks)
        return;
    int64_t place = of.asked[item.first + thread];
    for (int k = 0; k < RER_DEVICE_NEAR_KEPT; k++)
        of.list[place * RER_DEVICE_NEAR_KEPT + k] = lists[thread].near[k];
    for (int k = 0; k < RER_DEVICE_NEAR; k++)
        of.trusted[place * RER_DEVICE_NEAR + k] = lists[thread].trusted[k];
}

/* Pieces of at most TILE of those that ask for a class which has rows; returns how many. */
static int64_t cut(Item *items, const rer_device_near *near, int32_t C)
{
    int64_t n = 0;
    for (int32_t c = 0; c < C; c++)
        for (int64_t first = near->ask_start[c]; near->start[c] < near->start[c + 1] && first < near->ask_start[c + 1];
             first += TILE) {
            int64_t end = first + TILE < near->ask_start[c + 1] ? first + TILE : near->ask_start[c + 1];
            items[n++] = Item{c, first, end};
        }
    return n;
}

static void search(Card *card, const Near *of, float *factor, int64_t witnesses, int64_t items)
{
    if (!is_well(card) || items == 0)
        return;
    find_factors<<<blocks_for(witnesses, THREADS / WARP), THREADS, 0, card->compute>>>(factor, of->rows, of->witness,
                                                                                       of->center, witnesses, of->D);
    compare<<<(unsigned)items, THREADS, 0, card->compute>>>(*of);
    LAUNCHED(card);
    CHECK(card, cudaStreamSynchronize(card->compute));
}

bool near_rows(void *device, const rer_device_near *near)
{
    Card *card = (Card *)device;
    int32_t C = card->shape.C;
    int64_t D = card->shape.D, places = near->count * near->slots, witnesses = near->start[C];
    if (!card->keeps || !is_well(card))
        return false;
    std::unique_ptr<Item[]> items = room_for<Item>(card, places / TILE + C + 1);
    if (!is_well(card))
        return false;
    Moment moment = {card, {}, false};
    int64_t n_items = cut(items.get(), near, C);
    float *factor = take<float>(&moment, NULL, witnesses);
    rer_neighbor *list = take(&moment, (const rer_neighbor *)near->list, places * RER_DEVICE_NEAR_KEPT);
    float *trusted = take(&moment, (const float *)near->trusted, places * RER_DEVICE_NEAR);
    Near of = {card->kept,
               take(&moment, near->x, near->count * D),
               take(&moment, near->center, D),
               take(&moment, near->row, near->count),
               take(&moment, near->asked, near->ask_start[C]),
               take(&moment, near->start, C + 1),
               take(&moment, near->witness, witnesses),
               factor,
               take(&moment, near->doubted, card->shape.N),
               take(&moment, (const Item *)items.get(), n_items),
               list,
               trusted,
               D,
               near->slots};
    bool fits = !moment.failed;
    if (fits) {
        search(card, &of, factor, witnesses, n_items);
        CHECK(card,
              cudaMemcpy(near->list, list, (size_t)(places * RER_DEVICE_NEAR_KEPT) * sizeof *list, cudaMemcpyDefault));
        CHECK(card, cudaMemcpy(near->trusted, trusted, (size_t)(places * RER_DEVICE_NEAR) * sizeof *trusted,
                               cudaMemcpyDefault));
    }
    release(&moment);
    return fits;
}
