/* Reading a result: what a caller sees of the O(N) numbers that the stages left. */
#include "run/result.h"

#include "run/details.h"
#include "run/row_sums.h"
#include "stats/order.h"

#include <stdarg.h>

rer_status rer_result_make(rer_result **result, int64_t N, int32_t C, const rer_options *options, rer_error *error)
{
    rer_result *made = NULL;
    RER_TRY(rer_allocate(&made, 1, sizeof *made, "the result", error));
    made->N = N;
    made->C = C;
    made->options = *options;
    made->summary.duplicate_angle = NAN;
    rer_room rooms[] = {
        RER_ROOM(made->given, N), RER_ROOM(made->suggested, N),     RER_ROOM(made->own, N),   RER_ROOM(made->other, N),
        RER_ROOM(made->logit, N), RER_ROOM(made->outlier_score, N), RER_ROOM(made->flags, N),
    };
    rer_status status = rer_allocate_all(rooms, RER_COUNT(rooms), "the result", error);
    if (status != RER_OK) {
        rer_result_free(made);
        return status;
    }
    for (int64_t row = 0; row < N; row++)
        made->given[row] = -1;
    *result = made;
    return RER_OK;
}

rer_status rer_result_copy_names(rer_result *result, char *const *names, const rer_texts *texts, rer_error *error)
{
    RER_TRY(rer_allocate(&result->names, result->C, sizeof *result->names, "class names", error));
    for (int32_t c = 0; c < result->C; c++)
        RER_TRY(rer_copy_text(&result->names[c], texts == NULL ? names[c] : texts->bytes + texts->offset[c], error));
    return RER_OK;
}

rer_status rer_result_add_note(rer_result *result, rer_error *error, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    rer_status status = rer_notes_add_list(&result->notes, RER_REMARK, error, format, values);
    va_end(values);
    return status;
}

rer_status rer_result_add_doubt(rer_result *result, rer_error *error, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    rer_status status = rer_notes_add_list(&result->notes, RER_DOUBT, error, format, values);
    va_end(values);
    return status;
}

void rer_result_free(rer_result *result)
{
    if (result == NULL)
        return;
    RER_FREE_ALL(result->given, result->suggested, result->proposed, result->own, result->other, result->logit,
                 result->looks.row, result->looks.near, result->looks.nearness, result->looks.other,
                 result->looks.share, result->outlier_score, result->duplicate, result->flags, result->classes,
                 result->pairs, result->tail);
    for (int32_t c = 0; result->names != NULL && c < result->C; c++)
        free(result->names[c]);
    free(result->names);
    rer_notes_free(&result->notes);
    rer_model_free(result->model);
    rer_details_free(result->details);
    free(result);
}

const rer_model *rer_result_model(const rer_result *result)
{
    return result->model;
}

const rer_summary *rer_result_summary(const rer_result *result)
{
    return &result->summary;
}

const rer_class_summary *rer_result_class(const rer_result *result, int32_t c)
{
    return c >= 0 && c < result->C ? &result->classes[c] : NULL;
}

const char *rer_result_class_name(const rer_result *result, int32_t c)
{
    return c >= 0 && c < result->C ? result->names[c] : NULL;
}

const char *rer_result_note(const rer_result *result, int index)
{
    return index >= 0 && index < result->notes.count ? result->notes.text[index] : NULL;
}

const rer_pair *rer_result_pair(const rer_result *result, int64_t index)
{
    return index >= 0 && index < result->n_pairs ? &result->pairs[index] : NULL;
}

double rer_chi(double own, double other)
{
    if (isnan(own) || isnan(other))
        return NAN;
    if (own == other) /* 0 / 0 too */
        return 1;
    return fmin(own / other, RER_CHI_MAX);
}

/* Place of a row among those that had a second look, -1: it had none. */
static int64_t look_at(const rer_result *result, int64_t row)
{
    const rer_looks *looks = &result->looks;
    int64_t at = rer_place_of(looks->row, looks->count, row);
    return at < looks->count && looks->row[at] == row ? at : -1;
}

int32_t rer_result_near(const rer_result *result, int64_t row, int64_t rows[RER_NEAR_ROWS])
{
    int64_t at = look_at(result, row);
    int32_t count = 0;
    while (at >= 0 && count < RER_NEAR_ROWS && result->looks.near[at * RER_NEAR_ROWS + count] >= 0) {
        rows[count] = result->looks.near[at * RER_NEAR_ROWS + count];
        count++;
    }
    return count;
}

