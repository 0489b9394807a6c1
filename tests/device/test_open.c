/* --device where there is no plug-in, one of another version, none that is a plug-in, no card, and a card that fails on
 * the way: cuda is an error that says why, auto takes the CPU, says so once, and gives the CPU's own bits. */
#include "made_data.h"
#include "plain_plugin.h"

#include "run/result.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static made_data made;
static rer_dataset *data;

static rer_status analyze(rer_result **result, const char *device, const char *option, const char *value,
                          rer_error *error)
{
    rer_options options = rer_options_default();
    assert_int_equal(rer_options_set(&options, "device", device, NULL), RER_OK);
    if (option != NULL)
        assert_int_equal(rer_options_set(&options, option, value, NULL), RER_OK);
    return rer_analyze(result, data, &options, NULL, NULL, error);
}

static int notes_with(const rer_result *result, const char *text)
{
    int count = 0;
    for (int i = 0; i < result->notes.count; i++)
        count += strstr(result->notes.text[i], text) != NULL;
    return count;
}

static void assert_cpu(const rer_result *got, const char *option, const char *value)
{
    rer_result *want = NULL;
    assert_int_equal(analyze(&want, "cpu", option, value, NULL), RER_OK);
    assert_int_equal(notes_with(want, "card"), 0);
    assert_memory_equal(got->logit, want->logit, (size_t)want->N * sizeof(float));
    assert_memory_equal(got->own, want->own, (size_t)want->N * sizeof(float));
    rer_result_free(want);
}

/* Both devices where a card cannot be used, for this reason. */
static void check_refused(const char *reason)
{
    rer_result *result = NULL;
    rer_error error = {0};
    assert_int_equal(analyze(&result, "cuda", NULL, NULL, &error), RER_SYSTEM);
    assert_null(result);
    if (strstr(error.message, reason) == NULL || strstr(error.message, "--device cuda") == NULL)
        fail_msg("'%s' does not say '%s'", error.message, reason);
    assert_int_equal(analyze(&result, "auto", NULL, NULL, &error), RER_OK);
    assert_int_equal(notes_with(result, reason), 1);
    assert_cpu(result, NULL, NULL);
    rer_result_free(result);
}

static void test_no_plugin(void **state)
{
    (void)state;
    assert_int_equal(setenv("RER_CUDA_PLUGIN", "/nowhere/librer_cuda.so", 1), 0);
    check_refused("/nowhere/librer_cuda.so");
}

static void test_other_version(void **state)
{
    (void)state;
    assert_int_equal(setenv("RER_CUDA_PLUGIN", OLD_PLUGIN, 1), 0);
    check_refused("of version 0.0.1, and this is " RER_VERSION);
}

static void test_no_plugin_at_all(void **state)
{
    (void)state;
    assert_int_equal(setenv("RER_CUDA_PLUGIN", "libm.so.6", 1), 0);
    check_refused("no rer_device_load");
}

static void test_no_card(void **state)
{
    (void)state;
    assert_int_equal(setenv("RER_CUDA_PLUGIN", PLAIN_PLUGIN, 1), 0);
    assert_int_equal(setenv("RER_PLAIN_DEVICE", "none", 1), 0);
    check_refused("there is no card 0");
    assert_int_equal(unsetenv("RER_PLAIN_DEVICE"), 0);
    rer_error error = {0};
    rer_result *result = NULL;
    assert_int_equal(analyze(&result, "cuda:3", NULL, NULL, &error), RER_SYSTEM);
    assert_non_null(strstr(error.message, "there is no card 3"));
}

