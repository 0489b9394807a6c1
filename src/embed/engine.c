/* Inference: see engine.h. The model is compiled for as many streams of one core as there are threads, so that a
 * thread that runs a batch leaves the other cores to those that read pictures: nothing waits, and the numbers do not
 * depend on how many run. */
#include "embed/engine.h"
#include "embed/openvino.h"

#include <pthread.h>

/* What an input is given. */
typedef enum input_kind { PICTURES, IDS, MASK, KINDS, INPUT_KINDS } input_kind;
enum { INPUTS = 8 };

static const char *const token_inputs[INPUT_KINDS] = {
    [IDS] = "input_ids", [MASK] = "attention_mask", [KINDS] = "token_type_ids"};

struct rer_engine {
    openvino ov;
    void *core, *model, *compiled;
    char *name; /* of the file */
    char *output;
    bool of_texts;
    int64_t batch, size[2];
    size_t inputs;
    input_kind kind[INPUTS];
    int token_type;  /* number of the type of its tokens */
    size_t pictures; /* which input; INPUTS: none */
    bool is_for[2];  /* pictures, texts */
    pthread_mutex_t mutex;
    rer_engine_seat *free_seats; /* guarded by the mutex */
};

int64_t rer_engine_batch(const rer_engine *engine)
{
    return engine->batch;
}

const char *rer_engine_output(const rer_engine *engine)
{
    return engine->output;
}

static rer_status check(const rer_engine *engine, int result, const char *what, rer_error *error)
{
    return rer_openvino_check(&engine->ov, result, engine->name, what, error);
}

/* ---- what the model takes --------------------------------------------------------------------- */

static rer_status wrong_input(const rer_engine *engine, const char *why, rer_error *error)
{
    return rer_fail(error, RER_BAD_INPUT,
                    "%s: %s; a model of pictures takes float32 [batch, 3, height, width] (optimum-cli export onnx or "
                    "openvino makes one)",
                    engine->name, why);
}

static bool is_fixed(ov_dimension d)
{
    return d.min == d.max;
}

/* Whether these can be pictures of the size that was asked for; a batch that is fixed is taken. */
static rer_status check_shape(rer_engine *engine, const ov_partial_shape *shape, rer_error *error)
{
    const ov_dimension *d = shape->dims;
    if (!is_fixed(shape->rank) || shape->rank.max != 4)
        return wrong_input(engine, "its input has not four dimensions", error);
    if (is_fixed(d[1]) && d[1].max != 3)
        return wrong_input(engine, "its input has not three channels", error);
    for (int i = 0; i < 2; i++)
        if (engine->size[i] < d[2 + i].min || (d[2 + i].max > 0 && engine->size[i] > d[2 + i].max))
            return rer_fail(error, RER_BAD_INPUT,
                            "%s: takes pictures of %lld x %lld, but they are prepared as %lld x %lld; see --size and "
                            "--crop",
                            engine->name, (long long)d[2].max, (long long)d[3].max, (long long)engine->size[0],
                            (long long)engine->size[1]);
    if (is_fixed(d[0]))
        engine->batch = d[0].max;
    return RER_OK;
}

static rer_status check_pictures(rer_engine *engine, size_t index, void *port, int type, rer_error *error)
{
    ov_partial_shape shape = {0};
    if (type != engine->ov.float32)
        return wrong_input(engine, "its input is not float32", error);
    rer_status status = check(engine, engine->ov.ov_port_get_partial_shape(port, &shape), "its input", error);
    if (status == RER_OK && !engine->of_texts)
        status = check_shape(engine, &shape, error);
    engine->ov.ov_partial_shape_free(&shape);
    engine->kind[index] = PICTURES;
    engine->pictures = index;
    engine->is_for[0] = true;
    return status;
}

static rer_status name_input(rer_engine *engine, size_t index, const char *name, void *port, rer_error *error)
{
    int type = 0;
    RER_TRY(check(engine, engine->ov.ov_port_get_element_type(port, &type), "its input", error));
    for (input_kind kind = IDS; kind < INPUT_KINDS; kind++)
        if (strcmp(name, token_inputs[kind]) == 0) {
            engine->kind[index] = kind;
            engine->token_type = type;
            engine->is_for[1] |= kind == IDS;
            return RER_OK;
        }
    if (engine->pictures == INPUTS && (engine->inputs == 1 || strcmp(name, "pixel_values") == 0))
        return check_pictures(engine, index, port, type, error);
    return rer_fail(error, RER_BAD_INPUT,
                    "%s: its input '%s' is none of pixel_values, input_ids, attention_mask and token_type_ids",
                    engine->name, name);
}

