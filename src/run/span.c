/* Gram and Schmidt by panels of rows: what lies in the basis so far is taken off twice (once leaves what products in
 * float round off), then within the panel row by row. A row that has next to nothing left adds nothing. */
#include "run/span.h"

#include <math.h>
#include <string.h>

#define PANEL 64
#define NOTHING 1e-6 /* of a row's length: what floats round off */

bool rer_span_pays(const rer_dataset *data)
{
    return data->N <= data->D / 2;
}

rer_span *rer_span_wrap(int64_t rank, int64_t D, float *basis)
{
    rer_span *span = NULL;
    if (basis == NULL || rer_allocate(&span, 1, sizeof *span, "the span of the rows", NULL) != RER_OK) {
        free(basis);
        return NULL;
    }
    *span = (rer_span){.rank = rank, .D = D, .basis = basis};
    return span;
}

void rer_span_free(rer_span *span)
{
    if (span != NULL)
        free(span->basis);
    free(span);
}

/* Rows read, their coordinates, and what those make of the rows. */
typedef struct span_scratch {
    float *x, *within; /* [PANEL, D] */
    float *z;          /* [PANEL, rank] */
    void *reading;
} span_scratch;

static span_scratch lay_out(const rer_dataset *data, int64_t rank, rer_scratch *scratch)
{
    span_scratch parts = {0};
    parts.x = rer_take(scratch, PANEL * data->D, sizeof(float));
    parts.within = rer_take(scratch, PANEL * data->D, sizeof(float));
    parts.z = rer_take(scratch, PANEL * rer_max(1, rank), sizeof(float));
    parts.reading = rer_take(scratch, rer_dataset_scratch(data, PANEL), 1);
    return parts;
}

/* x -= its part in the basis; z has the coordinates of that. */
static void take_off(const rer_span *span, const span_scratch *parts, int64_t rows)
{
    if (span->rank == 0)
        return;
    rer_multiply_f32(parts->z, span->rank, parts->x, span->basis, rows, span->rank, span->D);
    rer_gemm_f32(false, false, rows, span->D, span->rank, parts->z, span->basis, parts->within);
    for (int64_t i = 0; i < rows * span->D; i++)
        parts->x[i] -= parts->within[i];
}

static double length_of(const float *x, int64_t D, const rer_kernels *kernels)
{
    return sqrt(kernels->sum_squares(x, D));
}

/* Adds a row, clear of the basis rows before `first`, if the ones from there on leave something of it. */
static void add_row(rer_span *span, int64_t first, float *x, double length, const rer_kernels *kernels)
{
    int64_t D = span->D;
    for (int turn = 0; turn < 2; turn++)
        for (int64_t k = first; k < span->rank; k++) {
            const float *b = span->basis + k * D;
            float along = (float)kernels->dot_f32(x, b, D);
            for (int64_t j = 0; j < D; j++)
                x[j] -= along * b[j];
        }
    double left = length_of(x, D, kernels);
    if (!(left > NOTHING * length))
        return;
    float *b = span->basis + span->rank++ * D;
    for (int64_t j = 0; j < D; j++)
        b[j] = (float)((double)x[j] / left);
}

/* *refused: a row has no length. */
static rer_status add_panel(rer_span *span, const rer_run *run, int64_t first, const span_scratch *parts, bool *refused,
                            rer_error *error)
{
    int64_t rows = rer_min(PANEL, run->N - first), D = span->D, kept = 0, before = span->rank;
    double length[PANEL];
    rer_status status = rer_dataset_rows_read(run->data, first, rows, parts->x, parts->reading, error);
    for (int64_t i = 0; status == RER_OK && i < rows; i++) {
        length[kept] = length_of(parts->x + i * D, D, run->kernels);
        if (isfinite(length[kept]))
            memmove(parts->x + kept++ * D, parts->x + i * D, (size_t)D * sizeof(float));
        else if (!run->options->drop_invalid)
            *refused = true;
    }
    if (status != RER_OK)
        return status;
    for (int turn = 0; turn < 2; turn++)
        take_off(span, parts, kept);
    for (int64_t i = 0; i < kept; i++)
        add_row(span, before, parts->x + i * D, length[i], run->kernels);
    return RER_OK;
}

typedef struct span_pass {
    const rer_run *run;
    rer_span *span;
    bool refused; /* of the making */
    bool within;
    float *x; /* [N, rank + 1] of a view */
    int64_t scratch;
} span_pass;

