/* Every vector kernel, in every instruction set that this processor has, against plain loops in
 * double, at lengths around the widths of vectors and of the pieces that sums are made of. */
#include "backend/backend.h"

#include "every_kernel.h"
#include "made_data.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LONGEST 1100
static const int lengths[] = {1,  2,  3,  4,   7,   8,   9,   15,   16,   17,   31,
                              32, 33, 63, 100, 511, 512, 513, 1023, 1024, 1025, LONGEST};
#define LENGTHS ((int)(sizeof lengths / sizeof *lengths))

static void assert_near(const char *what, const rer_kernels *kernels, int64_t n, double got, double want, double bar)
{
    if (!(fabs(got - want) <= bar))
        fail_msg("%s, %s, length %d: %.17g instead of %.17g", what, kernels->name, (int)n, got, want);
}

static float random_float(uint64_t *seed)
{
    return (float)made_normal(seed);
}

/* Calls a check with each set of kernels and each length; the arrays hold random numbers. */
typedef struct numbers {
    float x[LONGEST], y[LONGEST], z[LONGEST];
    double a[LONGEST], b[LONGEST], c[LONGEST];
} numbers;

typedef void kernel_check(const rer_kernels *kernels, int64_t n, const numbers *in);

static void for_all(kernel_check *run)
{
    const rer_kernels *list[MOST_KERNELS];
    uint64_t seed = 5;
    numbers *in = malloc(sizeof *in);
    assert_non_null(in);
    for (int j = 0; j < LONGEST; j++) {
        in->x[j] = random_float(&seed);
        in->y[j] = random_float(&seed);
        in->z[j] = random_float(&seed);
        in->a[j] = made_normal(&seed);
        in->b[j] = made_normal(&seed);
        in->c[j] = made_normal(&seed);
    }
    for (int k = 0, count = list_kernels(list); k < count; k++)
        for (int l = 0; l < LENGTHS; l++)
            run(list[k], lengths[l], in);
    free(in);
}

/* ---- half precision ------------------------------------------------------------------------ */

static double half_by_definition(unsigned half)
{
    int exponent = (int)(half >> 10 & 31), mantissa = (int)(half & 1023);
    double sign = half >> 15 ? -1 : 1;
    if (exponent == 31)
        return mantissa != 0 ? NAN : sign * INFINITY;
    return exponent == 0 ? sign * ldexp(mantissa, -24) : sign * ldexp(1024 + mantissa, exponent - 25);
}

static void test_every_half(void **state)
{
    (void)state;
    const rer_kernels *list[MOST_KERNELS];
    uint16_t *halves = malloc(65536 * sizeof *halves);
    float *out = malloc(65536 * sizeof *out);
    assert_true(halves != NULL && out != NULL);
    for (int i = 0; i < 65536; i++)
        halves[i] = (uint16_t)i;
    for (int k = 0, count = list_kernels(list); k < count; k++)
        for (int shift = 0; shift < 9; shift++) { /* so that each is converted in and after the vectors */
            list[k]->half_to_float(out, halves + shift, 65536 - shift);
            for (int i = shift; i < 65536; i++) {
                double want = half_by_definition((unsigned)i), got = (double)out[i - shift];
                if (isnan(want) ? !isnan(got) : got != want || signbit(got) != signbit(want))
                    fail_msg("%s: half 0x%04x is %g instead of %g", list[k]->name, (unsigned)i, got, want);
            }
        }
    free(halves);
    free(out);
}

/* ---- sums and products ---------------------------------------------------------------------- */

