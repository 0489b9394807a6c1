/* Worker threads that commit in order. */
#define _GNU_SOURCE
#include "core/pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#define THREADS_MAX 256
#define REPORT_SECONDS 0.1

/* State of one rer_pool_run, guarded by `mutex`. */
typedef struct pool_crew {
    const rer_pool *pool;
    const rer_job *job;
    pthread_mutex_t mutex;
    pthread_cond_t committed;
    int64_t next_item;     /* to hand out */
    int64_t next_commit;   /* whose turn it is to commit */
    int64_t failed_item;   /* lowest item that failed; `items` while none has */
    rer_error failure;
    double reported; /* when progress was last reported; the calling thread's alone */
} pool_crew;

typedef struct worker {
    pool_crew *crew;
    void *scratch;
    bool is_caller;
} worker;

int rer_pool_threads(int32_t asked)
{
    cpu_set_t allowed;
    if (asked > 0)
        return (int)rer_min(asked, THREADS_MAX);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return 1;
    return (int)rer_max(1, rer_min(CPU_COUNT(&allowed), THREADS_MAX));
}

static void record_failure(pool_crew *crew, int64_t item, const rer_error *error)
{
    if (item < crew->failed_item) {
        crew->failed_item = item;
        crew->failure = *error;
    }
}

/* Hands out the next item, or -1 when there is none or an earlier one failed. */
static int64_t take_item(pool_crew *crew)
{
    int64_t item = -1;
    pthread_mutex_lock(&crew->mutex);
    if (crew->next_item < crew->job->items && crew->failed_item == crew->job->items)
        item = crew->next_item++;
    pthread_mutex_unlock(&crew->mutex);
    return item;
}

/* Waits for the item's turn and commits it. An item behind a failed one gives up its turn. */
static void commit_in_turn(pool_crew *crew, int64_t item, void *scratch, rer_status status, rer_error *error)
{
    pthread_mutex_lock(&crew->mutex);
    if (status != RER_OK)
        record_failure(crew, item, error);
    while (crew->next_commit != item && crew->failed_item > item)
        pthread_cond_wait(&crew->committed, &crew->mutex);
    bool mine = status == RER_OK && crew->failed_item > item;
    pthread_mutex_unlock(&crew->mutex);

    if (mine && crew->job->commit != NULL)
        status = crew->job->commit(crew->job->context, item, scratch, error);

    pthread_mutex_lock(&crew->mutex);
    if (status != RER_OK)
        record_failure(crew, item, error);
    if (mine)
        crew->next_commit = item + 1;
    pthread_cond_broadcast(&crew->committed);
    pthread_mutex_unlock(&crew->mutex);
}

/* Only the calling thread reports, and only now and then. */
static rer_status report(pool_crew *crew, int64_t item, rer_error *error)
{
    const rer_progress *progress = crew->pool->progress;
    const rer_job *job = crew->job;
    double now = rer_now();
    if (progress == NULL || progress->report == NULL || now - crew->reported < REPORT_SECONDS)
        return RER_OK;
    crew->reported = now;
    double fraction = job->from + (job->to - job->from) * (double)item / (double)job->items;
    if (progress->report(progress->context, job->stage, fraction))
        return rer_fail(error, RER_CANCELLED, "stopped while %s", job->stage);
    return RER_OK;
}

static void *run_worker(void *argument)
{
    worker *self = argument;
    pool_crew *crew = self->crew;
    for (int64_t item = take_item(crew); item >= 0; item = take_item(crew)) {
        rer_error error = {0};
        rer_status status = self->is_caller ? report(crew, item, &error) : RER_OK;
        if (status == RER_OK)
            status = crew->job->work(crew->job->context, item, self->scratch, &error);
        commit_in_turn(crew, item, self->scratch, status, &error);
    }
    return NULL;
}

/* As many workers as threads, items and the memory cap allow. */
static rer_status count_workers(const rer_pool *pool, const rer_job *job, int *workers, rer_error *error)
{
    int64_t count = rer_max(1, rer_min(pool->threads, job->items));
    if (pool->memory > 0 && job->scratch > 0) {
        if (job->scratch > pool->memory)
            return rer_fail(error, RER_BAD_USAGE,
                            "--memory: %s needs %lld bytes of working memory for one thread and %lld are left; "
                            "give at least %lld MiB more",
                            job->stage, (long long)job->scratch, (long long)pool->memory,
                            (long long)((job->scratch - pool->memory) >> 20) + 1);
        count = rer_min(count, pool->memory / job->scratch);
    }
    *workers = (int)count;
    return RER_OK;
}

/* Starts threads for workers 1.. with all signals blocked, so that handlers run in the caller's
 * threads alone. Returns how many of them run: fewer is slower, not wrong. */
static int start_threads(worker *workers, pthread_t *threads, int count)
{
    sigset_t all, before;
    int started = 1;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    while (started < count && pthread_create(&threads[started], NULL, run_worker, &workers[started]) == 0)
        started++;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

rer_status rer_pool_run(const rer_pool *pool, const rer_job *job, rer_error *error)
{
    worker workers[THREADS_MAX];
    pthread_t threads[THREADS_MAX];
    pool_crew crew = {.pool = pool, .job = job, .failed_item = job->items, .reported = rer_now()};
    char *scratch = NULL;
    int count = 1;
    if (job->items <= 0)
        return RER_OK;
    rer_status status = count_workers(pool, job, &count, error);
    int64_t stride = (job->scratch + 127) & ~(int64_t)63;
    if (status == RER_OK)
        status = rer_allocate(&scratch, stride, count, job->stage, error);
    if (status != RER_OK)
        return status;

    (void)pthread_mutex_init(&crew.mutex, NULL);
    (void)pthread_cond_init(&crew.committed, NULL);
    for (int i = 0; i < count; i++)
        workers[i] = (worker){.crew = &crew, .scratch = scratch + stride * i, .is_caller = i == 0};
    int started = start_threads(workers, threads, count);
    (void)run_worker(&workers[0]);
    for (int i = 1; i < started; i++)
        (void)pthread_join(threads[i], NULL);
    (void)pthread_cond_destroy(&crew.committed);
    (void)pthread_mutex_destroy(&crew.mutex);
    free(scratch);

    if (crew.failed_item < job->items)
        return rer_fail(error, crew.failure.status, "%s", crew.failure.message);
    return RER_OK;
}
