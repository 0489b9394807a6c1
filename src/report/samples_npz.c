/* samples.npz: the columns of samples.csv as arrays, with the same numbers. Labels are numbers of classes, whose names are
 * class_label; nearest rows are those of the flagged rows alone, in their order. */
#include "report/report.h"

#include "core/npz.h"
#include "core/pool.h"

enum { PIECE = 4096 }; /* rows that are filled in at a time */

/* Each [N]. */
typedef struct sample_arrays {
    const rer_result *result;
    int64_t *index;
    int32_t *given, *predicted, *suggested;
    float *chi, *mistakenness, *label_score, *own, *other, *suggestion_probability, *outlier_score;
    bool *is_issue, *is_outlier;
} sample_arrays;

/* Others, which are not known before the rows are filled in. */
typedef struct other_arrays {
    uint32_t *ids, *classes; /* texts, each of ... */
    int64_t id_width, class_width;
    int64_t *near, issues; /* [issues, RER_NEAR_ROWS] */
} other_arrays;

static rer_status allocate(sample_arrays *a, int64_t N, rer_error *error)
{
    const rer_room rooms[] = {RER_UNSET(a->index, N),         RER_UNSET(a->given, N),
                              RER_UNSET(a->predicted, N),     RER_UNSET(a->suggested, N),
                              RER_UNSET(a->chi, N),           RER_UNSET(a->mistakenness, N),
                              RER_UNSET(a->label_score, N),   RER_UNSET(a->own, N),
                              RER_UNSET(a->other, N),         RER_UNSET(a->suggestion_probability, N),
                              RER_UNSET(a->outlier_score, N), RER_UNSET(a->is_issue, N),
                              RER_UNSET(a->is_outlier, N)};
    return rer_allocate_all(rooms, RER_COUNT(rooms), "arrays of samples.npz", error);
}

static void free_arrays(sample_arrays *a, other_arrays *others)
{
    RER_FREE_ALL(a->index, a->given, a->predicted, a->suggested, a->chi, a->mistakenness, a->label_score, a->own,
                 a->other, a->suggestion_probability, a->outlier_score, a->is_issue, a->is_outlier, others->ids,
                 others->classes, others->near);
}

static rer_status fill_piece(void *context, int64_t item, void *scratch, rer_error *error)
{
    const sample_arrays *a = context;
    (void)scratch, (void)error;
    for (int64_t row = item * PIECE; row < rer_min((item + 1) * PIECE, a->result->N); row++) {
        rer_sample sample = rer_sample_of(a->result, row);
        bool has_suggestion = (sample.given < 0 || sample.is_issue) && !sample.is_invalid;
        a->index[row] = row;
        a->given[row] = sample.given;
        a->predicted[row] = sample.predicted;
        a->suggested[row] = has_suggestion ? sample.suggested : -1;
        a->chi[row] = (float)sample.chi;
        a->mistakenness[row] = (float)sample.mistakenness;
        a->label_score[row] = (float)sample.label_score;
        a->own[row] = (float)sample.own_error;
        a->other[row] = (float)sample.best_other_error;
        a->suggestion_probability[row] = (float)sample.suggestion_probability;
        a->outlier_score[row] = (float)sample.outlier_score;
        a->is_issue[row] = sample.is_issue;
        a->is_outlier[row] = sample.is_outlier;
    }
    return RER_OK;
}

static rer_status fill_rows(sample_arrays *a, rer_error *error)
{
    rer_pool_settings settings = {.threads = a->result->options.threads};
    rer_pool *pool = NULL;
    rer_job job = {.stage = "writing",
                   .from = 1,
                   .to = 1,
                   .items = (a->result->N + PIECE - 1) / PIECE,
                   .work = fill_piece,
                   .context = a};
    rer_status status = rer_pool_open(&pool, &settings, error);
    RER_THEN(status, rer_pool_run(pool, &job, error));
    rer_pool_close(pool);
    return status;
}

/* What is text number i. */
typedef const char *text_at(const rer_result_files *files, int64_t i);

