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

static void drop_units(float *h, int64_t n, double dropout, const rer_draws *draws, uint64_t stream)
{
    uint64_t place = 0;
    double log_kept = log1p(-dropout);
    for (int64_t j = next_gap(draws, stream, &place, log_kept); j < n;
         j += 1 + next_gap(draws, stream, &place, log_kept))
        h[j] = 0;
}

/* out [2B, n]: a copy of a row of in [R, n] for each draw. */
static void spread(float *restrict out, const float *restrict in, const int32_t *rows, int64_t draws, int64_t n)
{
    for (int64_t p = 0; p < draws; p++)
        memcpy(out + p * n, in + rows[p] * n, (size_t)n * sizeof(float));
}

/* Its opposite: out [R, n] sums the rows of in [2B, n]. */
static void collect(float *restrict out, const float *restrict in, const rer_draws *draws, int64_t rows, int64_t n)
{
    memset(out, 0, (size_t)(draws->distinct * n) * sizeof(float));
    for (int64_t p = 0; p < rows; p++) {
        float *sum = out + draws->rows[p] * n;
        for (int64_t j = 0; j < n; j++)
            sum[j] += in[p * n + j];
    }
}

/* What the layers of a pass share. */
typedef struct layer_pass {
    const rer_network *network;
    const float *w; /* [parameters] */
    double dropout;
    const rer_draws *draws; /* NULL where nothing is random */
    float *shared;          /* [R, width[1]] where the draws share rows: the input of layer 0 is [R, D] then */
    float **outputs;        /* outputs[l] [rows, width[l + 1]] */
    float **deltas;         /* gradients before the activations, of the same shapes */
    float *g;               /* [parameters] */
    const rer_kernels *kernels;
} layer_pass;

/* y <- activation(y + bias) of layer l. */
static void activate(const layer_pass *pass, int l, float *y, int64_t rows)
{
    const rer_network *network = pass->network;
    const rer_kernels *kernels = pass->kernels;
    const float *bias = pass->w + network->bias[l];
    int64_t out = network->width[l + 1];
    if (l == network->layers - 1) {
        kernels->network->bias_sigmoid(y, bias, rows, out);
    } else if (is_hidden(network, l)) {
        kernels->network->bias_relu(y, bias, 1 / (1 - pass->dropout), rows, out);
        if (pass->dropout > 0 && pass->draws != NULL)
            drop_units(y, rows * out, pass->dropout, pass->draws, (uint64_t)l);
    } else {
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < out; j++)
                y[i * out + j] += bias[j];
    }
}

/* Layers first..last-1 on input [rows, width[first]]. */
static void forward(const layer_pass *pass, const float *input, int64_t rows, int first, int last)
{
    const rer_network *network = pass->network;
    for (int l = first; l < last; l++) {
        int64_t in = network->width[l], out = network->width[l + 1];
        const float *weight = pass->w + network->weight[l];
        float *y = pass->outputs[l];
        if (l == 0 && pass->shared != NULL) {
            rer_gemm_f32(false, false, pass->draws->distinct, out, in, input, weight, pass->shared);
            spread(y, pass->shared, pass->draws->rows, rows, out);
        } else {
            rer_gemm_f32(false, false, rows, out, in, input, weight, y);
        }
        activate(pass, l, y, rows);
        input = y;
    }
}

/* deltas[last - 1] is given; fills g of layers first..last-1 and the deltas before them; d_input (or
 * NULL) [rows, width[first]]. Where draws share rows, outputs[0], which nothing needs by then, takes
 * the deltas of layer 0 row by row. */
