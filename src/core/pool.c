/* Worker threads that commit in order, as a whole or in lanes. */
#define _GNU_SOURCE
#include "core/pool.h"

#include "core/thread.h"

#include <sched.h>
#include <unistd.h>

#define THREADS_MAX 256
#define REPORT_SECONDS 0.1

typedef struct worker {
    rer_pool *pool;
    int index; /* 0: the thread that called rer_pool_run */
    pthread_t thread;
} worker;

struct rer_pool {
    rer_pool_settings settings;
    worker workers[THREADS_MAX];
    pthread_t owner; /* the thread that opened the pool */
    int threads;     /* workers that run, the caller included */
    char *scratch;
    int64_t scratch_bytes, stride; /* of all workers; of one */
    double reported;               /* when progress was last reported, the calling thread's alone, ... */
    double furthest;               /* ... and the most that was: jobs that repeat do not take it back */

    /* Guarded by the mutex: */
    pthread_mutex_t mutex;
    pthread_cond_t posted;            /* a job is there, or the end */
    pthread_cond_t idle;              /* all workers are done with the job */
    pthread_cond_t turn[THREADS_MAX]; /* of item % threads to be committed: items under way are fewer than that apart */
    const rer_job *job;
    int64_t posts; /* jobs posted so far */
    int invited;   /* workers that take part in the job */
    int busy;      /* of them, not done with it yet */
    bool closing;
    int64_t next_item, next_commit; /* so many are committed, or done where there is nothing to commit */
    int64_t next_in_lane[RER_LANES];
    pthread_cond_t lane_moved[RER_LANES];
    int64_t failed_item; /* lowest item that failed; job->items while none has */
    rer_error failure;
};

/* An item that gave up because another had failed says nothing new, wherever it stands. */
static void record_failure(rer_pool *pool, int64_t item, const rer_error *error)
{
    bool gave_up = error->status == RER_CANCELLED && pool->failed_item < pool->job->items;
    if (item < pool->failed_item) {
        pool->failed_item = item;
        pool->failure = gave_up ? pool->failure : *error;
    }
}

/* Hands out the next item, or -1 when there is none or one failed. */
static int64_t take_item(rer_pool *pool)
{
    int64_t item = -1;
    pthread_mutex_lock(&pool->mutex);
    if (pool->next_item < pool->job->items && pool->failed_item == pool->job->items)
        item = pool->next_item++;
    pthread_mutex_unlock(&pool->mutex);
    return item;
}

/* Of a job that has nothing to commit: the item is done. */
static void count_done(rer_pool *pool, int64_t item, rer_status status, const rer_error *error)
{
    pthread_mutex_lock(&pool->mutex);
    if (status != RER_OK)
        record_failure(pool, item, error);
    else
        pool->next_commit++;
    pthread_mutex_unlock(&pool->mutex);
}

static void pass_turn(rer_pool *pool, int64_t item)
{
    if (pool->failed_item == pool->job->items)
        (void)pthread_cond_signal(&pool->turn[item % pool->threads]);
    else /* those behind it give up */
        for (int i = 0; i < pool->threads; i++)
            (void)pthread_cond_signal(&pool->turn[i]);
}

/* Waits for the item's turn and commits it. An item behind a failed one gives up its turn. */
static void commit_in_turn(rer_pool *pool, int64_t item, void *scratch, rer_status status, rer_error *error)
{
    pthread_mutex_lock(&pool->mutex);
    if (status != RER_OK)
        record_failure(pool, item, error);
    while (pool->next_commit != item && pool->failed_item > item)
        pthread_cond_wait(&pool->turn[item % pool->threads], &pool->mutex);
    bool mine = status == RER_OK && pool->failed_item > item;
    pthread_mutex_unlock(&pool->mutex);

    if (mine)
        status = pool->job->commit(pool->job->context, item, scratch, error);

    pthread_mutex_lock(&pool->mutex);
    if (status != RER_OK)
        record_failure(pool, item, error);
    if (mine)
        pool->next_commit = item + 1;
    pass_turn(pool, item + 1);
    pthread_mutex_unlock(&pool->mutex);
}

/* The same, a lane after the other. */
static void add_in_turn(rer_pool *pool, int64_t item, void *scratch, rer_status status, const rer_error *error)
{
    pthread_mutex_lock(&pool->mutex);
    if (status != RER_OK)
        record_failure(pool, item, error);
    for (int lane = 0; lane < RER_LANES; lane++) {
        while (pool->next_in_lane[lane] != item && pool->failed_item > item)
            pthread_cond_wait(&pool->lane_moved[lane], &pool->mutex);
        if (pool->failed_item <= item)
            break;
        pthread_mutex_unlock(&pool->mutex);
        pool->job->add(pool->job->context, item, lane, scratch);
        pthread_mutex_lock(&pool->mutex);
        pool->next_in_lane[lane] = item + 1;
        pthread_cond_broadcast(&pool->lane_moved[lane]);
    }
    pool->next_commit = pool->next_in_lane[RER_LANES - 1];
    for (int lane = 0; pool->failed_item < pool->job->items && lane < RER_LANES; lane++)
        pthread_cond_broadcast(&pool->lane_moved[lane]);
    pthread_mutex_unlock(&pool->mutex);
}

