/* Whole analyses with --device cuda beside the same on the CPU: numbers, order and flags agree, the bits are the same
 * each time, and the rows may stay on the card or stream through it. The plug-in is that of RER_CUDA_PLUGIN. */
#include "made_data.h"

#include "judge/judge.h"
#include "run/result.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* How far from its threshold a row may be whose flag differs. On the CPU itself labels' probabilities move as much where
 * each feature does by 1e-7 (20 Newsgroups .012, CIFAR-10N .19): the channel's fit ends where little is to be gained. */
#define FLAG_MOST .02

/* All analyses are looked at: a card is rarely at hand. */
static int wrong;
#define tell(...) (wrong++, (void)(wrong <= 30 && printf("WRONG: " __VA_ARGS__) && putchar('\n')))

typedef struct analysis {
    const char *name;
    made_settings settings;
    const char *options[6]; /* name, value, ... */
    double outliers;        /* every 500th row is so many times as long */
    bool invalid;           /* some rows are not finite */
    int64_t copies;         /* every so-manieth row is one of the row before it, ... 0: none */
    float apart;            /* ... but for so much of it at most */
    bool on_card;           /* only there: plain loops show nothing more, and take long */
    bool trained;           /* networks, whose training follows the last digits: all else by some more */
    bool chosen;            /* the shrinkage is chosen, and moves with the last digits: all else by some more */
} analysis;

/* Plain loops have the same bits anyway, and need no memory of their own. */
static bool is_card(void)
{
    return getenv("RER_TEST_CARD") != NULL;
}

static rer_result *analyze(const rer_dataset *data, const analysis *one, const char *device, const char *memory)
{
    rer_options options = rer_options_default();
    rer_error error = {0};
    rer_result *result = NULL;
    assert_int_equal(rer_options_set(&options, "shrinkage", one->chosen ? "auto" : "0.2", NULL), RER_OK);
    for (int i = 0; i < 6 && one->options[i] != NULL; i += 2)
        assert_int_equal(rer_options_set(&options, one->options[i], one->options[i + 1], NULL), RER_OK);
    assert_int_equal(rer_options_set(&options, "device", device, NULL), RER_OK);
    assert_int_equal(rer_options_set(&options, "device-memory", memory, NULL), RER_OK);
    if (rer_analyze(&result, data, &options, NULL, NULL, &error) != RER_OK)
        fail_msg("%s, %s: %s", one->name, device, error.message);
    return result;
}

static void assert_near(double got, double want, double most, const analysis *one, const char *what)
{
    if (!(fabs(got - want) <= most * fmax(1e-3, fabs(want))) && !(isnan(got) && isnan(want)))
        tell("%s, %s: %.9g instead of %.9g", one->name, what, got, want);
}

/* Share of (wrong, right) pairs, a seventh of them, that the odds have in order; of copies, whose odds hardly differ, roundoff
 * decides the order: a pair counts by how far apart it is, in full from .01 on. */
static double auroc(const rer_result *result, const made_data *made)
{
    double pairs = 0, right = 0;
    for (int64_t i = 0; i < made->N; i++)
        for (int64_t j = i % 7; made->code[i] >= 0 && made->code[i] != made->truth[i] && j < made->N; j += 7)
            if (made->code[j] >= 0 && made->code[j] == made->truth[j] && !isnan(result->logit[i]) &&
                !isnan(result->logit[j])) {
                pairs++;
                right += fmin(1, fmax(0, .5 + ((double)result->logit[i] - (double)result->logit[j]) / .02));
            }
    return pairs > 0 ? right / pairs : 1;
}

/* How far a row is from being flagged, or not. */
static double from_threshold(const rer_result *result, int64_t row)
{
    double value = 1 / (1 + exp(-(double)result->logit[row]));
    if (result->summary.threshold_on_chi)
        value = (double)result->own[row] / (double)result->other[row];
    return fabs(value - result->summary.threshold);
}

