/* Samples that fit no class, by two signs.
 *
 * 1. No class stands out. With a row's errors e_k, best the smallest of C of them,
 *      margin = best - mean of the others                 (very negative: one class is much nearer).
 *    What a sample of an unknown class looks like, the rows tell themselves: the same of each row with
 *    its best class taken away is `removed`. The score is the share of these below the row's margin:
 *    a row of an unknown class has .5 in the median.
 * 2. It is far from everything: z = (log best - median) / (1.4826 MAD) is large; its score,
 *    1 / (1 + (FAR / z)^8), is .5 at z = FAR and nothing to speak of below 2.
 *
 * The score is the larger of the two, a flag needs .5. Where classes overlap, many good rows have
 * margins as weak as that: the first sign flags only rows that are also in the last TAIL of all margins.
 * Medians and shares come from at most SAMPLE rows, evenly spread: O(N). */
#include "judge/judge.h"
#include "stats/order.h"

#define FAR 4.0
#define TAIL .03
#define SAMPLE 16384
#define LEAST_ROWS 30 /* of fewer, nothing can be said of a tail */

typedef struct outlier_scale {
    double center, spread; /* of log best: median, 1.4826 MAD */
    double tail;           /* margins above it are the last TAIL */
    float *removed;        /* [n_removed] ascending */
    int64_t n_removed;
} outlier_scale;

static double best_error(const rer_result *result, int64_t row)
{
    double own = (double)result->own[row], other = (double)result->other[row];
    return own < other ? own : other; /* no own error: NaN, the other */
}

/* Value of the ascending values [n] at share 0..1. */
static double at_share(const float *values, int64_t n, double share)
{
    return (double)values[(int64_t)(share * (double)(n - 1))];
}

typedef enum value_kind { LOG_BEST, MARGIN, REMOVED } value_kind;

static float value_of(const rer_result *result, const rer_scores *scores, int64_t row, value_kind kind)
{
    if ((result->flags[row] & RER_FLAG_INVALID) != 0)
        return NAN;
    if (kind == LOG_BEST)
        return best_error(result, row) > 0 ? (float)log(best_error(result, row)) : NAN;
    return kind == MARGIN ? scores->margin[row] : scores->removed[row];
}

/* Values [SAMPLE at most] of evenly spread rows that have one, ascending; returns how many. */
static int64_t gather(float *values, const rer_result *result, const rer_scores *scores, value_kind kind)
{
    int64_t step = (result->N + SAMPLE - 1) / SAMPLE, n = 0;
    for (int64_t row = 0; row < result->N; row += step) {
        float value = value_of(result, scores, row, kind);
        if (!isnan(value))
            values[n++] = value;
    }
    rer_sort_floats(values, n);
    return n;
}

/* Fills the scale; false where there is too little to go by. `work` [SAMPLE]. */
static bool set_scale(outlier_scale *scale, const rer_result *result, const rer_scores *scores, float *work)
{
    int64_t n = gather(work, result, scores, LOG_BEST);
    if (n < LEAST_ROWS)
        return false;
    scale->center = at_share(work, n, .5);
    for (int64_t i = 0; i < n; i++)
        work[i] = fabsf(work[i] - (float)scale->center);
    rer_sort_floats(work, n);
    scale->spread = 1.4826 * at_share(work, n, .5);
    n = gather(work, result, scores, MARGIN);
    scale->tail = n > 0 ? at_share(work, n, 1 - TAIL) : INFINITY;
    scale->n_removed = gather(scale->removed, result, scores, REMOVED);
    return true;
}

static double share_below(const outlier_scale *scale, double margin)
{
    int64_t low = 0, high = scale->n_removed;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if ((double)scale->removed[middle] < margin)
            low = middle + 1;
        else
            high = middle;
    }
    return scale->n_removed > 0 && !isnan(margin) ? (double)low / (double)scale->n_removed : 0;
}

/* Whether it is an outlier. */
static bool judge_row(rer_result *result, const outlier_scale *scale, double margin, int64_t row)
{
    double best = best_error(result, row);
    double z = scale->spread > 0 && best > 0 ? (log(best) - scale->center) / scale->spread : 0;
    double far = z > 0 ? 1 / (1 + pow(FAR / z, 8)) : 0, unlike = share_below(scale, margin);
    result->outlier_score[row] = (float)fmax(far, unlike);
    return far >= .5 || (unlike >= .5 && margin > scale->tail);
}

enum { PIECE = 1024 }; /* rows that are judged at a time */

typedef struct outlier_pass {
    rer_result *result;
    const float *margin;        /* [N] */
    const outlier_scale *scale; /* NULL: too little to go by */
} outlier_pass;

static rer_status judge_piece(void *context, int64_t item, void *scratch, rer_error *error)
{
    (void)error;
    const outlier_pass *pass = context;
    rer_result *result = pass->result;
    int64_t *found = scratch;
    *found = 0;
    for (int64_t row = item * PIECE; row < rer_min((item + 1) * PIECE, result->N); row++) {
        if (pass->scale == NULL || (result->flags[row] & RER_FLAG_INVALID) != 0) {
            result->outlier_score[row] = NAN;
        } else if (judge_row(result, pass->scale, (double)pass->margin[row], row)) {
            result->flags[row] |= RER_FLAG_OUTLIER;
            (*found)++;
        }
    }
    return RER_OK;
}

static rer_status count_piece(void *context, int64_t item, void *scratch, rer_error *error)
{
    (void)item, (void)error;
    const outlier_pass *pass = context;
    pass->result->summary.n_outliers += *(const int64_t *)scratch;
    return RER_OK;
}

rer_status rer_judge_outliers(rer_result *result, const rer_scores *scores, rer_pool *pool, rer_error *error)
{
    outlier_scale scale = {0};
    float *work = NULL;
    if (scores->margin == NULL)
        return RER_OK;
    rer_room rooms[] = {RER_ROOM(work, SAMPLE), RER_ROOM(scale.removed, SAMPLE)};
    RER_TRY(rer_allocate_all(rooms, RER_COUNT(rooms), "outliers", error));
    bool known = set_scale(&scale, result, scores, work);
    outlier_pass pass = {.result = result, .margin = scores->margin, .scale = known ? &scale : NULL};
    rer_job job = {.stage = "judging",
                   .from = .98,
                   .to = 1,
                   .items = (result->N + PIECE - 1) / PIECE,
                   .scratch = sizeof(int64_t),
                   .work = judge_piece,
                   .commit = count_piece,
                   .context = &pass};
    rer_status status = rer_pool_run(pool, &job, error);
    RER_FREE_ALL(scale.removed, work);
    return status;
}
