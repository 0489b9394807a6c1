/* Temperature and noise rate of the labels seen against a dense grid search written out plainly,
 * and against the truth where the labels are made by the model itself. */
#include "fit/label_fit.h"

#include "made_data.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

typedef struct labels_seen {
    int64_t rows;
    int32_t C;
    float *d2;     /* [rows, C] */
    int32_t *code; /* [rows] */
    float *log_n;  /* [C] */
} labels_seen;

/* Rows whose true class is drawn from the posterior at temperature t and then flipped with
 * probability eta; errors in units of `unit`. */
static labels_seen make_labels(int64_t rows, int32_t C, double t, double eta, double unit, uint64_t seed)
{
    labels_seen made = {.rows = rows,
                        .C = C,
                        .d2 = calloc((size_t)(rows * C), sizeof(float)),
                        .code = calloc((size_t)rows, sizeof(int32_t)),
                        .log_n = calloc((size_t)C, sizeof(float))};
    assert_true(made.d2 != NULL && made.code != NULL && made.log_n != NULL);
    for (int32_t k = 0; k < C; k++)
        made.log_n[k] = logf(100 + 10 * (float)k);
    for (int64_t i = 0; i < rows; i++) {
        float *d2 = made.d2 + i * C;
        double total = 0, sum = 0;
        for (int32_t k = 0; k < C; k++) {
            double z = made_normal(&seed);
            d2[k] = (float)(unit * (40 + 4 * z + (k == i % C ? -15 : 0)));
            total += exp((double)made.log_n[k] - t / 2 * (double)d2[k]);
        }
        double draw = made_uniform(&seed) * total;
        while (made.code[i] < C - 1 &&
               (sum += exp((double)made.log_n[made.code[i]] - t / 2 * (double)d2[made.code[i]])) < draw)
            made.code[i]++;
        if (made_uniform(&seed) < eta)
            made.code[i] = (made.code[i] + 1 + (int32_t)(made_uniform(&seed) * (C - 1))) % C;
    }
    return made;
}

static void free_labels(labels_seen *labels)
{
    free(labels->d2);
    free(labels->code);
    free(labels->log_n);
}

/* p [rows]: posterior of the label seen. */
static void posteriors(double *p, const labels_seen *labels, double t)
{
    for (int64_t i = 0; i < labels->rows; i++) {
        const float *d2 = labels->d2 + i * labels->C;
        double own = -t / 2 * (double)d2[labels->code[i]] + (double)labels->log_n[labels->code[i]], sum = 0;
        for (int32_t k = 0; k < labels->C; k++)
            sum += exp((double)labels->log_n[k] - t / 2 * (double)d2[k] - own);
        p[i] = 1 / sum;
    }
}

static double likelihood(const double *p, const labels_seen *labels, double eta)
{
    double sum = 0;
    for (int64_t i = 0; i < labels->rows; i++)
        sum += log(fmax((1 - eta) * p[i] + eta * (1 - p[i]) / (labels->C - 1), 1e-300));
    return sum / (double)labels->rows;
}

/* Takes the highest likelihood over a grid of t and eta around *best into it. */
static void search_grid(rer_label_fit *best, const labels_seen *labels, double t_range, double t_step, double eta_range,
                        double eta_step)
{
    double *p = calloc((size_t)labels->rows, sizeof(double));
    rer_label_fit center = *best;
    assert_non_null(p);
    for (double log_t = -t_range; log_t <= t_range; log_t += t_step) {
        posteriors(p, labels, center.temperature * exp(log_t));
        for (double eta = center.noise - eta_range; eta <= center.noise + eta_range; eta += eta_step) {
            double value = eta >= 0 && eta <= 1 ? likelihood(p, labels, eta) : -INFINITY;
            if (value > best->objective)
                *best = (rer_label_fit){center.temperature * exp(log_t), eta, value};
        }
    }
    free(p);
}

static rer_label_problem problem_of(const labels_seen *labels, double *scratch)
{
    return (rer_label_problem){.d2 = labels->d2,
                               .code = labels->code,
                               .log_n = labels->log_n,
                               .rows = labels->rows,
                               .C = labels->C,
                               .kernels = rer_cpu_kernels(),
                               .scratch = scratch};
}

static void check_fit(const labels_seen *labels, double around)
{
    double *scratch = malloc((size_t)labels->rows * sizeof(double));
    double *p = calloc((size_t)labels->rows, sizeof(double));
    assert_true(scratch != NULL && p != NULL);
    rer_label_fit grid = {.temperature = around, .noise = .5, .objective = -INFINITY};
    search_grid(&grid, labels, 3, .05, .5, .01);
    search_grid(&grid, labels, .06, .002, .012, .0005);
    rer_label_problem problem = problem_of(labels, scratch);
    rer_label_fit fit = rer_fit_labels(&problem);
    posteriors(p, labels, fit.temperature);
    double honest = likelihood(p, labels, fit.noise);
    /* It says what it has, and it has at least what the grid finds. */
    if (!(fabs(fit.objective - honest) < 1e-6) || !(honest > grid.objective - 1e-6) ||
        !(fabs(log(fit.temperature / grid.temperature)) < .01) || !(fabs(fit.noise - grid.noise) < .002))
        fail_msg("t %g eta %g likelihood %.7f (really %.7f), but a grid finds t %g eta %g likelihood %.7f",
                 fit.temperature, fit.noise, fit.objective, honest, grid.temperature, grid.noise, grid.objective);
    free(scratch);
    free(p);
}