/* Only the calling thread reports, and only now and then. */
static rer_status report(rer_pool *pool, const rer_job *job, int64_t item, rer_error *error)
{
    const rer_progress *progress = pool->settings.progress;
    double now = rer_now();
    if (progress == NULL || progress->report == NULL || now - pool->reported < REPORT_SECONDS)
        return RER_OK;
    pool->reported = now;
    double fraction = job->from + (job->to - job->from) * (double)item / (double)job->items;
    pool->furthest = fraction > pool->furthest ? fraction : pool->furthest;
    if (progress->report(progress->context, job->stage, pool->furthest))
        return rer_fail(error, RER_CANCELLED, "stopped while %s", job->stage);
    return RER_OK;
}

rer_status rer_pool_pulse(rer_pool *pool, rer_error *error)
{
    pthread_mutex_lock(&pool->mutex);
    bool failed = pool->failed_item < pool->job->items;
    int64_t done = pool->next_commit;
    pthread_mutex_unlock(&pool->mutex);
    if (failed)
        return rer_fail(error, RER_CANCELLED, "stopped");
    return pthread_equal(pthread_self(), pool->owner) ? report(pool, pool->job, done, error) : RER_OK;
}

void rer_pool_begin_part(rer_pool *pool)
{
    pool->furthest = 0;
}

rer_status rer_pool_say(rer_pool *pool, const rer_job *job, rer_error *error)
{
    return report(pool, job, 0, error);
}

rer_scratch rer_pool_scratch(const rer_pool *pool, void *memory)
{
    return rer_scratch_over(memory, pool->job->scratch);
}

/* Works on items of the posted job until there are no more. */
static void work_on_job(rer_pool *pool, int index)
{
    void *scratch = pool->scratch + pool->stride * index;
    for (int64_t item = take_item(pool); item >= 0; item = take_item(pool)) {
        rer_error error = {0};
        rer_status status = index == 0 ? report(pool, pool->job, item, &error) : RER_OK;
        if (status == RER_OK)
            status = pool->job->work(pool->job->context, item, scratch, &error);
        if (pool->job->commit != NULL)
            commit_in_turn(pool, item, scratch, status, &error);
        else if (pool->job->add != NULL)
            add_in_turn(pool, item, scratch, status, &error);
        else
            count_done(pool, item, status, &error);
    }
}

static void *run_worker(void *argument)
{
    worker *self = argument;
    rer_pool *pool = self->pool;
    int64_t seen = 0;
    bool entered = false;
    pthread_mutex_lock(&pool->mutex);
    while (!pool->closing) {
        if (pool->posts == seen) {
            pthread_cond_wait(&pool->posted, &pool->mutex);
            continue;
        }
        seen = pool->posts;
        if (self->index >= pool->invited)
            continue;
        pthread_mutex_unlock(&pool->mutex);
        /* A thread without memory for its buffers is only less help. */
        entered = entered || pool->settings.enter == NULL || pool->settings.enter();
        if (entered)
            work_on_job(pool, self->index);
        pthread_mutex_lock(&pool->mutex);
        if (--pool->busy == 0)
            (void)pthread_cond_signal(&pool->idle);
    }
    pthread_mutex_unlock(&pool->mutex);
    if (entered && pool->settings.leave != NULL)
        pool->settings.leave();
    return NULL;
}

/* Cores that this process may use. */
static long count_cores(void)
{
#ifdef __linux__
    cpu_set_t allowed;
    return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
#else
    return sysconf(_SC_NPROCESSORS_ONLN);
#endif
}

static int count_threads(int32_t asked)
{
    return (int)rer_max(1, rer_min(asked > 0 ? asked : count_cores(), THREADS_MAX));
}

/* Where one cannot be started the others do its work: slower, not wrong. */
static void start_threads(rer_pool *pool, int count)
{
    for (pool->threads = 1; pool->threads < count; pool->threads++) {
        worker *next = &pool->workers[pool->threads];
        *next = (worker){.pool = pool, .index = pool->threads};
        if (!rer_thread_start(&next->thread, run_worker, next))
            break;
    }
}

