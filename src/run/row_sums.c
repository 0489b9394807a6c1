/* Sums over rows: see row_sums.h. */
#include "run/row_sums.h"

enum { PIECE = 1024, GROUP = 16 }; /* rows of a piece, pieces of an item */

typedef struct summing {
    const rer_result *result;
    rer_add_row *add;
    const void *how;
    rer_row_sums total;
} summing;

static rer_status sum_group(void *context, int64_t item, void *scratch, rer_error *error)
{
    (void)error;
    const summing *s = context;
    rer_row_sums *sums = scratch;
    memset(sums, 0, GROUP * sizeof *sums);
    for (int64_t row = item * GROUP * PIECE; row < rer_min((item + 1) * GROUP * PIECE, s->result->N); row++)
        s->add(&sums[row / PIECE % GROUP], s->result, row, s->how);
    return RER_OK;
}

static rer_status add_group(void *context, int64_t item, void *scratch, rer_error *error)
{
    (void)item, (void)error;
    summing *s = context;
    const rer_row_sums *more = scratch;
    for (int piece = 0; piece < GROUP; piece++)
        for (int i = 0; i < RER_ROW_SUMS; i++) {
            s->total.n[i] += more[piece].n[i];
            s->total.sum[i] += more[piece].sum[i];
        }
    return RER_OK;
}

rer_status rer_sum_rows(rer_row_sums *sums, rer_add_row *add, const void *how, const rer_result *result,
                        const char *stage, rer_pool *pool, rer_error *error)
{
    summing s = {.result = result, .add = add, .how = how};
    rer_job job = {.stage = stage, /* no progress to speak of */
                   .items = (result->N + GROUP * PIECE - 1) / (GROUP * PIECE),
                   .scratch = GROUP * sizeof(rer_row_sums),
                   .work = sum_group,
                   .commit = add_group,
                   .context = &s};
    rer_status status = rer_pool_run(pool, &job, error);
    *sums = s.total;
    return status;
}
