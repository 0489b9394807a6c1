/* A row's errors, taken in tile by tile, and the sums of ratios against plain loops over all classes. */
#include "made_data.h"

#include "run/result.h"
#include "score/reduce.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define CLASSES_MOST 70

static void assert_near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-6 * fabs(want)))
        fail_msg("%.17g instead of %.17g", got, want);
}

static void assert_same_d2(float got, float want)
{
    if (!(got == want))
        fail_msg("%.9g instead of %.9g", (double)got, (double)want);
}

/* Tiles of random widths, as the classes are walked through. */
static rer_row_errors take_all(float *d2, int32_t C, int32_t code, uint64_t *seed)
{
    rer_row_errors row = rer_row_errors_none();
    for (int32_t first = 0, width; first < C; first += width) {
        width = 1 + (int32_t)(made_uniform(seed) * 40);
        width = width < C - first ? width : C - first;
        rer_row_errors_take(&row, d2 + first, first, width, code, rer_cpu_kernels());
    }
    return row;
}

/* The place of the smallest of d2 but two, the first of equals; -1: none. */
static int32_t smallest_but(const float *d2, int32_t C, int32_t a, int32_t b)
{
    int32_t best = -1;
    for (int32_t k = 0; k < C; k++)
        if (k != a && k != b && (best < 0 || d2[k] < d2[best]))
            best = k;
    return best;
}

static void check_row(const rer_row_errors *row, const float *d2, int32_t C, int32_t code)
{
    int32_t first = smallest_but(d2, C, code, -1), second = smallest_but(d2, C, code, first);
    double sum = 0;
    for (int32_t k = 0; k < C; k++)
        sum += isnan(d2[k]) ? 0 : sqrt((double)d2[k]);
    assert_int_equal(row->nearest.first_class, first);
    assert_same_d2(row->nearest.first, d2[first]);
    assert_int_equal(row->nearest.second_class, second);
    assert_same_d2(row->nearest.second, second >= 0 ? d2[second] : INFINITY);
    assert_near(row->nearest.sum, sum);
    assert_true(code >= 0 ? isnan(d2[code]) == isnan(row->own) : isnan(row->own));
    if (code >= 0 && !isnan(d2[code]))
        assert_same_d2(row->own, d2[code]);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The definitions: all errors of the row sorted. */
static void add_plain(rer_ratio_sums *sums, const float *d2, int32_t C, int32_t code)
{
    double error[CLASSES_MOST], rest = 0;
    if (code < 0 || isnan(d2[code]))
        return;
    for (int32_t k = 0; k < C; k++)
        error[k] = sqrt((double)d2[k]);
    qsort(error, (size_t)C, sizeof *error, ascending);
    for (int32_t k = 1; k < C; k++)
        rest += error[k] / (C - 1);
    sums->n++;
    sums->own += sqrt((double)d2[code]);
    sums->best += error[0];
    sums->second += error[1];
    sums->chi0 += fmin(sqrt((double)d2[code]) / rest, RER_CHI_MAX);
    sums->chi_rand += error[0] / rest;
}

static void check_sums(const rer_ratio_sums *got, const rer_ratio_sums *want)
{
    assert_int_equal(got->n, want->n);
    assert_near(got->chi0, want->chi0);
    assert_near(got->chi_rand, want->chi_rand);
    assert_near(got->own, want->own);
    assert_near(got->best, want->best);
    assert_near(got->second, want->second);
}

static void test_against_plain_loops(void **state)
{
    (void)state;
    static const int32_t classes[] = {2, 3, 7, 16, 33, CLASSES_MOST};
    uint64_t seed = 1;
    for (int i = 0; i < 6; i++) {
        rer_ratio_sums halves[2] = {{0}}, plain = {0};
        int32_t C = classes[i];
        for (int row = 0; row < 300; row++) {
            float d2[CLASSES_MOST];
            int32_t code = (int32_t)(made_uniform(&seed) * (C + 1)) - 1;
            for (int32_t k = 0; k < C; k++) { /* some equal, some 0, of many sizes */
                double size = made_normal(&seed);
                d2[k] = row % 4 == 0 ? (float)(int)(3 * size * size) : (float)exp(3 * size);
            }
            if (code >= 0 && row % 10 == 0)
                d2[code] = NAN; /* alone in its class */
            rer_row_errors errors = take_all(d2, C, code, &seed);
            check_row(&errors, d2, C, code);
            if (row % 4 != 0) { /* ties and zeros have their own rules, see rer_chi */
                rer_ratio_sums_add_row(&halves[row % 2], &errors, C);
                add_plain(&plain, d2, C, code);
            }
        }
        rer_ratio_sums_add(&halves[0], &halves[1]);
        check_sums(&halves[0], &plain);
        assert_true(plain.n > 100);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_plain_loops)};
    return cmocka_run_group_tests_name("score.reduce", tests, NULL, NULL);
}
