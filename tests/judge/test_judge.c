/* The judgement of a result made by hand, against the same numbers worked out from lists and a
 * dense matrix of given -> predicted. */
#include "judge/judge.h"

#include "fit/model.h"

#include "made_data.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROWS 2400 /* several pieces of the sums */
#define UNLABELLED (ROWS / 20)
#define INVALID (ROWS / 100)
#define CLASSES 6

static void *zeros(int64_t count, size_t size)
{
    void *memory = calloc((size_t)count, size);
    assert_non_null(memory);
    return memory;
}

static void assert_near(const char *what, double got, double want)
{
    if (isnan(got) != isnan(want) || fabs(got - want) > 1e-9 * (1 + fabs(want)))
        fail_msg("%s is %.15g instead of %.15g", what, got, want);
}

/* Some log odds of a wrong label: chance of 1 in 10 that one of the others is right, at t = 8. */
static float logit(const rer_result *result, int64_t i)
{
    double own = (double)result->own[i], other = (double)result->other[i];
    return (float)(4 * (own * own - other * other) - log(.9 * (CLASSES - 1) / .1));
}

/* Scored rows of every kind: rows without a label at 10, 30, ..., invalid ones at 5, 105, ..., and
 * the last class has one row, whose own error is missing. Errors take few values: ties everywhere. */
static rer_result *make_result(void)
{
    rer_result *result = NULL;
    rer_options options = rer_options_default();
    uint64_t seed = 11;
    assert_int_equal(rer_result_make(&result, ROWS, CLASSES, &options, NULL), RER_OK);
    result->names = zeros(CLASSES, sizeof(char *));
    result->model = zeros(1, sizeof *result->model);
    *result->model = (rer_model){.C = CLASSES, .N = ROWS, .reconstructor = rer_reconstructor_named("centroid")};
    for (int c = 0; c < CLASSES; c++) {
        result->names[c] = strdup((const char *[]){"ant", "bee", "cat", "dog", "eel", "fox"}[c]);
        assert_non_null(result->names[c]);
    }
    for (int64_t i = 0; i < ROWS; i++) {
        result->given[i] = (int32_t)(made_uniform(&seed) * (CLASSES - 1));
        result->suggested[i] = (result->given[i] + 1 + (int32_t)(made_uniform(&seed) * 2)) % (CLASSES - 1);
        result->own[i] = (float)(1 + floor(6 * made_uniform(&seed))) / 4;
        result->other[i] = (float)(1 + floor(8 * made_uniform(&seed))) / 4;
        if (i == 77) { /* alone in its class */
            result->given[i] = CLASSES - 1;
            result->own[i] = NAN;
        } else if (i % 20 == 10) {
            result->given[i] = -1;
            result->own[i] = NAN;
            result->logit[i] = -1.5f; /* of the suggestion being wrong: the scoring pass leaves it there */
        } else if (i % 100 == 5) {
            result->flags[i] = RER_FLAG_INVALID;
            result->own[i] = result->other[i] = NAN;
            result->suggested[i] = -1;
        }
        if (result->given[i] >= 0) /* what the scoring pass leaves */
            result->logit[i] = logit(result, i);
    }
    return result;
}

static bool is_judged(const rer_result *result, int64_t i)
{
    return result->given[i] >= 0 && !(result->flags[i] & RER_FLAG_INVALID) && !isnan(result->own[i]);
}

static double chi(const rer_result *result, int64_t i)
{
    return (double)result->own[i] / (double)result->other[i];
}

static double mistakenness(const rer_result *result, int64_t i)
{
    double own = (double)result->own[i], other = (double)result->other[i];
    return 1 / (1 + exp(-4 * (own * own - other * other)) * .9 * (CLASSES - 1) / .1);
}

static rer_status judge_with(rer_result *result, const rer_findings *findings, rer_error *error)
{
    rer_pool *pool = NULL;
    assert_int_equal(rer_pool_open(&pool, &(rer_pool_settings){.threads = 3}, NULL), RER_OK);
    rer_status status = rer_judge(result, findings, pool, error);
    rer_pool_close(pool);
    return status;
}

static rer_result *judge(const char *option, const char *value)
{
    rer_result *result = make_result();
    rer_error error = {0};
    rer_findings findings = {.sums = {.n = 10, .chi0 = 8, .chi_rand = 7, .own = 20, .best = 15, .second = 25}};
    if (option != NULL)
        assert_int_equal(rer_options_set(&result->options, option, value, &error), RER_OK);
    if (judge_with(result, &findings, &error) != RER_OK)
        fail_msg("%s", error.message);
    return result;
}

