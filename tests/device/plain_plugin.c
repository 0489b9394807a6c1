/* A device that is none: the plug-in's table in plain loops and doubles, one row at a time. The passes of src/device are
 * tested with it where there is no card, and the operations of a card against it. */
#include "plain_device.h"

#include <rer.h>

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *plain_zeroed(int64_t count, size_t size)
{
    void *made = calloc((size_t)(count > 0 ? count : 1), size);
    if (made == NULL)
        abort();
    return made;
}

static rer_device_rows make_rows(int64_t rows, int64_t D)
{
    return (rer_device_rows){plain_zeroed(rows * D, sizeof(float)), plain_zeroed(rows, sizeof(double)),
                             plain_zeroed(rows, sizeof(int32_t))};
}

static void free_rows(rer_device_rows *rows)
{
    free(rows->x);
    free(rows->scale);
    free(rows->code);
}

/* RER_PLAIN_DEVICE=none: there is no card; =fails: one that fails at its third stretch; =small: one that has room for the
 * least of stretches. */
static bool is_asked(const char *what)
{
    const char *asked = getenv("RER_PLAIN_DEVICE");
    return asked != NULL && strcmp(asked, what) == 0;
}

static atomic_int woken;

static void wake_plain(int32_t card)
{
    (void)card;
    (void)atomic_fetch_add(&woken, 1);
}

int plain_times_woken(void)
{
    return atomic_load(&woken);
}

static void *open_plain(rer_device_shape *shape, char message[RER_DEVICE_MESSAGE])
{
    int64_t C = shape->C, D = shape->D;
    if (is_asked("none") || shape->card > 0) {
        (void)snprintf(message, RER_DEVICE_MESSAGE, "there is no card %d", shape->card);
        return NULL;
    }
    if (is_asked("small"))
        shape->rows = RER_DEVICE_BLOCK;
    plain_device *device = plain_zeroed(1, sizeof *device);
    device->shape = *shape;
    for (int i = 0; i < RER_DEVICE_SLOTS; i++) {
        device->slot[i].rows = make_rows(shape->rows, D);
        device->slot[i].reduced = plain_zeroed(shape->rows, sizeof(rer_reduced_row));
    }
    if (shape->x != NULL) { /* never written to */
        device->kept = make_rows(shape->N, 0);
        free(device->kept.x);
        device->kept.x = (float *)(uintptr_t)shape->x;
    } else if (shape->memory == 0 || shape->memory >= shape->N * D * 4) {
        device->kept = make_rows(shape->N, D);
    }
    device->sum = plain_zeroed(C * D, sizeof(double));
    device->square = plain_zeroed(C * D, sizeof(double));
    device->mean = plain_zeroed((C + 1) * D, sizeof(double));
    device->scatter = plain_zeroed(D * D, sizeof(double));
    device->root = plain_zeroed(D * D, sizeof(double));
    device->u = plain_zeroed((C + 1) * D, sizeof(double));
    device->work = plain_zeroed(2 * D + 2 * C, sizeof(double));
    return device;
}

static void close_plain(void *handle)
{
    plain_device *device = handle;
    for (int i = 0; i < RER_DEVICE_SLOTS; i++) {
        free_rows(&device->slot[i].rows);
        free(device->slot[i].reduced);
    }
    if (device->shape.x != NULL)
        device->kept.x = NULL;
    free_rows(&device->kept);
    double *made[] = {device->sum,  device->square, device->mean, device->scatter,
                      device->root, device->u,      device->work};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        free(made[i]);
    free(device);
}

static const char *name_of(void *handle)
{
    (void)handle;
    return "plain loops";
}

static const char *failure_of(void *handle)
{
    plain_device *device = handle;
    return device->failure[0] != 0 ? device->failure : NULL;
}

static bool keeps_rows(void *handle)
{
    return ((plain_device *)handle)->kept.code != NULL;
}

static rer_device_rows slot_of(void *handle, int slot)
{
    const plain_device *device = handle;
    rer_device_rows rows = device->slot[slot].rows;
    if (device->shape.x != NULL)
        rows.x = NULL;
    return rows;
}

