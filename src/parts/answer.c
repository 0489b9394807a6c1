/* Answers of a part, where its rows are: the same passes over its blocks. */
#include "parts/parts.h"

/* A part with all that a pass needs. */
typedef struct working {
    const rer_part *part;
    rer_tensors *task;
    rer_options options;
    rer_dataset *data;
    rer_units *units;
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
    rer_tensors *task = work->task;
    rer_dataset *data = NULL;
    work->options = rer_options_default();
    int64_t D = rer_exchange_integer(task, "features", 1, INT32_MAX);
    int64_t C = rer_exchange_integer(task, "classes", 1, INT32_MAX);
    work->options.drop_invalid = rer_exchange_integer(task, "drop_invalid", 0, 1) != 0;
    work->options.probability = (int32_t)rer_exchange_integer(task, "probability", 0, RER_DENSITY);
    work->options.seed = rer_exchange_integer(task, "seed", 0, (int64_t)1 << 53);
    work->options.threads = work->part->threads;
    int64_t every = rer_exchange_integer(task, "every", 0, INT32_MAX);
    RER_TRY(rer_units_get(&work->units, task, D, error));
    RER_TRY(rer_tensors_status(task, error));
    RER_TRY(rer_dataset_wrap(&data, &work->part->rows, NULL, &work->options, error));
    work->data = data;
    if (data->D != D)
        return rer_fail(error, RER_BAD_INPUT, "rows of a part have %lld features instead of %lld", (long long)data->D,
                        (long long)D);
    RER_TRY(check_codes(work->part, data->N, C, error));
    RER_TRY(rer_run_start(&work->run, data, work->part->codes, (int32_t)C, &work->options, progress, error));
    if (work->units != NULL)
        RER_TRY(rer_units_enter(&work->run, work->units, error));
    work->run.every = every;
    work->run.first_row = work->part->first;
    work->run.passes = &rer_passes_here;
    return RER_OK;
}

/* ---- class sums and scatter ------------------------------------------------------------------ */

static rer_status list_invalid(rer_sums_answer *answer, const working *work, rer_error *error)
{
    int64_t capacity = 0;
    for (int64_t i = 0; i < work->run.N; i++)
        if (work->run.invalid[i] != 0) {
            RER_TRY(rer_grow(&answer->invalid, &capacity, answer->n_invalid + 1, sizeof(int64_t), "rows", error));
            answer->invalid[answer->n_invalid++] = work->part->first + i;
        }
    return RER_OK;
}

static rer_status answer_sums(rer_tensors *out, rer_sums_answer *answer, working *work, rer_error *error)
{
    rer_normalizer normalizer = {0};
    answer->rows = work->run.N;
    rer_exchange_get_normalizer(&normalizer, work->task, work->run.D);
    rer_status status = rer_tensors_status(work->task, error);
    RER_THEN(status,
             rer_class_sums_make(&answer->sums, work->run.C, work->run.D, normalizer.kind == RER_MINMAX, error));
    RER_THEN(status, rer_class_sums_add(&answer->sums, &normalizer, &work->run, error));
    RER_THEN(status, list_invalid(answer, work, error));
    if (status == RER_OK)
        rer_exchange_put_sums(out, answer);
    rer_normalizer_free(&normalizer);
    return status;
}

/* The part's own among the sampled rows, with room for them. */
static rer_status pick_sample(rer_row_sample *sample, const working *work, rer_error *error)
{
    int64_t count = 0, last = work->part->first + work->run.N;
    sample->row = rer_exchange_list(work->task, "sample.row", RER_I64, &count);
    RER_TRY(rer_tensors_status(work->task, error));
    for (int64_t i = 0; i < count; i++)
        if (sample->row[i] >= work->part->first && sample->row[i] < last)
            sample->row[sample->count++] = sample->row[i];
    rer_room rooms[] = {RER_ROOM(sample->x, sample->count * work->run.D), RER_ROOM(sample->scale, sample->count),
                        RER_ROOM(sample->code, sample->count)};
    return rer_allocate_all(rooms, RER_COUNT(rooms), "sampled rows", error);
}

/* What a task says of the classes; scatter NULL: it is not asked for. */
static rer_status read_moments(rer_class_moments *moments, double **scatter, const working *work, rer_error *error)
{
    rer_tensors *task = work->task;
    int64_t C = work->run.C, D = work->run.D;
    bool wanted = rer_exchange_integer(task, "scatter", 0, 1) != 0;
    if (wanted) {
        moments->spread = rer_tensors_number(task, "spread");
        moments->mean = rer_tensors_copy(task, "mean", RER_F64, RER_SHAPE(C, D));
        moments->unit = rer_tensors_copy(task, "unit", RER_F64, RER_SHAPE(D));
    }
    RER_TRY(rer_tensors_status(task, error));
    if (wanted)
        RER_TRY(rer_allocate(scatter, D * D, sizeof(double), "the covariance", error));
    return RER_OK;
}

