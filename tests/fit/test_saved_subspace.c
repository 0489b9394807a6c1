/* A subspace model scores the same bits from memory and from its file, in float and in double. */
#include "files.h"
#include "made_data.h"

/* The errors [C, N] that `model` gives the data, as the bytes of the file. */
static unsigned char *score_bytes(const rer_model *model, const rer_dataset *data, int64_t *size)
{
    rer_options options = rer_options_default();
    rer_result *result = NULL;
    rer_error error = {0};
    const char *path = file_path("errors.npy");
    rer_outputs outputs = {.size = sizeof outputs, .errors = path};
    if (rer_score(&result, model, data, &options, &outputs, NULL, &error) != RER_OK)
        fail_msg("%s", error.message);
    rer_result_free(result);
    return read_whole(path, size);
}

static void check(int64_t N, int64_t D, const char *normalize, const char *rank)
{
    made_settings settings = {.N = N, .D = D, .C = 4, .unlabelled = 5, .mislabelled = 10, .condition = 50, .seed = 3};
    made_data made = made_data_make(&settings);
    rer_dataset *data = made_data_wrap(&made);
    rer_options options = rer_options_default();
    rer_result *result = NULL;
    rer_model *loaded = NULL;
    rer_error error = {0};
    const char *path = file_path("model");
    assert_int_equal(rer_options_set(&options, "reconstructor", "subspace", &error), RER_OK);
    assert_int_equal(rer_options_set(&options, "normalize", normalize, &error), RER_OK);
    assert_int_equal(rer_options_set(&options, "rank", rank, &error), RER_OK);
    if (rer_analyze(&result, data, &options, NULL, NULL, &error) != RER_OK ||
        rer_model_save(rer_result_model(result), path, &error) != RER_OK ||
        rer_model_load(&loaded, path, &error) != RER_OK)
        fail_msg("%s", error.message);
    int64_t size = 0, again = 0;
    unsigned char *kept = score_bytes(rer_result_model(result), data, &size);
    unsigned char *read = score_bytes(loaded, data, &again);
    assert_int_equal(size, again);
    assert_memory_equal(kept, read, (size_t)size);
    free(kept);
    free(read);
    rer_model_free(loaded);
    rer_result_free(result);
    rer_dataset_free(data);
    made_data_free(&made);
}

static void same_bits(void **state)
{
    (void)state;
    check(1200, 12, "whiten", "auto");
    check(1200, 12, "whiten", "3");
    check(1200, 12, "minmax", "2");
    check(1200, 12, "unit", "0");
    check(60, 30, "whiten", "2"); /* in double */
    check(60, 30, "none", "auto");
}

int main(void)
{
    const struct CMUnitTest tests[] = {FILES_TEST(same_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
