/* Every allocation of a whole analysis fails once: wrapping data, analyzing, writing, saving, loading
 * and scoring end with RER_SYSTEM and a message; nothing is leaked, no output is changed, and no
 * half-written file stays. The linker leads all calls here (--wrap);
 * Jansson takes its memory from functions of ours. */
#include "files.h"
#include "made_data.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void __real_free(void *memory);
int __real_posix_memalign(void **memory, size_t alignment, size_t size);
char *__real_strdup(const char *text);
void *__real_mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset);
int __real_munmap(void *address, size_t length);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void __wrap_free(void *memory);
int __wrap_posix_memalign(void **memory, size_t alignment, size_t size);
char *__wrap_strdup(const char *text);
void *__wrap_mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset);
int __wrap_munmap(void *address, size_t length);
int __wrap_fsync(int fd);

/* ---- allocations, counted -------------------------------------------------------------------- */

#define LIVE_MOST 4096

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void *live[LIVE_MOST]; /* allocations since counting began that are not freed yet */
static int live_count;
static bool counting, has_failed, inside_json;
static bool spares_json; /* Jansson's reader crashes without memory for the last letter of a token: it gets some */
static int64_t before_failure = -1; /* allocations that still work; negative: all */

static bool fails_now(void)
{
    bool fails = false;
    (void)pthread_mutex_lock(&mutex);
    if (counting && before_failure >= 0 && !(inside_json && spares_json)) {
        fails = before_failure == 0;
        before_failure--;
        has_failed = has_failed || fails;
    }
    (void)pthread_mutex_unlock(&mutex);
    return fails;
}

static void *born(void *memory)
{
    (void)pthread_mutex_lock(&mutex);
    if (counting && memory != NULL) {
        if (live_count == LIVE_MOST)
            abort();
        live[live_count++] = memory;
    }
    (void)pthread_mutex_unlock(&mutex);
    return memory;
}

static void dead(const void *memory)
{
    (void)pthread_mutex_lock(&mutex);
    for (int i = live_count - 1; i >= 0; i--)
        if (live[i] == memory) {
            live[i] = live[--live_count];
            break;
        }
    (void)pthread_mutex_unlock(&mutex);
}

void *__wrap_malloc(size_t size)
{
    return fails_now() ? NULL : born(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails_now() ? NULL : born(__real_calloc(count, size));
}

void *__wrap_realloc(void *memory, size_t size)
{
    if (fails_now())
        return NULL;
    dead(memory);
    return born(__real_realloc(memory, size));
}

void __wrap_free(void *memory)
{
    dead(memory);
    __real_free(memory);
}

int __wrap_posix_memalign(void **memory, size_t alignment, size_t size)
{
    if (fails_now())
        return ENOMEM;
    int status = __real_posix_memalign(memory, alignment, size);
    if (status == 0)
        (void)born(*memory);
    return status;
}

char *__wrap_strdup(const char *text)
{
    return fails_now() ? NULL : born(__real_strdup(text));
}

void *__wrap_mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
    if (fails_now()) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    void *memory = __real_mmap(address, length, protection, flags, fd, offset);
    return memory != MAP_FAILED ? born(memory) : memory;
}

int __wrap_munmap(void *address, size_t length)
{
    dead(address);
    return __real_munmap(address, length);
}

/* Thousands of writes need not reach the disk. */
int __wrap_fsync(int fd)
{
    (void)fd;
    return 0;
}

static void *json_malloc(size_t size)
{
    inside_json = true;
    void *memory = __wrap_malloc(size);
    inside_json = false;
    return memory;
}

static void json_free(void *memory)
{
    __wrap_free(memory);
}

/* ---- steps -------------------------------------------------------------------------------------- */

typedef struct whole_job {
    made_data made;
    rer_dataset *data;
    rer_options options;
    rer_result *result, *scored;
    rer_model *model;
} whole_job;

typedef rer_status job_step(whole_job *job, rer_error *error);

static rer_status wrap(whole_job *job, rer_error *error)
{
    rer_view features = {.data = job->made.x, .dtype = RER_F32, .rank = 2, .shape = {job->made.N, job->made.D}};
    rer_view labels = {.data = job->made.code, .dtype = RER_I32, .rank = 1, .shape = {job->made.N}};
    return rer_dataset_wrap(&job->data, &features, &labels, &job->options, error);
}

static rer_status analyze(whole_job *job, rer_error *error)
{
    rer_outputs outputs = {.size = sizeof outputs, .errors = file_path("errors.npy")};
    return rer_analyze(&job->result, job->data, &job->options, &outputs, NULL, error);
}