static void compare_rows(const rer_result *got, const rer_result *want, const analysis *one)
{
    int64_t flags = 0, suggestions = 0;
    double farthest = 0; /* from its threshold, of a row whose flag differs */
    double most = one->trained && is_card() ? .02 : one->chosen ? 1e-3 : 2e-5;
    for (int64_t i = 0; i < want->N; i++) {
        assert_near((double)got->own[i], (double)want->own[i], most, one, "an own error");
        assert_near((double)got->other[i], (double)want->other[i], most, one, "a best other error");
        if (got->flags[i] != want->flags[i]) {
            flags++;
            farthest = fmax(farthest, from_threshold(want, i));
        }
        suggestions += got->suggested[i] != want->suggested[i];
    }
    printf("  %-26s %lld flags differ, at most %.1e from the threshold; %lld suggestions\n", one->name,
           (long long)flags, farthest, (long long)suggestions);
    if (farthest > FLAG_MOST || suggestions > want->N / 10000 + 1)
        tell("%s: %lld flags and %lld suggestions differ", one->name, (long long)flags, (long long)suggestions);
}

static void compare_copies(const rer_result *got, const rer_result *want, const analysis *one)
{
    const rer_summary *a = &got->summary, *b = &want->summary;
    int64_t differ = 0;
    for (int64_t i = 0; i < want->N; i++)
        differ += got->duplicate[i] != want->duplicate[i];
    printf("  %-26s an angle of %.6f, %lld rows in %lld groups; %lld otherwise\n", one->name, b->duplicate_angle,
           (long long)b->n_duplicates, (long long)b->n_duplicate_groups, (long long)differ);
    assert_near(a->duplicate_angle, b->duplicate_angle, 1e-4, one, "the angle of copies");
    if (differ > 0 || b->n_duplicates < want->N / one->copies / 2)
        tell("%s: %lld rows are in other groups of copies", one->name, (long long)differ);
}

static void compare(const rer_result *got, const rer_result *want, const made_data *made, const analysis *one)
{
    const rer_summary *a = &got->summary, *b = &want->summary;
    double most = one->trained && is_card() ? 2e-3 : one->chosen ? 2e-4 : 1e-5;
    printf("  %-26s chi %.1e, shrinkage %.1e, AUROC %.1e, noise rate %.1e\n", one->name, a->chi / b->chi - 1,
           a->shrinkage / b->shrinkage - 1, auroc(got, made) - auroc(want, made), a->noise_rate - b->noise_rate);
    assert_near(a->chi, b->chi, most, one, "chi");
    assert_near(a->chi0, b->chi0, most, one, "chi0");
    assert_near(a->chi_rand, b->chi_rand, most, one, "chi_rand");
    assert_near(a->shrinkage, b->shrinkage, 5e-3, one, "the shrinkage");
    if (!(fabs(a->noise_rate - b->noise_rate) < FLAG_MOST))
        tell("%s: a noise rate of %g instead of %g", one->name, a->noise_rate, b->noise_rate);
    assert_near(auroc(got, made), auroc(want, made), 2e-4, one, "AUROC");
    compare_rows(got, want, one);
    if (one->copies > 0)
        compare_copies(got, want, one);
}

static void assert_same_errors(const rer_result *a, const rer_result *b, const analysis *one)
{
    size_t bytes = (size_t)a->N * sizeof(float);
    if (memcmp(a->own, b->own, bytes) != 0 || memcmp(a->other, b->other, bytes) != 0)
        tell("%s: errors of other bits the second time", one->name);
}

static void assert_same_bits(const rer_result *a, const rer_result *b, const analysis *one)
{
    assert_same_errors(a, b, one);
    if (memcmp(a->logit, b->logit, (size_t)a->N * sizeof(float)) != 0)
        tell("%s: other bits the second time", one->name);
}

static void spoil(made_data *made, const analysis *one)
{
    for (int64_t i = 250; one->outliers > 0 && i < made->N; i += 500)
        for (int64_t j = 0; j < made->D; j++)
            made->x[i * made->D + j] *= (float)one->outliers;
    for (int64_t i = one->copies; one->copies > 0 && i < made->N; i += one->copies)
        for (int64_t j = 0; j < made->D; j++) /* some are within the angle, some without */
            made->x[i * made->D + j] = made->x[(i - 1) * made->D + j] *
                                       (1 + one->apart * (float)i / (float)made->N * (float)((i + j) % 5 - 2));
    for (int64_t i = 100; one->invalid && i < made->N; i += 1000)
        made->x[i * made->D + i % made->D] = i % 3 == 0 ? NAN : INFINITY;
}

