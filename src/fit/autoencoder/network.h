/* The paper's network: encoder D -> hidden (ReLU, dropout) -> Z linear, decoder Z -> hidden reversed
 * (ReLU, dropout) -> D sigmoid; forward, loss and backward.
 *
 * Letters: B edges of a batch, Z latent size, R different rows among its 2B: the heads i of its edges,
 * then their tails j. Only the heads are reconstructed. A row that comes several times is multiplied
 * with the first layer's weights once; dropout tells its copies apart behind that. */
#pragma once

#include "backend/backend.h"
#include "core/scratch.h"
#include "fit/autoencoder/curve.h"

rer_network rer_network_shape(int64_t D, const int32_t *hidden, int n_hidden, int64_t Z);

/* What a step draws at random: its rows, key of the dropout masks, and the tails that heads are pushed
 * from. */
typedef struct rer_draws {
    int64_t seed;
    uint64_t key, step;
    const int32_t *rows;      /* [2B]: which of x [R, D]; NULL: each its own, R = 2B */
    int64_t distinct;         /* R, where there are rows */
    const int32_t *negatives; /* [RER_NEGATIVES B]: entry n goes with head n / RER_NEGATIVES */
} rer_draws;

typedef struct rer_loss_settings {
    rer_curve curve;
    double weight; /* of the mean squared reconstruction error */
    double repulsion;
    double dropout;        /* probability */
    double regularization; /* of every weight matrix but the last */
} rer_loss_settings;

typedef struct rer_loss {
    double reconstruction, layout, regularization, total;
} rer_loss;

/* Bytes of workspace for a batch of B edges. */
int64_t rer_network_scratch(const rer_network *network, int64_t B);

/* Loss of a batch x [R, D] and its gradient g [parameters] without the regularisation's part (which
 * Adam adds); g may be NULL. */
rer_loss rer_network_step(const rer_network *network, const rer_loss_settings *settings, const float *w, const float *x,
                          int64_t B, const rer_draws *draws, float *g, rer_scratch scratch, const rer_kernels *kernels);

/* out [rows]: squared reconstruction errors of x [rows, D]; scratch of rer_network_sweep_scratch. */
int64_t rer_network_sweep_scratch(const rer_network *network, int64_t rows);
void rer_network_errors(const rer_network *network, const float *w, const float *x, int64_t rows, float *out,
                        int64_t out_stride, rer_scratch scratch, const rer_kernels *kernels);

/* The layout loss alone: codes z [2B, Z] -> loss, and its gradient dz [2B, Z]. */
double rer_layout_loss(const float *z, int64_t B, int64_t Z, const rer_loss_settings *settings,
                       const int32_t *negatives, float *dz);
