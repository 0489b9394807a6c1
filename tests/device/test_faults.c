/* A card on which something fails: every allocation, once and from then on; every call, as where the card is gone or a
 * kernel has failed; a kernel that really fails; two processes at once; memory that is bounded. An analysis ends right or with an error that says
 * why, and the next one is right. The plug-in is that of RER_CUDA_PLUGIN, built from faults.cu. */
#include "faults.h"

#include "made_data.h"

#include "run/result.h"

#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define GONE 46    /* cudaErrorDevicesUnavailable */
#define FAILED 719 /* cudaErrorLaunchFailure */
#define DENSE 60   /* calls that are tried one by one; later ones in steps that grow */

static made_data made;
static rer_dataset *data;
static faults_set *set_fault;
static faults_met *is_met;
static faults_peak *peak_of;

static void find(void *to, void *library, const char *name)
{
    void *symbol = dlsym(library, name);
    assert_non_null(symbol);
    memcpy(to, &symbol, sizeof symbol);
}

static rer_status analyze(rer_result **result, const char *device, const char *detector, rer_error *error)
{
    rer_options options = rer_options_default();
    *result = NULL;
    assert_int_equal(rer_options_set(&options, "device", device, NULL), RER_OK);
    assert_int_equal(rer_options_set(&options, "detector", detector, NULL), RER_OK);
    assert_int_equal(rer_options_set(&options, "shrinkage", "0.2", NULL), RER_OK);
    if (strcmp(detector, "confident") == 0)
        assert_int_equal(rer_options_set(&options, "duplicates", "auto", NULL), RER_OK);
    return rer_analyze(result, data, &options, NULL, NULL, error);
}

static rer_result *analyzed(const char *detector)
{
    rer_result *result = NULL;
    rer_error error = {0};
    if (analyze(&result, "cuda", detector, &error) != RER_OK)
        fail_msg("%s", error.message);
    return result;
}

static void assert_right(const rer_result *got, const rer_result *want, int64_t at)
{
    int64_t flags = 0;
    for (int64_t i = 0; i < want->N; i++) {
        flags += got->flags[i] != want->flags[i];
        if (!(fabsf(got->own[i] - want->own[i]) <= 1e-5F * want->own[i]) && !isnan(want->own[i]))
            fail_msg("call %lld: row %lld: %g instead of %g", (long long)at, (long long)i, (double)got->own[i],
                     (double)want->own[i]);
    }
    if (flags > want->N / 500)
        fail_msg("call %lld: %lld flags differ", (long long)at, (long long)flags);
}

/* The at-th call fails; returns whether there were so many. */
static bool try(fault_kind kind, int64_t at, int code, const char *detector, const rer_result *want, const char *reason)
{
    rer_error error = {0};
    rer_result *result = NULL;
    set_fault(kind, at, code);
    rer_status status = analyze(&result, "cuda", detector, &error);
    bool met = is_met() != 0;
    set_fault(FAULT_NONE, 0, 0);
    if (status == RER_OK)
        assert_right(result, want, at);
    else if (status != RER_SYSTEM || strncmp(error.message, "--device cuda: ", 15) != 0 ||
             (strstr(error.message, reason) == NULL && strstr(error.message, "cuBLAS cannot start") == NULL &&
              strstr(error.message, "a product failed") == NULL))
        fail_msg("call %lld, %s: %s", (long long)at, detector, error.message);
    if (status != RER_OK && kind == FAULT_MEMORY_ONCE)
        fail_msg("allocation %lld: there was room for smaller stretches: %s", (long long)at, error.message);
    if (!met && status != RER_OK)
        fail_msg("call %lld was not reached, and it failed: %s", (long long)at, error.message);
    rer_result_free(result);
    return met;
}

static const char *const detectors[] = {"rer", "knn", "confident"};

