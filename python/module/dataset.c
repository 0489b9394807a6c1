/* Data sets: files, or buffers that stay where they are. */
#include "module.h"

#include <string.h>

/* ---- buffers ----------------------------------------------------------------------------- */

/* The rer_dtype of a buffer's format (struct module's letters, as numpy gives them), or -1. */
static int dtype_of(const Py_buffer *buffer)
{
    const char *format = buffer->format != NULL ? buffer->format : "B";
    format += *format == '@' || *format == '=' || (*format == '<' && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) ||
              (*format == '>' && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    size_t length = strlen(format), digits = strspn(format, "0123456789");
    if (length == digits + 1 && (format[digits] == 's' || format[digits] == 'w'))
        return format[digits] == 's' ? RER_BYTES : RER_UNICODE;
    if (length != 1)
        return -1;
    static const int unsigned_of[] = {[1] = RER_U8, [2] = RER_U16, [4] = RER_U32, [8] = RER_U64};
    static const int signed_of[] = {[1] = RER_I8, [2] = RER_I16, [4] = RER_I32, [8] = RER_I64};
    Py_ssize_t size = buffer->itemsize;
    if (strchr("BHILQN?", *format) != NULL && size <= 8)
        return unsigned_of[size];
    if (strchr("bhilqn", *format) != NULL && size <= 8)
        return signed_of[size];
    return *format == 'e' ? RER_F16 : *format == 'f' ? RER_F32 : *format == 'd' ? RER_F64 : -1;
}

int view_buffer(rer_view *view, Py_buffer *buffer, PyObject *object, const char *what)
{
    if (PyObject_GetBuffer(object, buffer, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) != 0)
        return -1;
    int dtype = dtype_of(buffer);
    if (dtype < 0 || buffer->ndim < 1 || buffer->ndim > 4 || buffer->itemsize > INT32_MAX) {
        (void)PyErr_Format(PyExc_TypeError, "%s: format '%s' of %d dimensions is not supported", what,
                           buffer->format != NULL ? buffer->format : "B", buffer->ndim);
        PyBuffer_Release(buffer);
        return -1;
    }
    *view = (rer_view){.dtype = (rer_dtype)dtype, .item_size = (int32_t)buffer->itemsize, .rank = buffer->ndim};
    /* An empty array may have no memory; the library says what is wrong with it. */
    view->data = buffer->buf != NULL ? buffer->buf : (void *)"";
    for (int i = 0; i < buffer->ndim; i++)
        view->shape[i] = buffer->shape[i];
    return 0;
}

/* ---- making them ------------------------------------------------------------------------- */

PyObject *open_dataset(PyObject *module, PyObject *args)
{
    rer_files files = {0};
    PyObject *dict;
    rer_options options;
    if (!PyArg_ParseTuple(args, "szzzzO!", &files.features, &files.labels, &files.label_column, &files.class_names,
                          &files.ids, &PyDict_Type, &dict) ||
        read_options(&options, dict) != 0)
        return NULL;
    dataset_object *self = make_object(module, offsetof(module_state, dataset));
    if (self == NULL)
        return NULL;
    rer_error error = {0};
    rer_status status;
    Py_BEGIN_ALLOW_THREADS
        status = rer_dataset_open(&self->data, &files, &options, &error);
    Py_END_ALLOW_THREADS
    if (status == RER_OK)
        return (PyObject *)self;
    Py_DECREF(self);
    return raise_error(&error);
}

/* Labels are copied by the library; their buffer is not needed any longer. */
static PyObject *give_labels(dataset_object *self, PyObject *object)
{
    rer_view view;
    Py_buffer buffer;
    rer_error error = {0};
    rer_status status;
    if (view_buffer(&view, &buffer, object, "labels") != 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        status = rer_dataset_set_labels(self->data, &view, &error);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&buffer);
    return status == RER_OK ? Py_NewRef(Py_None) : raise_error(&error);
}

PyObject *wrap_dataset(PyObject *module, PyObject *args)
{
    PyObject *features, *labels, *dict;
    rer_options options;
    rer_view view;
    const char *path = NULL;
    long long offset = 0;
    if (!PyArg_ParseTuple(args, "OOO!|zL", &features, &labels, &PyDict_Type, &dict, &path, &offset) ||
        read_options(&options, dict) != 0)
        return NULL;
    dataset_object *self = make_object(module, offsetof(module_state, dataset));
    if (self == NULL || view_buffer(&view, &self->features, features, "X") != 0) {
        Py_XDECREF((PyObject *)self);
        return NULL;
    }
    if (path != NULL) { /* the buffer shows this part of a file */
        view.data = NULL;
        view.path = path;
        view.offset = offset;
    }
    rer_error error = {0};
    rer_status status;
    Py_BEGIN_ALLOW_THREADS
        status = rer_dataset_wrap(&self->data, &view, NULL, &options, &error);
    Py_END_ALLOW_THREADS
    PyObject *labelled = NULL;
    if (status != RER_OK)
        (void)raise_error(&error);
    else
        labelled = labels == Py_None ? Py_NewRef(Py_None) : give_labels(self, labels);
    if (labelled == NULL)
        Py_CLEAR(self);
    Py_XDECREF(labelled);
    return (PyObject *)self;
}

static void free_dataset(PyObject *object)
{
    dataset_object *self = (dataset_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    rer_dataset_free(self->data);
    PyBuffer_Release(&self->features);
    Py_XDECREF(self->ask);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

/* ---- methods ----------------------------------------------------------------------------- */

static PyObject *set_labels(PyObject *object, PyObject *labels)
{
    return give_labels((dataset_object *)object, labels);
}

typedef rer_status text_setter(rer_dataset *data, const char *const *texts, int64_t count, rer_error *error);

static PyObject *set_texts(dataset_object *self, PyObject *sequence, text_setter *setter)
{
    Py_ssize_t count;
    PyObject *keep;
    rer_error error = {0};
    const char **texts = read_texts(sequence, &count, &keep);
    if (texts == NULL)
        return NULL;
    rer_status status = setter(self->data, texts, count, &error);
    PyMem_Free(texts);
    Py_DECREF(keep);
    return status == RER_OK ? Py_NewRef(Py_None) : raise_error(&error);
}

static PyObject *set_class_names(PyObject *object, PyObject *names)
{
    return set_texts((dataset_object *)object, names, rer_dataset_set_class_names);
}

static PyObject *set_ids(PyObject *object, PyObject *ids)
{
    return set_texts((dataset_object *)object, ids, rer_dataset_set_ids);
}

static PyObject *class_names(PyObject *object, PyObject *args)
{
    (void)args;
    const rer_dataset *data = ((dataset_object *)object)->data;
    int32_t C = rer_dataset_classes(data);
    PyObject *list = PyList_New(C);
    for (int32_t c = 0; list != NULL && c < C; c++) {
        PyObject *name = PyUnicode_FromString(rer_dataset_class_name(data, c));
        if (name == NULL || PyList_SetItem(list, c, name) != 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *codes(PyObject *object, PyObject *args)
{
    (void)args;
    const rer_dataset *data = ((dataset_object *)object)->data;
    const int32_t *found = rer_dataset_labels(data);
    int64_t bytes = found != NULL ? rer_dataset_rows(data) * (int64_t)sizeof *found : 0;
    return PyBytes_FromStringAndSize((const char *)found, (Py_ssize_t)bytes);
}

static PyObject *ids(PyObject *object, PyObject *args)
{
    (void)args;
    const rer_dataset *data = ((dataset_object *)object)->data;
    int64_t N = rer_dataset_id(data, 0) != NULL ? rer_dataset_rows(data) : 0;
    PyObject *list = PyList_New(N);
    for (int64_t row = 0; list != NULL && row < N; row++) {
        PyObject *id = PyUnicode_FromString(rer_dataset_id(data, row));
        if (id == NULL || PyList_SetItem(list, row, id) != 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *shape(PyObject *object, PyObject *args)
{
    (void)args;
    const rer_dataset *data = ((dataset_object *)object)->data;
    return Py_BuildValue("(LL)", (long long)rer_dataset_rows(data), (long long)rer_dataset_columns(data));
}

static PyObject *picture(PyObject *object, PyObject *args)
{
    (void)args;
    int64_t size[3];
    if (!rer_dataset_is_pictures(((dataset_object *)object)->data, size))
        return Py_NewRef(Py_None);
    return Py_BuildValue("(LLL)", (long long)size[0], (long long)size[1], (long long)size[2]);
}

static PyMethodDef methods[] = {
    {"set_labels", set_labels, METH_O, "set_labels(labels)\n--\n\nGives each row a label."},
    {"set_class_names", set_class_names, METH_O, "set_class_names(names)\n--\n\nOne name for each sorted label."},
    {"set_ids", set_ids, METH_O, "set_ids(ids)\n--\n\nOne name for each row."},
    {"class_names", class_names, METH_NOARGS, "class_names()\n--\n\nNames of the classes, in their order."},
    {"codes", codes, METH_NOARGS, "codes()\n--\n\nClass of each row, int32, as bytes."},
    {"ids", ids, METH_NOARGS, "ids()\n--\n\nNames of the rows; empty where none were given."},
    {"shape", shape, METH_NOARGS, "shape()\n--\n\n(rows, features)."},
    {"picture", picture, METH_NOARGS, "picture()\n--\n\n(height, width, channels) of pictures, else None."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {{Py_tp_dealloc, (void *)free_dataset}, {Py_tp_methods, methods}, {0, NULL}};
PyType_Spec dataset_spec = {
    .name = "rer._rer.Dataset",
    .basicsize = sizeof(dataset_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};
