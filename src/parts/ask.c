/* The passes over rows that lie elsewhere: makes the task, sends it out through the caller, and takes
 * the answers in as they come. */
#include "parts/parts.h"

#define WRONG_ANSWER "; is it an answer to this task?"

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

/* The tensors of an answer, which has to be of this stage. */
static rer_tensors *read_answer(const rer_message *message, const char *stage)
{
    rer_tensors *answer = rer_exchange_read(message->data, message->size, "a part's answer");
    if (!rer_exchange_is(answer, stage))
        rer_tensors_fail(answer, "it is of another stage" WRONG_ANSWER);
    return answer;
}

/* Sends a task whose arrays are filled in; every row must be answered for once. */
static rer_status ask(collecting *collected, const rer_tensors *task, bool merge, rer_part_take *take, rer_error *error)
{
    const rer_parts *parts = &collected->run->data->parts;
    void *bytes = NULL;
    int64_t size = 0;
    rer_status status = rer_tensors_pack(task, &bytes, &size, error);
    RER_THEN(status, parts->ask(parts->context, &(rer_message){bytes, size}, merge, take, collected, error));
    free(bytes);
    if (status == RER_OK && collected->rows != collected->run->N)
        status = rer_fail(error, RER_BAD_USAGE, "the parts answered for %lld rows of %lld", (long long)collected->rows,
                          (long long)collected->run->N);
    return status;
}

static rer_tensors *begin_task(const char *stage, const rer_run *run)
{
    rer_tensors *task = rer_exchange_begin(stage);
    const rer_units *units = run->data->units;
    rer_tensors_set_number(task, "features", (double)(units != NULL ? units->D : run->D));
    rer_units_put(task, units);
    rer_tensors_set_number(task, "every", (double)run->every);
    rer_tensors_set_number(task, "classes", run->C);
    rer_tensors_set_number(task, "drop_invalid", run->options->drop_invalid);
    rer_tensors_set_number(task, "probability", run->options->probability);
    rer_tensors_set_number(task, "seed", (double)run->options->seed);
    return task;
}

/* ---- class sums ---------------------------------------------------------------------------- */

/* Compares an answer's sums with those that they are to join. */
static rer_status check_sums(const rer_sums_answer *answer, const rer_class_sums *sums, int64_t N, rer_tensors *tensors,
                             rer_error *error)
{
    if (answer->sums.C != sums->C || answer->sums.D != sums->D || (answer->sums.low == NULL) != (sums->low == NULL))
        rer_tensors_fail(tensors, "it has other classes or features" WRONG_ANSWER);
    for (int64_t i = 0; answer->invalid != NULL && i < answer->n_invalid; i++)
        if (answer->invalid[i] < 0 || answer->invalid[i] >= N)
            rer_tensors_fail(tensors, "it names a row that does not exist" WRONG_ANSWER);
    return rer_tensors_status(tensors, error);
}

static rer_status take_sums(void *taker, const rer_message *message, rer_error *error)
{
    collecting *collected = taker;
    rer_sums_answer answer = {0};
    rer_tensors *tensors = read_answer(message, RER_STAGE_SUMS);
    rer_exchange_get_sums(&answer, tensors);
    rer_status status = check_sums(&answer, collected->sums, collected->run->N, tensors, error);
    if (status == RER_OK) {
        for (int64_t i = 0; i < answer.n_invalid; i++)
            collected->run->invalid[answer.invalid[i]] = 1;
        rer_class_sums_merge(collected->sums, &answer.sums, collected->run->kernels);
        collected->rows += answer.rows;
    }
    rer_sums_answer_free(&answer);
    rer_tensors_free(tensors);
    return status;
}

static rer_status ask_class_sums(rer_class_sums *sums, const rer_normalizer *normalizer, const rer_run *run,
                                 rer_error *error)
{
    collecting collected = {.run = run, .sums = sums};
    rer_tensors *task = begin_task(RER_STAGE_SUMS, run);
    rer_exchange_put_normalizer(task, normalizer, run->D);
    rer_status status = ask(&collected, task, true, take_sums, error);
    rer_tensors_free(task);
    return status;
}

/* ---- scatter ------------------------------------------------------------------------------- */