static void test_against_grid(void **state)
{
    (void)state;
    static const struct {
        int32_t C;
        double t, eta, unit;
    } cases[] = {{3, .5, .1, 1}, {3, .5, 0, 1}, {10, 1, .3, 1}, {10, 1, .05, 1}, {2, .3, .2, 1}, {10, 1e4, .1, 1e-4}};
    for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++) {
        labels_seen labels = make_labels(600, cases[i].C, cases[i].t, cases[i].eta, cases[i].unit, (uint64_t)i + 1);
        check_fit(&labels, cases[i].t);
        free_labels(&labels);
    }
}

static void test_finds_the_truth(void **state)
{
    (void)state;
    labels_seen labels = make_labels(20000, 8, .6, .15, 1, 9);
    double *scratch = malloc((size_t)labels.rows * sizeof(double));
    assert_non_null(scratch);
    rer_label_problem problem = problem_of(&labels, scratch);
    rer_label_fit fit = rer_fit_labels(&problem);
    if (!(fabs(fit.temperature / .6 - 1) < .1) || !(fabs(fit.noise - .15) < .02))
        fail_msg("t %g eta %g instead of .6 and .15", fit.temperature, fit.noise);
    free(scratch);
    free_labels(&labels);
}

/* Errors of all classes equal: nothing to choose, but no NaN either. */
static void test_no_information(void **state)
{
    (void)state;
    labels_seen labels = make_labels(50, 4, 1, 0, 1, 3);
    double scratch[50];
    for (int64_t i = 0; i < labels.rows * labels.C; i++)
        labels.d2[i] = 0;
    rer_label_problem problem = problem_of(&labels, scratch);
    rer_label_fit fit = rer_fit_labels(&problem);
    assert_true(isfinite(fit.temperature) && isfinite(fit.objective) && fit.noise >= 0 && fit.noise <= 1);
    free_labels(&labels);
}

/* mean p_c^power over a dense grid of t. */
static void test_robust(void **state)
{
    (void)state;
    labels_seen labels = make_labels(600, 5, .5, .2, 1, 4);
    double scratch[600], p[600], highest = 0, at = 0;
    for (double log_t = -3; log_t < 3; log_t += .005) {
        double mean = 0;
        posteriors(p, &labels, exp(log_t));
        for (int64_t i = 0; i < labels.rows; i++)
            mean += pow(p[i], .7) / (double)labels.rows;
        if (mean > highest) {
            highest = mean;
            at = exp(log_t);
        }
    }
    rer_label_problem problem = problem_of(&labels, scratch);
    rer_label_fit fit = rer_fit_robust(&problem, false);
    if (!(fabs(fit.objective - highest) < 1e-5) || !(fabs(log(fit.temperature / at)) < .05))
        fail_msg("t %g mean %g, but a grid finds t %g mean %g", fit.temperature, fit.objective, at, highest);
    free_labels(&labels);
}

/* A rough search has the mean nearly right, and says it as it is. */
static void test_roughly(void **state)
{
    (void)state;
    labels_seen labels = make_labels(600, 5, .5, .2, 1, 4);
    double scratch[600], p[600], mean = 0;
    rer_label_problem problem = problem_of(&labels, scratch);
    rer_label_fit best = rer_fit_robust(&problem, false), rough = rer_fit_robust(&problem, true);
    posteriors(p, &labels, rough.temperature);
    for (int64_t i = 0; i < labels.rows; i++)
        mean += pow(p[i], .7) / (double)labels.rows;
    assert_true(fabs(rough.objective - mean) < 1e-6);
    assert_true(rough.objective > best.objective - 2e-4 && rough.objective < best.objective + 1e-6);
    free_labels(&labels);
}

static void test_parabola(void **state)
{
    (void)state;
    uint64_t seed = 5;
    for (int i = 0; i < 100; i++) {
        double top = 10 * made_normal(&seed), bend = .1 + made_uniform(&seed), height = made_normal(&seed);
        double x[3] = {top - .1 - made_uniform(&seed), 0, top + .1 + made_uniform(&seed)}, y[3];
        x[1] = x[0] + (x[2] - x[0]) * (.1 + .8 * made_uniform(&seed));
        for (int j = 0; j < 3; j++)
            y[j] = height - bend * (x[j] - top) * (x[j] - top);
        double got = rer_parabola_top(x, y);
        if (!(fabs(got - top) < 1e-9 * (1 + fabs(top)) / bend))
            fail_msg("the top is at %.12g, not at %.12g", got, top);
    }
    static const double x[] = {1, 2, 4};
    assert_true(rer_parabola_top(x, (double[]){1, 1, 1}) == 2);   /* flat */
    assert_true(rer_parabola_top(x, (double[]){1, 2, 4}) == 2);   /* a line */
    assert_true(rer_parabola_top(x, (double[]){1, 5, 8.9}) == 2); /* its top is beyond the last */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_grid),   cmocka_unit_test(test_finds_the_truth),
                                       cmocka_unit_test(test_no_information), cmocka_unit_test(test_robust),
                                       cmocka_unit_test(test_roughly),        cmocka_unit_test(test_parabola)};
    return cmocka_run_group_tests_name("judge.objective", tests, NULL, NULL);
}
