/* The kernels of a noise channel for every instruction set, against its formulas written out plainly in double. */
#include "made_data.h"
#include "plain_channel.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Scale: what the numbers were summed from; floats hold 1e-7 of that. */
static void assert_close(const char *what, const char *kernels, int32_t n, double got, double want, double scale)
{
    if (!(fabs(got - want) <= 2e-5 * (scale + fabs(want))))
        fail_msg("%s (%s, %d classes): %.9g instead of %.9g", what, kernels, (int)n, got, want);
}

/* Sums and odds of a row, with a class that is not there. */
static void test_sums(void **state)
{
    (void)state;
    const rer_kernels *list[MOST_KERNELS];
    int count = list_kernels(list);
    uint64_t seed = 3;
    for (int table = 0; table < count; table++)
        for (int size = 0; size < SIZES; size++)
            for (int draw = 0; draw < DRAWS; draw++) {
                int32_t n = sizes[size], best = -1;
                float z[MOST], e[MOST], rates[MOST];
                double rest = 0, blurred = 0, flow = 0, odds = 0, lambda = .5 * made_uniform(&seed);
                for (int32_t k = 0; k < n; k++) {
                    z[k] = (float)((draw % 3 == 0 ? .5 : draw % 3 == 1 ? 3 : 25) * made_normal(&seed));
                    rates[k] = (float)made_uniform(&seed);
                }
                if (n > 2)
                    z[n / 2] = -INFINITY;
                for (int32_t k = 0; k < n; k++)
                    best = best < 0 || z[k] > z[best] ? k : best;
                for (int32_t k = 0; k < n; k++) {
                    double below = (double)z[k] - (double)z[best];
                    rest += k != best ? exp(below) : 0;
                    blurred += exp(lambda * below);
                    flow += (double)rates[k] * exp(below);
                }
                double total = 1.5 + rest;
                for (int32_t k = 0; k < n; k++)
                    if (k != best) {
                        double own = exp((double)z[k] - (double)z[best]);
                        odds += own / (total - own);
                    }
                rer_channel_sums sums;
                memcpy(e, z, sizeof z);
                list[table]->channel->sums(&sums, e, rates, lambda, n);
                assert_int_equal(sums.best, best);
                assert_true(sums.top == z[best]);
                assert_close("rest", list[table]->name, n, sums.rest, rest, 1e-30);
                assert_close("blurred", list[table]->name, n, sums.blurred, blurred, 0);
                assert_close("flow", list[table]->name, n, sums.flow, flow, 0);
                double got = list[table]->channel->odds(e, total, sums.best, n);
                assert_close("odds", list[table]->name, n, got, odds, .01);
                memcpy(e, z, sizeof z);
                list[table]->channel->sums(&sums, e, NULL, lambda, n);
                assert_true(sums.flow == 0);
            }
}

/* Against sums in double; and a pair has the same bits whatever rows it is multiplied beside. */
static void test_products(void **state)
{
    (void)state;
    static const int64_t lengths[] = {1, 3, 7, 8, 15, 16, 17, 64, 100, 513};
    static float x[8][600];
    const rer_kernels *list[MOST_KERNELS];
    int count = list_kernels(list);
    uint64_t seed = 10;
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 600; j++)
            x[i][j] = (float)made_normal(&seed);
    for (int table = 0; table < count; table++)
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
            int64_t n = lengths[l];
            float bits[8][8] = {{0}};
            for (int draw = 0; draw < 40; draw++) {
                const float *a[4], *b[4];
                int from[8];
                float out[16];
                for (int i = 0; i < 4; i++) { /* the first draws have every pair, the others any, some twice */
                    from[i] = draw < 4 ? draw / 2 * 4 + i : (int)(8 * made_uniform(&seed));
                    from[4 + i] = draw < 4 ? draw % 2 * 4 + i : (int)(8 * made_uniform(&seed));
                    a[i] = x[from[i]] + 1; /* rows lie anywhere */
                    b[i] = x[from[4 + i]] + 2;
                }
                list[table]->channel->products(out, a, b, n);
                for (int i = 0; i < 4; i++) {
                    float row[4];
                    list[table]->channel->row_products(row, a[i], b, n);
                    assert_memory_equal(row, out + 4 * i, sizeof row);
                }
                for (int i = 0; i < 4; i++)
                    for (int k = 0; k < 4; k++) {
                        float *known = &bits[from[i]][from[4 + k]];
                        double sum = 0, size = 0;
                        for (int64_t j = 0; j < n; j++) {
                            double term = (double)a[i][j] * (double)b[k][j];
                            sum += term;
                            size += fabs(term);
                        }
                        if (!(fabs((double)out[4 * i + k] - sum) <= 1e-6 * size))
                            fail_msg("%s: a product of %d is %.9g instead of %.9g", list[table]->name, (int)n,
                                     (double)out[4 * i + k], sum);
                        if (draw < 4)
                            *known = out[4 * i + k];
                        else
                            assert_memory_equal(known, &out[4 * i + k], sizeof *known);
                    }
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_products),
    };
    return cmocka_run_group_tests_name("channel.kernels", tests, NULL, NULL);
}
