/* Order against a slow sort and closed forms. */
#include "stats/order.h"
#include "core/random.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { N = 200 };

/* Few values, so that many are equal. */
static double value_at(int64_t i)
{
    return floor(rer_random_uniform(7, RER_RANDOM_SAMPLE, 0, (uint64_t)i) * 20) - 10;
}

static void test_sorts(void **state)
{
    float floats[N];
    double doubles[N];
    rer_ranked ranked[N];
    (void)state;
    for (int64_t i = 0; i < N; i++) {
        doubles[i] = value_at(i);
        floats[i] = (float)doubles[i];
        ranked[i] = (rer_ranked){doubles[i], N - i};
    }
    rer_sort_floats(floats, N);
    rer_sort_doubles(doubles, N);
    rer_sort_ranked(ranked, N);
    for (int64_t i = 0; i < N; i++) { /* the place of each: how many are smaller */
        int64_t below = 0, before = 0;
        for (int64_t j = 0; j < N; j++) {
            below += value_at(j) < doubles[i];
            before += value_at(j) < ranked[i].value || (value_at(j) == ranked[i].value && N - j < ranked[i].place);
        }
        assert_true(below <= i && (i == 0 || doubles[i] >= doubles[i - 1]));
        assert_true((double)floats[i] == doubles[i] && ranked[i].value == doubles[i]);
        assert_int_equal(before, i);
        assert_true(value_at(N - ranked[i].place) == ranked[i].value);
    }
    rer_sort_floats(NULL, 0);
    rer_sort_doubles(NULL, 0);
    rer_sort_ranked(NULL, 0);
}

static void test_percentile(void **state)
{
    const double sorted[] = {1, 2, 4, 8, 16};
    (void)state;
    assert_true(rer_percentile(sorted, 5, 0) == 1 && rer_percentile(sorted, 5, 1) == 16);
    assert_true(rer_percentile(sorted, 5, .5) == 4);
    assert_true(rer_percentile(sorted, 5, .625) == 6); /* half way from 4 to 8 */
    assert_true(rer_percentile(sorted, 1, .3) == 1);
}

/* By the words of order.h: of all values the smallest with no more than the share above it, or, where even the second
 * has more, that one. */
static float plain_percentile(const float *values, const float *weights, int64_t n, double share)
{
    double all = 0;
    for (int64_t i = 0; i < n; i++)
        all += (double)weights[i];
    int64_t best = -1, top = 0;
    for (int64_t i = 1; i < n; i++)
        top = values[i] >= values[top] ? i : top;
    for (int64_t i = 0; i < n; i++) {
        double above = 0;
        int64_t count = 0;
        for (int64_t j = 0; j < n; j++)
            if (values[j] > values[i] || (values[j] == values[i] && j > i)) {
                above += (double)weights[j];
                count++;
            }
        if (i != top && (count == 1 || above <= (1 - share) * all) &&
            (best < 0 || values[i] < values[best] || (values[i] == values[best] && i < best)))
            best = i;
    }
    return values[best < 0 ? top : best];
}

static void test_weighted_percentile(void **state)
{
    float values[N], weights[N];
    rer_ranked work[N];
    (void)state;
    for (int64_t n = 1; n <= N; n++) {
        for (int64_t i = 0; i < n; i++) {
            values[i] = (float)value_at(i + n);
            weights[i] = (float)(.25 + floor(rer_random_uniform(7, RER_RANDOM_SAMPLE, 1, (uint64_t)(i + n)) * 8) / 4);
        }
        for (int percent = 50; percent < 100; percent += 7) {
            double share = percent / 100.;
            assert_true(rer_weighted_percentile(values, weights, n, share, work) ==
                        plain_percentile(values, weights, n, share));
        }
    }
}

/* Weights of 1: one value in a hundred is above, and one at least. */
static void test_percentile_of_equal_weights(void **state)
{
    float values[N], weights[N], sorted[N];
    rer_ranked work[N];
    (void)state;
    for (int64_t n = 1; n <= N; n++) {
        for (int64_t i = 0; i < n; i++) {
            values[i] = sorted[i] = (float)((i * 37 + n) % 211);
            weights[i] = 1;
        }
        rer_sort_floats(sorted, n);
        int64_t at = n - 1 - (n < 200 ? 1 : n / 100);
        assert_true(rer_weighted_percentile(values, weights, n, .99, work) == sorted[at > 0 ? at : 0]);
    }
    for (int64_t i = 0; i < N; i++)
        values[i] = 3;
    assert_true(rer_weighted_percentile(values, weights, N, .99, work) == 3);
}

/* A weight is as many rows. */
static void test_percentile_of_repeated_rows(void **state)
{
    float values[N / 4], weights[N / 4], repeated[N], ones[N];
    rer_ranked work[N];
    int64_t rows = 0;
    (void)state;
    for (int64_t i = 0; i < N / 4; i++) {
        values[i] = (float)((i * 17) % (N / 4));
        weights[i] = (float)(1 + i % 4);
        for (int64_t j = 0; j <= i % 4; j++, rows++) {
            repeated[rows] = values[i];
            ones[rows] = 1;
        }
    }
    for (int percent = 50; percent < 96; percent += 5) {
        double share = percent / 100.;
        assert_true(rer_weighted_percentile(values, weights, N / 4, share, work) ==
                    rer_weighted_percentile(repeated, ones, rows, share, work));
    }
}

static void test_keys(void **state)
{
    uint64_t keys[N], work[N], most = (uint64_t)1 << 40;
    (void)state;
    for (uint64_t i = 0; i < N; i++)
        keys[i] = i * 0x9E3779B97F4A7C15u % most;
    rer_sort_keys(keys, N, most, work);
    for (int64_t i = 1; i < N; i++)
        assert_true(keys[i - 1] <= keys[i]);
    rer_sort_keys(keys, 0, 0, work);
}

static void test_logistic(void **state)
{
    (void)state;
    assert_true(rer_logistic(0) == .5);
    assert_true(fabs(rer_logistic(log(3)) - .75) < 1e-15);
    assert_true(rer_logistic(-1000) == 0 && rer_logistic(1000) == 1);
}

static void test_shuffle(void **state)
{
    int64_t rows[N], again[N], moved = 0, seen[N] = {0};
    (void)state;
    for (int64_t i = 0; i < N; i++)
        rows[i] = again[i] = i;
    rer_random_shuffle(rows, N, 3, RER_RANDOM_SUBSET, 5);
    rer_random_shuffle(again, N, 3, RER_RANDOM_SUBSET, 5);
    for (int64_t i = 0; i < N; i++) {
        assert_int_equal(rows[i], again[i]);
        assert_int_equal(seen[rows[i]]++, 0);
        moved += rows[i] != i;
    }
    assert_true(moved > N / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sorts),
        cmocka_unit_test(test_percentile),
        cmocka_unit_test(test_weighted_percentile),
        cmocka_unit_test(test_percentile_of_equal_weights),
        cmocka_unit_test(test_percentile_of_repeated_rows),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_logistic),
        cmocka_unit_test(test_shuffle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
