/* Left-out squared errors of the centroid model against a refit without the row, for every row
 * that is looked at, every class, shrinkages .02, .1 and .5, rows as they are and at unit length:
 *   1. the formula in double, given means and scatter in double: 1e-8;
 *   2. the float pipeline as it runs (means, scatter, metric, errors): 1e-4 wherever at least .02 of
 *      the row's direction is left (den >= .02), and the rough one that the shrinkage is chosen by: 1e-3;
 *   3. the whole reconstructor, from options to errors, with all four normalisations.
 * Each with the distances between classes kept, and made block by block as for many classes. */
#include "brute_force.h"
#include "made_data.h"

#include "fit/centroid.h"
#include "score/score.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DOUBLE_BAR 1e-8
#define FLOAT_BAR 1e-4
#define ROUGH_BAR 1e-3
#define DEN_MIN .02
#define ROWS_CHECKED 24

static const double shrinkages[] = {.02, .1, .5};
#define SHRINKAGES ((int)(sizeof shrinkages / sizeof *shrinkages))

typedef struct left_out_case {
    const char *name;
    made_settings settings;
} left_out_case;

static const left_out_case cases[] = {
    {.name = "random", .settings = {.N = 240, .D = 12, .C = 6, .seed = 1}},
    {.name = "three blocks", .settings = {.N = 2500, .D = 6, .C = 5, .mislabelled = 200, .seed = 2}},
    {.name = "condition 1e6", .settings = {.N = 400, .D = 20, .C = 5, .condition = 1e6, .seed = 3}},
    {.name = "classes of two", .settings = {.N = 80, .D = 10, .C = 40, .seed = 4}},
    {.name = "classes of three", .settings = {.N = 90, .D = 10, .C = 30, .seed = 5}},
    {.name = "one class of two", .settings = {.N = 200, .D = 8, .C = 4, .class_size = 2, .seed = 6}},
    {.name = "fewer rows than features", .settings = {.N = 30, .D = 50, .C = 4, .seed = 7}},
    {.name = "duplicated rows", .settings = {.N = 200, .D = 10, .C = 5, .duplicated = true, .seed = 8}},
    {.name = "constant feature", .settings = {.N = 200, .D = 10, .C = 5, .constant_feature = true, .seed = 9}},
    {.name = "offset 1e4", .settings = {.N = 300, .D = 12, .C = 5, .offset = 1e4, .seed = 10}},
    {.name = "offset 1e4, condition 1e6",
     .settings = {.N = 300, .D = 12, .C = 5, .offset = 1e4, .condition = 1e6, .seed = 11}},
    {.name = "separation 1e3", .settings = {.N = 300, .D = 12, .C = 5, .separation = 1e3, .seed = 12}},
    {.name = "separation 1e3, mislabelled",
     .settings = {.N = 1200, .D = 12, .C = 5, .separation = 1e3, .mislabelled = 40, .seed = 13}},
    /* One row makes up nearly all of W: it is added in double. */
    {.name = "one mislabelled far away",
     .settings = {.N = 300, .D = 8, .C = 3, .separation = 1e3, .mislabelled = 1, .seed = 14}},
    {.name = "classes of one", .settings = {.N = 100, .D = 8, .C = 6, .singletons = 3, .seed = 15}},
    {.name = "unlabelled rows", .settings = {.N = 200, .D = 8, .C = 5, .unlabelled = 40, .separation = 30, .seed = 16}},
    {.name = "many classes", .settings = {.N = 1800, .D = 64, .C = 300, .mislabelled = 59, .seed = 19}},
    {.name = "one feature", .settings = {.N = 60, .D = 1, .C = 3, .seed = 17}},
    {.name = "two classes", .settings = {.N = 60, .D = 4, .C = 2, .seed = 18}},
};
#define CASES ((int)(sizeof cases / sizeof *cases))

static void *allocate(int64_t bytes)
{
    void *memory = NULL;
    assert_int_equal(posix_memalign(&memory, 64, (size_t)(bytes > 0 ? bytes : 1)), 0);
    memset(memory, 0, (size_t)bytes);
    return memory;
}

static rer_scratch allocate_scratch(int64_t bytes)
{
    return rer_scratch_over(allocate(bytes), bytes);
}

/* ---- what is expected ---------------------------------------------------------------------- */