/* RER_PLAIN_DEVICE=elsewhere: what is asked for lies on no card; =torn: nothing can be copied from it. */
static int32_t card_of(const void *memory, char message[RER_DEVICE_MESSAGE])
{
    (void)memory;
    if (is_asked("elsewhere"))
        (void)snprintf(message, RER_DEVICE_MESSAGE, "it lies on no card");
    return is_asked("elsewhere") ? -1 : 0;
}

static bool fetch(void *out, int32_t card, const void *from, int64_t bytes, char message[RER_DEVICE_MESSAGE])
{
    (void)card;
    if (is_asked("torn"))
        (void)snprintf(message, RER_DEVICE_MESSAGE, "it fell off the bus");
    else
        memcpy(out, from, (size_t)bytes);
    return !is_asked("torn");
}

static bool fetch_rows(float *out, int32_t card, const float *from, int64_t D, const int64_t *row, int64_t count,
                       char message[RER_DEVICE_MESSAGE])
{
    bool done = true;
    for (int64_t i = 0; done && i < count; i++)
        done = fetch(out + i * D, card, from + row[i] * D, D * (int64_t)sizeof(float), message);
    return done;
}

static void measure(void *handle, int64_t first, int64_t count, double *square)
{
    const plain_device *device = handle;
    int64_t D = device->shape.D;
    for (int64_t i = 0; i < count; i++) {
        square[i] = 0;
        for (int64_t j = 0; j < D; j++)
            square[i] += (double)device->shape.x[(first + i) * D + j] * (double)device->shape.x[(first + i) * D + j];
    }
}

static void load(void *handle, int which, int64_t first, int64_t count, bool kept)
{
    plain_device *device = handle;
    plain_slot *slot = &device->slot[which];
    int64_t D = device->shape.D;
    slot->now = slot->rows;
    slot->first = first;
    slot->count = count;
    if (device->kept.code != NULL) {
        slot->now =
            (rer_device_rows){device->kept.x + first * D, device->kept.scale + first, device->kept.code + first};
        if (!kept) {
            memcpy(slot->now.scale, slot->rows.scale, (size_t)count * sizeof(double));
            memcpy(slot->now.code, slot->rows.code, (size_t)count * sizeof(int32_t));
        }
        if (!kept && device->shape.x == NULL) {
            memcpy(slot->now.x, slot->rows.x, (size_t)(count * D) * sizeof(float));
            /* what was in the slot is gone, as if another stretch had taken its place */
            memset(slot->rows.x, 0xff, (size_t)(count * D) * sizeof(float));
        }
    }
    if (is_asked("fails") && ++device->loads == 3)
        (void)snprintf(device->failure, sizeof device->failure, "it fell off the bus");
}

/* ---- sums and scatter -------------------------------------------------------------------- */

static void sums_begin(void *handle)
{
    plain_device *device = handle;
    memset(device->sum, 0, (size_t)(device->shape.C * device->shape.D) * sizeof(double));
    memset(device->square, 0, (size_t)(device->shape.C * device->shape.D) * sizeof(double));
}

static void sums_add(void *handle, int which)
{
    plain_device *device = handle;
    const plain_slot *slot = &device->slot[which];
    int64_t D = device->shape.D;
    for (int64_t i = 0; i < slot->count; i++)
        for (int64_t j = 0; slot->now.code[i] >= 0 && j < D; j++) {
            double value = slot->now.scale[i] * (double)slot->now.x[i * D + j];
            device->sum[slot->now.code[i] * D + j] += value;
            device->square[slot->now.code[i] * D + j] += value * value;
        }
}

static void sums_end(void *handle, double *sum, double *square)
{
    plain_device *device = handle;
    memcpy(sum, device->sum, (size_t)(device->shape.C * device->shape.D) * sizeof(double));
    memcpy(square, device->square, (size_t)(device->shape.C * device->shape.D) * sizeof(double));
}

static void scatter_begin(void *handle, const double *mean, double far)
{
    plain_device *device = handle;
    int64_t D = device->shape.D;
    memcpy(device->mean, mean, (size_t)(device->shape.C * D) * sizeof(double));
    memset(device->scatter, 0, (size_t)(D * D) * sizeof(double));
    device->far = far; /* all is in double */
}

static void residual(const plain_device *device, const plain_slot *slot, int64_t i, int32_t class, double *r)
{
    int64_t D = device->shape.D;
    for (int64_t j = 0; j < D; j++)
        r[j] = slot->now.scale[i] * (double)slot->now.x[i * D + j] - device->mean[class * D + j];
}

