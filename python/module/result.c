/* Reading what an analysis has left. */
#include "module.h"

#include <stdlib.h>
#include <string.h>

static void free_result(PyObject *object)
{
    result_object *self = (result_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    rer_result_free(self->result);
    Py_XDECREF(self->data);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

static rer_dataset *data_of(const result_object *self)
{
    return ((dataset_object *)self->data)->data;
}

static PyObject *result_json(PyObject *object, PyObject *args)
{
    (void)args;
    result_object *self = (result_object *)object;
    char *json = NULL;
    rer_error error = {0};
    if (rer_result_json(self->result, data_of(self), &json, &error) != RER_OK)
        return raise_error(&error);
    PyObject *text = PyUnicode_FromString(json);
    free(json);
    return text;
}

static PyObject *result_write(PyObject *object, PyObject *args)
{
    result_object *self = (result_object *)object;
    const char *folder;
    rer_error error = {0};
    rer_status status;
    if (!PyArg_ParseTuple(args, "s", &folder))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        status = rer_result_write(self->result, data_of(self), folder, &error);
    Py_END_ALLOW_THREADS
    return status == RER_OK ? Py_NewRef(Py_None) : raise_error(&error);
}

static PyObject *result_report(PyObject *object, PyObject *args)
{
    result_object *self = (result_object *)object;
    const char *path;
    rer_error error = {0};
    rer_status status;
    if (!PyArg_ParseTuple(args, "s", &path))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        status = rer_result_report(self->result, data_of(self), path, &error);
    Py_END_ALLOW_THREADS
    return status == RER_OK ? Py_NewRef(Py_None) : raise_error(&error);
}

static PyObject *result_model(PyObject *object, PyObject *args)
{
    (void)args;
    const rer_model *model = rer_result_model(((result_object *)object)->result);
    if (model == NULL)
        return Py_NewRef(Py_None);
    PyObject *module = PyType_GetModule(Py_TYPE(object));
    model_object *self = module != NULL ? make_object(module, offsetof(module_state, model)) : NULL;
    if (self == NULL)
        return NULL;
    self->model = model;
    self->owner = Py_NewRef(object);
    return (PyObject *)self;
}

/* A member of rer_sample, rer_summary or rer_class_summary, by its name. */
typedef struct struct_member {
    const char *name;
    char kind; /* l: int64_t, i: int32_t, d: double, b: bool */
    size_t offset;
} struct_member;

#define SAMPLE(kind, name)                                                                                             \
    {                                                                                                                  \
#name, kind, offsetof(rer_sample, name)                                                                        \
    }
static const struct_member sample_members[] = {
    SAMPLE('i', given),
    SAMPLE('i', predicted),
    SAMPLE('i', suggested),
    SAMPLE('d', chi),
    SAMPLE('d', own_error),
    SAMPLE('d', best_other_error),
    SAMPLE('d', mistakenness),
    SAMPLE('d', label_score),
    SAMPLE('b', is_issue),
    SAMPLE('d', suggestion_probability),
    SAMPLE('b', is_invalid),
    SAMPLE('d', outlier_score),
    SAMPLE('b', is_outlier),
    SAMPLE('l', duplicates),
    {NULL, 0, 0},
};

#define SUMMARY(kind, name)                                                                                            \
    {                                                                                                                  \
#name, kind, offsetof(rer_summary, name)                                                                       \
    }
static const struct_member summary_members[] = {
    SUMMARY('l', n_samples),
    SUMMARY('l', n_features),
    SUMMARY('l', n_labelled),
    SUMMARY('l', n_unlabelled),
    SUMMARY('l', n_invalid),
    SUMMARY('i', n_classes),
    SUMMARY('i', n_singletons),
    SUMMARY('d', chi),
    SUMMARY('d', chi0),
    SUMMARY('d', chi_rand),
    SUMMARY('d', noise_rate),
    SUMMARY('d', noise_low),
    SUMMARY('d', noise_high),
    SUMMARY('d', threshold),
    SUMMARY('b', threshold_on_chi),
    SUMMARY('l', n_issues),
    SUMMARY('d', expected_wrong),
    SUMMARY('l', n_outliers),
    SUMMARY('d', duplicate_angle),
    SUMMARY('l', n_duplicates),
    SUMMARY('l', n_duplicate_groups),
    SUMMARY('l', n_duplicate_conflicts),
    SUMMARY('d', error_rate),
    SUMMARY('d', difficulty),
    SUMMARY('d', shrinkage),
    SUMMARY('d', temperature),
    SUMMARY('d', rank),
    SUMMARY('d', own_error),
    SUMMARY('d', best_error),
    SUMMARY('d', second_error),
    SUMMARY('d', transition_entropy),
    {NULL, 0, 0},
};

static size_t member_size(char kind)
{
    return kind == 'i' ? sizeof(int32_t) : kind == 'b' ? sizeof(bool) : 8;
}

static PyObject *member_value(const struct_member *member, const void *structure)
{
    const char *at = (const char *)structure + member->offset;
    switch (member->kind) {
    case 'l':
        return PyLong_FromLongLong(*(const int64_t *)(const void *)at);
    case 'i':
        return PyLong_FromLong(*(const int32_t *)(const void *)at);
    case 'd':
        return PyFloat_FromDouble(*(const double *)(const void *)at);
    default:
        return PyBool_FromLong(*(const bool *)at);
    }
}

static PyObject *result_summary(PyObject *object, PyObject *args)
{
    (void)args;
    const rer_summary *summary = rer_result_summary(((result_object *)object)->result);
    PyObject *dict = PyDict_New();
    for (const struct_member *member = summary_members; dict != NULL && member->name != NULL; member++) {
        PyObject *value = member_value(member, summary);
        if (value == NULL || PyDict_SetItemString(dict, member->name, value) != 0)
            Py_CLEAR(dict);
        Py_XDECREF(value);
    }
    return dict;
}

/* One pass over the rows fills all columns that are asked for. */
#define COLUMNS_MAX 16
typedef struct row_column {
    const struct_member *member;
    Py_buffer buffer;
} row_column;

static int open_column(row_column *column, PyObject *name, PyObject *array, int64_t N)
{
    const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
    if (text == NULL)
        return -1;
    column->member = sample_members;
    while (column->member->name != NULL && strcmp(column->member->name, text) != 0)
        column->member++;
    if (column->member->name == NULL) {
        (void)PyErr_Format(PyExc_KeyError, "%s", text);
        return -1;
    }
    if (PyObject_GetBuffer(array, &column->buffer, PyBUF_WRITABLE) != 0)
        return -1;
    if (column->buffer.len == N * (Py_ssize_t)member_size(column->member->kind))
        return 0;
    PyBuffer_Release(&column->buffer);
    (void)PyErr_Format(PyExc_ValueError, "%s: the array has not the size of %lld rows", text, (long long)N);
    return -1;
}

static void fill_columns(const rer_result *result, row_column *columns, int count, int64_t N)
{
    rer_sample sample = {.size = sizeof sample};
    for (int64_t row = 0; row < N; row++) {
        (void)rer_result_sample(&sample, result, row, NULL);
        for (int i = 0; i < count; i++) {
            size_t size = member_size(columns[i].member->kind);
            memcpy((char *)columns[i].buffer.buf + (size_t)row * size,
                   (const char *)&sample + columns[i].member->offset, size);
        }
    }
}

static PyObject *result_fill(PyObject *object, PyObject *dict)
{
    const rer_result *result = ((result_object *)object)->result;
    int64_t N = rer_result_summary(result)->n_samples;
    row_column columns[COLUMNS_MAX];
    PyObject *name, *array;
    Py_ssize_t place = 0;
    int count = 0;
    bool right = true;
    if (!PyDict_Check(dict) || PyDict_Size(dict) > COLUMNS_MAX) {
        PyErr_SetString(PyExc_TypeError, "a dict of few arrays is needed");
        return NULL;
    }
    while (right && PyDict_Next(dict, &place, &name, &array)) {
        right = open_column(&columns[count], name, array, N) == 0;
        count += right;
    }
    if (right) {
        Py_BEGIN_ALLOW_THREADS
            fill_columns(result, columns, count, N);
        Py_END_ALLOW_THREADS
    }
    for (int i = 0; i < count; i++)
        PyBuffer_Release(&columns[i].buffer);
    return right ? Py_NewRef(Py_None) : NULL;
}

/* Fills an array of int64 with the most suspicious rows; returns how many there are. */
static PyObject *result_suspects(PyObject *object, PyObject *array)
{
    Py_buffer buffer;
    int64_t count;
    if (PyObject_GetBuffer(array, &buffer, PyBUF_WRITABLE) != 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        count = rer_result_suspects(((result_object *)object)->result, buffer.len / 8, buffer.buf);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&buffer);
    return PyLong_FromLongLong(count);
}

static PyObject *result_near(PyObject *object, PyObject *args)
{
    long long row;
    int64_t rows[RER_NEAR_ROWS];
    if (!PyArg_ParseTuple(args, "L", &row))
        return NULL;
    int32_t count = rer_result_near(((result_object *)object)->result, row, rows);
    PyObject *list = PyList_New(0);
    for (int32_t i = 0; list != NULL && i < count; i++) {
        PyObject *value = PyLong_FromLongLong(rows[i]);
        if (value == NULL || PyList_Append(list, value) != 0)
            Py_CLEAR(list);
        Py_XDECREF(value);
    }
    return list;
}

/* [(class, probability)] of what a row may be. */
static PyObject *result_likely(PyObject *object, PyObject *args)
{
    long long row;
    int32_t classes[RER_LIKELY];
    double probabilities[RER_LIKELY];
    if (!PyArg_ParseTuple(args, "L", &row))
        return NULL;
    int32_t count = rer_result_likely(((result_object *)object)->result, row, classes, probabilities);
    PyObject *list = PyList_New(0);
    for (int32_t i = 0; list != NULL && i < count; i++) {
        PyObject *value = Py_BuildValue("(id)", classes[i], probabilities[i]);
        if (value == NULL || PyList_Append(list, value) != 0)
            Py_CLEAR(list);
        Py_XDECREF(value);
    }
    return list;
}

static PyObject *result_expected_wrong(PyObject *object, PyObject *args)
{
    long long count;
    if (!PyArg_ParseTuple(args, "L", &count))
        return NULL;
    return PyFloat_FromDouble(rer_result_expected_wrong(((result_object *)object)->result, count));
}

static PyObject *result_pairs(PyObject *object, PyObject *args)
{
    const rer_result *result = ((result_object *)object)->result;
    long long count;
    if (!PyArg_ParseTuple(args, "L", &count))
        return NULL;
    PyObject *list = PyList_New(0);
    const rer_pair *pair;
    for (int64_t i = 0; list != NULL && i < count && (pair = rer_result_pair(result, i)) != NULL; i++) {
        PyObject *row = Py_BuildValue("(iiLL)", pair->a, pair->b, (long long)pair->a_as_b, (long long)pair->b_as_a);
        if (row == NULL || PyList_Append(list, row) != 0)
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

/* (name, n, chi, noise_rate, n_issues, most_confused_with, own_error) of each class. */
static PyObject *result_classes(PyObject *object, PyObject *args)
{
    (void)args;
    const rer_result *result = ((result_object *)object)->result;
    int32_t C = rer_result_summary(result)->n_classes;
    PyObject *list = PyList_New(C);
    for (int32_t c = 0; list != NULL && c < C; c++) {
        const rer_class_summary *class = rer_result_class(result, c);
        PyObject *row =
            Py_BuildValue("(sLddLid)", rer_result_class_name(result, c), (long long)class->n, class->chi,
                          class->noise_rate, (long long)class->n_issues, class->most_confused_with, class->own_error);
        if (row == NULL || PyList_SetItem(list, c, row) != 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *result_data(PyObject *object, PyObject *args)
{
    (void)args;
    return Py_NewRef(((result_object *)object)->data);
}

static PyMethodDef result_methods[] = {
    {"json", result_json, METH_NOARGS, "json()\n--\n\nsummary.json as text."},
    {"write", result_write, METH_VARARGS, "write(folder)\n--\n\nWrites the four output files."},
    {"report", result_report, METH_VARARGS, "report(path)\n--\n\nWrites report.html alone."},
    {"model", result_model, METH_NOARGS, "model()\n--\n\nThe fitted model, or None."},
    {"summary", result_summary, METH_NOARGS, "summary()\n--\n\nThe numbers of the whole data set."},
    {"fill", result_fill, METH_O, "fill(columns)\n--\n\nFills arrays [N], given by the name of the column."},
    {"suspects", result_suspects, METH_O, "suspects(rows)\n--\n\nFills an int64 array, most suspicious first."},
    {"likely", result_likely, METH_VARARGS, "likely(row)\n--\n\n(class, probability) of what a row may be."},
    {"near", result_near, METH_VARARGS, "near(row)\n--\n\nThe nearest rows of one that had a second look."},
    {"expected_wrong", result_expected_wrong, METH_VARARGS,
     "expected_wrong(count)\n--\n\nHow many of the most suspicious labels are wrong."},
    {"pairs", result_pairs, METH_VARARGS, "pairs(count)\n--\n\nThe most confused pairs of classes."},
    {"classes", result_classes, METH_NOARGS, "classes()\n--\n\nThe summary of each class."},
    {"data", result_data, METH_NOARGS, "data()\n--\n\nThe data set that it was made from."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot result_slots[] = {{Py_tp_dealloc, (void *)free_result}, {Py_tp_methods, result_methods}, {0, NULL}};
PyType_Spec result_spec = {
    .name = "rer._rer.Result",
    .basicsize = sizeof(result_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = result_slots,
};
