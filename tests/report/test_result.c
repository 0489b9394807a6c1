/* What the accessors compute from the O(N) numbers. */
#include "result_fixture.h"

static double chi_of(float own, float other)
{
    test_fixture fixture = fixture_make(1, 2, 1);
    fixture.result->own[0] = own;
    fixture.result->other[0] = other;
    double chi = rer_sample_of(fixture.result, 0).chi;
    fixture_free(&fixture);
    return chi;
}

static void chi_is_always_a_number(void **state)
{
    (void)state;
    assert_true(chi_of(3, 2) == 1.5);
    assert_true(chi_of(0, 2) == 0);
    assert_true(chi_of(0, 0) == 1);
    assert_true(chi_of(1, 0) == 1e6);
    assert_true(isnan(chi_of(NAN, 2))); /* alone in its class: missing */
}

static void probabilities_keep_their_digits(void **state)
{
    (void)state;
    test_fixture fixture = fixture_make(2, 2, 1);
    fixture.result->logit[0] = 40;
    fixture.result->logit[1] = -40;
    rer_sample wrong = rer_sample_of(fixture.result, 0), right = rer_sample_of(fixture.result, 1);
    assert_true(wrong.mistakenness == 1 / (1 + exp(-40.0)));
    assert_true(fabs(wrong.label_score / exp(-40.0) - 1) < 1e-12);
    assert_true(fabs(right.mistakenness / exp(-40.0) - 1) < 1e-12);
    fixture_free(&fixture);
}

static void rows_without_label_get_a_suggestion(void **state)
{
    (void)state;
    test_fixture fixture = fixture_make(3, 3, 1);
    fixture.result->given[0] = -1;
    fixture.result->own[0] = NAN;
    fixture.result->logit[0] = 0;
    rer_sample sample = rer_sample_of(fixture.result, 0);
    assert_int_equal(sample.predicted, sample.suggested);
    assert_true(sample.suggestion_probability == 0.5);
    assert_true(isnan(sample.mistakenness) && isnan(sample.chi) && isnan(sample.label_score));
    assert_false(sample.is_issue);
    fixture_free(&fixture);
}

static void invalid_rows_have_no_numbers(void **state)
{
    (void)state;
    test_fixture fixture = fixture_make(3, 3, 1);
    fixture.result->flags[1] = RER_FLAG_INVALID;
    rer_sample sample = rer_sample_of(fixture.result, 1);
    assert_true(sample.is_invalid);
    assert_int_equal(sample.given, 1);
    assert_int_equal(sample.predicted, -1);
    assert_true(isnan(sample.mistakenness) && isnan(sample.best_other_error));
    assert_true(rer_sample_of(fixture.result, 3).is_invalid);
    assert_true(rer_sample_of(fixture.result, -1).is_invalid);
    fixture_free(&fixture);
}

static const rer_result *sorted_result;

static int compare_suspicion(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    float logit_a = sorted_result->logit[a], logit_b = sorted_result->logit[b];
    double chi_a = rer_sample_of(sorted_result, a).chi, chi_b = rer_sample_of(sorted_result, b).chi;
    if (logit_a != logit_b)
        return logit_a < logit_b ? 1 : -1;
    return chi_a != chi_b ? (chi_a < chi_b ? 1 : -1) : (a > b) - (a < b);
}

static void suspects_are_the_head_of_a_full_sort(void **state)
{
    (void)state;
    enum { N = 500 };
    test_fixture fixture = fixture_make(N, 4, 7);
    int64_t expected[N], found[N + 1], n = 0;
    for (int64_t i = 0; i < N; i++) {
        fixture.result->given[i] = i % 11 == 0 ? -1 : fixture.result->given[i];
        fixture.result->flags[i] = i % 13 == 0 ? RER_FLAG_INVALID : fixture.result->flags[i];
        fixture.result->logit[i] = i % 17 == 0 ? NAN : fixture.result->logit[i];
        if (i % 11 != 0 && i % 13 != 0 && i % 17 != 0)
            expected[n++] = i;
    }
    sorted_result = fixture.result;
    qsort(expected, (size_t)n, sizeof expected[0], compare_suspicion);
    const int64_t counts[] = {0, 1, 2, 3, 10, 100, n - 1, n, n + 1, N};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        int64_t count = rer_result_suspects(fixture.result, counts[i], found);
        assert_int_equal(count, rer_min(counts[i], n));
        for (int64_t k = 0; k < count; k++)
            assert_int_equal(found[k], expected[k]);
    }
    fixture_free(&fixture);
}

static void names_and_notes_end(void **state)
{
    (void)state;
    test_fixture fixture = fixture_make(3, 3, 1);
    assert_string_equal(rer_result_class_name(fixture.result, 2), "class 2");
    assert_null(rer_result_class_name(fixture.result, 3));
    assert_null(rer_result_class_name(fixture.result, -1));
    assert_null(rer_result_note(fixture.result, 0));
    assert_null(rer_result_pair(fixture.result, 0));
    fixture_free(&fixture);
    rer_result_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chi_is_always_a_number),
        cmocka_unit_test(probabilities_keep_their_digits),
        cmocka_unit_test(rows_without_label_get_a_suggestion),
        cmocka_unit_test(invalid_rows_have_no_numbers),
        cmocka_unit_test(suspects_are_the_head_of_a_full_sort),
        cmocka_unit_test(names_and_notes_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
