/* Cross-fitting: one fit for each class and fold, without the fold's rows, gives those rows their
 * own-class errors; one more with all rows is the class's model. */
#pragma once

#include "run/class_rows.h"

typedef struct rer_fold_plan {
    rer_class_rows classes; /* rows of a class in random order: every folds-th one makes a fold */
    int32_t folds;          /* 1: no folds, own errors are in-sample */
    int32_t *order;         /* [C] classes, largest first, so that the last one to end is small */
    double fit_fraction;
    int64_t fit_samples;
    float *own; /* [N] squared own-class error of a fit without the row, NaN: none; NULL: folds = 1 */
} rer_fold_plan;

rer_status rer_fold_plan_make(rer_fold_plan *plan, const rer_run *run, rer_error *error);
void rer_fold_plan_free(rer_fold_plan *plan);

/* A task is a class and a fold; fold == plan->folds (or 0 where there are none) is the class's own
 * model, of all its rows. */
typedef struct rer_fold_task {
    int32_t class, fold;
    bool is_model;
    int64_t n_fit, n_held;     /* rows to fit on; rows that want their own error */
    const int64_t *fit, *held; /* [n_fit], [n_held] rows of the input */
} rer_fold_task;

int64_t rer_fold_tasks(const rer_fold_plan *plan);
/* `rows` has room for all rows of the largest class, twice. */
rer_fold_task rer_fold_task_of(const rer_fold_plan *plan, int64_t item, int64_t *rows);
int64_t rer_fold_largest(const rer_fold_plan *plan);
