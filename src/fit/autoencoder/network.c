/* Forward and backward of the network, side by side; see network.h. Equations with shapes:
 *
 *   forward                                        backward
 *   H = drop(relu(X W1 + b1))      [2B, hidden]     dW1 = X' dH,  db1 = sum dH
 *   Z = H W2 + b2                  [2B, Z]          dW2 = H' dZ,  dH = dZ W2' * (H > 0) / (1 - p)
 *   G = drop(relu(Z_i W3 + b3))    [B, hidden]      dW3 = Z_i' dG, dZ_i += dG W3'
 *   Y = sigmoid(G W4 + b4)         [B, D]           dW4 = G' dY,  dG = dY W4' * (G > 0) / (1 - p)
 *   L = weight mean (Y - X_i)^2 + layout(Z)         dY = 2 weight / (B D) (Y - X_i) Y (1 - Y)
 *       + regularization sum of W^2 (all W but W4)
 *
 * A dropped unit and an inactive one are both 0 in H, so the mask needs no memory. */
#include "fit/autoencoder/network.h"

#include "core/random.h"

#include <math.h>
#include <string.h>

rer_network rer_network_shape(int64_t D, const int32_t *hidden, int n_hidden, int64_t Z)
{
    rer_network network = {.encoder = n_hidden + 1, .layers = 2 * n_hidden + 2};
    network.width[0] = network.width[network.layers] = D;
    network.width[network.encoder] = Z;
    for (int i = 0; i < n_hidden; i++)
        network.width[1 + i] = network.width[network.layers - 1 - i] = hidden[i];
    for (int l = 0; l < network.layers; l++) {
        network.weight[l] = network.parameters;
        network.bias[l] = network.weight[l] + network.width[l] * network.width[l + 1];
        network.parameters = network.bias[l] + network.width[l + 1];
    }
    return network;
}

static bool is_hidden(const rer_network *network, int layer)
{
    return layer != network->encoder - 1 && layer != network->layers - 1;
}

/* Distance to the next dropped unit: geometric, so that few random numbers are needed. */
static int64_t next_gap(const rer_draws *draws, uint64_t stream, uint64_t *place, double log_kept)
{
    double u =
        rer_random_uniform(draws->seed, RER_RANDOM_DROPOUT, draws->key << 8 | stream, draws->step << 32 | (*place)++);
    double gap = log1p(-u) / log_kept;
    return gap < 1e15 ? (int64_t)gap : INT64_MAX / 2;
}

#define REAL float
#define REAL_NAME(name) name##_f32
#define REAL_KERNEL(name) kernels->network->name##_f32
#include "fit/autoencoder/network.inc"
#undef REAL
#undef REAL_NAME
#undef REAL_KERNEL
#define REAL double
#define REAL_NAME(name) name##_f64
#define REAL_KERNEL(name) kernels->network->name##_f64
#include "fit/autoencoder/network.inc"
#undef REAL
#undef REAL_NAME
#undef REAL_KERNEL

/* outputs [layers]: of each layer, [rows, width]. */
static void lay_out_sweep(const rer_network *network, int64_t rows, float **outputs, rer_scratch *scratch)
{
    for (int l = 0; l < network->layers; l++)
        outputs[l] = rer_take(scratch, rows * network->width[l + 1], sizeof(float));
}

int64_t rer_network_sweep_scratch(const rer_network *network, int64_t rows)
{
    float *outputs[RER_LAYERS_MAX];
    rer_scratch measure = {0};
    lay_out_sweep(network, rows, outputs, &measure);
    return measure.used;
}

void rer_network_errors(const rer_network *network, const float *w, const float *x, int64_t rows, float *out,
                        int64_t out_stride, rer_scratch scratch, const rer_kernels *kernels)
{
    float *outputs[RER_LAYERS_MAX];
    int64_t D = network->width[0];
    lay_out_sweep(network, rows, outputs, &scratch);
    layer_pass_f32 pass = {.network = network, .w = w, .outputs = outputs, .kernels = kernels};
    forward_f32(&pass, x, rows, 0, network->layers);
    const float *y = outputs[network->layers - 1];
    for (int64_t i = 0; i < rows; i++)
        out[i * out_stride] = (float)kernels->network->squared_error_f32(y + i * D, x + i * D, D);
}
