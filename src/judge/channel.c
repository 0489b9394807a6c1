/* The label seen is the true one sent through a channel T, T_kc = P(seen c | true k). With the
 * left-out class posterior p_k ~ n_k exp(-t d2_k / 2) of a row labelled c:
 *
 *   likelihood of the label   sum_k p_k T_kc
 *   true class given it       w_k = p_k T_kc / sum_j p_j T_jc,   P(label is wrong) = 1 - w_c
 *
 * Four channels are fitted to sampled rows, by the held-out likelihood of the labels seen:
 *   uniform   T_kc = u / (C - 1)                                         (likelihood.c)
 *   likeness  T_kc = u / (C - 1) + v p_c / (1 - p_k)                     (likeness.c)
 *   mutual    T_kc = (N_kc + N_ck) / (n_k + n_c)                         (pair_channel.c)
 *   directed  T_kc = N_kc / n_k
 * N_kc = sum of w_k over the rows labelled c, by expectation-maximisation; a row is taken out of the
 * counts that it is judged by, or every pair seen once would confirm itself. Classes that overlap
 * are confused both ways, in the mutual channel as well as in the directed one; mistakes made by a
 * rule go one way. So the directed channel is taken where it explains the labels better than the
 * mutual one by GAIN a label, else the likeness channel where it does so against the uniform one,
 * else that one: overlap is no mistake.
 *
 * The noise rate is noise_rate.c's; where the uniform channel has missed most of it, and more than the
 * posterior is in doubt, the robust fit that it comes from is believed for the probabilities too.
 *
 * Ranking wants a sharper posterior than calibration (SHARPNESS t) unless rates of pairs take part; a
 * logistic line brings the score back to the probabilities 1 - w_c. */
#include "judge/channel.h"

#include "core/core.h"
#include "judge/noise_rate.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define SHARPNESS 2.0
#define GAIN .02
#define BEYOND_DOUBT 2.0
#define LABELS_A_CLASS 20 /* sampled; with fewer the rates of pairs are not known */
#define TINY 1e-12f

/* ---- the fits, side by side -------------------------------------------------------------- */

enum { DIRECTED, MUTUAL, ROBUST, PAIRED, LIKENESS = PAIRED, FITS };

typedef struct channel_job {
    rer_pair_fit fit[PAIRED];
    rer_noise_fit *noise;
    const rer_label_problem *problem;
    double near;  /* t of the uniform channel */
    double *part; /* [rows, RER_SHARES] */
    rer_likeness_fit likeness;
    bool pairs; /* DIRECTED, MUTUAL and ROBUST are wanted */
} channel_job;

static rer_status run_fit(void *context, int64_t item, void *scratch, rer_error *error)
{
    (void)error;
    channel_job *job = context;
    int which = job->pairs ? (int)item : LIKENESS;
    if (which == LIKENESS)
        job->likeness = rer_fit_likeness(job->problem, job->near, job->part, scratch);
    else if (which == ROBUST)
        rer_noise_fit_run(job->noise, &job->fit[ROBUST], scratch);
    else
        rer_pair_fit_run(&job->fit[which], RER_PAIR_SEARCH_ROUNDS, scratch);
    return RER_OK;
}

/* P(label is wrong) of row i under the uniform channel, 1 - (1 - eta) p_c / [(1 - eta) p_c + eta (1 - p_c) / (C - 1)]. */
static double wrong_by_uniform(const rer_label_problem *problem, int64_t i, double t, double eta)
{
    int32_t C = problem->C;
    double p = rer_own_posterior(problem->d2 + i * C, problem->code[i], problem->log_n, C, t, problem->kernels);
    double right = (1 - eta) * p, mistaken = eta * (1 - p) / (C - 1);
    return right + mistaken > 0 ? mistaken / (right + mistaken) : 1;
}

/* Takes over the channel that `fit` has found. */
static rer_status take_channel(rer_channel *channel, rer_pair_fit *fit, rer_error *error)
{
    channel->temperature = fit->t;
    rer_pair_fit_take(fit, &channel->counts, &channel->totals);
    return rer_channel_finish(channel, fit->problem->log_n, error);
}

/* How much sharper than the channel's own posterior ranking is. */
static double sharpness(const rer_channel *channel)
{
    return channel->bias != NULL ? 1 : SHARPNESS;
}

/* ---- calibration ------------------------------------------------------------------------- */

/* With few mistakes to go by, the line stays near the one that theory gives: of a score that is
 * `sharp` times too sharp, and of the channel's own odds. */