int32_t rer_result_likely(const rer_result *result, int64_t row, int32_t classes[RER_LIKELY],
                          double probabilities[RER_LIKELY])
{
    rer_sample sample = rer_sample_of(result, row);
    int64_t at = look_at(result, row);
    int32_t count = 0;
    if (at < 0 || sample.given < 0 || isnan(sample.mistakenness))
        return 0;
    const int32_t *other = result->looks.other + at * RER_LIKELY_OTHERS;
    const float *share = result->looks.share + at * RER_LIKELY_OTHERS;
    bool is_given_put = false;
    for (int i = 0; i < RER_LIKELY_OTHERS && other[i] >= 0; i++) {
        double probability = sample.mistakenness * (double)share[i];
        if (!is_given_put && sample.label_score >= probability) {
            is_given_put = true;
            classes[count] = sample.given;
            probabilities[count++] = sample.label_score;
        }
        classes[count] = other[i];
        probabilities[count++] = probability;
    }
    if (!is_given_put) {
        classes[count] = sample.given;
        probabilities[count++] = sample.label_score;
    }
    return count;
}

static void set_near(rer_sample *sample, const rer_result *result)
{
    int64_t rows[RER_NEAR_ROWS], at = look_at(result, sample->row);
    sample->nearness = at >= 0 ? (double)result->looks.nearness[at] : NAN;
    sample->near = rer_result_near(result, sample->row, rows);
    sample->near_whole = sample->near > 0 && result->looks.whole;
    for (int32_t i = 0; i < sample->near; i++)
        sample->near_suggested += result->given[rows[i]] == sample->suggested;
}

rer_sample rer_sample_of(const rer_result *result, int64_t row)
{
    rer_sample sample = {.size = sizeof sample,
                         .row = row,
                         .given = -1,
                         .predicted = -1,
                         .suggested = -1,
                         .duplicates = -1,
                         .is_invalid = true};
    sample.chi = sample.own_error = sample.best_other_error = NAN;
    sample.mistakenness = sample.label_score = sample.suggestion_probability = NAN;
    sample.outlier_score = sample.nearness = NAN;
    if (row < 0 || row >= result->N)
        return sample;
    sample.given = result->given[row];
    sample.is_invalid = (result->flags[row] & RER_FLAG_INVALID) != 0;
    if (sample.is_invalid)
        return sample;
    sample.is_issue = (result->flags[row] & RER_FLAG_ISSUE) != 0;
    sample.is_outlier = (result->flags[row] & RER_FLAG_OUTLIER) != 0;
    sample.outlier_score = (double)result->outlier_score[row];
    if (result->duplicate != NULL)
        sample.duplicates = result->duplicate[row];
    sample.suggested = rer_suggested(result, row);
    sample.predicted = rer_predicted(result, row);
    set_near(&sample, result);
    sample.best_other_error = (double)result->other[row];
    double logit = (double)result->logit[row];
    if (sample.given < 0) {
        sample.suggestion_probability = rer_logistic(-logit);
        return sample;
    }
    sample.own_error = (double)result->own[row];
    sample.chi = rer_chi_of(result, row);
    sample.mistakenness = rer_logistic(logit);
    sample.label_score = rer_logistic(-logit);
    return sample;
}

rer_status rer_result_sample(rer_sample *sample, const rer_result *result, int64_t row, rer_error *error)
{
    rer_error_clear(error);
    if (row < 0 || row >= result->N)
        return rer_fail(error, RER_BAD_USAGE, "there is no row %lld; the result has %lld, from 0 on", (long long)row,
                        (long long)result->N);
    RER_TRY(rer_struct_check(sample, "rer_sample", error));
    rer_sample made = rer_sample_of(result, row);
    rer_struct_give(sample, &made, sizeof made);
    return RER_OK;
}

/* Whether row a is less suspicious than row b: by logit, then chi, then the later row. */
static bool is_less(const rer_result *result, int64_t a, int64_t b)
{
    if (result->logit[a] != result->logit[b])
        return result->logit[a] < result->logit[b];
    double chi_a = rer_chi_of(result, a), chi_b = rer_chi_of(result, b);
    return chi_a != chi_b ? chi_a < chi_b : a > b;
}

/* Restores the heap (least suspicious row on top) below position `at`. */
static void sift_down(const rer_result *result, int64_t *rows, int64_t count, int64_t at)
{
    for (int64_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && is_less(result, rows[child + 1], rows[child]))
            child++;
        if (!is_less(result, rows[child], rows[at]))
            return;
        int64_t row = rows[at];
        rows[at] = rows[child];
        rows[child] = row;
        at = child;
    }
}

