/* The worker pool: every item once, commits in order, the lowest failure, the cap on memory,
 * cancellation, and threads that come and go in pairs. Run under ThreadSanitizer too. */
#include "core/pool.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define ITEMS 120
#define THREADS_MOST 8

/* What workers leave: asserted only by the test's own thread. */
typedef struct work_log {
    atomic_int worked[ITEMS]; /* how often each item was worked on */
    int64_t committed[ITEMS]; /* items in the order of their commits */
    int64_t commits, items;
    atomic_int inside, most_inside; /* workers at work at the same time */
    atomic_int overlaps;            /* commits at the same time, scratch of another item */
    atomic_int committing;
    int64_t fail_work[3], fail_commit; /* items that fail, -1: none */
    int64_t slow;                      /* an item that takes long, -1: none */
} work_log;

static work_log *start_log(int64_t items)
{
    work_log *log = calloc(1, sizeof *log);
    assert_non_null(log);
    log->items = items;
    log->fail_work[0] = log->fail_work[1] = log->fail_work[2] = log->fail_commit = log->slow = -1;
    return log;
}

static void pause_for(int64_t microseconds)
{
    struct timespec time = {.tv_nsec = (long)microseconds * 1000};
    (void)nanosleep(&time, NULL);
}

static rer_status work(void *context, int64_t item, void *scratch, rer_error *error)
{
    work_log *log = context;
    int inside = ++log->inside;
    for (int most = log->most_inside; inside > most && !atomic_compare_exchange_weak(&log->most_inside, &most, inside);)
        ;
    log->worked[item]++;
    pause_for(item == log->slow ? 30000 : item * 7919 % 5 * 100);
    *(int64_t *)scratch = item * item;
    log->inside--;
    for (int i = 0; i < 3; i++)
        if (item == log->fail_work[i])
            return rer_fail(error, RER_BAD_INPUT, "item %d", (int)item);
    return RER_OK;
}

static rer_status commit(void *context, int64_t item, void *scratch, rer_error *error)
{
    work_log *log = context;
    log->overlaps += log->committing++ != 0 || *(int64_t *)scratch != item * item;
    if (item == log->fail_commit) {
        log->committing--;
        return rer_fail(error, RER_SYSTEM, "commit of item %d", (int)item);
    }
    log->committed[log->commits++] = item;
    log->committing--;
    return RER_OK;
}

static rer_job job_of(work_log *log)
{
    return (rer_job){.stage = "testing",
                     .from = .25,
                     .to = .75,
                     .items = log->items,
                     .scratch = 1000,
                     .work = work,
                     .commit = commit,
                     .context = log};
}

static rer_pool *open_pool(int32_t threads, int64_t memory, const rer_progress *progress)
{
    rer_pool *pool = NULL;
    rer_pool_settings settings = {.threads = threads, .memory = memory, .progress = progress};
    assert_int_equal(rer_pool_open(&pool, &settings, NULL), RER_OK);
    return pool;
}

static void assert_committed_up_to(const work_log *log, int64_t count)
{
    assert_int_equal(log->overlaps, 0);
    assert_int_equal(log->commits, count);
    for (int64_t i = 0; i < count; i++) {
        assert_int_equal(log->committed[i], i);
        assert_int_equal(log->worked[i], 1);
    }
}

/* ---- order and failures ------------------------------------------------------------------- */

static void test_order(void **state)
{
    (void)state;
    for (int32_t threads = 1; threads <= THREADS_MOST; threads++) {
        rer_pool *pool = open_pool(threads, 0, NULL);
        static const int64_t sizes[] = {ITEMS, 0, 1, 3, ITEMS}; /* one pool, several jobs */
        for (int i = 0; i < 5; i++) {
            work_log *log = start_log(sizes[i]);
            rer_job job = job_of(log);
            job.scratch = 8 + 5000 * i; /* the scratch grows on the way */
            assert_int_equal(rer_pool_run(pool, &job, NULL), RER_OK);
            assert_committed_up_to(log, sizes[i]);
            assert_true(log->most_inside <= threads);
            free(log);
        }
        rer_pool_close(pool);
    }
}

