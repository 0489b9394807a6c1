/* Tasks and answers as named arrays: writing, checked reading, merging. */
#include "parts/parts.h"

/* Sums are exchanged between processes of one version only: another may sum differently. */
#define FORMAT "rer part " RER_VERSION

rer_tensors *rer_exchange_begin(const char *stage)
{
    rer_tensors *tensors = rer_tensors_make();
    rer_tensors_set_text(tensors, "format", FORMAT);
    rer_tensors_set_text(tensors, "stage", stage);
    return tensors;
}

rer_tensors *rer_exchange_read(const void *bytes, int64_t size, const char *what)
{
    rer_tensors *tensors = rer_tensors_unpack(bytes, size, what);
    const char *format = rer_tensors_text(tensors, "format");
    if (format == NULL || strcmp(format, FORMAT) != 0 || rer_tensors_text(tensors, "stage") == NULL)
        rer_tensors_fail(tensors,
                         "is '%.40s' where '" FORMAT "' is needed: the same version of rer has to run everywhere",
                         format != NULL ? format : "something else");
    return tensors;
}

bool rer_exchange_is(const rer_tensors *tensors, const char *stage)
{
    const char *there = rer_tensors_text(tensors, "stage");
    return there != NULL && strcmp(there, stage) == 0;
}

int64_t rer_exchange_integer(rer_tensors *tensors, const char *key, int64_t low, int64_t high)
{
    double number = rer_tensors_number(tensors, key);
    if (number >= (double)low && number <= (double)high && number == floor(number))
        return (int64_t)number;
    rer_tensors_fail(tensors, "%s is %g, not a whole number from %lld to %lld", key, number, (long long)low,
                     (long long)high);
    return 0;
}

void *rer_exchange_list(rer_tensors *tensors, const char *name, rer_dtype dtype, int64_t *count)
{
    int64_t shape[RER_TENSOR_RANK_MAX] = {0};
    if (rer_tensors_has(tensors, name))
        (void)rer_tensors_shape(tensors, name, shape);
    *count = shape[0];
    return rer_tensors_has(tensors, name) ? rer_tensors_copy(tensors, name, dtype, 1, shape) : NULL;
}

/* ---- the normalisation --------------------------------------------------------------------- */

void rer_exchange_put_normalizer(rer_tensors *tensors, const rer_normalizer *normalizer, int64_t D)
{
    rer_tensors_set_number(tensors, "normalize", normalizer->kind);
    if (normalizer->low == NULL)
        return;
    rer_tensors_add(tensors, "normalize.low", RER_F64, RER_SHAPE(D), normalizer->low);
    rer_tensors_add(tensors, "normalize.factor", RER_F64, RER_SHAPE(D), normalizer->factor);
}

void rer_exchange_get_normalizer(rer_normalizer *normalizer, rer_tensors *tensors, int64_t D)
{
    normalizer->kind = (rer_normalize)rer_exchange_integer(tensors, "normalize", RER_WHITEN, RER_NONE);
    if (!rer_tensors_has(tensors, "normalize.low"))
        return;
    normalizer->low = rer_tensors_copy(tensors, "normalize.low", RER_F64, RER_SHAPE(D));
    normalizer->factor = rer_tensors_copy(tensors, "normalize.factor", RER_F64, RER_SHAPE(D));
}

/* ---- class sums ---------------------------------------------------------------------------- */

void rer_sums_answer_free(rer_sums_answer *answer)
{
    rer_class_sums_free(&answer->sums);
    free(answer->invalid);
    *answer = (rer_sums_answer){0};
}

/* A list of arrays to put or get: name, type, shape [rank], and where it is. */
typedef struct named_array {
    const char *name;
    rer_dtype dtype;
    int32_t rank;
    int64_t shape[2];
    void *place; /* of the pointer */
} named_array;

enum { SUMS_ALWAYS = 5, SUMS_ARRAYS };
static int list_sums(named_array list[SUMS_ARRAYS], rer_class_sums *sums)
{
    int64_t C = sums->C, D = sums->D;
    named_array all[SUMS_ARRAYS] = {
        {"n", RER_I64, 1, {C}, &sums->n},
        {"sum", RER_F64, 2, {C, D}, &sums->sum},
        {"rest", RER_F64, 2, {C, D}, &sums->rest},
        {"square", RER_F64, 2, {2, D}, &sums->square},
        {"first_row", RER_F32, 1, {D}, &sums->first_row},
        {"range", RER_F32, 2, {2, D}, &sums->low},
    };
    memcpy(list, all, sizeof all);
    return sums->low != NULL ? SUMS_ARRAYS : SUMS_ALWAYS;
}

