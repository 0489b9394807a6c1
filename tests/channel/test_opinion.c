/* The user's own probabilities as evidence: the formula of channel/opinion.h in double, in blocks and row
 * by row, and what is no distribution. */
#include "channel/opinion.h"
#include "made_data.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROWS 40
#define CLASSES 4

static const float log_n[CLASSES] = {1.5F, 3, -INFINITY, 0}; /* a class without rows counts as one with one */

static void make_probabilities(double q[ROWS][CLASSES])
{
    uint64_t seed = 2;
    for (int i = 0; i < ROWS; i++) {
        double sum = 0;
        for (int k = 0; k < CLASSES; k++) {
            q[i][k] = i % 5 == 0 && k == 1 ? 0 : made_uniform(&seed);
            sum += q[i][k];
        }
        for (int k = 0; k < CLASSES; k++)
            q[i][k] /= sum;
    }
}

static double plain_evidence(const double q[CLASSES], int k)
{
    double highest = -INFINITY, mine = 0;
    for (int j = 0; j < CLASSES; j++) {
        double n = isinf(log_n[j]) ? 1 : exp((double)log_n[j]), value = log(fmax(q[j], 1e-6) / n);
        highest = fmax(highest, value);
        mine = j == k ? value : mine;
    }
    return highest - mine;
}

static rer_dataset *start(made_data *made, double q[ROWS][CLASSES])
{
    made_settings settings = {.N = ROWS, .D = 2, .C = CLASSES, .seed = 1};
    *made = made_data_make(&settings);
    rer_dataset *data = made_data_wrap(made);
    rer_view view = {.data = q, .dtype = RER_F64, .rank = 2, .shape = {ROWS, CLASSES}};
    assert_int_equal(rer_dataset_set_pred_probs(data, &view, NULL), RER_OK);
    return data;
}

static void check(const float *evidence, const double q[CLASSES])
{
    for (int k = 0; k < CLASSES; k++)
        if (!(fabs((double)evidence[k] - plain_evidence(q, k)) < 1e-5))
            fail_msg("%g instead of %g", (double)evidence[k], plain_evidence(q, k));
}

static void test_against_the_formula(void **state)
{
    (void)state;
    made_data made;
    double q[ROWS][CLASSES];
    float evidence[ROWS * CLASSES];
    int64_t row[] = {31, 0, 7};
    make_probabilities(q);
    rer_dataset *data = start(&made, q);
    void *scratch = malloc((size_t)rer_opinion_scratch(data, ROWS));
    assert_non_null(scratch);
    assert_int_equal(rer_opinion_rows(evidence, data, 10, ROWS - 10, NULL, log_n, scratch, NULL), RER_OK);
    for (int i = 10; i < ROWS; i++)
        check(evidence + (i - 10) * CLASSES, q[i]);
    assert_int_equal(rer_opinion_of(evidence, data, row, 3, log_n, NULL), RER_OK);
    for (int i = 0; i < 3; i++)
        check(evidence + i * CLASSES, q[row[i]]);
    free(scratch);
    rer_dataset_free(data);
    made_data_free(&made);
}

static void check_refused(double q[ROWS][CLASSES], const char *words)
{
    made_data made;
    float evidence[CLASSES];
    int64_t row[] = {7};
    rer_error error = {0};
    rer_dataset *data = start(&made, q);
    assert_int_equal(rer_opinion_of(evidence, data, row, 1, log_n, &error), RER_BAD_INPUT);
    if (strstr(error.message, words) == NULL)
        fail_msg("'%s' is not in: %s", words, error.message);
    rer_dataset_free(data);
    made_data_free(&made);
}

/* Row 7 has none, and is left out: the others are read. */
static void check_left_out(double q[ROWS][CLASSES])
{
    made_data made;
    float evidence[ROWS * CLASSES];
    uint8_t invalid[ROWS] = {[7] = 1};
    rer_dataset *data = start(&made, q);
    void *scratch = malloc((size_t)rer_opinion_scratch(data, ROWS));
    assert_non_null(scratch);
    assert_int_equal(rer_opinion_rows(evidence, data, 0, ROWS, invalid, log_n, scratch, NULL), RER_OK);
    for (int i = 0; i < ROWS; i++)
        if (i != 7)
            check(evidence + i * CLASSES, q[i]);
    free(scratch);
    rer_dataset_free(data);
    made_data_free(&made);
}

static void test_no_distribution(void **state)
{
    (void)state;
    double q[ROWS][CLASSES];
    make_probabilities(q);
    q[7][2] += .01;
    check_refused(q, "row 7 sums to 1.01");
    q[7][2] = -.25;
    check_refused(q, "row 7, column 2 is -0.25");
    q[7][2] = NAN;
    check_refused(q, "row 7, column 2 is nan");
    check_left_out(q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_the_formula),
                                       cmocka_unit_test(test_no_distribution)};
    return cmocka_run_group_tests_name("channel.opinion", tests, NULL, NULL);
}