static void backward(const layer_pass *pass, const float *input, int64_t rows, int first, int last, float *d_input)
{
    const rer_network *network = pass->network;
    const rer_kernels *kernels = pass->kernels;
    for (int l = last - 1; l >= first; l--) {
        int64_t in = network->width[l], out = network->width[l + 1];
        const float *before = l == first ? input : pass->outputs[l - 1], *delta = pass->deltas[l];
        float *d_before = l == first ? d_input : pass->deltas[l - 1], *d_bias = pass->g + network->bias[l];
        if (l == 0 && pass->draws->rows != NULL) {
            collect(pass->outputs[0], delta, pass->draws, rows, out);
            delta = pass->outputs[0];
            rows = pass->draws->distinct;
        }
        rer_gemm_f32(true, false, in, out, rows, before, delta, pass->g + network->weight[l]);
        memset(d_bias, 0, (size_t)out * sizeof(float));
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < out; j++)
                d_bias[j] += delta[i * out + j];
        if (d_before == NULL)
            continue;
        rer_gemm_f32(false, true, rows, in, out, delta, pass->w + network->weight[l], d_before);
        if (l > first && is_hidden(network, l - 1))
            kernels->network->relu_back(d_before, before, 1 / (1 - pass->dropout), rows * in);
    }
}

/* One pair of codes: adds its loss and its gradient. With s = d^2, u = a s^b and l = -log(1 + u),
 *   pulled together  -log sigmoid(l)                      = log(2 + u),
 *   pushed apart     -repulsion (log sigmoid(l) - l)      = repulsion log(1 + 1 / (1 + u)). */
static double pair_loss(const float *zi, const float *zj, int64_t Z, const rer_loss_settings *settings, bool pulled,
                        double share, float *di, float *dj)
{
    double s = 0, b = settings->curve.b;
    for (int64_t k = 0; k < Z; k++)
        s += ((double)zi[k] - (double)zj[k]) * ((double)zi[k] - (double)zj[k]);
    double u = settings->curve.a * pow(s, b);
    if (!(u > -1 && u < INFINITY)) /* log(1 + u) is no number: the caller is told, whatever the sums say */
        return NAN;
    double loss = pulled ? log(2 + u) : settings->repulsion * log1p(1 / (1 + u));
    double by_u = pulled ? 1 / (2 + u) : -settings->repulsion / ((1 + u) * (2 + u));
    double by_s = s > 0 ? by_u * b * u / s : 0;
    for (int64_t k = 0; k < Z; k++) {
        double step = share * by_s * 2 * ((double)zi[k] - (double)zj[k]);
        di[k] += (float)step;
        dj[k] -= (float)step;
    }
    return share * loss;
}

double rer_layout_loss(const float *z, int64_t B, int64_t Z, const rer_loss_settings *settings,
                       const int32_t *negatives, float *dz)
{
    double loss = 0, share = 1.0 / (double)(B * (1 + RER_NEGATIVES));
    memset(dz, 0, (size_t)(2 * B * Z) * sizeof(float));
    for (int64_t p = 0; p < B; p++)
        loss += pair_loss(z + p * Z, z + (B + p) * Z, Z, settings, true, share, dz + p * Z, dz + (B + p) * Z);
    for (int64_t n = 0; n < B * RER_NEGATIVES; n++) {
        int64_t i = n / RER_NEGATIVES, j = B + negatives[n];
        loss += pair_loss(z + i * Z, z + j * Z, Z, settings, false, share, dz + i * Z, dz + j * Z);
    }
    return loss;
}

/* A batch's workspace. */
typedef struct step_scratch {
    float *outputs[RER_LAYERS_MAX], *deltas[RER_LAYERS_MAX]; /* [2B or B, width] of each layer */
    float *d_code;                                           /* [B, Z] */
} step_scratch;

static step_scratch lay_out_step(const rer_network *network, int64_t B, rer_scratch *scratch)
{
    step_scratch parts = {0};
    for (int l = 0; l < network->layers; l++) {
        int64_t values = (l < network->encoder ? 2 * B : B) * network->width[l + 1];
        parts.outputs[l] = rer_take(scratch, values, sizeof(float));
        parts.deltas[l] = rer_take(scratch, values, sizeof(float));
    }
    parts.d_code = rer_take(scratch, B * network->width[network->encoder], sizeof(float));
    return parts;
}

int64_t rer_network_scratch(const rer_network *network, int64_t B)
{
    rer_scratch measure = RER_MEASURE;
    (void)lay_out_step(network, B, &measure);
    return measure.used;
}

