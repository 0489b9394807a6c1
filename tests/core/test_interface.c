/* What holds at every entry of the interface: options and attached data are checked, a reused error forgets the
 * earlier failure, a failed call changes nothing, structs with a size may be of another version. */
#include "files.h"
#include "made_data.h"

#include "source/dataset.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum { N = 120, D = 4, MANY = 40, FEW = 3 };

typedef struct fixture {
    float x[N * D], many_probs[N * MANY], few_probs[N * FEW], many_embeddings[MANY * D], few_embeddings[FEW * D];
    int32_t many[N], few[N]; /* labels of as many classes */
    rer_dataset *data;       /* with the many */
    rer_error error;
} fixture;

static rer_view floats(const float *values, int64_t rows, int64_t columns)
{
    return (rer_view){.data = values, .dtype = RER_F32, .rank = 2, .shape = {rows, columns}};
}

static rer_view codes(const int32_t *values, int64_t rows)
{
    return (rer_view){.data = values, .dtype = RER_I32, .rank = 1, .shape = {rows}};
}

static fixture *make_fixture(void)
{
    fixture *made = calloc(1, sizeof *made);
    assert_non_null(made);
    for (int i = 0; i < N; i++) {
        made->many[i] = i % MANY;
        made->few[i] = i % FEW;
        for (int j = 0; j < D; j++)
            made->x[i * D + j] = (float)((i * 7919 + j * 104729) % 1000) / 1000 + (float)(made->few[i] == j);
        made->many_probs[i * MANY + i % FEW] = made->few_probs[i * FEW + i % FEW] = 1;
    }
    for (int i = 0; i < MANY * D; i++)
        made->many_embeddings[i] = made->few_embeddings[i % (FEW * D)] = (float)(i % 7) - 3;
    rer_view features = floats(made->x, N, D), labels = codes(made->many, N);
    assert_int_equal(rer_dataset_wrap(&made->data, &features, &labels, NULL, &made->error), RER_OK);
    return made;
}

static void free_fixture(fixture *made)
{
    rer_dataset_free(made->data);
    free(made);
}

static void set_few_labels(fixture *with)
{
    rer_view labels = codes(with->few, N);
    assert_int_equal(rer_dataset_set_labels(with->data, &labels, &with->error), RER_OK);
}

/* ---- the entries ------------------------------------------------------------------------- */

typedef rer_status entry(fixture *with, const rer_options *options);

static rer_status enter_analyze(fixture *with, const rer_options *options)
{
    rer_result *result = NULL;
    rer_status status = rer_analyze(&result, with->data, options, NULL, NULL, &with->error);
    assert_true((result != NULL) == (status == RER_OK));
    rer_result_free(result);
    return status;
}

static rer_status enter_score(fixture *with, const rer_options *options)
{
    rer_dataset *plain = NULL;
    rer_result *fitted = NULL, *result = NULL;
    rer_error error = {0};
    rer_view features = floats(with->x, N, D), labels = codes(with->few, N);
    assert_int_equal(rer_dataset_wrap(&plain, &features, &labels, NULL, &error), RER_OK);
    assert_int_equal(rer_analyze(&fitted, plain, NULL, NULL, NULL, &error), RER_OK);
    rer_status status = rer_score(&result, rer_result_model(fitted), with->data, options, NULL, NULL, &with->error);
    rer_result_free(result);
    rer_result_free(fitted);
    rer_dataset_free(plain);
    return status;
}

static rer_status enter_scale(fixture *with, const rer_options *options)
{
    rer_scaling *scaling = NULL;
    rer_status status = rer_scale(&scaling, with->data, options, NULL, &with->error);
    rer_scaling_free(scaling);
    return status;
}

static rer_status enter_bench(fixture *with, const rer_options *options)
{
    rer_bench *bench = NULL;
    rer_bench_settings settings = {.size = sizeof settings, .detectors = "knn"};
    rer_status status = rer_bench_run(&bench, with->data, &settings, options, NULL, &with->error);
    rer_bench_free(bench);
    return status;
}

