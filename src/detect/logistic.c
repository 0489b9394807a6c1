/* Logistic regression: who is in which fold, and the probabilities that come out. */
#include "detect/logistic.h"

#include "run/class_rows.h"

/* Fewer rows where classes are many; part of the result's bits, as RER_BLOCK is. */
static int64_t rows_of_block(int32_t C)
{
    return C <= 1024 ? RER_BLOCK : rer_max(32, ((int64_t)1 << 20) / C);
}

/* Rows lined up by class, at random within a class: every folds-th place of the line makes a fold, so
 * that each has its share of every class and folds differ by one row at most. */
static int64_t place_of_fold(int64_t *first, int64_t labelled, int32_t fold)
{
    *first = fold;
    return labelled > fold ? (labelled - fold + RER_LOGISTIC_FOLDS - 1) / RER_LOGISTIC_FOLDS : 0;
}

static void cut_blocks(rer_logistic *logistic, int64_t first, int64_t count, int32_t fold)
{
    for (int64_t done = 0; done < count; done += logistic->block_rows)
        logistic->blocks[logistic->n_blocks++] =
            (rer_fold_block){first + done, rer_min(logistic->block_rows, count - done), fold};
}

static void fill_folds(rer_logistic *logistic, const rer_class_rows *classes, const rer_run *run)
{
    int64_t labelled = classes->start[classes->C], used = 0;
    for (int32_t fold = 0; fold < RER_LOGISTIC_FOLDS; fold++) {
        int64_t from = used, place;
        int64_t count = place_of_fold(&place, labelled, fold);
        for (; place < labelled; place += RER_LOGISTIC_FOLDS)
            logistic->order[used++] = classes->rows[place];
        cut_blocks(logistic, from, count, fold);
        logistic->n_fit[fold] = labelled - count;
        for (int64_t i = from; i < used; i++) /* a row makes its class present in the other folds */
            for (int32_t other = 0; other < RER_LOGISTIC_FOLDS; other++)
                if (other != fold)
                    logistic->present[other * classes->C + run->given[logistic->order[i]]] = true;
    }
    logistic->n_labelled = labelled;
    logistic->n_labelled_blocks = logistic->n_blocks;
    for (int64_t row = 0; row < run->N; row++)
        if (run->given[row] < 0 && run->invalid[row] == 0)
            logistic->order[used++] = row;
    cut_blocks(logistic, labelled, used - labelled, -1);
    logistic->features.count = used;
}

/* Blocks, folds, order; features are opened and kept. */
static rer_status plan_folds(rer_logistic *logistic, const rer_run *run, bool unit, rer_error *error)
{
    rer_class_rows classes = {0};
    logistic->C = run->C;
    logistic->block_rows = rows_of_block(run->C);
    int64_t most_blocks = run->N / logistic->block_rows + RER_LOGISTIC_FOLDS + 1;
    rer_status status = rer_features_open(&logistic->features, run, unit, true, error);
    RER_THEN(status, rer_class_rows_make(&classes, run, error));
    RER_THEN(status, rer_allocate(&logistic->order, run->N, sizeof *logistic->order, "the order of rows", error));
    RER_THEN(status, rer_allocate(&logistic->blocks, most_blocks, sizeof *logistic->blocks, "blocks of folds", error));
    RER_THEN(status, rer_allocate(&logistic->present, RER_LOGISTIC_FOLDS * (int64_t)run->C, sizeof *logistic->present,
                                  "classes of folds", error));
    if (status == RER_OK) {
        rer_class_rows_shuffle(&classes, run->options->seed);
        fill_folds(logistic, &classes, run);
        status = rer_features_keep(&logistic->features, logistic->order, logistic->features.count, error);
    }
    rer_class_rows_free(&classes);
    return status;
}

rer_status rer_logistic_fit(rer_logistic *logistic, const rer_run *run, bool unit, double C, rer_error *error)
{
    rer_logistic made = {0};
    rer_status status = plan_folds(&made, run, unit, error);
    RER_THEN(status, rer_logistic_train(&made, C, error));
    if (status == RER_OK)
        *logistic = made;
    else
        rer_logistic_free(&made);
    return status;
}

void rer_logistic_free(rer_logistic *logistic)
{
    rer_features_close(&logistic->features);
    RER_FREE_ALL(logistic->order, logistic->blocks, logistic->present, logistic->weights, logistic->bias);
    *logistic = (rer_logistic){0};
}

/* ---- probabilities -------------------------------------------------------------------------- */

static float *lay_out(rer_scratch *rows, const rer_logistic *logistic, rer_scratch *scratch)
{
    *rows = rer_features_take(&logistic->features, logistic->block_rows, scratch);
    return rer_take(scratch, logistic->block_rows * logistic->C, sizeof(float));
}

static rer_status probability_block(rer_probability_block *out, const void *source, int64_t item, rer_scratch scratch,
                                    rer_error *error)
{
    const rer_logistic *logistic = source;
    const rer_fold_block *block = &logistic->blocks[item];
    const rer_run *run = logistic->features.run;
    int64_t fold = block->fold < 0 ? 0 : block->fold, C = logistic->C;
    const float *bias = logistic->bias + fold * C, *x = NULL;
    *out = (rer_probability_block){.count = block->count, .row = logistic->order + block->first};
    rer_scratch rows;
    out->p = lay_out(&rows, logistic, &scratch);
    RER_TRY(rer_features_rows(&x, &logistic->features, block->first, block->count, rows, error));
    rer_multiply_f32(out->p, C, x, logistic->weights + fold * C * run->D, block->count, C, run->D);
    for (int64_t i = 0; i < block->count; i++) {
        float *p = out->p + i * C;
        (void)run->kernels->softmax(p, bias, C);
        for (int64_t k = 0; k < C; k++)
            p[k] = isinf(bias[k]) ? 0 : p[k];
    }
    return RER_OK;
}

rer_probabilities rer_logistic_probabilities(const rer_logistic *logistic)
{
    rer_scratch measure = RER_MEASURE, rows;
    (void)lay_out(&rows, logistic, &measure);
    return (rer_probabilities){
        .source = logistic,
        .C = logistic->C,
        .items = logistic->n_blocks,
        .scratch = measure.used,
        .block = probability_block,
    };
}
