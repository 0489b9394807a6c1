/* Training, in steps:
 *   1. the class's neighbour graph (graph.h): each edge, in both directions, drawn floor(20 w) times;
 *   2. Glorot-uniform weights, zero biases;
 *   3. 10 reports of floor(draws / batch / 10) steps (at least one): a batch of the shuffled draws,
 *      loss and gradient (network.h), one Adam step with gradients clipped to +-4;
 *   4. it ends early when the mean loss has not fallen by 5e-3 for 5 reports. */
#include "fit/autoencoder/train.h"

#include "core/random.h"

#define REPORTS 10
#define PATIENCE 5
#define LEAST_GAIN 5e-3
#define CLIP 4.0
#define PULSE 32 /* steps between looks at whether to stop */

/* order [n]: a random permutation of 0..n-1. */
static void permute(int64_t *order, int64_t n, int64_t seed, rer_purpose purpose, uint64_t key)
{
    for (int64_t i = 0; i < n; i++)
        order[i] = i;
    rer_random_shuffle(order, n, seed, purpose, key);
}

/* Everything that a training owns. */
typedef struct trainee {
    const rer_training *training;
    const float *x; /* [n, D] */
    uint64_t key;
    rer_edge_draws draws;
    rer_adam adam;           /* its w is the caller's */
    float *g;                /* [parameters] */
    float *batch;            /* [2B, D]: `distinct` rows of it */
    int64_t steps, distinct; /* batches filled so far; different rows of the last one */
    int32_t *rows;           /* [2B]: where a draw's row is in the batch */
    int32_t *place;          /* [n]: where each row of the class is, if ... */
    int64_t *met;            /* [n]: ... this is `steps` */
    int64_t *shuffled;       /* [RER_NEGATIVES B] */
    int32_t *negatives;      /* [RER_NEGATIVES B] */
    void *scratch;
    int64_t scratch_bytes;
} trainee;

/* Draws in random order; a class without edges is drawn row by row, each with itself. */
static rer_status list_draws(rer_edge_draws *draws, const rer_training *training, const rer_graph *graph, int64_t n,
                             uint64_t key, rer_error *error)
{
    int64_t *order = NULL;
    int64_t used = 0, count = graph->draws > 0 ? graph->draws : n;
    rer_room rooms[] = {RER_ROOM(order, count), RER_ROOM(draws->head, count), RER_ROOM(draws->tail, count)};
    RER_TRY(rer_allocate_all(rooms, RER_COUNT(rooms), "draws of edges", error));
    permute(order, count, training->seed, RER_RANDOM_EDGES, key);
    for (int64_t e = 0; e < graph->count; e++)
        for (int32_t i = 0; i < graph->edges[e].count; i++, used++) {
            draws->head[order[used]] = graph->edges[e].head;
            draws->tail[order[used]] = graph->edges[e].tail;
        }
    for (; used < count; used++)
        draws->head[order[used]] = draws->tail[order[used]] = (int32_t)used;
    draws->count = count;
    free(order);
    return RER_OK;
}

rer_status rer_edge_draws_make(rer_edge_draws *draws, const rer_training *training, const float *x, int64_t n,
                               uint64_t key, const rer_kernels *kernels, rer_error *error)
{
    rer_graph graph = {0};
    rer_status status = rer_graph_make(&graph, x, n, training->network.width[0], &training->graph, kernels, error);
    RER_THEN(status, list_draws(draws, training, &graph, n, key, error));
    rer_graph_free(&graph);
    return status;
}

void rer_edge_draws_free(rer_edge_draws *draws)
{
    RER_FREE_ALL(draws->head, draws->tail);
    *draws = (rer_edge_draws){0};
}

rer_device_training rer_training_on_device(const rer_training *training)
{
    const rer_loss_settings *loss = &training->loss;
    return (rer_device_training){
        .shape = training->network,
        .batch = training->batch,
        .seed = training->seed,
        .reports = REPORTS,
        .patience = PATIENCE,
        .least_gain = LEAST_GAIN,
        .clip = CLIP,
        .learning_rate = training->learning_rate,
        .a = loss->curve.a,
        .b = loss->curve.b,
        .weight = loss->weight,
        .repulsion = loss->repulsion,
        .dropout = loss->dropout,
        .regularization = loss->regularization,
    };
}

