#define _GNU_SOURCE /* memmem */
/* A saved model is the one that was fitted: rows score the same to the bit, whatever the
 * normalisation; and a file that has lost something is not taken for another model. */
#include "files.h"
#include "made_data.h"

#include "run/result.h"

#include <stdio.h>

static const made_settings rows = {.N = 1500, .D = 10, .C = 6, .mislabelled = 90, .unlabelled = 50, .seed = 4};
static const made_settings few_rows = {.N = 40, .D = 30, .C = 3, .seed = 5}; /* in double */

static rer_result *analyze(const rer_dataset *data, rer_options *options, const char *normalize)
{
    rer_result *result = NULL;
    rer_error error = {0};
    *options = rer_options_default();
    assert_int_equal(rer_options_set(options, "normalize", normalize, NULL), RER_OK);
    if (rer_analyze(&result, data, options, NULL, NULL, &error) != RER_OK)
        fail_msg("%s", error.message);
    return result;
}

static void check_round_trip(const made_settings *settings, const char *normalize)
{
    made_data made = made_data_make(settings);
    rer_dataset *data = made_data_wrap(&made);
    rer_options options;
    rer_error error = {0};
    rer_result *fitted = analyze(data, &options, normalize), *before = NULL, *after = NULL;
    rer_model *loaded = NULL;
    assert_int_equal(rer_model_save(rer_result_model(fitted), file_path("model"), &error), RER_OK);
    if (rer_model_load(&loaded, file_path("model"), &error) != RER_OK)
        fail_msg("%s", error.message);
    assert_int_equal(rer_score(&before, rer_result_model(fitted), data, &options, NULL, NULL, &error), RER_OK);
    assert_int_equal(rer_score(&after, loaded, data, &options, NULL, NULL, &error), RER_OK);
    size_t floats = (size_t)made.N * sizeof(float);
    assert_memory_equal(before->own, after->own, floats);
    assert_memory_equal(before->other, after->other, floats);
    assert_memory_equal(before->logit, after->logit, floats);
    assert_memory_equal(before->outlier_score, after->outlier_score, floats);
    assert_false(isnan(after->outlier_score[0]));
    assert_memory_equal(before->suggested, after->suggested, (size_t)made.N * sizeof(int32_t));
    assert_true(rer_result_summary(before)->chi == rer_result_summary(after)->chi);
    /* The rows are not left out here, so they fit better than when they were judged. */
    assert_true(rer_result_summary(after)->own_error < rer_result_summary(fitted)->own_error);
    rer_result_free(fitted);
    rer_result_free(before);
    rer_result_free(after);
    rer_model_free(loaded);
    rer_dataset_free(data);
    made_data_free(&made);
}

static void test_round_trip(void **state)
{
    (void)state;
    check_round_trip(&rows, "whiten");
    check_round_trip(&rows, "minmax");
    check_round_trip(&rows, "unit");
    check_round_trip(&rows, "none");
    check_round_trip(&few_rows, "whiten");
}

/* Seeds of the fuzzer are of the format of today, or it would never come beyond the first line. */
static void test_seeds(void **state)
{
    (void)state;
    static const struct {
        const char *name, *fault; /* NULL: none */
    } seeds[] = {{"centroid", NULL},
                 {"double", NULL},
                 {"identity", NULL},
                 {"likeness", NULL},
                 {"pairs", NULL},
                 {"no_counts", NULL},
                 {"usual", NULL},
                 {"unusual", "usual.spread"},
                 {"blur", "channel.blur is -1e-09"},
                 {"all_right", "channel.all_right is 1"}};
    for (int i = 0; i < RER_COUNT(seeds); i++) {
        char path[700];
        rer_model *model = NULL;
        rer_error error = {0};
        (void)snprintf(path, sizeof path, MODELS "/%s", seeds[i].name);
        rer_status status = rer_model_load(&model, path, &error);
        if (status != (seeds[i].fault == NULL ? RER_OK : RER_BAD_INPUT))
            fail_msg("%s: %s", seeds[i].name, error.message);
        if (seeds[i].fault != NULL && strstr(error.message, seeds[i].fault) == NULL)
            fail_msg("'%s' is not in: %s", seeds[i].fault, error.message);
        rer_model_free(model);
    }
}

