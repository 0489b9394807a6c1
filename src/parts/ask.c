/* The passes over rows that lie elsewhere: makes the task, sends it out through the caller, and takes
 * the answers in as they come. */
#include "parts/parts.h"

#include <string.h>

/* What a pass collects; one of its members is used. */
typedef struct collecting {
    const rer_run *run;
    int64_t rows; /* answered so far */
    rer_class_sums *sums;
    double *scatter; /* [D, D], or NULL */
    rer_row_sample *sample;
    int64_t sampled;
    rer_scores *scores;
    rer_ratio_sums *blocks; /* [blocks] of the scoring */
    rer_near *near;
} collecting;

static rer_status fail_answer(const char *what, rer_error *error)
{
    return rer_fail(error, RER_BAD_INPUT, "a part's answer: %s; is it an answer to this task?", what);
}

/* Sends a task whose arrays are filled in; every row must be answered for once. */
static rer_status ask(collecting *collected, const rer_tensors *task, bool merge, rer_part_take *take, rer_error *error)
{
    const rer_parts *parts = &collected->run->data->parts;
    void *bytes = NULL;
    int64_t size = 0;
    rer_status status = rer_tensors_pack(task, &bytes, &size, error);
    if (status == RER_OK)
        status = parts->ask(parts->context, &(rer_message){bytes, size}, merge, take, collected, error);
    free(bytes);
    if (status == RER_OK && collected->rows != collected->run->N)
        status = rer_fail(error, RER_BAD_USAGE, "the parts answered for %lld rows of %lld", (long long)collected->rows,
                          (long long)collected->run->N);
    return status;
}

static rer_status begin_task(rer_tensors **task, const char *stage, const rer_run *run, rer_error *error)
{
    rer_status status = rer_exchange_begin(task, stage, error);
    if (status == RER_OK)
        status = rer_tensors_set_number(*task, "features", (double)run->D, error);
    if (status == RER_OK)
        status = rer_tensors_set_number(*task, "classes", run->C, error);
    if (status == RER_OK)
        status = rer_tensors_set_number(*task, "drop_invalid", run->options->drop_invalid, error);
    if (status == RER_OK)
        status = rer_tensors_set_number(*task, "probability", run->options->probability, error);
    if (status == RER_OK)
        status = rer_tensors_set_number(*task, "seed", (double)run->options->seed, error);
    return status;
}

/* ---- class sums ---------------------------------------------------------------------------- */

static rer_status take_sums(void *taker, const rer_message *message, rer_error *error)
{
    collecting *collected = taker;
    rer_class_sums *sums = collected->sums;
    rer_tensors *tensors = NULL;
    rer_sums_answer answer = {0};
    rer_status status = rer_exchange_read(&tensors, message->data, message->size, "a part's answer", error);
    if (status == RER_OK && !rer_exchange_is(tensors, RER_STAGE_SUMS))
        status = fail_answer("it is of another stage", error);
    if (status == RER_OK)
        status = rer_exchange_get_sums(&answer, tensors, error);
    if (status == RER_OK &&
        (answer.sums.C != sums->C || answer.sums.D != sums->D || (answer.sums.low == NULL) != (sums->low == NULL)))
        status = fail_answer("it has other classes or features", error);
    for (int64_t i = 0; status == RER_OK && i < answer.n_invalid; i++) {
        if (answer.invalid[i] < 0 || answer.invalid[i] >= collected->run->N)
            status = fail_answer("it names a row that does not exist", error);
        else
            collected->run->invalid[answer.invalid[i]] = 1;
    }
    if (status == RER_OK) {
        rer_class_sums_merge(sums, &answer.sums, collected->run->kernels);
        collected->rows += answer.rows;
    }
    rer_sums_answer_free(&answer);
    rer_tensors_free(tensors);
    return status;
}

static rer_status ask_class_sums(rer_class_sums *sums, const rer_normalizer *normalizer, const rer_run *run,
                                 rer_error *error)
{
    rer_tensors *task = NULL;
    collecting collected = {.run = run, .sums = sums};
    rer_status status = begin_task(&task, RER_STAGE_SUMS, run, error);
    if (status == RER_OK)
        status = rer_exchange_put_normalizer(task, normalizer, run->D, error);
    if (status == RER_OK)
        status = ask(&collected, task, true, take_sums, error);
    rer_tensors_free(task);
    return status;
}

