/* A tile is as many tasks as fit the memory: the pool reads their rows and makes their graphs, then all of them are
 * trained at once. */
#include "fit/autoencoder/tile.h"

#include "run/passes.h"

#define TILE_BYTES ((int64_t)2 << 30)
#define TILE_MOST 1024
#define FEWER 16       /* times as few are tried where there is no room: each try reads the rows anew */
#define DRAWS_EACH 256 /* about as many of a row, at the default settings */

typedef struct tile_pass {
    const rer_run *run;
    const rer_normalizer *normalizer;
    const rer_training *training;
    rer_fold_plan *plan;
    float *weights;
    int64_t first; /* task */
    int64_t count;
    rer_device_trainee *trainees; /* [count] */
    double from, to;
} tile_pass;

rer_task_scratch rer_task_lay_out(const rer_fold_plan *plan, const rer_run *run, rer_scratch *scratch)
{
    rer_task_scratch parts;
    parts.rows = rer_take(scratch, 2 * rer_fold_largest(plan), sizeof *parts.rows);
    parts.reading = rer_take(scratch, rer_dataset_scratch(run->data, 1), 1);
    return parts;
}

static void free_trainees(tile_pass *pass)
{
    for (int64_t i = 0; pass->trainees != NULL && i < pass->count; i++) {
        rer_device_trainee *one = &pass->trainees[i];
        RER_FREE_ALL((float *)one->x, (float *)one->held, (int32_t *)one->head, (int32_t *)one->tail, one->errors);
    }
    free(pass->trainees);
    pass->trainees = NULL;
}

static rer_status prepare_task(void *context, int64_t item, void *memory, rer_error *error)
{
    tile_pass *pass = context;
    const rer_run *run = pass->run;
    rer_scratch scratch = rer_pool_scratch(run->pool, memory);
    rer_task_scratch parts = rer_task_lay_out(pass->plan, pass->run, &scratch);
    rer_fold_task task = rer_fold_task_of(pass->plan, pass->first + item, parts.rows);
    rer_device_trainee *made = &pass->trainees[item];
    float *x = NULL, *held = NULL;
    rer_edge_draws draws = {0};
    if (rer_fold_is_empty(&task))
        return RER_OK;
    int64_t n_held = task.is_model ? 0 : task.n_held;
    rer_room rooms[] = {RER_ROOM(x, task.n_fit * run->D), RER_ROOM(held, n_held * run->D),
                        RER_ROOM(made->errors, n_held)};
    rer_status status = rer_allocate_all(rooms, n_held > 0 ? RER_COUNT(rooms) : 1, "the rows of a class", error);
    made->x = x;
    made->held = held;
    RER_THEN(status, rer_gather_rows(x, run, pass->normalizer, task.fit, task.n_fit, parts.reading, error));
    if (status == RER_OK && n_held > 0)
        status = rer_gather_rows(held, run, pass->normalizer, task.held, n_held, parts.reading, error);
    made->key = rer_fold_key(&task);
    RER_THEN(status, rer_edge_draws_make(&draws, pass->training, x, task.n_fit, made->key, run->kernels, error));
    made->head = draws.head;
    made->tail = draws.tail;
    made->draws = draws.count;
    made->n = task.n_fit;
    made->n_held = n_held;
    made->w = task.is_model ? pass->weights + task.class * pass->training->network.parameters : NULL;
    return status;
}

/* What a trained network leaves, if its numbers are any. */
static rer_status take_task(void *context, int64_t item, void *memory, rer_error *error)
{
    tile_pass *pass = context;
    rer_scratch scratch = rer_pool_scratch(pass->run->pool, memory);
    rer_fold_task task =
        rer_fold_task_of(pass->plan, pass->first + item, rer_task_lay_out(pass->plan, pass->run, &scratch).rows);
    const rer_device_trainee *made = &pass->trainees[item];
    const char *name = rer_run_class_name(pass->run, task.class);
    bool is_finite = true;
    if (made->n == 0)
        return RER_OK;
    if (!made->is_finite)
        return rer_fail_loss(name, made->steps, made->reconstruction, made->layout, error);
    if (made->w != NULL)
        is_finite = isfinite(pass->run->kernels->sum_squares(made->w, pass->training->network.parameters));
    for (int64_t i = 0; i < made->n_held; i++) {
        pass->plan->own[task.held[i]] = made->errors[i];
        is_finite = is_finite && isfinite(made->errors[i]);
    }
    return is_finite ? RER_OK : rer_fail_weights(name, made->steps, error);
}

