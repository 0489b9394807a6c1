/* The nearest rows of each class against a search over all pairs in double: on one thread and more, with rows of the
 * same group left out, rows that the model was not fitted on, doubted rows and shares of large classes. */
#include "made_data.h"

#include "core/random.h"
#include "score/near_rows.h"
#include "score/score.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CLASSES 20
#define SLOTS 3

/* Rows in three blocks; every third one asks for three classes, its own first. */
typedef struct near_case {
    made_data made;
    rer_dataset *data;
    rer_options options;
    rer_run run;
    rer_normalizer normalizer;
    rer_witnesses witnesses;
    double *center;   /* [D] */
    float *share;     /* [C] */
    uint8_t *doubted; /* [N] */
    int32_t *groups;  /* [N] */
    bool *fitted;     /* [N] */
    rer_near near;
} near_case;

static void *zeros(int64_t count, size_t size)
{
    void *memory = calloc((size_t)count, size);
    assert_non_null(memory);
    return memory;
}

/* The row as it is compared, in double. */
static void unit_of(double *unit, const near_case *one, int64_t row)
{
    int64_t D = one->made.D;
    const float *x = one->made.x + row * D;
    double length = 0, square = 0;
    for (int64_t j = 0; j < D; j++)
        length += (double)x[j] * (double)x[j];
    for (int64_t j = 0; j < D; j++) {
        unit[j] = (double)x[j] / sqrt(length) - one->center[j];
        square += unit[j] * unit[j];
    }
    for (int64_t j = 0; j < D; j++)
        unit[j] /= sqrt(square);
}

/* `kinds` rows and what is nearly a copy of them, up to 97 times `apart`; 0: all differ; CLASSES: one for each class. */
static void start_copies(near_case *one, int64_t N, int64_t D, int32_t threads, int64_t kinds, float apart)
{
    made_settings settings = {
        .N = N, .D = D, .C = CLASSES, .singletons = 1, .unlabelled = 50, .mislabelled = 100, .seed = 4};
    *one = (near_case){
        .made = made_data_make(&settings), .options = rer_options_default(), .normalizer = {.kind = RER_UNIT}};
    for (int64_t row = kinds; kinds > 0 && row < N; row++) {
        int64_t kind = kinds == CLASSES && one->made.code[row] >= 0 ? one->made.code[row] : row % kinds;
        memcpy(one->made.x + row * D, one->made.x + kind * D, (size_t)D * sizeof *one->made.x);
        one->made.x[row * D + row % D] += apart * (float)(row % 97);
    }
    one->data = made_data_wrap(&one->made);
    one->options.threads = threads;
    assert_int_equal(rer_run_start(&one->run, one->data, one->made.code, CLASSES, &one->options, NULL, NULL), RER_OK);
    one->run.passes = &rer_passes_here;
    one->center = zeros(D, sizeof(double));
    one->share = zeros(CLASSES, sizeof(float));
    one->doubted = zeros(N, 1);
    one->groups = zeros(N, sizeof(int32_t));
    one->fitted = zeros(N, sizeof(bool));
    uint64_t seed = 5;
    for (int64_t j = 0; j < D; j++)
        one->center[j] = .1 * made_normal(&seed);
    for (int32_t c = 0; c < CLASSES; c++)
        one->share[c] = 1;
    for (int64_t i = 0; i < N; i++) {
        one->doubted[i] = made_uniform(&seed) < .2;
        one->groups[i] = made_uniform(&seed) < .5 ? (int32_t)(i / 40) : -1;
        one->fitted[i] = made_uniform(&seed) < .7;
    }
    one->witnesses = (rer_witnesses){
        .normalizer = &one->normalizer, .center = one->center, .share = one->share, .doubted = one->doubted, .seed = 3};
    assert_int_equal(rer_near_make(&one->near, (N + 2) / 3, SLOTS, D, NULL), RER_OK);
    double *unit = zeros(D, sizeof(double));
    for (int64_t i = 0; i < one->near.count; i++) {
        int64_t row = 3 * i;
        int32_t own = one->made.code[row], *class = one->near.class + i * SLOTS;
        one->near.row[i] = row;
        unit_of(unit, one, row);
        for (int64_t j = 0; j < D; j++)
            one->near.x[i * D + j] = (float)unit[j];
        class[0] = own;
        class[1] = own < 0 ? 2 : (own + 1) % CLASSES;
        class[2] = i % 5 == 0 ? -1 : own < 0 ? 3 : (own + 2) % CLASSES;
    }
    free(unit);
}

static void start(near_case *one, int64_t N, int64_t D, int32_t threads)
{
    start_copies(one, N, D, threads, 0, 0);
}

static void finish(near_case *one)
{
    rer_near_free(&one->near);
    rer_run_end(&one->run);
    rer_dataset_free(one->data);
    made_data_free(&one->made);
    free(one->center);
    free(one->share);
    free(one->doubted);
    free(one->groups);
    free(one->fitted);
}

