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

/* ---- tensors on a card ------------------------------------------------------------------- */

/* DLPack's structs, as every library hands them over (dlpack.h 0.8). */
typedef struct dl_tensor {
    void *data;
    struct {
        int32_t type, number;
    } device;
    int32_t rank;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape, *strides; /* strides NULL: C order */
    uint64_t offset;          /* bytes */
} dl_tensor;

typedef struct dl_managed {
    dl_tensor tensor;
    void *context;
    void (*free)(struct dl_managed *self);
} dl_managed;

#define DL_CAPSULE "dltensor"
#define DL_TAKEN "used_dltensor"
#define DL_FLOAT 2

static bool is_c_order(const dl_tensor *tensor)
{
    int64_t stride = 1;
    bool ordered = true;
    for (int32_t i = tensor->rank - 1; tensor->strides != NULL && i >= 0; i--) {
        ordered = ordered && (tensor->strides[i] == stride || tensor->shape[i] == 1);
        stride *= tensor->shape[i];
    }
    return ordered;
}

/* A view of a tensor on a card, which is ours from then on. */
static int view_tensor(rer_view *view, void **taken, PyObject *capsule)
{
    dl_managed *managed = PyCapsule_GetPointer(capsule, DL_CAPSULE);
    if (managed == NULL)
        return -1;
    const dl_tensor *tensor = &managed->tensor;
    if (tensor->rank != 2 || tensor->dtype.code != DL_FLOAT || tensor->dtype.bits != 32 || tensor->dtype.lanes != 1 ||
        !is_c_order(tensor)) {
        PyErr_SetString(PyExc_TypeError, "X: a tensor on a card must be float32 [N, D] in C order");
        return -1;
    }
    if (PyCapsule_SetName(capsule, DL_TAKEN) != 0)
        return -1;
    *taken = managed;
    /* An empty tensor may have no memory; the library says what is wrong with it. */
    *view = (rer_view){.data = tensor->data != NULL ? (const char *)tensor->data + tensor->offset : "",
                       .dtype = RER_F32,
                       .rank = 2,
                       .shape = {tensor->shape[0], tensor->shape[1]}};
    return 0;
}

static void free_tensor(void *taken)
{
    dl_managed *managed = taken;
    if (managed != NULL && managed->free != NULL)
        managed->free(managed);
}

/* ---- making them ------------------------------------------------------------------------- */

/* {"features": "X.npy", "labels": "y.npy"} -> rer_files, whose texts live as long as the dict's. */
static int read_files(rer_files *files, PyObject *dict)
{
#define FILE_NAMED(name)                                                                                               \
    {                                                                                                                  \
#name, offsetof(rer_files, name)                                                                               \
    }
    static const struct {
        const char *name;
        size_t offset;
    } known[] = {
        FILE_NAMED(features),   FILE_NAMED(labels),  FILE_NAMED(label_column),     FILE_NAMED(class_names),
        FILE_NAMED(ids),        FILE_NAMED(subsets), FILE_NAMED(class_embeddings), FILE_NAMED(images),
        FILE_NAMED(pred_probs), FILE_NAMED(texts),   FILE_NAMED(groups),           FILE_NAMED(model),
    };
    PyObject *name, *value;
    Py_ssize_t place = 0;
    *files = (rer_files){.size = sizeof *files};
    while (PyDict_Next(dict, &place, &name, &value)) {
        const char *name_text = PyUnicode_AsUTF8AndSize(name, NULL);
        const char *value_text = name_text != NULL ? PyUnicode_AsUTF8AndSize(value, NULL) : NULL;
        size_t i = 0, count = sizeof known / sizeof *known;
        if (value_text == NULL)
            return -1;
        while (i < count && strcmp(known[i].name, name_text) != 0)
            i++;
        if (i == count) {
            (void)PyErr_Format(PyExc_KeyError, "%s", name_text);
            return -1;
        }
        *(const char **)(void *)((char *)files + known[i].offset) = value_text;
    }
    return 0;
}