static void check_sums(const rer_kernels *kernels, int64_t n, const numbers *in)
{
    double squares = 0, dot = 0, dot_double = 0, sum[LONGEST], block[LONGEST], square[LONGEST];
    for (int64_t j = 0; j < n; j++) {
        squares += (double)in->x[j] * (double)in->x[j];
        dot += (double)in->x[j] * (double)in->y[j];
        dot_double += in->a[j] * in->b[j];
    }
    assert_near("sum_squares", kernels, n, kernels->sum_squares(in->x, n), squares, 1e-11);
    assert_near("dot_f32", kernels, n, kernels->dot_f32(in->x, in->y, n), dot, 1e-11);
    assert_near("dot_f64", kernels, n, kernels->dot_f64(in->a, in->b, n), dot_double, 1e-11);
    memcpy(sum, in->a, sizeof sum);
    memcpy(block, in->a, sizeof block);
    memcpy(square, in->a, sizeof square);
    kernels->add_squares(square, in->x, 1.7, n);
    kernels->add_scaled(sum, in->x, 1.7, n);
    kernels->add_block(block, in->x, n);
    for (int64_t j = 0; j < LONGEST; j++) { /* and nothing past the end */
        assert_near("add_scaled", kernels, n, sum[j], j < n ? in->a[j] + 1.7 * (double)in->x[j] : in->a[j], 1e-14);
        double scaled = 1.7 * (double)in->x[j];
        assert_near("add_squares", kernels, n, square[j], in->a[j] + (j < n ? scaled * scaled : 0), 1e-13);
        assert_near("add_block", kernels, n, block[j], j < n ? in->a[j] + (double)in->x[j] : in->a[j], 1e-14);
    }
}

/* Numbers of very different sizes, added in two orders: the bits are the same, and right. */
static void check_orders(const rer_kernels *kernels, int64_t n, const numbers *in)
{
    enum { TERMS = 50 };
    float terms[TERMS][LONGEST];
    double pair[2][2][LONGEST] = {{{0}}}, rounded[2][LONGEST] = {{0}}, units[LONGEST], wide[LONGEST];
    for (int64_t j = 0; j < n; j++) {
        units[j] = ldexp(1, (int)(j % 7));
        for (int t = 0; t < TERMS; t++) /* below 2^-6 of the units, down to 2^-50 */
            terms[t][j] = (float)ldexp(fmod((double)in->x[(j + 31 * t) % LONGEST], 1), (int)(j % 7) - 7 - (5 * t) % 43);
    }
    for (int order = 0; order < 2; order++)
        for (int t = 0; t < TERMS; t++) {
            const float *term = terms[order == 0 ? t : TERMS - 1 - t];
            for (int64_t j = 0; j < n; j++)
                wide[j] = (double)term[j] / 3;
            kernels->add_pair(pair[order][0], pair[order][1], wide, n);
            kernels->add_rounded(rounded[order], term, 2, units, n);
        }
    for (int64_t j = 0; j < n; j++) {
        long double sum = 0, third = 0;
        for (int t = 0; t < TERMS; t++) {
            sum += (long double)terms[t][j];
            third += (long double)((double)terms[t][j] / 3);
        }
        assert_near("add_rounded", kernels, n, rounded[0][j], (double)sum, TERMS * 0x1p-53 * units[j]);
        assert_true(rounded[0][j] == rounded[1][j]);
        assert_near("add_pair", kernels, n, pair[0][0][j] + pair[0][1][j], (double)third, 2e-16 * fabs((double)third));
        assert_true(pair[0][0][j] + pair[0][1][j] == pair[1][0][j] + pair[1][1][j]);
    }
}

static void check_residual(const rer_kernels *kernels, int64_t n, const numbers *in)
{
    float rounded[LONGEST];
    double exact[LONGEST];
    kernels->residual_f32(rounded, in->x, .3, in->a, n);
    kernels->residual_f64(exact, in->x, .3, in->a, n);
    for (int64_t j = 0; j < n; j++) {
        double want = .3 * (double)in->x[j] - in->a[j];
        assert_near("residual_f32", kernels, n, (double)rounded[j], want, 6.1e-8 * fabs(want));
        assert_near("residual_f64", kernels, n, exact[j], want, 1e-15);
    }
    memcpy(rounded, in->x, sizeof rounded);
    kernels->residual_f32(rounded, rounded, .3, in->a, n); /* in place, as the scatter does it */
    for (int64_t j = 0; j < n; j++)
        assert_near("residual in place", kernels, n, (double)rounded[j], .3 * (double)in->x[j] - in->a[j], 3e-7);
}

