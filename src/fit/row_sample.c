/* A class-stratified, seeded sample of the labelled rows.
 *
 * Line the usable rows up by class (in file order within a class) and cut the line into `count`
 * pieces of equal length: one row is drawn from each, so every class is there in proportion. A
 * row's place in the line is offset[c] + the rows of c before it: no sorting, one sweep. */
#include "core/random.h"
#include "fit/moments.h"
#include "parts/parts.h"

#include <string.h>

/* All but the rows' numbers. */
static rer_status allocate_rows(rer_row_sample *sample, int64_t count, int64_t D, rer_error *error)
{
    int64_t values = 0;
    rer_status status = RER_OK;
    sample->count = count;
    if (!rer_product(count, D, &values))
        status = rer_fail(error, RER_SYSTEM, "%lld features are too many", (long long)D);
    if (status == RER_OK)
        status = rer_allocate(&sample->x, values, sizeof(float), "sampled rows", error);
    if (status == RER_OK)
        status = rer_allocate(&sample->scale, count, sizeof(double), "sampled rows", error);
    if (status == RER_OK)
        status = rer_allocate(&sample->code, count, sizeof(int32_t), "sampled rows", error);
    return status;
}

static rer_status allocate_sample(rer_row_sample *sample, int64_t count, int64_t D, rer_error *error)
{
    rer_status status = rer_allocate(&sample->row, count, sizeof(int64_t), "sampled rows", error);
    return status == RER_OK ? allocate_rows(sample, count, D, error) : status;
}

rer_status rer_row_sample_fetch(rer_row_sample *sample, const rer_normalizer *normalizer, const rer_run *run,
                                rer_error *error)
{
    rer_status status = allocate_rows(sample, sample->count, run->D, error);
    return status == RER_OK ? rer_parts_scatter(NULL, sample, NULL, normalizer, run, error) : status;
}

static bool is_drawn(int64_t place, int64_t usable, int64_t count, int64_t seed)
{
    /* Piece p holds the places from ceil(p usable / count) on; the products stay small. */
    __int128 piece = (__int128)place * count / usable;
    int64_t first = (int64_t)((piece * usable + count - 1) / count);
    int64_t end = (int64_t)(((piece + 1) * usable + count - 1) / count);
    double u = rer_random_uniform(seed, RER_RANDOM_SAMPLE, (uint64_t)piece, 0);
    return place == first + (int64_t)(u * (double)(end - first));
}

rer_status rer_row_sample_pick(rer_row_sample *sample, const rer_run *run, const int64_t *n, int64_t most,
                               rer_error *error)
{
    rer_row_sample made = {0};
    int64_t *place = NULL, usable = 0, drawn = 0;
    rer_status status = rer_allocate(&place, run->C, sizeof *place, "class offsets", error);
    for (int32_t c = 0; status == RER_OK && c < run->C; c++) {
        place[c] = usable;
        usable += n[c] >= 2 ? n[c] : 0; /* a sample alone in its class has no left-out error */
    }
    int64_t count = rer_min(most, usable);
    if (status == RER_OK)
        status = allocate_sample(&made, count, run->D, error);
    for (int64_t i = 0; status == RER_OK && i < run->N && drawn < count; i++) {
        int32_t c = run->result->given[i];
        if (c < 0 || n[c] < 2 || (run->result->flags[i] & RER_FLAG_INVALID) != 0)
            continue;
        if (is_drawn(place[c]++, usable, count, run->options->seed))
            made.row[drawn++] = i;
    }
    free(place);
    if (status != RER_OK) {
        rer_row_sample_free(&made);
        return status;
    }
    *sample = made;
    return RER_OK;
}

void rer_row_sample_free(rer_row_sample *sample)
{
    free(sample->row);
    free(sample->x);
    free(sample->scale);
    free(sample->code);
    *sample = (rer_row_sample){0};
}

rer_status rer_row_sample_thin(rer_row_sample *thin, const rer_row_sample *sample, int64_t count, int64_t D,
                               rer_error *error)
{
    rer_row_sample made = {0};
    rer_status status = allocate_sample(&made, count, D, error);
    for (int64_t i = 0; status == RER_OK && i < count; i++) {
        int64_t from = rer_thin_place(i, sample->count, count);
        made.row[i] = sample->row[from];
        made.scale[i] = sample->scale[from];
        made.code[i] = sample->code[from];
        memcpy(made.x + i * D, sample->x + from * D, (size_t)D * sizeof *made.x);
    }
    if (status != RER_OK) {
        rer_row_sample_free(&made);
        return status;
    }
    *thin = made;
    return RER_OK;
}