/* A card is used without a word. Its driver starts once a data set, when it is made, and only where a card is asked for. */
static void test_a_card(void **state)
{
    (void)state;
    static const struct {
        const char *device, *memory;
        int woken;
    } cases[] = {{"cpu", "0", 0}, {"cuda", "0", 1}, {"auto", "1", 1}};
    plain_count *times_woken = NULL;
    void *library = dlopen(PLAIN_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    void *symbol = dlsym(library, "plain_times_woken");
    memcpy(&times_woken, &symbol, sizeof symbol);
    assert_non_null(times_woken);
    assert_int_equal(setenv("RER_CUDA_PLUGIN", PLAIN_PLUGIN, 1), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rer_view features = {.data = made.x, .dtype = RER_F32, .rank = 2, .shape = {made.N, made.D}};
        rer_options options = rer_options_default();
        rer_dataset *opened = NULL;
        rer_result *result = NULL;
        int before = times_woken();
        assert_int_equal(rer_options_set(&options, "device", cases[i].device, NULL), RER_OK);
        assert_int_equal(rer_dataset_wrap(&opened, &features, NULL, &options, NULL), RER_OK);
        rer_dataset_free(opened); /* which waits for it */
        assert_int_equal(times_woken(), before + cases[i].woken);
        assert_int_equal(analyze(&result, cases[i].device, "device-memory", cases[i].memory, NULL), RER_OK);
        assert_int_equal(notes_with(result, "card"), 0);
        rer_result_free(result);
    }
    assert_int_equal(dlclose(library), 0);
}

/* On its way the card is no matter of choice any more: auto fails as well. */
static void test_card_that_fails(void **state)
{
    (void)state;
    rer_error error = {0};
    rer_result *result = NULL;
    assert_int_equal(setenv("RER_CUDA_PLUGIN", PLAIN_PLUGIN, 1), 0);
    assert_int_equal(setenv("RER_PLAIN_DEVICE", "fails", 1), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(analyze(&result, i == 0 ? "cuda" : "auto", NULL, NULL, &error), RER_SYSTEM);
        assert_non_null(strstr(error.message, "it fell off the bus"));
    }
    assert_int_equal(unsetenv("RER_PLAIN_DEVICE"), 0);
}

/* What has no part for a card is done by the CPU, which says so. */
static void test_no_part(void **state)
{
    (void)state;
    static const char *const others[][3] = {{"normalize", "minmax", "minmax"},
                                            {"reconstructor", "subspace", "reconstructor"}};
    assert_int_equal(setenv("RER_CUDA_PLUGIN", PLAIN_PLUGIN, 1), 0);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        rer_result *result = NULL;
        assert_int_equal(analyze(&result, "cuda", others[i][0], others[i][1], NULL), RER_OK);
        assert_int_equal(notes_with(result, others[i][2]), 1);
        assert_cpu(result, others[i][0], others[i][1]);
        rer_result_free(result);
    }
}

static void test_values(void **state)
{
    (void)state;
    rer_options options = rer_options_default();
    rer_error error = {0};
    char text[64];
    static const char *const right[][2] = {
        {"cpu", "cpu"}, {"auto", "auto"}, {"cuda", "cuda:0"}, {"cuda:0", "cuda:0"}, {"cuda:12", "cuda:12"}};
    static const char *const wrong[] = {"gpu", "", "cuda:", "cuda:-1", "cuda: 1", "cuda:1x", "cuda:256", "CPU"};
    assert_int_equal(rer_options_get(&options, "device", text, sizeof text, NULL), RER_OK);
    assert_string_equal(text, "cpu");
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        assert_int_equal(rer_options_set(&options, "device", right[i][0], &error), RER_OK);
        assert_int_equal(rer_options_get(&options, "device", text, sizeof text, NULL), RER_OK);
        assert_string_equal(text, right[i][1]);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(rer_options_set(&options, "device", wrong[i], &error), RER_BAD_USAGE);
        assert_non_null(strstr(error.message, "cpu|cuda|cuda:N|auto"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),        cmocka_unit_test(test_no_plugin),
        cmocka_unit_test(test_other_version), cmocka_unit_test(test_no_plugin_at_all),
        cmocka_unit_test(test_no_card),       cmocka_unit_test(test_card_that_fails),
        cmocka_unit_test(test_no_part),       cmocka_unit_test(test_a_card),
    };
    made_settings settings = {.N = 900, .D = 5, .C = 3, .separation = 2, .mislabelled = 40, .seed = 1};
    made = made_data_make(&settings);
    data = made_data_wrap(&made);
    int failed = cmocka_run_group_tests_name("device.open", tests, NULL, NULL);
    rer_dataset_free(data);
    made_data_free(&made);
    return failed;
}