static bool is_candidate(const rer_result *result, int64_t row)
{
    return result->given[row] >= 0 && (result->flags[row] & RER_FLAG_INVALID) == 0 && !isnan(result->logit[row]);
}

/* Unsigned numbers in the order of the floats that they stand for, 0 and -0 the same. */
static uint32_t order_key(float value)
{
    uint32_t bits;
    value += 0;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 31 != 0 ? ~bits : bits | 0x80000000u;
}

/* The rows that the `count` most suspicious are among: those of the tail, or all. */
typedef struct row_range {
    const int64_t *row; /* [n] ascending, NULL: 0..n-1 */
    int64_t n;
} row_range;

static row_range rows_with(const rer_result *result, int64_t count)
{
    if (result->tail != NULL && count <= RER_TAIL)
        return (row_range){result->tail, result->n_tail};
    return (row_range){NULL, result->N};
}

static int64_t row_at(const row_range *rows, int64_t at)
{
    return rows->row != NULL ? rows->row[at] : at;
}

#define DIGITS 2048   /* values of a digit of a key */
#define COUNTED 16384 /* rows of an item */

/* Candidates by one digit of their keys, of those whose digits before that are known. */
typedef struct digit_count {
    const rer_result *result;
    const row_range *rows;
    uint32_t key, known, digits;
    int shift;
    int64_t found[DIGITS];
} digit_count;

static rer_status count_digits(void *context, int64_t item, void *scratch, rer_error *error)
{
    (void)error;
    const digit_count *count = context;
    int64_t *found = scratch;
    memset(found, 0, sizeof count->found);
    for (int64_t at = item * COUNTED; at < rer_min((item + 1) * COUNTED, count->rows->n); at++) {
        int64_t row = row_at(count->rows, at);
        uint32_t own = order_key(count->result->logit[row]);
        if (is_candidate(count->result, row) && (own & count->known) == count->key)
            found[own >> count->shift & count->digits]++;
    }
    return RER_OK;
}

static rer_status add_digits(void *context, int64_t item, void *scratch, rer_error *error)
{
    (void)item, (void)error;
    digit_count *count = context;
    const int64_t *found = scratch;
    for (int d = 0; d < DIGITS; d++)
        count->found[d] += found[d];
    return RER_OK;
}

/* By all threads, or where there is no pool by this one. */
static rer_status count_rows(digit_count *count, rer_pool *pool, rer_error *error)
{
    rer_job job = {.stage = "judging",
                   .items = (count->rows->n + COUNTED - 1) / COUNTED,
                   .scratch = sizeof count->found,
                   .work = count_digits,
                   .commit = add_digits,
                   .context = count};
    int64_t found[DIGITS];
    memset(count->found, 0, sizeof count->found);
    if (pool != NULL)
        return rer_pool_run(pool, &job, error);
    for (int64_t item = 0; item < job.items; item++) {
        (void)count_digits(count, item, found, error);
        (void)add_digits(count, item, found, error);
    }
    return RER_OK;
}

/* The key of the count-th largest logit, digit by digit from the highest, without sorting or memory;
 * *at_key: how many of the count largest have that very key. 0 where there are no more than `count`. */
static rer_status key_of_place(uint32_t *key, int64_t *at_key, const rer_result *result, const row_range *rows,
                               int64_t count, rer_pool *pool, rer_error *error)
{
    static const int shifts[] = {21, 10, 0};
    digit_count digit = {.result = result, .rows = rows};
    rer_status status = RER_OK;
    *key = 0;
    *at_key = 0;
    for (int i = 0; status == RER_OK && i < 3; i++) {
        int64_t total = 0;
        digit.digits = i == 2 ? DIGITS / 2 - 1 : DIGITS - 1;
        digit.shift = shifts[i];
        status = count_rows(&digit, pool, error);
        for (int d = 0; d < DIGITS; d++)
            total += digit.found[d];
        if (i == 0 && count >= total)
            return status;
        uint32_t place = digit.digits;
        for (; place > 0 && digit.found[place] < count; place--)
            count -= digit.found[place];
        digit.key |= place << digit.shift;
        digit.known |= digit.digits << digit.shift;
    }
    *key = digit.key;
    *at_key = count;
    return status;
}