static void check_direct(const rer_kernels *kernels, int64_t n, const numbers *in)
{
    double square = 0, product = 0, square_double = 0, product_double = 0, d2, g;
    for (int64_t j = 0; j < n; j++) {
        double d = (double)in->x[j] + (double)in->y[j] - (double)in->z[j], e = in->a[j] + in->b[j] - in->c[j];
        square += d * d;
        product += (double)in->x[j] * d;
        square_double += e * e;
        product_double += in->a[j] * e;
    }
    kernels->direct_f32(in->x, in->y, in->z, n, &d2, &g);
    assert_near("direct_f32 d2", kernels, n, d2, square, 1e-11);
    assert_near("direct_f32 g", kernels, n, g, product, 1e-11);
    kernels->direct_f64(in->a, in->b, in->c, n, &d2, &g);
    assert_near("direct_f64 d2", kernels, n, d2, square_double, 1e-11);
    assert_near("direct_f64 g", kernels, n, g, product_double, 1e-11);
}

/* ---- left-out errors from products ---------------------------------------------------------- */

static void check_left_out(const rer_kernels *kernels, int64_t n, const numbers *in)
{
    const double own = 3, h_own = .7, gain = .01, base = 3;
    float h[LONGEST] = {0}, m[LONGEST] = {0};
    double h_double[LONGEST] = {0}, m_double[LONGEST] = {0};
    bool cancelled = false;
    for (int64_t k = 0; k < n; k++) {
        h[k] = in->x[k] / 4;
        m[k] = in->y[k] * in->y[k];
        h_double[k] = (double)h[k];
        m_double[k] = (double)m[k];
    }
    bool says = kernels->left_out_f32(h, m, m, base, own, h_own, gain, n);
    bool says_in_double = kernels->left_out_f64(h_double, m_double, m_double, base, own, h_own, gain, n);
    for (int64_t k = 0; k < n; k++) {
        double before = (double)(in->x[k] / 4), g = own + h_own - before,
               d2 = own + 2 * (h_own - before) + (double)m[k];
        cancelled = cancelled || d2 < RER_CANCELLED_BELOW * (base + (double)m[k]);
        d2 += gain * g * g;
        assert_near("left_out_f32", kernels, n, (double)h[k], d2 > 0 ? d2 : 0, 4e-6);
        assert_near("left_out_f64", kernels, n, h_double[k], d2 > 0 ? d2 : 0, 1e-13);
    }
    assert_int_equal(says, cancelled);
    assert_int_equal(says_in_double, cancelled);
}

/* One entry that cancels is seen wherever it stands, and none where nothing cancels. */
static void check_cancelled(const rer_kernels *kernels, int64_t n, const numbers *in)
{
    (void)in;
    float h[LONGEST] = {0}, m[LONGEST] = {0};
    for (int64_t at = -1; at < n; at += n < 40 ? 1 : 37) {
        for (int64_t k = 0; k < n; k++) {
            h[k] = 0;
            m[k] = 50;
        }
        if (at >= 0)
            h[at] = 50; /* own + m - 2 h = 50 + 50 - 100 */
        assert_int_equal(kernels->left_out_f32(h, m, m, 50, 50, 0, 0, n), at >= 0);
    }
}

/* ---- nearest classes ------------------------------------------------------------------------ */