/* A made data set as it is modelled, and the rows that are looked at. */
typedef struct modelled {
    made_data made;
    brute_data data;
    double *x;     /* [N, D] */
    double *scale; /* [N] */
    int64_t rows[ROWS_CHECKED];
    int count;
} modelled;

static modelled model_of(const left_out_case *one, bool unit)
{
    modelled m = {.made = made_data_make(&one->settings)};
    int64_t N = m.made.N, D = m.made.D;
    m.x = allocate(N * D * (int64_t)sizeof(double));
    m.scale = allocate(N * (int64_t)sizeof(double));
    for (int64_t i = 0; i < N; i++) {
        double square = 0;
        for (int64_t j = 0; j < D; j++)
            square += (double)m.made.x[i * D + j] * (double)m.made.x[i * D + j];
        m.scale[i] = unit && D > 1 ? 1 / sqrt(square) : 1;
        for (int64_t j = 0; j < D; j++)
            m.x[i * D + j] = (double)m.made.x[i * D + j] * m.scale[i];
    }
    m.data = (brute_data){.N = N, .D = D, .C = m.made.C, .x = m.x, .code = m.made.code};
    /* Mislabelled and unlabelled rows, some from each end, then rows evenly spread. */
    for (int64_t i = 0; i < N && m.count < ROWS_CHECKED / 3; i++)
        if (m.made.code[i] != m.made.truth[i])
            m.rows[m.count++] = i;
    for (int64_t i = N - 1, from = m.count; i >= 0 && m.count < 2 * from; i--)
        if (m.made.code[i] != m.made.truth[i])
            m.rows[m.count++] = i;
    for (int64_t k = 0, spread = rer_min(ROWS_CHECKED - m.count, N); k < spread; k++)
        m.rows[m.count++] = k * (N - 1) / rer_max(1, spread - 1);
    return m;
}

static void free_modelled(modelled *m)
{
    made_data_free(&m->made);
    free(m->x);
    free(m->scale);
}

/* Largest relative difference of the rows looked at, from refits; NaN must meet NaN. den_min leaves
 * out rows of which less is left. `errors` [N, C] are double or float. */
typedef struct expectation {
    const modelled *m;
    double a;
    bool identity;
    double *d2;  /* [count, C] */
    double *den; /* [count] */
} expectation;

static expectation expect(const modelled *m, double a, bool identity)
{
    int64_t C = m->data.C;
    expectation e = {.m = m,
                     .a = a,
                     .identity = identity,
                     .d2 = allocate(m->count * C * (int64_t)sizeof(double)),
                     .den = allocate(m->count * (int64_t)sizeof(double))};
    for (int k = 0; k < m->count; k++) {
        e.den[k] = 1;
        if (m->data.code[m->rows[k]] >= 0)
            brute_left_out(e.d2 + k * C, &e.den[k], &m->data, m->rows[k], a, identity);
        else
            brute_new_row(e.d2 + k * C, &m->data, m->x + m->rows[k] * m->data.D, a, identity);
    }
    return e;
}

static void free_expectation(expectation *e)
{
    free(e->d2);
    free(e->den);
}

static void check(const expectation *e, const double *d2, const float *rounded, double bar, double den_min,
                  const char *what)
{
    const modelled *m = e->m;
    int64_t C = m->data.C;
    int compared = 0;
    for (int k = 0; k < m->count; k++) {
        int64_t row = m->rows[k];
        if (e->den[k] < den_min)
            continue;
        for (int64_t c = 0; c < C; c++) {
            double want = e->d2[k * C + c], got = d2 != NULL ? d2[row * C + c] : (double)rounded[row * C + c];
            if (isnan(want) != isnan(got) || fabs(got - want) > bar * want)
                fail_msg("%s, shrinkage %g: row %d (label %d), class %d is %.17g instead of %.17g, off by %.1e (den "
                         "%.3g)",
                         what, e->a, (int)row, m->data.code[row], (int)c, got, want, fabs(got / want - 1), e->den[k]);
            compared++;
        }
    }
    assert_true(compared > 0);
}

/* ---- 1. the formula in double -------------------------------------------------------------- */