void rer_exchange_put_sums(rer_tensors *tensors, const rer_sums_answer *answer)
{
    named_array list[SUMS_ARRAYS];
    rer_class_sums sums = answer->sums;
    int count = list_sums(list, &sums);
    rer_tensors_set_number(tensors, "rows", (double)answer->rows);
    rer_tensors_set_number(tensors, "classes", sums.C);
    rer_tensors_set_number(tensors, "features", (double)sums.D);
    rer_tensors_set_number(tensors, "labelled", (double)sums.labelled);
    rer_tensors_set_number(tensors, "all_equal", sums.all_equal);
    rer_tensors_set_number(tensors, "ranges", sums.low != NULL);
    for (int i = 0; i < count; i++)
        rer_tensors_add(tensors, list[i].name, list[i].dtype, list[i].rank, list[i].shape, *(void **)list[i].place);
    if (answer->n_invalid > 0)
        rer_tensors_add(tensors, "invalid", RER_I64, RER_SHAPE(answer->n_invalid), answer->invalid);
}

void rer_exchange_get_sums(rer_sums_answer *answer, rer_tensors *tensors)
{
    named_array list[SUMS_ARRAYS];
    rer_class_sums *sums = &answer->sums;
    sums->C = (int32_t)rer_exchange_integer(tensors, "classes", 1, INT32_MAX);
    sums->D = rer_exchange_integer(tensors, "features", 1, INT32_MAX);
    answer->rows = rer_exchange_integer(tensors, "rows", 1, (int64_t)1 << 52);
    sums->labelled = rer_exchange_integer(tensors, "labelled", 0, answer->rows);
    sums->all_equal = rer_exchange_integer(tensors, "all_equal", 0, 1) != 0;
    int64_t ranges = rer_exchange_integer(tensors, "ranges", 0, 1);
    (void)list_sums(list, sums);
    for (int i = 0; i < SUMS_ALWAYS + ranges; i++)
        *(void **)list[i].place = rer_tensors_copy(tensors, list[i].name, list[i].dtype, list[i].rank, list[i].shape);
    answer->invalid = rer_exchange_list(tensors, "invalid", RER_I64, &answer->n_invalid);
    if (rer_tensors_status(tensors, NULL) != RER_OK)
        return;
    sums->square_rest = sums->square + sums->D;
    sums->high = sums->low != NULL ? sums->low + sums->D : NULL;
}

/* ---- scatter ------------------------------------------------------------------------------- */

void rer_scatter_answer_free(rer_scatter_answer *answer)
{
    free(answer->triangle);
    rer_row_sample_free(&answer->sample);
    *answer = (rer_scatter_answer){0};
}

void rer_exchange_put_scatter(rer_tensors *tensors, const rer_scatter_answer *answer)
{
    const rer_row_sample *sample = &answer->sample;
    int64_t D = answer->D, count = sample->count;
    rer_tensors_set_number(tensors, "rows", (double)answer->rows);
    rer_tensors_set_number(tensors, "features", (double)D);
    if (answer->triangle != NULL)
        rer_tensors_add(tensors, "scatter", RER_F64, RER_SHAPE(D * (D + 1) / 2), answer->triangle);
    if (count == 0)
        return;
    rer_tensors_add(tensors, "sample.row", RER_I64, RER_SHAPE(count), sample->row);
    rer_tensors_add(tensors, "sample.x", RER_F32, RER_SHAPE(count, D), sample->x);
    rer_tensors_add(tensors, "sample.scale", RER_F64, RER_SHAPE(count), sample->scale);
    rer_tensors_add(tensors, "sample.code", RER_I32, RER_SHAPE(count), sample->code);
}

