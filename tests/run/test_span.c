/* Few wide rows, analysed in their span, against the same rows analysed as they are (class embeddings, which nobody
 * asks for here, keep an analysis out of the span); and models of them, saved, on new rows. */
#include "files.h"
#include "made_data.h"

#include "fit/model.h"
#include "run/result.h"

#include <math.h>

#define ROWS 90
#define CLASSES 3

static rer_result *analyze(const rer_dataset *data, bool drop)
{
    rer_options options = rer_options_default();
    rer_result *result = NULL;
    rer_error error = {0};
    assert_int_equal(rer_options_set(&options, "shrinkage", ".3", NULL), RER_OK);
    options.drop_invalid = drop;
    if (rer_analyze(&result, data, &options, NULL, NULL, &error) != RER_OK)
        fail_msg("%s", error.message);
    return result;
}

/* Both, of D features; the second one as they are. */
typedef struct two_ways {
    made_data made;
    rer_dataset *data[2];
    rer_result *result[2];
} two_ways;

static void embed_classes(rer_dataset *data, int64_t D)
{
    float *zeros = calloc((size_t)(CLASSES * D), sizeof *zeros);
    rer_view view = {.data = zeros, .dtype = RER_F32, .rank = 2, .shape = {CLASSES, D}};
    assert_non_null(zeros);
    for (int32_t c = 0; c < CLASSES; c++)
        zeros[c * D] = 1;
    assert_int_equal(rer_dataset_set_class_embeddings(data, &view, NULL), RER_OK);
    free(zeros);
}

static void start(two_ways *two, int64_t D, bool duplicated, bool invalid)
{
    made_settings settings = {
        .N = ROWS, .D = D, .C = CLASSES, .duplicated = duplicated, .mislabelled = 6, .offset = 1, .seed = 7};
    *two = (two_ways){.made = made_data_make(&settings)};
    if (invalid)
        two->made.x[17 * D + 3] = NAN;
    for (int way = 0; way < 2; way++)
        two->data[way] = made_data_wrap(&two->made);
    embed_classes(two->data[1], D);
    for (int way = 0; way < 2; way++)
        two->result[way] = analyze(two->data[way], invalid);
    assert_non_null(two->result[0]->model->span);
    assert_null(two->result[1]->model->span);
}

static void finish(two_ways *two)
{
    for (int way = 0; way < 2; way++) {
        rer_result_free(two->result[way]);
        rer_dataset_free(two->data[way]);
    }
    made_data_free(&two->made);
}

/* Beyond this (2e-9) nobody asks, and how far is what roundoff says where classes lie far apart. */
static double within_digits(float logit)
{
    return fmax(-20, fmin((double)logit, 20));
}

static void assert_alike(const rer_result *a, const rer_result *b)
{
    for (int64_t row = 0; row < a->N; row++) {
        double got[] = {(double)a->own[row], (double)a->other[row], within_digits(a->logit[row])};
        double want[] = {(double)b->own[row], (double)b->other[row], within_digits(b->logit[row])};
        for (int i = 0; i < 3; i++)
            if (!(isnan(got[i]) && isnan(want[i])) &&
                !(fabs(got[i] - want[i]) <= (i < 2 ? 1e-4 * fabs(want[i]) : 1e-2 * (1 + fabs(want[i])))))
                fail_msg("row %d, %d: %.9g instead of %.9g", (int)row, i, got[i], want[i]);
        assert_int_equal(a->suggested[row], b->suggested[row]);
        assert_int_equal(a->flags[row], b->flags[row]);
    }
    assert_true(fabs(a->summary.chi - b->summary.chi) < 1e-4);
}

static void test_span(void **state)
{
    (void)state;
    two_ways two;
    start(&two, 300, false, false);
    assert_int_equal(two.result[0]->model->span->rank, ROWS);
    assert_alike(two.result[0], two.result[1]);
    finish(&two);
}

/* Rows that repeat others add no dimension. */
static void test_dependent_rows(void **state)
{
    (void)state;
    two_ways two;
    start(&two, 180, true, false);
    assert_int_equal(two.result[0]->model->span->rank, ROWS / 2);
    assert_alike(two.result[0], two.result[1]);
    finish(&two);
}

static void test_invalid_rows(void **state)
{
    (void)state;
    two_ways two;
    rer_options options = rer_options_default();
    rer_result *result = NULL;
    rer_error error = {0};
    start(&two, 300, false, true);
    assert_true((two.result[0]->flags[17] & RER_FLAG_INVALID) != 0);
    assert_alike(two.result[0], two.result[1]);
    assert_int_equal(rer_analyze(&result, two.data[0], &options, NULL, NULL, &error), RER_BAD_INPUT);
    assert_non_null(strstr(error.message, "row 17"));
    assert_non_null(strstr(error.message, "column 3"));
    finish(&two);
}

/* New rows, which do not lie in the span, by a model that was saved and loaded. */
static void test_saved_model(void **state)
{
    (void)state;
    two_ways two;
    made_settings settings = {.N = 40, .D = 300, .C = CLASSES, .offset = 1, .seed = 8};
    made_data more = made_data_make(&settings);
    rer_dataset *rows = made_data_wrap(&more);
    rer_result *scored[2] = {NULL, NULL};
    rer_options options = rer_options_default();
    start(&two, 300, false, false);
    for (int way = 0; way < 2; way++) {
        rer_model *model = NULL;
        rer_error error = {0};
        assert_int_equal(rer_model_save(two.result[way]->model, file_path("m.safetensors"), NULL), RER_OK);
        if (rer_model_load(&model, file_path("m.safetensors"), &error) != RER_OK ||
            rer_score(&scored[way], model, rows, &options, NULL, NULL, &error) != RER_OK)
            fail_msg("%s", error.message);
        assert_int_equal(rer_model_columns(model), 300);
        rer_model_free(model);
    }
    assert_alike(scored[0], scored[1]);
    rer_result_free(scored[0]);
    rer_result_free(scored[1]);
    rer_dataset_free(rows);
    made_data_free(&more);
    finish(&two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_span),
        cmocka_unit_test(test_dependent_rows),
        cmocka_unit_test(test_invalid_rows),
        cmocka_unit_test(test_saved_model),
    };
    return cmocka_run_group_tests_name("run.span", tests, NULL, NULL);
}