static void scatter_add(void *handle, int which)
{
    plain_device *device = handle;
    const plain_slot *slot = &device->slot[which];
    int64_t D = device->shape.D;
    double *r = device->work;
    for (int64_t i = 0; i < slot->count; i++) {
        if (slot->now.code[i] < 0)
            continue;
        residual(device, slot, i, slot->now.code[i], r);
        for (int64_t j = 0; j < D; j++)
            for (int64_t k = 0; k <= j; k++)
                device->scatter[j * D + k] += r[j] * r[k];
    }
}

static void scatter_end(void *handle, double *scatter)
{
    plain_device *device = handle;
    memcpy(scatter, device->scatter, (size_t)(device->shape.D * device->shape.D) * sizeof(double));
}

/* ---- scores ------------------------------------------------------------------------------ */

static void score_begin(void *handle, const rer_device_model *model)
{
    plain_device *device = handle;
    int64_t C = device->shape.C, D = device->shape.D;
    device->model = *model;
    if (model->channel != NULL) {
        device->channel = *model->channel;
        device->model.channel = &device->channel;
    }
    if (model->networks != NULL) {
        device->networks = *model->networks;
        device->model.networks = &device->networks;
        return;
    }
    memcpy(device->mean, model->mean, (size_t)((C + 1) * D) * sizeof(double));
    for (int64_t j = 0; j < D; j++)
        for (int64_t k = 0; k < D; k++)
            device->root[j * D + k] = model->root == NULL ? j == k : k <= j ? (double)model->root[j * D + k] : 0;
    for (int64_t i = 0; i < (C + 1) * D; i++)
        device->u[i] = (double)model->u[i];
}

/* d2 [C] of a row, left out where it is to be. */
static void row_errors(const plain_device *device, const plain_slot *slot, int64_t i, double *d2, bool *cancelled)
{
    int64_t C = device->shape.C, D = device->shape.D;
    int32_t code = slot->now.code[i], reference = code >= 0 ? code : (int32_t)C;
    double *r = device->work, *t = r + D, own = 0, gain = 0, share = 1, rest = 1;
    residual(device, slot, i, reference, r);
    for (int64_t j = 0; j < D; j++) {
        t[j] = 0;
        for (int64_t k = 0; k <= j; k++)
            t[j] += device->root[j * D + k] * r[k];
        own += t[j] * t[j];
    }
    double n = code >= 0 ? (double)device->model.n[code] : 0;
    if (code >= 0 && device->model.left_out && n > 1) {
        share = n / (n - 1);
        rest = fmax(1e-12, 1 - device->model.weight * share * own);
        gain = device->model.weight * share / rest;
    }
    for (int32_t k = 0; k < C; k++) {
        double square = 0, g = 0, between = 0;
        for (int64_t j = 0; j < D; j++) {
            double apart = device->u[reference * D + j] - device->u[k * D + j];
            square += (t[j] + apart) * (t[j] + apart);
            g += t[j] * (t[j] + apart);
            between += apart * apart;
        }
        *cancelled = *cancelled || (k != code && square < RER_CANCELLED_BELOW * (own + between));
        d2[k] = square + gain * g * g;
    }
    if (code >= 0)
        d2[code] = device->model.left_out && n < 2 ? NAN : share * share * own / rest;
}

/* y [width[layers]] of x under a network. */
static void run_network(const rer_network *shape, const float *w, const float *x, double *y)
{
    double before[8192];
    for (int64_t j = 0; j < shape->width[0]; j++)
        y[j] = (double)x[j];
    for (int l = 0; l < shape->layers; l++) {
        int64_t in = shape->width[l], out = shape->width[l + 1];
        memcpy(before, y, (size_t)in * sizeof *y);
        for (int64_t k = 0; k < out; k++)
            y[k] = (double)w[shape->bias[l] + k];
        for (int64_t j = 0; j < in; j++)
            for (int64_t k = 0; before[j] != 0 && k < out; k++)
                y[k] += before[j] * (double)w[shape->weight[l] + j * out + k];
        for (int64_t k = 0; k < out; k++)
            y[k] = l == shape->layers - 1 ? 1 / (1 + exp(-y[k])) : l == shape->encoder - 1 ? y[k] : fmax(y[k], 0);
    }
}

