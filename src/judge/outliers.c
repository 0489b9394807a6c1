/* Samples that fit no class, by two signs, beside what is usual (usual.c).
 *
 * 1. No class stands out. With a row's errors e_k, best the smallest of C of them,
 *      margin = best - mean of the others                 (very negative: one class is much nearer).
 *    What a sample of an unknown class looks like, the rows tell themselves: the same of each row with
 *    its best class taken away is `removed`. The score is the share of these below the row's margin:
 *    a row of an unknown class has .5 in the median.
 * 2. It is far from every class that it may be of, its label's and the nearest other: of both,
 *      z_k = (log e_k - center_k) / spread_k
 *    is large; its score, 1 / (1 + (FAR / z)^8) of the smaller z, is .5 at z = FAR and nothing to speak of below 2.
 *
 * The score is the larger of the two, a flag needs .5. Where classes overlap, many good rows have
 * margins as weak as that: the first sign flags only rows that are also in the last of all margins. */
#include "judge/judge.h"

#define FAR 4.0

static double share_below(const rer_usual *usual, double margin)
{
    int64_t low = 0, high = usual->n_removed;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if ((double)usual->removed[middle] < margin)
            low = middle + 1;
        else
            high = middle;
    }
    return usual->n_removed > 0 && !isnan(margin) ? (double)low / (double)usual->n_removed : 0;
}

/* How far it is from a class; NaN where its error is missing. */
static double far_from(const rer_usual *usual, int32_t c, float error)
{
    return c >= 0 ? (log((double)error) - usual->center[c]) / usual->spread[c] : NAN;
}

/* Whether it is an outlier. */
static bool judge_row(rer_result *result, const rer_usual *usual, double margin, int64_t row)
{
    double z = fmin(far_from(usual, result->given[row], result->own[row]),
                    far_from(usual, result->suggested[row], result->other[row]));
    double far = z > 0 ? 1 / (1 + pow(FAR / z, 8)) : 0, unlike = share_below(usual, margin);
    result->outlier_score[row] = (float)fmax(far, unlike);
    return far >= .5 || (unlike >= .5 && margin > usual->tail);
}

enum { PIECE = 1024 }; /* rows that are judged at a time */

typedef struct outlier_pass {
    rer_result *result;
    const float *margin; /* [N] */
    const rer_usual *usual;
} outlier_pass;

static rer_status judge_piece(void *context, int64_t item, void *scratch, rer_error *error)
{
    (void)error;
    const outlier_pass *pass = context;
    rer_result *result = pass->result;
    int64_t *found = scratch;
    *found = 0;
    for (int64_t row = item * PIECE; row < rer_min((item + 1) * PIECE, result->N); row++) {
        if (pass->usual == NULL || (result->flags[row] & RER_FLAG_INVALID) != 0) {
            result->outlier_score[row] = NAN;
        } else if (judge_row(result, pass->usual, (double)pass->margin[row], row)) {
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

rer_status rer_judge_outliers(rer_result *result, const float *margin, const rer_usual *usual, rer_pool *pool,
                              rer_error *error)
{
    outlier_pass pass = {.result = result, .margin = margin, .usual = usual};
    rer_job job = {.stage = "judging",
                   .from = .98,
                   .to = 1,
                   .items = (result->N + PIECE - 1) / PIECE,
                   .scratch = sizeof(int64_t),
                   .work = judge_piece,
                   .commit = count_piece,
                   .context = &pass};
    return rer_pool_run(pool, &job, error);
}
