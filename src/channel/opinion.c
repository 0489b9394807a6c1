/* See opinion.h. */
#include "channel/opinion.h"

#include <math.h>
#include <string.h>

#define LEAST_PROBABILITY 1e-6f
#define SUM_TOLERANCE 1e-3

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

rer_status rer_opinion_rows(float *evidence, const rer_dataset *data, int64_t first, int64_t count,
                            const uint8_t *invalid, const float *log_n, void *scratch, rer_error *error)
{
    int32_t C = data->labels.C;
    rer_status status = rer_array_rows(&data->pred_probs, first, count, evidence, scratch, error);
    for (int64_t i = 0; status == RER_OK && i < count; i++) {
        float *row = evidence + i * C, highest = -INFINITY;
        if (invalid != NULL && invalid[i] != 0)
            continue;
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

rer_status rer_opinion_of(float *evidence, const rer_dataset *data, const int64_t *row, int64_t count,
                          const float *log_n, rer_error *error)
{
    void *raw = NULL;
    int64_t C = data->labels.C;
    rer_status status = rer_allocate(&raw, rer_opinion_scratch(data, 1), 1, "probabilities", error);
    for (int64_t i = 0; status == RER_OK && i < count; i++)
        status = rer_opinion_rows(evidence + i * C, data, row[i], 1, NULL, log_n, raw, error);
    free(raw);
    return status;
}
