/* Answers of a part, where its rows are: the same passes over its blocks. */
#include "parts/parts.h"

#include <string.h>

/* A part with all that a pass needs. */
typedef struct working {
    const rer_part *part;
    const rer_tensors *task;
    rer_options options;
    rer_dataset *data;
    rer_run run;
} working;

static rer_status check_codes(const rer_part *part, int64_t rows, int64_t C, rer_error *error)
{
    if (part->first < 0 || part->first % RER_PART_ROWS != 0)
        return rer_fail(error, RER_BAD_USAGE, "the part begins at row %lld, which is no multiple of %d",
                        (long long)part->first, RER_PART_ROWS);
    for (int64_t i = 0; i < rows; i++)
        if (part->codes[i] < -1 || part->codes[i] >= C)
            return rer_fail(error, RER_BAD_USAGE, "the code %d of row %lld is no class of %lld", part->codes[i],
                            (long long)(part->first + i), (long long)C);
    return RER_OK;
}

static rer_status open_part(working *work, const rer_progress *progress, rer_error *error)
{
    int64_t D = 0, C = 0, drop_invalid = 0, probability = 0;
    work->options = rer_options_default();
    rer_status status = rer_exchange_integer(work->task, "features", 1, INT32_MAX, &D, error);
    if (status == RER_OK)
        status = rer_exchange_integer(work->task, "classes", 1, INT32_MAX, &C, error);
    if (status == RER_OK)
        status = rer_exchange_integer(work->task, "drop_invalid", 0, 1, &drop_invalid, error);
    if (status == RER_OK)
        status = rer_exchange_integer(work->task, "probability", 0, RER_DENSITY, &probability, error);
    if (status == RER_OK)
        status = rer_exchange_integer(work->task, "seed", 0, (int64_t)1 << 53, &work->options.seed, error);
    work->options.probability = (int32_t)probability;
    work->options.threads = work->part->threads;
    work->options.drop_invalid = drop_invalid != 0;
    if (status == RER_OK)
        status = rer_dataset_wrap(&work->data, &work->part->rows, NULL, &work->options, error);
    if (status == RER_OK && work->data->D != D)
        status = rer_fail(error, RER_BAD_INPUT, "rows of a part have %lld features instead of %lld",
                          (long long)work->data->D, (long long)D);
    if (status == RER_OK)
        status = check_codes(work->part, work->data->N, C, error);
    if (status == RER_OK)
        status = rer_run_start(&work->run, work->data, work->part->codes, (int32_t)C, &work->options, progress, error);
    work->run.first_row = work->part->first;
    work->run.passes = &rer_passes_here;
    return status;
}

/* ---- class sums and scatter ------------------------------------------------------------------ */

static rer_status list_invalid(rer_sums_answer *answer, const working *work, rer_error *error)
{
    int64_t capacity = 0;
    rer_status status = RER_OK;
    for (int64_t i = 0; status == RER_OK && i < work->run.N; i++)
        if (work->run.invalid[i] != 0) {
            status = rer_grow(&answer->invalid, &capacity, answer->n_invalid + 1, sizeof(int64_t), "rows", error);
            if (status == RER_OK)
                answer->invalid[answer->n_invalid++] = work->part->first + i;
        }
    return status;
}

static rer_status answer_sums(rer_tensors *out, rer_sums_answer *answer, working *work, rer_error *error)
{
    rer_normalizer normalizer = {0};
    answer->rows = work->run.N;
    rer_status status = rer_exchange_get_normalizer(&normalizer, work->task, work->run.D, error);
    if (status == RER_OK)
        status = rer_class_sums_make(&answer->sums, work->run.C, work->run.D, normalizer.kind == RER_MINMAX, error);
    if (status == RER_OK)
        status = rer_class_sums_add(&answer->sums, &normalizer, &work->run, error);
    if (status == RER_OK)
        status = list_invalid(answer, work, error);
    if (status == RER_OK)
        status = rer_exchange_put_sums(out, answer, error);
    rer_normalizer_free(&normalizer);
    return status;
}