double rer_result_expected_wrong(const rer_result *result, int64_t count)
{
    int64_t at_key = 0;
    double sum = 0, last = 0;
    if (count <= 0)
        return 0;
    row_range rows = rows_with(result, count);
    uint32_t key = 0;
    (void)key_of_place(&key, &at_key, result, &rows, count, NULL, NULL); /* without a pool nothing fails */
    for (int64_t at = 0; at < rows.n; at++) {
        int64_t row = row_at(&rows, at);
        uint32_t own = order_key(result->logit[row]);
        if (!is_candidate(result, row) || own < key)
            continue;
        double wrong = rer_logistic((double)result->logit[row]);
        if (own > key)
            sum += wrong;
        else
            last = wrong;
    }
    return sum + (double)at_key * last;
}

/* Partial selection: a heap of the `count` most suspicious rows so far, then sorted in place. Only those that are tied
 * for the last place come and go. */
int64_t rer_result_suspects(const rer_result *result, int64_t count, int64_t *rows)
{
    int64_t n = 0, at_key = 0;
    row_range among = rows_with(result, count);
    uint32_t least = 0;
    if (count > 0)
        (void)key_of_place(&least, &at_key, result, &among, count, NULL, NULL);
    for (int64_t place = 0; place < among.n && count > 0; place++) {
        int64_t row = row_at(&among, place);
        if (!is_candidate(result, row) || order_key(result->logit[row]) < least)
            continue;
        if (n < count) {
            rows[n++] = row;
            for (int64_t at = n / 2 - 1; n == count && at >= 0; at--)
                sift_down(result, rows, n, at);
        } else if (is_less(result, rows[0], row)) {
            rows[0] = row;
            sift_down(result, rows, n, 0);
        }
    }
    if (n < count) /* the heap was never filled, so never built */
        for (int64_t at = n / 2 - 1; at >= 0; at--)
            sift_down(result, rows, n, at);
    for (int64_t last = n - 1; last > 0; last--) {
        int64_t row = rows[0];
        rows[0] = rows[last];
        rows[last] = row;
        sift_down(result, rows, last, 0);
    }
    return n;
}

typedef struct marking {
    uint8_t *marks;
    uint32_t least;
} marking;

static void mark_row(rer_row_sums *sums, const rer_result *result, int64_t row, const void *how)
{
    const marking *m = how;
    m->marks[row] = is_candidate(result, row) && order_key(result->logit[row]) >= m->least;
    sums->n[0] += m->marks[row];
}

/* Marks the rows from the count-th largest logit on; *marked: how many these are, more than `count` where rows are tied. */
static rer_status mark_from_place(uint8_t *marks, int64_t *marked, const rer_result *result, int64_t count,
                                  rer_pool *pool, rer_error *error)
{
    int64_t at_key = 0;
    row_range rows = {NULL, result->N};
    marking how = {.marks = marks};
    rer_row_sums sums = {0};
    rer_status status = key_of_place(&how.least, &at_key, result, &rows, count, pool, error);
    if (status == RER_OK)
        status = rer_sum_rows(&sums, mark_row, &how, result, "judging", pool, error);
    *marked = sums.n[0];
    return status;
}

rer_status rer_result_keep_tail(rer_result *result, rer_pool *pool, rer_error *error)
{
    uint8_t *marks = NULL;
    int64_t count = 0;
    if (result->N <= RER_TAIL)
        return RER_OK;
    rer_status status = rer_allocate(&marks, result->N, 1, "the most suspicious rows", error);
    if (status == RER_OK)
        status = mark_from_place(marks, &count, result, RER_TAIL, pool, error);
    if (status == RER_OK && count > 0)
        status = rer_allocate(&result->tail, count, sizeof *result->tail, "the most suspicious rows", error);
    for (int64_t row = 0; result->tail != NULL && row < result->N; row++)
        if (marks[row] != 0)
            result->tail[result->n_tail++] = row;
    free(marks);
    return status;
}

rer_status rer_result_mark_suspects(uint8_t *marks, const rer_result *result, int64_t count, rer_pool *pool,
                                    rer_error *error)
{
    int64_t *rows = NULL, marked = 0;
    rer_status status = count > 0 ? mark_from_place(marks, &marked, result, count, pool, error) : RER_OK;
    if (status != RER_OK || marked <= count)
        return status;
    RER_TRY(rer_allocate(&rows, count, sizeof *rows, "the most suspicious rows", error));
    memset(marks, 0, (size_t)result->N);
    count = rer_result_suspects(result, count, rows);
    for (int64_t i = 0; i < count; i++)
        marks[rows[i]] = 1;
    free(rows);
    return RER_OK;
}