static const char *id_at(const rer_result_files *files, int64_t i)
{
    return rer_dataset_id(files->data, i);
}

static const char *class_at(const rer_result_files *files, int64_t i)
{
    return files->result->names[i];
}

/* Texts [count] as UCS-4 of one width. */
static rer_status make_texts(uint32_t **texts, int64_t *width, text_at *text, int64_t count,
                             const rer_result_files *files, rer_error *error)
{
    *width = 1;
    for (int64_t i = 0; i < count; i++)
        *width = rer_max(*width, rer_utf8_decode(text(files, i), NULL));
    RER_TRY(rer_allocate(texts, count, *width * (int64_t)sizeof **texts, "texts of samples.npz", error));
    for (int64_t i = 0; i < count; i++)
        (void)rer_utf8_decode(text(files, i), *texts + i * *width);
    return RER_OK;
}

static rer_status make_near(other_arrays *others, const sample_arrays *a, rer_error *error)
{
    int64_t N = a->result->N, at = 0;
    for (int64_t row = 0; row < N; row++)
        others->issues += a->is_issue[row];
    RER_TRY(rer_allocate(&others->near, others->issues, RER_NEAR_ROWS * (int64_t)sizeof *others->near, "nearest rows",
                         error));
    for (int64_t row = 0; row < N; row++)
        if (a->is_issue[row]) {
            int64_t *near = others->near + at++ * RER_NEAR_ROWS;
            for (int32_t k = rer_result_near(a->result, row, near); k < RER_NEAR_ROWS; k++)
                near[k] = -1;
        }
    return RER_OK;
}

#define ONE(name, kind, array)                                                                                         \
    {                                                                                                                  \
        name, kind, sizeof *(array), 1, {N}, array                                                                     \
    }

static void put_all(rer_writer *writer, const sample_arrays *a, const other_arrays *others, int64_t ids)
{
    int64_t N = a->result->N, wide = (int64_t)sizeof(uint32_t);
    const rer_npz_array arrays[] = {
        ONE("index", 'i', a->index),
        ONE("given_label", 'i', a->given),
        ONE("predicted_label", 'i', a->predicted),
        ONE("rer", 'f', a->chi),
        ONE("mistakenness", 'f', a->mistakenness),
        ONE("label_score", 'f', a->label_score),
        ONE("is_label_issue", 'b', a->is_issue),
        ONE("own_error", 'f', a->own),
        ONE("best_other_error", 'f', a->other),
        ONE("suggested_label", 'i', a->suggested),
        ONE("suggestion_probability", 'f', a->suggestion_probability),
        ONE("outlier_score", 'f', a->outlier_score),
        ONE("is_outlier", 'b', a->is_outlier),
        {"nearest_rows", 'i', sizeof *others->near, 2, {others->issues, RER_NEAR_ROWS}, others->near},
        {"class_label", 'U', others->class_width * wide, 1, {a->result->C}, others->classes},
        {"id", 'U', others->id_width * wide, 1, {ids}, others->ids},
    };
    rer_put_npz(writer, arrays, RER_COUNT(arrays) - (ids == 0));
}

void rer_put_samples_npz(rer_writer *writer, const void *what, int which)
{
    const rer_result_files *files = what;
    const rer_result *result = files->result;
    int64_t ids = files->data->ids.count;
    sample_arrays a = {.result = result};
    other_arrays others = {0};
    (void)which;
    rer_status status = allocate(&a, result->N, writer->error);
    RER_THEN(status, fill_rows(&a, writer->error));
    RER_THEN(status, make_near(&others, &a, writer->error));
    RER_THEN(status, make_texts(&others.classes, &others.class_width, class_at, result->C, files, writer->error));
    if (status == RER_OK && ids > 0)
        status = make_texts(&others.ids, &others.id_width, id_at, ids, files, writer->error);
    if (rer_writer_ok(writer, status))
        put_all(writer, &a, &others, ids);
    free_arrays(&a, &others);
}