static rer_status run_tasks(tile_pass *pass, rer_pool_step *work, double from, double to, rer_error *error)
{
    rer_scratch measure = RER_MEASURE;
    (void)rer_task_lay_out(pass->plan, pass->run, &measure);
    rer_job job = {.stage = "training",
                   .from = from,
                   .to = to,
                   .items = pass->count,
                   .scratch = measure.used,
                   .work = work,
                   .context = pass};
    return rer_pool_run(pass->run->pool, &job, error);
}

/* How many of the next tasks make a tile, at most `most`. */
static int64_t tile_count(const tile_pass *pass, int64_t most)
{
    int64_t tasks = rer_fold_tasks(pass->plan), each = pass->plan->folds > 1 ? pass->plan->folds + 1 : 1, bytes = 0, n;
    for (n = 0; n < most && pass->first + n < tasks && (n == 0 || bytes < TILE_BYTES); n++) {
        int64_t rows = rer_class_size(&pass->plan->classes, pass->plan->order[(pass->first + n) / each]);
        bytes += rows * (pass->run->D * (int64_t)sizeof(float) + 2 * DRAWS_EACH * (int64_t)sizeof(int32_t));
    }
    return n;
}

/* Those that have anything to learn, moved to the front and back again: the tile's places are the tasks'. */
static rer_status train_tile(tile_pass *pass, bool *done, rer_error *error)
{
    rer_device_training training = rer_training_on_device(pass->training);
    rer_device_trainee *some = NULL;
    int32_t count = 0;
    RER_TRY(rer_allocate(&some, pass->count, sizeof *some, "networks", error));
    for (int64_t i = 0; i < pass->count; i++)
        if (pass->trainees[i].n > 0)
            some[count++] = pass->trainees[i];
    *done = true;
    rer_status status = RER_OK;
    if (count > 0)
        status = pass->run->passes->train(&training, some, count, pass->run, done, error);
    count = 0;
    for (int64_t i = 0; i < pass->count; i++)
        if (pass->trainees[i].n > 0)
            pass->trainees[i] = some[count++];
    free(some);
    return status;
}

static rer_status run_tile(tile_pass *pass, bool *done, rer_error *error)
{
    double middle = pass->from + .3 * (pass->to - pass->from);
    rer_status status = rer_allocate(&pass->trainees, pass->count, sizeof *pass->trainees, "networks", error);
    RER_THEN(status, run_tasks(pass, prepare_task, pass->from, middle, error));
    RER_THEN(status, train_tile(pass, done, error));
    if (status == RER_OK && *done)
        status = run_tasks(pass, take_task, middle, pass->to, error);
    free_trainees(pass);
    return status;
}

rer_status rer_train_tiles(rer_fold_plan *plan, float *weights, const rer_training *training,
                           const rer_normalizer *normalizer, const rer_run *run, int64_t *done, rer_error *error)
{
    tile_pass pass = {.run = run, .normalizer = normalizer, .training = training, .plan = plan, .weights = weights};
    int64_t tasks = rer_fold_tasks(plan), most = run->passes->train != NULL ? TILE_MOST : 0;
    while (pass.first < tasks && most > 0) {
        bool is_done = false;
        pass.count = tile_count(&pass, most);
        pass.from = .15 + .3 * (double)pass.first / (double)tasks;
        pass.to = .15 + .3 * (double)(pass.first + pass.count) / (double)tasks;
        RER_TRY(run_tile(&pass, &is_done, error));
        pass.first += is_done ? pass.count : 0;
        most = is_done ? most : pass.count / FEWER; /* no room for so many */
    }
    *done = pass.first;
    return RER_OK;
}
