/* Whole analyses give the same bits with any number of threads and any memory cap, beside another
 * analysis, and after fork; and they stop when they are asked to, leaving nothing behind. Run under
 * ThreadSanitizer too. */
#include "files.h"
#include "made_data.h"

#include "core/core.h"
#include "run/result.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Some of everything, in three blocks: fewer than threads, and more. */
static const made_settings mixture = {.N = 2100,
                                      .D = 16,
                                      .C = 6,
                                      .separation = 1.2,
                                      .singletons = 2,
                                      .class_size = 3,
                                      .unlabelled = 100,
                                      .mislabelled = 200,
                                      .seed = 5};
/* Fewer rows than features: scored in double; more classes than a tile. */
static const made_settings few_rows = {.N = 50, .D = 90, .C = 4, .seed = 6};
static const made_settings many_classes = {.N = 2300, .D = 6, .C = 1100, .separation = 6, .seed = 7};

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* ---- one analysis and all its numbers ------------------------------------------------------- */

typedef struct analysis {
    made_data made;
    rer_dataset *data;
    rer_result *result;
    rer_options options;
    rer_error error;
} analysis;

static void start(analysis *run, const made_settings *settings)
{
    *run = (analysis){.made = made_data_make(settings), .options = rer_options_default()};
    run->data = made_data_wrap(&run->made);
    run->options.threads = 1;
}

static rer_status analyze(analysis *run, const char *errors)
{
    run->error = (rer_error){0};
    rer_result_free(run->result);
    run->result = NULL;
    rer_outputs outputs = {.size = sizeof outputs, .errors = errors};
    return rer_analyze(&run->result, run->data, &run->options, &outputs, NULL, &run->error);
}

static void finish(analysis *run)
{
    rer_result_free(run->result);
    rer_dataset_free(run->data);
    made_data_free(&run->made);
}

static bool same_moments(const rer_moments *a, const rer_moments *b)
{
    return a->n == b->n && bits_of(a->mean) == bits_of(b->mean) && bits_of(a->variance) == bits_of(b->variance) &&
           bits_of(a->skewness) == bits_of(b->skewness) && bits_of(a->kurtosis) == bits_of(b->kurtosis);
}