static rer_status enter_relabel(fixture *with, const rer_options *options)
{
    (void)options;
    rer_dataset *other = NULL;
    rer_status status = rer_dataset_relabel(&other, with->data, with->few, &with->error);
    rer_dataset_free(other);
    return status;
}

static rer_status enter_cluster(fixture *with, const rer_options *options)
{
    return rer_dataset_cluster(with->data, NULL, options, NULL, &with->error);
}

static rer_status enter_open(fixture *with, const rer_options *options)
{
    rer_dataset *data = NULL;
    rer_files files = {.size = sizeof files, .features = write_text("x.csv", "1,2\n3,4\n")};
    rer_status status = rer_dataset_open(&data, &files, options, &with->error);
    rer_dataset_free(data);
    return status;
}

static rer_status enter_wrap(fixture *with, const rer_options *options)
{
    rer_dataset *data = NULL;
    rer_view features = floats(with->x, N, D);
    rer_status status = rer_dataset_wrap(&data, &features, NULL, options, &with->error);
    rer_dataset_free(data);
    return status;
}

static rer_status enter_plant(fixture *with, const rer_options *options)
{
    int32_t noisy[N];
    return rer_noise_plant(noisy, NULL, with->few, NULL, N, FEW, options, &with->error);
}

static rer_status enter_noise_file(fixture *with, const rer_options *options)
{
    rer_files files = {.size = sizeof files, .labels = write_text("y.txt", "a\nb\na\n")};
    return rer_noise_file(file_path("noisy.txt"), NULL, &files, NULL, options, NULL, &with->error);
}

static rer_status enter_compare(fixture *with, const rer_options *options)
{
    rer_comparison *comparison = NULL;
    const char *const folders[] = {"none", "either"};
    return rer_compare(&comparison, folders, 2, NULL, NULL, options, &with->error);
}

static rer_status enter_apply(fixture *with, const rer_options *options)
{
    rer_apply_files files = {.size = sizeof files, .labels = "none", .decisions = "either", .out = "nowhere.npy"};
    return rer_apply(NULL, &files, options, &with->error);
}

/* ---- options ------------------------------------------------------------------------------- */

static void assert_usage(const rer_error *error, const char *a, const char *b)
{
    assert_int_equal(error->status, RER_BAD_USAGE);
    if (strstr(error->message, a) == NULL || strstr(error->message, b) == NULL)
        fail_msg("'%s' and '%s' are not in: %s", a, b, error->message);
}

/* Values that no setter would take, put into the struct itself: nobody works with them. */
static void test_options_are_checked(void **state)
{
    (void)state;
    static entry *const entries[] = {enter_open,       enter_wrap,    enter_analyze, enter_score,
                                     enter_scale,      enter_bench,   enter_plant,   enter_apply,
                                     enter_noise_file, enter_compare, enter_cluster};
    fixture *with = make_fixture();
    set_few_labels(with);
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        rer_options options = rer_options_default();
        options.detector = 9;
        assert_int_equal(entries[i](with, &options), RER_BAD_USAGE);
        assert_usage(&with->error, "--detector: '9'", "rer|confident|");
        options = rer_options_default();
        options.shrinkage = 7;
        assert_int_equal(entries[i](with, &options), RER_BAD_USAGE);
        assert_usage(&with->error, "--shrinkage: '7'", "from 0 to 1");
    }
    free_fixture(with);
}

static void check_refused(const rer_options *options, const char *name)
{
    rer_options taken;
    rer_error error = {0};
    char option[40];
    (void)snprintf(option, sizeof option, "--%s:", name);
    assert_int_equal(rer_options_take(&taken, options, &error), RER_BAD_USAGE);
    assert_usage(&error, option, "'");
}

#define REFUSED(member, value, name)                                                                                   \
    do {                                                                                                               \
        rer_options options = rer_options_default();                                                                   \
        options.member = (value);                                                                                      \
        check_refused(&options, name);                                                                                 \
    } while (0)

