/* Rows by class, and reading some of them. */
#include "run/class_rows.h"

#include "core/random.h"

rer_status rer_class_rows_make(rer_class_rows *classes, const rer_run *run, rer_error *error)
{
    rer_class_rows made = {.C = run->C};
    int64_t *next = NULL, labelled = 0;
    rer_status status = rer_allocate(&made.start, run->C + 1, sizeof(int64_t), "class offsets", error);
    RER_THEN(status, rer_allocate(&next, run->C, sizeof(int64_t), "class offsets", error));
    for (int64_t row = 0; status == RER_OK && row < run->N; row++)
        if (rer_run_has_label(run, row)) {
            made.start[run->given[row] + 1]++;
            labelled++;
        }
    RER_THEN(status, rer_allocate(&made.rows, labelled, sizeof(int64_t), "rows by class", error));
    for (int32_t c = 0; status == RER_OK && c < run->C; c++) {
        made.start[c + 1] += made.start[c];
        next[c] = made.start[c];
    }
    for (int64_t row = 0; status == RER_OK && row < run->N; row++)
        if (rer_run_has_label(run, row))
            made.rows[next[run->given[row]]++] = row;
    free(next);
    if (status == RER_OK)
        *classes = made;
    else
        rer_class_rows_free(&made);
    return status;
}

void rer_class_rows_shuffle(rer_class_rows *classes, int64_t seed)
{
    for (int32_t c = 0; c < classes->C; c++)
        rer_random_shuffle(classes->rows + classes->start[c], rer_class_size(classes, c), seed, RER_RANDOM_FOLD,
                           (uint64_t)c);
}

void rer_class_rows_free(rer_class_rows *classes)
{
    RER_FREE_ALL(classes->start, classes->rows);
    *classes = (rer_class_rows){0};
}

rer_status rer_gather_rows(float *x, const rer_run *run, const rer_normalizer *normalizer, const int64_t *rows,
                           int64_t count, void *scratch, rer_error *error)
{
    int64_t D = run->D;
    for (int64_t i = 0; i < count; i++) {
        float *row = x + i * D;
        RER_TRY(rer_dataset_rows_read(run->data, rows[i], 1, row, scratch, error));
        double scale = rer_normalize_row(normalizer, row, D, run->kernels->sum_squares(row, D));
        for (int64_t j = 0; scale != 1 && j < D; j++)
            row[j] = (float)(scale * (double)row[j]);
    }
    return RER_OK;
}
