#include "plain_network.h"

#include "core/random.h"

#include <math.h>
#include <stdlib.h>

/* Units are dropped at geometric distances over the whole layer [rows, width]. */
static void drop_units(double *h, int64_t n, double dropout, const rer_draws *draws, int layer)
{
    uint64_t place = 0;
    for (int64_t j = -1; dropout > 0;) {
        double u = rer_random_uniform(draws->seed, RER_RANDOM_DROPOUT, draws->key << 8 | (uint64_t)layer,
                                      draws->step << 32 | place++);
        double gap = floor(log1p(-u) / log1p(-dropout));
        if ((double)j + 1 + gap >= (double)n)
            return;
        j += 1 + (int64_t)gap;
        h[j] = 0;
    }
}

/* out [rows, width[l + 1]] of in [rows, width[l]]; row i of in is in[which[i]] where that is given. */
static void run_layer(double *out, const double *in, const int32_t *which, int64_t rows, int l,
                      const rer_network *network, const rer_loss_settings *settings, const double *w,
                      const rer_draws *draws)
{
    int64_t n_in = network->width[l], n_out = network->width[l + 1];
    bool is_last = l == network->layers - 1, is_code = l == network->encoder - 1;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < n_out; k++) {
            double sum = w[network->bias[l] + k];
            for (int64_t j = 0; j < n_in; j++)
                sum += in[(which != NULL ? which[i] : i) * n_in + j] * w[network->weight[l] + j * n_out + k];
            double hidden = sum > 0 ? sum / (1 - settings->dropout) : 0;
            out[i * n_out + k] = is_last ? 1 / (1 + exp(-sum)) : is_code ? sum : hidden;
        }
    if (!is_last && !is_code)
        drop_units(out, rows * n_out, settings->dropout, draws, l);
}

double plain_layout_loss(const double *z, int64_t B, int64_t Z, const rer_loss_settings *settings,
                         const int32_t *negatives)
{
    double sum = 0;
    for (int64_t n = -B; n < RER_NEGATIVES * B; n++) {
        int64_t i = n < 0 ? n + B : n / RER_NEGATIVES, j = n < 0 ? n + B : negatives[n];
        double d2 = 0;
        for (int64_t k = 0; k < Z; k++)
            d2 += pow(z[i * Z + k] - z[(B + j) * Z + k], 2);
        double p = 1 / (1 + settings->curve.a * pow(d2, settings->curve.b)), sigmoid = p / (1 + p);
        sum += n < 0 ? -log(sigmoid) : -settings->repulsion * log1p(-sigmoid);
    }
    return sum / (double)(B * (1 + RER_NEGATIVES));
}

rer_loss plain_network_loss(const rer_network *network, const rer_loss_settings *settings, const double *w,
                            const double *x, int64_t B, const rer_draws *draws)
{
    int64_t widest = 0, D = network->width[0];
    for (int l = 0; l <= network->layers; l++)
        widest = rer_max(widest, network->width[l]);
    double *memory = calloc((size_t)(4 * B * widest), sizeof *memory), *now = memory, *next = memory + 2 * B * widest;
    rer_loss loss = {0};
    for (int l = 0; l < network->layers; l++) {
        run_layer(next, l == 0 ? x : now, l == 0 ? draws->rows : NULL, l < network->encoder ? 2 * B : B, l, network,
                  settings, w, draws);
        double *kept = now;
        now = next;
        next = kept;
        if (l == network->encoder - 1)
            loss.layout = plain_layout_loss(now, B, network->width[l + 1], settings, draws->negatives);
        for (int64_t i = network->weight[l]; l < network->layers - 1 && i < network->bias[l]; i++)
            loss.regularization += settings->regularization * w[i] * w[i];
    }
    for (int64_t i = 0; i < B * D; i++) {
        int64_t head = draws->rows != NULL ? draws->rows[i / D] : i / D;
        loss.reconstruction += settings->weight * pow(now[i] - x[head * D + i % D], 2) / (double)(B * D);
    }
    loss.total = loss.reconstruction + loss.layout + loss.regularization;
    free(memory);
    return loss;
}