static void test_every_kind_is_checked(void **state)
{
    (void)state;
    REFUSED(reconstructor, -1, "reconstructor");
    REFUSED(reconstructor, 4, "reconstructor");
    REFUSED(threads, -1, "threads");
    REFUSED(threads, 257, "threads");
    REFUSED(seed, -1, "seed");
    REFUSED(memory, -1, "memory");
    REFUSED(shrinkage, NAN, "shrinkage");
    REFUSED(shrinkage, RER_PAPER, "shrinkage");
    REFUSED(duplicates, INFINITY, "duplicates");
    REFUSED(budget, 1.5, "budget");
    REFUSED(hidden[0], 0, "hidden");
    REFUSED(hidden[1], 70000, "hidden");
    REFUSED(clusters[0], 1, "clusters");
    REFUSED(clusters[1], 5, "clusters");
    REFUSED(sizes[0], 1, "sizes");
    REFUSED(noise_rates[0], 2., "rates");
    REFUSED(noise_types, 1 << 3, "noise");
    REFUSED(noise_types, -1, "noise");
    rer_options options = rer_options_default(), taken;
    for (int i = 0; i < 2; i++) { /* what is right is taken as it is */
        assert_int_equal(rer_options_take(&taken, i == 0 ? &options : NULL, NULL), RER_OK);
        assert_memory_equal(&taken, &options, sizeof taken);
    }
    options.budget = 7.5;
    options.budget_percent = true;
    options.clusters[0] = 2;
    options.clusters[1] = 9;
    options.sizes[0] = 20;
    options.sizes[1] = 30;
    options.exponent = RER_FREE;
    options.noise_types = 0;
    assert_int_equal(rer_options_take(&taken, &options, NULL), RER_OK);
    assert_memory_equal(&taken, &options, sizeof taken);
}

static void test_typed_values(void **state)
{
    (void)state;
    rer_error error = {0};
    rer_options *options = NULL, *copy = NULL;
    int64_t integer = 0;
    double real = 0;
    bool flag = false;
    char text[256];
    assert_int_equal(rer_options_new(&options, &error), RER_OK);
    assert_int_equal(rer_options_set_integer(options, "threads", 3, &error), RER_OK);
    assert_int_equal(rer_options_set_integer(options, "memory", (int64_t)1 << 40, &error), RER_OK);
    assert_int_equal(rer_options_set_integer(options, "budget", 17, &error), RER_OK);
    assert_int_equal(rer_options_set_integer(options, "clusters", 12, &error), RER_OK);
    assert_int_equal(rer_options_set_real(options, "shrinkage", 1. / 3, &error), RER_OK);
    assert_int_equal(rer_options_set_real(options, "folds", 7, &error), RER_OK);
    assert_int_equal(rer_options_set_flag(options, "drop-invalid", true, &error), RER_OK);
    assert_int_equal(rer_options_set(options, "hidden", "64,32", &error), RER_OK);
    assert_int_equal(rer_options_copy(&copy, options, &error), RER_OK);
    assert_int_equal(rer_options_set(options, "shrinkage", "auto", &error), RER_OK);

    assert_int_equal(rer_options_get_real(copy, "shrinkage", &real, &error), RER_OK); /* a copy of its own */
    assert_true(real == 1. / 3);
    assert_int_equal(rer_options_get_real(options, "shrinkage", &real, &error), RER_OK);
    assert_true(isnan(real));
    assert_int_equal(rer_options_get_integer(copy, "threads", &integer, &error), RER_OK);
    assert_int_equal(integer, 3);
    assert_int_equal(rer_options_get_integer(copy, "memory", &integer, &error), RER_OK);
    assert_true(integer == (int64_t)1 << 40);
    assert_int_equal(rer_options_get_real(copy, "folds", &real, &error), RER_OK);
    assert_true(real == 7);
    assert_int_equal(rer_options_get_real(copy, "budget", &real, &error), RER_OK);
    assert_true(real == 17);
    assert_int_equal(rer_options_get_flag(copy, "drop-invalid", &flag, &error), RER_OK);
    assert_true(flag);
    assert_int_equal(rer_options_get(copy, "hidden", text, sizeof text, &error), RER_OK);
    assert_string_equal(text, "64,32");
    assert_int_equal(rer_options_get(copy, "clusters", text, sizeof text, &error), RER_OK);
    assert_string_equal(text, "12");
    assert_int_equal(rer_options_get(copy, "hidden", text, 3, &error), RER_OK); /* cut, and ended */
    assert_string_equal(text, "64");
    assert_int_equal(rer_options_get_integer(NULL, "folds", &integer, &error), RER_OK); /* the defaults */
    assert_int_equal(integer, 5);
    rer_options_free(options);
    rer_options_free(copy);
    rer_options_free(NULL);
}

