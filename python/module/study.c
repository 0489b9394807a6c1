/* Studies of labelled data (scale, bench, compare): each leaves numbers as JSON and files in a folder.
 * And labels: noise planted in them, decisions applied to them. */
#include "module.h"

#include <stdlib.h>

typedef enum study_kind { SCALING, BENCH, COMPARISON } study_kind;

typedef struct study_object {
    PyObject_HEAD study_kind kind;
    union {
        rer_scaling *scaling;
        rer_bench *bench;
        rer_comparison *comparison;
    } of;
    PyObject *data; /* dataset_object that it was made from, or NULL */
} study_object;

static void free_study(PyObject *object)
{
    study_object *self = (study_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    if (self->kind == SCALING)
        rer_scaling_free(self->of.scaling);
    else if (self->kind == BENCH)
        rer_bench_free(self->of.bench);
    else
        rer_comparison_free(self->of.comparison);
    Py_XDECREF(self->data);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

static rer_status json_of(const study_object *self, char **json, rer_error *error)
{
    if (self->kind == SCALING)
        return rer_scaling_json(self->of.scaling, json, error);
    return self->kind == BENCH ? rer_bench_json(self->of.bench, json, error)
                               : rer_comparison_json(self->of.comparison, json, error);
}

static rer_status write_files(const study_object *self, const char *folder, rer_error *error)
{
    if (self->kind == SCALING)
        return rer_scaling_write(self->of.scaling, folder, error);
    return self->kind == BENCH ? rer_bench_write(self->of.bench, folder, error)
                               : rer_comparison_write(self->of.comparison, folder, error);
}

static PyObject *study_json(PyObject *object, PyObject *args)
{
    (void)args;
    char *json = NULL;
    rer_error error = {0};
    rer_status status;
    Py_BEGIN_ALLOW_THREADS
        status = json_of((study_object *)object, &json, &error);
    Py_END_ALLOW_THREADS
    if (status != RER_OK)
        return raise_error(&error);
    PyObject *text = PyUnicode_FromString(json);
    free(json);
    return text;
}

static PyObject *study_write(PyObject *object, PyObject *args)
{
    const char *folder;
    rer_error error = {0};
    rer_status status;
    if (!PyArg_ParseTuple(args, "s", &folder))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        status = write_files((study_object *)object, folder, &error);
    Py_END_ALLOW_THREADS
    return status == RER_OK ? Py_NewRef(Py_None) : raise_error(&error);
}

static PyMethodDef methods[] = {
    {"json", study_json, METH_NOARGS, "json()\n--\n\nIts numbers, as the command's .json file has them."},
    {"write", study_write, METH_VARARGS, "write(folder)\n--\n\nWrites the files that the command writes."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {{Py_tp_dealloc, (void *)free_study}, {Py_tp_methods, methods}, {0, NULL}};
PyType_Spec study_spec = {
    .name = "rer._rer.Study",
    .basicsize = sizeof(study_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};

/* A study that is still to be made: its pointer is NULL. */
static study_object *make_study(PyObject *module, study_kind kind, PyObject *data)
{
    study_object *self = make_object(module, offsetof(module_state, study));
    if (self != NULL) {
        self->kind = kind;
        self->data = Py_XNewRef(data);
    }
    return self;
}

static PyObject *finish_study(study_object *self, rer_status status, call_watcher *watcher, const rer_error *error)
{
    if (status == RER_OK && watcher->type == NULL)
        return (PyObject *)self;
    Py_DECREF(self);
    return watcher_raise(watcher, error);
}

PyObject *scale(PyObject *module, PyObject *args)
{
    PyObject *data, *dict, *callable;
    rer_options *options;
    module_state *state = PyModule_GetState(module);
    if (!PyArg_ParseTuple(args, "O!O!O", state->dataset, &data, &PyDict_Type, &dict, &callable) ||
        (options = read_options(dict)) == NULL)
        return NULL;
    study_object *self = make_study(module, SCALING, data);
    if (self == NULL) {
        rer_options_free(options);
        return NULL;
    }
    rer_error error = {0};
    rer_status status;
    call_watcher watcher = {.callable = callable != Py_None ? callable : NULL};
    rer_progress progress = {.report = watcher_report, .context = &watcher};
    Py_BEGIN_ALLOW_THREADS
        status = rer_scale(&self->of.scaling, ((dataset_object *)data)->data, options, &progress, &error);
    Py_END_ALLOW_THREADS
    rer_options_free(options);
    return finish_study(self, status, &watcher, &error);
}

/* ---- bench ------------------------------------------------------------------------------- */

typedef struct human_labels {
    rer_bench_labels *labels; /* [count] */
    Py_buffer *buffers;       /* [count] of their codes */
    PyObject *keep;           /* tuple that the names live in */
    int32_t count;
} human_labels;

static void free_humans(human_labels *humans)
{
    for (int32_t i = 0; i < humans->count; i++)
        PyBuffer_Release(&humans->buffers[i]);
    PyMem_Free(humans->labels);
    PyMem_Free(humans->buffers);
    Py_XDECREF(humans->keep);
}

/* (name, int32 codes [N]) of each. */
static int read_humans(human_labels *humans, PyObject *sequence, int64_t N)
{
    *humans = (human_labels){.keep = PySequence_Tuple(sequence)};
    if (humans->keep == NULL)
        return -1;
    Py_ssize_t count = PyTuple_Size(humans->keep);
    humans->labels = PyMem_Calloc((size_t)count + 1, sizeof *humans->labels);
    humans->buffers = PyMem_Calloc((size_t)count + 1, sizeof *humans->buffers);
    if (humans->labels == NULL || humans->buffers == NULL) {
        (void)PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *codes;
        if (!PyArg_ParseTuple(PyTuple_GetItem(humans->keep, i), "sO", &humans->labels[i].name, &codes) ||
            PyObject_GetBuffer(codes, &humans->buffers[i], PyBUF_SIMPLE) != 0)
            return -1;
        humans->count++;
        if (humans->buffers[i].len != N * (Py_ssize_t)sizeof(int32_t)) {
            (void)PyErr_Format(PyExc_ValueError, "human: %s has not one label for each of %lld rows",
                               humans->labels[i].name, (long long)N);
            return -1;
        }
        humans->labels[i].codes = humans->buffers[i].buf;
    }
    return 0;
}

PyObject *bench(PyObject *module, PyObject *args)
{
    PyObject *data, *dict, *callable, *human;
    rer_options *options;
    rer_bench_settings settings = {.size = sizeof settings};
    module_state *state = PyModule_GetState(module);
    if (!PyArg_ParseTuple(args, "O!zOO!O", state->dataset, &data, &settings.detectors, &human, &PyDict_Type, &dict,
                          &callable) ||
        (options = read_options(dict)) == NULL)
        return NULL;
    const rer_dataset *rows = ((dataset_object *)data)->data;
    human_labels humans;
    study_object *self = NULL;
    if (read_humans(&humans, human, rer_dataset_rows(rows)) != 0 || (self = make_study(module, BENCH, data)) == NULL) {
        free_humans(&humans);
        rer_options_free(options);
        return NULL;
    }
    settings.human = humans.labels;
    settings.n_human = humans.count;
    rer_error error = {0};
    rer_status status;
    call_watcher watcher = {.callable = callable != Py_None ? callable : NULL};
    rer_progress progress = {.report = watcher_report, .context = &watcher};
    Py_BEGIN_ALLOW_THREADS
        status = rer_bench_run(&self->of.bench, rows, &settings, options, &progress, &error);
    Py_END_ALLOW_THREADS
    rer_options_free(options);
    free_humans(&humans);
    return finish_study(self, status, &watcher, &error);
}

/* ---- compare ----------------------------------------------------------------------------- */

PyObject *compare(PyObject *module, PyObject *args)
{
    PyObject *sequence, *dict, *keep;
    const char *column, *error_rates;
    rer_options *options;
    Py_ssize_t count;
    if (!PyArg_ParseTuple(args, "OzzO!", &sequence, &column, &error_rates, &PyDict_Type, &dict) ||
        (options = read_options(dict)) == NULL)
        return NULL;
    const char **folders = read_texts(sequence, &count, &keep);
    if (folders == NULL) {
        rer_options_free(options);
        return NULL;
    }
    study_object *self = make_study(module, COMPARISON, NULL);
    rer_error error = {0};
    rer_status status = RER_OK;
    if (self != NULL) {
        Py_BEGIN_ALLOW_THREADS
            status = rer_compare(&self->of.comparison, folders, (int)count, column, error_rates, options, &error);
        Py_END_ALLOW_THREADS
    }
    rer_options_free(options);
    PyMem_Free(folders);
    Py_DECREF(keep);
    return self != NULL ? finish_study(self, status, &(call_watcher){0}, &error) : NULL;
}

/* ---- noise ------------------------------------------------------------------------------- */

PyObject *plant_noise(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *objects[3], *dict; /* noisy, given, target */
    Py_buffer buffers[3] = {{0}, {0}, {0}};
    int classes;
    rer_options *options;
    if (!PyArg_ParseTuple(args, "OOOiO!", &objects[0], &objects[1], &objects[2], &classes, &PyDict_Type, &dict) ||
        (options = read_options(dict)) == NULL)
        return NULL;
    bool right = true;
    for (int i = 0; right && i < 3; i++)
        if (objects[i] != Py_None)
            right = PyObject_GetBuffer(objects[i], &buffers[i], i == 0 ? PyBUF_WRITABLE : PyBUF_SIMPLE) == 0;
    for (int i = 1; right && i < 3; i++)
        if (objects[i] != Py_None && buffers[i].len != buffers[0].len) {
            PyErr_SetString(PyExc_ValueError, "noise: the arrays differ in length");
            right = false;
        }
    int64_t changed = 0;
    rer_error error = {0};
    if (right && rer_noise_plant(buffers[0].buf, &changed, buffers[1].buf, buffers[2].buf,
                                 buffers[0].len / (Py_ssize_t)sizeof(int32_t), classes, options, &error) != RER_OK) {
        (void)raise_error(&error);
        right = false;
    }
    rer_options_free(options);
    for (int i = 0; i < 3; i++)
        PyBuffer_Release(&buffers[i]);
    return right ? PyLong_FromLongLong(changed) : NULL;
}

/* ---- apply ------------------------------------------------------------------------------- */

PyObject *apply(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *dict;
    rer_options *options;
    rer_apply_files files = {.size = sizeof files};
    if (!PyArg_ParseTuple(args, "sszzzzO!", &files.labels, &files.decisions, &files.label_column, &files.class_names,
                          &files.out, &files.weights, &PyDict_Type, &dict) ||
        (options = read_options(dict)) == NULL)
        return NULL;
    rer_apply_summary summary = {.size = sizeof summary};
    rer_error error = {0};
    rer_status status;
    Py_BEGIN_ALLOW_THREADS
        status = rer_apply(&summary, &files, options, &error);
    Py_END_ALLOW_THREADS
    rer_options_free(options);
    if (status != RER_OK)
        return raise_error(&error);
    return Py_BuildValue("(LLLL)", (long long)summary.n_changed, (long long)summary.n_dropped,
                         (long long)summary.n_kept, (long long)summary.n_without_suggestion);
}

/* ---- features ---------------------------------------------------------------------------- */

PyObject *embed(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *dict, *callable;
    rer_options *options;
    rer_embed_files files = {.size = sizeof files};
    rer_embed_summary summary = {.size = sizeof summary};
    if (!PyArg_ParseTuple(args, "sszzzzzzO!O", &files.input, &files.out, &files.model, &files.output, &files.mean,
                          &files.std, &files.classes, &files.class_template, &PyDict_Type, &dict, &callable) ||
        (options = read_options(dict)) == NULL)
        return NULL;
    rer_error error = {0};
    rer_status status;
    call_watcher watcher = {.callable = callable != Py_None ? callable : NULL};
    rer_progress progress = {.report = watcher_report, .context = &watcher};
    Py_BEGIN_ALLOW_THREADS
        status = rer_embed(&summary, &files, options, &progress, &error);
    Py_END_ALLOW_THREADS
    rer_options_free(options);
    if (status != RER_OK || watcher.type != NULL)
        return watcher_raise(&watcher, &error);
    return Py_BuildValue("LLL", (long long)summary.n_rows, (long long)summary.n_columns, (long long)summary.n_skipped);
}