static rer_status write_result(whole_job *job, rer_error *error)
{
    return rer_result_write(job->result, job->data, file_path("out"), error);
}

static rer_status save_model(whole_job *job, rer_error *error)
{
    return rer_model_save(rer_result_model(job->result), file_path("model"), error);
}

static rer_status load_model(whole_job *job, rer_error *error)
{
    spares_json = true;
    rer_status status = rer_model_load(&job->model, file_path("model"), error);
    spares_json = false;
    return status;
}

static rer_status score(whole_job *job, rer_error *error)
{
    rer_outputs outputs = {.size = sizeof outputs, .errors = file_path("scored.npy")};
    return rer_score(&job->scored, job->model, job->data, &job->options, &outputs, NULL, error);
}

/* The steps from here on leave nothing behind: what they write goes to a folder of its own, and again. */
static void remove_more(void)
{
    char path[600];
    DIR *stream = opendir(file_path("more"));
    for (struct dirent *entry; stream != NULL && (entry = readdir(stream)) != NULL;) {
        (void)snprintf(path, sizeof path, "%s/%s", file_path("more"), entry->d_name);
        (void)unlink(path);
    }
    if (stream != NULL)
        (void)closedir(stream);
    (void)rmdir(file_path("more"));
}

static rer_status scale(whole_job *job, rer_error *error)
{
    rer_options *options = NULL;
    rer_scaling *scaling = NULL;
    rer_status status = rer_options_copy(&options, &job->options, error);
    if (status == RER_OK)
        status = rer_options_set(options, "sizes", "3,6", error);
    if (status == RER_OK)
        status = rer_options_set_integer(options, "repeats", 2, error);
    if (status == RER_OK)
        status = rer_scale(&scaling, job->data, options, NULL, error);
    if (status == RER_OK)
        status = rer_scaling_write(scaling, file_path("more"), error);
    rer_scaling_free(scaling);
    rer_options_free(options);
    if (status == RER_OK)
        remove_more();
    return status;
}

static rer_status detail(whole_job *job, rer_error *error)
{
    rer_options options = job->options;
    whole_job own = *job; /* a data set of its own, which gets subsets */
    rer_result *result = NULL;
    rer_view subsets = {.data = job->made.truth, .dtype = RER_I32, .rank = 1, .shape = {job->made.N}};
    options.details = true;
    own.data = NULL;
    rer_status status = wrap(&own, error);
    if (status == RER_OK)
        status = rer_dataset_set_subsets(own.data, &subsets, error);
    if (status == RER_OK)
        status = rer_analyze(&result, own.data, &options, NULL, NULL, error);
    if (status == RER_OK)
        status = rer_result_write(result, own.data, file_path("more"), error);
    rer_result_free(result);
    rer_dataset_free(own.data);
    if (status == RER_OK)
        remove_more();
    return status;
}

static rer_status cluster(whole_job *job, rer_error *error)
{
    rer_options options = job->options;
    rer_dataset *data = NULL;
    rer_view features = {.data = job->made.x, .dtype = RER_F32, .rank = 2, .shape = {job->made.N, job->made.D}};
    rer_status status = rer_options_set(&options, "clusters", "2..4", error);
    if (status == RER_OK)
        status = rer_dataset_wrap(&data, &features, NULL, &options, error);
    if (status == RER_OK)
        status = rer_dataset_cluster(data, NULL, &options, NULL, error);
    rer_dataset_free(data);
    return status;
}

/* The written result three times over. */
static rer_status compare(whole_job *job, rer_error *error)
{
    char out[600];
    (void)snprintf(out, sizeof out, "%s", file_path("out"));
    const char *folders[] = {out, out, out};
    rer_comparison *comparison = NULL;
    spares_json = true;
    rer_status status = rer_compare(&comparison, folders, 3, NULL, NULL, &job->options, error);
    spares_json = false;
    if (status == RER_OK)
        status = rer_comparison_write(comparison, file_path("more"), error);
    rer_comparison_free(comparison);
    if (status == RER_OK)
        remove_more();
    return status;
}

static const struct {
    const char *name;
    job_step *run;
} steps[] = {{"wrap", wrap},       {"analyze", analyze}, {"write", write_result}, {"save", save_model},
             {"load", load_model}, {"score", score},     {"scale", scale},        {"cluster", cluster},
             {"compare", compare}, {"detail", detail}};
#define STEPS ((int)(sizeof steps / sizeof *steps))

