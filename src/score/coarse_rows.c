#include "score/coarse_rows.h"

#include <string.h>

#define ITEM 16  /* asking rows, or packs, of an item of work */
#define ZERO 128 /* of a byte without a sign */

/* Bounds hold for exact products, not for those rounded to floats: sums of D / 16 terms at most in each lane, terms that add
 * up to 1 at most. */
float rer_coarse_bar(const rer_coarse_rows *coarse, float bar)
{
    return bar - 1e-5F - 1e-8F * (float)coarse->D;
}

void rer_coarse_bounds(const rer_coarse_rows *coarse, float *most, const int64_t *asking, int64_t first, int64_t n)
{
    rer_coarse_asking rows[RER_COARSE_ROWS];
    for (int i = 0; i < RER_COARSE_ROWS; i++)
        rows[i] = (rer_coarse_asking){.q = coarse->asking + asking[i] * coarse->bytes,
                                      .unit = coarse->scale[asking[i]].unit,
                                      .error = coarse->scale[asking[i]].error};
    rer_coarse_pack all = {coarse->packed, coarse->start, coarse->unit, coarse->error},
                    pack = rer_coarse_pack_at(&all, first / RER_COARSE_ROWS, coarse->bytes);
    rer_bound_products(coarse->kernels, most, RER_COARSE_CHUNK, rows, &pack, n / RER_COARSE_ROWS, coarse->bytes);
}

typedef struct coarse_job {
    rer_coarse_rows *coarse;
    const float *x;
    const int32_t *order; /* [n], where rows are packed */
    int64_t n;
} coarse_job;

static rer_status take_asking(void *context, int64_t item, void *scratch, rer_error *error)
{
    (void)error;
    const coarse_job *job = context;
    rer_coarse_rows *coarse = job->coarse;
    int8_t *q = scratch;
    for (int64_t i = item * ITEM; i < rer_min((item + 1) * ITEM, coarse->count); i++) {
        coarse->scale[i] = coarse->kernels->coarsen(q, job->x + i * coarse->D, coarse->D);
        for (int64_t j = 0; j < coarse->bytes; j++)
            coarse->asking[i * coarse->bytes + j] = (uint8_t)(q[j] + ZERO);
    }
    return RER_OK;
}

/* A row into its lanes of a pack: four bytes of each 4 * RER_COARSE_ROWS. */
static void pack_row(const coarse_job *job, int64_t at, int8_t *q)
{
    rer_coarse_rows *coarse = job->coarse;
    int64_t bytes = coarse->bytes, lane = at % RER_COARSE_ROWS;
    int8_t *pack = coarse->packed + (at - lane) * bytes + lane * 4;
    rer_coarse_scale scale = coarse->kernels->coarsen(q, job->x + (int64_t)job->order[at] * coarse->D, coarse->D);
    for (int64_t j = 0; j < bytes; j += 4)
        memcpy(pack + j * RER_COARSE_ROWS, q + j, 4);
    coarse->start[at] = -ZERO * scale.sum;
    coarse->unit[at] = scale.unit;
    coarse->error[at] = scale.error;
}

static rer_status pack_rows(void *context, int64_t item, void *scratch, rer_error *error)
{
    (void)error;
    const coarse_job *job = context;
    int64_t first = item * ITEM * RER_COARSE_ROWS;
    for (int64_t at = first; at < rer_min(first + ITEM * RER_COARSE_ROWS, job->n); at++)
        pack_row(job, at, scratch);
    return RER_OK;
}

static rer_status run_job(coarse_job *rows, int64_t count, int64_t item,
                          rer_status (*work)(void *, int64_t, void *, rer_error *), const rer_run *run, double at,
                          rer_error *error)
{
    rer_job job = {.stage = "looking again",
                   .from = at,
                   .to = at,
                   .items = (count + item - 1) / item,
                   .scratch = rows->coarse->bytes,
                   .work = work,
                   .context = rows};
    return rer_pool_run(run->pool, &job, error);
}

rer_status rer_coarse_make(rer_coarse_rows *coarse, const float *x, int64_t count, int64_t D, int64_t rows,
                           const rer_run *run, double at, rer_error *error)
{
    const rer_coarse_kernels *kernels = run->kernels->coarse;
    *coarse = (rer_coarse_rows){.D = D, .bytes = RER_COARSE_BYTES(D), .count = count};
    if (kernels->bounds == NULL || D > RER_COARSE_MOST)
        return RER_OK;
    rer_room rooms[] = {RER_UNSET(coarse->asking, count * coarse->bytes),
                        RER_UNSET(coarse->scale, count),
                        RER_ROOM(coarse->packed, rows * coarse->bytes + RER_COARSE_BEYOND),
                        RER_ROOM(coarse->start, rows),
                        RER_ROOM(coarse->unit, rows),
                        RER_ROOM(coarse->error, rows)};
    rer_status status = rer_allocate_all(rooms, RER_COUNT(rooms), "rows to compare with", error);
    if (status != RER_OK)
        return status;
    coarse->kernels = kernels;
    coarse_job asking = {.coarse = coarse, .x = x};
    return run_job(&asking, count, ITEM, take_asking, run, at, error);
}

rer_status rer_coarse_load(rer_coarse_rows *coarse, const float *x, const int32_t *order, int64_t n, const rer_run *run,
                           double at, rer_error *error)
{
    coarse_job rows = {.coarse = coarse, .x = x, .order = order, .n = n};
    return coarse->kernels == NULL ? RER_OK : run_job(&rows, n, ITEM * RER_COARSE_ROWS, pack_rows, run, at, error);
}

void rer_coarse_free(rer_coarse_rows *coarse)
{
    free(coarse->asking);
    free(coarse->scale);
    free(coarse->packed);
    free(coarse->start);
    free(coarse->unit);
    free(coarse->error);
    *coarse = (rer_coarse_rows){0};
}