rer_status rer_pool_open(rer_pool **pool, const rer_pool_settings *settings, rer_error *error)
{
    rer_pool *made = NULL;
    RER_TRY(rer_allocate(&made, 1, sizeof *made, "threads", error));
    if (settings->enter != NULL && !settings->enter()) {
        free(made);
        return rer_fail(error, RER_SYSTEM, "out of memory: buffers for matrix products");
    }
    made->settings = *settings;
    made->owner = pthread_self();
    made->reported = rer_now();
    (void)pthread_mutex_init(&made->mutex, NULL);
    (void)pthread_cond_init(&made->posted, NULL);
    (void)pthread_cond_init(&made->idle, NULL);
    for (int i = 0; i < THREADS_MAX; i++)
        (void)pthread_cond_init(&made->turn[i], NULL);
    for (int lane = 0; lane < RER_LANES; lane++)
        (void)pthread_cond_init(&made->lane_moved[lane], NULL);
    start_threads(made, count_threads(settings->threads));
    *pool = made;
    return RER_OK;
}

void rer_pool_close(rer_pool *pool)
{
    if (pool == NULL)
        return;
    pthread_mutex_lock(&pool->mutex);
    pool->closing = true;
    pthread_cond_broadcast(&pool->posted);
    pthread_mutex_unlock(&pool->mutex);
    for (int i = 1; i < pool->threads; i++)
        (void)pthread_join(pool->workers[i].thread, NULL);
    if (pool->settings.leave != NULL)
        pool->settings.leave();
    (void)pthread_cond_destroy(&pool->posted);
    (void)pthread_cond_destroy(&pool->idle);
    for (int i = 0; i < THREADS_MAX; i++)
        (void)pthread_cond_destroy(&pool->turn[i]);
    for (int lane = 0; lane < RER_LANES; lane++)
        (void)pthread_cond_destroy(&pool->lane_moved[lane]);
    (void)pthread_mutex_destroy(&pool->mutex);
    RER_FREE_ALL(pool->scratch, pool);
}

/* As many workers as threads, items and the memory cap allow. */
static rer_status count_workers(const rer_pool *pool, const rer_job *job, int *workers, rer_error *error)
{
    int64_t count = rer_max(1, rer_min(pool->threads, job->items)), cap = pool->settings.memory;
    if (cap > 0 && job->scratch > 0) {
        if (job->scratch > cap)
            return rer_fail(error, RER_BAD_USAGE,
                            "--memory %lld: %s needs %lld bytes of working memory for one thread; give at least that",
                            (long long)cap, job->stage, (long long)job->scratch);
        count = rer_min(count, cap / job->scratch);
    }
    *workers = (int)count;
    return RER_OK;
}

/* Room for every worker's scratch; it is kept from job to job, so that its pages stay. */
static rer_status provide_scratch(rer_pool *pool, int64_t bytes, int workers, rer_error *error)
{
    int64_t total = 0;
    pool->stride = (bytes + 127) & ~(int64_t)63;
    if (!rer_product(pool->stride, workers, &total))
        return rer_fail(error, RER_SYSTEM, "%d threads need more memory than there can be", workers);
    if (total <= pool->scratch_bytes)
        return RER_OK;
    free(pool->scratch);
    pool->scratch_bytes = 0;
    pool->scratch = rer_memory(total);
    if (pool->scratch == NULL)
        return rer_fail(error, RER_SYSTEM, "out of memory: %d threads need %lld bytes", workers, (long long)total);
    pool->scratch_bytes = total;
    return RER_OK;
}

static rer_status run_alone(const rer_job *job, rer_error *error)
{
    void *scratch = rer_memory(job->scratch);
    rer_status status = scratch != NULL ? RER_OK
                                        : rer_fail(error, RER_SYSTEM, "out of memory: %s needs %lld bytes", job->stage,
                                                   (long long)job->scratch);
    for (int64_t item = 0; status == RER_OK && item < job->items; item++) {
        status = job->work(job->context, item, scratch, error);
        if (status == RER_OK && job->commit != NULL)
            status = job->commit(job->context, item, scratch, error);
    }
    free(scratch);
    return status;
}

rer_status rer_pool_run(rer_pool *pool, const rer_job *job, rer_error *error)
{
    int workers = 1;
    if (job->items <= 0)
        return RER_OK;
    if (pool == NULL)
        return run_alone(job, error);
    RER_TRY(count_workers(pool, job, &workers, error));
    RER_TRY(provide_scratch(pool, job->scratch, workers, error));

    pthread_mutex_lock(&pool->mutex);
    pool->job = job;
    pool->invited = workers;
    pool->busy = workers - 1;
    pool->next_item = pool->next_commit = 0;
    memset(pool->next_in_lane, 0, sizeof pool->next_in_lane);
    pool->failed_item = job->items;
    pool->failure = (rer_error){0};
    pool->posts++;
    pthread_cond_broadcast(&pool->posted);
    pthread_mutex_unlock(&pool->mutex);

    work_on_job(pool, 0);

    pthread_mutex_lock(&pool->mutex);
    while (pool->busy > 0)
        pthread_cond_wait(&pool->idle, &pool->mutex);
    bool failed = pool->failed_item < job->items;
    pthread_mutex_unlock(&pool->mutex);
    return failed ? rer_fail(error, pool->failure.status, "%s", pool->failure.message) : RER_OK;
}