/* d2 [C] of a row under networks. */
static void network_errors(const plain_device *device, const plain_slot *slot, int64_t i, double *d2)
{
    const rer_device_networks *of = &device->networks;
    const float *x = slot->now.x + i * device->shape.D;
    int32_t code = slot->now.code[i];
    double y[8192];
    for (int32_t k = 0; k < device->shape.C; k++) {
        run_network(&of->shape, of->weights + k * of->shape.parameters, x, y);
        d2[k] = 0;
        for (int64_t j = 0; j < device->shape.D; j++)
            d2[k] += (y[j] - (double)x[j]) * (y[j] - (double)x[j]);
    }
    if (code >= 0 && of->own != NULL)
        d2[code] = (double)of->own[slot->first + i];
}

static void reduce_nearest(rer_reduced_row *row, const double *d2, int32_t C, int32_t code)
{
    row->nearest = (rer_nearest){INFINITY, INFINITY, -1, -1, 0};
    row->own = code >= 0 ? (float)d2[code] : NAN;
    for (int32_t k = 0; k < C; k++) {
        row->nearest.sum += isnan(d2[k]) ? 0 : sqrt(d2[k]);
        if (k == code)
            continue;
        if ((float)d2[k] < row->nearest.first) {
            row->nearest.second = row->nearest.first;
            row->nearest.second_class = row->nearest.first_class;
            row->nearest.first = (float)d2[k];
            row->nearest.first_class = k;
        } else if ((float)d2[k] < row->nearest.second) {
            row->nearest.second = (float)d2[k];
            row->nearest.second_class = k;
        }
    }
}

static void reduce_channel(rer_reduced_row *row, const double *d2, double *z, const plain_device *device, int32_t code)
{
    const rer_device_channel *channel = &device->channel;
    int32_t C = device->shape.C, best = -1, likely = -1;
    double least = INFINITY, weight = channel->weight, rest = 0, blurred = 0, flow = 0, odds = 0, most = 0;
    for (int32_t k = 0; k < C; k++)
        least = d2[k] < least ? d2[k] : least;
    if (channel->whole && channel->edge > 0 && least > channel->edge)
        weight *= channel->edge / least;
    for (int32_t k = 0; k < C; k++) {
        z[k] = (double)channel->bias[k] - weight * d2[k];
        if (k != code && (best < 0 || z[k] > z[best]))
            best = k;
    }
    for (int32_t k = 0; k < C; k++)
        if (k != code) {
            double e = exp(z[k] - z[best]);
            rest += k != best ? e : 0;
            blurred += exp(channel->sharpness * fmax(z[k] - z[best], -1e4));
            double way = channel->rates != NULL && code >= 0 ? (double)channel->rates[code * C + k] * e : 0;
            flow += way;
            if (way > most) {
                most = way;
                likely = k;
            }
        }
    double all = rest + 1 + (code >= 0 ? exp(fmin(z[code] - z[best], 700)) : 0);
    for (int32_t k = 0; code >= 0 && channel->whole && k < C; k++)
        if (k != code && k != best) {
            double e = exp(z[k] - z[best]);
            odds += e / (all - e);
        }
    row->sums = (rer_channel_sums){(float)z[best], best, rest, blurred, flow};
    row->odds = odds;
    row->likely = likely >= 0 && most > (double)channel->rates[code * C + best] ? likely : best;
    row->score = code >= 0 ? (float)z[code] : -INFINITY;
}

static void score_add(void *handle, int which)
{
    plain_device *device = handle;
    plain_slot *slot = &device->slot[which];
    double *d2 = device->work + 2 * device->shape.D, *z = d2 + device->shape.C;
    for (int64_t i = 0; i < slot->count; i++) {
        rer_reduced_row *row = &slot->reduced[i];
        bool cancelled = false;
        int32_t code = slot->now.code[i];
        memset(row, 0, sizeof *row);
        if (code < -1)
            continue;
        if (device->model.networks != NULL)
            network_errors(device, slot, i, d2);
        else
            row_errors(device, slot, i, d2, &cancelled);
        reduce_nearest(row, d2, device->shape.C, code);
        if (device->model.channel != NULL)
            reduce_channel(row, d2, z, device, code);
        row->again = cancelled;
#ifdef PLAIN_AGAIN_EVERY /* rubbish that nobody may take */
        if (i % PLAIN_AGAIN_EVERY == 1)
            *row = (rer_reduced_row){.own = -1, .nearest = {-1, -1, -7, -7, NAN}, .score = NAN, .again = 1};
#endif
    }
}

