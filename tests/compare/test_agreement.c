/* Rank correlation and discounted gain, of lists and of whole runs, against plain versions that compare
 * every pair of values. */
#include "files.h"
#include "made_data.h"

#include "run/result.h"
#include "stats/agreement.h"

#include <math.h>
#include <stdio.h>

#define MOST 400

static void assert_near(double got, double want)
{
    if (!(isnan(got) && isnan(want)) && !(fabs(got - want) <= 1e-9))
        fail_msg("%.12g instead of %.12g", got, want);
}

static bool counts(const double *a, const double *b, int64_t i)
{
    return !isnan(a[i]) && !isnan(b[i]);
}

/* 1 + how many are smaller + half of the others that are equal, among the rows that count. */
static double plain_rank(const double *values, const double *other, int64_t n, int64_t i)
{
    double rank = 1;
    for (int64_t j = 0; j < n; j++)
        if (j != i && counts(values, other, j))
            rank += values[j] < values[i] ? 1 : values[j] == values[i] ? .5 : 0;
    return rank;
}

static double plain_spearman(const double *a, const double *b, int64_t n)
{
    double count = 0, sa = 0, sb = 0, saa = 0, sbb = 0, sab = 0;
    for (int64_t i = 0; i < n; i++)
        if (counts(a, b, i)) {
            double x = plain_rank(a, b, n, i), y = plain_rank(b, a, n, i);
            count++;
            sa += x;
            sb += y;
            saa += x * x;
            sbb += y * y;
            sab += x * y;
        }
    double va = saa - sa * sa / count, vb = sbb - sb * sb / count;
    return va > 1e-9 && vb > 1e-9 ? (sab - sa * sb / count) / sqrt(va * vb) : NAN;
}

/* Each row has the mean discount of the places that the rows of its score share. */
static double plain_gain(const double *truth, const double *score, int64_t n, double low, double width)
{
    double gain = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!counts(truth, score, i))
            continue;
        int64_t before = 0, tied = 0;
        double discount = 0;
        for (int64_t j = 0; j < n; j++)
            if (counts(truth, score, j)) {
                before += score[j] > score[i];
                tied += score[j] == score[i];
            }
        for (int64_t place = before; place < before + tied; place++)
            discount += 1 / log2((double)place + 2) / (double)tied;
        gain += (truth[i] - low) / width * discount;
    }
    return gain;
}

static double plain_ndcg(const double *truth, const double *score, int64_t n)
{
    double low = INFINITY, high = -INFINITY, same[MOST];
    for (int64_t i = 0; i < n; i++) {
        same[i] = isnan(score[i]) ? NAN : truth[i];
        if (counts(truth, score, i)) {
            low = fmin(low, truth[i]);
            high = fmax(high, truth[i]);
        }
    }
    if (!(high > low))
        return NAN;
    return plain_gain(truth, score, n, low, high - low) / plain_gain(truth, same, n, low, high - low);
}

static void check_lists(const double *a, const double *b, int64_t n)
{
    double got = 0;
    assert_int_equal(rer_spearman(&got, a, b, n, NULL), RER_OK);
    assert_near(got, plain_spearman(a, b, n));
    assert_int_equal(rer_ndcg(&got, a, b, n, NULL), RER_OK);
    assert_near(got, plain_ndcg(a, b, n));
}

static void test_lists(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int round = 0; round < 60; round++) {
        double a[MOST], b[MOST];
        int64_t n = 2 + round * 2;
        for (int64_t i = 0; i < n; i++) {
            a[i] = made_normal(&seed);
            b[i] = a[i] + made_normal(&seed);
            if (round % 3 == 1) { /* ties */
                a[i] = floor(2 * a[i]);
                b[i] = floor(b[i]);
            }
            if (round % 4 == 2 && made_uniform(&seed) < .2)
                a[i] = NAN;
            if (round % 4 == 2 && made_uniform(&seed) < .2)
                b[i] = NAN;
        }
        check_lists(a, b, n);
    }
    double constant[] = {3, 3, 3}, rising[] = {1, 2, 3};
    check_lists(constant, rising, 3);
    check_lists(rising, constant, 3);
}

/* ---- whole runs --------------------------------------------------------------------------------- */