/* ---- numbers ------------------------------------------------------------------------------- */

static void test_summary(void **state)
{
    (void)state;
    rer_result *result = judge(NULL, NULL);
    const rer_summary *summary = &result->summary;
    assert_int_equal(summary->n_labelled, ROWS - UNLABELLED - INVALID);
    assert_int_equal(summary->n_unlabelled, UNLABELLED);
    assert_int_equal(summary->n_invalid, INVALID);
    assert_int_equal(summary->n_singletons, 1);
    assert_near("chi0", summary->chi0, .8);
    assert_near("chi_rand", summary->chi_rand, .7);
    assert_near("own error", summary->own_error, 2);
    assert_near("best error", summary->best_error, 1.5);
    assert_near("second error", summary->second_error, 2.5);
    assert_near("eta", summary->eta, 1.0 / 3);
    assert_near("chi", summary->chi, summary->chi_all.mean);
    rer_result_free(result);
}

/* The share of wrong labels that odds `factor` times as high come to; at lower ones, of those likelier wrong than right. */
static double share_wrong(const rer_result *result, double factor)
{
    double sum = 0, n = 0;
    for (int64_t i = 0; i < ROWS; i++)
        if (is_judged(result, i)) {
            double odds = factor * mistakenness(result, i) / (1 - mistakenness(result, i));
            sum += factor < 1 && odds <= 1 ? 0 : odds / (1 + odds);
            n++;
        }
    return sum / n;
}

static void check_noise_rate(const rer_result *result)
{
    const rer_summary *summary = &result->summary;
    static const double factor[] = {.2, 1, 5};
    double got[] = {summary->noise_low, summary->noise_rate, summary->noise_high};
    for (int i = 0; i < 3; i++) {
        double want = share_wrong(result, factor[i]);
        if (!(fabs(got[i] - want) < 1e-6)) /* logits are floats */
            fail_msg("at odds %g times as high the noise rate is %.9g instead of %.9g", factor[i], got[i], want);
    }
    assert_true(summary->noise_low > .01 && summary->noise_low < .9 * summary->noise_rate);
    assert_true(summary->noise_high < .9 && summary->noise_high > 1.1 * summary->noise_rate);
}

/* The same whatever the labels were judged by, and where there is no model of these rows. */
static void test_noise_rate(void **state)
{
    (void)state;
    rer_findings findings = {.sums = {.n = 10, .chi0 = 8, .chi_rand = 7, .own = 20, .best = 15, .second = 25}};
    rer_result *result = judge(NULL, NULL);
    check_noise_rate(result);
    rer_result_free(result);
    result = make_result();
    result->model->reconstructor = rer_reconstructor_named("published");
    assert_int_equal(judge_with(result, &findings, NULL), RER_OK);
    check_noise_rate(result);
    rer_result_free(result);
    result = make_result();
    rer_model *model = result->model;
    result->model = NULL;
    assert_int_equal(judge_with(result, &findings, NULL), RER_OK);
    check_noise_rate(result);
    rer_result_free(result);
    rer_model_free(model);
}

/* Rows without any ratio have no noise rate. */
static void test_nothing_judged(void **state)
{
    (void)state;
    rer_result *result = make_result();
    rer_findings findings = {0};
    for (int64_t i = 0; i < ROWS; i++)
        result->own[i] = result->logit[i] = NAN;
    assert_int_equal(judge_with(result, &findings, NULL), RER_OK);
    const rer_summary *summary = &result->summary;
    assert_true(isnan(summary->noise_rate) && isnan(summary->noise_low) && isnan(summary->noise_high));
    assert_int_equal(summary->n_issues, 0);
    rer_result_free(result);
}

/* Moments by raw powers, unlike the two passes of the code. */
static rer_moments moments_between(const rer_result *result, double above, double up_to)
{
    long double power[5] = {0};
    for (int64_t i = 0; i < ROWS; i++)
        if (is_judged(result, i) && chi(result, i) > above && chi(result, i) <= up_to)
            for (int k = 0; k < 5; k++)
                power[k] += powl((long double)chi(result, i), k);
    long double n = power[0], mean = power[1] / n, square = power[2] / n, cube = power[3] / n, fourth = power[4] / n;
    long double variance = square - mean * mean;
    return (rer_moments){
        .n = (int64_t)n,
        .mean = (double)mean,
        .variance = (double)variance,
        .skewness = (double)((cube - 3 * mean * square + 2 * mean * mean * mean) / powl(variance, 1.5L)),
        .kurtosis = (double)((fourth - 4 * mean * cube + 6 * mean * mean * square - 3 * mean * mean * mean * mean) /
                                 (variance * variance) -
                             3),
    };
}