static bool same_summary(const rer_summary *a, const rer_summary *b)
{
    const double numbers[][2] = {
        {a->chi, b->chi},
        {a->chi0, b->chi0},
        {a->chi_rand, b->chi_rand},
        {a->noise_rate, b->noise_rate},
        {a->noise_low, b->noise_low},
        {a->noise_high, b->noise_high},
        {a->eta, b->eta},
        {a->difficulty, b->difficulty},
        {a->expected_wrong, b->expected_wrong},
        {(double)a->n_outliers, (double)b->n_outliers},
        {a->threshold, b->threshold},
        {a->error_rate, b->error_rate},
        {a->shrinkage, b->shrinkage},
        {a->temperature, b->temperature},
        {a->own_error, b->own_error},
        {a->best_error, b->best_error},
        {a->second_error, b->second_error},
        {a->transition_entropy, b->transition_entropy},
        {(double)a->n_issues, (double)b->n_issues},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (bits_of(numbers[i][0]) != bits_of(numbers[i][1]))
            return false;
    return same_moments(&a->chi_all, &b->chi_all) && same_moments(&a->chi_above_one, &b->chi_above_one) &&
           same_moments(&a->chi_below_one, &b->chi_below_one);
}

static bool same_classes(const rer_result *a, const rer_result *b)
{
    for (int32_t c = 0; c < a->C; c++) {
        const rer_class_summary *p = &a->classes[c], *q = &b->classes[c];
        if (p->n != q->n || p->n_issues != q->n_issues || p->most_confused_with != q->most_confused_with ||
            bits_of(p->chi) != bits_of(q->chi) || bits_of(p->noise_rate) != bits_of(q->noise_rate) ||
            bits_of(p->own_error) != bits_of(q->own_error))
            return false;
    }
    return a->n_pairs == b->n_pairs && memcmp(a->pairs, b->pairs, (size_t)a->n_pairs * sizeof *a->pairs) == 0;
}

static bool same_looks(const rer_result *a, const rer_result *b)
{
    const rer_looks *p = &a->looks, *q = &b->looks;
    size_t count = (size_t)p->count;
    if ((a->proposed == NULL) != (b->proposed == NULL) || p->count != q->count)
        return false;
    if (a->proposed != NULL && memcmp(a->proposed, b->proposed, (size_t)a->N * sizeof(int32_t)) != 0)
        return false;
    return count == 0 || (memcmp(p->row, q->row, count * sizeof *p->row) == 0 &&
                          memcmp(p->near, q->near, count * RER_NEAR_ROWS * sizeof *p->near) == 0 &&
                          memcmp(p->nearness, q->nearness, count * sizeof *p->nearness) == 0);
}

/* What differs, or NULL. */
static const char *difference(const rer_result *a, const rer_result *b)
{
    size_t floats = (size_t)a->N * sizeof(float);
    if (memcmp(a->own, b->own, floats) != 0)
        return "own errors";
    if (memcmp(a->other, b->other, floats) != 0)
        return "other errors";
    if (memcmp(a->logit, b->logit, floats) != 0)
        return "logits";
    if (memcmp(a->suggested, b->suggested, (size_t)a->N * sizeof(int32_t)) != 0)
        return "suggestions";
    if (memcmp(a->flags, b->flags, (size_t)a->N) != 0)
        return "flags";
    if (!same_looks(a, b))
        return "what the second look found";
    if (!same_summary(&a->summary, &b->summary))
        return "the summary";
    return same_classes(a, b) ? NULL : "classes";
}

static void assert_same_file(const char *a, const char *b)
{
    int64_t size_a, size_b;
    unsigned char *bytes_a = read_whole(a, &size_a), *bytes_b = read_whole(b, &size_b);
    assert_int_equal(size_a, size_b);
    assert_memory_equal(bytes_a, bytes_b, (size_t)size_a);
    free(bytes_a);
    free(bytes_b);
}

/* ---- threads and memory ---------------------------------------------------------------------- */

static void assert_same_as(const analysis *alone, analysis *run, const char *errors)
{
    if (analyze(run, errors) != RER_OK)
        fail_msg("%s", run->error.message);
    const char *what = difference(alone->result, run->result);
    if (what != NULL)
        fail_msg("%s differ with %d threads, --memory %lld", what, run->options.threads,
                 (long long)run->options.memory);
    if (errors == NULL)
        return;
    assert_same_file(file_path("alone.npy"), errors);
    assert_int_equal(rer_model_save(rer_result_model(run->result), file_path("run.model"), &run->error), RER_OK);
    assert_same_file(file_path("alone.model"), file_path("run.model"));
}

/* Nearly the smallest cap that is enough; below it the status is RER_BAD_USAGE. */
static int64_t smallest_memory(analysis *run)
{
    int64_t low = 1 << 14, high = 1 << 28;
    while (high > low + low / 8) {
        int64_t middle = (int64_t)sqrt((double)low * (double)high);
        run->options.memory = middle;
        rer_status status = analyze(run, NULL);
        if (status != RER_OK)
            assert_int_equal(status, RER_BAD_USAGE);
        if (status == RER_OK)
            high = middle;
        else
            low = middle;
    }
    return high;
}

static void check_threads(const made_settings *settings, const char *normalize, bool with_caps)
{
#ifdef __SANITIZE_THREAD__ /* which takes its time, and sees at 7 what there is at 2 */
    static const int32_t counts[] = {7};
#else
    static const int32_t counts[] = {2, 7};
#endif
    analysis alone, run;
    start(&alone, settings);
    start(&run, settings);
    assert_int_equal(rer_options_set(&alone.options, "normalize", normalize, NULL), RER_OK);
    if (analyze(&alone, file_path("alone.npy")) != RER_OK)
        fail_msg("%s", alone.error.message);
    assert_int_equal(rer_model_save(rer_result_model(alone.result), file_path("alone.model"), NULL), RER_OK);
    run.options = alone.options;
    run.options.threads = 7;
    int64_t least = with_caps ? smallest_memory(&run) : 0;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        run.options.threads = counts[i];
        run.options.memory = 0;
        assert_same_as(&alone, &run, file_path("run.npy"));
        run.options.memory = with_caps ? least * (i == 0 ? 3 : 1) : 0; /* some, and all of what a cap can change */
        if (with_caps)
            assert_same_as(&alone, &run, NULL);
    }
    finish(&alone);
    finish(&run);
}

static void test_same_bits(void **state)
{
    (void)state;
    check_threads(&mixture, "whiten", true);
    check_threads(&mixture, "minmax", false);
    check_threads(&mixture, "none", false);
    check_threads(&few_rows, "whiten", true);
    check_threads(&many_classes, "unit", false);
}

/* ---- beside another analysis, and after fork --------------------------------------------------- */