/* The two nearest of d2 [n] without `skip`: of equals the lower class. */
static rer_nearest nearest_plainly(const float *d2, int64_t n, int64_t skip)
{
    rer_nearest found = {INFINITY, INFINITY, -1, -1, 0};
    for (int64_t k = 0; k < n; k++) {
        found.sum += isnan(d2[k]) ? 0 : sqrt((double)d2[k]);
        if (k == skip)
            continue;
        if (d2[k] < found.first) {
            found.second = found.first;
            found.second_class = found.first_class;
            found.first = d2[k];
            found.first_class = (int32_t)k;
        } else if (d2[k] < found.second) {
            found.second = d2[k];
            found.second_class = (int32_t)k;
        }
    }
    return found;
}

static void assert_same_nearest(const rer_kernels *kernels, const float *d2, int64_t n, int64_t skip, int64_t tile)
{
    float work[LONGEST];
    rer_nearest want = nearest_plainly(d2, n, skip), got = {INFINITY, INFINITY, -1, -1, 0};
    memcpy(work, d2, (size_t)n * sizeof(float));
    for (int64_t first = 0; first < n; first += tile)
        kernels->find_nearest(&got, work + first, (int32_t)first, (int32_t)(n - first < tile ? n - first : tile),
                              (int32_t)skip);
    assert_memory_equal(work, d2, (size_t)n * sizeof(float)); /* the errors are as they were */
    if (got.first_class != want.first_class || got.second_class != want.second_class || got.first != want.first ||
        got.second != want.second)
        fail_msg("%s, %d classes without %d in tiles of %d: %d (%g), %d (%g) instead of %d (%g), %d (%g)",
                 kernels->name, (int)n, (int)skip, (int)tile, got.first_class, (double)got.first, got.second_class,
                 (double)got.second, want.first_class, (double)want.first, want.second_class, (double)want.second);
    assert_near("sum of find_nearest", kernels, n, got.sum, want.sum, 1e-6 * want.sum);
}

static void check_nearest(const rer_kernels *kernels, int64_t n, const numbers *in)
{
    float d2[LONGEST] = {0}, few[LONGEST] = {0};
    for (int64_t k = 0; k < n; k++) {
        d2[k] = in->x[k] * in->x[k];
        few[k] = floorf(3 * fabsf(in->y[k])); /* many ties */
    }
    for (int64_t skip = -1; skip < n; skip += n < 40 ? 1 : 101)
        for (int64_t tile = n < 10 ? 1 : n / 3; tile <= n; tile += n / 3 + 1) {
            assert_same_nearest(kernels, d2, n, skip, tile);
            assert_same_nearest(kernels, few, n, skip, tile);
        }
    few[n / 2] = d2[n / 2] = NAN; /* the missing own error of a class of one */
    assert_same_nearest(kernels, d2, n, n / 2, n);
    assert_same_nearest(kernels, few, n, n / 2, n);
}

/* ---- log sum exp ------------------------------------------------------------------------------ */

static double log_sum_exp_plainly(const float *d2, const float *log_n, double half_t, int64_t n)
{
    double largest = -INFINITY, sum = 0;
    for (int64_t k = 0; k < n; k++)
        largest = fmax(largest, (double)log_n[k] - half_t * (double)d2[k]);
    for (int64_t k = 0; k < n; k++)
        sum += exp((double)log_n[k] - half_t * (double)d2[k] - largest);
    return largest + log(sum);
}

static void check_log_sum_exp(const rer_kernels *kernels, int64_t n, const numbers *in)
{
    float d2[LONGEST] = {0}, log_n[LONGEST] = {0};
    for (int scale = 0; scale < 5; scale++) {
        double half_t = pow(10, scale - 2);
        for (int64_t k = 0; k < n; k++) {
            d2[k] = 1 + in->x[k] * in->x[k];
            log_n[k] = logf(1 + 50 * in->y[k] * in->y[k]);
        }
        double want = log_sum_exp_plainly(d2, log_n, half_t, n);
        /* each term is a float difference of two numbers of this size */
        assert_near("log_sum_exp", kernels, n, kernels->log_sum_exp(d2, log_n, half_t, n), want,
                    1e-6 + 2e-7 * fabs(want));
        log_n[n / 2] = -INFINITY; /* a class without samples */
        if (n > 1)
            assert_near("log_sum_exp without a class", kernels, n, kernels->log_sum_exp(d2, log_n, half_t, n),
                        log_sum_exp_plainly(d2, log_n, half_t, n), 1e-6 + 2e-7 * fabs(want));
    }
}