static void assert_same_moments(const char *what, const rer_moments *got, rer_moments want)
{
    assert_true(want.n > 20);
    assert_int_equal(got->n, want.n);
    assert_near(what, got->mean, want.mean);
    assert_near(what, got->variance, want.variance);
    assert_near(what, got->skewness, want.skewness);
    assert_near(what, got->kurtosis, want.kurtosis);
}

static void test_moments(void **state)
{
    (void)state;
    rer_result *result = judge(NULL, NULL);
    assert_same_moments("all", &result->summary.chi_all, moments_between(result, -1, INFINITY));
    assert_same_moments("above one", &result->summary.chi_above_one, moments_between(result, 1, INFINITY));
    assert_same_moments("below one", &result->summary.chi_below_one, moments_between(result, -1, 1));
    rer_result_free(result);
}

/* ---- classes and pairs ------------------------------------------------------------------------ */

static void count_matrix(int64_t matrix[CLASSES][CLASSES], const rer_result *result)
{
    memset(matrix, 0, sizeof(int64_t[CLASSES][CLASSES]));
    for (int64_t i = 0; i < ROWS; i++)
        if (is_judged(result, i))
            matrix[result->given[i]][result->own[i] <= result->other[i] ? result->given[i] : result->suggested[i]]++;
}

static void test_error_rate_and_entropy(void **state)
{
    (void)state;
    int64_t matrix[CLASSES][CLASSES], total = 0, right = 0;
    double entropy = 0;
    rer_result *result = judge(NULL, NULL);
    count_matrix(matrix, result);
    for (int c = 0; c < CLASSES; c++) {
        int64_t row = 0;
        for (int k = 0; k < CLASSES; k++)
            row += matrix[c][k];
        for (int k = 0; k < CLASSES; k++)
            if (matrix[c][k] > 0)
                entropy -= (double)matrix[c][k] * log((double)matrix[c][k] / (double)row);
        total += row;
        right += matrix[c][c];
    }
    assert_near("error rate", result->summary.error_rate, 1 - (double)right / (double)total);
    assert_near("entropy", result->summary.transition_entropy, entropy / (double)total / log(CLASSES));
    rer_result_free(result);
}

static void test_classes(void **state)
{
    (void)state;
    int64_t matrix[CLASSES][CLASSES];
    rer_result *result = judge(NULL, NULL);
    count_matrix(matrix, result);
    for (int c = 0; c < CLASSES; c++) {
        double chis = 0, owns = 0, noise = 0, judged = 0;
        int64_t n = 0, issues = 0;
        const rer_class_summary *class = rer_result_class(result, c);
        for (int64_t i = 0; i < ROWS; i++) {
            if (result->given[i] != c || (result->flags[i] & RER_FLAG_INVALID))
                continue;
            n++;
            if (!is_judged(result, i))
                continue;
            judged++;
            chis += chi(result, i);
            owns += (double)result->own[i];
            noise += mistakenness(result, i);
            issues += mistakenness(result, i) > .5;
        }
        assert_int_equal(class->n, n);
        assert_int_equal(class->n_issues, issues);
        assert_near("chi of a class", class->chi, chis / judged); /* NaN for the class of one */
        assert_near("own error of a class", class->own_error, owns / judged);
        if (judged > 0)
            assert_true(fabs(class->noise_rate - noise / judged) < 1e-6); /* logits are floats */
        int most = -1;
        for (int k = 0; k < CLASSES; k++)
            if (k != c && matrix[c][k] > (most < 0 ? 0 : matrix[c][most]))
                most = k;
        assert_int_equal(class->most_confused_with, most);
    }
    rer_result_free(result);
}

