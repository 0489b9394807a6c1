/* Rows of a noise channel side by side, for every instruction set: their likelihood and its slopes against differences
 * of the formulas written out plainly in double, their flows against the formulas. */
#include "made_data.h"
#include "plain_channel.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROWS 37 /* more than two vectors of them */
#define KINDS 2
#define NEARLY_ALL (1 - 1e-8) /* as a float it would be all, */
#define NOTHING 1e-50         /* and this none */

/* Rows as the kernels get them, and their channel in double. */
typedef struct made_rows {
    int32_t n;
    int64_t count;
    int absent; /* class without rows, -1: none */
    bool with_rates, with_stands;
    float value[KINDS][ROWS * MOST], stands[ROWS];
    int32_t code[ROWS];
    double bias[MOST], weight[KINDS], lambda, blur, likeness;
    double uniform;           /* u; u / (n - 1) goes to each other class, */
    double flow[MOST * MOST]; /* [seen, true] and so much more, */
    double kept[MOST];        /* of what A_cc is without u */
} made_rows;

/* What the kernels get of A. */
typedef struct made_rates {
    float bias[MOST], right[MOST], rates[MOST * MOST];
} made_rates;

static made_rows draw_rows(int32_t n, double spread, bool with_rates, int draw, uint64_t *seed)
{
    const double some = .01 + .3 * made_uniform(seed), shares[] = {some, some, some, some, NEARLY_ALL, some, 0};
    made_rows rows = {.n = n,
                      .count = draw % 4 == 0 ? 1 : 1 + (int64_t)(ROWS * made_uniform(seed)),
                      .absent = draw % 5 == 0 && n > 3 ? n / 2 : -1,
                      .with_rates = with_rates,
                      .with_stands = draw % 3 == 1,
                      .weight = {.5 + made_uniform(seed), .25},
                      .lambda = .02 + .48 * made_uniform(seed),
                      .blur = shares[draw % 7],
                      .likeness = draw % 7 == 5   ? NOTHING
                                  : draw % 7 == 6 ? 0
                                                  : .01 + .3 * made_uniform(seed),
                      .uniform = .05};
    for (int32_t k = 0; k < n; k++) {
        rows.bias[k] = k != rows.absent ? (double)(float)made_normal(seed) : -INFINITY;
        rows.kept[k] = with_rates ? .65 + .3 * made_uniform(seed) : 1;
        for (int32_t c = 0; c < n; c++)
            rows.flow[c * n + k] = .3 * made_uniform(seed) * (made_uniform(seed) < .3);
    }
    for (int j = 0; j < KINDS; j++)
        for (int64_t i = 0; i < rows.count * n; i++)
            rows.value[j][i] = (float)(5 + spread * made_normal(seed));
    for (int64_t i = 0; i < rows.count; i++)
        rows.stands[i] = i % 9 == 4 ? 0 : (float)(.25 + 4 * made_uniform(seed));
    for (int64_t i = 0; i < rows.count; i++)
        do
            rows.code[i] = (int32_t)(n * made_uniform(seed));
        while (rows.code[i] == rows.absent);
    return rows;
}

static double stands_for(const made_rows *rows, int64_t i)
{
    return rows->with_stands ? (double)rows->stands[i] : 1;
}

/* A_kc */
static double rate_of(const made_rows *rows, int32_t k, int32_t c)
{
    if (k == c)
        return rows->kept[c] - rows->uniform;
    return rows->uniform / (rows->n - 1) + (rows->with_rates ? rows->flow[c * rows->n + k] : 0);
}

static plain_row row_of(const made_rows *rows, int64_t i)
{
    int32_t n = rows->n, c = rows->code[i];
    plain_row row = {.n = n, .code = c, .lambda = rows->lambda, .blur = rows->blur, .likeness = rows->likeness};
    for (int32_t k = 0; k < n; k++) {
        row.z[k] = rows->bias[k];
        for (int j = 0; j < KINDS; j++)
            row.z[k] -= rows->weight[j] * (double)rows->value[j][i * n + k];
        row.rate[k] = rate_of(rows, k, c);
    }
    return row;
}

static double log_q(const made_rows *rows)
{
    double sum = 0;
    for (int64_t i = 0; i < rows->count; i++) {
        plain_row row = row_of(rows, i);
        sum += stands_for(rows, i) * log(plain(&row).q);
    }
    return sum;
}

/* Central difference of log q; *at is moved and put back. (Shares are moved by little: q may be as small as they are.) */
static double difference(const made_rows *rows, double *at, double step)
{
    double middle = *at;
    *at = middle + step;
    double above = log_q(rows);
    *at = middle - step;
    double below = log_q(rows);
    *at = middle;
    return (above - below) / (2 * step);
}