/* The part's own among the sampled rows, with room for them. */
static rer_status pick_sample(rer_row_sample *sample, const working *work, rer_error *error)
{
    int64_t *rows = NULL, count = 0, D = work->run.D;
    rer_status status = rer_exchange_list(work->task, "sample.row", RER_I64, 0, &count, &rows, error);
    for (int64_t i = 0; status == RER_OK && i < count; i++)
        if (rows[i] >= work->part->first && rows[i] < work->part->first + work->run.N)
            rows[sample->count++] = rows[i];
    sample->row = rows;
    if (status == RER_OK)
        status = rer_allocate(&sample->x, sample->count * D, sizeof(float), "sampled rows", error);
    if (status == RER_OK)
        status = rer_allocate(&sample->scale, sample->count, sizeof(double), "sampled rows", error);
    if (status == RER_OK)
        status = rer_allocate(&sample->code, sample->count, sizeof(int32_t), "sampled rows", error);
    return status;
}

static rer_status answer_scatter(rer_tensors *out, rer_scatter_answer *answer, working *work, rer_error *error)
{
    int64_t C = work->run.C, D = work->run.D, wanted = 0;
    double *scatter = NULL;
    rer_normalizer normalizer = {0};
    rer_class_moments moments = {0};
    answer->D = D;
    answer->rows = work->run.N;
    rer_status status = rer_exchange_get_normalizer(&normalizer, work->task, D, error);
    if (status == RER_OK)
        status = rer_exchange_integer(work->task, "scatter", 0, 1, &wanted, error);
    if (status == RER_OK && wanted != 0)
        status = rer_tensors_number(work->task, "spread", &moments.spread, error);
    if (status == RER_OK && wanted != 0)
        status = rer_tensors_copy(work->task, "mean", RER_F64, 2, (int64_t[]){C, D}, &moments.mean, error);
    if (status == RER_OK && wanted != 0)
        status = rer_tensors_copy(work->task, "unit", RER_F64, 1, &D, &moments.unit, error);
    if (status == RER_OK)
        status = pick_sample(&answer->sample, work, error);
    if (status == RER_OK && wanted != 0)
        status = rer_allocate(&scatter, D * D, sizeof(double), "the covariance", error);
    if (status == RER_OK)
        status = rer_within_scatter(scatter, &answer->sample, &moments, &normalizer, &work->run, error);
    if (status == RER_OK && scatter != NULL) { /* the rows of the triangle move together */
        for (int64_t j = 1, at = 1; j < D; at += ++j)
            memmove(scatter + at, scatter + j * D, (size_t)(j + 1) * sizeof *scatter);
        answer->triangle = scatter;
        scatter = NULL;
    }
    if (status == RER_OK)
        status = rer_exchange_put_scatter(out, answer, error);
    free(scatter);
    rer_class_moments_free(&moments);
    rer_normalizer_free(&normalizer);
    return status;
}

/* ---- scores -------------------------------------------------------------------------------- */

static rer_status read_model(rer_model **model, bool *left_out, const working *work, rer_error *error)
{
    rer_model *made = NULL;
    unsigned char *bytes = NULL;
    int64_t size = 0, is_left_out = 0;
    rer_status status = rer_exchange_list(work->task, "model", RER_U8, 0, &size, &bytes, error);
    if (status == RER_OK)
        status = rer_exchange_integer(work->task, "left_out", 0, 1, &is_left_out, error);
    if (status == RER_OK)
        status = rer_model_unpack(&made, bytes, size, error);
    free(bytes);
    if (status == RER_OK && (made->C != work->run.C || made->D != work->run.D))
        status = rer_fail(error, RER_BAD_INPUT, "a task's model has other classes or features than the task");
    if (status != RER_OK) {
        rer_model_free(made);
        return status;
    }
    *left_out = is_left_out != 0;
    *model = made;
    return RER_OK;
}

/* A part's scores: freed by free_scores. */
typedef struct score_answer {
    rer_scores scores;
    rer_ratio_sums *blocks;
    int64_t block_bytes;
} score_answer;

static void free_scores(score_answer *answer)
{
    rer_scores *scores = &answer->scores;
    free(scores->own);
    free(scores->other);
    free(scores->nearest);
    free(scores->logit);
    free(scores->margin);
    free(scores->removed);
    free(scores->flipped);
    free(answer->blocks);
}