static void test_pairs(void **state)
{
    (void)state;
    int64_t matrix[CLASSES][CLASSES], expected = 0, last = INT64_MAX;
    rer_pair pairs[CLASSES * CLASSES];
    int64_t count = 0;
    rer_result *result = judge(NULL, NULL);
    count_matrix(matrix, result);
    for (int a = 0; a < CLASSES; a++)
        for (int b = a + 1; b < CLASSES; b++)
            expected += matrix[a][b] + matrix[b][a] > 0;
    for (; count < CLASSES * CLASSES && rer_result_pair(result, count) != NULL; count++)
        pairs[count] = *rer_result_pair(result, count);
    assert_null(rer_result_pair(result, -1));
    assert_int_equal(count, expected);
    for (int64_t i = 0; i < count; i++) {
        assert_true(pairs[i].a < pairs[i].b);
        assert_int_equal(pairs[i].a_as_b, matrix[pairs[i].a][pairs[i].b]);
        assert_int_equal(pairs[i].b_as_a, matrix[pairs[i].b][pairs[i].a]);
        assert_true(pairs[i].a_as_b + pairs[i].b_as_a <= last);
        last = pairs[i].a_as_b + pairs[i].b_as_a;
        for (int64_t j = 0; j < i; j++)
            assert_true(pairs[i].a != pairs[j].a || pairs[i].b != pairs[j].b);
    }
    rer_result_free(result);
}

/* ---- flags ------------------------------------------------------------------------------------- */

static void assert_flags_are(const rer_result *result, bool (*is_issue)(const rer_result *result, int64_t row))
{
    int64_t issues = 0;
    for (int64_t i = 0; i < ROWS; i++) {
        bool flagged = (result->flags[i] & RER_FLAG_ISSUE) != 0;
        if (flagged != (is_judged(result, i) && is_issue(result, i)))
            fail_msg("row %d is %s", (int)i, flagged ? "flagged" : "not flagged");
        issues += flagged;
    }
    assert_int_equal(result->summary.n_issues, issues);
}

static bool above_half(const rer_result *result, int64_t row)
{
    return mistakenness(result, row) > .5;
}

static bool above_small(const rer_result *result, int64_t row)
{
    return mistakenness(result, row) > .03;
}

static bool above_paper(const rer_result *result, int64_t row)
{
    return chi(result, row) > 1.01 * pow(.8, -1.5 / (1 + 13.8 / 3));
}

static void test_thresholds(void **state)
{
    (void)state;
    rer_result *result = judge(NULL, NULL);
    assert_flags_are(result, above_half);
    assert_true(!result->summary.threshold_on_chi && result->summary.threshold == .5);
    rer_result_free(result);
    result = judge("threshold", ".03");
    assert_flags_are(result, above_small);
    assert_true(result->summary.n_issues > ROWS / 20 && result->summary.n_issues < ROWS / 2);
    rer_result_free(result);
    result = judge("threshold", "paper");
    assert_flags_are(result, above_paper);
    assert_true(result->summary.threshold_on_chi && result->summary.n_issues > 20);
    rer_result_free(result);
}

static void assert_budget(const char *budget, int64_t count)
{
    rer_result *result = judge("budget", budget);
    int64_t issues = 0;
    double lowest_flagged = INFINITY, highest_left = -INFINITY;
    for (int64_t i = 0; i < ROWS; i++) {
        if (!is_judged(result, i))
            assert_true(!(result->flags[i] & RER_FLAG_ISSUE));
        else if (result->flags[i] & RER_FLAG_ISSUE)
            lowest_flagged = fmin(lowest_flagged, mistakenness(result, i));
        else
            highest_left = fmax(highest_left, mistakenness(result, i));
        issues += (result->flags[i] & RER_FLAG_ISSUE) != 0;
    }
    if (issues != count)
        fail_msg("--budget %s flags %d instead of %d", budget, (int)issues, (int)count);
    assert_int_equal(result->summary.n_issues, count);
    assert_true(lowest_flagged > highest_left - 1e-6); /* of equals some are flagged and some not */
    assert_true(fabs(result->summary.threshold - (count > 0 ? lowest_flagged : 1)) < 1e-6);
    rer_result_free(result);
}

static void test_budget(void **state)
{
    (void)state;
    int64_t judged = ROWS - UNLABELLED - INVALID - 1;
    assert_budget("0", 0);
    assert_budget("1", 1);
    assert_budget("57", 57);
    assert_budget("100", 100);
    assert_budget("2255", judged);
    assert_budget("100000", judged);
    assert_budget("10%", 226); /* of the 2,256 labelled rows: 225.6 */
    assert_budget("0.02%", 0);
    assert_budget("100%", judged);
}

/* ---- rows and notes ------------------------------------------------------------------------------ */