typedef struct line_fit {
    const double *score, *wrong; /* [rows] */
    int64_t rows;
    double sharp, expected; /* expected: the offset */
} line_fit;

static double cross_entropy(const line_fit *line, double slope, double offset)
{
    const double *score = line->score, *wrong = line->wrong;
    double tilt = line->sharp * slope - 1, shift = offset - line->expected, sum = (tilt * tilt + shift * shift) / 2;
    for (int64_t i = 0; i < line->rows; i++) {
        double z = slope * score[i] + offset;
        sum += (z > 0 ? z + log1p(exp(-z)) : log1p(exp(z))) - wrong[i] * z;
    }
    return sum;
}

/* Newton's steps on the (convex) cross-entropy of logistic(slope score + offset) with the
 * probabilities, halved until it falls; the slope stays above a small positive one. */
static void fit_line(rer_channel *channel, const line_fit *line)
{
    const double *score = line->score;
    double sharp = line->sharp, slope = 1 / sharp, offset = line->expected, loss = cross_entropy(line, slope, offset);
    for (int step = 0; step < 60; step++) {
        double tilt = sharp * slope - 1, gs = -sharp * tilt, go = line->expected - offset;
        double ss = sharp * sharp, so = 0, oo = 1, factor = 1, next = INFINITY;
        for (int64_t i = 0; i < line->rows; i++) {
            double q = 1 / (1 + exp(-(slope * score[i] + offset))), weight = q * (1 - q);
            gs += (line->wrong[i] - q) * score[i];
            go += line->wrong[i] - q;
            ss += weight * score[i] * score[i];
            so += weight * score[i];
            oo += weight;
        }
        double determinant = ss * oo - so * so;
        double ds = (gs * oo - go * so) / determinant, dz = (go * ss - gs * so) / determinant;
        for (int half = 0; half < 40; half++, factor /= 2) {
            next = slope + factor * ds > 1e-3 / sharp ? cross_entropy(line, slope + factor * ds, offset + factor * dz)
                                                      : INFINITY;
            if (next <= loss)
                break;
        }
        if (!(next < loss - 1e-9 * fabs(loss)))
            break;
        slope += factor * ds;
        offset += factor * dz;
        loss = next;
    }
    channel->slope = slope;
    channel->offset = offset;
}

static rer_status calibrate(rer_channel *channel, const rer_channel_sample *sample, const double *wrong,
                            const rer_kernels *kernels, rer_error *error)
{
    int32_t C = sample->C;
    double *score = NULL;
    float *row = NULL;
    rer_status status = rer_allocate(&score, sample->rows, sizeof *score, "scores", error);
    if (status == RER_OK)
        status = rer_allocate(&row, 2 * (int64_t)C, sizeof *row, "scores", error);
    channel->slope = 1;
    channel->offset = 0;
    for (int64_t i = 0; status == RER_OK && i < sample->rows; i++) {
        memcpy(row, sample->d2 + i * C, (size_t)C * sizeof *row);
        double others =
            rer_channel_others(channel, row, 0, C, sample->code[i], sample->log_n, channel->counted, row + C, kernels);
        score[i] =
            rer_channel_logit(channel, others, (double)row[sample->code[i]], (double)sample->log_n[sample->code[i]]);
    }
    if (status == RER_OK) {
        double odds = channel->uniform / ((1 - channel->uniform) * (C - 1));
        bool plain = channel->counts == NULL && channel->likeness == 0;
        line_fit line = {score, wrong, sample->rows, sharpness(channel), plain ? log(odds) : 0};
        fit_line(channel, &line);
    }
    free(score);
    free(row);
    return status;
}

/* ---- the whole --------------------------------------------------------------------------- */

/* Sets the channel to the directed, the likeness or the uniform one, and `wrong` [rows] to what the
 * sampled rows' labels are worth under it. */
