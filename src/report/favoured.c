/* What the user's own probabilities say of a row: read where it is asked for, since few rows are. */
#include "report/report.h"
#include "run/result.h"
#include "source/dataset.h"

/* They were pooled with what the features say, into this result. */
static bool have_part(const rer_result *result, const rer_dataset *data)
{
    const rer_options *options = &result->options;
    return data->pred_probs.name != NULL && !rer_dataset_is_apart(data) && data->labels.C == result->C &&
           data->N == result->N && result->model != NULL && options->detector == RER_DETECT_RER &&
           options->probability == RER_CHANNEL;
}

int32_t rer_result_favoured(const rer_result *result, const rer_dataset *data, int64_t row)
{
    float *q = NULL; /* [C] */
    void *raw = NULL;
    int32_t best = 0, C = result->C;
    if (row < 0 || row >= result->N || !have_part(result, data))
        return -1;
    rer_status status = rer_allocate(&q, C, sizeof *q, "probabilities", NULL);
    RER_THEN(status, rer_allocate(&raw, rer_array_row_bytes(&data->pred_probs) + 64, 1, "probabilities", NULL));
    RER_THEN(status, rer_array_rows(&data->pred_probs, row, 1, q, raw, NULL));
    for (int32_t c = 1; status == RER_OK && c < C; c++)
        if (q[c] > q[best])
            best = c;
    RER_FREE_ALL(q, raw);
    return status == RER_OK ? best : -1;
}