static double sum_of_weights(const rer_network *network, const float *w, const rer_kernels *kernels)
{
    double sum = 0;
    for (int l = 0; l < network->layers - 1; l++) {
        const float *weights = w + network->weight[l];
        sum += kernels->dot_f32(weights, weights, network->bias[l] - network->weight[l]);
    }
    return sum;
}

/* Squared error of the heads' reconstructions y [B, D]; with `factor` != 0, y becomes the gradient before
 * the sigmoid. */
static double compare_heads(float *y, const float *x, int64_t B, int64_t D, const rer_draws *draws, double factor,
                            const rer_kernels *kernels)
{
    double sum = 0;
    for (int64_t i = 0; i < B; i++) {
        const float *head = x + (draws->rows != NULL ? draws->rows[i] : i) * D;
        sum += kernels->network->squared_error(y + i * D, head, D);
        if (factor != 0)
            kernels->network->sigmoid_back(y + i * D, head, factor, D);
    }
    return sum;
}

rer_loss rer_network_step(const rer_network *network, const rer_loss_settings *settings, const float *w, const float *x,
                          int64_t B, const rer_draws *draws, float *g, rer_scratch scratch, const rer_kernels *kernels)
{
    int last = network->layers, code = network->encoder;
    int64_t D = network->width[0], Z = network->width[code];
    step_scratch parts = lay_out_step(network, B, &scratch);
    float **outputs = parts.outputs, **deltas = parts.deltas, *d_code = parts.d_code;
    float *z = outputs[code - 1], *dz = deltas[code - 1], *y = outputs[last - 1];
    double slope = 2 * settings->weight / (double)(B * D);
    layer_pass pass = {.network = network,
                       .w = w,
                       .dropout = settings->dropout,
                       .draws = draws,
                       .shared = draws->rows != NULL ? deltas[0] : NULL, /* its deltas come later */
                       .outputs = outputs,
                       .deltas = deltas,
                       .g = g,
                       .kernels = kernels};

    forward(&pass, x, 2 * B, 0, code);
    forward(&pass, z, B, code, last);
    double squares = compare_heads(y, x, B, D, draws, g != NULL ? slope : 0, kernels);
    rer_loss loss = {
        .reconstruction = settings->weight * squares / (double)(B * D),
        .layout = rer_layout_loss(z, B, Z, settings, draws->negatives, dz),
        .regularization =
            settings->regularization > 0 ? settings->regularization * sum_of_weights(network, w, kernels) : 0,
    };
    loss.total = loss.reconstruction + loss.layout + loss.regularization;
    if (g == NULL)
        return loss;

    if (slope == 0)
        memset(y, 0, (size_t)(B * D) * sizeof(float));
    deltas[last - 1] = y;
    backward(&pass, z, B, code, last, d_code);
    for (int64_t i = 0; i < B * Z; i++)
        dz[i] += d_code[i];
    backward(&pass, x, 2 * B, 0, code, NULL);
    return loss;
}

/* outputs [layers]: of each layer, [rows, width]. */
static void lay_out_sweep(const rer_network *network, int64_t rows, float **outputs, rer_scratch *scratch)
{
    for (int l = 0; l < network->layers; l++)
        outputs[l] = rer_take(scratch, rows * network->width[l + 1], sizeof(float));
}

int64_t rer_network_sweep_scratch(const rer_network *network, int64_t rows)
{
    float *outputs[RER_LAYERS_MAX];
    rer_scratch measure = RER_MEASURE;
    lay_out_sweep(network, rows, outputs, &measure);
    return measure.used;
}

void rer_network_errors(const rer_network *network, const float *w, const float *x, int64_t rows, float *out,
                        int64_t out_stride, rer_scratch scratch, const rer_kernels *kernels)
{
    float *outputs[RER_LAYERS_MAX];
    int64_t D = network->width[0];
    lay_out_sweep(network, rows, outputs, &scratch);
    layer_pass pass = {.network = network, .w = w, .outputs = outputs, .kernels = kernels};
    forward(&pass, x, rows, 0, network->layers);
    const float *y = outputs[network->layers - 1];
    for (int64_t i = 0; i < rows; i++)
        out[i * out_stride] = (float)kernels->network->squared_error(y + i * D, x + i * D, D);
}
