/* Normalisation of rows: unit length (unit, whiten), per-feature range (minmax), or none. */
#include "run/normalize.h"

double rer_normalize_row(const rer_normalizer *normalizer, float *x, int64_t D, double sum_squares)
{
    if (normalizer->kind == RER_UNIT || normalizer->kind == RER_WHITEN)
        return sum_squares > 0 && D > 1 ? 1 / sqrt(sum_squares) : 1; /* of one feature a bare sign would be left */
    if (normalizer->kind == RER_MINMAX && normalizer->low != NULL)
        for (int64_t j = 0; j < D; j++) {
            double scaled = ((double)x[j] - normalizer->low[j]) * normalizer->factor[j];
            x[j] = (float)(scaled < 0 ? 0 : scaled > 1 ? 1 : scaled);
        }
    return 1;
}

rer_status rer_normalizer_set_range(rer_normalizer *normalizer, const float *low, const float *high, int64_t D,
                                    rer_error *error)
{
    double *lows = NULL, *factors = NULL;
    rer_status status = rer_allocate(&lows, D, sizeof *lows, "feature ranges", error);
    if (status == RER_OK)
        status = rer_allocate(&factors, D, sizeof *factors, "feature ranges", error);
    if (status != RER_OK) {
        free(lows);
        return status;
    }
    for (int64_t j = 0; j < D; j++) {
        lows[j] = (double)low[j];
        factors[j] = high[j] > low[j] ? 1 / ((double)high[j] - (double)low[j]) : 0;
    }
    normalizer->low = lows;
    normalizer->factor = factors;
    return RER_OK;
}

void rer_normalizer_free(rer_normalizer *normalizer)
{
    RER_FREE_ALL(normalizer->low, normalizer->factor);
    *normalizer = (rer_normalizer){.kind = normalizer->kind};
}
