/* Rows in parts against the same rows in one place: every number has the same bits, however the parts
 * are cut (at multiples of RER_PART_ROWS), merged and ordered. */
#include "made_data.h"
#include "parts/parts.h"
#include "run/result.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A data set in memory, and how it is cut. */
typedef struct whole {
    int64_t N, D;
    float *x;       /* [N, D] */
    int32_t *label; /* [N], -1: none */
    const rer_dataset *data;
    int64_t blocks_each; /* of a part */
    uint64_t seed;       /* of the order */
    int32_t threads;
    int broken; /* what goes wrong: 1 a part is missing, 2 a part comes twice, 3 rubbish, 4 wrong start */
} whole;

static whole make_whole(int64_t N, int64_t D, int32_t C, uint64_t seed)
{
    whole made = {.N = N, .D = D, .blocks_each = 1, .seed = 1, .threads = 1};
    made.x = malloc((size_t)(N * D) * sizeof *made.x);
    made.label = malloc((size_t)N * sizeof *made.label);
    assert_true(made.x != NULL && made.label != NULL);
    for (int64_t i = 0; i < N; i++) {
        made.label[i] = (int32_t)((uint64_t)(i * 2654435761) >> 7) % C;
        for (int64_t j = 0; j < D; j++)
            made.x[i * D + j] = (float)(made_normal(&seed) + (j % C == made.label[i] ? 2 : 0) + (j == 0 ? 50 : 0)) *
                                (j % 5 == 4 ? 1e-4F : 1);
    }
    for (int64_t i = 0; i < N; i += 37)
        made.label[i] = (made.label[i] + 1) % C;
    return made;
}

static void free_whole(whole *all)
{
    free(all->x);
    free(all->label);
}

/* ---- asking the parts ------------------------------------------------------------------------ */

typedef struct held {
    void *bytes;
    int64_t size;
} held;

static rer_status answer_part(held *answer, const whole *all, int64_t first, const rer_message *task, rer_error *error)
{
    int64_t rows = rer_min(all->blocks_each * RER_PART_ROWS, all->N - first);
    rer_part part = {
        .size = sizeof part,
        .rows = {.data = all->x + first * all->D, .dtype = RER_F32, .rank = 2, .shape = {rows, all->D}},
        .codes = rer_dataset_labels(all->data) + first,
        .first = first + (all->broken == 4 ? 1 : 0),
        .threads = all->threads,
    };
    return rer_part_answer(&answer->bytes, &answer->size, &part, task, NULL, error);
}

/* Makes one of two of the answers, until few are left. */
static rer_status merge_some(held *answers, int64_t *count, uint64_t *seed, rer_error *error)
{
    rer_status status = RER_OK;
    while (status == RER_OK && *count > 2) {
        int64_t i = (int64_t)(made_uniform(seed) * (double)*count), last = *count - 1;
        held merged = {0}, other = answers[last];
        i = i < last ? i : last - 1;
        status = rer_part_merge(&merged.bytes, &merged.size, &(rer_message){answers[i].bytes, answers[i].size},
                                &(rer_message){other.bytes, other.size}, error);
        if (status != RER_OK)
            break;
        free(answers[i].bytes);
        free(other.bytes);
        answers[i] = merged;
        (*count)--;
    }
    return status;
}

/* All answers as one, merged from the first on or from the last on. */
static rer_tensors *merge_all(held *all, const held *answers, int64_t count, bool backwards)
{
    held merged = answers[backwards ? count - 1 : 0];
    for (int64_t i = 1; i < count; i++) {
        held made = {0}, next = answers[backwards ? count - 1 - i : i];
        assert_int_equal(rer_part_merge(&made.bytes, &made.size, &(rer_message){merged.bytes, merged.size},
                                        &(rer_message){next.bytes, next.size}, NULL),
                         RER_OK);
        if (i > 1)
            free(merged.bytes);
        merged = made;
    }
    *all = merged;
    rer_tensors *tensors = rer_exchange_read(merged.bytes, merged.size, "merged");
    assert_int_equal(rer_tensors_status(tensors, NULL), RER_OK);
    return tensors;
}

/* Sums have the same bits in whatever order they are merged: exactly for the scatter, once the rest is
 * added for the class sums. */