rer_status rer_fail_loss(const char *name, int64_t step, double reconstruction, double layout, rer_error *error)
{
    return rer_fail(error, RER_BAD_INPUT,
                    "class '%s': the loss is no finite number at step %lld (reconstruction %g, layout %g); "
                    "choose other --a and --b, spread, min-dist or learning rate",
                    name, (long long)step, reconstruction, layout);
}

rer_status rer_fail_weights(const char *name, int64_t steps, rer_error *error)
{
    return rer_fail(error, RER_BAD_INPUT,
                    "class '%s': the weights are no finite numbers after step %lld; choose other --a and --b, "
                    "spread, min-dist or learning rate",
                    name, (long long)steps);
}

static void set_weights(trainee *self)
{
    const rer_network *network = &self->training->network;
    for (int l = 0; l < network->layers; l++) {
        double bound = sqrt(6.0 / (double)(network->width[l] + network->width[l + 1]));
        for (int64_t i = network->weight[l]; i < network->bias[l]; i++)
            self->adam.w[i] =
                (float)(bound *
                        (2 * rer_random_uniform(self->training->seed, RER_RANDOM_WEIGHTS, self->key, (uint64_t)i) - 1));
        memset(self->adam.w + network->bias[l], 0, (size_t)network->width[l + 1] * sizeof(float));
    }
}

/* Place of a row of the class in the batch; it is copied there when it is first met. */
static int32_t place_row(trainee *self, int32_t row)
{
    int64_t D = self->training->network.width[0];
    if (self->met[row] != self->steps) {
        self->met[row] = self->steps;
        self->place[row] = (int32_t)self->distinct++;
        memcpy(self->batch + self->place[row] * D, self->x + row * D, (size_t)D * sizeof(float));
    }
    return self->place[row];
}

/* The batch's heads, then its tails; draws are used round and round. */
static void fill_batch(trainee *self, int64_t step)
{
    int64_t B = self->training->batch;
    self->steps = step + 1;
    self->distinct = 0;
    for (int64_t p = 0; p < B; p++)
        self->rows[p] = place_row(self, self->draws.head[(step * B + p) % self->draws.count]);
    for (int64_t p = 0; p < B; p++)
        self->rows[B + p] = place_row(self, self->draws.tail[(step * B + p) % self->draws.count]);
    permute(self->shuffled, RER_NEGATIVES * B, self->training->seed, RER_RANDOM_NEGATIVES,
            self->key << 32 | (uint64_t)step);
    for (int64_t n = 0; n < RER_NEGATIVES * B; n++)
        self->negatives[n] = (int32_t)(self->shuffled[n] / RER_NEGATIVES);
}

void rer_adam_step(rer_adam *adam, const float *g, const rer_training *training, const rer_kernels *kernels)
{
    const rer_network *network = &training->network;
    adam->decay1 *= .9;
    adam->decay2 *= .999;
    double rate = training->learning_rate * sqrt(1 - adam->decay2) / (1 - adam->decay1);
    for (int l = 0; l < network->layers; l++) {
        int64_t at = network->weight[l], n = network->bias[l] - at;
        double l2 = l < network->layers - 1 ? training->loss.regularization : 0;
        kernels->network->adam(adam->w + at, adam->m + at, adam->v + at, g + at, rate, l2, CLIP, n);
        at = network->bias[l];
        kernels->network->adam(adam->w + at, adam->m + at, adam->v + at, g + at, rate, 0, CLIP, network->width[l + 1]);
    }
}