/* e^-x alone: a term of 1, and one e^-x in each of many pieces of the sum, up to where floats end and
 * past it. */
static void test_exp(void **state)
{
    (void)state;
    enum { PIECE = 512, TERMS = 100, COUNT = PIECE * (TERMS + 1) };
    const rer_kernels *list[MOST_KERNELS];
    float *d2 = calloc(COUNT, sizeof *d2), *log_n = calloc(COUNT, sizeof *log_n);
    assert_true(d2 != NULL && log_n != NULL);
    for (int k = 1; k < COUNT; k++)
        log_n[k] = k % PIECE == 0 ? 0 : -INFINITY;
    for (int kernel = 0, count = list_kernels(list); kernel < count; kernel++)
        for (int step = 0; step <= 500; step++) {
            float x = .013f * (float)step * (step < 400 ? 1 : 20);
            for (int term = 1; term <= TERMS; term++)
                d2[term * PIECE] = x;
            double total = exp(list[kernel]->log_sum_exp(d2, log_n, 1, COUNT)), want = 1 + TERMS * exp(-(double)x);
            assert_near("exp", list[kernel], step, total, want, 3e-7 * want);
        }
    free(d2);
    free(log_n);
}

static void test_sums(void **state)
{
    (void)state;
    for_all(check_sums);
    for_all(check_orders);
    for_all(check_residual);
    for_all(check_direct);
}

static void test_left_out(void **state)
{
    (void)state;
    for_all(check_left_out);
    for_all(check_cancelled);
}

static void test_nearest(void **state)
{
    (void)state;
    for_all(check_nearest);
}

static void check_softmax(const rer_kernels *kernels, int64_t n, const numbers *in)
{
    float p[LONGEST], bias[LONGEST] = {0}, largest = -INFINITY;
    double sum = 0;
    for (int64_t k = 0; k < n; k++) {
        p[k] = 9 * in->x[k];
        bias[k] = k % 5 == 3 && n > 5 ? -INFINITY : in->y[k]; /* a class that is not there */
        largest = fmaxf(largest, p[k] + bias[k]);
    }
    for (int64_t k = 0; k < n; k++)
        sum += exp((double)(9 * in->x[k] + bias[k]) - (double)largest);
    assert_near("softmax's sum", kernels, n, kernels->softmax(p, bias, n), (double)largest + log(sum), 2e-7);
    for (int64_t k = 0; k < n; k++) {
        double want = exp((double)(9 * in->x[k] + bias[k]) - (double)largest) / sum;
        assert_near("softmax", kernels, n, (double)p[k], want, 2e-7 * (1 - log(want + 1e-37)) * want + 1e-37);
    }
}

static void test_softmax(void **state)
{
    (void)state;
    for_all(check_softmax);
}

static void test_log_sum_exp(void **state)
{
    (void)state;
    for_all(check_log_sum_exp);
}

/* ---- rows in eight bits ---------------------------------------------------------------------- */

/* A row of unit length: all alike, one value alone, or a few large ones. */
static void draw_unit(float *x, int64_t n, int kind, uint64_t *seed)
{
    double square = 0;
    for (int64_t j = 0; j < n; j++) {
        double value = made_normal(seed);
        x[j] = (float)(kind == 0 ? value : kind == 1 ? (double)(j == n / 2) : value * value * value);
        square += (double)x[j] * (double)x[j];
    }
    for (int64_t j = 0; j < n; j++)
        x[j] = square > 0 ? x[j] / (float)sqrt(square) : 0;
}