void rer_exchange_get_scatter(rer_scatter_answer *answer, rer_tensors *tensors)
{
    rer_row_sample *sample = &answer->sample;
    int64_t D = answer->D = rer_exchange_integer(tensors, "features", 1, INT32_MAX);
    answer->rows = rer_exchange_integer(tensors, "rows", 1, (int64_t)1 << 52);
    if (rer_tensors_has(tensors, "scatter"))
        answer->triangle = rer_tensors_copy(tensors, "scatter", RER_F64, RER_SHAPE(D * (D + 1) / 2));
    sample->row = rer_exchange_list(tensors, "sample.row", RER_I64, &sample->count);
    if (sample->count == 0)
        return;
    sample->x = rer_tensors_copy(tensors, "sample.x", RER_F32, RER_SHAPE(sample->count, D));
    sample->scale = rer_tensors_copy(tensors, "sample.scale", RER_F64, RER_SHAPE(sample->count));
    sample->code = rer_tensors_copy(tensors, "sample.code", RER_I32, RER_SHAPE(sample->count));
}

/* ---- merging ------------------------------------------------------------------------------- */

/* *array [count] gets `more` [n_more] appended. */
static rer_status append(void *array, int64_t count, const void *more, int64_t n_more, int64_t item_size,
                         rer_error *error)
{
    int64_t capacity = count;
    if (n_more == 0)
        return RER_OK;
    RER_TRY(rer_grow(array, &capacity, count + n_more, item_size, "merged rows", error));
    memcpy(*(char **)array + count * item_size, more, (size_t)(n_more * item_size));
    return RER_OK;
}

static rer_status fail_merge(rer_error *error)
{
    return rer_fail(error, RER_BAD_INPUT, "these answers are not of the same task and cannot be merged");
}

/* Whatever was wrong with either. */
static rer_status status_of_both(const rer_tensors *left, const rer_tensors *right, rer_error *error)
{
    RER_TRY(rer_tensors_status(left, error));
    return rer_tensors_status(right, error);
}

static rer_status merge_sums(rer_tensors *out, rer_sums_answer *left, rer_tensors *left_in, rer_tensors *right_in,
                             rer_error *error)
{
    rer_sums_answer right = {0};
    rer_exchange_get_sums(left, left_in);
    rer_exchange_get_sums(&right, right_in);
    rer_status status = status_of_both(left_in, right_in, error);
    if (status == RER_OK && (left->sums.C != right.sums.C || left->sums.D != right.sums.D ||
                             (left->sums.low == NULL) != (right.sums.low == NULL)))
        status = fail_merge(error);
    RER_THEN(status, append(&left->invalid, left->n_invalid, right.invalid, right.n_invalid, sizeof(int64_t), error));
    if (status == RER_OK) {
        rer_class_sums_merge(&left->sums, &right.sums, rer_cpu_kernels());
        left->rows += right.rows;
        left->n_invalid += right.n_invalid;
        rer_exchange_put_sums(out, left);
    }
    rer_sums_answer_free(&right);
    return status;
}

static rer_status append_sample(rer_row_sample *into, const rer_row_sample *from, int64_t D, rer_error *error)
{
    int64_t have = into->count, more = from->count;
    RER_TRY(append(&into->row, have, from->row, more, sizeof(int64_t), error));
    RER_TRY(append(&into->x, have * D, from->x, more * D, sizeof(float), error));
    RER_TRY(append(&into->scale, have, from->scale, more, sizeof(double), error));
    RER_TRY(append(&into->code, have, from->code, more, sizeof(int32_t), error));
    into->count += more;
    return RER_OK;
}

static rer_status merge_scatter(rer_tensors *out, rer_scatter_answer *left, rer_tensors *left_in, rer_tensors *right_in,
                                rer_error *error)
{
    rer_scatter_answer right = {0};
    rer_exchange_get_scatter(left, left_in);
    rer_exchange_get_scatter(&right, right_in);
    int64_t D = left->D;
    rer_status status = status_of_both(left_in, right_in, error);
    if (status == RER_OK && (D != right.D || (left->triangle == NULL) != (right.triangle == NULL)))
        status = fail_merge(error);
    RER_THEN(status, append_sample(&left->sample, &right.sample, D, error));
    if (status == RER_OK) {
        for (int64_t i = 0; left->triangle != NULL && right.triangle != NULL && i < D * (D + 1) / 2; i++)
            left->triangle[i] += right.triangle[i];
        left->rows += right.rows;
        rer_exchange_put_scatter(out, left);
    }
    rer_scatter_answer_free(&right);
    return status;
}