static void test_wrong_values(void **state)
{
    (void)state;
    rer_error error = {0};
    rer_options *options = NULL;
    int64_t integer = 42;
    double real = 42;
    bool flag = true;
    assert_int_equal(rer_options_new(&options, &error), RER_OK);
    rer_options before = *options;
    (void)rer_options_set_integer(options, "threads", 1000, &error);
    assert_usage(&error, "--threads: '1000'", "0 to 256");
    (void)rer_options_set_integer(options, "detector", 1, &error);
    assert_usage(&error, "--detector: '1'", "confident");
    (void)rer_options_set_real(options, "threads", 1.5, &error);
    assert_usage(&error, "--threads: '1.5'", "whole number");
    (void)rer_options_set_real(options, "shrinkage", NAN, &error);
    assert_usage(&error, "--shrinkage: 'nan'", "0..1");
    (void)rer_options_set_real(options, "shrinkage", -1e300, &error); /* what "auto" is inside */
    assert_usage(&error, "--shrinkage: '-1", "0..1");
    (void)rer_options_set_flag(options, "threads", true, &error);
    assert_usage(&error, "--threads: 'yes'", "whole number");
    (void)rer_options_set_integer(options, "details", 1, &error);
    assert_usage(&error, "--details: '1'", "neither yes nor no");
    (void)rer_options_set(options, "shrinkages", "1", &error);
    assert_usage(&error, "no option", "--shrinkages");
    (void)rer_options_set(options, NULL, "1", &error);
    assert_usage(&error, "no option", "--");
    (void)rer_options_set(NULL, "threads", "1", &error);
    assert_usage(&error, "--threads", "no options");
    (void)rer_options_set(options, "threads", NULL, &error);
    assert_usage(&error, "--threads", "no value");
    assert_memory_equal(options, &before, sizeof before);
    (void)rer_options_get_integer(options, "shrinkage", &integer, &error);
    assert_usage(&error, "--shrinkage", "whole number");
    (void)rer_options_get_real(options, "hidden", &real, &error);
    assert_usage(&error, "--hidden", "a number");
    (void)rer_options_get_flag(options, "threads", &flag, &error);
    assert_usage(&error, "--threads", "yes or no");
    assert_true(integer == 42 && real == 42 && flag);
    rer_options_free(options);
}

/* ---- what is attached to a data set ---------------------------------------------------------- */

static entry *const users[] = {enter_analyze, enter_score, enter_scale, enter_bench, enter_relabel, enter_cluster};

/* Probabilities or embeddings of 40 classes, then labels with 3. */
static void check_stale(fixture *with, const char *a, const char *b)
{
    set_few_labels(with);
    for (size_t i = 0; i < sizeof users / sizeof *users; i++) {
        assert_int_equal(users[i](with, NULL), RER_BAD_INPUT);
        assert_bad_input(&with->error, a, b, NULL);
    }
}

static void test_stale_probabilities(void **state)
{
    (void)state;
    fixture *with = make_fixture();
    rer_view many = floats(with->many_probs, N, MANY), few = floats(with->few_probs, N, FEW);
    assert_int_equal(rer_dataset_set_pred_probs(with->data, &many, &with->error), RER_OK);
    check_stale(with, "predicted probabilities: shape (120, 40)", "(120, 3)");
    assert_int_equal(rer_dataset_set_pred_probs(with->data, &few, &with->error), RER_OK);
    assert_int_equal(enter_analyze(with, NULL), RER_OK);
    free_fixture(with);
}