/* ---- scatter ------------------------------------------------------------------------------- */

/* Puts a sampled row where the sample has it. */
static rer_status place_row(collecting *collected, const rer_row_sample *from, int64_t i, rer_error *error)
{
    rer_row_sample *sample = collected->sample;
    int64_t low = 0, high = sample != NULL ? sample->count : 0, D = collected->run->D;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (sample->row[middle] < from->row[i])
            low = middle + 1;
        else
            high = middle;
    }
    if (sample == NULL || low == sample->count || sample->row[low] != from->row[i] || from->code[i] < 0 ||
        from->code[i] >= collected->run->C)
        return fail_answer("it has a row that was not asked for", error);
    memcpy(sample->x + low * D, from->x + i * D, (size_t)D * sizeof *sample->x);
    sample->scale[low] = from->scale[i];
    sample->code[low] = from->code[i];
    collected->sampled++;
    return RER_OK;
}

static rer_status take_scatter(void *taker, const rer_message *message, rer_error *error)
{
    collecting *collected = taker;
    int64_t D = collected->run->D;
    rer_tensors *tensors = NULL;
    rer_scatter_answer answer = {0};
    rer_status status = rer_exchange_read(&tensors, message->data, message->size, "a part's answer", error);
    if (status == RER_OK && !rer_exchange_is(tensors, RER_STAGE_SCATTER))
        status = fail_answer("it is of another stage", error);
    if (status == RER_OK)
        status = rer_exchange_get_scatter(&answer, tensors, error);
    if (status == RER_OK && (answer.D != D || (answer.triangle == NULL) != (collected->scatter == NULL)))
        status = fail_answer("it has other features", error);
    for (int64_t i = 0; status == RER_OK && i < answer.sample.count; i++)
        status = place_row(collected, &answer.sample, i, error);
    const double *from = answer.triangle;
    for (int64_t j = 0; status == RER_OK && from != NULL && collected->scatter != NULL && j < D; j++)
        for (int64_t k = 0; k <= j; k++)
            collected->scatter[j * D + k] += *from++;
    collected->rows += answer.rows;
    rer_scatter_answer_free(&answer);
    rer_tensors_free(tensors);
    return status;
}

static rer_status ask_scatter(double *scatter, rer_row_sample *sample, const rer_class_moments *moments,
                              const rer_normalizer *normalizer, const rer_run *run, rer_error *error)
{
    rer_tensors *task = NULL;
    collecting collected = {.run = run, .scatter = scatter, .sample = sample};
    rer_status status = begin_task(&task, RER_STAGE_SCATTER, run, error);
    if (status == RER_OK)
        status = rer_exchange_put_normalizer(task, normalizer, run->D, error);
    if (status == RER_OK)
        status = rer_tensors_set_number(task, "scatter", scatter != NULL, error);
    if (status == RER_OK && scatter != NULL)
        status = rer_tensors_set_number(task, "spread", moments->spread, error);
    if (status == RER_OK && scatter != NULL)
        status = rer_tensors_add(task, "mean", RER_F64, 2, (int64_t[]){run->C, run->D}, moments->mean, error);
    if (status == RER_OK && scatter != NULL)
        status = rer_tensors_add(task, "unit", RER_F64, 1, &run->D, moments->unit, error);
    if (status == RER_OK && sample != NULL && sample->count > 0)
        status = rer_tensors_add(task, "sample.row", RER_I64, 1, &sample->count, sample->row, error);
    if (status == RER_OK)
        status = ask(&collected, task, true, take_scatter, error);
    if (status == RER_OK && sample != NULL && collected.sampled != sample->count)
        status = rer_fail(error, RER_BAD_USAGE, "the parts returned %lld sampled rows of %lld",
                          (long long)collected.sampled, (long long)sample->count);
    rer_tensors_free(task);
    return status;
}

/* ---- scores -------------------------------------------------------------------------------- */

/* Copies one column of an answer to its rows of the result. */
static rer_status take_column(void *column, const char *name, rer_dtype dtype, int64_t size, int64_t first,
                              int64_t rows, const rer_tensors *tensors, rer_error *error)
{
    void *values = NULL;
    rer_status status = rer_tensors_copy(tensors, name, dtype, 1, &rows, &values, error);
    if (status == RER_OK)
        memcpy((char *)column + first * size, values, (size_t)(rows * size));
    free(values);
    return status;
}