static void test_no_commit(void **state)
{
    (void)state;
    work_log *log = start_log(ITEMS);
    rer_pool *pool = open_pool(4, 0, NULL);
    rer_job job = job_of(log);
    job.commit = NULL;
    assert_int_equal(rer_pool_run(pool, &job, NULL), RER_OK);
    for (int i = 0; i < ITEMS; i++)
        assert_int_equal(log->worked[i], 1);
    rer_pool_close(pool);
    free(log);
}

/* Without turns to wait for, too, the slow item 9 is the one that is told. */
static void test_failure_without_commit(void **state)
{
    (void)state;
    for (int32_t threads = 1; threads <= THREADS_MOST; threads++) {
        rer_error error = {0};
        work_log *log = start_log(ITEMS);
        rer_pool *pool = open_pool(threads, 0, NULL);
        rer_job job = job_of(log);
        job.commit = NULL;
        log->fail_work[0] = log->slow = 9;
        log->fail_work[1] = 11;
        assert_int_equal(rer_pool_run(pool, &job, &error), RER_BAD_INPUT);
        assert_string_equal(error.message, "item 9");
        rer_pool_close(pool);
        free(log);
    }
}

/* Item 9 is slow and fails after 11 and 40 have: it is still the one that is told. */
static void test_lowest_failure(void **state)
{
    (void)state;
    for (int32_t threads = 1; threads <= THREADS_MOST; threads++) {
        rer_error error = {0};
        work_log *log = start_log(ITEMS);
        rer_pool *pool = open_pool(threads, 0, NULL);
        rer_job job = job_of(log);
        log->fail_work[0] = 40;
        log->fail_work[1] = log->slow = 9;
        log->fail_work[2] = 11;
        assert_int_equal(rer_pool_run(pool, &job, &error), RER_BAD_INPUT);
        assert_int_equal(error.status, RER_BAD_INPUT);
        assert_string_equal(error.message, "item 9");
        assert_committed_up_to(log, 9);
        /* The pool is as good as new. */
        work_log *again = start_log(ITEMS);
        job = job_of(again);
        assert_int_equal(rer_pool_run(pool, &job, NULL), RER_OK);
        assert_committed_up_to(again, ITEMS);
        rer_pool_close(pool);
        free(again);
        free(log);
    }
}

static void test_failing_commit(void **state)
{
    (void)state;
    for (int32_t threads = 1; threads <= THREADS_MOST; threads++) {
        rer_error error = {0};
        work_log *log = start_log(ITEMS);
        rer_pool *pool = open_pool(threads, 0, NULL);
        rer_job job = job_of(log);
        log->fail_commit = 20;
        log->fail_work[0] = 60;
        assert_int_equal(rer_pool_run(pool, &job, &error), RER_SYSTEM);
        assert_string_equal(error.message, "commit of item 20");
        assert_committed_up_to(log, 20);
        rer_pool_close(pool);
        free(log);
    }
}

/* ---- lanes -------------------------------------------------------------------------------- */

typedef struct lane_log {
    work_log *log;
    int64_t added[RER_LANES][ITEMS], count[RER_LANES]; /* items of each lane in their order */
    atomic_int inside[RER_LANES], overlaps;
    atomic_int lanes_inside, most_lanes; /* lanes at work at the same time */
} lane_log;

static rer_status work_for_lanes(void *context, int64_t item, void *scratch, rer_error *error)
{
    lane_log *lanes = context;
    return work(lanes->log, item, scratch, error);
}

static void add_to_lane(void *context, int64_t item, int lane, void *scratch)
{
    lane_log *lanes = context;
    int inside = ++lanes->lanes_inside;
    for (int most = lanes->most_lanes;
         inside > most && !atomic_compare_exchange_weak(&lanes->most_lanes, &most, inside);)
        ;
    lanes->overlaps += lanes->inside[lane]++ != 0 || *(int64_t *)scratch != item * item;
    pause_for(50);
    lanes->added[lane][lanes->count[lane]++] = item;
    lanes->inside[lane]--;
    lanes->lanes_inside--;
}