static rer_status choose(rer_channel *channel, channel_job *job, const rer_label_fit *uniform, double *wrong,
                         rer_error *error)
{
    const rer_label_problem *problem = job->problem;
    const rer_likeness_fit *likeness = &job->likeness;
    rer_pair_fit *fit = job->fit;
    double simple = fmax(uniform->likelihood, likeness->likelihood);
    if (job->pairs && fit[DIRECTED].likelihood > fmax(simple, fit[MUTUAL].likelihood + GAIN)) {
        rer_pair_fit_wrong_by_direction(wrong, &fit[DIRECTED], &fit[MUTUAL], uniform->noise);
        return take_channel(channel, &fit[DIRECTED], error);
    }
    bool alike = likeness->likelihood > uniform->likelihood + GAIN;
    if (alike) {
        channel->temperature = likeness->temperature;
        channel->uniform = fmax(likeness->share[RER_UNIFORM], DBL_MIN);
        channel->likeness = likeness->share[RER_LIKENESS];
    }
    double missed = rer_noise_fit_least(job->noise, likeness) - uniform->noise; /* taken for overlap */
    if (job->pairs && missed > BEYOND_DOUBT * job->noise->doubt && missed > uniform->noise) {
        memcpy(wrong, job->noise->wrong, (size_t)problem->rows * sizeof *wrong);
        return RER_OK;
    }
    for (int64_t i = 0; i < problem->rows; i++)
        wrong[i] = alike ? rer_likeness_wrong(likeness, job->part + i * RER_SHARES)
                         : wrong_by_uniform(problem, i, uniform->temperature, channel->uniform);
    return RER_OK;
}

/* Fits all channels side by side and takes one. */
static rer_status fit_channels(rer_channel *channel, const rer_channel_sample *sample, const rer_label_fit *uniform,
                               channel_job *job, double *wrong, rer_pool *pool, rer_error *error)
{
    rer_job work = {.stage = "looking at the labels",
                    .from = .48,
                    .to = .5,
                    .items = job->pairs ? FITS : sample->C <= RER_CHANNEL_CLASSES,
                    .scratch = 2 * sample->C * (int64_t)sizeof(float) + 64,
                    .work = run_fit,
                    .context = job};
    rer_status status = rer_allocate(&job->part, sample->rows, RER_SHARES * sizeof(double), "posteriors", error);
    for (int i = 0; status == RER_OK && job->pairs && i < PAIRED; i++) {
        status = rer_pair_fit_make(&job->fit[i], job->problem, uniform->temperature, error);
        job->fit[i].mutual = i == MUTUAL;
        job->fit[i].search_t = i != ROBUST;
    }
    if (status == RER_OK)
        status = rer_pool_run(pool, &work, error);
    if (status == RER_OK) {
        rer_noise_estimate noise = rer_noise_fit_rate(job->noise, &job->likeness);
        channel->noise_rate = noise.rate;
        channel->noise_low = noise.low;
        channel->noise_high = noise.high;
        status = choose(channel, job, uniform, wrong, error);
    }
    for (int i = 0; i < PAIRED; i++)
        rer_pair_fit_clear(&job->fit[i]);
    free(job->part);
    return status;
}

/* The temperatures that the fits begin with: the uniform channel's and the robust one, side by side. */
typedef struct temperature_job {
    const rer_label_problem *problem;
    rer_label_fit uniform;
    rer_noise_fit *noise;
    bool pairs;
} temperature_job;

static rer_status find_temperature(void *context, int64_t item, void *scratch, rer_error *error)
{
    (void)error;
    temperature_job *job = context;
    if (item == 0) {
        rer_label_problem problem = *job->problem;
        problem.scratch = scratch;
        job->uniform = rer_fit_labels(&problem);
        return RER_OK;
    }
    rer_noise_fit_start(job->noise);
    if (!job->pairs)
        rer_noise_fit_run_uniform(job->noise, scratch);
    return RER_OK;
}

static rer_status fit_all(rer_channel *made, const rer_channel_sample *sample, rer_noise_fit *noise, bool pairs,
                          double *wrong, rer_pool *pool, rer_error *error)
{
    const rer_label_problem *problem = noise->problem;
    temperature_job found = {.problem = problem, .noise = noise, .pairs = pairs};
    rer_job work = {.stage = "looking at the labels",
                    .from = .48,
                    .to = .48,
                    .items = 2,
                    .scratch = rer_max(sample->rows * (int64_t)sizeof(double), sample->C * (int64_t)sizeof(float)),
                    .work = find_temperature,
                    .context = &found};
    rer_status status = rer_pool_run(pool, &work, error);
    if (status != RER_OK)
        return status;
    made->temperature = found.uniform.temperature;
    /* Half a sample of N at least: an estimate of 0 would rule out every mistake. */
    double least = .5 / (double)rer_max(1, sample->N);
    made->uniform = fmin(fmax(found.uniform.noise, least), 1 - least);
    channel_job job = {.noise = noise,
                       .problem = problem,
                       .near = found.uniform.temperature,
                       .likeness = {.likelihood = -INFINITY},
                       .pairs = pairs};
    return fit_channels(made, sample, &found.uniform, &job, wrong, pool, error);
}

