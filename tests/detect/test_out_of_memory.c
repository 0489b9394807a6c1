/* Every allocation of every detector fails once, and so do libLBFGS's and the start of a thread: each time
 * RER_SYSTEM with a message, the verdict unchanged, no leak (which the build with AddressSanitizer sees). The
 * linker leads our calls here (--wrap). */
#include "detect/detect.h"
#include "files.h"
#include "made_data.h"

#include <errno.h>
#include <lbfgs.h>
#include <pthread.h>

void *__real_realloc(void *memory, size_t size);
int __real_posix_memalign(void **memory, size_t alignment, size_t size);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument);
int __real_lbfgs(int n, double *x, double *value, lbfgs_evaluate_t evaluate, lbfgs_progress_t progress, void *instance,
                 lbfgs_parameter_t *parameters);
void *__wrap_realloc(void *memory, size_t size);
int __wrap_posix_memalign(void **memory, size_t alignment, size_t size);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument);
int __wrap_lbfgs(int n, double *x, double *value, lbfgs_evaluate_t evaluate, lbfgs_progress_t progress, void *instance,
                 lbfgs_parameter_t *parameters);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int64_t before_failure = -1; /* calls that still work; negative: all */
static bool has_failed;

static bool fails_now(void)
{
    (void)pthread_mutex_lock(&mutex);
    bool fails = before_failure == 0;
    if (before_failure >= 0)
        before_failure--;
    has_failed = has_failed || fails;
    (void)pthread_mutex_unlock(&mutex);
    return fails;
}

void *__wrap_realloc(void *memory, size_t size)
{
    return fails_now() ? NULL : __real_realloc(memory, size);
}

int __wrap_posix_memalign(void **memory, size_t alignment, size_t size)
{
    return fails_now() ? ENOMEM : __real_posix_memalign(memory, alignment, size);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument)
{
    return fails_now() ? EAGAIN : __real_pthread_create(thread, attributes, run, argument);
}

int __wrap_lbfgs(int n, double *x, double *value, lbfgs_evaluate_t evaluate, lbfgs_progress_t progress, void *instance,
                 lbfgs_parameter_t *parameters)
{
    return fails_now() ? LBFGSERR_OUTOFMEMORY : __real_lbfgs(n, x, value, evaluate, progress, instance, parameters);
}

static rer_dataset *made_dataset(made_data *made)
{
    const made_settings settings = {.N = 70, .D = 4, .C = 3, .unlabelled = 5, .mislabelled = 9, .seed = 3};
    *made = made_data_make(&settings);
    rer_dataset *data = made_data_wrap(made);
    rer_view embeddings = {.data = made->x, .dtype = RER_F32, .rank = 2, .shape = {made->C, made->D}};
    assert_int_equal(rer_dataset_set_class_embeddings(data, &embeddings, NULL), RER_OK);
    return data;
}

static rer_status detect(rer_verdict *verdict, const rer_dataset *data, const rer_detector *detector, rer_error *error)
{
    rer_options options = rer_options_default();
    rer_detection *detection = NULL;
    options.threads = 1; /* a pool that cannot start its threads goes on without them */
    rer_status status = rer_detection_open(&detection, data, NULL, &options, NULL, error);
    if (status == RER_OK)
        status = rer_detect(verdict, detection, detector, error);
    rer_detection_close(detection);
    return status;
}

static void test_detectors(void **state)
{
    made_data made;
    rer_dataset *data = made_dataset(&made);
    (void)state;
    for (int i = 0; rer_detector_at(i) != NULL; i++)
        for (int64_t failing = 0;; failing++) {
            rer_error error = {0};
            rer_verdict verdict = {.noise_rate = -1};
            has_failed = false;
            before_failure = failing;
            rer_status status = detect(&verdict, data, rer_detector_at(i), &error);
            before_failure = -1;
            if (!has_failed) {
                if (status != RER_OK)
                    fail_msg("%s: %s", rer_detector_at(i)->name, error.message);
                assert_true(failing > 8);
                rer_verdict_free(&verdict);
                break;
            }
            if (status != RER_SYSTEM || error.status != RER_SYSTEM || error.message[0] == 0)
                fail_msg("%s: without allocation %d the status is %d: %s", rer_detector_at(i)->name, (int)failing,
                         (int)status, error.message);
            assert_null(verdict.mistakenness);
            assert_true(verdict.noise_rate == -1);
        }
    rer_dataset_free(data);
    made_data_free(&made);
}

/* One detector stands for all: what each does by itself has failed above. */
static void test_analyze(void **state)
{
    made_data made;
    rer_dataset *data = made_dataset(&made);
    (void)state;
    for (int64_t failing = 0;; failing++) {
        rer_error error = {0};
        rer_result *result = NULL;
        rer_options options = rer_options_default();
        options.threads = 1;
        options.shrinkage = .1; /* whose choice fails in core.out_of_memory */
        options.detector = RER_DETECT_ZEROSHOT;
        has_failed = false;
        before_failure = failing;
        rer_status status = rer_analyze(&result, data, &options, NULL, NULL, &error);
        before_failure = -1;
        rer_result_free(result);
        if (!has_failed) {
            assert_int_equal(status, RER_OK);
            assert_true(failing > 20);
            break;
        }
        assert_int_equal(status, RER_SYSTEM);
        assert_null(result);
    }
    rer_dataset_free(data);
    made_data_free(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_detectors), cmocka_unit_test(test_analyze)};
    return cmocka_run_group_tests_name("detect.out_of_memory", tests, NULL, NULL);
}
