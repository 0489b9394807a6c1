/* The curve 1 / (1 + a d^2b) against the known pairs and against a search that needs no slopes. */
#include "fit/autoencoder/curve.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { POINTS = 300, GRID = 5, ROUNDS = 50 };

static double misfit(double log_s, double log_b, double spread, double min_dist)
{
    double sum = 0;
    for (int i = 0; i < POINTS; i++) {
        double d = 3 * spread * i / (POINTS - 1);
        double target = d < min_dist ? 1 : exp(-(d - min_dist) / spread);
        double r = 1 / (1 + pow(d / exp(log_s), 2 * exp(log_b))) - target;
        sum += r * r;
    }
    return sum;
}

/* Grids around the best place so far, each .7 as wide as the one before. */
static rer_curve search(double spread, double min_dist)
{
    double at_s = log(spread), at_b = 0, width = 3, best = INFINITY;
    for (int round = 0; round < ROUNDS; round++, width *= .7) {
        double middle_s = at_s, middle_b = at_b;
        for (int i = -GRID; i <= GRID; i++)
            for (int j = -GRID; j <= GRID; j++) {
                double s = middle_s + width * i / GRID, b = middle_b + width * j / GRID;
                double sum = misfit(s, b, spread, min_dist);
                if (sum < best) {
                    best = sum;
                    at_s = s;
                    at_b = b;
                }
            }
    }
    return (rer_curve){.a = exp(-2 * exp(at_b) * at_s), .b = exp(at_b)};
}

static void assert_near(double value, double expected, double bar)
{
    if (!(fabs(value / expected - 1) <= bar))
        fail_msg("%.8g, not %.8g", value, expected);
}

static void test_known_pairs(void **state)
{
    (void)state;
    rer_curve paper = rer_curve_fit(25, 24), usual = rer_curve_fit(1, .1);
    assert_near(paper.a, 7.4673e-7, 1e-5);
    assert_near(paper.b, 1.87817, 5e-6);
    assert_near(usual.a, 1.57694, 5e-6);
    assert_near(usual.b, .89506, 1e-5);
}

static void test_against_a_search(void **state)
{
    (void)state;
    static const double pairs[][2] = {{25, 24}, {1, .1}, {1, 0}, {1, .99}, {2, 5}, {.01, .005}, {1000, 1}};
    for (unsigned i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        rer_curve fitted = rer_curve_fit(pairs[i][0], pairs[i][1]), searched = search(pairs[i][0], pairs[i][1]);
        assert_near(fitted.b, searched.b, 1e-5);
        assert_near(log(fitted.a), log(searched.a), 1e-5);
    }
}

/* Where min_dist lies beyond the points, every target is 1: something finite comes out. */
static void test_nothing_to_fit(void **state)
{
    (void)state;
    rer_curve flat = rer_curve_fit(1, 100);
    assert_true(isfinite(flat.a) && isfinite(flat.b) && flat.a > 0 && flat.b > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_pairs),
        cmocka_unit_test(test_against_a_search),
        cmocka_unit_test(test_nothing_to_fit),
    };
    return cmocka_run_group_tests_name("autoencoder.curve", tests, NULL, NULL);
}