static void assert_close(const char *what, const char *kernels, const made_rows *rows, double got, double want,
                         double scale)
{
    if (!(fabs(got - want) <= 2e-5 * (scale * (double)rows->count + fabs(want))))
        fail_msg("%s (%s, %d rows of %d classes): %.9g instead of %.9g", what, kernels, (int)rows->count, (int)rows->n,
                 got, want);
}

static rer_channel_rows for_kernels(const made_rows *rows, made_rates *made)
{
    rer_channel_rows out = {.count = rows->count,
                            .n = rows->n,
                            .kinds = KINDS,
                            .bias = made->bias,
                            .code = rows->code,
                            .stands = rows->with_stands ? rows->stands : NULL,
                            .right = made->right,
                            .rates = rows->with_rates ? made->rates : NULL,
                            .uniform = rows->uniform / (rows->n - 1),
                            .sharpness = rows->lambda,
                            .blur = rows->blur,
                            .likeness = rows->likeness};
    for (int32_t k = 0; k < rows->n; k++) {
        made->bias[k] = (float)rows->bias[k];
        made->right[k] = (float)rate_of(rows, k, k);
        for (int32_t c = 0; c < rows->n; c++) /* a label's own rate is not read from there */
            made->rates[c * rows->n + k] = c != k ? (float)rate_of(rows, k, c) : -7;
    }
    for (int j = 0; j < KINDS; j++) {
        out.value[j] = rows->value[j];
        out.weight[j] = (float)rows->weight[j];
    }
    return out;
}

static void *make_room(const rer_kernels *kernels, const rer_channel_rows *rows)
{
    int64_t bytes = kernels->rows->room(rows);
    void *room = aligned_alloc(64, (size_t)((bytes + 63) & ~(int64_t)63));
    assert_non_null(room);
    memset(room, 0xff, (size_t)bytes); /* what is there is not used */
    return room;
}

static void for_each_rows(void (*check)(made_rows *rows, const rer_kernels *kernels))
{
    const rer_kernels *list[MOST_KERNELS];
    static made_rows rows;
    int count = list_kernels(list);
    uint64_t seed = 1;
    for (int table = 0; table < count; table++)
        for (int size = 0; size < SIZES; size++)
            for (int draw = 0; draw < DRAWS / 2; draw++) {
                static const double spreads[] = {.5, 3, 8}; /* at most 69 nats: beyond it little is left of likeness */
                rows = draw_rows(sizes[size], spreads[draw % 3], draw % 2 == 0, draw, &seed);
                check(&rows, list[table]);
            }
}

static void check_slopes(made_rows *rows, const rer_kernels *kernels)
{
    static made_rates made;
    float of_bias[MOST];
    const char *name = kernels->name;
    rer_channel_rows in = for_kernels(rows, &made);
    rer_channel_slopes slopes = {.value = 3, .bias = of_bias};
    for (int32_t k = 0; k < rows->n; k++)
        of_bias[k] = 1;
    void *room = make_room(kernels, &in);
    kernels->rows->slopes(&slopes, &in, room); /* adds to what is there */
    free(room);
    assert_close("log q", name, rows, slopes.value - 3, log_q(rows), .1);
    for (int32_t k = 0; k < rows->n; k++)
        if (k == rows->absent)
            assert_true(of_bias[k] == 1);
        else
            assert_close("slope of a bias", name, rows, (double)of_bias[k] - 1, difference(rows, &rows->bias[k], 1e-4),
                         .2);
    for (int j = 0; j < KINDS; j++) /* times values of some 5 to 40 */
        assert_close("slope of a weight", name, rows, slopes.weight[j], difference(rows, &rows->weight[j], 1e-5), 5);
    assert_close("slope of lambda", name, rows, slopes.sharpness, difference(rows, &rows->lambda, 1e-5), 2);
    if (rows->blur > 0) /* nearly 1, the difference itself is rough */
        assert_close("slope of e", name, rows, slopes.blur,
                     difference(rows, &rows->blur, fmin(1e-6, 3e-3 * (1 - rows->blur))),
                     rows->blur == NEARLY_ALL ? 10 : 1);
    if (rows->likeness > NOTHING)
        assert_close("slope of v", name, rows, slopes.likeness, difference(rows, &rows->likeness, 1e-6), 1);
    assert_close("slope of u", name, rows, slopes.uniform, difference(rows, &rows->uniform, 1e-6), 1);
}

static void test_slopes(void **state)
{
    (void)state;
    for_each_rows(check_slopes);
}

/* sum of d log q / d A_kc over the rows with label c, by the formula. */
static double pair_slope(const made_rows *rows, int32_t k, int32_t c)
{
    double sum = 0;
    for (int64_t i = 0; i < rows->count; i++) {
        plain_row row = row_of(rows, i);
        plain_parts parts = plain(&row);
        if (row.code == c)
            sum += stands_for(rows, i) * (1 - row.blur) * (1 - row.likeness) * parts.p[k] / parts.q;
    }
    return sum;
}