static rer_status answer_scatter(rer_tensors *out, rer_scatter_answer *answer, working *work, rer_error *error)
{
    int64_t D = work->run.D;
    double *scatter = NULL;
    rer_normalizer normalizer = {0};
    rer_class_moments moments = {0};
    answer->D = D;
    answer->rows = work->run.N;
    rer_exchange_get_normalizer(&normalizer, work->task, D);
    rer_status status = read_moments(&moments, &scatter, work, error);
    RER_THEN(status, pick_sample(&answer->sample, work, error));
    RER_THEN(status, rer_within_scatter(scatter, &answer->sample, &moments, &normalizer, &work->run, error));
    if (status == RER_OK) { /* the rows of the triangle move together */
        for (int64_t j = 1, at = 1; scatter != NULL && j < D; at += ++j)
            memmove(scatter + at, scatter + j * D, (size_t)(j + 1) * sizeof *scatter);
        answer->triangle = scatter;
        scatter = NULL;
        rer_exchange_put_scatter(out, answer);
    }
    free(scatter);
    rer_class_moments_free(&moments);
    rer_normalizer_free(&normalizer);
    return status;
}

/* ---- scores -------------------------------------------------------------------------------- */

static rer_status read_model(rer_model **model, bool *left_out, const working *work, rer_error *error)
{
    rer_model *made = NULL;
    int64_t size = 0;
    unsigned char *bytes = rer_exchange_list(work->task, "model", RER_U8, &size);
    *left_out = rer_exchange_integer(work->task, "left_out", 0, 1) != 0;
    rer_status status = rer_tensors_status(work->task, error);
    RER_THEN(status, rer_model_unpack(&made, bytes, size, error));
    free(bytes);
    if (status == RER_OK && (made->C != work->run.C || made->D != work->run.D))
        status = rer_fail(error, RER_BAD_INPUT, "a task's model has other classes or features than the task");
    if (status == RER_OK)
        *model = made;
    else
        rer_model_free(made);
    return status;
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
    RER_FREE_ALL(scores->own, scores->other, scores->nearest, scores->logit, scores->margin, scores->removed,
                 scores->flipped, scores->proposed, answer->blocks);
}

static rer_status make_scores(score_answer *answer, const working *work, rer_error *error)
{
    rer_scores *scores = &answer->scores;
    int64_t N = work->run.N, blocks = rer_run_blocks(&work->run);
    bool by_density = work->options.probability == RER_DENSITY;
    rer_room rooms[] = {
        RER_ROOM(scores->own, N),      RER_ROOM(scores->other, N),       RER_ROOM(scores->nearest, N),
        RER_ROOM(scores->logit, N),    RER_ROOM(scores->margin, N),      RER_ROOM(scores->removed, N),
        RER_ROOM(scores->proposed, N), RER_ROOM(answer->blocks, blocks), RER_ROOM(scores->flipped, N),
    };
    answer->block_bytes = blocks * (int64_t)sizeof *answer->blocks;
    return rer_allocate_all(rooms, by_density ? RER_COUNT(rooms) : RER_COUNT(rooms) - 1, "scores", error);
}

static void put_scores(rer_tensors *out, const working *work, const score_answer *answer)
{
    int64_t rows = work->run.N;
    rer_tensors_set_number(out, "first", (double)work->part->first);
    rer_tensors_set_number(out, "rows", (double)rows);
    rer_score_column columns[RER_SCORE_COLUMNS];
    rer_exchange_score_columns(columns, &answer->scores);
    for (int i = 0; i < RER_SCORE_COLUMNS; i++)
        if (columns[i].values != NULL)
            rer_tensors_add(out, columns[i].name, columns[i].dtype, RER_SHAPE(rows), columns[i].values);
    rer_tensors_add(out, "blocks", RER_U8, RER_SHAPE(answer->block_bytes), answer->blocks);
}

static rer_status answer_scores(rer_tensors *out, score_answer *answer, working *work, rer_error *error)
{
    rer_model *model = NULL;
    bool left_out = true;
    rer_status status = read_model(&model, &left_out, work, error);
    RER_THEN(status, make_scores(answer, work, error));
    RER_THEN(status, rer_score_blocks(&answer->scores, answer->blocks, model, &work->run, left_out, error));
    if (status == RER_OK)
        put_scores(out, work, answer);
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
} near_task;

static void free_near(near_task *task)
{
    rer_near_free(&task->near);
    rer_normalizer_free(&task->normalizer);
    RER_FREE_ALL(task->center, task->share, task->doubted);
}