static void test_samples(void **state)
{
    (void)state;
    rer_result *result = judge(NULL, NULL);
    for (int64_t i = 0; i < ROWS; i++) {
        rer_sample sample = rer_sample_of(result, i);
        assert_int_equal(sample.is_invalid, i % 100 == 5);
        if (is_judged(result, i)) {
            assert_near("chi", sample.chi, chi(result, i));
            assert_true(fabs(sample.mistakenness / mistakenness(result, i) - 1) < 1e-5);
            assert_true(fabs(sample.mistakenness + sample.label_score - 1) < 1e-12);
        } else {
            assert_true(isnan(sample.chi) && isnan(sample.mistakenness));
        }
        bool unlabelled = i % 20 == 10;
        assert_near("suggestion", sample.suggestion_probability, unlabelled ? 1 / (1 + exp(-1.5)) : NAN);
    }
    rer_result_free(result);
}

/* What a budget buys, against the sum over the sorted rows. */
static void test_expected_wrong(void **state)
{
    (void)state;
    rer_result *result = judge("budget", "57");
    int64_t rows[ROWS], found = rer_result_suspects(result, ROWS, rows);
    double sum = 0;
    assert_int_equal(found, ROWS - UNLABELLED - INVALID - 1);
    assert_near("none", rer_result_expected_wrong(result, -1), 0);
    for (int64_t i = 0; i < found; i++) {
        assert_near("expected_wrong", rer_result_expected_wrong(result, i), sum);
        if (i == 57)
            assert_near("expected_wrong of the flagged", result->summary.expected_wrong, sum);
        sum += rer_sample_of(result, rows[i]).mistakenness;
    }
    assert_near("all", rer_result_expected_wrong(result, found), sum);
    assert_near("more than all", rer_result_expected_wrong(result, INT64_MAX), sum);
    rer_result_free(result);
}

static void test_notes(void **state)
{
    (void)state;
    rer_result *result = judge(NULL, NULL);
    assert_non_null(strstr(rer_result_note(result, 0), "'fox'"));
    assert_non_null(strstr(rer_result_note(result, 1), "4 rows"));
    assert_non_null(strstr(rer_result_note(result, 2), "120 rows"));
    assert_null(rer_result_note(result, 3));
    assert_int_equal(rer_result_add_doubt(result, NULL, "a %s", "doubt"), RER_OK);
    assert_int_equal(rer_result_add_doubt(result, NULL, "another one"), RER_OK);
    assert_string_equal(rer_result_note(result, 0), "a doubt");
    assert_string_equal(rer_result_note(result, 1), "another one");
    assert_non_null(strstr(rer_result_note(result, 2), "'fox'"));
    assert_non_null(strstr(rer_result_note(result, 4), "120 rows"));
    rer_result_free(result);
}

/* Of the first `clear` judged labels the log odds are 20, of all others `others`. */
static rer_result *judge_clear(int64_t clear, float others)
{
    rer_findings findings = {.sums = {.n = 10, .chi0 = 8, .chi_rand = 7, .own = 20, .best = 15, .second = 25}};
    rer_result *result = make_result();
    for (int64_t i = 0; i < ROWS; i++)
        if (is_judged(result, i)) {
            result->logit[i] = clear-- > 0 ? 20 : others;
            result->own[i] *= 2; /* hardly nearer to the class given than to another */
        }
    assert_int_equal(judge_with(result, &findings, NULL), RER_OK);
    return result;
}

/* The same ratios, so the same difficulty: a guess is what has a wide range. */
static void test_note_on_a_guess(void **state)
{
    (void)state;
    static const struct {
        int64_t clear;
        float others;
        const char *note; /* NULL: no doubt */
    } cases[] = {{100, -20, NULL},
                 {100, -1.5f, "is a guess"},
                 {0, -1.5f, "is a guess"},
                 {0, -20, NULL},
                 {ROWS, 0, "most labels look wrong"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rer_result *result = judge_clear(cases[i].clear, cases[i].others);
        assert_true(result->summary.difficulty > .5);
        assert_int_equal(result->notes.doubts, cases[i].note != NULL);
        if (cases[i].note != NULL)
            assert_non_null(strstr(rer_result_note(result, 0), cases[i].note));
        rer_result_free(result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_summary),         cmocka_unit_test(test_noise_rate),
        cmocka_unit_test(test_moments),         cmocka_unit_test(test_error_rate_and_entropy),
        cmocka_unit_test(test_classes),         cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_thresholds),      cmocka_unit_test(test_budget),
        cmocka_unit_test(test_samples),         cmocka_unit_test(test_notes),
        cmocka_unit_test(test_expected_wrong),  cmocka_unit_test(test_nothing_judged),
        cmocka_unit_test(test_note_on_a_guess),
    };
    return cmocka_run_group_tests_name("judge.judge", tests, NULL, NULL);
}
