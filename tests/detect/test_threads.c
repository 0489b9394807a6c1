/* Every detector gives the same bits with one thread and with three, and races for nothing (which the build
 * with ThreadSanitizer sees). */
#include "detect/detect.h"
#include "files.h"
#include "made_data.h"

#include <math.h>

static rer_verdict detect(const rer_dataset *data, const rer_detector *detector, int32_t threads)
{
    rer_options options = rer_options_default();
    rer_detection *detection = NULL;
    rer_verdict verdict = {0};
    rer_error error = {0};
    options.threads = threads;
    options.drop_invalid = true;
    if (rer_detection_open(&detection, data, NULL, &options, NULL, &error) != RER_OK ||
        rer_detect(&verdict, detection, detector, &error) != RER_OK)
        fail_msg("%s: %s", detector->name, error.message);
    rer_detection_close(detection);
    return verdict;
}

static void test_same_bits(void **state)
{
    const made_settings settings = {.N = 3300, .D = 6, .C = 3, .unlabelled = 40, .mislabelled = 300, .seed = 5};
    made_data made = made_data_make(&settings);
    (void)state;
    made.x[7 * made.D + 2] = (float)NAN;
    rer_dataset *data = made_data_wrap(&made);
    rer_view embeddings = {.data = made.x, .dtype = RER_F32, .rank = 2, .shape = {made.C, made.D}};
    assert_int_equal(rer_dataset_set_class_embeddings(data, &embeddings, NULL), RER_OK);
    for (int i = 0; rer_detector_at(i) != NULL; i++) {
        rer_verdict one = detect(data, rer_detector_at(i), 1), three = detect(data, rer_detector_at(i), 3);
        assert_memory_equal(one.mistakenness, three.mistakenness, (size_t)made.N * sizeof *one.mistakenness);
        assert_memory_equal(one.suggested, three.suggested, (size_t)made.N * sizeof *one.suggested);
        assert_memory_equal(one.flagged, three.flagged, (size_t)made.N * sizeof *one.flagged);
        assert_memory_equal(&one.noise_rate, &three.noise_rate, sizeof one.noise_rate);
        assert_true(isnan(one.mistakenness[7]) && !one.flagged[7]);
        rer_verdict_free(&one);
        rer_verdict_free(&three);
    }
    rer_dataset_free(data);
    made_data_free(&made);
}

/* A progress callback that wants to stop ends every detector. */
static bool stop(void *context, const char *stage, double fraction)
{
    (void)stage, (void)fraction;
    return ++*(int *)context > 0;
}

static void test_stopping(void **state)
{
    const made_settings settings = {.N = 20000, .D = 24, .C = 12, .mislabelled = 3000, .seed = 6};
    made_data made = made_data_make(&settings);
    rer_dataset *data = made_data_wrap(&made);
    rer_options options = rer_options_default();
    (void)state;
    for (int i = 0; rer_detector_at(i) != NULL; i++) {
        int reports = 0;
        rer_progress progress = {stop, &reports};
        rer_error error = {0};
        rer_detection *detection = NULL;
        rer_verdict verdict = {0};
        if (rer_detector_at(i)->needs_class_embeddings)
            continue;
        assert_int_equal(rer_detection_open(&detection, data, NULL, &options, &progress, &error), RER_OK);
        rer_status status = rer_detect(&verdict, detection, rer_detector_at(i), &error);
        if (reports > 0 || status != RER_OK) /* a machine that is done before the first report has nothing to stop */
            assert_int_equal(status, RER_CANCELLED);
        rer_verdict_free(&verdict);
        rer_detection_close(detection);
    }
    rer_dataset_free(data);
    made_data_free(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_bits), cmocka_unit_test(test_stopping)};
    return cmocka_run_group_tests_name("detect.threads", tests, NULL, NULL);
}