static rer_status read_asking(near_task *task, const working *work, rer_error *error)
{
    rer_near *near = &task->near;
    rer_tensors *in = work->task;
    int64_t shape[RER_TENSOR_RANK_MAX], C = work->run.C;
    int32_t rank = rer_tensors_shape(in, "class", shape);
    if (rank != 2 || shape[0] < 1 || shape[1] < 1 || shape[1] > C)
        rer_tensors_fail(in, "the classes in question have another shape");
    *near = (rer_near){.count = shape[0], .slots = (int32_t)shape[1], .D = work->run.D};
    near->row = rer_tensors_copy(in, "row", RER_I64, RER_SHAPE(near->count));
    near->x = rer_tensors_copy(in, "x", RER_F32, RER_SHAPE(near->count, near->D));
    near->class = rer_tensors_copy(in, "class", RER_I32, 2, shape);
    for (int64_t i = 0; near->class != NULL && i < near->count * near->slots; i++)
        if (near->class[i] < -1 || near->class[i] >= C)
            rer_tensors_fail(in, "it asks for class %d of %lld", near->class[i], (long long)C);
    RER_TRY(rer_tensors_status(in, error));
    return rer_near_make_lists(near, error);
}

/* The part's own among the doubted rows. */
static rer_status read_doubted(near_task *task, const working *work, rer_error *error)
{
    int64_t count = 0, *rows = rer_exchange_list(work->task, "doubted", RER_I64, &count);
    rer_status status = rer_tensors_status(work->task, error);
    RER_THEN(status, rer_allocate(&task->doubted, work->run.N, 1, "doubted rows", error));
    for (int64_t i = 0; status == RER_OK && i < count; i++)
        if (rows[i] >= work->part->first && rows[i] < work->part->first + work->run.N)
            task->doubted[rows[i] - work->part->first] = 1;
    free(rows);
    return status;
}

static rer_status answer_near(rer_tensors *out, near_task *task, working *work, rer_error *error)
{
    int64_t C = work->run.C, D = work->run.D;
    rer_exchange_get_normalizer(&task->normalizer, work->task, D);
    task->center = rer_tensors_copy(work->task, "center", RER_F64, RER_SHAPE(D));
    task->share = rer_tensors_copy(work->task, "share", RER_F32, RER_SHAPE(C));
    RER_TRY(read_asking(task, work, error));
    RER_TRY(read_doubted(task, work, error));
    rer_witnesses witnesses = {.normalizer = &task->normalizer,
                               .center = task->center,
                               .share = task->share,
                               .doubted = task->doubted,
                               .seed = work->options.seed};
    RER_TRY(rer_near_search(&task->near, &witnesses, &work->run, error));
    int64_t places = task->near.count * task->near.slots, kept = places * RER_NEAR_KEPT;
    rer_tensors_set_number(out, "rows", (double)work->run.N);
    rer_tensors_add(out, "list", RER_U8, RER_SHAPE(kept * (int64_t)sizeof(rer_neighbor)), task->near.list);
    rer_tensors_add(out, "trusted", RER_F32, RER_SHAPE(places * RER_NEAR), task->near.trusted);
    return RER_OK;
}

static rer_status answer_task(void **answer, int64_t *size, const rer_part *part, const rer_message *task,
                              const rer_progress *progress, rer_error *error)
{
    rer_tensors *out = NULL;
    rer_sums_answer sums = {0};
    rer_scatter_answer scatter = {0};
    score_answer scores = {0};
    near_task near = {0};
    rer_tensors *in = rer_exchange_read(task->data, task->size, "a part's task");
    working work = {.part = part, .task = in};
    rer_status status = open_part(&work, progress, error);
    if (status == RER_OK) {
        const char *stage = rer_tensors_text(in, "stage");
        out = rer_exchange_begin(stage);
        if (rer_exchange_is(in, RER_STAGE_SUMS))
            status = answer_sums(out, &sums, &work, error);
        else if (rer_exchange_is(in, RER_STAGE_SCATTER))
            status = answer_scatter(out, &scatter, &work, error);
        else if (rer_exchange_is(in, RER_STAGE_SCORES))
            status = answer_scores(out, &scores, &work, error);
        else if (rer_exchange_is(in, RER_STAGE_NEAR))
            status = answer_near(out, &near, &work, error);
        else
            status = rer_fail(error, RER_BAD_INPUT, "a part's task: there is no stage '%.20s'", stage);
    }
    RER_THEN(status, rer_tensors_pack(out, answer, size, error));
    rer_sums_answer_free(&sums);
    rer_scatter_answer_free(&scatter);
    free_scores(&scores);
    free_near(&near);
    rer_tensors_free(in);
    rer_tensors_free(out);
    rer_run_end(&work.run);
    rer_units_free(work.units);
    rer_dataset_free(work.data);
    return status;
}

rer_status rer_part_answer(void **answer, int64_t *size, const rer_part *given, const rer_message *task,
                           const rer_progress *progress, rer_error *error)
{
    rer_part part;
    rer_error_clear(error);
    RER_TRY(rer_struct_take(&part, sizeof part, given, "rer_part", error));
    return answer_task(answer, size, &part, task, progress, error);
}