/* The steps of one report; *mean gets their mean loss. */
static rer_status run_report(trainee *self, rer_trained *trained, int64_t first, int64_t steps, double *mean,
                             const char *name, rer_pool *pool, const rer_kernels *kernels, rer_error *error)
{
    double sum = 0;
    for (int64_t step = first; step < first + steps; step++) {
        if (pool != NULL && step % PULSE == 0 && rer_pool_pulse(pool, error) != RER_OK)
            return RER_CANCELLED;
        fill_batch(self, step);
        rer_draws draws = {.seed = self->training->seed,
                           .key = self->key,
                           .step = (uint64_t)step,
                           .rows = self->rows,
                           .distinct = self->distinct,
                           .negatives = self->negatives};
        trained->rows += self->distinct;
        rer_loss loss = rer_network_step(&self->training->network, &self->training->loss, self->adam.w, self->batch,
                                         self->training->batch, &draws, self->g,
                                         rer_scratch_over(self->scratch, self->scratch_bytes), kernels);
        if (!isfinite(loss.total))
            return rer_fail_loss(name, step + 1, loss.reconstruction, loss.layout, error);
        rer_adam_step(&self->adam, self->g, self->training, kernels);
        sum += loss.total;
    }
    *mean = sum / (double)steps;
    return RER_OK;
}

static rer_status allocate_trainee(trainee *self, int64_t n, rer_error *error)
{
    const rer_network *network = &self->training->network;
    int64_t B = self->training->batch, P = network->parameters;
    self->scratch_bytes = rer_network_scratch(network, B);
    rer_room rooms[] = {
        RER_ROOM(self->adam.m, P),
        RER_ROOM(self->adam.v, P),
        RER_ROOM(self->g, P),
        RER_ROOM(self->batch, 2 * B * network->width[0]),
        RER_ROOM(self->rows, 2 * B),
        RER_ROOM(self->place, n),
        RER_ROOM(self->met, n),
        RER_ROOM(self->shuffled, RER_NEGATIVES * B),
        RER_ROOM(self->negatives, RER_NEGATIVES * B),
        RER_ROOM_OF(self->scratch, self->scratch_bytes, 1, false),
    };
    return rer_allocate_all(rooms, RER_COUNT(rooms), "a network and its batch", error);
}

static void free_trainee(trainee *self)
{
    rer_edge_draws_free(&self->draws);
    RER_FREE_ALL(self->adam.m, self->adam.v, self->g, self->batch, self->rows, self->place, self->met, self->shuffled,
                 self->negatives, self->scratch);
}

/* Reports until the loss does not fall any more. */
static rer_status run_reports(trainee *self, rer_trained *trained, const char *name, rer_pool *pool,
                              const rer_kernels *kernels, rer_error *error)
{
    double best = INFINITY, mean = 0;
    int waited = 0;
    int64_t steps = rer_max(1, self->draws.count / self->training->batch / REPORTS);
    for (int report = 0; report < REPORTS && waited < PATIENCE; report++) {
        RER_TRY(run_report(self, trained, report * steps, steps, &mean, name, pool, kernels, error));
        bool gained = mean < best - LEAST_GAIN;
        waited = gained ? 0 : waited + 1;
        best = gained ? mean : best;
        trained->first_loss = report == 0 ? mean : trained->first_loss;
        trained->last_loss = mean;
        trained->steps += steps;
    }
    /* The last step's weights have met no loss yet. */
    if (!isfinite(kernels->sum_squares(self->adam.w, self->training->network.parameters)))
        return rer_fail_weights(name, trained->steps, error);
    return RER_OK;
}

rer_status rer_train(float *w, rer_trained *trained, const rer_training *training, const float *x, int64_t n,
                     uint64_t key, const char *name, rer_pool *pool, const rer_kernels *kernels, rer_error *error)
{
    trainee self = {.training = training, .x = x, .key = key, .adam = {.w = w, .decay1 = 1, .decay2 = 1}};
    rer_trained told = {0};
    rer_status status = rer_edge_draws_make(&self.draws, training, x, n, key, kernels, error);
    RER_THEN(status, allocate_trainee(&self, n, error));
    if (status == RER_OK) {
        set_weights(&self);
        status = run_reports(&self, &told, name, pool, kernels, error);
    }
    free_trainee(&self);
    if (status == RER_OK && trained != NULL)
        *trained = told;
    return status;
}