static void check_in_double(const rer_centroid *centroid, const expectation *e, const char *what)
{
    const modelled *m = e->m;
    int64_t N = m->data.N, C = m->data.C;
    double *d2 = allocate(N * C * (int64_t)sizeof(double));
    rer_scratch scratch = allocate_scratch(rer_centroid_scratch(centroid, N));
    rer_block block = {.count = N, .x = m->made.x, .scale = m->scale, .code = m->made.code};
    rer_centroid_prepare(centroid, rer_cpu_kernels(), &block, true, scratch);
    rer_centroid_tile_f64(centroid, rer_cpu_kernels(), &block, 0, (int32_t)C, d2, scratch);
    check(e, d2, NULL, DOUBLE_BAR, 0, what);
    free(scratch.base);
    free(d2);
}

static void drop_pairs(rer_centroid *centroid)
{
    assert_non_null(centroid->pairs);
    free(centroid->pairs);
    centroid->pairs = NULL;
}

static void test_double(const left_out_case *one, bool unit)
{
    modelled m = model_of(one, unit);
    int64_t D = m.data.D, C = m.data.C, labelled = 0;
    double *mean = allocate(C * D * 8), *scatter = allocate(D * D * 8), *grand = allocate(D * 8);
    int64_t *n = allocate(C * 8);
    brute_fit(mean, n, scatter, &m.data, -1);
    for (int64_t c = 0; c < C; c++) {
        labelled += n[c];
        for (int64_t j = 0; j < D; j++)
            grand[j] += (double)n[c] * mean[c * D + j];
    }
    for (int64_t j = 0; j < D; j++)
        grand[j] /= (double)labelled;
    for (int s = 0; s < SHRINKAGES; s++) {
        rer_error error = {0};
        rer_centroid centroid = {
            .D = D, .columns = D, .C = (int32_t)C, .mean = mean, .grand = grand, .n = n, .in_double = true};
        expectation e = expect(&m, shrinkages[s], false);
        if (rer_centroid_set_metric(&centroid, scatter, (double)(labelled - C), shrinkages[s], NULL, &error) != RER_OK)
            fail_msg("%s", error.message);
        check_in_double(&centroid, &e, unit ? "unit rows" : "rows");
        drop_pairs(&centroid);
        check_in_double(&centroid, &e, unit ? "unit rows, pairs by block" : "rows, pairs by block");
        rer_centroid_clear(&centroid);
        free_expectation(&e);
    }
    rer_backend_leave();
    free(mean);
    free(scatter);
    free(grand);
    free(n);
    free_modelled(&m);
}

/* ---- 2. the float pipeline ------------------------------------------------------------------ */

/* A run over a data set in memory, as rer_analyze makes it. */
typedef struct test_run {
    rer_run run;
    rer_options options;
    rer_dataset *data;
    rer_error error;
} test_run;

static void open_run(test_run *test, const made_data *made, double shrinkage)
{
    *test = (test_run){.options = rer_options_default(), .data = made_data_wrap(made)};
    test->options.shrinkage = shrinkage;
    test->options.threads = 2;
    assert_int_equal(rer_run_start(&test->run, test->data, made->code, made->C, &test->options, NULL, NULL), RER_OK);
    test->run.passes = &rer_passes_here;
}

static void close_run(test_run *test)
{
    rer_run_end(&test->run);
    rer_dataset_free(test->data);
}

/* Errors [N, C] block by block and tile by tile, as the scoring pass makes them. */
static float *score_blocks(const rer_centroid *centroid, const rer_normalizer *normalizer, test_run *test)
{
    const rer_run *run = &test->run;
    int64_t C = run->C, rows = rer_min(RER_BLOCK, run->N);
    float *d2 = allocate(run->N * C * (int64_t)sizeof(float)), *tile = allocate(rows * RER_CLASS_TILE * 4);
    rer_scratch scratch = allocate_scratch(rer_centroid_scratch(centroid, rows));
    void *memory = allocate(rer_block_scratch(run));
    for (int64_t item = 0; item < rer_run_blocks(run); item++) {
        rer_scratch room = rer_scratch_over(memory, rer_block_scratch(run));
        rer_block block = rer_block_take(run, &room);
        assert_int_equal(rer_block_read(&block, run, normalizer, item, &test->error), RER_OK);
        rer_centroid_prepare(centroid, run->kernels, &block, true, scratch);
        for (int64_t first = 0; first < C; first += RER_CLASS_TILE) {
            int64_t classes = rer_min(RER_CLASS_TILE, C - first);
            rer_centroid_tile(centroid, run->kernels, &block, (int32_t)first, (int32_t)classes, tile, scratch);
            for (int64_t i = 0; i < block.count; i++)
                memcpy(d2 + (block.first + i) * C + first, tile + i * classes, (size_t)classes * sizeof(float));
        }
    }
    free(scratch.base);
    free(memory);
    free(tile);
    return d2;
}

