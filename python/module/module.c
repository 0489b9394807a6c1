/* The module itself: its functions, what they share, and the table of options. */
#include "module.h"

#include "cli.h"

#include <errno.h>
#include <string.h>

PyObject *raise_error(const rer_error *error)
{
    PyObject *kind = PyExc_ValueError;
    if (error->status == RER_SYSTEM)
        kind = strncmp(error->message, "out of memory", 13) == 0 ? PyExc_MemoryError : PyExc_OSError;
    if (strstr(error->message, strerror(ENOENT)) != NULL)
        kind = PyExc_FileNotFoundError;
    PyErr_SetString(kind, error->message);
    return NULL;
}

void *make_object(PyObject *module, size_t type_offset)
{
    PyTypeObject *type = *(PyTypeObject **)(void *)((char *)PyModule_GetState(module) + type_offset);
    return ((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
}

rer_options *read_options(PyObject *dict)
{
    PyObject *name, *value;
    Py_ssize_t place = 0;
    rer_error error = {0};
    rer_options *options = NULL;
    bool right = rer_options_new(&options, &error) == RER_OK;
    while (right && PyDict_Next(dict, &place, &name, &value)) {
        const char *name_text = PyUnicode_AsUTF8AndSize(name, NULL);
        const char *value_text = name_text != NULL ? PyUnicode_AsUTF8AndSize(value, NULL) : NULL;
        right = value_text != NULL && rer_options_set(options, name_text, value_text, &error) == RER_OK;
    }
    if (right)
        return options;
    rer_options_free(options);
    if (error.status != RER_OK)
        (void)raise_error(&error);
    return NULL;
}

const char **read_texts(PyObject *sequence, Py_ssize_t *count, PyObject **keep)
{
    PyObject *list = PySequence_List(sequence);
    if (list == NULL)
        return NULL;
    Py_ssize_t n = PyList_Size(list);
    const char **texts = PyMem_Malloc((size_t)(n > 0 ? n : 1) * sizeof *texts);
    if (texts == NULL)
        (void)PyErr_NoMemory();
    for (Py_ssize_t i = 0; texts != NULL && i < n; i++) {
        Py_ssize_t length;
        texts[i] = PyUnicode_AsUTF8AndSize(PyList_GetItem(list, i), &length);
        bool whole = texts[i] != NULL && strlen(texts[i]) == (size_t)length;
        if (texts[i] != NULL && !whole)
            (void)PyErr_Format(PyExc_ValueError, "text %zd has a zero character", i);
        if (!whole) {
            PyMem_Free(texts);
            texts = NULL;
        }
    }
    if (texts == NULL) {
        Py_DECREF(list);
        return NULL;
    }
    *count = n;
    *keep = list;
    return texts;
}

/* ---- progress ---------------------------------------------------------------------------- */

/* Called in the thread that called the library. Signal handlers run in the main thread alone:
 * elsewhere PyErr_CheckSignals does nothing. */
bool watcher_report(void *context, const char *stage, double fraction)
{
    call_watcher *self = context;
    PyGILState_STATE lock = PyGILState_Ensure();
    bool stop = PyErr_CheckSignals() != 0;
    if (!stop && self->callable != NULL) {
        PyObject *answer = PyObject_CallFunction(self->callable, "sd", stage, fraction);
        stop = answer == NULL;
        Py_XDECREF(answer);
    }
    if (stop)
        PyErr_Fetch(&self->type, &self->value, &self->traceback);
    PyGILState_Release(lock);
    return stop;
}

PyObject *watcher_raise(call_watcher *watcher, const rer_error *error)
{
    if (watcher->type == NULL)
        return raise_error(error);
    PyErr_Restore(watcher->type, watcher->value, watcher->traceback);
    return NULL;
}

/* ---- options ----------------------------------------------------------------------------- */

static PyObject *list_options(PyObject *module, PyObject *args)
{
    (void)module;
    const char *command;
    if (!PyArg_ParseTuple(args, "s", &command))
        return NULL;
    PyObject *list = PyList_New(0);
    for (int i = 0; list != NULL && i < rer_options_count(); i++) {
        const rer_option_info *info = rer_options_info(i);
        if (!rer_option_is_for(info, command))
            continue;
        PyObject *row = Py_BuildValue("(ssssOz)", info->name, info->metavar, info->fallback, info->help,
                                      info->is_flag ? Py_True : Py_False, info->only_for);
        if (row == NULL || PyList_Append(list, row) != 0)
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

static PyObject *check_output(PyObject *module, PyObject *args)
{
    (void)module;
    const char *path, *command;
    rer_error error = {0};
    if (!PyArg_ParseTuple(args, "sz", &path, &command))
        return NULL;
    return rer_check_output(path, command, &error) == RER_OK ? Py_NewRef(Py_None) : raise_error(&error);
}

/* ---- the command ------------------------------------------------------------------------- */

/* command(words) -> exit code. It handles signals its own way from then on: the last thing that a process does. */
static PyObject *command(PyObject *module, PyObject *sequence)
{
    (void)module;
    Py_ssize_t count;
    PyObject *keep;
    const char **words = read_texts(sequence, &count, &keep);
    char **argv = words != NULL ? PyMem_Calloc((size_t)count + 1, sizeof *argv) : NULL; /* ends with a NULL */
    if (words == NULL)
        return NULL;
    if (argv != NULL)
        memcpy(argv, words, (size_t)count * sizeof *argv);
    int code = 0;
    if (argv != NULL) {
        Py_BEGIN_ALLOW_THREADS
            code = run_program((int)count, argv);
        Py_END_ALLOW_THREADS
    }
    bool ran = argv != NULL;
    PyMem_Free(argv);
    PyMem_Free(words);
    Py_DECREF(keep);
    return ran ? PyLong_FromLong(code) : PyErr_NoMemory();
}

/* ---- the module -------------------------------------------------------------------------- */

static PyMethodDef functions[] = {
    {"options", list_options, METH_VARARGS,
     "options(command)\n--\n\nThe options of a command: (name, metavar, default, help, is_flag, only_for) of each."},
    {"open_dataset", open_dataset, METH_VARARGS,
     "open_dataset(files, options)\n--\n\nA data set of files: {\"features\": path, \"labels\": path, ...}."},
    {"wrap_dataset", wrap_dataset, METH_VARARGS,
     "wrap_dataset(features, labels, options, path=None, offset=0)\n--\n\n"
     "A data set of buffers; the features are not copied, or read from the file that they map."},
    {"apart_dataset", apart_dataset, METH_VARARGS,
     "apart_dataset(rows, columns, labels, ask)\n--\n\nA data set in parts; ask(task, merge) gives their answers."},
    {"part_answer", part_answer, METH_VARARGS,
     "part_answer(rows, codes, first, threads, task)\n--\n\nThe answer of one part."},
    {"check_output", check_output, METH_VARARGS,
     "check_output(path, command)\n--\n\nRaises where a file (None) or a command's folder cannot be written."},
    {"part_merge", part_merge, METH_VARARGS, "part_merge(left, right)\n--\n\nOne answer of two."},
    {"unpack_model", unpack_model, METH_VARARGS, "unpack_model(content)\n--\n\nA packed model."},
    {"load_model", load_model, METH_VARARGS, "load_model(path)\n--\n\nA saved model."},
    {"analyze", analyze, METH_VARARGS,
     "analyze(dataset, options, errors_path, progress)\n--\n\nrer_analyze: a Result."},
    {"score", score, METH_VARARGS, "score(model, dataset, options, errors_path, progress)\n--\n\nrer_score: a Result."},
    {"scale", scale, METH_VARARGS, "scale(dataset, options, progress)\n--\n\nrer_scale: a Study."},
    {"bench", bench, METH_VARARGS,
     "bench(dataset, detectors, human, options, progress)\n--\n\n"
     "rer_bench_run: a Study. human: (name, int32 codes of all rows) of each."},
    {"compare", compare, METH_VARARGS, "compare(folders, column, error_rates, options)\n--\n\nrer_compare: a Study."},
    {"plant_noise", plant_noise, METH_VARARGS,
     "plant_noise(noisy, given, target, classes, options)\n--\n\n"
     "rer_noise_plant on int32 arrays [N], of which noisy is filled; how many changed."},
    {"apply", apply, METH_VARARGS,
     "apply(labels, decisions, label_column, class_names, out, weights, options)\n--\n\n"
     "rer_apply on files: (changed, dropped, kept, without a suggestion)."},
    {"embed", embed, METH_VARARGS,
     "embed(input, out, model, output, mean, std, classes, template, options, progress)\n--\n\n"
     "rer_embed: (rows, columns, skipped)."},
    {"command", command, METH_O, "command(words)\n--\n\nThe command rer; returns its exit code."},
    {NULL, NULL, 0, NULL},
};

static int add_type(PyObject *module, PyTypeObject **slot, PyType_Spec *spec)
{
    *slot = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, NULL);
    return *slot == NULL ? -1 : PyModule_AddType(module, *slot);
}

static int execute(PyObject *module)
{
    module_state *state = PyModule_GetState(module);
    if (add_type(module, &state->dataset, &dataset_spec) != 0 || add_type(module, &state->model, &model_spec) != 0 ||
        add_type(module, &state->result, &result_spec) != 0 || add_type(module, &state->study, &study_spec) != 0)
        return -1;
    return PyModule_AddStringConstant(module, "version", rer_version());
}

static int traverse(PyObject *module, visitproc visit, void *arg)
{
    module_state *state = PyModule_GetState(module);
    Py_VISIT(state->dataset);
    Py_VISIT(state->model);
    Py_VISIT(state->result);
    Py_VISIT(state->study);
    return 0;
}

static int clear(PyObject *module)
{
    module_state *state = PyModule_GetState(module);
    Py_CLEAR(state->dataset);
    Py_CLEAR(state->model);
    Py_CLEAR(state->result);
    Py_CLEAR(state->study);
    return 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)execute},
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "rer._rer",
    .m_doc = "librer, as the package rer uses it; not for callers.",
    .m_size = sizeof(module_state),
    .m_methods = functions,
    .m_slots = slots,
    .m_traverse = traverse,
    .m_clear = clear,
};

PyMODINIT_FUNC PyInit__rer(void);
PyMODINIT_FUNC PyInit__rer(void)
{
    return PyModuleDef_Init(&definition);
}
