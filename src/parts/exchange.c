/* Tasks and answers as named arrays: writing, checked reading, merging. */
#include "parts/parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Sums are exchanged between processes of one version only: another may sum differently. */
#define FORMAT "rer part " RER_VERSION

rer_status rer_exchange_begin(rer_tensors **tensors, const char *stage, rer_error *error)
{
    rer_tensors *made = NULL;
    rer_status status = rer_tensors_make(&made, error);
    if (status == RER_OK)
        status = rer_tensors_set_text(made, "format", FORMAT, error);
    if (status == RER_OK)
        status = rer_tensors_set_text(made, "stage", stage, error);
    if (status != RER_OK) {
        rer_tensors_free(made);
        return status;
    }
    *tensors = made;
    return RER_OK;
}

rer_status rer_exchange_read(rer_tensors **tensors, const void *bytes, int64_t size, const char *what, rer_error *error)
{
    rer_tensors *made = NULL;
    rer_status status = rer_tensors_unpack(&made, bytes, size, what, error);
    if (status != RER_OK)
        return status;
    const char *format = rer_tensors_text(made, "format");
    if (format == NULL || strcmp(format, FORMAT) != 0 || rer_tensors_text(made, "stage") == NULL) {
        status = rer_fail(error, RER_BAD_INPUT,
                          "%s: is '%.40s' where '" FORMAT "' is needed: the same version of rer "
                          "has to run everywhere",
                          what, format != NULL ? format : "something else");
        rer_tensors_free(made);
        return status;
    }
    *tensors = made;
    return RER_OK;
}

bool rer_exchange_is(const rer_tensors *tensors, const char *stage)
{
    return strcmp(rer_tensors_text(tensors, "stage"), stage) == 0;
}

rer_status rer_exchange_integer(const rer_tensors *tensors, const char *key, int64_t low, int64_t high, int64_t *value,
                                rer_error *error)
{
    double number = 0;
    rer_status status = rer_tensors_number(tensors, key, &number, error);
    if (status == RER_OK && !(number >= (double)low && number <= (double)high && number == floor(number)))
        status = rer_fail(error, RER_BAD_INPUT, "a part: %s is %g, not a whole number from %lld to %lld", key, number,
                          (long long)low, (long long)high);
    if (status == RER_OK)
        *value = (int64_t)number;
    return status;
}

rer_status rer_exchange_list(const rer_tensors *tensors, const char *name, rer_dtype dtype, int64_t D, int64_t *count,
                             void *out, rer_error *error)
{
    int32_t rank = 0;
    int64_t shape[RER_TENSOR_RANK_MAX] = {0};
    *count = 0;
    if (!rer_tensors_has(tensors, name))
        return RER_OK;
    rer_status status = rer_tensors_shape(tensors, name, &rank, shape, error);
    if (status != RER_OK)
        return status;
    *count = shape[0];
    return rer_tensors_copy(tensors, name, dtype, D > 0 ? 2 : 1, D > 0 ? (int64_t[]){shape[0], D} : shape, out, error);
}

/* ---- the normalisation --------------------------------------------------------------------- */

rer_status rer_exchange_put_normalizer(rer_tensors *tensors, const rer_normalizer *normalizer, int64_t D,
                                       rer_error *error)
{
    rer_status status = rer_tensors_set_number(tensors, "normalize", normalizer->kind, error);
    if (status == RER_OK && normalizer->low != NULL)
        status = rer_tensors_add(tensors, "normalize.low", RER_F64, 1, &D, normalizer->low, error);
    if (status == RER_OK && normalizer->low != NULL)
        status = rer_tensors_add(tensors, "normalize.factor", RER_F64, 1, &D, normalizer->factor, error);
    return status;
}