/* Names in a folder and its `out`, temporary ones too. */
static int count_files(const char *folder)
{
    int count = 0;
    DIR *stream = opendir(folder);
    for (struct dirent *entry; stream != NULL && (entry = readdir(stream)) != NULL;)
        count +=
            strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && strcmp(entry->d_name, "out") != 0;
    if (stream != NULL)
        (void)closedir(stream);
    return count;
}

static int count_all_files(void)
{
    return count_files(file_path("")) + count_files(file_path("out"));
}

static void check_failure(int step, int64_t failing, rer_status status, const rer_error *error, int live_before,
                          int files_before)
{
    if (status != RER_SYSTEM || error->status != status || error->message[0] == 0)
        fail_msg("%s: without allocation %d the status is %d: %s", steps[step].name, (int)failing, (int)status,
                 error->message);
    if (live_count != live_before)
        fail_msg("%s: without allocation %d, %d are leaked (%s)", steps[step].name, (int)failing,
                 live_count - live_before, error->message);
    if (count_all_files() != files_before)
        fail_msg("%s: without allocation %d a file is left (%s)", steps[step].name, (int)failing, error->message);
}

/* Runs a step with the first, second, third... allocation failing until none does. */
static void fail_each(whole_job *job, int step)
{
    int files_before = count_all_files();
    int64_t failures = 0;
    for (int64_t failing = 0;; failing++) {
        rer_error error = {0};
        int live_before = live_count;
        whole_job before = *job;
        has_failed = false;
        before_failure = failing;
        counting = true;
        rer_status status = steps[step].run(job, &error);
        before_failure = -1;
        if (!has_failed) {
            if (status != RER_OK)
                fail_msg("%s: %s", steps[step].name, error.message);
            assert_true(failures > 3);
            return;
        }
        if (status == RER_OK)
            fail_msg("%s: allocation %d fails and nothing is said", steps[step].name, (int)failing);
        counting = false;
        check_failure(step, failing, status, &error, live_before, files_before);
        assert_memory_equal(job, &before, sizeof before); /* outputs are unchanged */
        failures++;
    }
}

/* The steps after `last` take longer and are run once. */
static void run_job(const made_settings *settings, const char *normalize, const char *format, int32_t threads,
                    job_step *last)
{
    whole_job job = {.made = made_data_make(settings), .options = rer_options_default()};
    assert_int_equal(rer_options_set(&job.options, "normalize", normalize, NULL), RER_OK);
    assert_int_equal(rer_options_set(&job.options, "format", format, NULL), RER_OK);
    job.options.threads = threads;
    live_count = 0;
    for (int step = 0; step == 0 || (step < STEPS && steps[step - 1].run != last); step++)
        fail_each(&job, step);
    assert_int_equal(count_all_files(), 2 + 1 + 5); /* errors of two, the model, the five of a result */
    rer_result_free(job.result);
    rer_result_free(job.scored);
    rer_model_free(job.model);
    rer_dataset_free(job.data);
    counting = false;
    if (live_count != 0)
        fail_msg("%d allocations are leaked by a job that went well", live_count);
    made_data_free(&job.made);
    const char *const outputs[] = {strcmp(format, "npz") == 0 ? "samples.npz" : "samples.csv", "classes.csv",
                                   "summary.json", "report.html", "manifest.json"};
    for (int i = 0; i < 5; i++) {
        char path[600];
        (void)snprintf(path, sizeof path, "%s/%s", file_path("out"), outputs[i]);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(rmdir(file_path("out")), 0);
    (void)unlink(file_path("errors.npy"));
    (void)unlink(file_path("scored.npy"));
    (void)unlink(file_path("model"));
}

static const made_settings few = {.N = 60, .D = 5, .C = 4, .singletons = 1, .unlabelled = 5, .seed = 2};
static const made_settings wide = {.N = 20, .D = 30, .C = 3, .seed = 3}; /* scored in double */

static void test_one_thread(void **state)
{
    (void)state;
    run_job(&few, "whiten", "csv", 1, score);
    run_job(&few, "minmax", "npz", 1, score);
    run_job(&wide, "whiten", "csv", 1, score);
}

static void test_three_threads(void **state)
{
    (void)state;
    run_job(&few, "whiten", "csv", 3, detail);
}

int main(void)
{
    json_set_alloc_funcs(json_malloc, json_free);
    const struct CMUnitTest tests[] = {FILES_TEST(test_one_thread), FILES_TEST(test_three_threads)};
    return cmocka_run_group_tests_name("core.out_of_memory", tests, NULL, NULL);
}