static rer_status find_input(rer_engine *engine, size_t index, rer_error *error)
{
    const openvino *ov = &engine->ov;
    void *port = NULL;
    char *name = NULL;
    rer_status status =
        check(engine, ov->ov_model_const_input_by_index(engine->model, index, &port), "an input", error);
    RER_THEN(status, check(engine, ov->ov_port_get_any_name(port, &name), "the name of an input", error));
    RER_THEN(status, name_input(engine, index, name, port, error));
    if (name != NULL)
        ov->ov_free(name);
    if (port != NULL)
        ov->ov_output_const_port_free(port);
    return status;
}

static rer_status find_inputs(rer_engine *engine, rer_error *error)
{
    RER_TRY(check(engine, engine->ov.ov_model_inputs_size(engine->model, &engine->inputs), "its inputs", error));
    engine->pictures = INPUTS;
    if (engine->inputs > INPUTS)
        return wrong_input(engine, "it has too many inputs", error);
    for (size_t i = 0; i < engine->inputs; i++)
        RER_TRY(find_input(engine, i, error));
    if (engine->is_for[engine->of_texts])
        return RER_OK;
    return engine->of_texts
               ? rer_fail(error, RER_BAD_INPUT,
                          "%s: takes no texts (it has no input input_ids): is it a model of pictures?", engine->name)
               : wrong_input(engine, "it takes texts", error);
}

/* Fixed shapes run faster. What is not asked for gets the smallest. */
static rer_status fix_shapes(rer_engine *engine, rer_error *error)
{
    const openvino *ov = &engine->ov;
    const int64_t pictures[] = {engine->of_texts ? 1 : engine->batch, 3, engine->size[0], engine->size[1]};
    const int64_t tokens[] = {1, 2};
    ov_partial_shape shapes[INPUTS] = {{{0}, NULL}};
    size_t indexes[INPUTS], count = 0;
    rer_status status = RER_OK;
    int result = 0;
    for (size_t i = 0; i < engine->inputs && status == RER_OK; i++) {
        bool is_pictures = engine->kind[i] == PICTURES;
        if (engine->of_texts && !is_pictures)
            continue; /* of any length */
        indexes[count] = i;
        status = check(
            engine,
            ov->ov_partial_shape_create_static(is_pictures ? 4 : 2, is_pictures ? pictures : tokens, &shapes[count++]),
            "an input", error);
    }
    if (status == RER_OK && count > 0)
        result = ov->ov_model_reshape_by_port_indexes(engine->model, indexes, shapes, count);
    for (size_t i = 0; i < count; i++)
        ov->ov_partial_shape_free(&shapes[i]);
    return status == RER_OK ? check(engine, result, "cannot take pictures of this size", error) : status;
}

/* ---- what it gives ---------------------------------------------------------------------------- */

static rer_status find_output(rer_engine *engine, const char *const *names, bool must_have, rer_error *error)
{
    const openvino *ov = &engine->ov;
    void *port = NULL;
    char *name = NULL;
    for (; *names != NULL; names++)
        if (ov->ov_model_const_output_by_name(engine->model, *names, &port) == 0) {
            ov->ov_output_const_port_free(port);
            return rer_copy_text(&engine->output, *names, error);
        }
    if (must_have)
        return rer_fail(error, RER_BAD_USAGE, "%s: --output %s: it has no output of that name", engine->name,
                        names[-1]);
    RER_TRY(check(engine, ov->ov_model_const_output_by_index(engine->model, 0, &port), "its first output", error));
    rer_status status = check(engine, ov->ov_port_get_any_name(port, &name), "the name of its first output", error);
    ov->ov_output_const_port_free(port);
    RER_THEN(status, rer_copy_text(&engine->output, name, error));
    if (name != NULL)
        ov->ov_free(name);
    return status;
}

/* ---- opening ---------------------------------------------------------------------------------- */

static rer_status compile(rer_engine *engine, int32_t threads, rer_error *error)
{
    char count[16];
    (void)snprintf(count, sizeof count, "%d", threads);
    return check(engine,
                 engine->ov.ov_core_compile_model(engine->core, engine->model, "CPU", 6, &engine->compiled,
                                                  "NUM_STREAMS", count, "INFERENCE_NUM_THREADS", count,
                                                  "INFERENCE_PRECISION_HINT", "f32"),
                 "cannot be compiled", error);
}

