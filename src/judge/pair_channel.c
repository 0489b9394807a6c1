/* N_kc is the sum of w_k over the rows labelled c. A row is taken out of the counts that it is judged by, or
 * every pair of classes seen once would confirm itself. */
#include "judge/pair_channel.h"

#include <math.h>
#include <string.h>

#define PSEUDO_COUNTS 10.0
#define SEARCH_STEPS 6
#define SECOND_SEARCH 5 /* round */
#define SETTLED 1e-6
#define TINY 1e-12f

static void set_posteriors(rer_pair_fit *fit, double t)
{
    const rer_label_problem *problem = fit->problem;
    for (int64_t i = 0; i < problem->rows; i++)
        rer_posterior(fit->p + i * problem->C, problem->d2 + i * problem->C, problem->log_n, t, problem->C,
                      fit->problem->kernels);
}

/* T_kc of row i for all k, without the row's own part in the counts. */
static void row_channel(const rer_pair_fit *fit, int64_t i, float *restrict channel)
{
    const rer_label_problem *problem = fit->problem;
    int32_t C = problem->C, c = problem->code[i];
    const float *restrict w = fit->w + i * C, *restrict top = fit->top + (int64_t)c * C;
    const float *restrict bottom = fit->bottom;
    if (!fit->begun) {
        for (int32_t k = 0; k < C; k++)
            channel[k] = .1f / (float)(C - 1);
        channel[c] = .9f;
        return;
    }
    float own = fit->mutual ? bottom[c] : 0, part = fit->mutual ? 0 : 1;
    for (int32_t k = 0; k < C; k++) {
        float left = top[k] - w[k];
        channel[k] = (left > TINY ? left : TINY) / (bottom[k] + own - part * w[k]);
    }
    if (fit->mutual)
        channel[c] = fit->kept[c];
}

/* Mean log likelihood of the labels seen; with `take`, also the responsibilities and their counts. */
static double expect(rer_pair_fit *fit, float *channel, bool take)
{
    const rer_label_problem *problem = fit->problem;
    int32_t C = problem->C;
    double likelihood = 0, right = 0;
    if (take)
        memset(fit->next, 0, (size_t)C * (size_t)C * sizeof *fit->next);
    for (int64_t i = 0; i < problem->rows; i++) {
        const float *p = fit->p + i * C;
        row_channel(fit, i, channel);
        double sum = fit->problem->kernels->dot_f32(p, channel, C);
        likelihood += log(fmax(sum, 1e-300));
        if (!take)
            continue;
        float *w = fit->w + i * C, scale = (float)(1 / fmax(sum, 1e-37));
        double *next = fit->next + (int64_t)problem->code[i] * C;
        for (int32_t k = 0; k < C; k++) {
            w[k] = p[k] * channel[k] * scale;
            next[k] += (double)w[k];
        }
        right += (double)w[problem->code[i]];
    }
    if (take)
        fit->noise = fmin(fmax(1 - right / (double)problem->rows, 0), 1);
    return likelihood / (double)problem->rows;
}

static void maximise(rer_pair_fit *fit)
{
    int64_t C = fit->problem->C;
    double *made = fit->next, off = PSEUDO_COUNTS * fit->noise / (double)(C - 1);
    fit->next = fit->counts;
    fit->counts = made;
    fit->begun = true;
    for (int64_t k = 0; k < C; k++) {
        fit->totals[k] = 0;
        for (int64_t c = 0; c < C; c++)
            fit->totals[k] += made[c * C + k];
        fit->bottom[k] = (float)(fit->totals[k] + PSEUDO_COUNTS);
    }
    for (int64_t c = 0; c < C; c++) {
        float *top = fit->top + c * C, out = 0;
        for (int64_t k = 0; k < C; k++)
            top[k] = (float)(made[c * C + k] + off + (fit->mutual ? made[k * C + c] + off : 0));
        for (int64_t k = 0; fit->mutual && k < C; k++)
            out += k != c ? top[k] / (fit->bottom[k] + fit->bottom[c]) : 0;
        if (fit->mutual)
            fit->kept[c] = 1 - out > .05f ? 1 - out : .05f;
        else
            top[c] = (float)(made[c * C + c] + PSEUDO_COUNTS * (1 - fit->noise));
    }
}

