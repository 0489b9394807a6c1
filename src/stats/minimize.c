/* libLBFGS calls back for every evaluation, so each of several problems has a thread in which its call lives.
 * These threads and the caller take turns: they wait while it evaluates, and it waits while any of them does
 * the vector work of L-BFGS between two evaluations. A single problem lives in the caller's thread. */
#include "stats/minimize.h"

#include "core/thread.h"

#include <lbfgs.h>

#define REMEMBERED 10 /* pairs of steps and changes of the gradient */
#define LINE_SEARCH_MOST 10

typedef struct lockstep lockstep;

typedef struct seat {
    lockstep *table;
    rer_problem *problem;
    pthread_t thread;
    double value; /* at the last place that was accepted */
    int outcome;
    bool asking;
} seat;

struct lockstep {
    pthread_mutex_t mutex;
    pthread_cond_t asked, answered;
    int32_t running, asking;
    bool stopped;
    int32_t iterations, count;
    seat *seats;
    rer_problem **wanted; /* [count] of the evaluation under way */
    rer_evaluate *evaluate;
    void *context;
    rer_status status; /* of the evaluations */
    rer_error *error;
};

/* What the first `asking` of the wanted problems ask for. */
static void evaluate_wanted(lockstep *table, int32_t asking)
{
    for (int32_t i = 0; i < asking; i++)
        table->wanted[i]->evaluated++;
    if (!table->stopped)
        table->status = table->evaluate(table->context, table->wanted, asking, table->error);
    table->stopped = table->stopped || table->status != RER_OK;
}

static void wait_for_answer(seat *own)
{
    lockstep *table = own->table;
    (void)pthread_mutex_lock(&table->mutex);
    own->asking = true;
    table->asking++;
    (void)pthread_cond_signal(&table->asked);
    while (own->asking)
        (void)pthread_cond_wait(&table->answered, &table->mutex);
    (void)pthread_mutex_unlock(&table->mutex);
}

static double ask(void *instance, const double *x, double *gradient, const int n, const double step)
{
    seat *own = instance;
    lockstep *table = own->table;
    own->problem->at = x;
    own->problem->gradient = gradient;
    if (table->count == 1)
        evaluate_wanted(table, 1);
    else
        wait_for_answer(own);
    /* A converged problem ends here, even where rounding makes the objective look a little larger than
     * before: a gradient of 0 and the lowest of values end any search for a better step. */
    bool ends = table->stopped || own->problem->converged;
    if (step == 0)
        own->value = own->problem->value;
    for (int64_t i = ends ? 0 : own->problem->n; i < n; i++)
        gradient[i] = 0;
    return ends ? -HUGE_VAL : own->problem->value;
}

/* After every iteration; not 0: stop. */
static int check(void *instance, const double *x, const double *gradient, const double value, const double x_norm,
                 const double gradient_norm, const double step, int n, int iteration, int evaluations)
{
    seat *own = instance;
    (void)x, (void)gradient, (void)x_norm, (void)gradient_norm, (void)step, (void)n, (void)iteration;
    (void)evaluations;
    own->value = value;
    return own->problem->converged || own->table->stopped ? LBFGS_STOP : 0;
}

static void descend(seat *own)
{
    rer_problem *problem = own->problem;
    lbfgs_parameter_t settings;
    double value = 0;
    lbfgs_parameter_init(&settings);
    settings.m = REMEMBERED;
    settings.epsilon = 0;
    settings.max_iterations = own->table->iterations;
    settings.max_linesearch = LINE_SEARCH_MOST;
    own->outcome = lbfgs((int)rer_problem_size(problem->n), problem->x, &value, ask, check, own, &settings);
    problem->stuck = own->outcome < 0 && own->outcome != LBFGSERR_MAXIMUMITERATION;
    if (problem->stuck)
        problem->value = own->value; /* it has gone back there */
}

static void *run_seat(void *argument)
{
    seat *own = argument;
    lockstep *table = own->table;
    descend(own);
    (void)pthread_mutex_lock(&table->mutex);
    table->running--;
    (void)pthread_cond_signal(&table->asked);
    (void)pthread_mutex_unlock(&table->mutex);
    return NULL;
}

