/* Every allocation of rer noise and rer bench fails once: each time RER_SYSTEM with a message, no output, no
 * leak (which the build with AddressSanitizer sees). The linker leads our calls here (--wrap). */
#include "failing_allocations.h"
#include "files.h"
#include "made_data.h"

#include <stdio.h>
#include <unistd.h>

typedef rer_status (*call)(const void *context, rer_error *error);

/* Calls with the first, second, third... allocation failing until none does. */
static void fail_each(call function, const void *context, const char *output)
{
    for (int64_t i = 0;; i++) {
        rer_error error = {0};
        has_failed = false;
        before_failure = i;
        rer_status status = function(context, &error);
        before_failure = -1;
        if (!has_failed) {
            if (status != RER_OK)
                fail_msg("%s", error.message);
            assert_true(i > 5);
            return;
        }
        assert_int_equal(status, RER_SYSTEM);
        assert_non_null(strstr(error.message, "memory"));
        assert_int_equal(access(output, F_OK), -1);
    }
}

/* ---- rer noise --------------------------------------------------------------------------- */

typedef struct noise_call {
    const char *labels, *human, *out;
} noise_call;

static rer_status make_noise(const void *context, rer_error *error)
{
    const noise_call *files = context;
    rer_options options = rer_options_default();
    rer_noise_summary summary = {.size = sizeof summary};
    options.noise_type = files->human != NULL ? RER_NOISE_HUMAN : RER_NOISE_SYMMETRIC;
    options.noise_rate = .5;
    return rer_noise_file(files->out, &summary, &(rer_files){.size = sizeof(rer_files), .labels = files->labels},
                          files->human, &options, NULL, error);
}

static void test_noise(void **state)
{
    (void)state;
    static const int32_t codes[] = {3, 1, 3, 1, 2};
    const char *numbers = write_npy("y.npy", "<i4", 0, "(5,)", codes, sizeof codes);
    const char *texts = write_text("y.txt", "3\n1\n3\n1\n2\n"), *others = write_text("z.txt", "1\n1\n1\n1\n2\n");
    const char *a = file_path("a.npy"), *b = file_path("b.txt"), *c = file_path("c.npy"), *d = file_path("d.csv");
    fail_each(make_noise, &(noise_call){numbers, NULL, a}, a);
    fail_each(make_noise, &(noise_call){numbers, NULL, b}, b);
    fail_each(make_noise, &(noise_call){texts, NULL, c}, c);
    fail_each(make_noise, &(noise_call){texts, others, d}, d);
}

/* ---- rer bench --------------------------------------------------------------------------- */

typedef struct bench_call {
    const rer_dataset *data;
    const rer_bench_settings *settings;
    const char *out;
} bench_call;

static rer_status compare(const void *context, rer_error *error)
{
    const bench_call *with = context;
    rer_options options = rer_options_default();
    rer_bench *bench = NULL;
    char *json = NULL;
    options.noise_types = 1 << RER_NOISE_ASYMMETRIC;
    options.noise_rates[0] = .2;
    options.noise_rates[1] = 0;
    options.noise_seeds = 1;
    options.bootstrap = 2;
    options.threads = 1;
    rer_status status = rer_bench_run(&bench, with->data, with->settings, &options, NULL, error);
    if (status == RER_OK)
        status = rer_bench_json(bench, &json, error);
    if (status == RER_OK)
        status = rer_bench_write(bench, with->out, error);
    free(json);
    rer_bench_free(bench);
    return status;
}

static void test_bench(void **state)
{
    (void)state;
    made_data made = made_data_make(&(made_settings){.N = 24, .D = 3, .C = 3, .separation = 3, .seed = 1});
    rer_dataset *wrapped = made_data_wrap(&made), *data = NULL;
    int32_t *human = calloc(24, sizeof *human);
    assert_non_null(human);
    for (int i = 0; i < 24; i++) /* one class is lost */
        human[i] = made.code[i] == 2 ? 0 : made.code[i];
    rer_bench_labels labels = {"people", human};
    rer_bench_settings settings = {.size = sizeof settings, .detectors = "rer,knn", .human = &labels, .n_human = 1};
    /* from a file, so that the features are brought into memory */
    char shape[40];
    (void)snprintf(shape, sizeof shape, "(%d, %d)", 24, 3);
    int64_t codes[24];
    for (int i = 0; i < 24; i++)
        codes[i] = made.code[i];
    rer_files files = {.size = sizeof files,
                       .features = write_npy("X.npy", "<f4", 0, shape, made.x, 24 * 3 * 4),
                       .labels = write_npy("y.npy", "<i8", 0, "(24,)", codes, sizeof codes)};
    rer_options options = rer_options_default();
    rer_error error = {0};
    assert_int_equal(rer_dataset_open(&data, &files, &options, &error), RER_OK);
    char out[300];
    (void)snprintf(out, sizeof out, "%s", file_path("out"));
    fail_each(compare, &(bench_call){data, &settings, out}, out);
    char command[400];
    (void)snprintf(command, sizeof command, "rm -r '%s'", out);
    assert_int_equal(system(command), 0);
    free(human);
    rer_dataset_free(data);
    rer_dataset_free(wrapped);
    made_data_free(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {FILES_TEST(test_noise), FILES_TEST(test_bench)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
