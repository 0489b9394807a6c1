/* Quick products against sums in double: within their bound, the same bits for a row whatever stands beside it, and by
 * whichever thread. Where the processor has no tiles these are the products in float. */
#include "backend/backend.h"
#include "backend/cpu/tiles.h"

#include "made_data.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MOST_ROWS 300
#define MOST_COLUMNS 133
#define MOST_TERMS 777
#define FARTHEST (3.1 / (1 << 16)) /* of |t_i| |u_k|; a little of float's own */

static float t[MOST_ROWS * MOST_TERMS], u[MOST_COLUMNS * MOST_TERMS], h[MOST_ROWS * MOST_COLUMNS];

static void check_shape(int64_t n, int64_t k, int64_t D, double tails)
{
    double squares = 0;
    made_tailed(t, n * D, 1, tails);
    made_tailed(u, k * D, 2, tails);
    for (int64_t i = 0; i < MOST_ROWS * MOST_COLUMNS; i++)
        h[i] = 7;
    int64_t ldh = k + 1;
    rer_multiply_quickly_f32(h, ldh, t, u, n, k, D);
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < k; c++) {
            const float *x = t + i * D, *y = u + c * D;
            double off = fabs((double)h[i * ldh + c] - made_product(x, y, D)) /
                         sqrt(made_product(x, x, D) * made_product(y, y, D));
            squares += off * off;
            if (!(off <= FARTHEST))
                fail_msg("%d x %d x %d: row %d, column %d is off by %g", (int)n, (int)k, (int)D, (int)i, (int)c, off);
        }
    if (tails == 0)
        assert_true(sqrt(squares / (double)(n * k)) < 6e-6 / sqrt((double)D));
    for (int64_t i = 0; i < n; i++)
        assert_true(h[i * ldh + k] == 7); /* beyond the last column */
}

static void test_against_double(void **state)
{
    (void)state;
    if (!rer_tiles_are_there())
        print_message("left out: this processor multiplies no tiles (AMX); checked are products in float\n");
    static const int64_t shapes[][3] = {{1, 32, 64},   {31, 33, 65},    {32, 64, 96},  {33, 132, 777},
                                        {299, 95, 97}, {257, 100, 512}, {64, 31, 512}, {64, 32, 63}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int tails = 0; tails <= 3; tails += 3)
            check_shape(shapes[s][0], shapes[s][1], shapes[s][2], tails);
}

static void test_tiles_are_used(void **state)
{
    (void)state;
    assert_int_equal(rer_tiles_multiply(h, 64, t, u, 1, 64, 64), rer_tiles_are_there());
    assert_false(rer_tiles_multiply(h, 8, t, u, 300, 8, 64));
}

static void test_a_row_alone(void **state)
{
    (void)state;
    int64_t n = 299, k = 99, D = 200;
    static float alone[MOST_COLUMNS];
    made_tailed(t, n * D, 3, 1);
    made_tailed(u, k * D, 4, 1);
    rer_multiply_quickly_f32(h, k, t, u, n, k, D);
    for (int64_t i = 0; i < n; i += 23) {
        rer_multiply_quickly_f32(alone, k, t + i * D, u, 1, k, D);
        if (rer_tiles_are_there())
            assert_memory_equal(alone, h + i * k, (size_t)k * sizeof *h);
    }
}

static void *multiply_often(void *out)
{
    if (!rer_backend_enter())
        return NULL;
    for (int round = 0; round < 50; round++)
        rer_multiply_quickly_f32(out, 99, t, u, 299, 99, 200);
    rer_backend_leave();
    return out;
}

static void test_threads(void **state)
{
    (void)state;
    static float out[3][MOST_ROWS * MOST_COLUMNS];
    pthread_t thread[3];
    made_tailed(t, 299 * 200, 3, 1);
    made_tailed(u, 99 * 200, 4, 1);
    rer_multiply_quickly_f32(h, 99, t, u, 299, 99, 200);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, multiply_often, out[i]), 0);
    for (int i = 0; i < 3; i++) {
        void *made = NULL;
        assert_int_equal(pthread_join(thread[i], &made), 0);
        assert_non_null(made);
        assert_memory_equal(out[i], h, 299 * 99 * sizeof *h);
    }
}

