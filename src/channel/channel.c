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
 *   else           (1 - e)(1 - v) A_kc = u S_kc + N_kc / n_k: as classes are confused (confusion.c), or in one way from
 *                               class k to class c; A_kk is the rest: the label is right
 *
 *   P(c) = q = e b_c + (1 - e) [v p_c G + (1 - v) sum_k p_k A_kc],   G = sum_{k != c} p_k / (1 - p_k)
 *   P(c and right) = p_c [e b_c + (1 - e)(1 - v) A_cc]
 *   P(c and true k) = p_k [e b_c + (1 - e)(v p_c / (1 - p_k) + (1 - v) A_kc)],   k != c
 *
 * All parameters are those that make the labels seen most likely (fit.c). Overlap of classes is in p; what is beyond
 * p is a mistake. Perhaps there is none: then q = p_c, and every P(wrong) is taken times 1 - P(all are right). */
#include "channel/channel.h"

#include <math.h>
#include <stdlib.h>

#define MOST_CERTAIN 700.0 /* log odds; their exponential is a number */
#define LEAST_RIGHT .01    /* A_cc: no class is wrong throughout */

bool rer_channel_is_free(const rer_channel *channel, int64_t c)
{
    return channel->right[c] > (float)LEAST_RIGHT;
}

void rer_channel_set_rates(rer_channel *channel)
{
    int64_t C = channel->C;
    double u = channel->uniform, even = 1 / (double)(C - 1);
    for (int64_t c = 0; c < C; c++) {
        double leaving = 0;
        for (int64_t k = 0; channel->counts != NULL && k < C; k++)
            leaving += channel->counts[k * C + c];
        channel->right[c] = (float)fmax(LEAST_RIGHT, 1 - u - leaving / fmax(channel->totals[c], 1));
    }
    for (int64_t i = 0; channel->rates != NULL && i < C * C; i++) {
        double flow = channel->counts != NULL ? channel->counts[i] / fmax(channel->totals[i % C], 1) : 0;
        channel->rates[i] = (float)(u * (channel->alike != NULL ? (double)channel->alike[i] : even) + flow);
    }
}

rer_status rer_channel_finish(rer_channel *channel, rer_error *error)
{
    int64_t C = channel->C;
    float *rates = NULL, *right = NULL;
    bool pairs = channel->counts != NULL || channel->alike != NULL;
    rer_room rooms[] = {RER_ROOM(right, C), RER_ROOM(rates, C * C)};
    RER_TRY(rer_allocate_all(rooms, pairs ? 2 : 1, "the noise channel", error));
    free(channel->rates);
    free(channel->right);
    channel->rates = rates;
    channel->right = right;
    rer_channel_set_rates(channel);
    return RER_OK;
}