/* Puts a sampled row where the sample has it; false: it has no such row. */
static bool place_row(collecting *collected, const rer_row_sample *from, int64_t i)
{
    rer_row_sample *sample = collected->sample;
    int64_t D = collected->run->D, low = sample != NULL ? rer_place_of(sample->row, sample->count, from->row[i]) : 0;
    if (sample == NULL || low == sample->count || sample->row[low] != from->row[i] || from->code[i] < 0 ||
        from->code[i] >= collected->run->C)
        return false;
    memcpy(sample->x + low * D, from->x + i * D, (size_t)D * sizeof *sample->x);
    sample->scale[low] = from->scale[i];
    sample->code[low] = from->code[i];
    collected->sampled++;
    return true;
}

static void take_sample(collecting *collected, const rer_row_sample *from, rer_tensors *tensors)
{
    for (int64_t i = 0; i < from->count; i++)
        if (!place_row(collected, from, i)) {
            rer_tensors_fail(tensors, "it has a row that was not asked for" WRONG_ANSWER);
            return;
        }
}

static rer_status take_scatter(void *taker, const rer_message *message, rer_error *error)
{
    collecting *collected = taker;
    int64_t D = collected->run->D;
    rer_scatter_answer answer = {0};
    rer_tensors *tensors = read_answer(message, RER_STAGE_SCATTER);
    rer_exchange_get_scatter(&answer, tensors);
    if (answer.D != D || (answer.triangle == NULL) != (collected->scatter == NULL))
        rer_tensors_fail(tensors, "it has other features" WRONG_ANSWER);
    if (rer_tensors_status(tensors, NULL) == RER_OK)
        take_sample(collected, &answer.sample, tensors);
    rer_status status = rer_tensors_status(tensors, error);
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
    collecting collected = {.run = run, .scatter = scatter, .sample = sample};
    rer_tensors *task = begin_task(RER_STAGE_SCATTER, run);
    rer_exchange_put_normalizer(task, normalizer, run->D);
    rer_tensors_set_number(task, "scatter", scatter != NULL);
    if (scatter != NULL) {
        rer_tensors_set_number(task, "spread", moments->spread);
        rer_tensors_add(task, "mean", RER_F64, RER_SHAPE(run->C, run->D), moments->mean);
        rer_tensors_add(task, "unit", RER_F64, RER_SHAPE(run->D), moments->unit);
    }
    if (sample != NULL && sample->count > 0)
        rer_tensors_add(task, "sample.row", RER_I64, RER_SHAPE(sample->count), sample->row);
    rer_status status = ask(&collected, task, true, take_scatter, error);
    if (status == RER_OK && sample != NULL && collected.sampled != sample->count)
        status = rer_fail(error, RER_BAD_USAGE, "the parts returned %lld sampled rows of %lld",
                          (long long)collected.sampled, (long long)sample->count);
    rer_tensors_free(task);
    return status;
}

/* ---- scores -------------------------------------------------------------------------------- */

/* Copies an array [count] of items of `size` bytes of an answer to its place in the result. */
static void take_array(void *to, const char *name, rer_dtype dtype, int64_t size, int64_t count, rer_tensors *tensors)
{
    void *values = rer_tensors_copy(tensors, name, dtype, 1, &count);
    if (values != NULL)
        memcpy(to, values, (size_t)(count * size));
    free(values);
}

static rer_status take_scores(void *taker, const rer_message *message, rer_error *error)
{
    collecting *collected = taker;
    const rer_scores *scores = collected->scores;
    rer_tensors *tensors = read_answer(message, RER_STAGE_SCORES);
    int64_t N = collected->run->N, first = rer_exchange_integer(tensors, "first", 0, N - 1);
    int64_t rows = rer_exchange_integer(tensors, "rows", 1, N - first);
    int64_t bytes = (rows + RER_BLOCK - 1) / RER_BLOCK * (int64_t)sizeof *collected->blocks;
    if (first % RER_BLOCK != 0)
        rer_tensors_fail(tensors, "its rows do not begin at a multiple of 1024" WRONG_ANSWER);
    rer_score_column columns[RER_SCORE_COLUMNS];
    rer_exchange_score_columns(columns, scores);
    for (int i = 0; i < RER_SCORE_COLUMNS; i++)
        if (columns[i].values != NULL)
            take_array((char *)columns[i].values + first * 4, columns[i].name, columns[i].dtype, 4, rows, tensors);
    for (int64_t i = first; i < first + rows; i++)
        if (scores->nearest[i] < -1 || scores->nearest[i] >= collected->run->C || scores->proposed[i] < -1 ||
            scores->proposed[i] >= collected->run->C)
            rer_tensors_fail(tensors, "it suggests a class that does not exist" WRONG_ANSWER);
    take_array(collected->blocks + first / RER_BLOCK, "blocks", RER_U8, 1, bytes, tensors);
    rer_status status = rer_tensors_status(tensors, error);
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
    RER_THEN(status, rer_model_pack(model, &packed, &size, error));
    if (status == RER_OK) {
        task = begin_task(RER_STAGE_SCORES, run);
        rer_tensors_add(task, "model", RER_U8, RER_SHAPE(size), packed);
        rer_tensors_set_number(task, "left_out", left_out);
        status = ask(&collected, task, false, take_scores, error);
    }
    for (int64_t block = 0; status == RER_OK && block < rer_run_blocks(run); block++)
        rer_ratio_sums_add(sums, &collected.blocks[block]);
    RER_FREE_ALL(collected.blocks, packed);
    rer_tensors_free(task);
    return status;
}