static rer_status make_scores(score_answer *answer, const working *work, rer_error *error)
{
    rer_scores *scores = &answer->scores;
    int64_t N = work->run.N, blocks = rer_run_blocks(&work->run);
    bool by_density = work->options.probability == RER_DENSITY;
    rer_room rooms[] = {
        RER_ROOM(scores->own, N),         RER_ROOM(scores->other, N),   RER_ROOM(scores->nearest, N),
        RER_ROOM(scores->logit, N),       RER_ROOM(scores->margin, N),  RER_ROOM(scores->removed, N),
        RER_ROOM(answer->blocks, blocks), RER_ROOM(scores->flipped, N),
    };
    answer->block_bytes = blocks * (int64_t)sizeof *answer->blocks;
    return rer_allocate_all(rooms, by_density ? RER_COUNT(rooms) : RER_COUNT(rooms) - 1, "scores", error);
}

static rer_status put_scores(rer_tensors *out, const working *work, const score_answer *answer, rer_error *error)
{
    const int64_t *rows = &work->run.N;
    rer_status status = rer_tensors_set_number(out, "first", (double)work->part->first, error);
    if (status == RER_OK)
        status = rer_tensors_set_number(out, "rows", (double)*rows, error);
    rer_score_column columns[RER_SCORE_COLUMNS];
    rer_exchange_score_columns(columns, &answer->scores);
    for (int i = 0; status == RER_OK && i < RER_SCORE_COLUMNS; i++)
        if (columns[i].values != NULL)
            status = rer_tensors_add(out, columns[i].name, columns[i].dtype, 1, rows, columns[i].values, error);
    if (status == RER_OK)
        status = rer_tensors_add(out, "blocks", RER_U8, 1, &answer->block_bytes, answer->blocks, error);
    return status;
}

static rer_status answer_scores(rer_tensors *out, score_answer *answer, working *work, rer_error *error)
{
    rer_model *model = NULL;
    bool left_out = true;
    rer_status status = read_model(&model, &left_out, work, error);
    if (status == RER_OK)
        status = make_scores(answer, work, error);
    if (status == RER_OK)
        status = rer_score_blocks(&answer->scores, answer->blocks, model, &work->run, left_out, error);
    if (status == RER_OK)
        status = put_scores(out, work, answer, error);
    rer_model_free(model);
    return status;
}

/* ---- near rows ----------------------------------------------------------------------------- */

/* What a part needs to search: freed by free_near. */
typedef struct near_task {
    rer_near near;
    rer_normalizer normalizer;
    double *center;
    float *share;
    uint8_t *doubted;
    int64_t bytes, distances; /* of the answer's arrays */
} near_task;

static void free_near(near_task *task)
{
    rer_near_free(&task->near);
    rer_normalizer_free(&task->normalizer);
    free(task->center);
    free(task->share);
    free(task->doubted);
}

static rer_status read_asking(near_task *task, const working *work, rer_error *error)
{
    rer_near *near = &task->near;
    int64_t shape[RER_TENSOR_RANK_MAX] = {0}, C = work->run.C;
    int32_t rank = 0;
    rer_status status = rer_tensors_shape(work->task, "class", &rank, shape, error);
    if (status == RER_OK && (rank != 2 || shape[0] < 1 || shape[1] < 1 || shape[1] > C))
        status = rer_fail(error, RER_BAD_INPUT, "a part's task: the classes in question have another shape");
    if (status != RER_OK)
        return status;
    *near = (rer_near){.count = shape[0], .slots = (int32_t)shape[1], .D = work->run.D};
    status = rer_near_make_lists(near, error);
    if (status == RER_OK)
        status = rer_tensors_copy(work->task, "row", RER_I64, 1, &near->count, &near->row, error);
    if (status == RER_OK)
        status = rer_tensors_copy(work->task, "x", RER_F32, 2, (int64_t[]){near->count, near->D}, &near->x, error);
    if (status == RER_OK)
        status = rer_tensors_copy(work->task, "class", RER_I32, 2, shape, &near->class, error);
    for (int64_t i = 0; status == RER_OK && i < near->count * near->slots; i++)
        if (near->class[i] < -1 || near->class[i] >= C)
            status =
                rer_fail(error, RER_BAD_INPUT, "a part's task asks for class %d of %lld", near->class[i], (long long)C);
    return status;
}