static rer_status take_blocks(collecting *collected, int64_t first, int64_t rows, const rer_tensors *tensors,
                              rer_error *error)
{
    rer_ratio_sums *blocks = NULL;
    int64_t count = (rows + RER_BLOCK - 1) / RER_BLOCK, bytes = count * (int64_t)sizeof *blocks;
    rer_status status = rer_tensors_copy(tensors, "blocks", RER_U8, 1, &bytes, &blocks, error);
    if (status == RER_OK)
        memcpy(collected->blocks + first / RER_BLOCK, blocks, (size_t)bytes);
    free(blocks);
    return status;
}

static rer_status take_scores(void *taker, const rer_message *message, rer_error *error)
{
    collecting *collected = taker;
    rer_scores *scores = collected->scores;
    int64_t N = collected->run->N, first = 0, rows = 0;
    rer_tensors *tensors = NULL;
    rer_status status = rer_exchange_read(&tensors, message->data, message->size, "a part's answer", error);
    if (status == RER_OK && !rer_exchange_is(tensors, RER_STAGE_SCORES))
        status = fail_answer("it is of another stage", error);
    if (status == RER_OK)
        status = rer_exchange_integer(tensors, "first", 0, N - 1, &first, error);
    if (status == RER_OK)
        status = rer_exchange_integer(tensors, "rows", 1, N - first, &rows, error);
    if (status == RER_OK && first % RER_BLOCK != 0)
        status = fail_answer("its rows do not begin at a multiple of 1024", error);
    rer_score_column columns[RER_SCORE_COLUMNS];
    rer_exchange_score_columns(columns, scores);
    for (int i = 0; status == RER_OK && i < RER_SCORE_COLUMNS; i++)
        if (columns[i].values != NULL)
            status = take_column(columns[i].values, columns[i].name, columns[i].dtype, 4, first, rows, tensors, error);
    for (int64_t i = first; status == RER_OK && i < first + rows; i++)
        if (scores->nearest[i] < -1 || scores->nearest[i] >= collected->run->C)
            status = fail_answer("it suggests a class that does not exist", error);
    if (status == RER_OK)
        status = take_blocks(collected, first, rows, tensors, error);
    collected->rows += rows;
    rer_tensors_free(tensors);
    return status;
}

static rer_status ask_scores(rer_scores *scores, rer_ratio_sums *sums, const rer_model *model, const rer_run *run,
                             bool left_out, rer_output *errors, rer_error *error)
{
    rer_tensors *task = NULL;
    void *packed = NULL;
    int64_t size = 0;
    collecting collected = {.run = run, .scores = scores};
    if (errors != NULL)
        return rer_fail(error, RER_BAD_USAGE, "errors of all classes cannot be written where rows lie in parts");
    rer_status status = rer_allocate(&collected.blocks, rer_run_blocks(run), sizeof *collected.blocks, "sums", error);
    if (status == RER_OK)
        status = begin_task(&task, RER_STAGE_SCORES, run, error);
    if (status == RER_OK)
        status = rer_model_pack(model, &packed, &size, error);
    if (status == RER_OK)
        status = rer_tensors_add(task, "model", RER_U8, 1, &size, packed, error);
    if (status == RER_OK)
        status = rer_tensors_set_number(task, "left_out", left_out, error);
    if (status == RER_OK)
        status = ask(&collected, task, false, take_scores, error);
    for (int64_t block = 0; status == RER_OK && block < rer_run_blocks(run); block++)
        rer_ratio_sums_add(sums, &collected.blocks[block]);
    free(collected.blocks);
    free(packed);
    rer_tensors_free(task);
    return status;
}

/* ---- near rows ----------------------------------------------------------------------------- */