static void compare_orders(const held *answers, int64_t count)
{
    held all[2];
    rer_tensors *in[2] = {merge_all(&all[0], answers, count, false), merge_all(&all[1], answers, count, true)};
    if (rer_exchange_is(in[0], RER_STAGE_SCATTER)) {
        rer_scatter_answer a = {0}, b = {0};
        rer_exchange_get_scatter(&a, in[0]);
        rer_exchange_get_scatter(&b, in[1]);
        if (a.triangle != NULL)
            assert_memory_equal(a.triangle, b.triangle, (size_t)(a.D * (a.D + 1) / 2) * sizeof *a.triangle);
        rer_scatter_answer_free(&a);
        rer_scatter_answer_free(&b);
    } else if (rer_exchange_is(in[0], RER_STAGE_NEAR)) { /* the nearest of all, whoever was asked first */
        const char *names[] = {"list", "trusted"};
        for (int i = 0; i < 2; i++) {
            int64_t n[2] = {0};
            rer_dtype dtype = i == 0 ? RER_U8 : RER_F32;
            void *a = rer_exchange_list(in[0], names[i], dtype, &n[0]);
            void *b = rer_exchange_list(in[1], names[i], dtype, &n[1]);
            assert_true(n[0] > 0 && n[0] == n[1]);
            assert_memory_equal(a, b, (size_t)n[0] * (i == 0 ? 1 : sizeof(float)));
            free(a);
            free(b);
        }
    } else {
        rer_sums_answer a = {0}, b = {0};
        rer_exchange_get_sums(&a, in[0]);
        rer_exchange_get_sums(&b, in[1]);
        for (int64_t i = 0; i < a.sums.C * a.sums.D; i++)
            assert_true(a.sums.sum[i] + a.sums.rest[i] == b.sums.sum[i] + b.sums.rest[i]);
        for (int64_t j = 0; j < a.sums.D; j++)
            assert_true(a.sums.square[j] + a.sums.square_rest[j] == b.sums.square[j] + b.sums.square_rest[j]);
        rer_sums_answer_free(&a);
        rer_sums_answer_free(&b);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rer_tensors_status(in[i], NULL), RER_OK);
        rer_tensors_free(in[i]);
        free(all[i].bytes);
    }
}

static rer_status ask_parts(void *context, const rer_message *task, bool merge, rer_part_take *take, void *taker,
                            rer_error *error)
{
    whole *all = context;
    int64_t each = all->blocks_each * RER_PART_ROWS, count = 0;
    held *answers = calloc((size_t)(all->N / each + 3), sizeof *answers);
    rer_status status = RER_OK;
    uint64_t seed = all->seed;
    for (int64_t first = 0; status == RER_OK && first < all->N; first += each)
        if (all->broken != 1 || first != each)
            status = answer_part(&answers[count++], all, first, task, error);
    if (status == RER_OK && all->broken == 2)
        status = answer_part(&answers[count++], all, 0, task, error);
    if (status == RER_OK && all->broken == 3)
        ((char *)answers[0].bytes)[40] ^= 1;
    if (status == RER_OK && merge && all->broken == 0 && count > 1)
        compare_orders(answers, count);
    if (status == RER_OK && merge)
        status = merge_some(answers, &count, &seed, error);
    for (int64_t left = count; status == RER_OK && left > 0; left--) { /* any order */
        int64_t i = rer_min(left - 1, (int64_t)(made_uniform(&seed) * (double)left));
        held next = answers[i];
        answers[i] = answers[left - 1];
        answers[left - 1] = next;
        status = take(taker, &(rer_message){next.bytes, next.size}, error);
    }
    for (int64_t i = 0; i < count; i++)
        free(answers[i].bytes);
    free(answers);
    return status;
}

static rer_status analyze_parts(rer_result **result, whole *all, const rer_options *options, rer_error *error)
{
    rer_dataset *data = NULL;
    rer_view labels = {.data = all->label, .dtype = RER_I32, .rank = 1, .shape = {all->N}};
    rer_parts parts = {.ask = ask_parts, .context = all};
    rer_status status = rer_dataset_apart(&data, all->N, all->D, &labels, &parts, error);
    all->data = data;
    if (status == RER_OK)
        status = rer_analyze(result, data, options, NULL, NULL, error);
    rer_dataset_free(data);
    return status;
}

static rer_result *analyze_here(const whole *all, const rer_options *options)
{
    rer_error error = {0};
    rer_dataset *data = NULL;
    rer_result *result = NULL;
    rer_view rows = {.data = all->x, .dtype = RER_F32, .rank = 2, .shape = {all->N, all->D}};
    rer_view labels = {.data = all->label, .dtype = RER_I32, .rank = 1, .shape = {all->N}};
    if (rer_dataset_wrap(&data, &rows, &labels, options, &error) != RER_OK ||
        rer_analyze(&result, data, options, NULL, NULL, &error) != RER_OK)
        fail_msg("%s", error.message);
    rer_dataset_free(data);
    return result;
}