/* Slopes of A, against the formula and differences: of few classes all, of many some; u is left alone. */
static void check_pair_slopes(made_rows *rows, const rer_kernels *kernels)
{
    static made_rates made;
    static float pairs[MOST * MOST];
    float of_bias[MOST] = {0};
    int32_t n = rows->n, step = n > 17 ? 211 : 1;
    rer_channel_rows in = for_kernels(rows, &made);
    rer_channel_slopes slopes = {.uniform = 7, .bias = of_bias, .pairs = pairs};
    if (!rows->with_rates)
        return;
    for (int32_t at = 0; at < n * n; at++)
        pairs[at] = 1;
    void *room = make_room(kernels, &in);
    kernels->rows->slopes(&slopes, &in, room);
    free(room);
    assert_true(slopes.uniform == 7);
    for (int32_t at = 0; at < n * n; at += step) {
        int32_t k = at % n, c = at / n;
        double got = (double)pairs[at] - 1;
        assert_close("slope of A", kernels->name, rows, got, pair_slope(rows, k, c), .1);
        if (at % 7 == 0 || k == c)
            assert_close("slope of A, by differences", kernels->name, rows, got,
                         difference(rows, k == c ? &rows->kept[c] : &rows->flow[at], 1e-6), 1);
    }
}

static void test_pair_slopes(void **state)
{
    (void)state;
    for_each_rows(check_pair_slopes);
}

static double value_of(const rer_channel_rows *in, double *slope, const rer_kernels *kernels)
{
    float of_bias[MOST] = {0};
    rer_channel_slopes slopes = {.bias = of_bias};
    void *room = make_room(kernels, in);
    kernels->rows->slopes(&slopes, in, room);
    free(room);
    *slope = slopes.blur;
    return slopes.value;
}

/* A step that no float shows moves log q all the same, by its slope: the search sees a smooth value. */
static void check_small_steps(made_rows *rows, const rer_kernels *kernels)
{
    static made_rates made;
    double slope, ignored, step = 1e-10;
    if (rows->blur == 0 || rows->blur == NEARLY_ALL)
        return;
    rer_channel_rows in = for_kernels(rows, &made);
    double before = value_of(&in, &slope, kernels);
    in.blur += step;
    double moved = (value_of(&in, &ignored, kernels) - before) / step;
    if (!(fabs(moved - slope) <= 1e-3 * ((double)rows->count + fabs(slope))))
        fail_msg("%s: log q moves by %.9g where its slope is %.9g", kernels->name, moved, slope);
}

static void test_small_steps(void **state)
{
    (void)state;
    for_each_rows(check_small_steps);
}

/* P(true class k, clearly seen | label): of all rows, how much of it is wrong, and of each row itself. */
static void check_flows(made_rows *rows, const rer_kernels *kernels)
{
    static float directed[ROWS * MOST];
    static made_rates made;
    float totals[MOST];
    int32_t n = rows->n;
    double want_totals[MOST] = {0}, want_wrong = 0;
    rer_channel_rows in = for_kernels(rows, &made);
    rer_channel_flows flows = {.totals = totals, .wrong = 2, .directed = rows->with_rates ? directed : NULL};
    for (int32_t k = 0; k < n; k++)
        totals[k] = 1;
    void *room = make_room(kernels, &in);
    kernels->rows->flows(&flows, &in, room);
    free(room);
    for (int64_t i = 0; i < rows->count; i++) {
        plain_row row = row_of(rows, i);
        plain_parts parts = plain(&row);
        for (int32_t k = 0; k < n; k++) {
            double clear = (1 - row.blur) * (1 - row.likeness) * parts.p[k] / parts.q;
            double flow = clear * row.rate[k], stands = stands_for(rows, i);
            want_totals[k] += stands * flow;
            want_wrong += k != row.code ? stands * flow : 0;
            if (rows->with_rates)
                assert_close("directed share", kernels->name, rows, (double)directed[i * n + k],
                             k != row.code ? flow : 0, .01);
        }
    }
    for (int32_t k = 0; k < n; k++)
        assert_close("total of a class", kernels->name, rows, (double)totals[k] - 1, want_totals[k], .1);
    assert_close("wrong labels", kernels->name, rows, flows.wrong - 2, want_wrong, .01);
}

static void test_flows(void **state)
{
    (void)state;
    for_each_rows(check_flows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_slopes), cmocka_unit_test(test_pair_slopes),
                                       cmocka_unit_test(test_small_steps), cmocka_unit_test(test_flows)};
    return cmocka_run_group_tests_name("channel.rows", tests, NULL, NULL);
}
