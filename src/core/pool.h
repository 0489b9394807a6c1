/* Our one level of parallelism: items worked on by several threads, results committed in item
 * order, so that sums do not depend on the number of threads. A pool lives as long as one call of
 * the library; its threads and their scratch serve all passes of that call. */
#pragma once

#include "core/scratch.h"

typedef struct rer_pool rer_pool;

typedef struct rer_pool_settings {
    int32_t threads;              /* 0: one for each core that this process may use */
    int64_t memory;               /* cap on the scratch of all workers together, 0: none */
    const rer_progress *progress; /* may be NULL */
    bool (*enter)(void);          /* called by each thread before its first item; false: no memory */
    void (*leave)(void);          /* and after its last */
} rer_pool_settings;

rer_status rer_pool_open(rer_pool **pool, const rer_pool_settings *settings, rer_error *error);
void rer_pool_close(rer_pool *pool);

typedef rer_status rer_pool_step(void *context, int64_t item, void *scratch, rer_error *error);

/* What would be committed by one thread at a time, in parts that do not touch each other: each part, a lane, takes the
 * items in their order, and several items are under way in different lanes. */
#define RER_LANES 8
typedef void rer_pool_lane(void *context, int64_t item, int lane, void *scratch);

typedef struct rer_job {
    const char *stage; /* what the user is told is going on */
    double from, to;   /* the job's part of the whole progress */
    int64_t items;
    int64_t scratch;       /* bytes of each worker's scratch: not zeroed */
    rer_pool_step *work;   /* in parallel, any order */
    rer_pool_step *commit; /* after work of the same item, one at a time, in item order; or NULL */
    rer_pool_lane *add;    /* in the place of commit: for each of RER_LANES lanes */
    void *context;
} rer_job;

/* Runs every item. On an error the one of the lowest failing item is reported. Without a pool, NULL, the caller's thread
 * does it: not for steps that ask the pool for anything, or that add in lanes. */
rer_status rer_pool_run(rer_pool *pool, const rer_job *job, rer_error *error);

/* What follows counts from 0 again: progress within a part never goes back. */
void rer_pool_begin_part(rer_pool *pool);

/* For work that lasts: call it now and then from within an item. Reports progress (in the calling
 * thread) and says RER_CANCELLED when the item may as well end. */
rer_status rer_pool_pulse(rer_pool *pool, rer_error *error);

/* Says that `job` begins, which does not go through the pool. */
rer_status rer_pool_say(rer_pool *pool, const rer_job *job, rer_error *error);

/* The scratch that a step is called with, as much as its job asks for: to be laid out. */
rer_scratch rer_pool_scratch(const rer_pool *pool, void *memory);