/* One item: each panel needs the basis of those before. */
static rer_status make_span(void *context, int64_t item, void *memory, rer_error *error)
{
    (void)item;
    span_pass *pass = context;
    const rer_run *run = pass->run;
    rer_scratch scratch = rer_scratch_over(memory, pass->scratch);
    span_scratch parts = lay_out(run->data, run->N, &scratch);
    rer_status status = RER_OK;
    for (int64_t first = 0; status == RER_OK && !pass->refused && first < run->N; first += PANEL)
        status = add_panel(pass->span, run, first, &parts, &pass->refused, error);
    return status;
}

static rer_status run_pass(span_pass *pass, int64_t items, int64_t rank,
                           rer_status (*work)(void *, int64_t, void *, rer_error *), rer_error *error)
{
    rer_scratch measure = RER_MEASURE;
    (void)lay_out(pass->run->data, rank, &measure);
    pass->scratch = measure.used;
    rer_job job = {.stage = "reading", .items = items, .scratch = pass->scratch, .work = work, .context = pass};
    return rer_pool_run(pass->run->pool, &job, error);
}

rer_status rer_span_make(rer_span **span, const rer_run *run, rer_error *error)
{
    float *basis = NULL;
    *span = NULL;
    rer_status status = rer_allocate(&basis, run->N, run->D * (int64_t)sizeof *basis, "the span of the rows", error);
    if (status != RER_OK)
        return status;
    rer_span *made = rer_span_wrap(0, run->D, basis);
    if (made == NULL)
        return rer_fail(error, RER_SYSTEM, "out of memory: the span of the rows");
    span_pass pass = {.run = run, .span = made};
    status = run_pass(&pass, 1, run->N, make_span, error);
    if (status != RER_OK || pass.refused || made->rank == 0) {
        rer_span_free(made);
        return status;
    }
    *span = made;
    return RER_OK;
}

static rer_status view_panel(void *context, int64_t item, void *memory, rer_error *error)
{
    const span_pass *pass = context;
    const rer_span *span = pass->span;
    const rer_run *run = pass->run;
    int64_t first = item * PANEL, rows = rer_min(PANEL, run->N - first), D = span->D, width = span->rank + 1;
    rer_scratch scratch = rer_scratch_over(memory, pass->scratch);
    span_scratch parts = lay_out(run->data, span->rank, &scratch);
    float *out = pass->x + first * width;
    bool valid[PANEL];
    rer_status status = rer_dataset_rows_read(run->data, first, rows, parts.x, parts.reading, error);
    if (status != RER_OK)
        return status;
    for (int64_t i = 0; i < rows; i++)
        valid[i] = isfinite(length_of(parts.x + i * D, D, run->kernels));
    take_off(span, &parts, rows);
    for (int64_t i = 0; i < rows; i++) {
        memcpy(out + i * width, parts.z + i * span->rank, (size_t)span->rank * sizeof(float));
        out[i * width + span->rank] = !valid[i]      ? NAN
                                      : pass->within ? 0
                                                     : (float)length_of(parts.x + i * D, D, run->kernels);
    }
    return RER_OK;
}

rer_status rer_span_enter(rer_run *run, const rer_span *span, bool within, rer_error *error)
{
    span_pass pass = {.run = run, .span = (rer_span *)span, .within = within};
    int64_t width = span->rank + 1;
    rer_dataset *view = NULL;
    rer_room rooms[] = {RER_ROOM(view, 1), RER_ROOM(pass.x, run->N * width)};
    rer_status status = rer_allocate_all(rooms, RER_COUNT(rooms), "coordinates of rows", error);
    if (status == RER_OK)
        status = run_pass(&pass, (run->N + PANEL - 1) / PANEL, span->rank, view_panel, error);
    if (status != RER_OK) {
        free(view);
        free(pass.x);
        return status;
    }
    *view = *run->data;
    view->D = width;
    view->hog = false;
    view->features = (rer_array){.name = run->data->features.name,
                                 .dtype = RER_F32,
                                 .item_size = sizeof(float),
                                 .big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__,
                                 .rank = 2,
                                 .shape = {run->N, width},
                                 .data = (const unsigned char *)pass.x,
                                 .owned = (unsigned char *)pass.x,
                                 .fd = -1};
    run->data = run->view = view;
    run->D = width;
    return RER_OK;
}
