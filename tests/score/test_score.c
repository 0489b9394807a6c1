/* The scoring pass against the whole matrix of errors that it writes: what it keeps of each row and its
 * sums, worked out again from all C x N. More classes than a tile, more rows than a block. */
#include "files.h"
#include "made_data.h"

#include "run/result.h"

#include <math.h>
#include <string.h>

typedef struct scored {
    made_data made;
    rer_dataset *data;
    rer_result *result;
    float *errors; /* [N, C] */
    unsigned char *file;
} scored;

static void start(scored *one, const made_settings *settings, const char *normalize)
{
    rer_options options = rer_options_default();
    rer_error error = {0};
    int64_t size = 0;
    *one = (scored){.made = made_data_make(settings)};
    one->data = made_data_wrap(&one->made);
    assert_int_equal(rer_options_set(&options, "normalize", normalize, NULL), RER_OK);
    rer_outputs outputs = {.size = sizeof outputs, .errors = file_path("E.npy")};
    if (rer_analyze(&one->result, one->data, &options, &outputs, NULL, &error) != RER_OK)
        fail_msg("%s", error.message);
    one->file = read_whole(file_path("E.npy"), &size);
    int64_t bytes = one->made.N * one->made.C * (int64_t)sizeof(float);
    assert_true(size > bytes);
    one->errors = malloc((size_t)bytes);
    assert_non_null(one->errors);
    memcpy(one->errors, one->file + size - bytes, (size_t)bytes); /* in Fortran order a row lies together */
}

static void finish(scored *one)
{
    rer_result_free(one->result);
    rer_dataset_free(one->data);
    made_data_free(&one->made);
    free(one->errors);
    free(one->file);
}

static void assert_near(double got, double want, const char *what)
{
    if (!(isnan(got) && isnan(want)) && !(fabs(got - want) <= 1e-5 * fabs(want)))
        fail_msg("%s: %.9g instead of %.9g", what, got, want);
}

typedef struct plain_sums {
    double n, own, best, second, chi, chi0, chi_rand, wrong;
} plain_sums;

static void check_row(plain_sums *sums, const scored *one, int64_t row)
{
    const float *e = one->errors + row * one->made.C;
    int32_t C = one->made.C, given = one->made.code[row], other = -1;
    double own = given >= 0 ? (double)e[given] : NAN, best = INFINITY, second = INFINITY, sum = 0;
    for (int32_t k = 0; k < C; k++) {
        if (isnan(e[k]))
            continue;
        if (k != given && (other < 0 || e[k] < e[other]))
            other = k;
        sum += (double)e[k];
        second = fmin(second, fmax(best, (double)e[k]));
        best = fmin(best, (double)e[k]);
    }
    assert_near((double)one->result->own[row], own, "own error");
    assert_near((double)one->result->other[row], (double)e[other], "best other error");
    assert_int_equal(one->result->suggested[row], other);
    if (isnan(own))
        return;
    double rest = (sum - best) / (C - 1);
    sums->n++;
    sums->own += own;
    sums->best += best;
    sums->second += second;
    sums->chi += rer_chi(own, (double)e[other]);
    sums->chi0 += rer_chi(own, rest);
    sums->chi_rand += rer_chi(best, rest);
    sums->wrong += own > (double)e[other];
}

static void check(const made_settings *settings, const char *normalize)
{
    scored one;
    plain_sums sums = {0};
    start(&one, settings, normalize);
    for (int64_t row = 0; row < one.made.N; row++)
        check_row(&sums, &one, row);
    const rer_summary *summary = rer_result_summary(one.result);
    assert_true(sums.n > 0 && sums.n <= (double)one.made.N);
    assert_near(summary->own_error, sums.own / sums.n, "mean own error");
    assert_near(summary->best_error, sums.best / sums.n, "mean best error");
    assert_near(summary->second_error, sums.second / sums.n, "mean second error");
    assert_near(summary->chi, sums.chi / sums.n, "chi");
    assert_near(summary->chi0, sums.chi0 / sums.n, "chi0");
    assert_near(summary->chi_rand, sums.chi_rand / sums.n, "chi_rand");
    assert_near(summary->error_rate, sums.wrong / sums.n, "error rate");
    finish(&one);
}

static void test_against_all_errors(void **state)
{
    (void)state;
    made_settings few = {.N = 2300,
                         .D = 12,
                         .C = 5,
                         .separation = 1.5,
                         .singletons = 1,
                         .unlabelled = 60,
                         .mislabelled = 100,
                         .seed = 1};
    made_settings two = {.N = 300, .D = 4, .C = 2, .mislabelled = 20, .seed = 2};
    made_settings many = {.N = 2600, .D = 6, .C = 1200, .separation = 5, .unlabelled = 10, .seed = 3};
    check(&few, "whiten");
    check(&few, "minmax");
    check(&two, "none");
    check(&many, "unit");
}

int main(void)
{
    const struct CMUnitTest tests[] = {FILES_TEST(test_against_all_errors)};
    return cmocka_run_group_tests_name("score.score", tests, NULL, NULL);
}