static void *analyze_often(void *argument)
{
    analysis *run = argument;
    for (int i = 0; i < 2; i++)
        if (analyze(run, NULL) != RER_OK)
            return NULL;
    return run;
}

static void test_two_at_once(void **state)
{
    (void)state;
    analysis alone[2], run[2];
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        start(&alone[i], i == 0 ? &mixture : &few_rows);
        start(&run[i], i == 0 ? &mixture : &few_rows);
        assert_int_equal(analyze(&alone[i], NULL), RER_OK);
        run[i].options.threads = 2;
    }
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, analyze_often, &run[i]), 0);
    for (int i = 0; i < 2; i++) {
        void *finished = NULL;
        assert_int_equal(pthread_join(threads[i], &finished), 0);
        if (finished == NULL)
            fail_msg("%s", run[i].error.message);
        assert_null(difference(alone[i].result, run[i].result));
        finish(&alone[i]);
        finish(&run[i]);
    }
}

static void test_after_fork(void **state)
{
    (void)state;
    analysis parent, child;
    int status = -1;
    start(&parent, &mixture);
    start(&child, &mixture);
    parent.options.threads = child.options.threads = 3;
    assert_int_equal(analyze(&parent, NULL), RER_OK);
    pid_t id = fork();
    assert_true(id >= 0);
    if (id == 0)
        _exit(analyze(&child, NULL) == RER_OK && difference(parent.result, child.result) == NULL ? 0 : 1);
    assert_int_equal(waitpid(id, &status, 0), id);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    finish(&parent);
    finish(&child);
}

/* ---- cancellation -------------------------------------------------------------------------------- */

typedef struct stopper {
    int calls, stop_at;
} stopper;

static bool stop_at_call(void *context, const char *stage, double fraction)
{
    (void)stage;
    (void)fraction;
    stopper *stop = context;
    return ++stop->calls == stop->stop_at;
}

/* Pictures, because their descriptor takes long enough for a few reports. */
static void test_cancelled(void **state)
{
    (void)state;
    enum { PICTURES = 6000, SIDE = 28 };
    unsigned char *pixels = malloc((size_t)PICTURES * SIDE * SIDE);
    int32_t *classes = malloc(PICTURES * sizeof *classes);
    uint64_t seed = 3;
    assert_true(pixels != NULL && classes != NULL);
    for (int64_t i = 0; i < (int64_t)PICTURES * SIDE * SIDE; i++)
        pixels[i] = (unsigned char)(256 * made_uniform(&seed));
    for (int i = 0; i < PICTURES; i++)
        classes[i] = i % 5;
    rer_view features = {.data = pixels, .dtype = RER_U8, .rank = 3, .shape = {PICTURES, SIDE, SIDE}};
    rer_view labels = {.data = classes, .dtype = RER_I32, .rank = 1, .shape = {PICTURES}};
    rer_options options = rer_options_default();
    rer_dataset *data = NULL;
    assert_int_equal(rer_dataset_wrap(&data, &features, &labels, &options, NULL), RER_OK);
    int cancelled = 0;
    for (int at = 1; at <= 3; at++) { /* sooner, later, and perhaps not at all on a fast machine */
        rer_error error = {0};
        stopper stop = {.stop_at = at};
        rer_progress progress = {.report = stop_at_call, .context = &stop};
        rer_result *result = NULL;
        options.threads = at == 1 ? 1 : 2;
        rer_outputs outputs = {.size = sizeof outputs, .errors = file_path("errors.npy")};
        rer_status status = rer_analyze(&result, data, &options, &outputs, &progress, &error);
        if (stop.calls < at) {
            assert_int_equal(status, RER_OK);
            assert_int_equal(unlink(file_path("errors.npy")), 0);
        } else {
            assert_int_equal(status, RER_CANCELLED);
            assert_int_equal(error.status, RER_CANCELLED);
            assert_null(result);
            assert_int_equal(rmdir(file_path("")), 0); /* no file, no temporary one */
            assert_int_equal(mkdir(file_path(""), 0700), 0);
            cancelled++;
        }
        rer_result_free(result);
    }
    assert_true(cancelled >= 1);
    rer_dataset_free(data);
    free(pixels);
    free(classes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {FILES_TEST(test_same_bits), FILES_TEST(test_two_at_once),
                                       FILES_TEST(test_after_fork), FILES_TEST(test_cancelled)};
    return cmocka_run_group_tests_name("core.threads", tests, NULL, NULL);
}