static void test_memory(void **state)
{
    (void)state;
    for (size_t d = 0; d < sizeof detectors / sizeof *detectors; d++) {
        rer_result *want = analyzed(detectors[d]);
        int64_t at = 0;
        while (try(FAULT_MEMORY_ONCE, at, 0, detectors[d], want, "out of memory"))
            at++;
        printf("  %s: %lld allocations\n", detectors[d], (long long)at);
        assert_true(at > 40);
        for (at = 0; try(FAULT_MEMORY, at, 0, detectors[d], want, "out of memory");)
            at++;
        rer_result_free(want);
    }
}

static void test_errors(void **state)
{
    (void)state;
    for (size_t d = 0; d < sizeof detectors / sizeof *detectors; d++) {
        rer_result *want = analyzed(detectors[d]);
        int64_t at = 0;
        for (int i = 0; try(FAULT_ERROR, at, i % 2 == 0 ? GONE : FAILED, detectors[d], want,
                            i % 2 == 0 ? "busy or unavailable" : "unspecified launch failure");
             i++)
            at += i < DENSE ? 1 : 1 + at / 10;
        printf("  %s: calls up to %lld\n", detectors[d], (long long)at);
        assert_true(at > DENSE);
        rer_result *again = analyzed(detectors[d]);
        assert_memory_equal(again->own, want->own, (size_t)want->N * sizeof(float));
        rer_result_free(again);
        rer_result_free(want);
    }
}

/* ---- memory that is bounded -------------------------------------------------------------- */

static rer_status run_networks(rer_result **result, const rer_dataset *of, const char *memory, rer_error *error)
{
    static const char *const settings[] = {"device", "cuda", "reconstructor", "autoencoder",
                                           "folds",  "2",    "epochs",        "1"};
    rer_options options = rer_options_default();
    *result = NULL;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i += 2)
        assert_int_equal(rer_options_set(&options, settings[i], settings[i + 1], NULL), RER_OK);
    assert_int_equal(rer_options_set(&options, "device-memory", memory, NULL), RER_OK);
    set_fault(FAULT_NONE, 0, 0);
    return rer_analyze(result, of, &options, NULL, NULL, error);
}

/* Networks are trained and scored within --device-memory, in smaller parts, to the same numbers; where that is too little
 * for them it is said how much is enough. */
static void test_bounded(void **state)
{
    (void)state;
    enum { ROOM = 24 << 20 };
    made_settings settings = {.N = 2000, .D = 64, .C = 12, .separation = 1, .mislabelled = 60, .seed = 2};
    made_data rows = made_data_make(&settings);
    rer_dataset *of = made_data_wrap(&rows);
    rer_result *free_one = NULL, *bounded = NULL;
    rer_error error = {0};
    char memory[32];
    long long least = 0, more = 0, taken = 0;
    assert_int_equal(run_networks(&free_one, of, "0", &error), RER_OK);
    int64_t most = peak_of();
    assert_int_equal(run_networks(&bounded, of, "1", &error), RER_SYSTEM);
    assert_int_equal(sscanf(error.message, "--device cuda: %lld bytes are the least", &least), 1);
    (void)snprintf(memory, sizeof memory, "%lld", least + (1 << 20));
    assert_int_equal(run_networks(&bounded, of, memory, &error), RER_SYSTEM);
    assert_int_equal(sscanf(error.message,
                            "--device cuda: %lld bytes are the least that its networks need beside the %lld", &more,
                            &taken),
                     2);
    (void)snprintf(memory, sizeof memory, "%lld", least + ROOM);
    if (run_networks(&bounded, of, memory, &error) != RER_OK)
        fail_msg("%s", error.message);
    printf("  %lld bytes where they may be as many as there are, %lld of %s; %lld beside %lld are too few\n",
           (long long)most, (long long)peak_of(), memory, more, taken);
    assert_true(more > 0 && peak_of() <= least + ROOM && most > 2 * (least + ROOM));
    for (int64_t i = 0; i < free_one->N; i++)
        assert_true(fabsf(bounded->own[i] - free_one->own[i]) <= 1e-3F * free_one->own[i]);
    rer_result_free(free_one);
    rer_result_free(bounded);
    rer_dataset_free(of);
    made_data_free(&rows);
}

