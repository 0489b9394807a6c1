/* k-means against searches over everything: the nearest center in double, the best of all ways to divide
 * a few rows, and the mixture's likelihood spelled out. */
#include "studies/cluster/kmeans.h"
#include "made_data.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define ROWS 10
#define D_FEW 3

static void assert_near(double got, double want, double bar)
{
    if (!(fabs(got - want) <= bar))
        fail_msg("%.9g instead of %.9g", got, want);
}

static double distance2(const float *a, const float *b, int64_t D)
{
    double sum = 0;
    for (int64_t j = 0; j < D; j++)
        sum += ((double)a[j] - (double)b[j]) * ((double)a[j] - (double)b[j]);
    return sum;
}

/* [n, D] around `groups` places; square [n] is filled too. */
static void make_rows(float *x, double *square, int64_t n, int64_t D, int groups, uint64_t seed)
{
    for (int64_t i = 0; i < n; i++) {
        square[i] = 0;
        for (int64_t j = 0; j < D; j++) {
            x[i * D + j] = (float)(made_normal(&seed) + 4 * ((i % groups) == j % groups));
            square[i] += (double)x[i * D + j] * (double)x[i * D + j];
        }
    }
}

static void test_nearest(void **state)
{
    (void)state;
    enum { N = 500, D = 17, K = 9 };
    static float x[N * D], centers[K * D], norm[K], tile[N * K], d2[N];
    static double square[N], unused[K];
    static int32_t label[N];
    make_rows(x, square, N, D, 5, 1);
    make_rows(centers, unused, K, D, 5, 2);
    rer_kmeans_norms(norm, centers, K, D, rer_cpu_kernels());
    rer_kmeans_rows rows = {x, square, N, D};
    rer_kmeans_nearest(label, d2, &rows, 100, N - 100, centers, norm, K, tile);
    for (int i = 0; i < N - 100; i++) {
        double least = INFINITY;
        for (int k = 0; k < K; k++)
            least = fmin(least, distance2(x + (100 + i) * D, centers + k * D, D));
        assert_near((double)d2[i], least, 1e-4 * (least + square[100 + i]));
        assert_near(distance2(x + (100 + i) * D, centers + label[i] * D, D), least, 1e-4 * (least + 1));
    }
}

/* Sum of squared distances to the means of the groups that `label` makes; centers too, unless NULL. */
static double inertia_of(const int *label, const float *x, int K, float *centers)
{
    double sum = 0, mean[ROWS][D_FEW] = {{0}}, size[ROWS] = {0};
    for (int i = 0; i < ROWS; i++) {
        size[label[i]]++;
        for (int j = 0; j < D_FEW; j++)
            mean[label[i]][j] += (double)x[i * D_FEW + j];
    }
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < D_FEW; j++) {
            double v = (double)x[i * D_FEW + j] - mean[label[i]][j] / size[label[i]];
            sum += v * v;
        }
    for (int k = 0; centers != NULL && k < K; k++)
        for (int j = 0; j < D_FEW; j++)
            centers[k * D_FEW + j] = size[k] > 0 ? (float)(mean[k][j] / size[k]) : INFINITY;
    return sum;
}

static double best_of_all(const float *x, int K)
{
    int label[ROWS] = {0};
    double least = INFINITY;
    for (int place = 0; place < ROWS;) { /* counts in base K */
        least = fmin(least, inertia_of(label, x, K, NULL));
        for (place = 0; place < ROWS && ++label[place] == K; place++)
            label[place] = 0;
    }
    return least;
}

/* Every start ends where no row would move and centers are means; the best of some starts is the best there is where
 * there are groups, and nearly so where there are none. */
