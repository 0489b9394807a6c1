/* Training one class's network. */
#pragma once

#include "backend/device.h"
#include "core/pool.h"
#include "fit/autoencoder/network.h"
#include "fit/graph.h"

typedef struct rer_training {
    rer_network network;
    rer_loss_settings loss;
    rer_graph_settings graph;
    int64_t batch;
    double learning_rate;
    int64_t seed;
} rer_training;

typedef struct rer_trained {
    int64_t steps;
    int64_t rows;                 /* different ones of a batch, over all batches */
    double first_loss, last_loss; /* means of the first and the last report */
} rer_trained;

/* The class's edges in the order that they are drawn. */
typedef struct rer_edge_draws {
    int32_t *head, *tail; /* [count] rows of the class */
    int64_t count;
} rer_edge_draws;

rer_status rer_edge_draws_make(rer_edge_draws *draws, const rer_training *training, const float *x, int64_t n,
                               uint64_t key, const rer_kernels *kernels, rer_error *error);
void rer_edge_draws_free(rer_edge_draws *draws);

/* The same training, as a device takes it. */
rer_device_training rer_training_on_device(const rer_training *training);

/* Where training has led out of the numbers. */
rer_status rer_fail_loss(const char *name, int64_t step, double reconstruction, double layout, rer_error *error);
rer_status rer_fail_weights(const char *name, int64_t steps, rer_error *error);

/* w [parameters] from rows x [n, D] of one class. `key` tells the class and fold apart in everything
 * random; `name` names the class in a message. Stops with the pool. `trained` and `pool` may be NULL. */
rer_status rer_train(float *w, rer_trained *trained, const rer_training *training, const float *x, int64_t n,
                     uint64_t key, const char *name, rer_pool *pool, const rer_kernels *kernels, rer_error *error);

/* Adam's state: weights w with their first and second moments, [parameters] each. */
typedef struct rer_adam {
    float *w, *m, *v;
    double decay1, decay2; /* .9^t, .999^t after t steps: 1, 1 at the start */
} rer_adam;

/* One step along the gradient g [parameters], which the L2 term joins here; entries clipped to +-4. */
void rer_adam_step(rer_adam *adam, const float *g, const rer_training *training, const rer_kernels *kernels);