/* The part's own among the doubted rows. */
static rer_status read_doubted(near_task *task, const working *work, rer_error *error)
{
    int64_t *rows = NULL, count = 0;
    rer_status status = rer_exchange_list(work->task, "doubted", RER_I64, 0, &count, &rows, error);
    if (status == RER_OK)
        status = rer_allocate(&task->doubted, work->run.N, 1, "doubted rows", error);
    for (int64_t i = 0; status == RER_OK && i < count; i++)
        if (rows[i] >= work->part->first && rows[i] < work->part->first + work->run.N)
            task->doubted[rows[i] - work->part->first] = 1;
    free(rows);
    return status;
}

static rer_status answer_near(rer_tensors *out, near_task *task, working *work, rer_error *error)
{
    int64_t C = work->run.C, D = work->run.D;
    rer_status status = rer_exchange_get_normalizer(&task->normalizer, work->task, D, error);
    if (status == RER_OK)
        status = rer_tensors_copy(work->task, "center", RER_F64, 1, &D, &task->center, error);
    if (status == RER_OK)
        status = rer_tensors_copy(work->task, "share", RER_F32, 1, &C, &task->share, error);
    if (status == RER_OK)
        status = read_asking(task, work, error);
    if (status == RER_OK)
        status = read_doubted(task, work, error);
    rer_witnesses witnesses = {.normalizer = &task->normalizer,
                               .center = task->center,
                               .share = task->share,
                               .doubted = task->doubted,
                               .seed = work->options.seed};
    if (status == RER_OK)
        status = rer_near_search(&task->near, &witnesses, &work->run, error);
    int64_t places = task->near.count * task->near.slots;
    task->bytes = places * RER_NEAR_KEPT * (int64_t)sizeof(rer_neighbor);
    task->distances = places * RER_NEAR;
    if (status == RER_OK)
        status = rer_tensors_set_number(out, "rows", (double)work->run.N, error);
    if (status == RER_OK)
        status = rer_tensors_add(out, "list", RER_U8, 1, &task->bytes, task->near.list, error);
    if (status == RER_OK)
        status = rer_tensors_add(out, "trusted", RER_F32, 1, &task->distances, task->near.trusted, error);
    return status;
}

static rer_status answer_task(void **answer, int64_t *size, const rer_part *part, const rer_message *task,
                              const rer_progress *progress, rer_error *error)
{
    rer_tensors *in = NULL, *out = NULL;
    rer_sums_answer sums = {0};
    rer_scatter_answer scatter = {0};
    score_answer scores = {0};
    near_task near = {0};
    working work = {.part = part};
    rer_status status = rer_exchange_read(&in, task->data, task->size, "a part's task", error);
    work.task = in;
    if (status == RER_OK)
        status = open_part(&work, progress, error);
    if (status == RER_OK)
        status = rer_exchange_begin(&out, rer_tensors_text(in, "stage"), error);
    if (status == RER_OK && rer_exchange_is(in, RER_STAGE_SUMS))
        status = answer_sums(out, &sums, &work, error);
    else if (status == RER_OK && rer_exchange_is(in, RER_STAGE_SCATTER))
        status = answer_scatter(out, &scatter, &work, error);
    else if (status == RER_OK && rer_exchange_is(in, RER_STAGE_SCORES))
        status = answer_scores(out, &scores, &work, error);
    else if (status == RER_OK && rer_exchange_is(in, RER_STAGE_NEAR))
        status = answer_near(out, &near, &work, error);
    else if (status == RER_OK)
        status =
            rer_fail(error, RER_BAD_INPUT, "a part's task: there is no stage '%.20s'", rer_tensors_text(in, "stage"));
    if (status == RER_OK)
        status = rer_tensors_pack(out, answer, size, error);
    rer_sums_answer_free(&sums);
    rer_scatter_answer_free(&scatter);
    free_scores(&scores);
    free_near(&near);
    rer_tensors_free(in);
    rer_tensors_free(out);
    rer_run_end(&work.run);
    rer_dataset_free(work.data);
    return status;
}

rer_status rer_part_answer(void **answer, int64_t *size, const rer_part *given, const rer_message *task,
                           const rer_progress *progress, rer_error *error)
{
    rer_part part;
    rer_error_clear(error);
    rer_status status = rer_struct_take(&part, sizeof part, given, "rer_part", error);
    return status == RER_OK ? answer_task(answer, size, &part, task, progress, error) : status;
}