static const analysis analyses[] = {
    {.name = "few classes",
     .settings = {.N = 3000, .D = 7, .C = 4, .separation = 2, .singletons = 1, .unlabelled = 60, .mislabelled = 150}},
    {.name = "two classes",
     .on_card = true,
     .settings = {.N = 3000, .D = 12, .C = 2, .separation = 2, .mislabelled = 120}},
    {.name = "one column", .settings = {.N = 1200, .D = 1, .C = 3, .separation = 4, .mislabelled = 60}},
    {.name = "several stretches",
     .on_card = true,
     .settings = {.N = 67000, .D = 4, .C = 5, .separation = 3, .mislabelled = 2500}},
    {.name = "wide",
     .on_card = true,
     .settings = {.N = 4000, .D = 130, .C = 10, .separation = .5, .condition = 100, .mislabelled = 200},
     .chosen = true},
    {.name = "many classes",
     .on_card = true,
     .settings = {.N = 5000, .D = 33, .C = 151, .separation = 3, .mislabelled = 400}},
    {.name = "more classes than a tile",
     .settings = {.N = 2400, .D = 8, .C = 1103, .separation = 5, .mislabelled = 77}},
    {.name = "more than have distances",
     .on_card = true,
     .settings = {.N = 10000, .D = 8, .C = 2203, .separation = 6, .mislabelled = 300}},
    {.name = "far apart",
     .on_card = true,
     .settings = {.N = 4000, .D = 8, .C = 5, .separation = 300, .mislabelled = 200}},
    {.name = "an offset",
     .on_card = true,
     .settings = {.N = 4000, .D = 16, .C = 5, .separation = 2, .offset = 100, .mislabelled = 200},
     .options = {"normalize", "none"}},
    {.name = "outliers",
     .settings = {.N = 3000, .D = 24, .C = 6, .separation = 2, .mislabelled = 100},
     .options = {"normalize", "none"},
     .outliers = 30},
    {.name = "whitened, invalid rows",
     .settings = {.N = 3000, .D = 24, .C = 6, .separation = 2, .mislabelled = 100, .unlabelled = 100},
     .options = {"normalize", "whiten", "drop-invalid", "yes"},
     .invalid = true},
    {.name = "unit",
     .settings = {.N = 3000, .D = 20, .C = 7, .separation = 1, .mislabelled = 120},
     .options = {"normalize", "unit"}},
    {.name = "constant",
     .on_card = true,
     .settings = {.N = 5000, .D = 20, .C = 7, .separation = 1, .mislabelled = 200, .constant_feature = true}},
    {.name = "nearest neighbours",
     .settings = {.N = 1500, .D = 20, .C = 7, .separation = 1, .mislabelled = 80, .unlabelled = 50},
     .options = {"detector", "knn", "drop-invalid", "yes"},
     .invalid = true},
    {.name = "confident learning",
     .settings = {.N = 1500, .D = 20, .C = 7, .separation = 1, .mislabelled = 80, .unlabelled = 50},
     .options = {"detector", "confident", "drop-invalid", "yes"},
     .invalid = true},
    {.name = "confident, unit length",
     .on_card = true,
     .settings = {.N = 9000, .D = 40, .C = 30, .separation = 1, .mislabelled = 400},
     .options = {"detector", "confident", "classifier-rows", "unit", "classifier-c", "10"}},
    {.name = "copies",
     .settings = {.N = 2500, .D = 12, .C = 5, .separation = 1, .mislabelled = 100, .unlabelled = 50},
     .options = {"duplicates", "auto", "drop-invalid", "yes"},
     .invalid = true,
     .copies = 7,
     .apart = .1F},
    {.name = "copies, by an angle",
     .settings = {.N = 4000, .D = 30, .C = 5, .separation = 1, .mislabelled = 150, .offset = 30},
     .options = {"duplicates", "0.03", "normalize", "none"},
     .copies = 3,
     .apart = 1e-3F},
    {.name = "SimiFeat",
     .on_card = true,
     .settings = {.N = 9000, .D = 33, .C = 5, .separation = 1, .mislabelled = 300},
     .options = {"detector", "simifeat"}},
    {.name = "autoencoder, in-sample",
     .settings = {.N = 400, .D = 6, .C = 4, .separation = 2, .unlabelled = 20, .mislabelled = 20},
     .options = {"reconstructor", "autoencoder", "folds", "1", "epochs", "1"},
     .trained = true},
    {.name = "autoencoder, cross-fitted",
     .settings = {.N = 300, .D = 5, .C = 3, .separation = 3, .singletons = 1, .mislabelled = 15},
     .options = {"reconstructor", "autoencoder", "folds", "3", "epochs", "1"},
     .trained = true},
    {.name = "the paper's probability",
     .settings = {.N = 3000, .D = 20, .C = 7, .separation = 1, .mislabelled = 100},
     .options = {"probability", "density"}},
};

