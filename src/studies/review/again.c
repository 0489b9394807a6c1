/* Look again: the analysis with the decisions so far, in a thread of its own.
 *
 * 1. Labels that were fixed are corrected, rows that were dropped have none; what was kept stays.
 * 2. The analysis runs as the run's own options say.
 * 3. With the clearest mistakes mended, the analysis takes the labels for nearly clean: what it says ranks well, but
 *    promises far too little (on CIFAR-10's human labels 12 where 533 were left). But that other rows were decided
 *    changes nothing about the odds of an open one: so its log odds are brought to the scale of the first analysis, by
 *    the line that fits the open rows best, and the mean of both looks is taken.
 * 4. Decided rows are left out of the queue; the odds of the others are corrected by what the decisions taught, and
 *    the page is made anew.
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
    RER_TRY(rer_allocate(&made->before, data->N, sizeof *made->before, "labels", error));
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

/* ---- the promises of both looks --------------------------------------------------------------- */

#define ODDS_MOST 16.0

static double odds_of(double promise)
{
    return fmax(-ODDS_MOST, fmin(ODDS_MOST, log(promise) - log1p(-promise)));
}

static bool is_compared(const rer_review *review, const rer_result *result, int64_t row)
{
    return result->given[row] >= 0 && !isnan(review->rows.first[row]) && !isnan(result->logit[row]);
}

typedef struct line {
    double shift, slope;
} line;

/* first = shift + slope * now, by least squares over the open rows whose first odds are above the middle. */
static rer_status fit_line(line *fitted, const rer_review *review, const rer_result *result, rer_error *error)
{
    double *odds = NULL, n = 0, x = 0, y = 0, xx = 0, xy = 0;
    int64_t count = 0;
    RER_TRY(rer_allocate(&odds, result->N, sizeof *odds, "odds", error));
    for (int64_t row = 0; row < result->N; row++)
        if (is_compared(review, result, row))
            odds[count++] = odds_of((double)review->rows.first[row]);
    rer_sort_doubles(odds, count);
    double middle = count > 0 ? rer_percentile(odds, count, .5) : 0;
    for (int64_t row = 0; row < result->N; row++) {
        double first = is_compared(review, result, row) ? odds_of((double)review->rows.first[row]) : -INFINITY;
        if (first < middle)
            continue;
        double now = odds_of(rer_sample_of(result, row).mistakenness);
        n++;
        x += now;
        y += first;
        xx += now * now;
        xy += now * first;
    }
    double slope = (n * xy - x * y) / (n * xx - x * x);
    bool is_line = isfinite(slope) && slope > 0; /* else all that is known is the first look */
    *fitted = (line){.shift = is_line ? (y - slope * x) / n : NAN, .slope = slope};
    free(odds);
    return RER_OK;
}

/* The rows that are open get what both looks say of them. */
static rer_status take_rows(rer_review *review, const rer_result *result, rer_error *error)
{
    line fitted;
    RER_TRY(fit_line(&fitted, review, result, error));
    (void)pthread_rwlock_wrlock(&review->rows_lock);
    for (int64_t row = 0; row < result->N; row++) {
        if (!is_compared(review, result, row))
            continue;
        rer_sample sample = rer_sample_of(result, row);
        double first = odds_of((double)review->rows.first[row]);
        double now = fitted.shift + fitted.slope * odds_of(sample.mistakenness);
        review->rows.promise[row] = (float)rer_logistic(isnan(now) ? first : (first + now) / 2);
        review->rows.chi[row] = (float)sample.chi;
        review->rows.suggested[row] = sample.suggested;
    }
    (void)pthread_rwlock_unlock(&review->rows_lock);
    return RER_OK;
}

/* ---- what is shown ---------------------------------------------------------------------------- */

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
    RER_THEN(status, take_rows(review, result, error));
    RER_THEN(status, rer_review_learn(&taught, odds, review, error));
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
    RER_THEN(status, relabel(review->data, &made, error));
    RER_THEN(status, rer_analyze(&result, review->data, &review->options, NULL, &progress, error));
    RER_THEN(status, show(review, result, &made, error));
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