static void check_few(int K, int groups, uint64_t seed)
{
    float x[ROWS * D_FEW], centers[ROWS * D_FEW], means[ROWS * D_FEW];
    double square[ROWS], least = INFINITY;
    make_rows(x, square, ROWS, D_FEW, groups, seed);
    rer_kmeans_rows rows = {x, square, ROWS, D_FEW};
    for (uint64_t key = 0; key < 40; key++) {
        double inertia = 0;
        int label[ROWS];
        assert_int_equal(rer_kmeans_fit(centers, &inertia, &rows, K, 7, key, rer_cpu_kernels(), NULL), RER_OK);
        for (int i = 0; i < ROWS; i++) {
            label[i] = 0;
            for (int k = 1; k < K; k++)
                if (distance2(x + i * D_FEW, centers + k * D_FEW, D_FEW) <
                    distance2(x + i * D_FEW, centers + label[i] * D_FEW, D_FEW))
                    label[i] = k;
        }
        assert_near(inertia, inertia_of(label, x, K, means), 1e-4);
        for (int k = 0; k < K * D_FEW; k++)
            assert_near((double)centers[k], (double)means[k], 1e-5);
        least = fmin(least, inertia);
    }
    double best = best_of_all(x, K);
    assert_true(least > best - 1e-4);
    assert_near(least, best, groups > 1 ? 1e-4 : .05 * best);
}

static void test_against_every_division(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        check_few(2, 2, seed);
        check_few(3, 3, seed);
        check_few(3, 1, seed); /* no groups to find */
    }
}

static void test_more_centers_than_places(void **state)
{
    (void)state;
    float x[ROWS], centers[6];
    double square[ROWS], inertia = -1;
    for (int i = 0; i < ROWS; i++) {
        x[i] = (float)(i % 3);
        square[i] = (double)(x[i] * x[i]);
    }
    rer_kmeans_rows rows = {x, square, ROWS, 1};
    assert_int_equal(rer_kmeans_fit(centers, &inertia, &rows, 6, 1, 0, rer_cpu_kernels(), NULL), RER_OK);
    assert_near(inertia, 0, 0);
    for (int place = 0; place < 3; place++) {
        int there = 0;
        for (int k = 0; k < 6; k++)
            there += centers[k] == (float)place;
        assert_true(there > 0);
    }
}

static void test_likelihood(void **state)
{
    (void)state;
    enum { N = 1300, TRAIN = 700, D = 4, K = 3 };
    static float x[N * D], centers[K * D];
    static double square[N];
    make_rows(x, square, N, D, K, 3);
    rer_kmeans_rows rows = {x, square, N, D}, train = {x, square, TRAIN, D};
    double inertia = 0, got = 0, sum = 0, share[K] = {0}, s2 = 0;
    assert_int_equal(rer_kmeans_fit(centers, &inertia, &train, K, 1, 0, rer_cpu_kernels(), NULL), RER_OK);
    assert_int_equal(rer_kmeans_likelihood(&got, &rows, &train, centers, K, rer_cpu_kernels(), NULL), RER_OK);
    for (int i = 0; i < TRAIN; i++) {
        int best = 0;
        for (int k = 1; k < K; k++)
            if (distance2(x + i * D, centers + k * D, D) < distance2(x + i * D, centers + best * D, D))
                best = k;
        share[best] += 1.0 / TRAIN;
        s2 += distance2(x + i * D, centers + best * D, D) / (TRAIN * D);
    }
    for (int i = 0; i < N; i++) {
        double p = 0;
        for (int k = 0; k < K; k++)
            p += share[k] * exp(-distance2(x + i * D, centers + k * D, D) / (2 * s2)) / pow(2 * acos(-1) * s2, D / 2.);
        sum += log(p) / N;
    }
    assert_near(got, sum, 1e-5 * fabs(sum));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_nearest), cmocka_unit_test(test_against_every_division),
                                       cmocka_unit_test(test_more_centers_than_places),
                                       cmocka_unit_test(test_likelihood)};
    return cmocka_run_group_tests_name("cluster.kmeans", tests, NULL, NULL);
}