/* ---- near rows ----------------------------------------------------------------------------- */

static rer_status take_near(void *taker, const rer_message *message, rer_error *error)
{
    collecting *collected = taker;
    rer_near *near = collected->near;
    int64_t N = collected->run->N, places = near->count * near->slots, kept = places * RER_NEAR_KEPT;
    rer_tensors *tensors = read_answer(message, RER_STAGE_NEAR);
    int64_t rows = rer_exchange_integer(tensors, "rows", 1, N);
    rer_neighbor *list = rer_tensors_copy(tensors, "list", RER_U8, RER_SHAPE(kept * (int64_t)sizeof *list));
    float *trusted = rer_tensors_copy(tensors, "trusted", RER_F32, RER_SHAPE(places * RER_NEAR));
    for (int64_t i = 0; list != NULL && i < kept; i++)
        if (list[i].index < 0 || (list[i].index >= N && list[i].index != INT32_MAX))
            rer_tensors_fail(tensors, "it names a row that does not exist" WRONG_ANSWER);
    rer_status status = rer_tensors_status(tensors, error);
    if (status == RER_OK)
        rer_near_merge(near, list, trusted);
    collected->rows += rows;
    RER_FREE_ALL(list, trusted);
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
    RER_TRY(rer_allocate(rows, n, sizeof **rows, "doubted rows", error));
    *count = 0;
    for (int64_t i = 0; i < N; i++)
        if (witnesses->doubted[i] != 0)
            (*rows)[(*count)++] = i;
    return RER_OK;
}

static rer_status ask_near(rer_near *near, const rer_witnesses *witnesses, const rer_run *run, rer_error *error)
{
    int64_t *doubted = NULL, n_doubted = 0;
    collecting collected = {.run = run, .near = near};
    RER_TRY(list_doubted(&doubted, &n_doubted, witnesses, run->N, error));
    rer_tensors *task = begin_task(RER_STAGE_NEAR, run);
    rer_exchange_put_normalizer(task, witnesses->normalizer, run->D);
    rer_tensors_add(task, "center", RER_F64, RER_SHAPE(run->D), witnesses->center);
    rer_tensors_add(task, "share", RER_F32, RER_SHAPE(run->C), witnesses->share);
    if (n_doubted > 0)
        rer_tensors_add(task, "doubted", RER_I64, RER_SHAPE(n_doubted), doubted);
    rer_tensors_add(task, "row", RER_I64, RER_SHAPE(near->count), near->row);
    rer_tensors_add(task, "x", RER_F32, RER_SHAPE(near->count, near->D), near->x);
    rer_tensors_add(task, "class", RER_I32, RER_SHAPE(near->count, near->slots), near->class);
    rer_status status = ask(&collected, task, true, take_near, error);
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
    RER_TRY(rer_allocate(&made, 1, sizeof *made, "a data set", error));
    made->features = (rer_array){.dtype = RER_F32, .item_size = 4, .rank = 2, .shape = {rows, columns}, .fd = -1};
    made->N = rows;
    made->D = columns;
    made->parts = *parts;
    rer_status status = rer_copy_text(&made->features.name, "features", error);
    RER_THEN(status, rer_dataset_set_labels(made, labels, error));
    if (status == RER_OK)
        *data = made;
    else
        rer_dataset_free(made);
    return status;
}

const rer_passes rer_passes_apart = {
    .class_sums = ask_class_sums,
    .scatter = ask_scatter,
    .score = ask_scores,
    .near = ask_near,
};
