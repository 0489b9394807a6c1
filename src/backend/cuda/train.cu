/* Networks trained side by side: fit/autoencoder/train.c has the steps, network.c the letters. All networks are at the
 * same step of their own. One that has ended keeps its place until the host takes it out. */
#include "backend/cuda/training.cuh"

#include <cstring>

#define LOOK 32        /* steps between looks at who has ended, and at whether to stop */
#define HELD_ITEMS 512 /* of rows that were held out, at a time */

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

/* Rows that were held out, one network's after the other's, and room for their errors. */
struct Held {
    int64_t rows, items;
    float *x, *out;
    int32_t *row, *item; /* as in a Reconstruction */
    Layers layers;
};

static Held take_held(Moment *moment, const rer_network *laid, const rer_device_trainee *trainees, int32_t count)
{
    Held made = {};
    for (int32_t i = 0; i < count; i++) {
        made.rows += trainees[i].n_held;
        made.items += (trainees[i].n_held + ITEM_ROWS - 1) / ITEM_ROWS;
    }
    made.x = take<float>(moment, NULL, made.rows * laid->width[0]);
    made.out = take<float>(moment, NULL, made.rows);
    made.row = take<int32_t>(moment, NULL, made.items * ITEM_ROWS);
    made.item = take<int32_t>(moment, NULL, made.items);
    made.layers = take_layers(moment, laid, made.items < HELD_ITEMS ? made.items : HELD_ITEMS);
    return made;
}

/* Their errors. */
static void judge_held(Card *card, const Held *held, const Training *t, rer_device_trainee *trainees, int32_t count)
{
    int64_t at = 0, n = 0;
    std::unique_ptr<int32_t[]> row = room_for<int32_t>(card, held->items * ITEM_ROWS);
    std::unique_ptr<int32_t[]> item = room_for<int32_t>(card, held->items);
    std::unique_ptr<float[]> errors = room_for<float>(card, held->rows);
    if (!is_well(card) || held->items == 0)
        return;
    for (int32_t i = 0; i < count; i++)
        for (int64_t first = 0; first < trainees[i].n_held; first += ITEM_ROWS, n++) {
            item[n] = i;
            for (int64_t r = 0; r < ITEM_ROWS; r++)
                row[n * ITEM_ROWS + r] = first + r < trainees[i].n_held ? (int32_t)at++ : -1;
        }
    size_t listed = (size_t)held->items * sizeof(int32_t), bytes = (size_t)held->rows * sizeof(float);
    CHECK(card, cudaMemcpyAsync(held->row, row.get(), listed * ITEM_ROWS, cudaMemcpyDefault, card->compute));
    CHECK(card, cudaMemcpyAsync(held->item, item.get(), listed, cudaMemcpyDefault, card->compute));
    Reconstruction of = {&t->laid, t->w, held->x, held->row, held->item, held->out, 1, 0};
    reconstruct(card, &of, &held->layers, held->items);
    CHECK(card, cudaMemcpyAsync(errors.get(), held->out, bytes, cudaMemcpyDefault, card->compute));
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
    int64_t D = shape->width[0];
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
    Held held = take_held(moment, &t.laid, trainees, count);
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
        card, held.x, trainees, count, [](const rer_device_trainee *of) { return of->held; }, held_values, D);
    join<int32_t>(
        card, head, trainees, count, [](const rer_device_trainee *of) { return of->head; }, draw_values, D);
    join<int32_t>(
        card, tail, trainees, count, [](const rer_device_trainee *of) { return of->tail; }, draw_values, D);
    t.x = x;
    t.head = head;
    t.tail = tail;
    begin_training(card, &t, count);
    run_steps(card, &t, count, stop, context);
    judge_held(card, &held, &t, trainees, count);
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
    release(&moment);
    return done;
}
