/* Evidence about a row gives a posterior over its true class k,
 *
 *   z_k = log n_k + beta_k - sum_j t_j E_jk,   p = softmax(z),
 *
 * (n_k class sizes, beta_k what a class is likelier than its size says, E evidence, each row left out), and the label
 * c that is seen comes from it in one of these ways:
 *
 *   read blurred   e            c ~ b = softmax(lambda z), lambda <= 1/2: mistakes that people make, who err where
 *                               classes are hard to tell, and hit the true one by chance
 *   by likeness    (1 - e) v    c ~ p without k, for any row: P(c | k) = p_c / (1 - p_k)
 *   else           (1 - e)(1 - v) A_kc = u / (C - 1) + N_kc / n_k: in any way, or in one way from class k to class c;
 *                               A_kk is the rest: the label is right
 *
 *   P(c) = q = e b_c + (1 - e) [v p_c G + (1 - v) sum_k p_k A_kc],   G = sum_{k != c} p_k / (1 - p_k)
 *   P(c and right) = p_c [e b_c + (1 - e)(1 - v) A_cc]
 *
 * All parameters are those that make the labels seen most likely (fit.c). Overlap of classes is in p; what is beyond
 * p is a mistake. */
#include "channel/channel.h"

#include <math.h>
#include <stdlib.h>

#define MOST_CERTAIN 700.0 /* log odds; their exponential is a number */
#define LEAST_RIGHT .01    /* A_cc: no class is wrong throughout */

rer_status rer_channel_finish(rer_channel *channel, rer_error *error)
{
    int64_t C = channel->C;
    float *rates = NULL, *right = NULL;
    rer_status status = rer_allocate(&right, C, sizeof *right, "the noise channel", error);
    if (status == RER_OK && channel->counts != NULL)
        status = rer_allocate(&rates, C * C, sizeof *rates, "the noise channel", error);
    if (status != RER_OK) {
        free(right);
        return status;
    }
    double even = channel->uniform / (double)(C - 1);
    for (int64_t c = 0; c < C; c++) {
        double leaving = 0;
        for (int64_t k = 0; rates != NULL && k < C; k++) {
            rates[c * C + k] = (float)(even + channel->counts[c * C + k] / fmax(channel->totals[k], 1));
            leaving += channel->counts[k * C + c];
        }
        right[c] = (float)fmax(LEAST_RIGHT,
                               1 - channel->uniform - (rates != NULL ? leaving / fmax(channel->totals[c], 1) : 0));
    }
    free(channel->rates);
    free(channel->right);
    channel->rates = rates;
    channel->right = right;
    return RER_OK;
}

void rer_channel_clear(rer_channel *channel)
{
    free(channel->bias);
    free(channel->counts);
    free(channel->totals);
    free(channel->rates);
    free(channel->right);
    *channel = (rer_channel){0};
}

rer_status rer_channel_make(rer_channel **channel, int32_t C, rer_error *error)
{
    rer_status status = rer_allocate(channel, 1, sizeof **channel, "the channel", error);
    if (status == RER_OK)
        (*channel)->C = C;
    return status;
}

void rer_channel_free(rer_channel *channel)
{
    if (channel != NULL)
        rer_channel_clear(channel);
    free(channel);
}

rer_channel_state rer_channel_begin(void)
{
    return (rer_channel_state){.sums = {.top = -INFINITY, .best = -1}, .own = -INFINITY};
}

/* What a row shows beyond the oddest of the sampled ones is worth no more than at their edge: a row that is like
 * nothing else is not certainly anything. */
static float weight_of(const rer_channel *channel, const float *value, int j, int32_t classes,
                       const rer_kernels *kernels)
{
    double weight = channel->weight[j];
    if (classes != channel->C || !(channel->edge[j] > 0))
        return (float)weight;
    double least = (double)kernels->smallest(value, classes);
    return (float)(least > channel->edge[j] ? weight * channel->edge[j] / least : weight);
}