/* Runs ITEMS items in lanes; each lane has had the items below `count` in their order, none twice. */
static lane_log *run_lanes(int32_t threads, int64_t failing, rer_status expected)
{
    lane_log *lanes = calloc(1, sizeof *lanes);
    assert_non_null(lanes);
    rer_error error = {0};
    rer_pool *pool = open_pool(threads, 0, NULL);
    lanes->log = start_log(ITEMS);
    lanes->log->fail_work[0] = lanes->log->slow = failing;
    rer_job job = job_of(lanes->log);
    job.work = work_for_lanes;
    job.commit = NULL;
    job.add = add_to_lane;
    job.context = lanes;
    assert_int_equal(rer_pool_run(pool, &job, &error), expected);
    rer_pool_close(pool);
    assert_int_equal(lanes->overlaps, 0);
    for (int lane = 0; lane < RER_LANES; lane++) {
        assert_int_equal(lanes->count[lane], failing < 0 ? ITEMS : failing);
        for (int64_t i = 0; i < lanes->count[lane]; i++)
            assert_int_equal(lanes->added[lane][i], i);
    }
    free(lanes->log);
    return lanes;
}

static void test_lanes(void **state)
{
    (void)state;
    for (int32_t threads = 1; threads <= THREADS_MOST; threads++) {
        lane_log *lanes = run_lanes(threads, -1, RER_OK);
        assert_true(threads == 1 ? lanes->most_lanes == 1 : lanes->most_lanes > 1);
        free(lanes);
        free(run_lanes(threads, 9, RER_BAD_INPUT));
    }
}

/* ---- memory ------------------------------------------------------------------------------- */

static void test_memory_cap(void **state)
{
    (void)state;
    rer_error error = {0};
    work_log *log = start_log(ITEMS);
    rer_pool *pool = open_pool(THREADS_MOST, 3000, NULL);
    rer_job job = job_of(log);
    assert_int_equal(rer_pool_run(pool, &job, NULL), RER_OK);
    assert_committed_up_to(log, ITEMS);
    assert_true(log->most_inside <= 3);
    job.scratch = 3001;
    assert_int_equal(rer_pool_run(pool, &job, &error), RER_BAD_USAGE);
    assert_non_null(strstr(error.message, "--memory 3000"));
    assert_non_null(strstr(error.message, "3001"));
    rer_pool_close(pool);
    free(log);
}

static rer_status fill_scratch(void *context, int64_t item, void *scratch, rer_error *error)
{
    (void)context;
    (void)error;
    if (((uintptr_t)scratch & 63) != 0)
        return rer_fail(error, RER_SYSTEM, "scratch is not aligned");
    memset(scratch, (int)item, 777777);
    pause_for(200);
    for (int i = 0; i < 777777; i++)
        if (((unsigned char *)scratch)[i] != item)
            return rer_fail(error, RER_SYSTEM, "scratch is shared");
    return RER_OK;
}

static void test_scratch_is_private(void **state)
{
    (void)state;
    rer_error error = {0};
    rer_pool *pool = open_pool(4, 0, NULL);
    rer_job job = {.stage = "filling", .items = 60, .scratch = 777777, .work = fill_scratch};
    if (rer_pool_run(pool, &job, &error) != RER_OK)
        fail_msg("%s", error.message);
    rer_pool_close(pool);
}

/* ---- progress ----------------------------------------------------------------------------- */

typedef struct reports {
    pthread_t caller;
    int count, stop_at, wrong;
    double last;
} reports;

static bool take_report(void *context, const char *stage, double fraction)
{
    reports *seen = context;
    seen->wrong += !pthread_equal(pthread_self(), seen->caller) || strcmp(stage, "testing") != 0 ||
                   fraction < seen->last || fraction < .25 || fraction > .75;
    seen->last = fraction;
    return ++seen->count == seen->stop_at;
}

static void test_cancel(void **state)
{
    (void)state;
    for (int32_t threads = 1; threads <= 4; threads += 3) {
        rer_error error = {0};
        work_log *log = start_log(ITEMS);
        reports seen = {.caller = pthread_self(), .stop_at = 1};
        rer_progress progress = {.report = take_report, .context = &seen};
        rer_pool *pool = open_pool(threads, 0, &progress);
        rer_job job = job_of(log);
        pause_for(120000); /* the time after which the first report is due */
        assert_int_equal(rer_pool_run(pool, &job, &error), RER_CANCELLED);
        assert_int_equal(error.status, RER_CANCELLED);
        assert_non_null(strstr(error.message, "testing"));
        assert_true(seen.count == 1 && seen.wrong == 0);
        assert_true(log->commits < ITEMS);
        assert_committed_up_to(log, log->commits);
        rer_pool_close(pool);
        free(log);
    }
}

