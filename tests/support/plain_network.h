/* The network's loss once more, in double and one number at a time: what the one that trains is checked against. */
#pragma once

#include "fit/autoencoder/network.h"

/* Loss of a batch x [R, D] with weights w [parameters], as rer_network_step. */
rer_loss plain_network_loss(const rer_network *network, const rer_loss_settings *settings, const double *w,
                            const double *x, int64_t B, const rer_draws *draws);
/* Of codes z [2B, Z] alone, from its definition: p = 1 / (1 + a d^2b), pulled -log, pushed -repulsion log(1 - .) of
 * sigmoid(log p) = p / (1 + p). */
double plain_layout_loss(const double *z, int64_t B, int64_t Z, const rer_loss_settings *settings,
                         const int32_t *negatives);