rer_status rer_exchange_get_normalizer(rer_normalizer *normalizer, const rer_tensors *tensors, int64_t D,
                                       rer_error *error)
{
    int64_t kind = 0;
    rer_normalizer made = {0};
    rer_status status = rer_exchange_integer(tensors, "normalize", RER_WHITEN, RER_NONE, &kind, error);
    made.kind = (rer_normalize)kind;
    if (status == RER_OK && rer_tensors_has(tensors, "normalize.low"))
        status = rer_tensors_copy(tensors, "normalize.low", RER_F64, 1, &D, &made.low, error);
    if (status == RER_OK && made.low != NULL)
        status = rer_tensors_copy(tensors, "normalize.factor", RER_F64, 1, &D, &made.factor, error);
    if (status != RER_OK) {
        rer_normalizer_free(&made);
        return status;
    }
    *normalizer = made;
    return RER_OK;
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

#define SUMS_ARRAYS 8
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
    return sums->low != NULL ? 6 : 5;
}

rer_status rer_exchange_put_sums(rer_tensors *tensors, const rer_sums_answer *answer, rer_error *error)
{
    named_array list[SUMS_ARRAYS];
    rer_class_sums sums = answer->sums;
    int count = list_sums(list, &sums);
    rer_status status = rer_tensors_set_number(tensors, "rows", (double)answer->rows, error);
    if (status == RER_OK)
        status = rer_tensors_set_number(tensors, "classes", sums.C, error);
    if (status == RER_OK)
        status = rer_tensors_set_number(tensors, "features", (double)sums.D, error);
    if (status == RER_OK)
        status = rer_tensors_set_number(tensors, "labelled", (double)sums.labelled, error);
    if (status == RER_OK)
        status = rer_tensors_set_number(tensors, "all_equal", sums.all_equal, error);
    if (status == RER_OK)
        status = rer_tensors_set_number(tensors, "ranges", sums.low != NULL, error);
    for (int i = 0; status == RER_OK && i < count; i++)
        status = rer_tensors_add(tensors, list[i].name, list[i].dtype, list[i].rank, list[i].shape,
                                 *(void **)list[i].place, error);
    if (status == RER_OK && answer->n_invalid > 0)
        status = rer_tensors_add(tensors, "invalid", RER_I64, 1, &answer->n_invalid, answer->invalid, error);
    return status;
}

rer_status rer_exchange_get_sums(rer_sums_answer *answer, const rer_tensors *tensors, rer_error *error)
{
    rer_sums_answer made = {0};
    named_array list[SUMS_ARRAYS];
    rer_class_sums *sums = &made.sums;
    int64_t C = 0, all_equal = 0, ranges = 0;
    rer_status status = rer_exchange_integer(tensors, "classes", 1, INT32_MAX, &C, error);
    if (status == RER_OK)
        status = rer_exchange_integer(tensors, "features", 1, INT32_MAX, &sums->D, error);
    if (status == RER_OK)
        status = rer_exchange_integer(tensors, "rows", 1, (int64_t)1 << 52, &made.rows, error);
    if (status == RER_OK)
        status = rer_exchange_integer(tensors, "labelled", 0, made.rows, &sums->labelled, error);
    if (status == RER_OK)
        status = rer_exchange_integer(tensors, "all_equal", 0, 1, &all_equal, error);
    if (status == RER_OK)
        status = rer_exchange_integer(tensors, "ranges", 0, 1, &ranges, error);
    sums->C = (int32_t)C;
    sums->all_equal = all_equal != 0;
    (void)list_sums(list, sums);
    for (int i = 0; status == RER_OK && i < 5 + ranges; i++)
        status =
            rer_tensors_copy(tensors, list[i].name, list[i].dtype, list[i].rank, list[i].shape, list[i].place, error);
    if (status == RER_OK)
        status = rer_exchange_list(tensors, "invalid", RER_I64, 0, &made.n_invalid, &made.invalid, error);
    if (status != RER_OK) {
        rer_sums_answer_free(&made);
        return status;
    }
    sums->square_rest = sums->square + sums->D;
    sums->high = sums->low != NULL ? sums->low + sums->D : NULL;
    *answer = made;
    return RER_OK;
}

/* ---- scatter ------------------------------------------------------------------------------- */