/* Answers until no problem is left. */
static void answer(lockstep *table)
{
    (void)pthread_mutex_lock(&table->mutex);
    for (;;) {
        while (table->asking < table->running)
            (void)pthread_cond_wait(&table->asked, &table->mutex);
        if (table->running == 0)
            break;
        int32_t asking = 0;
        for (int32_t i = 0; i < table->count; i++)
            if (table->seats[i].asking)
                table->wanted[asking++] = table->seats[i].problem;
        (void)pthread_mutex_unlock(&table->mutex);
        evaluate_wanted(table, asking); /* all others wait */
        (void)pthread_mutex_lock(&table->mutex);
        table->asking = 0;
        for (int32_t i = 0; i < table->count; i++)
            table->seats[i].asking = false;
        (void)pthread_cond_broadcast(&table->answered);
    }
    (void)pthread_mutex_unlock(&table->mutex);
}

/* A failed line search is no failure: often rounding allows no better place. */
static rer_status judge_outcome(const seat *own, rer_error *error)
{
    if (own->outcome == LBFGSERR_OUTOFMEMORY)
        return rer_fail(error, RER_SYSTEM, "out of memory: L-BFGS needs some %d vectors of %lld numbers",
                        2 * REMEMBERED + 5, (long long)own->problem->n);
    if (own->outcome >= LBFGSERR_INVALID_N && own->outcome <= LBFGSERR_INVALID_ORTHANTWISE_END)
        return rer_fail(error, RER_SYSTEM, "libLBFGS refuses a problem of %lld variables (code %d)",
                        (long long)own->problem->n, own->outcome);
    return RER_OK;
}

static int32_t start_threads(lockstep *table)
{
    int32_t started = 0;
    (void)pthread_mutex_lock(&table->mutex);
    for (; started < table->count; started++)
        if (!rer_thread_start(&table->seats[started].thread, run_seat, &table->seats[started]))
            break;
    table->running = started;
    table->stopped = started < table->count;
    (void)pthread_mutex_unlock(&table->mutex);
    return started;
}

static rer_status descend_together(lockstep *table, rer_error *error)
{
    (void)pthread_mutex_init(&table->mutex, NULL);
    (void)pthread_cond_init(&table->asked, NULL);
    (void)pthread_cond_init(&table->answered, NULL);
    int32_t started = start_threads(table);
    rer_status status = RER_OK;
    if (started < table->count)
        status = rer_fail(error, RER_SYSTEM, "no thread can be started");
    answer(table);
    for (int32_t i = 0; i < started; i++)
        (void)pthread_join(table->seats[i].thread, NULL);
    (void)pthread_cond_destroy(&table->asked);
    (void)pthread_cond_destroy(&table->answered);
    (void)pthread_mutex_destroy(&table->mutex);
    return status;
}

static rer_status descend_all(lockstep *table, rer_error *error)
{
    rer_status status = RER_OK;
    if (table->count == 1)
        descend(&table->seats[0]);
    else
        status = descend_together(table, error);
    RER_THEN(status, table->status);
    for (int32_t i = 0; status == RER_OK && i < table->count; i++)
        status = judge_outcome(&table->seats[i], error);
    return status;
}

rer_status rer_minimize(rer_problem *problems, int32_t count, int32_t iterations, rer_evaluate *evaluate, void *context,
                        rer_error *error)
{
    lockstep table = {
        .iterations = iterations, .count = count, .evaluate = evaluate, .context = context, .error = error};
    rer_room rooms[] = {RER_ROOM(table.seats, count), RER_ROOM(table.wanted, count)};
    RER_TRY(rer_allocate_all(rooms, RER_COUNT(rooms), "problems", error));
    rer_status status = RER_OK;
    for (int32_t i = 0; status == RER_OK && i < count; i++) {
        table.seats[i] = (seat){.table = &table, .problem = &problems[i]};
        table.wanted[i] = &problems[i];
        if (problems[i].n > INT32_MAX - 16)
            status = rer_fail(error, RER_BAD_INPUT, "%lld variables are too many for libLBFGS; at most %d are",
                              (long long)problems[i].n, INT32_MAX - 16);
    }
    RER_THEN(status, descend_all(&table, error));
    RER_FREE_ALL(table.seats, table.wanted);
    return status;
}
