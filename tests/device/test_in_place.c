/* Features that lie on a card: an analysis there reads them where they are, all else copies blocks. The card is one of
 * plain loops, whose memory is the host's. */
#include "made_data.h"

#include "run/result.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const made_settings settings = {
    .N = 1500, .D = 8, .C = 4, .separation = 2, .mislabelled = 80, .unlabelled = 30, .seed = 3};

static rer_status wrap(rer_dataset **data, const made_data *made, rer_dtype dtype, rer_error *error)
{
    rer_view x = {.data = made->x, .dtype = dtype, .rank = 2, .shape = {made->N, made->D}};
    rer_view y = {.data = made->code, .dtype = RER_I32, .rank = 1, .shape = {made->N}};
    return rer_dataset_wrap_card(data, &x, &y, NULL, error);
}

static rer_status analyze(rer_result **result, const rer_dataset *data, const char *device, const char *option,
                          const char *value, rer_error *error)
{
    rer_options options = rer_options_default();
    assert_int_equal(rer_options_set(&options, "device", device, NULL), RER_OK);
    if (option != NULL)
        assert_int_equal(rer_options_set(&options, option, value, NULL), RER_OK);
    return rer_analyze(result, data, &options, NULL, NULL, error);
}

static rer_result *analyzed(const rer_dataset *data, const char *device, const char *option, const char *value)
{
    rer_result *result = NULL;
    rer_error error = {0};
    if (analyze(&result, data, device, option, value, &error) != RER_OK)
        fail_msg("%s: %s", device, error.message);
    return result;
}

static int notes_with(const rer_result *result, const char *text)
{
    int count = 0;
    for (int i = 0; i < result->notes.count; i++)
        count += strstr(result->notes.text[i], text) != NULL;
    return count;
}

static bool are_near(float a, float b)
{
    return fabsf(a - b) <= 1e-5F * fmaxf(1, fabsf(b)) || (isnan(a) && isnan(b)) || (isinf(a) && isinf(b) && a * b > 0);
}

static void assert_alike(const rer_result *got, const rer_result *want)
{
    for (int64_t i = 0; i < want->N; i++) {
        float all[][2] = {
            {got->own[i], want->own[i]}, {got->other[i], want->other[i]}, {got->logit[i], want->logit[i]}};
        for (size_t k = 0; k < sizeof all / sizeof *all; k++)
            if (!are_near(all[k][0], all[k][1]))
                fail_msg("row %lld: %g instead of %g", (long long)i, (double)all[k][0], (double)all[k][1]);
        assert_int_equal(got->suggested[i], want->suggested[i]);
        assert_int_equal(got->flags[i], want->flags[i]);
    }
}

/* On the card as from the host's memory, copied from it with the CPU's own bits. */
static void check(const made_data *made, const char *option, const char *value)
{
    rer_dataset *here = made_data_wrap(made), *there = NULL;
    assert_int_equal(wrap(&there, made, RER_F32, NULL), RER_OK);
    rer_result *want = analyzed(here, "cuda", option, value);
    for (int i = 0; i < 2; i++) {
        rer_result *got = analyzed(there, i == 0 ? "cuda:0" : "auto", option, value);
        assert_alike(got, want);
        assert_int_equal(notes_with(got, "card"), 0);
        rer_result_free(got);
    }
    rer_result *on_cpu = analyzed(here, "cpu", option, value), *copied = analyzed(there, "cpu", option, value);
    assert_memory_equal(copied->logit, on_cpu->logit, (size_t)made->N * sizeof(float));
    assert_memory_equal(copied->own, on_cpu->own, (size_t)made->N * sizeof(float));
    /* Measurements that are standardised are not left there by any device. */
    assert_int_equal(notes_with(copied, "lie on card 0") + notes_with(copied, "units of their own"), 1);
    rer_result *all[] = {want, on_cpu, copied};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        rer_result_free(all[i]);
    rer_dataset_free(here);
    rer_dataset_free(there);
}

static void test_agreement(void **state)
{
    (void)state;
    static const char *const options[][2] = {{"normalize", "none"},
                                             {"normalize", "unit"},
                                             {"normalize", "whiten"},
                                             {"detector", "knn"},
                                             {"duplicates", "0.01"}};
    made_data made = made_data_make(&settings);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        check(&made, options[i][0], options[i][1]);
    made_data_free(&made);
}

