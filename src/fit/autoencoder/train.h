/* Training one class's network. */
#ifndef RER_TRAIN_H
#define RER_TRAIN_H

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

/* w [parameters] from rows x [n, D] of one class. `key` tells the class and fold apart in everything
 * random; `name` names the class in a message. Stops with the pool. */
rer_status rer_train(float *w, const rer_training *training, const float *x, int64_t n, uint64_t key, const char *name,
                     rer_pool *pool, const rer_kernels *kernels, rer_error *error);

/* order [n]: a random permutation of 0..n-1. */
void rer_shuffle(int32_t *order, int64_t n, int64_t seed, int purpose, uint64_t key);

#endif