/* Bounds are above the products, and not by more than what the eight bits have lost twice. */
static void check_bounds(const rer_kernels *kernels, int64_t n, const numbers *in)
{
    (void)in;
    enum { ROWS = RER_COARSE_ROWS };
    static float x[2 * ROWS][LONGEST], most[ROWS * 40];
    static int8_t q[ROWS][LONGEST + 4], packed[ROWS * (LONGEST + 4)];
    static uint8_t above[ROWS][LONGEST + 4];
    rer_coarse_asking asking[ROWS];
    int32_t start[ROWS];
    float unit[ROWS], error[ROWS];
    rer_coarse_pack pack = {.q = packed, .start = start, .unit = unit, .error = error};
    uint64_t seed = (uint64_t)n;
    if (kernels->coarse->bounds == NULL)
        return;
    for (int i = 0; i < ROWS; i++) {
        draw_unit(x[i], n, i % 3, &seed);
        draw_unit(x[ROWS + i], n, i / 3 % 3, &seed);
        rer_coarse_scale scale = kernels->coarse->coarsen(q[i], x[i], n);
        for (int64_t j = 0; j < RER_COARSE_BYTES(n); j++)
            above[i][j] = (uint8_t)(q[i][j] + 128);
        asking[i] = (rer_coarse_asking){.q = above[i], .unit = scale.unit, .error = scale.error};
        scale = kernels->coarse->coarsen(q[i], x[ROWS + i], n);
        for (int64_t j = 0; j < RER_COARSE_BYTES(n); j++)
            packed[(j / 4 * ROWS + i) * 4 + j % 4] = q[i][j];
        start[i] = -128 * scale.sum;
        unit[i] = scale.unit;
        error[i] = scale.error;
    }
    kernels->coarse->bounds(most, 40, asking, &pack, RER_COARSE_BYTES(n));
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < ROWS; k++) {
            double product = 0, bound = (double)most[i * 40 + k];
            double lost = 2 * ((double)asking[i].error + (1 + (double)asking[i].error) * (double)error[k]);
            for (int64_t j = 0; j < n; j++)
                product += (double)x[i][j] * (double)x[ROWS + k][j];
            if (!(product <= bound + 1e-6 && bound <= product + lost + 1e-6))
                fail_msg("%s, length %d: the bound of %.9g is %.9g, %.9g lost", kernels->name, (int)n, product, bound,
                         lost);
        }
}

static void test_bounds(void **state)
{
    (void)state;
    for_all(check_bounds);
}

/* Of n numbers the rank-th largest is not below the level, and not far above; those between two are found. */
static void check_levels(const rer_kernels *kernels, int64_t n, const numbers *in)
{
    int32_t at[LONGEST];
    int64_t reached = 0, found = 0;
    n = n / RER_COARSE_ROWS * RER_COARSE_ROWS;
    if (kernels->coarse->level == NULL || n < 2 * RER_COARSE_ROWS)
        return;
    float level = kernels->coarse->level(in->x, n, 11);
    for (int64_t k = 0; k < n; k++)
        reached += in->x[k] >= level;
    assert_true(reached >= 11 && reached <= 24);
    int64_t count = kernels->coarse->between(at, in->x, -.5F, level, n);
    for (int64_t k = 0; k < n; k++)
        if (in->x[k] >= -.5F && in->x[k] < level) {
            assert_true(found < count);
            assert_int_equal(at[found++], k);
        }
    assert_int_equal(found, count);
}

static void test_levels(void **state)
{
    (void)state;
    for_all(check_levels);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_half), cmocka_unit_test(test_sums),        cmocka_unit_test(test_left_out),
        cmocka_unit_test(test_nearest),    cmocka_unit_test(test_log_sum_exp), cmocka_unit_test(test_exp),
        cmocka_unit_test(test_softmax),    cmocka_unit_test(test_bounds),      cmocka_unit_test(test_levels),
    };
    return cmocka_run_group_tests_name("backend.kernels", tests, NULL, NULL);
}