static void assert_same(const rer_result *a, const rer_result *b)
{
    size_t rows = (size_t)a->N;
    rer_summary left = a->summary, right = b->summary;
    assert_int_equal(a->N, b->N);
    const void *left_columns[] = {a->given, a->suggested, a->own, a->other, a->logit, a->outlier_score, a->proposed};
    const void *right_columns[] = {b->given, b->suggested, b->own, b->other, b->logit, b->outlier_score, b->proposed};
    for (size_t i = 0; i < sizeof left_columns / sizeof *left_columns; i++) {
        assert_true((left_columns[i] == NULL) == (right_columns[i] == NULL));
        if (left_columns[i] != NULL)
            assert_memory_equal(left_columns[i], right_columns[i], rows * 4);
    }
    assert_memory_equal(a->flags, b->flags, rows);
    assert_memory_equal(a->classes, b->classes, (size_t)a->C * sizeof *a->classes);
    assert_int_equal(a->looks.count, b->looks.count);
    if (a->options.probability == RER_CHANNEL) {
        size_t looked = (size_t)a->looks.count;
        assert_true(looked > 0);
        assert_memory_equal(a->looks.row, b->looks.row, looked * sizeof *a->looks.row);
        assert_memory_equal(a->looks.near, b->looks.near, looked * RER_NEAR_ROWS * sizeof *a->looks.near);
        assert_memory_equal(a->looks.nearness, b->looks.nearness, looked * sizeof *a->looks.nearness);
    }
    left.seconds = right.seconds = (rer_seconds){0};
    left.peak_memory = right.peak_memory = 0;
    assert_memory_equal(&left, &right, sizeof left);
}

/* How the rows are cut, and in which order the answers come and are merged. */
typedef struct cut {
    int64_t blocks_each;
    uint64_t seed;
    int32_t threads;
} cut;

static void check_some(whole *all, const rer_options *options, const cut *cuts, int count)
{
    rer_result *expected = analyze_here(all, options);
    for (int i = 0; i < count; i++) {
        rer_error error = {0};
        rer_result *result = NULL;
        all->blocks_each = cuts[i].blocks_each;
        all->seed = cuts[i].seed;
        all->threads = cuts[i].threads;
        if (analyze_parts(&result, all, options, &error) != RER_OK)
            fail_msg("%s", error.message);
        assert_same(result, expected);
        rer_result_free(result);
    }
    rer_result_free(expected);
}

/* Cut into parts of one block, of two, and into one; merged in several orders. */
static void check_cuts(whole *all, const rer_options *options)
{
#ifdef __SANITIZE_ADDRESS__ /* which takes its time, and sees at two what there is at five */
    static const cut cuts[] = {{1, 3, 2}, {2, 1, 1}};
#else
    static const cut cuts[] = {{1, 1, 1}, {1, 2, 1}, {1, 3, 2}, {2, 1, 1}, {100, 1, 1}};
#endif
    check_some(all, options, cuts, RER_COUNT(cuts));
}

/* Parts of one block once: for what only the numbers depend on, not how they are put together. */
static void check_one_cut(whole *all, const rer_options *options)
{
    static const cut blocks = {1, 3, 2};
    check_some(all, options, &blocks, 1);
}

static void test_every_normalisation(void **state)
{
    (void)state;
    whole all = make_whole(2060, 15, 3, 3);
    rer_options options = rer_options_default();
    check_cuts(&all, &options);
    for (options.normalize = RER_NORMALIZE_AUTO + 1; options.normalize <= RER_NONE; options.normalize++)
        check_one_cut(&all, &options);
    free_whole(&all);
}

/* Units are found from some of the blocks. */
static void test_many_measurements(void **state)
{
    (void)state;
    whole all = make_whole(33000, 2, 3, 9);
    all.blocks_each = 12;
    rer_options options = rer_options_default();
    check_one_cut(&all, &options);
    free_whole(&all);
}

static void test_given_options(void **state)
{
    (void)state;
    whole all = make_whole(2060, 90, 4, 5);
    rer_options options = rer_options_default();
    options.shrinkage = .1;
    options.seed = 7;
    options.budget = 3;
    options.budget_percent = true;
    check_one_cut(&all, &options);
    options.probability = RER_DENSITY;
    check_one_cut(&all, &options);
    free_whole(&all);
}

static void test_gaps(void **state)
{
    (void)state;
    whole all = make_whole(3080, 12, 3, 6);
    for (int64_t i = 1024; i < 2048; i++) /* a part without labels */
        all.label[i] = -1;
    for (int64_t i = 5; i < all.N; i += 500)
        all.x[i * all.D + 3] = NAN;
    all.x[2500 * all.D] = 1e12F; /* a row that outweighs all others */
    rer_options options = rer_options_default();
    options.drop_invalid = true;
    check_cuts(&all, &options);
    options.normalize = RER_NONE;
    check_one_cut(&all, &options);
    free_whole(&all);
}