static void test_agreement(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof analyses / sizeof *analyses; i++) {
        const analysis *one = &analyses[i];
        if (one->on_card && !is_card())
            continue;
        made_settings settings = one->settings;
        settings.seed = i + 1;
        made_data made = made_data_make(&settings);
        spoil(&made, one);
        rer_dataset *data = made_data_wrap(&made);
        rer_result *want = analyze(data, one, "cpu", "0"), *got = analyze(data, one, "cuda", "0");
        compare(got, want, &made, one);
        for (int turn = 0; is_card() && turn < 2; turn++) {
            rer_result *again = analyze(data, one, "cuda:0", "0");
            assert_same_bits(got, again, one);
            rer_result_free(again);
        }
        rer_result_free(want);
        rer_result_free(got);
        rer_dataset_free(data);
        made_data_free(&made);
    }
    assert_int_equal(wrong, 0);
}

/* The least that a card needs, which it names where it gets less. */
static void find_least(char memory[32], const rer_dataset *data)
{
    rer_options options = rer_options_default();
    rer_error error = {0};
    rer_result *result = NULL;
    long long least = 1;
    assert_int_equal(rer_options_set(&options, "device", "cuda", NULL), RER_OK);
    assert_int_equal(rer_options_set(&options, "device-memory", "1", NULL), RER_OK);
    if (is_card()) {
        assert_int_equal(rer_analyze(&result, data, &options, NULL, NULL, &error), RER_SYSTEM);
        assert_int_equal(sscanf(error.message, "--device cuda: %lld bytes are the least", &least), 1);
    }
    (void)snprintf(memory, 32, "%lld", least);
}

/* Rows that do not fit stream through the card in every pass, in the least of stretches, to the same bits; near rows are
 * the CPU's then. */
static void test_streaming(void **state)
{
    (void)state;
    static const analysis one = {
        .name = "streaming",
        .settings = {.N = 140000, .D = 4, .C = 4, .separation = 3, .mislabelled = 4500, .seed = 5},
        .options = {"normalize", "none"},
    };
    char memory[32];
    made_data made = made_data_make(&one.settings);
    rer_dataset *data = made_data_wrap(&made);
    find_least(memory, data);
    rer_result *kept = analyze(data, &one, "cuda", "0");
    assert_int_equal(setenv("RER_PLAIN_DEVICE", "small", 1), 0);
    rer_result *streamed = analyze(data, &one, "cuda", memory);
    assert_int_equal(unsetenv("RER_PLAIN_DEVICE"), 0);
    if (is_card()) /* plain loops leave other rows of smaller stretches to the CPU */
        assert_same_errors(kept, streamed, &one);
    compare(streamed, kept, &made, &one);
    assert_int_equal(wrong, 0);
    rer_result_free(kept);
    rer_result_free(streamed);
    rer_dataset_free(data);
    made_data_free(&made);
}

/* A process that was forked by one that has used a card cannot: it is told so. */
static void test_fork(void **state)
{
    (void)state;
    int status = 0;
    made_settings settings = {.N = 900, .D = 5, .C = 3, .separation = 2, .seed = 1};
    if (!is_card())
        return;
    made_data made = made_data_make(&settings);
    rer_dataset *data = made_data_wrap(&made);
    pid_t child = fork();
    if (child == 0) {
        rer_options options = rer_options_default();
        rer_error error = {0};
        rer_result *result = NULL;
        (void)rer_options_set(&options, "device", "cuda", NULL);
        bool told = rer_analyze(&result, data, &options, NULL, NULL, &error) == RER_SYSTEM &&
                    strstr(error.message, "before it forked this one") != NULL;
        _exit(told ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    rer_dataset_free(data);
    made_data_free(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_agreement), cmocka_unit_test(test_streaming),
                                       cmocka_unit_test(test_fork)};
    return cmocka_run_group_tests_name("device.analyses", tests, NULL, NULL);
}