static rer_status open_model(rer_engine *engine, const rer_engine_settings *settings, rer_error *error)
{
    const openvino *ov = &engine->ov;
    RER_TRY(rer_openvino_load(&engine->ov, error));
    RER_TRY(check(engine, ov->ov_core_create(&engine->core), "no engine", error));
    RER_TRY(check(engine, ov->ov_core_read_model(engine->core, settings->file, NULL, &engine->model),
                  "is no model that can be read", error));
    RER_TRY(find_inputs(engine, error));
    RER_TRY(fix_shapes(engine, error));
    RER_TRY(find_output(engine, settings->outputs, settings->must_have, error));
    return compile(engine, settings->threads, error);
}

rer_status rer_engine_open(rer_engine **engine, const rer_engine_settings *settings, rer_error *error)
{
    rer_engine *opened = NULL;
    RER_TRY(rer_allocate(&opened, 1, sizeof *opened, "an engine", error));
    (void)pthread_mutex_init(&opened->mutex, NULL);
    opened->batch = settings->batch;
    opened->of_texts = settings->of_texts;
    memcpy(opened->size, settings->size, sizeof opened->size);
    rer_status status = rer_copy_text(&opened->name, settings->file, error);
    RER_THEN(status, open_model(opened, settings, error));
    if (status == RER_OK)
        *engine = opened;
    else
        rer_engine_free(opened);
    return status;
}

void rer_engine_free(rer_engine *engine)
{
    if (engine == NULL)
        return;
    const openvino *ov = &engine->ov;
    while (engine->free_seats != NULL) {
        rer_engine_seat *seat = engine->free_seats;
        engine->free_seats = seat->next;
        ov->ov_infer_request_free(seat->request);
        free(seat);
    }
    if (ov->library != NULL) {
        ov->ov_compiled_model_free(engine->compiled);
        ov->ov_model_free(engine->model);
        ov->ov_core_free(engine->core);
    }
    (void)pthread_mutex_destroy(&engine->mutex);
    RER_FREE_ALL(engine->name, engine->output, engine);
}

/* ---- running ---------------------------------------------------------------------------------- */

/* Copies them, as the int64 or int32 that the model wants; KINDS, which tell two texts of a pair apart, are zeros. */
static bool copy_tokens(void *to, size_t bytes, const int64_t *from, int64_t count)
{
    if (bytes != (size_t)count * sizeof(int64_t) && bytes != (size_t)count * sizeof(int32_t))
        return false;
    for (int64_t i = 0; i < count; i++) {
        int64_t value = from != NULL ? from[i] : 0;
        if (bytes == (size_t)count * sizeof(int64_t))
            ((int64_t *)to)[i] = value;
        else
            ((int32_t *)to)[i] = (int32_t)value;
    }
    return true;
}

static rer_status give_tokens(const rer_engine *engine, const rer_engine_seat *seat, size_t index,
                              const rer_tokens *tokens, rer_error *error)
{
    const openvino *ov = &engine->ov;
    const int64_t *const from[INPUT_KINDS] = {[IDS] = tokens->ids, [MASK] = tokens->mask};
    int64_t dims[] = {tokens->count, tokens->length};
    void *tensor = NULL, *data = NULL;
    size_t bytes = 0;
    RER_TRY(check(engine, ov->ov_tensor_create(engine->token_type, (ov_shape){2, dims}, &tensor), "cannot take tokens",
                  error));
    rer_status status = check(engine, ov->ov_tensor_get_byte_size(tensor, &bytes), "cannot take tokens", error);
    RER_THEN(status, check(engine, ov->ov_tensor_data(tensor, &data), "cannot take tokens", error));
    if (status == RER_OK && !copy_tokens(data, bytes, from[engine->kind[index]], tokens->count * tokens->length))
        status = rer_fail(error, RER_BAD_INPUT, "%s: its tokens are neither int64 nor int32", engine->name);
    RER_THEN(status, check(engine, ov->ov_infer_request_set_input_tensor_by_index(seat->request, index, tensor),
                           "cannot take these tokens", error));
    ov->ov_tensor_free(tensor); /* the request has it too */
    return status;
}

static rer_status give_all_tokens(const rer_engine *engine, const rer_engine_seat *seat, const rer_tokens *tokens,
                                  rer_error *error)
{
    for (size_t i = 0; i < engine->inputs; i++)
        if (engine->kind[i] != PICTURES)
            RER_TRY(give_tokens(engine, seat, i, tokens, error));
    return RER_OK;
}

