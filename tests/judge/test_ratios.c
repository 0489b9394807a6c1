/* Ratios, noise rate, thresholds and calibration against their formulas and closed forms. */
#include "judge/judge.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void assert_near(double got, double want, double bar)
{
    if (!(fabs(got - want) <= bar))
        fail_msg("%.17g instead of %.17g", got, want);
}

static void test_chi(void **state)
{
    (void)state;
    assert_near(rer_chi(3, 2), 1.5, 0);
    assert_near(rer_chi(0, 2), 0, 0);
    assert_near(rer_chi(0, 0), 1, 0); /* identical rows in two classes */
    assert_near(rer_chi(2, 0), RER_CHI_MAX, 0);
    assert_near(rer_chi(1, 1e-30), RER_CHI_MAX, 0);
    assert_near(rer_chi(INFINITY, INFINITY), 1, 0);
    assert_true(isnan(rer_chi(NAN, 2)) && isnan(rer_chi(2, NAN)));
}

static void test_noise_rate(void **state)
{
    (void)state;
    /* chi0 is a mixture: a share eta of labels at random has own / rest = 1, the others chi_rand. */
    for (double eta = 0; eta <= 1; eta += .125)
        assert_near(rer_noise_rate(eta + (1 - eta) * .7, .7), eta, 1e-15);
    assert_near(rer_noise_rate(1, 1), 0, 0);    /* no class tells anything */
    assert_near(rer_noise_rate(.4, .5), 0, 0);  /* never below 0, */
    assert_near(rer_noise_rate(1.5, .5), 1, 0); /* nor above 1 */
}

static void test_threshold(void **state)
{
    (void)state;
    /* exp and log spelled out, as the paper has them */
    assert_near(rer_paper_threshold(.8, .7, .1, 2), 1.01 * exp(-1.5 / (1 + 1.38) * log(.8)), 1e-14);
    assert_near(rer_paper_threshold(.8, .7, 0, 1.12), 1.01 / (.8 * sqrt(.8)), 1e-14); /* the larger branch begins */
    assert_near(rer_paper_threshold(.8, .5, .1, 1.1199), 1.5, 1e-14);                 /* 1 + (2 - 1) / 2 */
    assert_near(rer_paper_threshold(.8, .999, .5, 1.05), 1.01, 0);                    /* at least 1.01 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_chi), cmocka_unit_test(test_noise_rate),
                                       cmocka_unit_test(test_threshold)};
    return cmocka_run_group_tests_name("judge.ratios", tests, NULL, NULL);
}