/* What the search for t looks at. */
typedef struct temperature_search {
    rer_pair_fit *fit;
    float *channel;
} temperature_search;

static double likelihood_at(void *context, double log_t)
{
    const temperature_search *search = context;
    set_posteriors(search->fit, exp(log_t));
    return expect(search->fit, search->channel, false);
}

void rer_pair_fit_run(rer_pair_fit *fit, int rounds, float *channel)
{
    set_posteriors(fit, fit->t);
    for (int round = 0; round < rounds; round++) {
        if (fit->search_t && (round == 0 || round == SECOND_SEARCH)) {
            temperature_search search = {fit, channel};
            double log_t = log(fit->t);
            fit->t = exp(rer_golden_section(likelihood_at, &search, log_t - 1, log_t + 1, SEARCH_STEPS));
            set_posteriors(fit, fit->t);
        }
        double before = fit->likelihood;
        fit->likelihood = expect(fit, channel, true);
        maximise(fit);
        if (round > SECOND_SEARCH && fabs(fit->likelihood - before) < SETTLED)
            break;
    }
}

void rer_pair_fit_clear(rer_pair_fit *fit)
{
    free(fit->p);
    free(fit->w);
    free(fit->counts);
    free(fit->next);
    free(fit->totals);
    free(fit->top);
    free(fit->bottom);
    free(fit->kept);
}

rer_status rer_pair_fit_make(rer_pair_fit *fit, const rer_label_problem *problem, double t, rer_error *error)
{
    int64_t C = problem->C;
    *fit = (rer_pair_fit){.problem = problem, .t = t, .noise = .1};
    rer_status status = rer_allocate(&fit->p, problem->rows, C * (int64_t)sizeof(float), "posteriors", error);
    if (status == RER_OK)
        status = rer_allocate(&fit->w, problem->rows, C * (int64_t)sizeof(float), "responsibilities", error);
    if (status == RER_OK)
        status = rer_allocate(&fit->counts, C * C, sizeof(double), "the noise channel", error);
    if (status == RER_OK)
        status = rer_allocate(&fit->next, C * C, sizeof(double), "the noise channel", error);
    if (status == RER_OK)
        status = rer_allocate(&fit->totals, C, sizeof(double), "the noise channel", error);
    if (status == RER_OK)
        status = rer_allocate(&fit->top, C * C, sizeof(float), "the noise channel", error);
    if (status == RER_OK)
        status = rer_allocate(&fit->bottom, C, sizeof(float), "the noise channel", error);
    if (status == RER_OK)
        status = rer_allocate(&fit->kept, C, sizeof(float), "the noise channel", error);
    return status;
}

void rer_pair_fit_wrong(double *wrong, const rer_pair_fit *fit)
{
    const rer_label_problem *problem = fit->problem;
    for (int64_t i = 0; i < problem->rows; i++)
        wrong[i] = 1 - (double)fit->w[i * problem->C + problem->code[i]];
}

void rer_pair_fit_wrong_by_direction(double *wrong, const rer_pair_fit *fit, double eta)
{
    int64_t C = fit->problem->C;
    double off = PSEUDO_COUNTS * fit->noise / (double)(C - 1);
    for (int64_t i = 0; i < fit->problem->rows; i++) {
        int64_t c = fit->problem->code[i];
        wrong[i] = 0;
        for (int64_t k = 0; k < C; k++) {
            double there = fit->counts[c * C + k] + off, back = fit->counts[k * C + c] + off;
            double any = eta * (fit->totals[k] + PSEUDO_COUNTS) / (double)(C - 1);
            if (k != c)
                wrong[i] += (double)fit->w[i * C + k] * fmax(1 - back / there, fmin(1, any / there));
        }
    }
}

void rer_pair_fit_take(rer_pair_fit *fit, double **counts, double **totals)
{
    int64_t C = fit->problem->C;
    double off = PSEUDO_COUNTS * fit->noise / (double)(C - 1);
    for (int64_t c = 0; c < C; c++) {
        fit->totals[c] += PSEUDO_COUNTS;
        for (int64_t k = 0; k < C; k++)
            fit->counts[c * C + k] += k == c ? PSEUDO_COUNTS * (1 - fit->noise) : off;
    }
    *counts = fit->counts;
    *totals = fit->totals;
    fit->counts = fit->totals = NULL;
}