static void check_in_float(const rer_centroid *centroid, const rer_normalizer *normalizer, test_run *test,
                           const expectation *e, double bar, const char *what)
{
    float *d2 = score_blocks(centroid, normalizer, test);
    check(e, NULL, d2, bar, DEN_MIN, what);
    free(d2);
}

static void test_float(const left_out_case *one, bool unit)
{
    modelled m = model_of(one, unit);
    double bar = FLOAT_BAR;
    for (int s = 0; s < SHRINKAGES; s++) {
        test_run test;
        rer_normalizer normalizer = {.kind = unit ? RER_UNIT : RER_NONE};
        rer_class_moments moments = {0};
        double *scatter = allocate(m.data.D * m.data.D * (int64_t)sizeof(double));
        expectation e = expect(&m, shrinkages[s], false);
        open_run(&test, &m.made, shrinkages[s]);
        assert_int_equal(rer_class_means(&moments, &normalizer, &test.run, &test.error), RER_OK);
        assert_int_equal(rer_within_scatter(scatter, NULL, &moments, &normalizer, &test.run, &test.error), RER_OK);
        rer_centroid centroid = {.D = m.data.D,
                                 .columns = m.data.D,
                                 .C = m.data.C,
                                 .mean = moments.mean,
                                 .grand = moments.grand,
                                 .n = moments.n,
                                 .in_double = moments.labelled < 4 * m.data.D};
        if (rer_centroid_set_metric(&centroid, scatter, (double)(moments.labelled - m.data.C), shrinkages[s], NULL,
                                    &test.error) != RER_OK)
            fail_msg("%s", test.error.message);
        check_in_float(&centroid, &normalizer, &test, &e, bar, unit ? "unit rows" : "rows");
        drop_pairs(&centroid);
        check_in_float(&centroid, &normalizer, &test, &e, bar,
                       unit ? "unit rows, pairs by block" : "rows, pairs by block");
        rer_centroid_clear(&centroid);
        if (rer_centroid_set_rough_metric(&centroid, scatter, (double)(moments.labelled - m.data.C), shrinkages[s],
                                          &test.error) != RER_OK ||
            rer_centroid_set_pairs(&centroid, 1, NULL, &test.error) != RER_OK)
            fail_msg("%s", test.error.message);
        check_in_float(&centroid, &normalizer, &test, &e, ROUGH_BAR, unit ? "unit rows, rough" : "rows, rough");
        rer_centroid_clear(&centroid);
        rer_class_moments_free(&moments);
        free(scatter);
        close_run(&test);
        free_expectation(&e);
    }
    free_modelled(&m);
}

/* ---- 3. the reconstructor ------------------------------------------------------------------- */

/* Min-max scaling the plain way, by the labelled rows. */
static void scale_to_range(modelled *m)
{
    int64_t N = m->data.N, D = m->data.D;
    for (int64_t j = 0; j < D; j++) {
        double low = INFINITY, high = -INFINITY;
        for (int64_t i = 0; i < N; i++)
            if (m->data.code[i] >= 0) {
                low = fmin(low, (double)m->made.x[i * D + j]);
                high = fmax(high, (double)m->made.x[i * D + j]);
            }
        for (int64_t i = 0; i < N; i++) {
            double scaled = high > low ? ((double)m->made.x[i * D + j] - low) / (high - low) : 0;
            m->x[i * D + j] = fmin(fmax(scaled, 0), 1);
        }
    }
}