/* Sums of two sets of classes. */
static void merge(rer_channel_sums *sums, const rer_channel_sums *more, double sharpness)
{
    if (sums->best < 0) {
        *sums = *more;
        return;
    }
    bool higher = more->top > sums->top;
    rer_channel_sums high = higher ? *more : *sums, low = higher ? *sums : *more;
    double below = fmax((double)low.top - (double)high.top, -MOST_CERTAIN);
    high.rest += exp(below) * (1 + low.rest);
    high.blurred += exp(sharpness * below) * low.blurred;
    high.flow += exp(below) * low.flow;
    *sums = high;
}

void rer_channel_take(rer_channel_state *state, const rer_channel *channel, const float *const *value, int32_t first,
                      int32_t classes, int32_t code, float *z, const rer_kernels *kernels)
{
    rer_channel_evidence evidence = {0};
    for (int j = 0; j < RER_EVIDENCE_KINDS; j++)
        if (channel->weight[j] > 0 && value[j] != NULL) {
            evidence.weight[evidence.count] = weight_of(channel, value[j], j, classes, kernels);
            evidence.value[evidence.count++] = value[j];
        }
    kernels->channel->scores(z, channel->bias + first, &evidence, classes);
    if (code >= first && code < first + classes) {
        state->own = z[code - first];
        z[code - first] = -INFINITY;
    }
    const float *rates = channel->rates != NULL && code >= 0 ? channel->rates + (int64_t)code * channel->C : NULL;
    rer_channel_sums sums;
    kernels->channel->sums(&sums, z, rates, channel->sharpness, classes);
    if (classes == channel->C && code >= 0) {
        double own = exp(fmin((double)state->own - (double)sums.top, MOST_CERTAIN));
        state->odds = kernels->channel->odds(z, sums.rest + 1 + own, sums.best, classes);
    }
    sums.best += first;
    merge(&state->sums, &sums, channel->sharpness);
}

double rer_channel_wrong(const rer_channel_state *state, const rer_channel *channel, int32_t code)
{
    const rer_channel_sums *sums = &state->sums;
    double below = fmax(fmin((double)state->own - (double)sums->top, MOST_CERTAIN), -MOST_CERTAIN);
    double own = exp(below), others = 1 + sums->rest, total = others + own;
    double blurred = exp(channel->sharpness * below), b = blurred / (sums->blurred + blurred);
    double flow = channel->rates != NULL ? sums->flow : channel->uniform / (channel->C - 1) * others;
    double clear = (1 - channel->blur) * (1 - channel->likeness);
    double G = 1 / (sums->rest + own) + state->odds;
    double wrong =
        (clear * flow + channel->blur * b * others) / total + (1 - channel->blur) * channel->likeness * own / total * G;
    double right = clear * (double)channel->right[code] + channel->blur * b; /* times p_c */
    double logit = log(wrong) - log(right) - (below - log(total));
    return fmax(-MOST_CERTAIN, fmin(logit, MOST_CERTAIN));
}

double rer_channel_right(const rer_channel_state *state, const rer_channel *channel, const float value[2], int32_t k)
{
    double evidence = channel->weight[RER_GLOBAL] * (double)value[0] + channel->weight[RER_OPINION] * (double)value[1];
    double z = (double)channel->bias[k] - evidence - (double)state->sums.top;
    bool best = k == state->sums.best;
    double rest = best ? state->sums.rest : 1 + state->sums.rest - exp(fmin(z, 0));
    double logit = (best ? 0 : fmin(z, 0)) - log(fmax(rest, 1e-300));
    return fmax(-MOST_CERTAIN, fmin(logit, MOST_CERTAIN));
}

int32_t rer_channel_suggest(const rer_channel_state *state, const rer_channel *channel, const float *z, int32_t code)
{
    const float *rates = channel->rates != NULL && z != NULL ? channel->rates + (int64_t)code * channel->C : NULL;
    int32_t best = state->sums.best;
    for (int32_t k = 0; rates != NULL && k < channel->C; k++)
        if (k != code && (double)rates[k] * (double)z[k] > (double)rates[best] * (double)z[best])
            best = k;
    return best;
}