static void test_stale_embeddings(void **state)
{
    (void)state;
    fixture *with = make_fixture();
    rer_options options = rer_options_default();
    options.detector = RER_DETECT_ZEROSHOT;
    rer_view many = floats(with->many_embeddings, MANY, D), few = floats(with->few_embeddings, FEW, D);
    assert_int_equal(rer_dataset_set_class_embeddings(with->data, &many, &with->error), RER_OK);
    assert_int_equal(enter_relabel(with, NULL), RER_OK); /* those of classes that are gone go too */
    check_stale(with, "class embeddings: 40", "3 classes");
    assert_int_equal(enter_analyze(with, &options), RER_BAD_INPUT);
    assert_int_equal(rer_dataset_set_class_embeddings(with->data, &few, &with->error), RER_OK);
    assert_int_equal(enter_analyze(with, &options), RER_OK);
    free_fixture(with);
}

/* A result is written with the rows that it was made from. */
static void test_other_rows(void **state)
{
    (void)state;
    fixture *with = make_fixture();
    rer_result *result = NULL;
    rer_dataset *half = NULL;
    char *json = NULL;
    set_few_labels(with);
    assert_int_equal(rer_analyze(&result, with->data, NULL, NULL, NULL, &with->error), RER_OK);
    rer_view features = floats(with->x, N / 2, D);
    assert_int_equal(rer_dataset_wrap(&half, &features, NULL, NULL, &with->error), RER_OK);
    assert_int_equal(rer_result_write(result, half, file_path("out"), &with->error), RER_BAD_USAGE);
    assert_usage(&with->error, "60 rows", "120");
    assert_int_equal(access(file_path("out"), F_OK), -1);
    assert_int_equal(rer_result_report(result, half, file_path("out"), &with->error), RER_BAD_USAGE);
    assert_int_equal(rer_result_json(result, half, &json, &with->error), RER_BAD_USAGE);
    assert_int_equal(rer_result_detail(result, half, NULL, &with->error), RER_BAD_USAGE);
    assert_int_equal(rer_result_json(result, NULL, &json, &with->error), RER_BAD_USAGE);
    rer_dataset_free(half);
    features = floats(with->x, N, D / 2); /* details read the rows again, as many features of each as there were */
    rer_view labels = codes(with->many, N);
    assert_int_equal(rer_dataset_wrap(&half, &features, &labels, NULL, &with->error), RER_OK);
    assert_int_equal(rer_result_detail(result, half, NULL, &with->error), RER_BAD_USAGE);
    rer_dataset_free(half);
    rer_result_free(result);
    free_fixture(with);
}

static void test_failed_setters_change_nothing(void **state)
{
    (void)state;
    static const char *const texts[] = {"a", "b"};
    fixture *with = make_fixture();
    rer_dataset *data = with->data;
    rer_error *error = &with->error;
    rer_view probs = floats(with->many_probs, N, MANY), embeddings = floats(with->many_embeddings, MANY, D);
    rer_view short_codes = codes(with->few, 5), narrow = floats(with->few_probs, N, FEW);
    assert_int_equal(rer_dataset_set_groups(data, NULL, error), RER_OK); /* near-duplicates */
    assert_int_equal(rer_dataset_set_pred_probs(data, &probs, error), RER_OK);
    assert_int_equal(rer_dataset_set_class_embeddings(data, &embeddings, error), RER_OK);
    rer_dataset before = *data;
    assert_int_equal(rer_dataset_set_groups(data, &short_codes, error), RER_BAD_INPUT);
    assert_int_equal(rer_dataset_set_subsets(data, &short_codes, error), RER_BAD_INPUT);
    assert_int_equal(rer_dataset_set_labels(data, &short_codes, error), RER_BAD_INPUT);
    assert_int_equal(rer_dataset_set_pred_probs(data, &narrow, error), RER_BAD_INPUT);
    assert_int_equal(rer_dataset_set_class_embeddings(data, &narrow, error), RER_BAD_INPUT);
    assert_int_equal(rer_dataset_set_images(data, &narrow, error), RER_BAD_INPUT);
    assert_int_equal(rer_dataset_set_ids(data, texts, 2, error), RER_BAD_INPUT);
    assert_int_equal(rer_dataset_set_texts(data, texts, 2, error), RER_BAD_INPUT);
    assert_int_equal(rer_dataset_set_class_names(data, texts, 2, error), RER_BAD_INPUT);
    assert_int_equal(rer_dataset_open_images(data, "/none", error), RER_BAD_INPUT);
    assert_int_equal(rer_dataset_open_texts(data, "/none", error), RER_BAD_INPUT);
    assert_memory_equal(data, &before, sizeof before);
    assert_true(data->group_duplicates);
    free_fixture(with);
}

