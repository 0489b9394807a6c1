/* Look again: the analysis with the decisions so far, in a thread of its own.
 *
 * 1. Labels that were fixed are corrected, rows that were dropped have none; what was kept stays.
 * 2. The analysis runs as the run's own options say.
 * 3. Decided rows are left out of the queue; the odds of the others are corrected by what the decisions taught.
 * 4. The page is made anew, and the rows that are open get their new promises.
 *
 * Nothing of this is written to the folder. */
#include "studies/review/review.h"

#include "report/report.h"
#include "stats/order.h"

static bool report_progress(void *context, const char *stage, double fraction)
{
    rer_review *review = context;
    (void)stage;
    (void)pthread_mutex_lock(&review->lock);
    review->again.fraction = fmax(review->again.fraction, fraction);
    (void)pthread_mutex_unlock(&review->lock);
    return atomic_load(&review->again.stop);
}

/* ---- labels ----------------------------------------------------------------------------------- */

/* Verdicts, taken while the lock is held. */
typedef struct decided {
    rer_verdict_of_row *verdicts;
    int64_t count;
    int32_t *before; /* [N] the labels as they were */
} decided;

static rer_status check_classes(const rer_labels *labels, rer_error *error)
{
    uint8_t *seen = NULL;
    rer_status status = rer_allocate(&seen, labels->C, sizeof *seen, "classes", error);
    for (int64_t row = 0; status == RER_OK && row < labels->N; row++)
        if (labels->codes[row] >= 0)
            seen[labels->codes[row]] = 1;
    for (int32_t c = 0; status == RER_OK && c < labels->C; c++)
        if (seen[c] == 0)
            status = rer_fail(error, RER_BAD_INPUT,
                              "the decisions leave no row of class '%.60s'; apply them, and analyze the labels anew",
                              rer_labels_value(labels, c));
    free(seen);
    return status;
}

static rer_status relabel(rer_dataset *data, decided *made, rer_error *error)
{
    rer_labels *labels = &data->labels;
    rer_status status = rer_allocate(&made->before, data->N, sizeof *made->before, "labels", error);
    if (status != RER_OK)
        return status;
    memcpy(made->before, labels->codes, (size_t)data->N * sizeof *made->before);
    for (int64_t i = 0; i < made->count; i++)
        if (!made->verdicts[i].is_tie)
            labels->codes[made->verdicts[i].row] = (int32_t)rer_max(-1, made->verdicts[i].outcome);
    return check_classes(labels, error);
}

static void restore(rer_dataset *data, decided *made)
{
    if (made->before != NULL)
        memcpy(data->labels.codes, made->before, (size_t)data->N * sizeof *made->before);
    RER_FREE_ALL(made->before, made->verdicts);
}

/* ---- what is shown ---------------------------------------------------------------------------- */

/* Decided rows are no suspects any more. */
static void leave_out(rer_result *result, const decided *made)
{
    for (int64_t i = 0; i < made->count; i++) {
        if (made->verdicts[i].is_tie)
            continue;
        result->given[made->verdicts[i].row] = -1;
        result->flags[made->verdicts[i].row] &= (uint8_t) ~(RER_FLAG_ISSUE | RER_FLAG_OUTLIER);
    }
}

/* The rows that are open get what the analysis says of them. */
static void take_rows(rer_review *review, const rer_result *result)
{
    (void)pthread_rwlock_wrlock(&review->rows_lock);
    for (int64_t row = 0; row < result->N; row++) {
        rer_sample sample = rer_sample_of(result, row);
        if (result->given[row] < 0)
            continue;
        review->rows.promise[row] = (float)sample.mistakenness;
        review->rows.chi[row] = (float)sample.chi;
        review->rows.suggested[row] = sample.suggested;
    }
    (void)pthread_rwlock_unlock(&review->rows_lock);
}

static void correct(rer_result *result, const float *odds)
{
    result->summary.n_issues = 0;
    result->summary.expected_wrong = 0;
    for (int64_t row = 0; row < result->N; row++) {
        if (result->given[row] >= 0 && !isnan(odds[row]))
            result->logit[row] = odds[row];
        if ((result->flags[row] & RER_FLAG_ISSUE) == 0)
            continue;
        result->summary.n_issues++;
        result->summary.expected_wrong += rer_logistic((double)result->logit[row]);
    }
}

static rer_status show(rer_review *review, rer_result *result, const decided *made, rer_error *error)
{
    rer_result_files files = {.result = result, .data = review->data};
    rer_taught taught;
    float *odds = NULL;
    char *report = NULL;
    leave_out(result, made);
    rer_status status = rer_allocate(&odds, result->N, sizeof *odds, "odds", error);
    if (status == RER_OK) {
        take_rows(review, result);
        status = rer_review_learn(&taught, odds, review, error);
    }
    if (status == RER_OK) {
        correct(result, odds);
        status = rer_file_text(&report, rer_put_report, &files, error);
    }
    if (status == RER_OK) {
        (void)pthread_mutex_lock(&review->lock);
        free(review->report);
        review->report = report;
        review->looks++;
        (void)pthread_mutex_unlock(&review->lock);
    }
    free(odds);
    return status;
}

/* ---- the thread ------------------------------------------------------------------------------- */

static rer_status look(rer_review *review, rer_error *error)
{
    rer_progress progress = {.report = report_progress, .context = review};
    decided made = {0};
    rer_result *result = NULL;
    (void)pthread_mutex_lock(&review->lock);
    rer_status status = rer_review_verdicts(&made.verdicts, &made.count, review, error);
    (void)pthread_mutex_unlock(&review->lock);
    if (status == RER_OK)
        status = relabel(review->data, &made, error);
    if (status == RER_OK)
        status = rer_analyze(&result, review->data, &review->options, NULL, &progress, error);
    if (status == RER_OK)
        status = show(review, result, &made, error);
    restore(review->data, &made);
    rer_result_free(result);
    return status;
}

static void *run_thread(void *context)
{
    rer_review *review = context;
    rer_error error = {0};
    rer_status status = look(review, &error);
    (void)pthread_mutex_lock(&review->lock);
    review->again.state = status == RER_OK ? RER_AGAIN_DONE : RER_AGAIN_FAILED;
    (void)snprintf(review->again.message, sizeof review->again.message, "%s", status == RER_OK ? "" : error.message);
    (void)pthread_mutex_unlock(&review->lock);
    return NULL;
}

rer_status rer_again_start(rer_review *review, rer_error *error)
{
    rer_again *again = &review->again;
    if (again->state == RER_AGAIN_RUNS)
        return RER_OK;
    if (review->data == NULL)
        return rer_fail(error, RER_BAD_USAGE, "the data cannot be opened again: %s", review->why);
    if (review->is_clustered)
        return rer_fail(error, RER_BAD_USAGE, "the labels are clusters: there are no others to correct them with");
    if (again->is_started)
        (void)pthread_join(again->thread, NULL);
    again->is_started = false;
    again->fraction = 0;
    again->state = RER_AGAIN_RUNS;
    if (pthread_create(&again->thread, NULL, run_thread, review) != 0) {
        again->state = RER_AGAIN_FAILED;
        return rer_fail(error, RER_SYSTEM, "no thread could be started; try again");
    }
    again->is_started = true;
    return RER_OK;
}

void rer_again_stop(rer_review *review)
{
    atomic_store(&review->again.stop, true);
    if (review->again.is_started)
        (void)pthread_join(review->again.thread, NULL);
    review->again.is_started = false;
}
