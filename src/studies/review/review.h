/* A review that is going on: the run, the journal, what is shown.
 *
 *     folder.c   the run: samples.csv, its options, its data
 *     page.c     report.html, alive
 *     taught.c   what the decisions say about the promises
 *     again.c    look again: the analysis with the decisions so far
 *     answers.c  a request -> an answer
 *     decide.c   decisions into the journal, and out of it
 *     server.c   HTTP, by libmicrohttpd: who may ask, how much, how long
 *
 * `lock` is for the journal, the page and the state of looking again; `rows_lock` for what looking again changes of
 * `rows`. Neither is held for long, and never both. */
#pragma once

#include "core/options.h"
#include "core/writer.h"
#include "labels/journal.h"
#include "labels/votes.h"
#include "run/result.h"
#include "source/dataset.h"

#include <pthread.h>
#include <stdatomic.h>

/* What is known of each row. */
typedef struct rer_review_rows {
    int64_t N;
    rer_texts classes;  /* [C] as samples.csv names them */
    rer_texts ids;      /* [N]; count 0: none */
    float *first;       /* [N] mistakenness as the run has it; NaN: none */
    float *promise;     /* [N] the same, after looking again where that was done */
    float *chi;         /* [N] */
    int32_t *given;     /* [N] class, -1: no label */
    int32_t *suggested; /* [N] class, -1: none */
} rer_review_rows;

typedef enum rer_again_state { RER_AGAIN_NEVER, RER_AGAIN_RUNS, RER_AGAIN_DONE, RER_AGAIN_FAILED } rer_again_state;

typedef struct rer_again {
    pthread_t thread;
    bool is_started; /* the thread is to be joined */
    rer_again_state state;
    double fraction;
    char message[1000]; /* why it failed */
    atomic_bool stop;
} rer_again;

typedef struct rer_review {
    char *folder;
    const char *reviewer;
    rer_options options; /* of the run */
    uint64_t checksum;   /* of its labels */
    rer_review_rows rows;
    rer_dataset *data; /* NULL: not to be opened ... */
    char why[1000];    /* ... because of this */
    bool is_clustered;
    pthread_mutex_t lock;
    pthread_rwlock_t rows_lock;
    rer_journal journal;
    char *report;  /* the page as it was written, or as looking again made it */
    int64_t looks; /* how often that was */
    rer_again again;
} rer_review;

/* ---- folder.c ---------------------------------------------------------------------------------- */

rer_status rer_review_open(rer_review *review, const char *folder, rer_error *error);
void rer_review_close(rer_review *review);
/* How the class is written in the file of labels. */
const char *rer_review_value(const rer_review *review, int32_t c);
/* The class of such a text, -1: none. */
int32_t rer_review_class(const rer_review *review, const char *value);

/* ---- page.c ------------------------------------------------------------------------------------ */

/* Whether a page is of this version, so that its scripts are those that are known here. */
rer_status rer_review_page_check(const char *report, const char *path, rer_error *error);
/* The page with what is alive: `state` is JSON. free() it. */
rer_status rer_review_page(char **page, const char *report, const char *state, rer_error *error);
/* The Content-Security-Policy that goes with it. */
rer_status rer_review_policy(char **policy, rer_error *error);

/* ---- taught.c ---------------------------------------------------------------------------------- */

/* verdicts [*count] of the decisions so far, ties among them. free() them. */
rer_status rer_review_verdicts(rer_verdict_of_row **verdicts, int64_t *count, const rer_review *review,
                               rer_error *error);

typedef struct rer_taught {
    int64_t looked, wrong;      /* rows with a verdict; labels that were wrong among them */
    double promised;            /* as many had been promised */
    int64_t next;               /* open rows that are worth a look: wrong in 1 of 20 cases or more */
    double expected, low, high; /* wrong ones among them, and a 95 % interval */
    double shift, slope;        /* of the corrected log odds */
    double promised_next;       /* among the same rows, as it was promised */
} rer_taught;

/* And, where odds is not NULL, the corrected log odds [N] of each open row; NaN for the others. No lock is held. */
rer_status rer_review_learn(rer_taught *taught, float *odds, rer_review *review, rer_error *error);

/* ---- again.c ----------------------------------------------------------------------------------- */

/* Starts it, unless it runs; the lock is held. */
rer_status rer_again_start(rer_review *review, rer_error *error);
void rer_again_stop(rer_review *review); /* without the lock */

/* ---- answers.c --------------------------------------------------------------------------------- */

typedef struct rer_request {
    bool is_post;
    const char *path;                                      /* behind the token and its slash */
    const char *(*query)(void *context, const char *name); /* NULL where it was not given */
    void *context;
    const char *body;
    int64_t size;
} rer_request;

typedef struct rer_answer {
    int status;       /* of HTTP */
    const char *type; /* of its content */
    char *bytes;      /* owned */
    int64_t size;
} rer_answer;

/* Never fails: what cannot be done is an answer too. */
void rer_review_answer(rer_answer *answer, rer_review *review, const rer_request *request);

/* ---- decide.c ---------------------------------------------------------------------------------- */

/* Saves decisions: {"reviewer": NAME, "decisions": [{"id", "row", "decision", "label", "given", "note"}, ...]}. All of
 * them or none. */
rer_status rer_review_decide(rer_review *review, const char *body, int64_t size, rer_error *error);
/* decisions.csv of all reviewers, for rer apply. */
void rer_review_put_decisions(rer_writer *writer, const void *what, int which); /* what: rer_review */

/* ---- server.c ---------------------------------------------------------------------------------- */

/* Whether there can be a server: it loads its library. */
rer_status rer_server_load(rer_error *error);
rer_status rer_server_run(rer_review *review, int32_t port, void (*ready)(void *context, const char *address),
                          void *context, const rer_progress *progress, rer_error *error);
