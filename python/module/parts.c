/* Rows that lie elsewhere: the side that asks, with a callable of Python in between, and the side that
 * answers. */
#include "module.h"

#include <stdlib.h>

static PyObject *take_bytes(void *bytes, int64_t size)
{
    PyObject *object = PyBytes_FromStringAndSize(bytes, (Py_ssize_t)size);
    free(bytes);
    return object;
}

/* ---- asking -------------------------------------------------------------------------------- */

/* Hands over every answer that the iterable gives. False: Python has raised, or *status says more. */
static bool take_answers(PyObject *iterable, rer_part_take *take, void *taker, rer_status *status, rer_error *error)
{
    PyObject *iterator = PyObject_GetIter(iterable), *answer;
    if (iterator == NULL)
        return false;
    while (*status == RER_OK && (answer = PyIter_Next(iterator)) != NULL) {
        Py_buffer buffer;
        if (PyObject_GetBuffer(answer, &buffer, PyBUF_SIMPLE) == 0) {
            *status = take(taker, &(rer_message){buffer.buf, buffer.len}, error);
            PyBuffer_Release(&buffer);
        }
        Py_DECREF(answer);
        if (PyErr_Occurred() != NULL)
            break;
    }
    Py_DECREF(iterator);
    return PyErr_Occurred() == NULL;
}

/* The library calls this without the interpreter's lock. */
static rer_status ask_python(void *context, const rer_message *task, bool merge, rer_part_take *take, void *taker,
                             rer_error *error)
{
    dataset_object *self = context;
    rer_status status = RER_OK;
    PyGILState_STATE lock = PyGILState_Ensure();
    PyObject *answers = PyObject_CallFunction(self->ask, "y#O", (const char *)task->data, (Py_ssize_t)task->size,
                                              merge ? Py_True : Py_False);
    bool went_well = answers != NULL && take_answers(answers, take, taker, &status, error);
    Py_XDECREF(answers);
    if (!went_well && PyErr_Occurred() != NULL) {
        PyErr_Fetch(&self->asked.type, &self->asked.value, &self->asked.traceback);
        error->status = status = RER_CANCELLED;
    }
    PyGILState_Release(lock);
    return status;
}

PyObject *apart_dataset(PyObject *module, PyObject *args)
{
    long long rows, columns;
    PyObject *labels, *ask;
    rer_view view;
    Py_buffer buffer;
    if (!PyArg_ParseTuple(args, "LLOO", &rows, &columns, &labels, &ask) ||
        view_buffer(&view, &buffer, labels, "labels") != 0)
        return NULL;
    dataset_object *self = make_object(module, offsetof(module_state, dataset));
    if (self == NULL) {
        PyBuffer_Release(&buffer);
        return NULL;
    }
    self->ask = Py_NewRef(ask);
    rer_error error = {0};
    rer_status status;
    rer_parts parts = {.ask = ask_python, .context = self};
    Py_BEGIN_ALLOW_THREADS
        status = rer_dataset_apart(&self->data, rows, columns, &view, &parts, &error);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&buffer);
    if (status == RER_OK)
        return (PyObject *)self;
    Py_DECREF(self);
    return raise_error(&error);
}

/* ---- answering ----------------------------------------------------------------------------- */

PyObject *part_answer(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *rows, *codes;
    Py_buffer row_buffer, code_buffer, task;
    rer_view code_view;
    rer_part part = {.size = sizeof part};
    long long first;
    int threads;
    if (!PyArg_ParseTuple(args, "OOLiy*", &rows, &codes, &first, &threads, &task))
        return NULL;
    part.first = first;
    part.threads = threads;
    if (view_buffer(&part.rows, &row_buffer, rows, "X") != 0)
        goto no_rows;
    if (view_buffer(&code_view, &code_buffer, codes, "codes") != 0)
        goto no_codes;
    PyObject *answer = NULL;
    if (code_view.dtype != RER_I32 || code_view.rank != 1 || code_view.shape[0] != part.rows.shape[0]) {
        PyErr_SetString(PyExc_ValueError, "codes: one int32 for each row is needed");
    } else {
        rer_error error = {0};
        rer_status status;
        void *bytes = NULL;
        int64_t size = 0;
        call_watcher watcher = {0};
        rer_progress progress = {.report = watcher_report, .context = &watcher};
        part.codes = code_view.data;
        Py_BEGIN_ALLOW_THREADS
            status = rer_part_answer(&bytes, &size, &part, &(rer_message){task.buf, task.len}, &progress, &error);
        Py_END_ALLOW_THREADS
        answer = status == RER_OK ? take_bytes(bytes, size) : watcher_raise(&watcher, &error);
    }
    PyBuffer_Release(&code_buffer);
    PyBuffer_Release(&row_buffer);
    PyBuffer_Release(&task);
    return answer;
no_codes:
    PyBuffer_Release(&row_buffer);
no_rows:
    PyBuffer_Release(&task);
    return NULL;
}

PyObject *part_merge(PyObject *module, PyObject *args)
{
    (void)module;
    Py_buffer left, right;
    rer_error error = {0};
    rer_status status;
    void *bytes = NULL;
    int64_t size = 0;
    if (!PyArg_ParseTuple(args, "y*y*", &left, &right))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        status = rer_part_merge(&bytes, &size, &(rer_message){left.buf, left.len}, &(rer_message){right.buf, right.len},
                                &error);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&left);
    PyBuffer_Release(&right);
    return status == RER_OK ? take_bytes(bytes, size) : raise_error(&error);
}

/* ---- packed models ------------------------------------------------------------------------- */

PyObject *model_pack(PyObject *object, PyObject *args)
{
    (void)args;
    rer_error error = {0};
    void *bytes = NULL;
    int64_t size = 0;
    rer_status status = rer_model_pack(((model_object *)object)->model, &bytes, &size, &error);
    return status == RER_OK ? take_bytes(bytes, size) : raise_error(&error);
}

PyObject *unpack_model(PyObject *module, PyObject *args)
{
    Py_buffer buffer;
    rer_error error = {0};
    rer_model *model = NULL;
    if (!PyArg_ParseTuple(args, "y*", &buffer))
        return NULL;
    rer_status status = rer_model_unpack(&model, buffer.buf, buffer.len, &error);
    PyBuffer_Release(&buffer);
    return status == RER_OK ? wrap_model(module, model) : raise_error(&error);
}
