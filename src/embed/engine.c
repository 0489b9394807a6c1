/* Inference: see engine.h. The model is compiled for as many streams of one core as there are threads, so that a
 * thread that runs a batch leaves the other cores to those that read pictures: nothing waits, and the numbers do not
 * depend on how many run. */
#include "embed/engine.h"
#include "embed/openvino.h"

#include <pthread.h>

struct rer_engine {
    openvino ov;
    void *core, *model, *compiled;
    char *name; /* of the file */
    char *output;
    int64_t batch, size[2];
    size_t pictures; /* which of its inputs */
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

/* Its own message, which may have many lines: what matters stands in the last ones. */
static rer_status check(const rer_engine *engine, int result, const char *what, rer_error *error)
{
    if (result == 0)
        return RER_OK;
    const char *message = engine->ov.ov_get_last_err_msg();
    size_t length = message != NULL ? strlen(message) : 0;
    return rer_fail(error, RER_BAD_INPUT, "%s: %s: OpenVINO says (status %d) %s", engine->name, what, result,
                    length == 0 ? "nothing more" : message + (length > 500 ? length - 500 : 0));
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

static rer_status check_input(rer_engine *engine, void *port, rer_error *error)
{
    const openvino *ov = &engine->ov;
    ov_partial_shape shape = {0};
    int type = 0;
    rer_status status = check(engine, ov->ov_port_get_element_type(port, &type), "its input", error);
    if (status == RER_OK && type != ov->float32)
        return wrong_input(engine, "its input is not float32", error);
    if (status == RER_OK)
        status = check(engine, ov->ov_port_get_partial_shape(port, &shape), "its input", error);
    if (status == RER_OK) {
        status = check_shape(engine, &shape, error);
        ov->ov_partial_shape_free(&shape);
    }
    return status;
}

static rer_status find_input(rer_engine *engine, rer_error *error)
{
    const openvino *ov = &engine->ov;
    void *port = NULL;
    size_t count = 0;
    rer_status status = check(engine, ov->ov_model_inputs_size(engine->model, &count), "its inputs", error);
    if (status == RER_OK && count != 1)
        return wrong_input(engine, "it has not one input (of CLIP, export the vision model alone)", error);
    if (status == RER_OK)
        status = check(engine, ov->ov_model_const_input_by_index(engine->model, 0, &port), "its input", error);
    if (status == RER_OK) {
        status = check_input(engine, port, error);
        ov->ov_output_const_port_free(port);
    }
    return status;
}

/* Fixed shapes run faster. */
static rer_status fix_shape(rer_engine *engine, rer_error *error)
{
    const openvino *ov = &engine->ov;
    const int64_t dims[] = {engine->batch, 3, engine->size[0], engine->size[1]};
    ov_partial_shape shape = {0};
    rer_status status = check(engine, ov->ov_partial_shape_create_static(4, dims, &shape), "its input", error);
    if (status != RER_OK)
        return status;
    int result = ov->ov_model_reshape_by_port_indexes(engine->model, &engine->pictures, &shape, 1);
    ov->ov_partial_shape_free(&shape);
    return check(engine, result, "cannot take pictures of this size", error);
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
    rer_status status =
        check(engine, ov->ov_model_const_output_by_index(engine->model, 0, &port), "its first output", error);
    if (status == RER_OK) {
        status = check(engine, ov->ov_port_get_any_name(port, &name), "the name of its first output", error);
        ov->ov_output_const_port_free(port);
    }
    if (status == RER_OK) {
        status = rer_copy_text(&engine->output, name, error);
        ov->ov_free(name);
    }
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
    rer_status status = rer_openvino_load(&engine->ov, error);
    if (status == RER_OK)
        status = check(engine, ov->ov_core_create(&engine->core), "no engine", error);
    if (status == RER_OK)
        status = check(engine, ov->ov_core_read_model(engine->core, settings->file, NULL, &engine->model),
                       "is no model that can be read", error);
    if (status == RER_OK)
        status = find_input(engine, error);
    if (status == RER_OK)
        status = fix_shape(engine, error);
    if (status == RER_OK)
        status = find_output(engine, settings->outputs, settings->must_have, error);
    return status == RER_OK ? compile(engine, settings->threads, error) : status;
}

rer_status rer_engine_open(rer_engine **engine, const rer_engine_settings *settings, rer_error *error)
{
    rer_engine *opened = NULL;
    rer_status status = rer_allocate(&opened, 1, sizeof *opened, "an engine", error);
    if (status != RER_OK)
        return status;
    (void)pthread_mutex_init(&opened->mutex, NULL);
    opened->batch = settings->batch;
    memcpy(opened->size, settings->size, sizeof opened->size);
    status = rer_copy_text(&opened->name, settings->file, error);
    if (status == RER_OK)
        status = open_model(opened, settings, error);
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

static rer_status make_seat(rer_engine_seat *seat, const rer_engine *engine, rer_error *error)
{
    const openvino *ov = &engine->ov;
    void *tensor = NULL, *data = NULL;
    rer_status status = check(engine, ov->ov_compiled_model_create_infer_request(engine->compiled, &seat->request),
                              "cannot be run", error);
    if (status == RER_OK)
        status = check(engine, ov->ov_infer_request_get_input_tensor_by_index(seat->request, engine->pictures, &tensor),
                       "cannot be run", error);
    if (status == RER_OK) {
        status = check(engine, ov->ov_tensor_data(tensor, &data), "cannot be run", error);
        ov->ov_tensor_free(tensor); /* the request has it too */
    }
    seat->input = data;
    return status;
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
        if (status == RER_OK)
            status = make_seat(taken, engine, error);
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
    rer_status status = check(engine, ov->ov_tensor_get_element_type(tensor, &type), "its output", error);
    if (status == RER_OK && type != ov->float32)
        return rer_fail(error, RER_BAD_INPUT, "%s: its output %s is not float32", engine->name, engine->output);
    if (status == RER_OK)
        status = check(engine, ov->ov_tensor_data(tensor, &data), "its output", error);
    if (status == RER_OK)
        status = check(engine, ov->ov_tensor_get_shape(tensor, &shape), "its output", error);
    if (status != RER_OK)
        return status;
    *result = (rer_engine_result){.data = data, .rank = shape.rank};
    for (int64_t i = 0; i < shape.rank && i < 4; i++)
        result->shape[i] = shape.dims[i];
    if (shape.rank < 2 || shape.rank > 4 || shape.dims[0] != engine->batch)
        status = rer_fail(error, RER_BAD_INPUT,
                          "%s: its output %s has %lld dimensions, and not a part for each picture; name another by "
                          "--output",
                          engine->name, engine->output, (long long)shape.rank);
    (void)ov->ov_shape_free(&shape);
    return status;
}

rer_status rer_engine_run(rer_engine_result *result, const rer_engine *engine, rer_engine_seat *seat, rer_error *error)
{
    const openvino *ov = &engine->ov;
    void *tensor = NULL;
    rer_status status = check(engine, ov->ov_infer_request_infer(seat->request), "failed", error);
    if (status == RER_OK)
        status =
            check(engine, ov->ov_infer_request_get_tensor(seat->request, engine->output, &tensor), "its output", error);
    if (status == RER_OK) {
        status = take_result(result, engine, tensor, error);
        ov->ov_tensor_free(tensor); /* the request has it too */
    }
    return status;
}
