/* Networks that are trained side by side, by the run's passes. */
#pragma once

#include "fit/autoencoder/train.h"
#include "fit/folds.h"

/* What tells a class and a fold apart in everything random. */
static inline uint64_t rer_fold_key(const rer_fold_task *task)
{
    return (uint64_t)task->class << 7 | (uint64_t)(task->is_model ? 127 : task->fold);
}

/* A row alone in its class has no fit without it. */
static inline bool rer_fold_is_empty(const rer_fold_task *task)
{
    return task->n_fit == 0 || (!task->is_model && task->n_held == 0);
}

/* What a task needs while its rows are read. */
typedef struct rer_task_scratch {
    int64_t *rows; /* [2, largest class] */
    void *reading;
} rer_task_scratch;

rer_task_scratch rer_task_lay_out(const rer_fold_plan *plan, const rer_run *run, rer_scratch *scratch);

/* Trains the plan's tasks in their order: weights [C, parameters] of the models, plan->own of the folds. *done of them,
 * the rest is left to the caller. */
rer_status rer_train_tiles(rer_fold_plan *plan, float *weights, const rer_training *training,
                           const rer_normalizer *normalizer, const rer_run *run, int64_t *done, rer_error *error);
