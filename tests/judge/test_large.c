/* Results of more rows than one item of work takes: the most suspicious ones are found as in a whole sorted list, and sums
 * of classes are those of their rows, whatever the threads. */
#include "judge/judge.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CLASSES 6

/* With the tail kept, the most suspicious rows and their sums are what they are without, to the bit; ties at its end and
 * at the end of what is marked included. */
static void test_tail(void **state)
{
    (void)state;
    enum { MANY = 3 * RER_TAIL };
    static const int64_t counts[] = {1, 10, 1000, RER_TAIL - 1, RER_TAIL, RER_TAIL + 1, MANY};
    static int64_t plain[MANY], again[MANY];
    static uint8_t marks[MANY], wanted[MANY];
    rer_error error = {0};
    rer_options options = rer_options_default();
    rer_result *result = NULL;
    rer_pool *pool = NULL;
    assert_int_equal(rer_pool_open(&pool, &(rer_pool_settings){.threads = 3}, NULL), RER_OK);
    for (uint64_t ties = 1; ties <= 1000; ties *= 1000) {
        assert_int_equal(rer_result_make(&result, MANY, 2, &options, &error), RER_OK);
        for (uint64_t i = 0; i < MANY; i++) {
            result->given[i] = i % 7 == 3 ? -1 : 0;
            result->own[i] = (float)(i * 31 % 101);
            result->other[i] = 1;
            result->logit[i] = i % 11 == 5 ? NAN : (float)(i * 2654435761 % MANY / ties) / 20000 - 5;
        }
        double before[7];
        for (int k = 0; k < 7; k++)
            before[k] = rer_result_expected_wrong(result, counts[k]);
        int64_t n = rer_result_suspects(result, MANY, plain);
        assert_int_equal(rer_result_keep_tail(result, pool, &error), RER_OK);
        assert_true(result->n_tail >= RER_TAIL && result->n_tail < RER_TAIL + 2000);
        for (int k = 0; k < 7; k++) {
            int64_t count = counts[k] < n ? counts[k] : n;
            assert_true(rer_result_expected_wrong(result, counts[k]) == before[k]);
            assert_int_equal(rer_result_suspects(result, counts[k], again), count);
            assert_memory_equal(again, plain, (size_t)count * sizeof *plain);
            assert_int_equal(rer_result_mark_suspects(marks, result, counts[k], pool, &error), RER_OK);
            memset(wanted, 0, sizeof wanted);
            for (int64_t i = 0; i < count; i++)
                wanted[plain[i]] = 1;
            assert_memory_equal(marks, wanted, sizeof wanted);
        }
        rer_result_free(result);
    }
    rer_pool_close(pool);
}

/* Rows that several items of work share: the sums of classes are those of their rows, whatever the threads. */
static void test_many_rows(void **state)
{
    (void)state;
    enum { MANY = 50001 };
    rer_class_summary first[CLASSES];
    rer_options options = rer_options_default();
    for (int threads = 1; threads <= 3; threads += 2) {
        double sum[CLASSES] = {0}, n[CLASSES] = {0}, confused = 0;
        rer_findings findings = {.sums = {.n = 10, .chi0 = 8, .chi_rand = 7}};
        rer_result *result = NULL;
        rer_pool *pool = NULL;
        assert_int_equal(rer_result_make(&result, MANY, CLASSES, &options, NULL), RER_OK);
        for (int64_t i = 0; i < MANY; i++) {
            int32_t c = result->given[i] = (int32_t)(i * 7919 % CLASSES);
            result->suggested[i] = (c + 1) % CLASSES;
            result->own[i] = 1 + (float)(i % 1013) / 1000;
            result->other[i] = 1.5F;
            result->logit[i] = (float)(i % 977) / 100 - 5;
            n[c]++;
            sum[c] += (double)result->own[i] / (double)result->other[i];
            confused += result->own[i] > result->other[i];
        }
        assert_int_equal(rer_pool_open(&pool, &(rer_pool_settings){.threads = threads}, NULL), RER_OK);
        assert_int_equal(rer_judge(result, &findings, pool, NULL), RER_OK);
        rer_pool_close(pool);
        for (int32_t c = 0; c < CLASSES; c++) {
            assert_true((double)result->classes[c].n == n[c]);
            assert_true(fabs(result->classes[c].chi - sum[c] / n[c]) < 1e-9);
        }
        assert_true(fabs(result->summary.error_rate - confused / MANY) < 1e-9);
        if (threads == 1)
            memcpy(first, result->classes, sizeof first);
        assert_memory_equal(first, result->classes, sizeof first);
        rer_result_free(result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tail), cmocka_unit_test(test_many_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