#define MOST_PACKS 9

/* Bounds of bytes: the same bits by tiles as by vectors, up to the last pack and not beyond it. */
static void check_bounds(const rer_coarse_kernels *kernels, int64_t packs, int64_t n)
{
    static uint8_t above[RER_COARSE_ROWS * MOST_TERMS];
    static int8_t q[MOST_PACKS * RER_COARSE_ROWS * MOST_TERMS + RER_COARSE_BEYOND];
    static float most[RER_COARSE_ROWS * MOST_PACKS * RER_COARSE_ROWS], one[RER_COARSE_ROWS * RER_COARSE_ROWS];
    int32_t start[MOST_PACKS * RER_COARSE_ROWS];
    float unit[MOST_PACKS * RER_COARSE_ROWS], error[MOST_PACKS * RER_COARSE_ROWS];
    rer_coarse_asking asking[RER_COARSE_ROWS];
    rer_coarse_pack pack = {q, start, unit, error};
    int64_t stride = MOST_PACKS * RER_COARSE_ROWS;
    uint64_t seed = (uint64_t)(packs * 1000 + n);
    for (size_t i = 0; i < sizeof above; i++)
        above[i] = (uint8_t)(128 + 40 * made_normal(&seed));
    for (size_t i = 0; i < sizeof q; i++) /* behind the last pack too */
        q[i] = (int8_t)(30 * made_normal(&seed));
    for (int64_t i = 0; i < packs * RER_COARSE_ROWS; i++) {
        start[i] = (int32_t)(1000 * made_normal(&seed));
        unit[i] = (float)(1 + i) * 1e-3F;
        error[i] = (float)(1 + i % 7) * 1e-4F;
    }
    for (int64_t i = 0; i < RER_COARSE_ROWS; i++)
        asking[i] = (rer_coarse_asking){above + i * n, (float)(i + 2) * 1e-3F, (float)(i + 1) * 1e-4F};
    for (size_t i = 0; i < sizeof most / sizeof *most; i++)
        most[i] = 7;
    assert_int_equal(rer_tiles_bound(kernels, most, stride, asking, &pack, packs, n), rer_tiles_are_there());
    rer_bound_products(kernels, most, stride, asking, &pack, packs, n);
    for (int64_t k = 0; k < packs; k++) {
        rer_coarse_pack at = rer_coarse_pack_at(&pack, k, n);
        kernels->bounds(one, RER_COARSE_ROWS, asking, &at, n);
        for (int64_t i = 0; i < RER_COARSE_ROWS; i++)
            assert_memory_equal(most + i * stride + k * RER_COARSE_ROWS, one + i * RER_COARSE_ROWS,
                                RER_COARSE_ROWS * sizeof *one);
    }
    for (int64_t i = 0; i < RER_COARSE_ROWS && packs < MOST_PACKS; i++)
        assert_true(most[i * stride + packs * RER_COARSE_ROWS] == 7);
}

static void test_bounds(void **state)
{
    (void)state;
    const rer_coarse_kernels *kernels = rer_cpu_kernels()->coarse;
    static const int64_t bytes[] = {4, 60, 64, 68, 512, 776};
    for (size_t i = 0; kernels->bounds != NULL && i < sizeof bytes / sizeof *bytes; i++)
        for (int64_t packs = 1; packs <= MOST_PACKS; packs++)
            check_bounds(kernels, packs, bytes[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_double), cmocka_unit_test(test_tiles_are_used),
                                       cmocka_unit_test(test_a_row_alone), cmocka_unit_test(test_bounds),
                                       cmocka_unit_test(test_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