void rer_scatter_answer_free(rer_scatter_answer *answer)
{
    free(answer->triangle);
    rer_row_sample_free(&answer->sample);
    *answer = (rer_scatter_answer){0};
}

rer_status rer_exchange_put_scatter(rer_tensors *tensors, const rer_scatter_answer *answer, rer_error *error)
{
    const rer_row_sample *sample = &answer->sample;
    int64_t D = answer->D, values = D * (D + 1) / 2, rows[] = {sample->count, D};
    rer_status status = rer_tensors_set_number(tensors, "rows", (double)answer->rows, error);
    if (status == RER_OK)
        status = rer_tensors_set_number(tensors, "features", (double)D, error);
    if (status == RER_OK && answer->triangle != NULL)
        status = rer_tensors_add(tensors, "scatter", RER_F64, 1, &values, answer->triangle, error);
    if (status != RER_OK || sample->count == 0)
        return status;
    status = rer_tensors_add(tensors, "sample.row", RER_I64, 1, rows, sample->row, error);
    if (status == RER_OK)
        status = rer_tensors_add(tensors, "sample.x", RER_F32, 2, rows, sample->x, error);
    if (status == RER_OK)
        status = rer_tensors_add(tensors, "sample.scale", RER_F64, 1, rows, sample->scale, error);
    if (status == RER_OK)
        status = rer_tensors_add(tensors, "sample.code", RER_I32, 1, rows, sample->code, error);
    return status;
}

rer_status rer_exchange_get_scatter(rer_scatter_answer *answer, const rer_tensors *tensors, rer_error *error)
{
    rer_scatter_answer made = {0};
    rer_row_sample *sample = &made.sample;
    rer_status status = rer_exchange_integer(tensors, "features", 1, INT32_MAX, &made.D, error);
    if (status == RER_OK)
        status = rer_exchange_integer(tensors, "rows", 1, (int64_t)1 << 52, &made.rows, error);
    int64_t values = made.D * (made.D + 1) / 2;
    if (status == RER_OK && rer_tensors_has(tensors, "scatter"))
        status = rer_tensors_copy(tensors, "scatter", RER_F64, 1, &values, &made.triangle, error);
    if (status == RER_OK)
        status = rer_exchange_list(tensors, "sample.row", RER_I64, 0, &sample->count, &sample->row, error);
    if (status == RER_OK && sample->count > 0)
        status =
            rer_tensors_copy(tensors, "sample.x", RER_F32, 2, (int64_t[]){sample->count, made.D}, &sample->x, error);
    if (status == RER_OK && sample->count > 0)
        status = rer_tensors_copy(tensors, "sample.scale", RER_F64, 1, &sample->count, &sample->scale, error);
    if (status == RER_OK && sample->count > 0)
        status = rer_tensors_copy(tensors, "sample.code", RER_I32, 1, &sample->count, &sample->code, error);
    if (status != RER_OK) {
        rer_scatter_answer_free(&made);
        return status;
    }
    *answer = made;
    return RER_OK;
}

/* ---- merging ------------------------------------------------------------------------------- */

/* *array [count] gets `more` [n_more] appended. */
static rer_status append(void *array, int64_t count, const void *more, int64_t n_more, int64_t item_size,
                         rer_error *error)
{
    int64_t capacity = count;
    if (n_more == 0)
        return RER_OK;
    rer_status status = rer_grow(array, &capacity, count + n_more, item_size, "merged rows", error);
    if (status == RER_OK)
        memcpy(*(char **)array + count * item_size, more, (size_t)(n_more * item_size));
    return status;
}

