/* Data at the edge through the library: nothing fails, every number of a judged row is finite and in its
 * range, and the mislabelled rows are more suspicious than the rest. */
#include "made_data.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static void check_row(const rer_sample *sample)
{
    assert_true(sample->mistakenness >= 0 && sample->mistakenness <= 1);
    assert_true(fabs(sample->mistakenness + sample->label_score - 1) < 1e-12);
    assert_true(isfinite(sample->chi) && isfinite(sample->own_error) && isfinite(sample->best_other_error));
}

/* Analyzes the data both ways; `least` of the mislabelled rows and `most` of the others may be flagged. */
static void check(const made_settings *settings, double least, double most)
{
    made_data made = made_data_make(settings);
    rer_dataset *data = made_data_wrap(&made);
    for (int32_t probability = RER_CHANNEL; probability <= RER_DENSITY; probability++) {
        rer_options options = rer_options_default();
        rer_error error = {0};
        rer_result *result = NULL;
        int64_t n[2] = {0}, flagged[2] = {0};
        options.probability = probability;
        if (rer_analyze(&result, data, &options, NULL, NULL, &error) != RER_OK)
            fail_msg("%s", error.message);
        for (int64_t i = 0; i < made.N; i++) {
            rer_sample sample = {.size = sizeof sample};
            assert_int_equal(rer_result_sample(&sample, result, i, &error), RER_OK);
            bool wrong = made.code[i] != made.truth[i];
            check_row(&sample);
            n[wrong]++;
            flagged[wrong] += sample.is_issue;
        }
        if (probability == RER_CHANNEL && (double)flagged[1] < least * (double)n[1])
            fail_msg("%d of %d mislabelled rows are flagged", (int)flagged[1], (int)n[1]);
        if ((double)flagged[0] > most * (double)n[0])
            fail_msg("%d of %d right rows are flagged", (int)flagged[0], (int)n[0]);
        double expected = rer_result_expected_wrong(result, made.N);
        assert_true(expected >= 0 && expected <= (double)made.N);
        rer_result_free(result);
    }
    rer_dataset_free(data);
    made_data_free(&made);
}

static void test_all_right(void **state)
{
    (void)state;
    check(&(made_settings){.N = 800, .D = 8, .C = 4, .separation = 6, .seed = 1}, 0, .01);
}

static void test_two_classes(void **state)
{
    (void)state;
    check(&(made_settings){.N = 600, .D = 8, .C = 2, .separation = 6, .mislabelled = 30, .seed = 2}, .9, .02);
}

static void test_many_small_classes(void **state)
{
    (void)state;
    check(&(made_settings){.N = 5000, .D = 24, .C = 1000, .separation = 6, .mislabelled = 97, .seed = 3}, .8, .05);
}

static void test_unbalanced(void **state)
{
    (void)state;
    check(&(made_settings){.N = 5005, .D = 8, .C = 2, .separation = 8, .class_size = 5, .seed = 4}, 0, .01);
}

static void test_half_wrong(void **state)
{
    (void)state; /* all moved to the next class: nothing tells which half is right, so flags mean nothing */
    check(&(made_settings){.N = 600, .D = 8, .C = 3, .separation = 6, .mislabelled = 300, .seed = 5}, 0, 1);
}

static void test_copies(void **state)
{
    (void)state;
    check(&(made_settings){.N = 600, .D = 8, .C = 3, .separation = 6, .duplicated = true, .seed = 6}, 0, .02);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_right),          cmocka_unit_test(test_two_classes),
        cmocka_unit_test(test_many_small_classes), cmocka_unit_test(test_unbalanced),
        cmocka_unit_test(test_half_wrong),         cmocka_unit_test(test_copies),
    };
    return cmocka_run_group_tests_name("judge.extremes", tests, NULL, NULL);
}