rer_status rer_channel_fit(rer_channel *channel, const rer_channel_sample *sample, const rer_kernels *kernels,
                           rer_pool *pool, rer_error *error)
{
    double *wrong = NULL, *scratch = NULL;
    rer_channel made = {.C = sample->C, .counted = sample->rows >= sample->N / 2};
    rer_status status = rer_allocate(&wrong, sample->rows, sizeof *wrong, "probabilities", error);
    if (status == RER_OK)
        status = rer_allocate(&scratch, sample->rows, sizeof *scratch, "posteriors", error);
    rer_label_problem problem = {.d2 = sample->d2,
                                 .code = sample->code,
                                 .log_n = sample->log_n,
                                 .rows = sample->rows,
                                 .C = sample->C,
                                 .kernels = kernels,
                                 .scratch = scratch};
    rer_noise_fit noise = {0};
    bool pairs = sample->C <= rer_min(RER_CHANNEL_CLASSES, sample->rows / LABELS_A_CLASS);
    if (status == RER_OK)
        status = rer_noise_fit_make(&noise, &problem, pairs, error);
    if (status == RER_OK)
        status = fit_all(&made, sample, &noise, pairs, wrong, pool, error);
    if (status == RER_OK)
        status = calibrate(&made, sample, wrong, kernels, error);
    rer_noise_fit_clear(&noise);
    free(wrong);
    free(scratch);
    if (status != RER_OK) {
        rer_channel_clear(&made);
        return status;
    }
    *channel = made;
    return RER_OK;
}

rer_status rer_channel_finish(rer_channel *channel, const float *log_n, rer_error *error)
{
    int64_t C = channel->C;
    rer_status status = rer_allocate(&channel->bias, C * C, sizeof(float), "the noise channel", error);
    if (status != RER_OK)
        return status;
    for (int64_t c = 0; c < C; c++) {
        double own = channel->counts[c * C + c] / channel->totals[c];
        for (int64_t k = 0; k < C; k++) {
            double rate = channel->counts[c * C + k] / channel->totals[k];
            channel->bias[c * C + k] = log_n[k] + (float)log(fmax(rate, (double)TINY) / fmax(own, (double)TINY));
        }
    }
    return RER_OK;
}

void rer_channel_clear(rer_channel *channel)
{
    free(channel->counts);
    free(channel->totals);
    free(channel->bias);
    channel->counts = channel->totals = NULL;
    channel->bias = NULL;
}

/* ---- scores ------------------------------------------------------------------------------ */

/* bias [C] of one row without its own part in the counts: w_k as the channel with it gives them. */
static void leave_out(float *bias, const rer_channel *channel, const float *d2, int32_t c, const rer_kernels *kernels)
{
    int64_t C = channel->C;
    const double *counts = channel->counts + c * C;
    const float *with = channel->bias + c * C;
    rer_posterior(bias, d2, with, channel->temperature, C, kernels);
    double own = fmax(counts[c] - (double)bias[c], (double)TINY) / (channel->totals[c] - (double)bias[c]);
    for (int64_t k = 0; k < C; k++) {
        double w = (double)bias[k], rate = fmax(counts[k] - w, (double)TINY) / (channel->totals[k] - w);
        double before = counts[k] / channel->totals[k] * channel->totals[c] / counts[c];
        bias[k] = with[k] + (float)log(rate / (own * before));
    }
}

double rer_channel_others(const rer_channel *channel, float *d2, int32_t first, int32_t classes, int32_t code,
                          const float *log_n, bool row_counts, float *scratch, const rer_kernels *kernels)
{
    const float *bias = log_n + first;
    if (channel->likeness > 0) /* all classes are in this tile */
        return rer_likeness_logit(channel->uniform, channel->likeness, SHARPNESS * channel->temperature, d2, code,
                                  log_n, classes, scratch, kernels) +
               (double)log_n[code] - SHARPNESS * channel->temperature / 2 * (double)d2[code];
    if (channel->bias != NULL)
        bias = channel->bias + (int64_t)code * channel->C;
    if (channel->bias != NULL && row_counts) {
        leave_out(scratch, channel, d2, code, kernels);
        bias = scratch;
    }
    bool has_own = code >= first && code < first + classes;
    float own = has_own ? d2[code - first] : 0;
    if (has_own)
        d2[code - first] = FLT_MAX;
    double others = kernels->log_sum_exp(d2, bias, sharpness(channel) * channel->temperature / 2, classes);
    if (has_own)
        d2[code - first] = own;
    return others;
}

double rer_channel_logit(const rer_channel *channel, double others, double own, double log_n)
{
    return channel->slope * (others + sharpness(channel) * channel->temperature / 2 * own - log_n) + channel->offset;
}