/* Every name in the header is needed: with a letter changed the file is refused. */
static void test_lost_names(void **state)
{
    (void)state;
    static const char *const names[] = {"centroid.root",   "centroid.mean",      "centroid.grand_mean",
                                        "centroid.weight", "centroid.in_double", "class_sizes",
                                        "class_names",     "channel.weight",     "channel.edge",
                                        "channel.blur",    "channel.sharpness",  "channel.likeness",
                                        "channel.uniform", "channel.pairs",      "channel.totals",
                                        "channel.bias",    "shrinkage",          "rows",
                                        "normalize",       "reconstructor",      "format",
                                        "usual",           "usual.center",       "usual.spread",
                                        "usual.tail",      "usual.removed"};
    made_data made = made_data_make(&rows);
    rer_dataset *data = made_data_wrap(&made);
    rer_options options;
    rer_result *fitted = analyze(data, &options, "whiten");
    int64_t size;
    assert_int_equal(rer_model_save(rer_result_model(fitted), file_path("model"), NULL), RER_OK);
    unsigned char *bytes = read_whole(file_path("model"), &size);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char quoted[64];
        rer_error error = {0};
        rer_model *model = NULL;
        int length = snprintf(quoted, sizeof quoted, "\"%s\"", names[i]);
        unsigned char *found = memmem(bytes, (size_t)size, quoted, (size_t)length);
        assert_non_null(found);
        found[1] ^= 1;
        assert_int_equal(rer_model_load(&model, write_file("damaged", bytes, size), &error), RER_BAD_INPUT);
        found[1] ^= 1;
        assert_non_null(strstr(error.message, "damaged"));
        assert_null(model);
    }
    free(bytes);
    rer_result_free(fitted);
    rer_dataset_free(data);
    made_data_free(&made);
}

/* A table with the columns of another, as a model keeps them in its file. */
static void score_table(const rer_model *model, const char *header, rer_error *error)
{
    char text[400];
    rer_dataset *data = NULL;
    rer_result *result = NULL;
    (void)snprintf(text, sizeof text, "%s1,0\n0,1\n1,1\n", header);
    rer_files files = {.size = sizeof files, .features = write_text("new.csv", text)};
    assert_int_equal(rer_dataset_open(&data, &files, NULL, error), RER_OK);
    (void)rer_score(&result, model, data, NULL, NULL, NULL, error);
    rer_result_free(result);
    rer_dataset_free(data);
}

static void test_columns_of_a_table(void **state)
{
    (void)state;
    char text[2000];
    int used = snprintf(text, sizeof text, "a,\"b \"\"\xC3\xA4\"\"\",class\n");
    for (int i = 0; i < 60; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%d,%d,%d\n", 100 * (i % 2) + i % 7, i % 5, i % 2);
    rer_files files = {.size = sizeof files, .features = write_text("old.csv", text), .label_column = "class"};
    rer_error error = {0};
    rer_dataset *data = NULL;
    rer_result *fitted = NULL;
    rer_model *model = NULL;
    assert_int_equal(rer_dataset_open(&data, &files, NULL, &error), RER_OK);
    assert_int_equal(rer_analyze(&fitted, data, NULL, NULL, NULL, &error), RER_OK);
    assert_int_equal(rer_model_save(rer_result_model(fitted), file_path("model"), &error), RER_OK);
    assert_int_equal(rer_model_load(&model, file_path("model"), &error), RER_OK);
    score_table(model, "a,\"b \"\"\xC3\xA4\"\"\"\n", &error);
    assert_int_equal(error.status, RER_OK);
    score_table(model, "", &error); /* without names their places count */
    assert_int_equal(error.status, RER_OK);
    score_table(model, "\"b \"\"\xC3\xA4\"\"\",a\n", &error);
    assert_bad_input(&error, "new.csv", "feature 1", "'b \"\xC3\xA4\"'", "'a'", "model", NULL);
    error = (rer_error){0};
    score_table(model, "a,c\n", &error);
    assert_bad_input(&error, "new.csv", "feature 2", "'c'", "'b \"\xC3\xA4\"'", NULL);
    rer_model_free(model);
    model = NULL;
    error = (rer_error){0};
    int64_t size;
    unsigned char *bytes = read_whole(file_path("model"), &size), *names = memmem(bytes, (size_t)size, "[\\\"a\\\"", 6);
    assert_non_null(names);
    memcpy(names, "[7    ", 6);
    (void)rer_model_load(&model, write_file("damaged", bytes, size), &error);
    assert_bad_input(&error, "damaged", "column 1", NULL);
    assert_null(model);
    free(bytes);
    rer_result_free(fitted);
    rer_dataset_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {FILES_TEST(test_round_trip), FILES_TEST(test_lost_names),
                                       FILES_TEST(test_columns_of_a_table), cmocka_unit_test(test_seeds)};
    return cmocka_run_group_tests_name("fit.model", tests, NULL, NULL);
}
