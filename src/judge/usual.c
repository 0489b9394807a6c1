/* What is usual of rows that have a class: of those whose label's class no other is nearer than.
 *
 * 1. Of each class k with n of them: m_k the median of log own error; s_k how far above it the share ONE_SIGMA lies, one
 *    standard deviation of a Gaussian: only large errors are odd, and what every sixth row of a class does is usual.
 *    No s is below 1 / sqrt(2 D), that of the distance in a round Gaussian: points that many rows share vary less.
 * 2. Of all: m the median, s the same of log own error - m_k, tau^2 the mean (m_k - m)^2 over these rows.
 * 3. Few rows tell little of their class:
 *        s_k^2    <- (SHARED s^2 + n s_k^2) / (SHARED + n)
 *        v         = 1 / (1 / tau^2 + n / (pi/2 s_k^2))        pi/2 s^2 / n is the variance of a median
 *        center_k  = m + v n / (pi/2 s_k^2) (m_k - m)
 *        spread_k  = sqrt(s_k^2 + v)
 *    A class with none of these rows has the center and the spread of all.
 *
 * From at most SAMPLE rows, evenly spread: O(N). */
#include "judge/judge.h"
#include "stats/order.h"

#define TAIL .03
#define SAMPLE 16384
#define LEAST_ROWS 30 /* of fewer, nothing can be said of a tail */
#define HALF_PI 1.5707963267948966
#define ONE_SIGMA .8413 /* share of a Gaussian below it */
/* Rows of clean data that are far from every class, with 0, 3, 10, 30 and 100: aircraft (60 rows a class) .0032 .0023
 * .0018 .0014 .0011, flowers102 (40) .0033 .0031 .0032 .0039 .0046. */
#define SHARED 10

typedef struct usual_rows {
    int64_t n;
    double *error;  /* [SAMPLE] log own errors, class after class, ascending in each */
    double *work;   /* [SAMPLE] */
    int64_t *first; /* [C + 1] of each class */
} usual_rows;

static int64_t step_of(const rer_result *result)
{
    return (result->N + SAMPLE - 1) / SAMPLE;
}

static bool is_usual(const rer_result *result, int64_t row)
{
    return rer_is_scored(result, row) && result->own[row] > 0 && result->own[row] <= result->other[row];
}

static void gather_rows(usual_rows *rows, const rer_result *result)
{
    int32_t C = result->C;
    int64_t step = step_of(result);
    for (int64_t row = 0; row < result->N; row += step)
        if (is_usual(result, row))
            rows->first[result->given[row]]++;
    for (int32_t c = 0; c < C; c++) { /* where each class ends */
        rows->n += rows->first[c];
        rows->first[c] = rows->n;
    }
    rows->first[C] = rows->n;
    for (int64_t row = 0; row < result->N; row += step)
        if (is_usual(result, row))
            rows->error[--rows->first[result->given[row]]] = log((double)result->own[row]);
    for (int32_t c = 0; c < C; c++)
        rer_sort_doubles(rows->error + rows->first[c], rows->first[c + 1] - rows->first[c]);
}

/* Of ascending values [n] around their center. */
static double spread_of(const double *values, int64_t n, double center, double least)
{
    return fmax(rer_percentile(values, n, ONE_SIGMA) - center, least);
}

/* All rows together: their center, tau^2, and their spread around the centers [C] of their classes. */
static void describe_all(usual_rows *rows, const rer_usual *usual, double least, double *center, double *between,
                         double *spread)
{
    memcpy(rows->work, rows->error, (size_t)rows->n * sizeof *rows->work);
    rer_sort_doubles(rows->work, rows->n);
    *center = rer_percentile(rows->work, rows->n, .5);
    *between = 0;
    for (int32_t c = 0; c < usual->C; c++)
        for (int64_t i = rows->first[c]; i < rows->first[c + 1]; i++) {
            *between += pow(usual->center[c] - *center, 2) / (double)rows->n;
            rows->work[i] = rows->error[i] - usual->center[c];
        }
    rer_sort_doubles(rows->work, rows->n);
    *spread = spread_of(rows->work, rows->n, 0, least);
}

static void describe_classes(rer_usual *usual, usual_rows *rows, double least)
{
    double center, between, spread;
    for (int32_t c = 0; c < usual->C; c++) {
        const double *error = rows->error + rows->first[c];
        int64_t n = rows->first[c + 1] - rows->first[c];
        usual->center[c] = n > 0 ? rer_percentile(error, n, .5) : 0;
        usual->spread[c] = n > 0 ? spread_of(error, n, usual->center[c], least) : 0;
    }
    describe_all(rows, usual, least, &center, &between, &spread);
    for (int32_t c = 0; c < usual->C; c++) {
        double n = (double)(rows->first[c + 1] - rows->first[c]);
        double square = (SHARED * pow(spread, 2) + n * pow(usual->spread[c], 2)) / (SHARED + n);
        double known = n / (HALF_PI * square), v = 1 / (1 / between + known);
        usual->center[c] = center + v * known * (usual->center[c] - center);
        usual->spread[c] = sqrt(square + v);
    }
}

/* Those of evenly spread rows that are there, ascending; returns how many. */
static int64_t gather_margins(float *values, const float *margin, const rer_result *result)
{
    int64_t step = step_of(result), n = 0;
    for (int64_t row = 0; row < result->N; row += step)
        if ((result->flags[row] & RER_FLAG_INVALID) == 0 && !isnan(margin[row]))
            values[n++] = margin[row];
    rer_sort_floats(values, n);
    return n;
}

/* `least` is the least spread of a class. */
static rer_status describe_rows(rer_usual *usual, const rer_result *result, const rer_scores *scores, double least,
                                bool *known, rer_error *error)
{
    usual_rows rows = {0};
    usual->C = result->C;
    rer_room rooms[] = {RER_ROOM(usual->center, result->C), RER_ROOM(usual->spread, result->C),
                        RER_ROOM(usual->removed, SAMPLE),   RER_ROOM(rows.error, SAMPLE),
                        RER_ROOM(rows.work, SAMPLE),        RER_ROOM(rows.first, result->C + 1)};
    RER_TRY(rer_allocate_all(rooms, RER_COUNT(rooms), "outliers", error));
    gather_rows(&rows, result);
    *known = rows.n >= LEAST_ROWS;
    if (*known) {
        describe_classes(usual, &rows, least);
        int64_t n = gather_margins(usual->removed, scores->margin, result);
        usual->tail = n > 0 ? (double)usual->removed[(int64_t)((1 - TAIL) * (double)(n - 1))] : 0;
        usual->n_removed = gather_margins(usual->removed, scores->removed, result);
    }
    RER_FREE_ALL(rows.error, rows.work, rows.first);
    return RER_OK;
}

rer_status rer_usual_find(rer_usual **usual, const rer_result *result, const rer_scores *scores, int64_t D,
                          rer_error *error)
{
    rer_usual *made = NULL;
    bool known = false;
    RER_TRY(rer_allocate(&made, 1, sizeof *made, "outliers", error));
    rer_status status = describe_rows(made, result, scores, 1 / sqrt(2 * (double)D), &known, error);
    if (status == RER_OK && known)
        *usual = made;
    else
        rer_usual_free(made);
    return status;
}