static void search(near_case *one)
{
    rer_error error = {0};
    if (rer_near_search(&one->near, &one->witnesses, &one->run, &error) != RER_OK)
        fail_msg("%s", error.message);
}

static bool may_be_near(const near_case *one, int64_t asking, int64_t row, int32_t class)
{
    const rer_run *run = &one->run;
    if (class < 0 || one->made.code[row] != class || row == asking || (run->fitted != NULL && !run->fitted[row]))
        return false;
    if (run->groups != NULL && run->groups[row] >= 0 && run->groups[row] == run->groups[asking])
        return false;
    double draw = rer_random_uniform(3, RER_RANDOM_WITNESS, (uint64_t)row, 0);
    return one->share[class] >= 1 || draw < (double)one->share[class];
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* List and trusted distances of one place against all rows. */
static void check_place(const near_case *one, const double *units, int64_t query, int32_t slot, double *distance,
                        double *sorted)
{
    const rer_near *near = &one->near;
    int64_t N = one->made.N, D = one->made.D, place = query * SLOTS + slot, asking = near->row[query];
    for (int trusted = 0; trusted < 2; trusted++) {
        int64_t n = 0, kept = trusted ? RER_NEAR : RER_NEAR_KEPT;
        for (int64_t row = 0; row < N; row++) {
            double square = 0;
            for (int64_t j = 0; j < D; j++) {
                double d = units[asking * D + j] - units[row * D + j];
                square += d * d;
            }
            bool counts = may_be_near(one, asking, row, near->class[place]) && (!trusted || one->doubted[row] == 0);
            distance[row] = counts ? square : INFINITY;
            if (counts)
                sorted[n++] = square;
        }
        qsort(sorted, (size_t)n, sizeof *sorted, compare);
        for (int64_t j = 0; j < kept; j++) {
            double got = trusted ? (double)near->trusted[place * RER_NEAR + j]
                                 : (double)near->list[place * RER_NEAR_KEPT + j].distance;
            if (j >= n) {
                assert_true(isinf(got));
                continue;
            }
            if (!(fabs(got - sorted[j]) < 2e-6 * (1 + sorted[j]))) /* floats near 1 */
                fail_msg("row %d, class %d: the %d. distance is %.9g instead of %.9g", (int)asking, near->class[place],
                         (int)j, got, sorted[j]);
            if (trusted)
                continue;
            int32_t index = near->list[place * RER_NEAR_KEPT + j].index;
            assert_true(index >= 0 && index < N && fabs(distance[index] - got) < 2e-6 * (1 + got));
            for (int64_t i = 0; i < j; i++)
                assert_int_not_equal(near->list[place * RER_NEAR_KEPT + i].index, index);
        }
    }
}

static void check_all(const near_case *one)
{
    int64_t N = one->made.N, D = one->made.D;
    double *units = zeros(N * D, sizeof(double)), *distance = zeros(N, sizeof(double));
    double *sorted = zeros(N, sizeof(double));
    for (int64_t row = 0; row < N; row++)
        unit_of(units + row * D, one, row);
    for (int64_t query = 0; query < one->near.count; query += 7)
        for (int32_t slot = 0; slot < SLOTS; slot++)
            check_place(one, units, query, slot, distance, sorted);
    free(units);
    free(distance);
    free(sorted);
}

static void test_nearest(void **state)
{
    (void)state;
    near_case one;
    start(&one, 2500, 11, 2);
    search(&one);
    check_all(&one);
    finish(&one);
}

static void test_groups(void **state)
{
    (void)state;
    near_case one;
    start(&one, 2500, 24, 1);
    one.run.groups = one.groups;
    search(&one);
    check_all(&one);
    finish(&one);
}

static void test_rows_not_fitted_on(void **state)
{
    (void)state;
    near_case one;
    start(&one, 1500, 5, 2);
    one.run.fitted = one.fitted;
    search(&one);
    check_all(&one);
    finish(&one);
}

static void test_shares_of_classes(void **state)
{
    (void)state;
    near_case one;
    start(&one, 2500, 8, 2);
    one.share[2] = .3F;
    one.share[3] = .01F; /* fewer rows than a list is long */
    search(&one);
    check_all(&one);
    finish(&one);
}

/* All rows of a class doubted: nobody is trusted, everybody is near. */
static void test_all_doubted(void **state)
{
    (void)state;
    near_case one;
    start(&one, 1200, 8, 1);
    memset(one.doubted, 1, (size_t)one.made.N);
    search(&one);
    check_all(&one);
    for (int64_t i = 0; i < one.near.count * SLOTS * RER_NEAR; i++)
        assert_true(isinf(one.near.trusted[i]));
    finish(&one);
}

/* The same bits with any number of threads. */
static void test_threads(void **state)
{
    (void)state;
    near_case one;
    start(&one, 3300, 37, 1);
    search(&one);
    size_t places = (size_t)(one.near.count * SLOTS);
    for (int32_t threads = 2; threads <= 3; threads++) {
        near_case more;
        start(&more, 3300, 37, threads);
        search(&more);
        assert_memory_equal(one.near.list, more.near.list, places * RER_NEAR_KEPT * sizeof *one.near.list);
        assert_memory_equal(one.near.trusted, more.near.trusted, places * RER_NEAR * sizeof *one.near.trusted);
        finish(&more);
    }
    finish(&one);
}

/* Rows that are known to be far by eight bits are passed over: the lists have the bits of all products. */
static void test_without_coarse_rows(void **state)
{
    (void)state;
    static const rer_coarse_kernels none = {0};
    const int64_t widths[] = {1, 3, 37, 130, 37, 4}, kinds[] = {0, 0, 0, 0, 1, CLASSES};
    const float apart[] = {0, 0,     0,
                           0, 1e-4f, 1e-7f}; /* no bound tells copies apart, nor floats the distances of some */
    for (int i = 0; i < 6; i++) {
        near_case with, without;
        start_copies(&with, 24000, widths[i], 2, kinds[i],
                     apart[i]); /* more of a class than bounds are computed for at a time */
        start_copies(&without, 24000, widths[i], 2, kinds[i], apart[i]);
        rer_kernels plain = *without.run.kernels;
        plain.coarse = &none;
        without.run.kernels = &plain;
        search(&with);
        search(&without);
        size_t places = (size_t)(with.near.count * SLOTS);
        assert_memory_equal(with.near.list, without.near.list, places * RER_NEAR_KEPT * sizeof *with.near.list);
        assert_memory_equal(with.near.trusted, without.near.trusted, places * RER_NEAR * sizeof *with.near.trusted);
        finish(&with);
        finish(&without);
    }
}

/* Wide rows are read in many stretches, and for a third of the classes at a time, some one by one, with the same lists. */
static void test_stretches(void **state)
{
    (void)state;
    near_case one;
    start(&one, 2500, 9000, 2); /* a stretch has room for 1,024 of them */
    search(&one);
    int64_t N = one.made.N;
    double *units = zeros(N * 9000, sizeof(double)), *distance = zeros(N, sizeof(double));
    double *sorted = zeros(N, sizeof(double));
    for (int64_t row = 0; row < N; row++)
        unit_of(units + row * 9000, &one, row);
    for (int64_t query = 0; query < one.near.count; query += 201)
        for (int32_t slot = 0; slot < SLOTS; slot++)
            check_place(&one, units, query, slot, distance, sorted);
    free(units);
    free(distance);
    free(sorted);
    finish(&one);
}

/* What was found in two halves of the rows, merged. */
static void test_merge(void **state)
{
    (void)state;
    near_case one, half[2];
    start(&one, 2500, 11, 1);
    search(&one);
    size_t places = (size_t)(one.near.count * SLOTS);
    for (int i = 0; i < 2; i++) {
        start(&half[i], 2500, 11, 1);
        for (int64_t row = 0; row < 2500; row++)
            half[i].fitted[row] = (row < 1300) == (i == 0);
        half[i].run.fitted = half[i].fitted;
        search(&half[i]);
    }
    rer_near_merge(&half[1].near, half[0].near.list, half[0].near.trusted);
    assert_memory_equal(one.near.list, half[1].near.list, places * RER_NEAR_KEPT * sizeof *one.near.list);
    assert_memory_equal(one.near.trusted, half[1].near.trusted, places * RER_NEAR * sizeof *one.near.trusted);
    finish(&half[0]);
    finish(&half[1]);
    finish(&one);
}

/* A row at the center has no direction: it is as far from all as two rows at a right angle. */
static void test_unit(void **state)
{
    (void)state;
    const rer_kernels *kernels = rer_cpu_kernels();
    float x[5] = {1, 2, 3, 4, 5}, unit[5];
    double center[5] = {.5, 1, 1.5, 2, 2.5}, square = 0;
    rer_near_unit(unit, x, .5, center, 5, kernels);
    for (int j = 0; j < 5; j++)
        assert_true(unit[j] == 0);
    center[0] = 0;
    center[3] = -1;
    rer_near_unit(unit, x, 2, center, 5, kernels);
    for (int j = 0; j < 5; j++)
        square += (2 * (double)x[j] - center[j]) * (2 * (double)x[j] - center[j]);
    for (int j = 0; j < 5; j++)
        assert_true(fabs((double)unit[j] - (2 * (double)x[j] - center[j]) / sqrt(square)) < 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_rows_not_fitted_on),
        cmocka_unit_test(test_shares_of_classes),
        cmocka_unit_test(test_all_doubted),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_without_coarse_rows),
        cmocka_unit_test(test_stretches),
        cmocka_unit_test(test_merge),
        cmocka_unit_test(test_unit),
    };
    return cmocka_run_group_tests_name("score.near_rows", tests, NULL, NULL);
}