static rer_status take_near(void *taker, const rer_message *message, rer_error *error)
{
    collecting *collected = taker;
    rer_near *near = collected->near;
    int64_t places = near->count * near->slots, rows = 0;
    rer_tensors *tensors = NULL;
    rer_neighbor *list = NULL;
    float *trusted = NULL;
    int64_t bytes = places * RER_NEAR_KEPT * (int64_t)sizeof *list, distances = places * RER_NEAR;
    rer_status status = rer_exchange_read(&tensors, message->data, message->size, "a part's answer", error);
    if (status == RER_OK && !rer_exchange_is(tensors, RER_STAGE_NEAR))
        status = fail_answer("it is of another stage", error);
    if (status == RER_OK)
        status = rer_exchange_integer(tensors, "rows", 1, collected->run->N, &rows, error);
    if (status == RER_OK)
        status = rer_tensors_copy(tensors, "list", RER_U8, 1, &bytes, &list, error);
    if (status == RER_OK)
        status = rer_tensors_copy(tensors, "trusted", RER_F32, 1, &distances, &trusted, error);
    for (int64_t i = 0; status == RER_OK && i < places * RER_NEAR_KEPT; i++)
        if (list[i].index < 0 || (list[i].index >= collected->run->N && list[i].index != INT32_MAX))
            status = fail_answer("it names a row that does not exist", error);
    if (status == RER_OK)
        rer_near_merge(near, list, trusted);
    collected->rows += rows;
    free(list);
    free(trusted);
    rer_tensors_free(tensors);
    return status;
}

/* Places of the doubted rows; free() them. */
static rer_status list_doubted(int64_t **rows, int64_t *count, const rer_witnesses *witnesses, int64_t N,
                               rer_error *error)
{
    int64_t n = 0;
    for (int64_t i = 0; i < N; i++)
        n += witnesses->doubted[i] != 0;
    rer_status status = rer_allocate(rows, n, sizeof **rows, "doubted rows", error);
    *count = 0;
    for (int64_t i = 0; status == RER_OK && i < N; i++)
        if (witnesses->doubted[i] != 0)
            (*rows)[(*count)++] = i;
    return status;
}

static rer_status ask_near(rer_near *near, const rer_witnesses *witnesses, const rer_run *run, rer_error *error)
{
    rer_tensors *task = NULL;
    int64_t *doubted = NULL, n_doubted = 0, C = run->C;
    collecting collected = {.run = run, .near = near};
    rer_status status = list_doubted(&doubted, &n_doubted, witnesses, run->N, error);
    if (status == RER_OK)
        status = begin_task(&task, RER_STAGE_NEAR, run, error);
    if (status == RER_OK)
        status = rer_exchange_put_normalizer(task, witnesses->normalizer, run->D, error);
    if (status == RER_OK)
        status = rer_tensors_add(task, "center", RER_F64, 1, &run->D, witnesses->center, error);
    if (status == RER_OK)
        status = rer_tensors_add(task, "share", RER_F32, 1, &C, witnesses->share, error);
    if (status == RER_OK && n_doubted > 0)
        status = rer_tensors_add(task, "doubted", RER_I64, 1, &n_doubted, doubted, error);
    if (status == RER_OK)
        status = rer_tensors_add(task, "row", RER_I64, 1, &near->count, near->row, error);
    if (status == RER_OK)
        status = rer_tensors_add(task, "x", RER_F32, 2, (int64_t[]){near->count, near->D}, near->x, error);
    if (status == RER_OK)
        status = rer_tensors_add(task, "class", RER_I32, 2, (int64_t[]){near->count, near->slots}, near->class, error);
    if (status == RER_OK)
        status = ask(&collected, task, false, take_near, error);
    free(doubted);
    rer_tensors_free(task);
    return status;
}

/* ---- the data set -------------------------------------------------------------------------- */

rer_status rer_dataset_apart(rer_dataset **data, int64_t rows, int64_t columns, const rer_view *labels,
                             const rer_parts *parts, rer_error *error)
{
    rer_dataset *made = NULL;
    rer_error_clear(error);
    if (rows < 1 || columns < 1 || columns > INT32_MAX)
        return rer_fail(error, RER_BAD_INPUT, "%lld rows of %lld features hold no data", (long long)rows,
                        (long long)columns);
    rer_status status = rer_allocate(&made, 1, sizeof *made, "a data set", error);
    if (status != RER_OK)
        return status;
    made->features = (rer_array){.dtype = RER_F32, .item_size = 4, .rank = 2, .shape = {rows, columns}, .fd = -1};
    made->N = rows;
    made->D = columns;
    made->parts = *parts;
    status = rer_copy_text(&made->features.name, "features", error);
    if (status == RER_OK)
        status = rer_dataset_set_labels(made, labels, error);
    if (status != RER_OK) {
        rer_dataset_free(made);
        return status;
    }
    *data = made;
    return RER_OK;
}

const rer_passes rer_passes_apart = {
    .class_sums = ask_class_sums,
    .scatter = ask_scatter,
    .score = ask_scores,
    .near = ask_near,
};