static void write_run(const char *name, made_data *made, double *chi, const char *normalize)
{
    rer_options options = rer_options_default();
    rer_result *result = NULL;
    rer_dataset *data = made_data_wrap(made);
    assert_int_equal(rer_options_set(&options, "normalize", normalize, NULL), RER_OK);
    assert_int_equal(rer_analyze(&result, data, &options, NULL, NULL, NULL), RER_OK);
    assert_int_equal(rer_result_write(result, data, file_path(name), NULL), RER_OK);
    for (int64_t i = 0; i < made->N; i++)
        chi[i] = rer_sample_of(result, i).chi;
    rer_result_free(result);
    rer_dataset_free(data);
}

static void remove_run(const char *folder)
{
    static const char *const names[] = {"samples.csv", "classes.csv", "summary.json", "report.html", "manifest.json"};
    char path[700];
    for (int i = 0; i < 5; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        assert_int_equal(remove(path), 0);
    }
    assert_int_equal(remove(folder), 0);
}

static int descending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* The rows that the two rank most differently come first, with the ranks that they have. */
static void check_disagreements(const rer_comparison *comparison, const double *a, const double *b)
{
    double width[MOST], last = 0;
    int higher_in[2] = {0}, used = 0;
    for (int64_t i = 0; i < MOST; i++)
        if (counts(a, b, i))
            width[used++] = fabs(plain_rank(a, b, MOST, i) - plain_rank(b, a, MOST, i));
    qsort(width, (size_t)used, sizeof *width, descending);
    last = used - 1;
    for (int i = 0; i < 20; i++) {
        const rer_disagreement *row = rer_comparison_disagreement(comparison, i);
        assert_non_null(row);
        double ranks[2] = {plain_rank(a, b, MOST, row->row), plain_rank(b, a, MOST, row->row)};
        int high = ranks[1] > ranks[0];
        assert_int_equal(row->high_run, high);
        assert_int_equal(row->low_run, !high);
        assert_true(fabs(row->high * last + 1 - ranks[high]) < 1.1);
        assert_true(fabs(row->low * last + 1 - ranks[!high]) < 1.1);
        assert_true(fabs((row->high - row->low) * last - width[i]) < 1.1);
        higher_in[high]++;
    }
    assert_true(higher_in[0] > 0 && higher_in[1] > 0);
}

static void test_runs(void **state)
{
    (void)state;
    made_settings settings = {.N = MOST, .D = 20, .C = 3, .unlabelled = 15, .mislabelled = 40, .seed = 4};
    made_data made = made_data_make(&settings);
    double a[MOST], b[MOST];
    char paths[2][600];
    rer_comparison *comparison = NULL;
    rer_options options = rer_options_default();
    write_run("a", &made, a, "whiten");
    write_run("b", &made, b, "none");
    (void)snprintf(paths[0], sizeof paths[0], "%s", file_path("a"));
    (void)snprintf(paths[1], sizeof paths[1], "%s", file_path("b"));
    const char *const folders[] = {paths[0], paths[1]};
    assert_int_equal(rer_compare(&comparison, folders, 2, NULL, NULL, &options, NULL), RER_OK);
    assert_int_equal(rer_comparison_mode(comparison), RER_COMPARE_SAMPLES);
    const rer_agreement *pair = rer_comparison_pair(comparison, 0);
    assert_non_null(pair);
    /* samples.csv has six digits or more: a few near values may change places */
    assert_true(fabs(pair->spearman_samples - plain_spearman(a, b, MOST)) < 1e-4);
    assert_true(fabs(pair->ndcg_samples - plain_ndcg(a, b, MOST)) < 1e-4);
    assert_true(fabs(pair->ndcg_samples_reverse - plain_ndcg(b, a, MOST)) < 1e-4);
    assert_true(fabs(plain_ndcg(a, b, MOST) - plain_ndcg(b, a, MOST)) > 1e-3); /* which is which matters */
    check_disagreements(comparison, a, b);
    rer_comparison_free(comparison);
    remove_run(paths[0]);
    remove_run(paths[1]);
    made_data_free(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lists), FILES_TEST(test_runs)};
    return cmocka_run_group_tests_name("compare.agreement", tests, NULL, NULL);
}
