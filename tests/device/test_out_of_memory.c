/* Every allocation of an analysis on a device, of rows that lie there, fails once: each time RER_SYSTEM with a message,
 * and no leak (which the build with AddressSanitizer sees). The linker leads our calls here (--wrap). */
#include "failing_allocations.h"

#include "made_data.h"

#include <rer.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* `settings`: name, value, ... */
static void fail_each(const char *const *settings, int count)
{
    made_settings of = {.N = 60, .D = 3, .C = 3, .separation = 2, .mislabelled = 10, .seed = 1};
    made_data made = made_data_make(&of);
    rer_view x = {.data = made.x, .dtype = RER_F32, .rank = 2, .shape = {made.N, made.D}};
    rer_view y = {.data = made.code, .dtype = RER_I32, .rank = 1, .shape = {made.N}};
    rer_dataset *data = NULL;
    assert_int_equal(rer_dataset_wrap_card(&data, &x, &y, NULL, NULL), RER_OK);
    rer_options options = rer_options_default();
    assert_int_equal(rer_options_set(&options, "device", "cuda", NULL), RER_OK);
    for (int i = 0; i < count; i += 2)
        assert_int_equal(rer_options_set(&options, settings[i], settings[i + 1], NULL), RER_OK);
    options.threads = 1;
    for (int64_t i = 0;; i++) {
        rer_error error = {0};
        rer_result *result = NULL;
        has_failed = false;
        before_failure = i;
        rer_status status = rer_analyze(&result, data, &options, NULL, NULL, &error);
        before_failure = -1;
        rer_result_free(result);
        if (!has_failed) {
            assert_int_equal(status, RER_OK);
            assert_true(i > 20);
            break;
        }
        assert_int_equal(status, RER_SYSTEM);
        assert_non_null(strstr(error.message, "memory"));
    }
    rer_dataset_free(data);
    made_data_free(&made);
}

static void test_analysis(void **state)
{
    (void)state;
    fail_each(NULL, 0);
}

/* What detectors have a device do. */
static void test_detectors(void **state)
{
    (void)state;
    static const char *const settings[] = {"detector", "confident", "duplicates", "auto"};
    fail_each(settings, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_analysis), cmocka_unit_test(test_detectors)};
    return cmocka_run_group_tests_name("device.out_of_memory", tests, NULL, NULL);
}