/* Where none can be used from the start, auto does without. */
static void test_auto(void **state)
{
    (void)state;
    rer_result *result = NULL;
    rer_error error = {0};
    set_fault(FAULT_ERROR, 0, GONE);
    assert_int_equal(analyze(&result, "auto", "rer", &error), RER_OK);
    set_fault(FAULT_NONE, 0, 0);
    bool said = false;
    for (int i = 0; i < result->notes.count; i++)
        said = said || strstr(result->notes.text[i], "busy or unavailable") != NULL;
    assert_true(said);
    rer_result_free(result);
}

/* ---- in processes of their own, before this one uses the card ---------------------------- */

static int wait_for(pid_t child)
{
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

/* What a kernel has spoiled no call mends: the error is said, all is freed, and nothing hangs. */
static void test_kernel_that_fails(void **state)
{
    (void)state;
    for (int64_t at = 0; at < 400; at = at * 2 + 10) {
        pid_t child = fork();
        if (child == 0) {
            rer_result *result = NULL;
            rer_error error = {0};
            (void)alarm(60);
            set_fault(FAULT_TRAP, at, 0);
            rer_status status = analyze(&result, "cuda", "knn", &error);
            bool told = is_met() == 0 || (status == RER_SYSTEM && strncmp(error.message, "--device cuda: ", 15) == 0);
            if (!told)
                printf("trap at call %lld: %s\n", (long long)at, error.message);
            rer_result_free(result);
            (void)fflush(stdout);
            _exit(told ? 0 : 1);
        }
        assert_int_equal(wait_for(child), 0);
    }
}

/* Both have the bits that one has alone. */
static void test_two_processes(void **state)
{
    (void)state;
    int bits[2];
    pid_t child[2];
    uint64_t sum[3] = {0};
    assert_int_equal(pipe(bits), 0);
    for (int i = 0; i < 3; i++) { /* the third alone */
        pid_t made_one = fork();
        if (made_one == 0) {
            uint64_t hash = 0;
            for (int turn = 0; turn < 5; turn++) {
                rer_result *result = NULL;
                if (analyze(&result, "cuda", "rer", NULL) != RER_OK)
                    _exit(1);
                hash = rer_checksum(RER_CHECKSUM_START, result->logit, result->N * (int64_t)sizeof(float));
                hash = rer_checksum(hash, result->own, result->N * (int64_t)sizeof(float));
                rer_result_free(result);
            }
            _exit(write(bits[1], &hash, sizeof hash) == (ssize_t)sizeof hash ? 0 : 1);
        }
        if (i < 2)
            child[i] = made_one;
        if (i == 1)
            assert_true(wait_for(child[0]) == 0 && wait_for(child[1]) == 0);
        if (i == 2)
            assert_int_equal(wait_for(made_one), 0);
    }
    assert_int_equal(read(bits[0], sum, sizeof sum), sizeof sum);
    assert_true(sum[0] == sum[2] && sum[1] == sum[2]);
    (void)close(bits[0]);
    (void)close(bits[1]);
}

/* With an argument, the tests whose name it is; * stands for anything. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kernel_that_fails),
                                       cmocka_unit_test(test_two_processes),
                                       cmocka_unit_test(test_memory),
                                       cmocka_unit_test(test_errors),
                                       cmocka_unit_test(test_bounded),
                                       cmocka_unit_test(test_auto)};
    const char *path = getenv("RER_CUDA_PLUGIN");
    void *library = dlopen(path != NULL ? path : "librer_cuda_faults.so", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        printf("%s\n", dlerror());
        return 1;
    }
    find(&set_fault, library, FAULTS_SET);
    find(&is_met, library, FAULTS_MET);
    find(&peak_of, library, FAULTS_PEAK);
    made_settings settings = {.N = 3000, .D = 6, .C = 3, .separation = 2, .mislabelled = 120, .seed = 1};
    made = made_data_make(&settings);
    data = made_data_wrap(&made);
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    int failed = cmocka_run_group_tests_name("device.faults", tests, NULL, NULL);
    rer_dataset_free(data);
    made_data_free(&made);
    (void)dlclose(library);
    return failed;
}
