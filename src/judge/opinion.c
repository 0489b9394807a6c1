/* Two class posteriors of the same row, ours from left-out errors and the user's q, pooled by weight:
 *
 *   p_k ~ n_k exp(-t d2_k / 2) (q_k / n_k)^w = n_k exp(-t / 2 (d2_k + v penalty_k)),   v = 2 w / t
 *   penalty_k = max_j log(q_j / n_j) - log(q_k / n_k) >= 0
 *
 * (q has the class sizes in it already). So the opinion is one more term of the squared errors, and
 * the noise channel is fitted to their sum. w = 0 is ours alone, w -> infinity theirs alone. It is the
 * one whose p explains the labels seen best, by the loss that wrong labels do not drive (mean p_c^q
 * as in fit/select.c): a grid of powers of two, then the neighbourhood of its best. */
#include "judge/opinion.h"

#include <math.h>
#include <string.h>

#define LEAST_PROBABILITY 1e-6f
#define SUM_TOLERANCE 1e-3
#define WEIGHT_LEAST .0625
#define WEIGHTS 11
#define REFINED 3

int64_t rer_opinion_scratch(const rer_dataset *data, int64_t rows)
{
    return data->pred_probs.name != NULL ? rows * rer_array_row_bytes(&data->pred_probs) + 64 : 0;
}

static rer_status check_row(const float *q, int64_t row, const rer_dataset *data, rer_error *error)
{
    double sum = 0;
    for (int32_t k = 0; k < data->labels.C; k++) {
        if (!(q[k] >= 0 && q[k] <= 1 + (float)SUM_TOLERANCE))
            return rer_fail(error, RER_BAD_INPUT, "%s: row %lld, column %d is %g; probabilities are from 0 to 1",
                            data->pred_probs.name, (long long)row, k, (double)q[k]);
        sum += (double)q[k];
    }
    if (fabs(sum - 1) > SUM_TOLERANCE)
        return rer_fail(error, RER_BAD_INPUT,
                        "%s: row %lld sums to %g; the probabilities of a row sum to 1 (softmax turns logits into them)",
                        data->pred_probs.name, (long long)row, sum);
    return RER_OK;
}

rer_status rer_opinion_rows(float *penalty, const rer_dataset *data, int64_t first, int64_t count, const float *log_n,
                            void *scratch, rer_error *error)
{
    int32_t C = data->labels.C;
    rer_status status = rer_array_rows(&data->pred_probs, first, count, penalty, scratch, error);
    for (int64_t i = 0; status == RER_OK && i < count; i++) {
        float *row = penalty + i * C, highest = -INFINITY;
        status = check_row(row, first + i, data, error);
        for (int32_t k = 0; k < C; k++) {
            row[k] = logf(fmaxf(row[k], LEAST_PROBABILITY)) - fmaxf(log_n[k], 0);
            highest = fmaxf(highest, row[k]);
        }
        for (int32_t k = 0; k < C; k++)
            row[k] = highest - row[k];
    }
    return status;
}

/* ---- the weight -------------------------------------------------------------------------- */

typedef struct opinion_search {
    const rer_channel_sample *sample;
    const rer_kernels *kernels;
    const float *penalty; /* [rows, C] */
    float *pooled;        /* [rows, C] */
    double *scratch;      /* [rows] */
    double unit;          /* v of w = 1 */
    double weight, fit;   /* the best so far */
} opinion_search;

static rer_label_fit fit_pooled(opinion_search *search, double weight)
{
    const rer_channel_sample *sample = search->sample;
    float v = (float)(weight * search->unit);
    for (int64_t i = 0; i < sample->rows * sample->C; i++)
        search->pooled[i] = sample->d2[i] + v * search->penalty[i];
    rer_label_problem problem = {.d2 = search->pooled,
                                 .code = sample->code,
                                 .log_n = sample->log_n,
                                 .rows = sample->rows,
                                 .C = sample->C,
                                 .kernels = search->kernels,
                                 .scratch = search->scratch};
    rer_label_fit fit = rer_fit_robust(&problem, false);
    if (fit.likelihood > search->fit) {
        search->fit = fit.likelihood;
        search->weight = weight;
    }
    return fit;
}

static void search_weight(opinion_search *search)
{
    search->fit = -INFINITY;
    search->unit = 2 / fit_pooled(search, 0).temperature;
    for (int i = 0; i < WEIGHTS; i++)
        (void)fit_pooled(search, ldexp(WEIGHT_LEAST, i));
    for (double step = .5; search->weight > 0 && step > ldexp(.5, -REFINED); step /= 2) {
        double center = search->weight;
        (void)fit_pooled(search, center * exp2(-step));
        (void)fit_pooled(search, center * exp2(step));
    }
}

rer_status rer_opinion_weigh(double *weight, float *d2, const int64_t *row, const rer_channel_sample *sample,
                             const rer_dataset *data, const rer_kernels *kernels, rer_error *error)
{
    int64_t C = sample->C;
    float *penalty = NULL, *pooled = NULL;
    double *scratch = NULL;
    void *raw = NULL;
    rer_status status = rer_allocate(&penalty, sample->rows, C * (int64_t)sizeof(float), "probabilities", error);
    if (status == RER_OK)
        status = rer_allocate(&pooled, sample->rows, C * (int64_t)sizeof(float), "pooled errors", error);
    if (status == RER_OK)
        status = rer_allocate(&scratch, sample->rows, sizeof *scratch, "posteriors", error);
    if (status == RER_OK)
        status = rer_allocate(&raw, rer_opinion_scratch(data, 1), 1, "probabilities", error);
    for (int64_t i = 0; status == RER_OK && i < sample->rows; i++)
        status = rer_opinion_rows(penalty + i * C, data, row[i], 1, sample->log_n, raw, error);
    if (status == RER_OK) {
        opinion_search search = {
            .sample = sample, .kernels = kernels, .penalty = penalty, .pooled = pooled, .scratch = scratch};
        search_weight(&search);
        *weight = search.weight * search.unit;
        for (int64_t i = 0; i < sample->rows * C; i++)
            d2[i] += (float)*weight * penalty[i];
    }
    free(penalty);
    free(pooled);
    free(scratch);
    free(raw);
    return status;
}
