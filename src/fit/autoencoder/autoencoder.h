/* What an autoencoder's model is made of. */
#pragma once

#include "fit/autoencoder/network.h"

typedef struct rer_autoencoder {
    rer_network network;
    float *weights; /* [C, parameters] */
    float *own;     /* [N] squared cross-fitted own error of the fitted rows; NULL: in-sample */
} rer_autoencoder;