/* ---- the error -------------------------------------------------------------------------------- */

static void assert_forgotten(fixture *with, rer_status status)
{
    assert_int_equal(status, RER_OK);
    assert_int_equal(with->error.status, RER_OK);
    assert_string_equal(with->error.message, "");
    with->error = (rer_error){.status = RER_SYSTEM, .message = "an earlier failure"};
}

/* And a later failure is told as what it is. */
static void test_reused_error(void **state)
{
    (void)state;
    static const char *const names[FEW] = {"0", "1", "2"};
    fixture *with = make_fixture();
    rer_error *error = &with->error;
    rer_options *options = NULL, *copy = NULL;
    rer_result *result = NULL;
    rer_model *model = NULL, *unpacked = NULL;
    rer_view labels = codes(with->few, N), probs = floats(with->few_probs, N, FEW);
    rer_sample sample = {.size = sizeof sample};
    char text[8], *json = NULL;
    void *bytes = NULL;
    int64_t size = 0, row = 0, found = 0;
    *error = (rer_error){.status = RER_SYSTEM, .message = "an earlier failure"};
    assert_forgotten(with, rer_options_new(&options, error));
    assert_forgotten(with, rer_options_set(options, "threads", "1", error));
    assert_forgotten(with, rer_options_get(options, "threads", text, sizeof text, error));
    assert_forgotten(with, rer_options_copy(&copy, options, error));
    assert_forgotten(with, rer_dataset_set_labels(with->data, &labels, error));
    assert_forgotten(with, rer_dataset_set_class_names(with->data, names, FEW, error));
    assert_forgotten(with, rer_dataset_set_pred_probs(with->data, &probs, error));
    assert_forgotten(with, rer_dataset_set_subsets(with->data, &labels, error));
    assert_forgotten(with, rer_dataset_set_groups(with->data, NULL, error));
    assert_forgotten(with, rer_analyze(&result, with->data, options, NULL, NULL, error));
    assert_forgotten(with, rer_result_sample(&sample, result, 0, error));
    assert_forgotten(with, rer_result_detail(result, with->data, NULL, error));
    assert_forgotten(with, rer_result_extremes(result, true, 1, &row, &found, error));
    assert_forgotten(with, rer_result_json(result, with->data, &json, error));
    assert_forgotten(with, rer_result_write(result, with->data, file_path("out"), error));
    assert_forgotten(with, rer_result_report(result, with->data, file_path("report.html"), error));
    assert_forgotten(with, rer_model_save(rer_result_model(result), file_path("model"), error));
    assert_forgotten(with, rer_model_load(&model, file_path("model"), error));
    assert_forgotten(with, rer_model_pack(model, &bytes, &size, error));
    assert_forgotten(with, rer_model_unpack(&unpacked, bytes, size, error));
    assert_forgotten(with, enter_open(with, NULL));
    assert_forgotten(with, enter_score(with, NULL));
    assert_forgotten(with, enter_plant(with, NULL));
    assert_forgotten(with, enter_noise_file(with, NULL));
    (void)rer_options_set(options, "threads", "x", error);
    assert_usage(error, "--threads", "'x'");
    char command[400];
    (void)snprintf(command, sizeof command, "rm -r '%s'", file_path("out"));
    assert_int_equal(system(command), 0);
    free(json);
    free(bytes);
    rer_model_free(model);
    rer_model_free(unpacked);
    rer_result_free(result);
    rer_options_free(options);
    rer_options_free(copy);
    free_fixture(with);
}