/* Lists of the nearest rows, of an answer: for near->count places, whatever row and class they are of. */
static void get_near(rer_near *near, rer_tensors *tensors)
{
    int64_t bytes = 0, trusted = 0;
    near->slots = 1;
    near->list = rer_exchange_list(tensors, "list", RER_U8, &bytes);
    near->trusted = rer_exchange_list(tensors, "trusted", RER_F32, &trusted);
    near->count = trusted / RER_NEAR;
    if (near->count * RER_NEAR != trusted || near->count * RER_NEAR_KEPT * (int64_t)sizeof *near->list != bytes)
        rer_tensors_fail(tensors, "its lists of rows have other lengths");
}

static rer_status merge_near(rer_tensors *out, rer_near *left, rer_tensors *left_in, rer_tensors *right_in,
                             rer_error *error)
{
    rer_near right = {0};
    get_near(left, left_in);
    get_near(&right, right_in);
    double rows = rer_tensors_number(left_in, "rows") + rer_tensors_number(right_in, "rows");
    rer_status status = status_of_both(left_in, right_in, error);
    if (status == RER_OK && left->count != right.count)
        status = fail_merge(error);
    if (status == RER_OK) {
        int64_t bytes = left->count * RER_NEAR_KEPT * (int64_t)sizeof *left->list;
        rer_near_merge(left, right.list, right.trusted);
        rer_tensors_set_number(out, "rows", rows);
        rer_tensors_add(out, "list", RER_U8, RER_SHAPE(bytes), left->list);
        rer_tensors_add(out, "trusted", RER_F32, RER_SHAPE(left->count * RER_NEAR), left->trusted);
    }
    rer_near_free(&right);
    return status;
}

rer_status rer_part_merge(void **merged, int64_t *size, const rer_message *left, const rer_message *right,
                          rer_error *error)
{
    rer_sums_answer sums = {0};
    rer_scatter_answer scatter = {0};
    rer_near near = {0};
    rer_error_clear(error);
    rer_tensors *a = rer_exchange_read(left->data, left->size, "a part's answer");
    rer_tensors *b = rer_exchange_read(right->data, right->size, "a part's answer"), *out = NULL;
    rer_status status = status_of_both(a, b, error);
    if (status == RER_OK) {
        const char *stage = rer_tensors_text(a, "stage"), *other = rer_tensors_text(b, "stage");
        out = rer_exchange_begin(stage);
        if (rer_exchange_is(a, RER_STAGE_SUMS) && rer_exchange_is(b, RER_STAGE_SUMS))
            status = merge_sums(out, &sums, a, b, error);
        else if (rer_exchange_is(a, RER_STAGE_SCATTER) && rer_exchange_is(b, RER_STAGE_SCATTER))
            status = merge_scatter(out, &scatter, a, b, error);
        else if (rer_exchange_is(a, RER_STAGE_NEAR) && rer_exchange_is(b, RER_STAGE_NEAR))
            status = merge_near(out, &near, a, b, error);
        else
            status = rer_fail(error, RER_BAD_USAGE, "answers of the stages '%.20s' and '%.20s' are not to be merged",
                              stage, other);
    }
    RER_THEN(status, rer_tensors_pack(out, merged, size, error));
    rer_sums_answer_free(&sums);
    rer_scatter_answer_free(&scatter);
    rer_near_free(&near);
    rer_tensors_free(a);
    rer_tensors_free(b);
    rer_tensors_free(out);
    return status;
}

void rer_exchange_score_columns(rer_score_column columns[RER_SCORE_COLUMNS], const rer_scores *scores)
{
    const rer_score_column all[RER_SCORE_COLUMNS] = {
        {"own", scores->own, RER_F32},         {"other", scores->other, RER_F32},
        {"logit", scores->logit, RER_F32},     {"margin", scores->margin, RER_F32},
        {"removed", scores->removed, RER_F32}, {"flipped", scores->flipped, RER_F32},
        {"nearest", scores->nearest, RER_I32}, {"proposed", scores->proposed, RER_I32},
    };
    memcpy(columns, all, sizeof all);
}