static rer_status merge_sums(rer_tensors *out, rer_sums_answer *left, const rer_tensors *left_in,
                             const rer_tensors *right_in, rer_error *error)
{
    rer_sums_answer right = {0};
    rer_status status = rer_exchange_get_sums(left, left_in, error);
    if (status == RER_OK)
        status = rer_exchange_get_sums(&right, right_in, error);
    if (status == RER_OK && (left->sums.C != right.sums.C || left->sums.D != right.sums.D ||
                             (left->sums.low == NULL) != (right.sums.low == NULL)))
        status = rer_fail(error, RER_BAD_INPUT, "these answers are not of the same task and cannot be merged");
    if (status == RER_OK) {
        rer_class_sums_merge(&left->sums, &right.sums, rer_cpu_kernels());
        left->rows += right.rows;
        status = append(&left->invalid, left->n_invalid, right.invalid, right.n_invalid, sizeof(int64_t), error);
        left->n_invalid += right.n_invalid;
    }
    if (status == RER_OK)
        status = rer_exchange_put_sums(out, left, error);
    rer_sums_answer_free(&right);
    return status;
}

static rer_status merge_scatter(rer_tensors *out, rer_scatter_answer *left, const rer_tensors *left_in,
                                const rer_tensors *right_in, rer_error *error)
{
    rer_scatter_answer right = {0};
    rer_row_sample *into = &left->sample, *from = &right.sample;
    rer_status status = rer_exchange_get_scatter(left, left_in, error);
    if (status == RER_OK)
        status = rer_exchange_get_scatter(&right, right_in, error);
    if (status == RER_OK && (left->D != right.D || (left->triangle == NULL) != (right.triangle == NULL)))
        status = rer_fail(error, RER_BAD_INPUT, "these answers are not of the same task and cannot be merged");
    int64_t D = left->D;
    const double *from_triangle = right.triangle;
    for (int64_t i = 0; status == RER_OK && from_triangle != NULL && left->triangle != NULL && i < D * (D + 1) / 2; i++)
        left->triangle[i] += from_triangle[i];
    if (status == RER_OK)
        status = append(&into->row, into->count, from->row, from->count, sizeof(int64_t), error);
    if (status == RER_OK)
        status = append(&into->x, into->count * D, from->x, from->count * D, sizeof(float), error);
    if (status == RER_OK)
        status = append(&into->scale, into->count, from->scale, from->count, sizeof(double), error);
    if (status == RER_OK)
        status = append(&into->code, into->count, from->code, from->count, sizeof(int32_t), error);
    if (status == RER_OK) {
        into->count += from->count;
        left->rows += right.rows;
        status = rer_exchange_put_scatter(out, left, error);
    }
    rer_scatter_answer_free(&right);
    return status;
}

rer_status rer_part_merge(void **merged, int64_t *size, const rer_message *left, const rer_message *right,
                          rer_error *error)
{
    rer_tensors *a = NULL, *b = NULL, *out = NULL;
    rer_sums_answer sums = {0};
    rer_scatter_answer scatter = {0};
    rer_error_clear(error);
    rer_status status = rer_exchange_read(&a, left->data, left->size, "a part's answer", error);
    if (status == RER_OK)
        status = rer_exchange_read(&b, right->data, right->size, "a part's answer", error);
    if (status == RER_OK)
        status = rer_exchange_begin(&out, rer_tensors_text(a, "stage"), error);
    if (status == RER_OK && rer_exchange_is(a, RER_STAGE_SUMS) && rer_exchange_is(b, RER_STAGE_SUMS))
        status = merge_sums(out, &sums, a, b, error);
    else if (status == RER_OK && rer_exchange_is(a, RER_STAGE_SCATTER) && rer_exchange_is(b, RER_STAGE_SCATTER))
        status = merge_scatter(out, &scatter, a, b, error);
    else if (status == RER_OK)
        status = rer_fail(error, RER_BAD_USAGE, "answers of the stages '%.20s' and '%.20s' are not to be merged",
                          rer_tensors_text(a, "stage"), rer_tensors_text(b, "stage"));
    if (status == RER_OK)
        status = rer_tensors_pack(out, merged, size, error);
    rer_sums_answer_free(&sums);
    rer_scatter_answer_free(&scatter);
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
        {"nearest", scores->nearest, RER_I32},
    };
    memcpy(columns, all, sizeof all);
}
