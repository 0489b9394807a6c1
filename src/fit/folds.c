/* Folds and the tasks they make. */
#include "fit/folds.h"

/* A stable sort by size, largest first: counting would need as many bins as rows. */
static void merge_by_size(int32_t *order, int32_t *spare, const rer_class_rows *classes, int32_t low, int32_t high)
{
    if (high - low < 2)
        return;
    int32_t middle = low + (high - low) / 2, a = low, b = middle;
    merge_by_size(order, spare, classes, low, middle);
    merge_by_size(order, spare, classes, middle, high);
    for (int32_t i = low; i < high; i++) {
        bool left = b >= high || (a < middle && rer_class_size(classes, order[a]) >= rer_class_size(classes, order[b]));
        spare[i] = left ? order[a++] : order[b++];
    }
    for (int32_t i = low; i < high; i++)
        order[i] = spare[i];
}

rer_status rer_fold_plan_make(rer_fold_plan *plan, const rer_run *run, rer_error *error)
{
    rer_fold_plan made = {.folds = run->options->folds,
                          .fit_fraction = run->options->fit_fraction,
                          .fit_samples = run->options->fit_samples};
    int32_t *spare = NULL;
    rer_status status = rer_class_rows_make(&made.classes, run, error);
    rer_room rooms[] = {RER_ROOM(made.order, run->C), RER_ROOM(spare, run->C), RER_ROOM(made.own, run->N)};
    RER_THEN(status, rer_allocate_all(rooms, made.folds > 1 ? RER_COUNT(rooms) : RER_COUNT(rooms) - 1, "folds", error));
    if (status != RER_OK) {
        free(spare);
        rer_fold_plan_free(&made);
        return status;
    }
    for (int32_t c = 0; c < run->C; c++)
        made.order[c] = c;
    merge_by_size(made.order, spare, &made.classes, 0, run->C);
    rer_class_rows_shuffle(&made.classes, run->options->seed);
    for (int64_t row = 0; made.own != NULL && row < run->N; row++)
        made.own[row] = NAN;
    free(spare);
    *plan = made;
    return RER_OK;
}

void rer_fold_plan_free(rer_fold_plan *plan)
{
    rer_class_rows_free(&plan->classes);
    RER_FREE_ALL(plan->order, plan->own);
    *plan = (rer_fold_plan){0};
}

int64_t rer_fold_largest(const rer_fold_plan *plan)
{
    return rer_class_size(&plan->classes, plan->order[0]);
}

static int64_t tasks_of_class(const rer_fold_plan *plan)
{
    return plan->folds > 1 ? plan->folds + 1 : 1;
}

int64_t rer_fold_tasks(const rer_fold_plan *plan)
{
    return plan->classes.C * tasks_of_class(plan);
}

/* How many of n rows to fit on: at least two where there are two. */
static int64_t subset_size(const rer_fold_plan *plan, int64_t n)
{
    int64_t size = (int64_t)ceil(plan->fit_fraction * (double)n);
    if (plan->fit_samples > 0)
        size = rer_min(size, plan->fit_samples);
    return rer_min(n, rer_max(size, 2));
}

rer_fold_task rer_fold_task_of(const rer_fold_plan *plan, int64_t item, int64_t *rows)
{
    int64_t each = tasks_of_class(plan);
    rer_fold_task task = {.class = plan->order[item / each], .fold = (int32_t)(item % each)};
    int64_t n = rer_class_size(&plan->classes, task.class);
    const int64_t *all = plan->classes.rows + plan->classes.start[task.class];
    int64_t *held = rows + rer_fold_largest(plan);
    task.is_model = task.fold == each - 1;
    for (int64_t i = 0; i < n; i++) {
        if (!task.is_model && i % plan->folds == task.fold)
            held[task.n_held++] = all[i];
        else
            rows[task.n_fit++] = all[i];
    }
    task.n_fit = subset_size(plan, task.n_fit);
    task.fit = rows;
    task.held = held;
    return task;
}