static void test_invalid_rows(void **state)
{
    (void)state;
    made_data made = made_data_make(&settings);
    rer_dataset *there = NULL;
    rer_error error = {0};
    rer_result *result = NULL;
    made.x[700 * made.D + 3] = NAN;
    made.x[1200 * made.D + 7] = -INFINITY;
    assert_int_equal(wrap(&there, &made, RER_F32, NULL), RER_OK);
    assert_int_equal(analyze(&result, there, "cuda", NULL, NULL, &error), RER_BAD_INPUT);
    assert_non_null(strstr(error.message, "row 700, column 3 is NaN"));
    rer_dataset_free(there);
    check(&made, "drop-invalid", "yes");
    made_data_free(&made);
}

/* Rows that do not differ cannot be told apart; one that does may be the last. */
static void test_equal_rows(void **state)
{
    (void)state;
    made_data made = made_data_make(&settings);
    for (int64_t i = made.D; i < made.N * made.D; i++)
        made.x[i] = made.x[i % made.D];
    for (int i = 0; i < 2; i++) {
        rer_dataset *here = made_data_wrap(&made), *there = NULL;
        rer_result *a = NULL, *b = NULL;
        rer_error of_here = {0}, of_there = {0};
        assert_int_equal(wrap(&there, &made, RER_F32, NULL), RER_OK);
        assert_int_equal(analyze(&a, here, "cuda", NULL, NULL, &of_here),
                         analyze(&b, there, "cuda", NULL, NULL, &of_there));
        assert_int_equal(a == NULL, i == 0);
        assert_string_equal(of_there.message, of_here.message);
        rer_result_free(a);
        rer_result_free(b);
        rer_dataset_free(here);
        rer_dataset_free(there);
        made.x[(made.N - settings.unlabelled) * made.D - 1] += 1;
    }
    made_data_free(&made);
}

static void test_refused(void **state)
{
    (void)state;
    made_data made = made_data_make(&settings);
    rer_dataset *data = NULL;
    rer_error error = {0};
    rer_result *result = NULL;
    const char *plugin = getenv("RER_CUDA_PLUGIN");
    char *kept = strdup(plugin != NULL ? plugin : "");
    assert_int_equal(wrap(&data, &made, RER_F16, &error), RER_BAD_USAGE);
    assert_non_null(strstr(error.message, "float32 [N, D]"));
    assert_int_equal(setenv("RER_PLAIN_DEVICE", "elsewhere", 1), 0);
    assert_int_equal(wrap(&data, &made, RER_F32, &error), RER_SYSTEM);
    assert_non_null(strstr(error.message, "it lies on no card; copy it to the host"));
    assert_int_equal(setenv("RER_PLAIN_DEVICE", "torn", 1), 0);
    assert_int_equal(wrap(&data, &made, RER_F32, &error), RER_SYSTEM);
    assert_non_null(strstr(error.message, "features: cannot be read from card 0: it fell off the bus"));
    assert_int_equal(unsetenv("RER_PLAIN_DEVICE"), 0);
    assert_int_equal(wrap(&data, &made, RER_F32, &error), RER_OK);
    assert_int_equal(setenv("RER_PLAIN_DEVICE", "torn", 1), 0);
    assert_int_equal(analyze(&result, data, "cuda", NULL, NULL, &error), RER_SYSTEM);
    assert_non_null(strstr(error.message, "it fell off the bus"));
    assert_int_equal(unsetenv("RER_PLAIN_DEVICE"), 0);
    rer_dataset_free(data);
    assert_int_equal(setenv("RER_CUDA_PLUGIN", "/nowhere/librer_cuda.so", 1), 0);
    assert_int_equal(wrap(&data, &made, RER_F32, &error), RER_SYSTEM);
    assert_non_null(strstr(error.message, "/nowhere/librer_cuda.so"));
    assert_int_equal(setenv("RER_CUDA_PLUGIN", kept, 1), 0);
    free(kept);
    made_data_free(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_agreement), cmocka_unit_test(test_invalid_rows),
                                       cmocka_unit_test(test_equal_rows), cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests_name("device.in_place", tests, NULL, NULL);
}