static void check_reconstructor(const left_out_case *one, rer_normalize kind, double a)
{
    static const char *const names[] = {"auto", "whiten", "minmax", "unit", "none"};
    test_run test;
    rer_model *model = NULL;
    modelled m = model_of(one, kind == RER_UNIT || kind == RER_WHITEN);
    if (kind == RER_MINMAX)
        scale_to_range(&m);
    expectation e = expect(&m, a, kind != RER_WHITEN);
    int64_t C = m.data.C, rows = rer_min(RER_BLOCK, m.data.N);
    open_run(&test, &m.made, a);
    assert_int_equal(rer_model_make(&model, m.data.D, m.data.C, &test.error), RER_OK);
    model->normalizer.kind = kind;
    model->reconstructor = rer_reconstructor_of(RER_CENTROID);
    rer_row_sample sample = {0};
    if (model->reconstructor->fit(model, &sample, &test.run, &test.error) != RER_OK)
        fail_msg("%s", test.error.message);
    rer_row_sample_free(&sample);
    float *d2 = allocate(m.data.N * C * (int64_t)sizeof(float)), *tile = allocate(rows * RER_CLASS_TILE * 4);
    rer_scratch scratch = allocate_scratch(model->reconstructor->scratch(model, rows));
    void *memory = allocate(rer_block_scratch(&test.run));
    for (int64_t item = 0; item < rer_run_blocks(&test.run); item++) {
        rer_scratch room = rer_scratch_over(memory, rer_block_scratch(&test.run));
        rer_block block = rer_block_take(&test.run, &room);
        assert_int_equal(rer_block_read(&block, &test.run, &model->normalizer, item, &test.error), RER_OK);
        model->reconstructor->prepare(model, &test.run, &block, true, scratch);
        for (int64_t first = 0; first < C; first += RER_CLASS_TILE) {
            int64_t classes = rer_min(RER_CLASS_TILE, C - first);
            model->reconstructor->errors(model, &test.run, &block, (int32_t)first, (int32_t)classes, tile, scratch);
            for (int64_t i = 0; i < block.count; i++)
                memcpy(d2 + (block.first + i) * C + first, tile + i * classes, (size_t)classes * sizeof(float));
        }
    }
    check(&e, NULL, d2, FLOAT_BAR, DEN_MIN, names[kind]);
    free(scratch.base);
    free(memory);
    free(tile);
    free(d2);
    rer_model_free(model);
    close_run(&test);
    free_expectation(&e);
    free_modelled(&m);
}

static void test_reconstructor(void **state)
{
    (void)state;
    static const left_out_case wholes[] = {
        {.name = "everything at once",
         .settings = {.N = 1300,
                      .D = 10,
                      .C = 8,
                      .singletons = 2,
                      .class_size = 2,
                      .unlabelled = 30,
                      .mislabelled = 50,
                      .separation = 5,
                      .offset = 3,
                      .seed = 30}},
        {.name = "fewer rows than features", .settings = {.N = 40, .D = 60, .C = 4, .seed = 31}},
        {.name = "rows outside the range of the labelled",
         .settings = {.N = 80, .D = 6, .C = 3, .unlabelled = 40, .seed = 33}},
        {.name = "many classes",
         .settings = {.N = 4400, .D = 4, .C = 2100, .separation = 10, .unlabelled = 100, .seed = 32}},
    };
    assert_true(wholes[3].settings.C > RER_CENTROID_PAIRS_MAX && wholes[3].settings.C > 2 * RER_CLASS_TILE);
    for (int i = 0; i < 4; i++) {
        check_reconstructor(&wholes[i], RER_WHITEN, .1);
        check_reconstructor(&wholes[i], RER_MINMAX, .1);
        check_reconstructor(&wholes[i], RER_UNIT, .1);
        check_reconstructor(&wholes[i], RER_NONE, .1);
    }
}

static void test_case_in_double(void **state)
{
    test_double(*state, false);
    test_double(*state, true);
}

static void test_case_in_float(void **state)
{
    test_float(*state, false);
    test_float(*state, true);
}

int main(void)
{
    struct CMUnitTest tests[2 * CASES + 1] = {{.name = "the reconstructor", .test_func = test_reconstructor}};
    char names[2 * CASES][64];
    for (int i = 0; i < 2 * CASES; i++) {
        (void)snprintf(names[i], sizeof names[i], "%s, in %s", cases[i / 2].name, i % 2 == 0 ? "double" : "float");
        tests[i + 1] = (struct CMUnitTest){.name = names[i],
                                           .test_func = i % 2 == 0 ? test_case_in_double : test_case_in_float,
                                           .initial_state = (void *)(uintptr_t)&cases[i / 2]};
    }
    return cmocka_run_group_tests_name("fit.left_out", tests, NULL, NULL);
}