/* ---- structs of other versions ---------------------------------------------------------------- */

typedef struct later_files {
    rer_files files;
    const char *unknown; /* a member of a version to come */
} later_files;

static void test_files_of_other_versions(void **state)
{
    (void)state;
    rer_error error = {0};
    rer_dataset *data = NULL;
    rer_files files = {.features = write_text("x.csv", "1,2\n3,4\n"), .groups = "/none"};
    assert_int_equal(rer_dataset_open(&data, &files, NULL, &error), RER_BAD_USAGE);
    assert_usage(&error, "rer_files.size is 0", "sizeof(rer_files)");
    files.size = offsetof(rer_files, groups); /* of a version that had no groups */
    assert_int_equal(rer_dataset_open(&data, &files, NULL, &error), RER_OK);
    rer_dataset_free(data);
    data = NULL;
    later_files later = {.files = {.size = sizeof later, .features = files.features}};
    assert_int_equal(rer_dataset_open(&data, &later.files, NULL, &error), RER_OK);
    rer_dataset_free(data);
    data = NULL;
    later.unknown = "x";
    assert_int_equal(rer_dataset_open(&data, &later.files, NULL, &error), RER_BAD_USAGE);
    assert_usage(&error, "rer_files has members", RER_VERSION);
    assert_null(data);
}

static void test_samples_of_other_versions(void **state)
{
    (void)state;
    fixture *with = make_fixture();
    rer_result *result = NULL;
    struct {
        rer_sample sample;
        double unknown;
    } later = {.sample = {.size = sizeof later}, .unknown = 3};
    rer_sample sample, whole = {.size = sizeof whole};
    set_few_labels(with);
    assert_int_equal(rer_analyze(&result, with->data, NULL, NULL, NULL, &with->error), RER_OK);
    assert_int_equal(rer_result_sample(&whole, result, 5, &with->error), RER_OK);
    assert_true(whole.row == 5 && whole.size == sizeof whole);
    assert_int_equal(rer_result_sample(&later.sample, result, 5, &with->error), RER_OK);
    assert_true(later.sample.chi == whole.chi && later.sample.size == sizeof later && later.unknown == 0);
    memset(&sample, 0x55, sizeof sample);
    rer_sample before = sample;
    sample.size = offsetof(rer_sample, chi); /* there is no room for more */
    assert_int_equal(rer_result_sample(&sample, result, 5, &with->error), RER_OK);
    assert_true(sample.row == 5 && sample.suggested == whole.suggested);
    assert_memory_equal(&sample.chi, &before.chi, sizeof sample - offsetof(rer_sample, chi));
    sample.size = 0;
    assert_int_equal(rer_result_sample(&sample, result, 5, &with->error), RER_BAD_USAGE);
    assert_usage(&with->error, "rer_sample.size is 0", "sizeof(rer_sample)");
    assert_int_equal(rer_result_sample(&whole, result, N, &with->error), RER_BAD_USAGE);
    assert_usage(&with->error, "no row 120", "120");
    rer_result_free(result);
    free_fixture(with);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FILES_TEST(test_options_are_checked),
        FILES_TEST(test_every_kind_is_checked),
        FILES_TEST(test_typed_values),
        FILES_TEST(test_wrong_values),
        FILES_TEST(test_stale_probabilities),
        FILES_TEST(test_stale_embeddings),
        FILES_TEST(test_other_rows),
        FILES_TEST(test_failed_setters_change_nothing),
        FILES_TEST(test_reused_error),
        FILES_TEST(test_files_of_other_versions),
        FILES_TEST(test_samples_of_other_versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
