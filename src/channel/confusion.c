/* How labels that are wrong in any way choose their class: as a blurred look at a typical row of the true class would.
 *
 * A typical row of class k shows the mean evidence of the sampled rows with that label, which gives it the scores
 *   z_kc = log n_c + beta_c - sum_j t_j E_jkc,
 * and a wrong label is class c != k with
 *   S_kc = (1 - FLOOR) s_kc + FLOOR / (C - 1),   s_kc = exp(kappa z_kc) / sum over c' != k of exp(kappa z_kc'),
 * 0 < kappa < 1/2. With kappa near 0 any class is as likely as any other. Of log q, with g_kc = d log q / d A_kc and
 * A_kc = u S_kc + flows,
 *   d / du = sum_k (sum_{c != k} S_kc g_kc - g_kk),
 *   d / dz_kc = kappa u (1 - FLOOR) s_kc (g_kc - sum_c' s_kc' g_kc').
 * The most that u may be goes by the largest of all S_kc (search.h), which has the same slopes. */
#include "channel/search.h"

#include <string.h>

/* Of wrong labels, those that are any class: without them the search is stuck where one lies in a class too far off to
 * have any S. (Ten classes far apart, a twentieth of the labels moved to any: 6,117 nats where the search began without
 * rules, 1,718 with S even.) */
#define FLOOR .01

rer_status rer_channel_typical_rows(double **typical, const rer_channel_search *fit, rer_error *error)
{
    const rer_channel_sample *sample = fit->sample;
    int64_t C = sample->C;
    double *n = NULL;
    if (!fit->pairs || sample->rows < RER_CHANNEL_TO_CONFUSE * C)
        return RER_OK;
    RER_TRY(rer_allocate(typical, fit->kinds * C * C, sizeof **typical, "typical rows", error));
    rer_status status = rer_allocate(&n, C, sizeof *n, "typical rows", error);
    for (int64_t i = 0; status == RER_OK && i < sample->rows; i++) {
        double stands = sample->stands != NULL ? (double)sample->stands[i] : 1;
        n[sample->code[i]] += stands;
        for (int j = 0; j < fit->kinds; j++) {
            double *of_label = *typical + (j * C + sample->code[i]) * C;
            for (int64_t c = 0; c < C; c++)
                of_label[c] += stands * (double)sample->value[fit->kind[j]][i * C + c];
        }
    }
    for (int64_t row = 0; status == RER_OK && row < fit->kinds * C; row++)
        for (int64_t c = 0; c < C; c++)
            (*typical)[row * C + c] /= fmax(n[row % C], 1);
    free(n);
    return status;
}

/* z [C] and s [C] of class k; s is 0 for itself and for classes without rows. Returns how many others there are. */
static int64_t look_at_class(double *z, double *s, const rer_channel_search *fit, int64_t k)
{
    const rer_channel *channel = fit->channel;
    int64_t C = channel->C, others = 0;
    double top = -INFINITY, sum = 0;
    for (int64_t c = 0; c < C; c++) {
        z[c] = (double)channel->bias[c];
        for (int j = 0; j < fit->kinds; j++)
            z[c] -= channel->weight[fit->kind[j]] * fit->typical[(j * C + k) * C + c];
        if (c != k)
            top = fmax(top, z[c]);
    }
    for (int64_t c = 0; c < C; c++) {
        bool is_other = c != k && isfinite(z[c]);
        z[c] = isfinite(z[c]) && isfinite(top) ? z[c] - top : 0;
        s[c] = is_other ? exp(channel->confusion * z[c]) : 0;
        sum += s[c];
        others += is_other;
    }
    for (int64_t c = 0; c < C && sum > 0; c++)
        s[c] /= sum;
    return others;
}

void rer_channel_confuse(rer_channel_search *fit)
{
    rer_channel *channel = fit->channel;
    int64_t C = channel->C;
    double *z = fit->of_class, *s = z + C;
    for (int64_t k = 0; k < C; k++) {
        int64_t others = look_at_class(z, s, fit, k);
        for (int64_t c = 0; c < C; c++)
            channel->alike[c * C + k] =
                c != k && isfinite(channel->bias[c]) ? (float)((1 - FLOOR) * s[c] + FLOOR / (double)others) : 0;
    }
}

double rer_channel_largest_confusion(const rer_channel *channel, int64_t *place)
{
    int64_t C = channel->C, at = 0;
    if (channel->alike == NULL)
        return 1 / (double)(C - 1);
    for (int64_t i = 0; i < C * C; i++)
        at = channel->alike[i] > channel->alike[at] ? i : at;
    if (place != NULL)
        *place = at;
    return (double)channel->alike[at];
}

/* by_z, the slope of the objective by z_kc, goes on to those by beta and t. */
static void pass_on(rer_channel_search *fit, int64_t k, int64_t c, double by_z)
{
    int64_t C = fit->channel->C;
    fit->gradient[fit->kinds + RER_SHARES + c] += by_z;
    for (int j = 0; j < fit->kinds; j++)
        fit->gradient[j] -= by_z * fit->typical[(j * C + k) * C + c];
}

/* u is logistic(x) of the most that it may be, (1 - v / (1 - v)) / (1 + S), which hangs on the largest S. */
static void add_slopes_of_bound(rer_channel_search *fit)
{
    const rer_channel *channel = fit->channel;
    int64_t C = channel->C, place = 0;
    double S = rer_channel_largest_confusion(channel, &place), u = channel->uniform, mean = 0;
    double *z = fit->of_class, *s = z + C, *share = fit->gradient + fit->kinds;
    double by_u = share[RER_LOGIT_UNIFORM] + rer_channel_prior_slope(u);
    double by_s = -(1 - FLOOR) * by_u * (u - RER_CHANNEL_LEAST_UNIFORM) / (1 + S);
    int64_t k = place % C, largest = place / C;
    (void)look_at_class(z, s, fit, k);
    for (int64_t c = 0; c < C; c++)
        mean += s[c] * z[c];
    share[RER_LOGIT_CONFUSION] += by_s * s[largest] * (z[largest] - mean);
    for (int64_t c = 0; c < C; c++)
        pass_on(fit, k, c, by_s * channel->confusion * s[largest] * ((c == largest) - s[c]));
}

void rer_channel_add_confusion_slopes(rer_channel_search *fit)
{
    const rer_channel *channel = fit->channel;
    int64_t C = channel->C;
    const double *pairs = fit->pair_sums;
    double *z = fit->of_class, *s = z + C, *share = fit->gradient + fit->kinds, u = channel->uniform;
    double by_u = 0, by_confusion = 0;
    for (int64_t k = 0; k < C; k++) {
        double mean = 0;
        (void)look_at_class(z, s, fit, k);
        for (int64_t c = 0; c < C; c++) {
            mean += s[c] * pairs[c * C + k];
            by_u += (double)channel->alike[c * C + k] * pairs[c * C + k];
        }
        if (rer_channel_is_free(channel, k))
            by_u -= pairs[k * C + k];
        for (int64_t c = 0; c < C; c++) {
            double slope = u * (1 - FLOOR) * s[c] * (pairs[c * C + k] - mean);
            by_confusion += slope * z[c];
            pass_on(fit, k, c, -channel->confusion * slope);
        }
    }
    share[RER_LOGIT_UNIFORM] -= by_u;
    share[RER_LOGIT_CONFUSION] -= by_confusion;
    add_slopes_of_bound(fit);
}