PyObject *open_dataset(PyObject *module, PyObject *args)
{
    rer_files files;
    PyObject *paths, *dict;
    if (!PyArg_ParseTuple(args, "O!O!", &PyDict_Type, &paths, &PyDict_Type, &dict) || read_files(&files, paths) != 0)
        return NULL;
    dataset_object *self = make_object(module, offsetof(module_state, dataset));
    rer_options *options = self != NULL ? read_options(dict) : NULL;
    if (options == NULL) {
        Py_XDECREF((PyObject *)self);
        return NULL;
    }
    rer_error error = {0};
    rer_status status;
    Py_BEGIN_ALLOW_THREADS
        status = rer_dataset_open(&self->data, &files, options, &error);
    Py_END_ALLOW_THREADS
    rer_options_free(options);
    if (status == RER_OK)
        return (PyObject *)self;
    Py_DECREF(self);
    return raise_error(&error);
}

typedef rer_status view_setter(rer_dataset *data, const rer_view *view, rer_error *error);

/* Gives the data set an array. `kept`: where it points into it, the buffer to hold; NULL: it copies. */
static PyObject *give_view(dataset_object *self, PyObject *object, const char *what, view_setter *setter,
                           Py_buffer *kept)
{
    rer_view view;
    Py_buffer buffer;
    rer_error error = {0};
    rer_status status;
    if (view_buffer(&view, &buffer, object, what) != 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        status = setter(self->data, &view, &error);
    Py_END_ALLOW_THREADS
    if (status == RER_OK && kept != NULL) {
        Py_buffer before = *kept;
        *kept = buffer;
        buffer = before;
    }
    PyBuffer_Release(&buffer);
    return status == RER_OK ? Py_NewRef(Py_None) : raise_error(&error);
}

static PyObject *give_labels(dataset_object *self, PyObject *object)
{
    return give_view(self, object, "labels", rer_dataset_set_labels, NULL);
}

PyObject *wrap_dataset(PyObject *module, PyObject *args)
{
    PyObject *features, *labels, *dict;
    rer_options *options;
    rer_view view;
    const char *path = NULL;
    long long offset = 0;
    if (!PyArg_ParseTuple(args, "OOO!|zL", &features, &labels, &PyDict_Type, &dict, &path, &offset) ||
        (options = read_options(dict)) == NULL)
        return NULL;
    dataset_object *self = make_object(module, offsetof(module_state, dataset));
    bool on_card = PyCapsule_IsValid(features, DL_CAPSULE) != 0;
    if (self == NULL || (on_card ? view_tensor(&view, &self->tensor, features)
                                 : view_buffer(&view, &self->features, features, "X")) != 0) {
        rer_options_free(options);
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
        status = (on_card ? rer_dataset_wrap_card : rer_dataset_wrap)(&self->data, &view, NULL, options, &error);
    Py_END_ALLOW_THREADS
    rer_options_free(options);
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
    PyBuffer_Release(&self->pred_probs);
    PyBuffer_Release(&self->images);
    free_tensor(self->tensor);
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

static PyObject *set_texts_of_rows(PyObject *object, PyObject *texts)
{
    return set_texts((dataset_object *)object, texts, rer_dataset_set_texts);
}

static PyObject *set_pred_probs(PyObject *object, PyObject *array)
{
    dataset_object *self = (dataset_object *)object;
    return give_view(self, array, "pred_probs", rer_dataset_set_pred_probs, &self->pred_probs);
}

static PyObject *set_images(PyObject *object, PyObject *array)
{
    dataset_object *self = (dataset_object *)object;
    return give_view(self, array, "images", rer_dataset_set_images, &self->images);
}

static PyObject *set_subsets(PyObject *object, PyObject *array)
{
    return give_view((dataset_object *)object, array, "subsets", rer_dataset_set_subsets, NULL);
}

static PyObject *set_class_embeddings(PyObject *object, PyObject *array)
{
    return give_view((dataset_object *)object, array, "class_embeddings", rer_dataset_set_class_embeddings, NULL);
}

static PyObject *set_groups(PyObject *object, PyObject *array)
{
    dataset_object *self = (dataset_object *)object;
    rer_error error = {0};
    if (array != Py_None)
        return give_view(self, array, "groups", rer_dataset_set_groups, NULL);
    return rer_dataset_set_groups(self->data, NULL, &error) == RER_OK ? Py_NewRef(Py_None) : raise_error(&error);
}

typedef rer_status path_opener(rer_dataset *data, const char *path, rer_error *error);

static PyObject *open_path(PyObject *object, PyObject *args, path_opener *opener)
{
    const char *path;
    rer_error error = {0};
    rer_status status;
    if (!PyArg_ParseTuple(args, "s", &path))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
        status = opener(((dataset_object *)object)->data, path, &error);
    Py_END_ALLOW_THREADS
    return status == RER_OK ? Py_NewRef(Py_None) : raise_error(&error);
}

static PyObject *open_images(PyObject *object, PyObject *args)
{
    return open_path(object, args, rer_dataset_open_images);
}

static PyObject *open_texts(PyObject *object, PyObject *args)
{
    return open_path(object, args, rer_dataset_open_texts);
}

static PyObject *cluster(PyObject *object, PyObject *args)
{
    PyObject *dict, *callable;
    rer_options *options;
    if (!PyArg_ParseTuple(args, "O!O", &PyDict_Type, &dict, &callable) || (options = read_options(dict)) == NULL)
        return NULL;
    rer_error error = {0};
    rer_status status;
    call_watcher watcher = {.callable = callable != Py_None ? callable : NULL};
    rer_progress progress = {.report = watcher_report, .context = &watcher};
    Py_BEGIN_ALLOW_THREADS
        status = rer_dataset_cluster(((dataset_object *)object)->data, NULL, options, &progress, &error);
    Py_END_ALLOW_THREADS
    rer_options_free(options);
    return status == RER_OK && watcher.type == NULL ? Py_NewRef(Py_None) : watcher_raise(&watcher, &error);
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

static PyObject *read_labels(PyObject *object, PyObject *args)
{
    const rer_dataset *data = ((dataset_object *)object)->data;
    const char *path;
    rer_error error = {0};
    if (!PyArg_ParseTuple(args, "s", &path))
        return NULL;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, rer_dataset_rows(data) * (Py_ssize_t)sizeof(int32_t));
    if (bytes == NULL)
        return NULL;
    if (rer_dataset_read_labels((int32_t *)(void *)PyBytes_AsString(bytes), data, path, &error) == RER_OK)
        return bytes;
    Py_DECREF(bytes);
    return raise_error(&error);
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
    {"set_texts", set_texts_of_rows, METH_O, "set_texts(texts)\n--\n\nOne text for each row, for the report."},
    {"open_texts", open_texts, METH_VARARGS, "open_texts(path)\n--\n\nThe same from a file."},
    {"set_images", set_images, METH_O, "set_images(images)\n--\n\nOne picture for each row, for the report."},
    {"open_images", open_images, METH_VARARGS, "open_images(path)\n--\n\nThe same from files."},
    {"set_pred_probs", set_pred_probs, METH_O, "set_pred_probs(array)\n--\n\nProbabilities [N, C] to be pooled."},
    {"set_subsets", set_subsets, METH_O, "set_subsets(array)\n--\n\nThe group of each row, for the details."},
    {"set_groups", set_groups, METH_O, "set_groups(array)\n--\n\nRows left out together; None: near-duplicates."},
    {"set_class_embeddings", set_class_embeddings, METH_O, "set_class_embeddings(array)\n--\n\nOne [C, D] a class."},
    {"cluster", cluster, METH_VARARGS, "cluster(options, progress)\n--\n\nMakes the labels by k-means."},
    {"class_names", class_names, METH_NOARGS, "class_names()\n--\n\nNames of the classes, in their order."},
    {"codes", codes, METH_NOARGS, "codes()\n--\n\nClass of each row, int32, as bytes."},
    {"read_labels", read_labels, METH_VARARGS, "read_labels(path)\n--\n\nA file's labels as classes of these."},
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