static const rer_reduced_row *score_rows(void *handle, int slot)
{
    return ((plain_device *)handle)->slot[slot].reduced;
}

static bool takes_networks(void *handle, const rer_network *shape)
{
    (void)handle, (void)shape;
    return true;
}

/* Left to the CPU, which the card is compared with. */
static bool train(void *handle, const rer_device_training *training, rer_device_trainee *trainees, int32_t count,
                  bool (*stop)(void *context), void *context)
{
    (void)handle, (void)training, (void)trainees, (void)count, (void)stop, (void)context;
    return false;
}

/* ---- near rows --------------------------------------------------------------------------- */

static double distance_of(const plain_device *device, const rer_device_near *near, int64_t query, int64_t row)
{
    int64_t D = device->shape.D;
    double square = 0, product = 0;
    for (int64_t j = 0; j < D; j++) {
        double y = device->kept.scale[row] * (double)device->kept.x[row * D + j] - near->center[j];
        square += y * y;
        product += y * (double)near->x[query * D + j];
    }
    return fmax(0, 2 - 2 * (square > 0 ? product / sqrt(square) : 0));
}

static void search_place(const plain_device *device, const rer_device_near *near, int32_t class, int64_t place)
{
    rer_neighbor *list = near->list + place * RER_DEVICE_NEAR_KEPT;
    float *trusted = near->trusted + place * RER_DEVICE_NEAR;
    int64_t query = place / near->slots;
    for (int64_t w = near->start[class]; w < near->start[class + 1]; w++) {
        int32_t row = near->witness[w];
        float distance = (float)distance_of(device, near, query, row);
        if (row == near->row[query])
            continue;
        (void)rer_keep_nearest(list, RER_DEVICE_NEAR_KEPT, RER_DEVICE_NEAR_KEPT, (rer_neighbor){distance, row});
        for (int k = 0; near->doubted[row] == 0 && k < RER_DEVICE_NEAR; k++)
            if (distance < trusted[k]) {
                float farther = trusted[k];
                trusted[k] = distance;
                distance = farther;
            }
    }
}

static bool find_near(void *handle, const rer_device_near *near)
{
    plain_device *device = handle;
    if (device->kept.x == NULL || device->shape.N > 6000) /* so many would take too long */
        return false;
    for (int32_t c = 0; c < device->shape.C; c++)
        for (int64_t a = near->ask_start[c]; a < near->ask_start[c + 1]; a++)
            search_place(device, near, c, near->asked[a]);
    return true;
}

const rer_device_plugin *rer_device_load(void)
{
    static const rer_device_plugin plugin = {
        .interface = RER_DEVICE_INTERFACE,
        .version = PLAIN_VERSION,
        .card_of = card_of,
        .fetch = fetch,
        .fetch_rows = fetch_rows,
        .wake = wake_plain,
        .open = open_plain,
        .close = close_plain,
        .name = name_of,
        .failure = failure_of,
        .keeps_rows = keeps_rows,
        .slot = slot_of,
        .measure = measure,
        .load = load,
        .sums_begin = sums_begin,
        .sums_add = sums_add,
        .sums_end = sums_end,
        .scatter_begin = scatter_begin,
        .scatter_add = scatter_add,
        .scatter_end = scatter_end,
        .score_begin = score_begin,
        .score_add = score_add,
        .score_rows = score_rows,
        .takes_networks = takes_networks,
        .train = train,
        .near = find_near,
        .neighbors_begin = plain_neighbors_begin,
        .neighbors_find = plain_neighbors_find,
        .copies_join = plain_copies_join,
        .copies_take = plain_copies_take,
        .neighbors_end = plain_neighbors_end,
        .logistic_begin = plain_logistic_begin,
        .logistic_sums = plain_logistic_sums,
        .logistic_end = plain_logistic_end,
    };
    return &plugin;
}
