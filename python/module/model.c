/* Models, and the two calls that make results. */
#include "module.h"

/* ---- models ------------------------------------------------------------------------------ */

PyObject *wrap_model(PyObject *module, rer_model *model)
{
    model_object *self = make_object(module, offsetof(module_state, model));
    if (self != NULL)
        self->model = model;
    else
        rer_model_free(model);
    return (PyObject *)self;
}

PyObject *load_model(PyObject *module, PyObject *args)
{
    const char *path;
    rer_error error = {0};
    rer_model *model = NULL;
    rer_status status;
    if (!PyArg_ParseTuple(args, "s", &path))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        status = rer_model_load(&model, path, &error);
    Py_END_ALLOW_THREADS
    return status == RER_OK ? wrap_model(module, model) : raise_error(&error);
}

static void free_model(PyObject *object)
{
    model_object *self = (model_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    if (self->owner == NULL)
        rer_model_free((rer_model *)self->model);
    Py_XDECREF(self->owner);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

static PyObject *save_model(PyObject *object, PyObject *args)
{
    const char *path;
    rer_error error = {0};
    rer_status status;
    if (!PyArg_ParseTuple(args, "s", &path))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        status = rer_model_save(((model_object *)object)->model, path, &error);
    Py_END_ALLOW_THREADS
    return status == RER_OK ? Py_NewRef(Py_None) : raise_error(&error);
}

static PyObject *model_class_names(PyObject *object, PyObject *args)
{
    (void)args;
    const rer_model *model = ((model_object *)object)->model;
    int32_t C = rer_model_classes(model);
    PyObject *list = PyList_New(C);
    for (int32_t c = 0; list != NULL && c < C; c++) {
        PyObject *name = PyUnicode_FromString(rer_model_class_name(model, c));
        if (name == NULL || PyList_SetItem(list, c, name) != 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *model_columns(PyObject *object, PyObject *args)
{
    (void)args;
    return PyLong_FromLongLong(rer_model_columns(((model_object *)object)->model));
}

static PyMethodDef model_methods[] = {
    {"save", save_model, METH_VARARGS, "save(path)\n--\n\nWrites a safetensors file."},
    {"pack", model_pack, METH_NOARGS, "pack()\n--\n\nWhat save writes, as bytes."},
    {"class_names", model_class_names, METH_NOARGS, "class_names()\n--\n\nNames of the classes, in their order."},
    {"columns", model_columns, METH_NOARGS, "columns()\n--\n\nFeatures of the rows that it is for."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot model_slots[] = {{Py_tp_dealloc, (void *)free_model}, {Py_tp_methods, model_methods}, {0, NULL}};
PyType_Spec model_spec = {
    .name = "rer._rer.Model",
    .basicsize = sizeof(model_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = model_slots,
};

/* ---- analysing and scoring --------------------------------------------------------------- */

static PyObject *finish_call(PyObject *module, PyObject *data, rer_result *result, call_watcher *watcher,
                             const rer_error *error)
{
    if (result == NULL || watcher->type != NULL) {
        rer_result_free(result);
        return watcher_raise(watcher, error);
    }
    result_object *self = make_object(module, offsetof(module_state, result));
    if (self == NULL) {
        rer_result_free(result);
        return NULL;
    }
    self->result = result;
    self->data = Py_NewRef(data);
    return (PyObject *)self;
}

PyObject *analyze(PyObject *module, PyObject *args)
{
    PyObject *data, *dict, *callable;
    const char *errors_path;
    rer_options *options;
    module_state *state = PyModule_GetState(module);
    if (!PyArg_ParseTuple(args, "O!O!zO", state->dataset, &data, &PyDict_Type, &dict, &errors_path, &callable) ||
        (options = read_options(dict)) == NULL)
        return NULL;
    rer_error error = {0};
    rer_result *result = NULL;
    rer_outputs outputs = {.size = sizeof outputs, .errors = errors_path};
    call_watcher watcher = {.callable = callable != Py_None ? callable : NULL};
    rer_progress progress = {.report = watcher_report, .context = &watcher};
    Py_BEGIN_ALLOW_THREADS(void)
        rer_analyze(&result, ((dataset_object *)data)->data, options, &outputs, &progress, &error);
    Py_END_ALLOW_THREADS
    rer_options_free(options);
    call_watcher *asked = &((dataset_object *)data)->asked;
    if (result == NULL && asked->type != NULL) { /* an exception on the way to the parts tells more */
        watcher = *asked;
        *asked = (call_watcher){0};
    }
    return finish_call(module, data, result, &watcher, &error);
}

PyObject *score(PyObject *module, PyObject *args)
{
    PyObject *model, *data, *dict, *callable;
    const char *errors_path;
    rer_options *options;
    module_state *state = PyModule_GetState(module);
    if (!PyArg_ParseTuple(args, "O!O!O!zO", state->model, &model, state->dataset, &data, &PyDict_Type, &dict,
                          &errors_path, &callable) ||
        (options = read_options(dict)) == NULL)
        return NULL;
    rer_error error = {0};
    rer_result *result = NULL;
    rer_outputs outputs = {.size = sizeof outputs, .errors = errors_path};
    call_watcher watcher = {.callable = callable != Py_None ? callable : NULL};
    rer_progress progress = {.report = watcher_report, .context = &watcher};
    Py_BEGIN_ALLOW_THREADS(void)
        rer_score(&result, ((model_object *)model)->model, ((dataset_object *)data)->data, options, &outputs, &progress,
                  &error);
    Py_END_ALLOW_THREADS
    rer_options_free(options);
    return finish_call(module, data, result, &watcher, &error);
}