void rer_channel_clear(rer_channel *channel)
{
    free(channel->bias);
    free(channel->alike);
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

float rer_channel_take(rer_channel_state *state, const rer_channel *channel, const float *const *value, int32_t first,
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
    float top = sums.top;
    merge(&state->sums, &sums, channel->sharpness);
    return top;
}

/* What the ways of a row's label share. Sums of exp(z - top). */
typedef struct ways {
    double below;                 /* z of the label - top */
    double own, others, total;    /* the label's, those of all others, both */
    double blurred, alike, clear; /* e b_c, (1 - e) v p_c, (1 - e)(1 - v) */
} ways;

static ways ways_of(const rer_channel_state *state, const rer_channel *channel)
{
    const rer_channel_sums *sums = &state->sums;
    double below = fmax(fmin((double)state->own - (double)sums->top, MOST_CERTAIN), -MOST_CERTAIN);
    double own = exp(below), others = 1 + sums->rest, total = others + own, blurred = exp(channel->sharpness * below);
    return (ways){.below = below,
                  .own = own,
                  .others = others,
                  .total = total,
                  .blurred = channel->blur * (blurred / (sums->blurred + blurred)),
                  .alike = (1 - channel->blur) * channel->likeness * own / total,
                  .clear = (1 - channel->blur) * (1 - channel->likeness)};
}

/* P(label and wrong). */
static double wrong_of(const ways *at, const rer_channel_state *state, const rer_channel *channel)
{
    double flow = channel->rates != NULL ? state->sums.flow : channel->uniform / (channel->C - 1) * at->others;
    double G = 1 / (state->sums.rest + at->own) + state->odds;
    return (at->clear * flow + at->blurred * at->others) / at->total + at->alike * G;
}

/* o' = f P / (1 - f P) = f o / (1 + (1 - f) o),  o = P / (1 - P) */
double rer_channel_times(double logit, double f)
{
    double more = fmax((1 - f) * exp(logit), 1e-15 - 1); /* f P was rounded where f takes it back */
    return f == 1 ? logit : logit + log(f) - log1p(more);
}

/* As if mistakes were made, but for `overlap`, what else makes the label right: P(c and right) / p_c is more by it. */
static double logit_of(const rer_channel_state *state, const rer_channel *channel, int32_t code, double overlap)
{
    ways at = ways_of(state, channel);
    double right = at.clear * (double)channel->right[code] + at.blurred + overlap; /* times p_c */
    double logit = log(wrong_of(&at, state, channel)) - log(right) - (at.below - log(at.total));
    return fmax(-MOST_CERTAIN, fmin(logit, MOST_CERTAIN));
}

double rer_channel_wrong(const rer_channel_state *state, const rer_channel *channel, int32_t code)
{
    return rer_channel_times(logit_of(state, channel, code, 0), 1 - channel->all_right);
}

/* P0 = P(all are right) comes from other labels; this one is seen with P0 p_c + (1 - P0) P(c). */
double rer_channel_wrong_new(const rer_channel_state *state, const rer_channel *channel, int32_t code)
{
    return logit_of(state, channel, code, channel->all_right / (1 - channel->all_right));
}

double rer_channel_posterior(const rer_channel_state *state)
{
    double own = exp(fmin((double)state->own - (double)state->sums.top, MOST_CERTAIN));
    return own / (1 + state->sums.rest + own);
}

double rer_channel_right(const rer_channel_state *state)
{
    return fmin(-log(fmax(state->sums.rest, 1e-300)), MOST_CERTAIN);
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

/* ---- what else the label may be ----------------------------------------------------------- */

rer_channel_others rer_channel_no_others(void)
{
    rer_channel_others others = {.wrong = -INFINITY};
    for (int i = 0; i < RER_LIKELY_OTHERS; i++) {
        others.class[i] = -1;
        others.share[i] = -INFINITY;
    }
    return others;
}

static int place_among(const rer_channel_others *others, int32_t class)
{
    int at = 0;
    while (at < RER_LIKELY_OTHERS && others->class[at] != class)
        at++;
    return at;
}

/* Into the place `at`, which falls out, and from there up to where it belongs. */
static void put_other(rer_channel_others *others, int at, int32_t class, double share)
{
    for (; at > 0 && share > others->share[at - 1]; at--) {
        others->class[at] = others->class[at - 1];
        others->share[at] = others->share[at - 1];
    }
    others->class[at] = class;
    others->share[at] = share;
}

/* P(label | k) of one class of a whole row. */
static double label_given(const ways *at, const rer_channel_state *state, const rer_channel *channel, double z,
                          int32_t k, int32_t code)
{
    double rate = channel->rates != NULL ? (double)channel->rates[(int64_t)code * channel->C + k]
                                         : channel->uniform / (channel->C - 1);
    double rest = k == state->sums.best ? state->sums.rest + at->own : at->total - z; /* (1 - p_k) total */
    return at->blurred + at->alike * at->total / rest + at->clear * rate;
}

static void keep_of_row(rer_channel_others *others, const rer_channel_state *state, const rer_channel *channel,
                        const float *z, double top, int32_t code)
{
    ways at = ways_of(state, channel);
    double most = at.blurred + 2 * at.alike + at.clear; /* P(label | k), but for the best: none of them has p_k > 1/2 */
    int32_t suggested = rer_channel_suggest(state, channel, z, code), last = RER_LIKELY_OTHERS - 1;
    for (int32_t k = 0; k < channel->C; k++) {
        double e = (double)z[k], least = others->share[last];
        if (k == code || z[k] <= 0 || (k != state->sums.best && e * most <= least))
            continue;
        double weight = e * label_given(&at, state, channel, e, k, code);
        if (weight > least)
            put_other(others, last, k, weight);
    }
    if (place_among(others, suggested) > last)
        put_other(others, last, suggested,
                  (double)z[suggested] * label_given(&at, state, channel, (double)z[suggested], suggested, code));
    for (int i = 0; i <= last && others->class[i] >= 0; i++)
        others->share[i] = top + log(others->share[i]);
    others->wrong = top + log(wrong_of(&at, state, channel) * at.total);
}

void rer_channel_keep_others(rer_channel_others *others, const rer_channel_state *state, const rer_channel *channel,
                             const float *z, float top, int32_t first, int32_t classes, int32_t code)
{
    int last = RER_LIKELY_OTHERS - 1;
    if (classes == channel->C) {
        keep_of_row(others, state, channel, z, (double)top, code);
        return;
    }
    double least = exp(others->share[last] - (double)top);
    for (int32_t k = 0; k < classes; k++) /* P(label | k) is the same for all */
        if (first + k != code && (double)z[k] > least) {
            put_other(others, last, first + k, (double)top + log((double)z[k]));
            least = exp(others->share[last] - (double)top);
        }
    others->wrong = (double)state->sums.top + log(1 + state->sums.rest);
}

void rer_channel_share_out(rer_channel_others *others, int32_t suggested)
{
    int own = place_among(others, suggested), n = 1;
    for (int i = 0; i < RER_LIKELY_OTHERS; i++)
        others->share[i] = others->class[i] < 0 ? 0 : fmin(1, exp(others->share[i] - others->wrong));
    if (own == 0 || own == RER_LIKELY_OTHERS)
        return;
    double sum = others->share[own];
    for (int i = 0; i < own && others->share[i] > sum / n; i++, n++)
        sum += others->share[i];
    for (; own > 0; own--) { /* it comes first of its equals */
        others->class[own] = others->class[own - 1];
        others->share[own] = others->share[own - 1];
    }
    others->class[0] = suggested;
    for (int i = 0; i < n; i++)
        others->share[i] = sum / n;
}