static void test_reports(void **state)
{
    (void)state;
    work_log *log = start_log(ITEMS);
    reports seen = {.caller = pthread_self()};
    rer_progress progress = {.report = take_report, .context = &seen};
    rer_pool *pool = open_pool(2, 0, &progress);
    rer_job job = job_of(log);
    pause_for(120000);
    assert_int_equal(rer_pool_run(pool, &job, NULL), RER_OK);
    assert_true(seen.count >= 1 && seen.wrong == 0);
    assert_committed_up_to(log, ITEMS);
    free(log);
    log = start_log(ITEMS); /* a job that stands earlier comes again: nothing goes back */
    job = job_of(log);
    job.from = 0;
    job.to = .1;
    int before = seen.count;
    pause_for(120000);
    assert_int_equal(rer_pool_run(pool, &job, NULL), RER_OK);
    assert_true(seen.count > before && seen.wrong == 0);
    rer_pool_close(pool);
    free(log);
}

/* ---- threads that enter and leave --------------------------------------------------------- */

static atomic_int entered, left, allowed;

static bool enter(void)
{
    if (entered >= allowed)
        return false;
    entered++;
    return true;
}

static void leave(void)
{
    left++;
}

static void run_with_entrances(int allowed_threads)
{
    work_log *log = start_log(ITEMS);
    rer_pool *pool = NULL;
    rer_pool_settings settings = {.threads = 4, .enter = enter, .leave = leave};
    entered = left = 0;
    allowed = allowed_threads;
    assert_int_equal(rer_pool_open(&pool, &settings, NULL), RER_OK);
    rer_job job = job_of(log);
    assert_int_equal(rer_pool_run(pool, &job, NULL), RER_OK);
    assert_int_equal(rer_pool_run(pool, &(rer_job){.items = 0}, NULL), RER_OK);
    assert_committed_up_to(log, ITEMS);
    rer_pool_close(pool);
    assert_int_equal(entered, left);
    free(log);
}

static void test_enter_and_leave(void **state)
{
    (void)state;
    rer_pool *pool = NULL;
    rer_error error = {0};
    rer_pool_settings settings = {.threads = 4, .enter = enter, .leave = leave};
    run_with_entrances(1000);
    assert_true(entered >= 1 && entered <= 4);
    run_with_entrances(1); /* no memory for the others: the caller does their work */
    entered = left = allowed = 0;
    assert_int_equal(rer_pool_open(&pool, &settings, &error), RER_SYSTEM);
    assert_null(pool);
    assert_int_equal(left, 0);
}

typedef struct taking {
    rer_pool *pool;
    int64_t bytes;
} taking;

static rer_status take(void *context, int64_t item, void *memory, rer_error *error)
{
    const taking *t = context;
    (void)item, (void)error;
    rer_scratch scratch = rer_pool_scratch(t->pool, memory);
    *(char *)rer_take(&scratch, t->bytes, 1) = 1;
    return RER_OK;
}

/* Takes `bytes` of the 128 that the job asks for, in a process of its own: how that ends. */
static int end_of_taking(int64_t bytes)
{
    int end = 0;
    pid_t child = fork();
    if (child == 0) {
        taking t = {open_pool(1, 0, NULL), bytes};
        rer_job job = {.stage = "taking", .items = 1, .scratch = 128, .work = take, .context = &t};
        (void)fclose(stderr);
        rer_status status = rer_pool_run(t.pool, &job, NULL);
        rer_pool_close(t.pool);
        _exit((int)status);
    }
    assert_int_equal(waitpid(child, &end, 0), child);
    return end;
}

static void test_overrun_ends_the_program(void **state)
{
    (void)state;
    assert_int_equal(end_of_taking(128), 0);
    int end = end_of_taking(129);
    assert_true(WIFSIGNALED(end) && WTERMSIG(end) == SIGABRT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_no_commit),
        cmocka_unit_test(test_failure_without_commit),
        cmocka_unit_test(test_lowest_failure),
        cmocka_unit_test(test_failing_commit),
        cmocka_unit_test(test_lanes),
        cmocka_unit_test(test_memory_cap),
        cmocka_unit_test(test_scratch_is_private),
        cmocka_unit_test(test_overrun_ends_the_program),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_reports),
        cmocka_unit_test(test_enter_and_leave),
    };
    return cmocka_run_group_tests_name("core.pool", tests, NULL, NULL);
}
