/* N_kc is the sum of w_k over the rows labelled c. A row is taken out of the counts that it is judged by, or
 * every pair of classes seen once would confirm itself. */
#include "judge/pair_channel.h"

#include <math.h>
#include <string.h>

#define PSEUDO_COUNTS 10.0
#define SEARCH_EVERY 5 /* rounds */
#define SEARCH_FAR 1.0 /* of log t, to either side: the first time, by golden sections; */
#define SEARCH_STEPS 6
#define SEARCH_NEAR .3 /* the second by a parabola, */
#define SEARCH_NEXT .1 /* and then by such that are too narrow for the skew of what is sought to show */
#define NO_MORE .03    /* a search that moved log t by less was the last */
#define AT_ONCE 4      /* likelihoods that go into one logarithm */
#define ONE_WAY .5
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
    double likelihood = 0, right = 0, product = 1;
    if (take)
        memset(fit->next, 0, (size_t)C * (size_t)C * sizeof *fit->next);
    for (int64_t i = 0; i < problem->rows; i++) {
        const float *p = fit->p + i * C;
        row_channel(fit, i, channel);
        double sum = fit->problem->kernels->dot_f32(p, channel, C);
        product *= fmax(sum, 1e-70);
        if (i % AT_ONCE == AT_ONCE - 1) {
            likelihood += log(product);
            product = 1;
        }
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
    return (likelihood + log(product)) / (double)problem->rows;
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

/* Moves t to where the labels seen are likeliest; false: it hardly moved. */
static bool move_temperature(rer_pair_fit *fit, int round, float *channel)
{
    temperature_search search = {fit, channel};
    double log_t = log(fit->t), best;
    if (round == 0) {
        best = rer_golden_section(likelihood_at, &search, log_t - SEARCH_FAR, log_t + SEARCH_FAR, SEARCH_STEPS);
    } else {
        double width = round == SEARCH_EVERY ? SEARCH_NEAR : SEARCH_NEXT;
        double x[3] = {log_t - width, log_t, log_t + width}, y[3];
        for (int i = 0; i < 3; i++)
            y[i] = likelihood_at(&search, x[i]);
        best = y[1] >= fmax(y[0], y[2]) ? rer_parabola_top(x, y) : x[y[0] > y[2] ? 0 : 2];
    }
    fit->t = exp(best);
    set_posteriors(fit, fit->t);
    return fabs(best - log_t) >= NO_MORE;
}

void rer_pair_fit_run(rer_pair_fit *fit, int rounds, float *channel)
{
    bool searching = fit->search_t;
    int least = fit->begun ? 1 : SEARCH_EVERY;
    set_posteriors(fit, fit->t);
    for (int round = 0; round < rounds; round++) {
        if (searching && round % SEARCH_EVERY == 0) {
            bool moved = move_temperature(fit, round, channel);
            searching = moved || round <= SEARCH_EVERY; /* the channel has hardly begun */
        }
        double before = fit->likelihood;
        fit->likelihood = expect(fit, channel, true);
        maximise(fit);
        if (!searching && round > least && fabs(fit->likelihood - before) < SETTLED)
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

double rer_pair_fit_doubt(const rer_pair_fit *fit)
{
    const rer_label_problem *problem = fit->problem;
    double sum = 0;
    for (int64_t i = 0; i < problem->rows; i++)
        sum += rer_doubt(fit->p + i * problem->C, problem->C);
    return sum / (double)problem->rows;
}

void rer_pair_fit_wrong(double *wrong, const rer_pair_fit *fit)
{
    const rer_label_problem *problem = fit->problem;
    for (int64_t i = 0; i < problem->rows; i++)
        wrong[i] = 1 - (double)fit->w[i * problem->C + problem->code[i]];
}

double rer_pair_fit_count(const rer_pair_fit *fit, int64_t k, int64_t c)
{
    int64_t C = fit->problem->C;
    double noise = fit->noise;
    return fit->counts[c * C + k] + PSEUDO_COUNTS * (k == c ? 1 - noise : noise / (double)(C - 1));
}

double rer_pair_fit_total(const rer_pair_fit *fit, int64_t k)
{
    return fit->totals[k] + PSEUDO_COUNTS;
}

/* Share of N_kc that is mistakes. */
static double share_of_mistakes(const rer_pair_fit *fit, const rer_pair_fit *mutual, int64_t k, int64_t c, double eta)
{
    double there = rer_pair_fit_count(fit, k, c), back = rer_pair_fit_count(fit, c, k);
    double any = fmin(1, eta * rer_pair_fit_total(fit, k) / (double)(fit->problem->C - 1) / there);
    bool one_way = rer_pair_fit_count(mutual, c, k) < ONE_WAY * rer_pair_fit_count(mutual, k, c);
    return one_way ? fmax(1 - back / there, any) : any;
}

void rer_pair_fit_wrong_by_direction(double *wrong, const rer_pair_fit *fit, const rer_pair_fit *mutual, double eta)
{
    int64_t C = fit->problem->C;
    for (int64_t i = 0; i < fit->problem->rows; i++) {
        int64_t c = fit->problem->code[i];
        wrong[i] = 0;
        for (int64_t k = 0; k < C; k++)
            if (k != c)
                wrong[i] += (double)fit->w[i * C + k] * share_of_mistakes(fit, mutual, k, c, eta);
    }
}

void rer_pair_fit_take(rer_pair_fit *fit, double **counts, double **totals)
{
    int64_t C = fit->problem->C;
    for (int64_t c = 0; c < C; c++)
        for (int64_t k = 0; k < C; k++)
            fit->counts[c * C + k] = rer_pair_fit_count(fit, k, c);
    for (int64_t k = 0; k < C; k++)
        fit->totals[k] = rer_pair_fit_total(fit, k);
    *counts = fit->counts;
    *totals = fit->totals;
    fit->counts = fit->totals = NULL;
}