static rer_status find_pictures(rer_engine_seat *seat, const rer_engine *engine, rer_error *error)
{
    const openvino *ov = &engine->ov;
    void *tensor = NULL, *data = NULL;
    size_t bytes = 0;
    RER_TRY(check(engine, ov->ov_infer_request_get_input_tensor_by_index(seat->request, engine->pictures, &tensor),
                  "cannot be run", error));
    rer_status status = check(engine, ov->ov_tensor_get_byte_size(tensor, &bytes), "cannot be run", error);
    RER_THEN(status, check(engine, ov->ov_tensor_data(tensor, &data), "cannot be run", error));
    ov->ov_tensor_free(tensor); /* the request has it too */
    if (status == RER_OK)
        memset(data, 0, bytes);
    seat->input = data;
    return status;
}

static rer_status make_seat(rer_engine_seat *seat, const rer_engine *engine, rer_error *error)
{
    int64_t no_ids[2] = {0}, mask[2] = {1, 1};
    const rer_tokens none = {.count = 1, .length = 2, .ids = no_ids, .mask = mask};
    RER_TRY(check(engine, engine->ov.ov_compiled_model_create_infer_request(engine->compiled, &seat->request),
                  "cannot be run", error));
    if (engine->pictures < INPUTS)
        RER_TRY(find_pictures(seat, engine, error));
    if (!engine->of_texts)
        RER_TRY(give_all_tokens(engine, seat, &none, error));
    return RER_OK;
}

rer_status rer_engine_sit(rer_engine_seat **seat, rer_engine *engine, rer_error *error)
{
    rer_engine_seat *taken;
    pthread_mutex_lock(&engine->mutex);
    taken = engine->free_seats;
    if (taken != NULL)
        engine->free_seats = taken->next;
    pthread_mutex_unlock(&engine->mutex);
    rer_status status = RER_OK;
    if (taken == NULL) {
        status = rer_allocate(&taken, 1, sizeof *taken, "a run of a model", error);
        RER_THEN(status, make_seat(taken, engine, error));
    }
    if (status == RER_OK)
        *seat = taken;
    else if (taken != NULL) {
        engine->ov.ov_infer_request_free(taken->request);
        free(taken);
    }
    return status;
}

void rer_engine_rise(rer_engine *engine, rer_engine_seat *seat)
{
    if (seat == NULL)
        return;
    pthread_mutex_lock(&engine->mutex);
    seat->next = engine->free_seats;
    engine->free_seats = seat;
    pthread_mutex_unlock(&engine->mutex);
}

static rer_status take_result(rer_engine_result *result, const rer_engine *engine, const void *tensor, rer_error *error)
{
    const openvino *ov = &engine->ov;
    ov_shape shape = {0};
    void *data = NULL;
    int type = 0;
    RER_TRY(check(engine, ov->ov_tensor_get_element_type(tensor, &type), "its output", error));
    if (type != ov->float32)
        return rer_fail(error, RER_BAD_INPUT, "%s: its output %s is not float32", engine->name, engine->output);
    RER_TRY(check(engine, ov->ov_tensor_data(tensor, &data), "its output", error));
    RER_TRY(check(engine, ov->ov_tensor_get_shape(tensor, &shape), "its output", error));
    rer_status status = RER_OK;
    *result = (rer_engine_result){.data = data, .rank = shape.rank};
    for (int64_t i = 0; i < shape.rank && i < 4; i++)
        result->shape[i] = shape.dims[i];
    if (shape.rank < 2 || shape.rank > 4 || shape.dims[0] != engine->batch)
        status = rer_fail(error, RER_BAD_INPUT,
                          "%s: its output %s has %lld dimensions, and not a part for each row; name another by "
                          "--output",
                          engine->name, engine->output, (long long)shape.rank);
    (void)ov->ov_shape_free(&shape);
    return status;
}

rer_status rer_engine_run(rer_engine_result *result, const rer_engine *engine, rer_engine_seat *seat,
                          const rer_tokens *tokens, rer_error *error)
{
    const openvino *ov = &engine->ov;
    void *tensor = NULL;
    if (tokens != NULL)
        RER_TRY(give_all_tokens(engine, seat, tokens, error));
    RER_TRY(check(engine, ov->ov_infer_request_infer(seat->request), "failed", error));
    RER_TRY(
        check(engine, ov->ov_infer_request_get_tensor(seat->request, engine->output, &tensor), "its output", error));
    rer_status status = take_result(result, engine, tensor, error);
    ov->ov_tensor_free(tensor); /* the request has it too */
    return status;
}
