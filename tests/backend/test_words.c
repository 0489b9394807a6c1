/* Rough products against sums in double: never further off than they say, by far mostly, the same bits for a row whatever
 * stands beside it. Where the processor multiplies no words there are none. */
#include "backend/backend.h"

#include "made_data.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MOST_ROWS 300
#define MOST_COLUMNS 600
#define MOST_TERMS 777

static float t[MOST_ROWS * MOST_TERMS], u[MOST_COLUMNS * MOST_TERMS], h[MOST_ROWS * (MOST_COLUMNS + 1)], off[MOST_ROWS];

static bool are_there(void)
{
    return rer_multiply_roughly_f32(h, MOST_COLUMNS, t, u, 1, MOST_COLUMNS, MOST_TERMS, off);
}

static double longest(const float *x, int64_t n, int64_t D)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++)
        most = fmax(most, sqrt(made_product(x + i * D, x + i * D, D)));
    return most;
}

/* Root mean square of the errors over the lengths. */
static double check_products(int64_t n, int64_t k, int64_t D)
{
    double squares = 0, most = longest(u, k, D);
    int64_t ldh = k + 1;
    for (int64_t i = 0; i < MOST_ROWS * (MOST_COLUMNS + 1); i++)
        h[i] = 7;
    assert_true(rer_multiply_roughly_f32(h, ldh, t, u, n, k, D, off));
    for (int64_t i = 0; i < n; i++) {
        double length = sqrt(made_product(t + i * D, t + i * D, D));
        if (!((double)off[i] <= (1.01 * sqrt((double)D) / 32767 + 2e-6) * length * most + 1e-28))
            fail_msg("%d x %d x %d: row %d may be off by %g", (int)n, (int)k, (int)D, (int)i, (double)off[i]);
        for (int64_t c = 0; c < k; c++) {
            double error = fabs((double)h[i * ldh + c] - made_product(t + i * D, u + c * D, D));
            if (!(error <= (double)off[i]))
                fail_msg("%d x %d x %d: row %d, column %d is off by %g, not %g at most", (int)n, (int)k, (int)D, (int)i,
                         (int)c, error, (double)off[i]);
            squares += length > 0 ? pow(error / (length * most), 2) : 0;
        }
        assert_true(h[i * ldh + k] == 7); /* beyond the last column */
    }
    return sqrt(squares / (double)(n * k));
}

static void test_against_double(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{1, 256, 64},   {31, 257, 65},   {9, 288, 96},  {33, 300, 777},
                                        {299, 256, 97}, {257, 599, 127}, {8, 300, 129}, {64, 257, 512}};
    if (!are_there())
        print_message("left out: this processor multiplies no words (AVX512-VNNI), or has tiles, which are better\n");
    for (size_t s = 0; are_there() && s < sizeof shapes / sizeof *shapes; s++)
        for (int tails = 0; tails <= 3; tails += 3) {
            int64_t n = shapes[s][0], k = shapes[s][1], D = shapes[s][2];
            made_tailed(t, n * D, s + 1, tails);
            made_tailed(u, k * D, s + 100, tails);
            double typical = check_products(n, k, D);
            assert_true(tails > 0 || typical < 1e-4 / sqrt((double)D));
        }
}

/* Sums of equal terms are the largest that there are; nothing, next to nothing and the largest numbers have words too. */
static void test_sizes(void **state)
{
    (void)state;
    static const float sizes[] = {0, 1e-35F, 1e-20F, 1, 1e18F};
    int64_t n = 20, k = 257, D = 192;
    for (size_t s = 0; are_there() && s < sizeof sizes / sizeof *sizes; s++) {
        for (int64_t i = 0; i < n * D; i++)
            t[i] = i / D % 2 == 0 ? sizes[s] : -sizes[s];
        for (int64_t i = 0; i < k * D; i++)
            u[i] = i / D % 3 == 0 ? -1 : 1;
        check_products(n, k, D);
    }
}

static void test_a_row_alone(void **state)
{
    (void)state;
    static float alone[MOST_COLUMNS];
    int64_t n = 299, k = 257, D = 200;
    float far;
    made_tailed(t, n * D, 3, 1);
    made_tailed(u, k * D, 4, 1);
    bool rough = rer_multiply_roughly_f32(h, k, t, u, n, k, D, off);
    for (int64_t i = 0; rough && i < n; i += 23) {
        assert_true(rer_multiply_roughly_f32(alone, k, t + i * D, u, 1, k, D, &far));
        assert_memory_equal(alone, h + i * k, (size_t)k * sizeof *h);
        assert_true(far == off[i]);
    }
}

static void test_only_where_they_pay(void **state)
{
    (void)state;
    assert_false(rer_multiply_roughly_f32(h, 255, t, u, 1, 255, 512, off));
    assert_false(rer_multiply_roughly_f32(h, 512, t, u, 1, 512, 63, off));
    assert_true(rer_cpu_kernels()->words->multiply != NULL || !are_there());
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_double), cmocka_unit_test(test_sizes),
                                       cmocka_unit_test(test_a_row_alone), cmocka_unit_test(test_only_where_they_pay)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
