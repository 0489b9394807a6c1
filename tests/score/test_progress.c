/* Progress goes by the time: at any moment after the first tenth, what is left is foreseen within a factor.
 * The time is the processor's, of one thread. What others do with caches and memory still counts: the best of three. */
#include "files.h"
#include "made_data.h"

#include "core/options.h"

#include <time.h>

enum { MOMENTS = 4096, TRIES = 3 };

#define FACTOR 2

typedef struct moments {
    double done[MOMENTS], seconds[MOMENTS];
    int count;
} moments;

static double processor_seconds(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

static bool note_moment(void *context, const char *stage, double done)
{
    moments *noted = context;
    (void)stage;
    if (noted->count < MOMENTS) {
        noted->done[noted->count] = done;
        noted->seconds[noted->count++] = processor_seconds();
    }
    return false;
}

/* Whether what was left was foreseen at each moment of one analysis. */
static bool is_foreseen(const made_settings *settings, const rer_options *options, rer_dataset *data)
{
    rer_result *result = NULL;
    rer_error error = {0};
    moments noted = {.count = 0};
    rer_progress progress = {.report = note_moment, .context = &noted};
    double start = processor_seconds();
    assert_int_equal(rer_analyze(&result, data, options, NULL, &progress, &error), RER_OK);
    double all = processor_seconds() - start;
    rer_result_free(result);
    int judged = 0;
    bool foreseen = true;
    for (int i = 0; i < noted.count; i++) {
        double spent = noted.seconds[i] - start, done = noted.done[i];
        assert_true(done >= 0 && done <= 1 && (i == 0 || done >= noted.done[i - 1]));
        if (done < .1 || spent < .1 * all || all - spent < .1 * all) /* too early to tell, and what no one waits for */
            continue;
        double left = spent * (1 - done) / done, really = all - spent;
        if (foreseen && (left < really / FACTOR - .05 || left > FACTOR * really + .05)) {
            print_message("%lld x %lld, %d classes: after %.2f s at %.0f %%: %.2f s left foreseen, %.2f s were\n",
                          (long long)settings->N, (long long)settings->D, settings->C, spent, 100 * done, left, really);
            foreseen = false;
        }
        judged++;
    }
    assert_true(judged >= 3);
    return foreseen;
}

static void check_shape(const made_settings *settings, const char *option, const char *value)
{
    made_data made = made_data_make(settings);
    rer_dataset *data = made_data_wrap(&made);
    rer_options options = rer_options_default();
    options.threads = 1;
    if (option != NULL)
        assert_int_equal(rer_options_set(&options, option, value, NULL), RER_OK);
    bool foreseen = false;
    for (int i = 0; i < TRIES && !foreseen; i++)
        foreseen = is_foreseen(settings, &options, data);
    assert_true(foreseen);
    rer_dataset_free(data);
    made_data_free(&made);
}

/* Many rows with few features, many classes, many features: where little and where much is looked at again. (More shapes
 * are played in test_pace.c; here the stages themselves say how far they are.) */
static void what_is_left_is_foreseen(void **state)
{
    (void)state;
    const made_settings shapes[] = {
        {.N = 200000, .D = 16, .C = 5, .separation = 1, .mislabelled = 9001, .seed = 4},
        {.N = 10000, .D = 512, .C = 200, .separation = .3, .mislabelled = 501, .seed = 3},
        {.N = 12000, .D = 512, .C = 10, .separation = .3, .mislabelled = 1001, .seed = 5},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        check_shape(&shapes[i], NULL, NULL);
}

/* Other models and detectors, with their own stages. */
static void of_others_too(void **state)
{
    (void)state;
    const struct {
        const char *option, *value;
        made_settings shape;
    } others[] = {
        {"reconstructor", "subspace", {.N = 8000, .D = 384, .C = 10, .separation = .3, .mislabelled = 501, .seed = 6}},
        {"detector", "confident", {.N = 20000, .D = 128, .C = 20, .separation = .3, .mislabelled = 1001, .seed = 7}},
        {"detector", "simifeat", {.N = 15000, .D = 64, .C = 40, .separation = .5, .mislabelled = 1001, .seed = 8}},
        {"detector", "knn", {.N = 25000, .D = 64, .C = 10, .separation = .5, .mislabelled = 1001, .seed = 9}},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        check_shape(&others[i].shape, others[i].option, others[i].value);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_left_is_foreseen), cmocka_unit_test(of_others_too)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