static void test_rows_by_class(void **state)
{
    (void)state;
    whole all = make_whole(2060, 16, 4, 8); /* sorted: most parts have one class */
    for (int64_t i = 0; i < all.N; i++)
        all.label[i] = (int32_t)(i * 4 / all.N);
    rer_options options = rer_options_default();
    check_cuts(&all, &options);
    free_whole(&all);
}

static void test_few_rows_many_classes(void **state)
{
    (void)state;
    whole all = make_whole(2100, 6, 1030, 9);
    rer_options options = rer_options_default();
    check_one_cut(&all, &options);
    free_whole(&all);
    all = make_whole(1100, 300, 3, 10); /* scored in double */
    check_one_cut(&all, &options);
    free_whole(&all);
}

static void check_refused(whole *all, rer_options options, const char *words)
{
    rer_error error = {0};
    rer_result *result = NULL;
    assert_int_not_equal(analyze_parts(&result, all, &options, &error), RER_OK);
    assert_null(result);
    if (strstr(error.message, words) == NULL)
        fail_msg("'%s' is not in: %s", words, error.message);
}

static void test_refused(void **state)
{
    (void)state;
    whole all = make_whole(3000, 8, 3, 11);
    rer_options options = rer_options_default(), other = options;
    static const char *const words[] = {NULL, "answered for 1976 rows of 3000", "answered for 4024 rows of 3000", "",
                                        "begins at row 1, which is no multiple of 1024"};
    for (all.broken = 1; all.broken <= 4; all.broken++)
        check_refused(&all, options, words[all.broken]);
    all.broken = 0;
    other.reconstructor = RER_SUBSPACE;
    check_refused(&all, other, "--reconstructor subspace");
    other = options;
    other.details = true;
    check_refused(&all, other, "the rows lie elsewhere, in parts, and cannot be read here");
    all.x[2500 * all.D + 2] = INFINITY;
    check_refused(&all, options, "row 2500, column 2 is Inf");
    free_whole(&all);
}

static void test_refused_messages(void **state)
{
    (void)state;
    rer_error error = {0};
    void *bytes = NULL;
    int64_t size = 0;
    float x[4] = {0};
    int32_t codes[2] = {0, 5};
    rer_part part = {
        .size = sizeof part, .rows = {.data = x, .dtype = RER_F32, .rank = 2, .shape = {2, 2}}, .codes = codes};
    assert_int_equal(rer_part_answer(&bytes, &size, &part, &(rer_message){"abc", 3}, NULL, &error), RER_BAD_INPUT);
    rer_tensors *tensors = rer_exchange_begin(RER_STAGE_SUMS);
    rer_tensors_set_number(tensors, "features", 2);
    rer_tensors_set_number(tensors, "classes", 2);
    rer_tensors_set_number(tensors, "drop_invalid", 0);
    rer_tensors_set_number(tensors, "probability", 0);
    rer_tensors_set_number(tensors, "seed", 0);
    rer_tensors_set_number(tensors, "every", 0);
    assert_int_equal(rer_tensors_pack(tensors, &bytes, &size, NULL), RER_OK);
    rer_message task = {bytes, size};
    void *answer = NULL;
    error = (rer_error){0};
    assert_int_equal(rer_part_answer(&answer, &size, &part, &task, NULL, &error), RER_BAD_USAGE);
    assert_non_null(strstr(error.message, "code 5"));
    codes[1] = 1;
    error = (rer_error){0}; /* no normalisation in the task */
    assert_int_equal(rer_part_answer(&answer, &size, &part, &task, NULL, &error), RER_BAD_INPUT);
    error = (rer_error){0};
    assert_int_equal(rer_part_merge(&answer, &size, &task, &task, &error), RER_BAD_INPUT);
    char *version = strstr((char *)bytes + 8, RER_VERSION); /* the header is text */
    assert_non_null(version);
    version[0] ^= 1;
    error = (rer_error){0};
    assert_int_equal(rer_part_merge(&answer, &size, &task, &task, &error), RER_BAD_INPUT);
    assert_non_null(strstr(error.message, "same version"));
    assert_null(answer);
    free(bytes);
    rer_tensors_free(tensors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_normalisation),
        cmocka_unit_test(test_many_measurements),
        cmocka_unit_test(test_given_options),
        cmocka_unit_test(test_gaps),
        cmocka_unit_test(test_rows_by_class),
        cmocka_unit_test(test_few_rows_many_classes),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_refused_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
