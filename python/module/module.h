/* The extension module rer._rer: librer for the Python code beside it. Four objects (Dataset,
 * Model, Result, Study) own one pointer of the library each; calls give the lock of the interpreter up
 * while the library works. Only the stable interface of Python 3.11 is used (abi3), which
 * free-threaded builds do not have: for those it is compiled for one version. Objects of ours are filled where they are
 * made, and only read afterwards: no lock is needed. */
#pragma once

#include <pyconfig.h> /* Py_GIL_DISABLED */

#define PY_SSIZE_T_CLEAN
#ifndef Py_GIL_DISABLED
#define Py_LIMITED_API 0x030B0000
#endif
#include <Python.h>

#include <rer_studies.h>

#include <stddef.h>

typedef struct module_state {
    PyTypeObject *dataset, *model, *result, *study;
} module_state;

/* Progress and interrupts while the library works without the interpreter's lock. */
typedef struct call_watcher {
    PyObject *callable;                 /* progress(stage, fraction), or NULL */
    PyObject *type, *value, *traceback; /* what it raised, or the signal handlers did */
} call_watcher;

typedef struct dataset_object {
    PyObject_HEAD rer_dataset *data;
    /* Held as long as the data set points into them; obj NULL for files, and where there are none. */
    Py_buffer features, pred_probs, images;
    void *tensor;       /* of another library, on a card, that the features are in; NULL: none */
    PyObject *ask;      /* ask(task, merge) -> answers, for rows that lie elsewhere; else NULL */
    call_watcher asked; /* what it raised */
} dataset_object;

typedef struct model_object {
    PyObject_HEAD const rer_model *model;
    PyObject *owner; /* the result that it belongs to, or NULL: then it is ours */
} model_object;

typedef struct result_object {
    PyObject_HEAD rer_result *result;
    PyObject *data; /* dataset_object that it was made from: its pictures, ids, checksums */
} result_object;

/* Sets the Python exception for an error of the library; returns NULL. */
PyObject *raise_error(const rer_error *error);

/* A dict of texts {"shrinkage": "auto"} -> options, to be freed; NULL and an exception where one is wrong. */
rer_options *read_options(PyObject *dict);

/* A view of a C-contiguous buffer; release `buffer` when done with it. -1 and an exception where the
 * dtype is none of ours. */
int view_buffer(rer_view *view, Py_buffer *buffer, PyObject *object, const char *what);

bool watcher_report(void *context, const char *stage, double fraction);
/* Ends a call: raises what the watcher caught, else the library's error; returns NULL. */
PyObject *watcher_raise(call_watcher *watcher, const rer_error *error);

/* Texts of a sequence of str: an array to PyMem_Free, whose items live as long as `*keep`. */
const char **read_texts(PyObject *sequence, Py_ssize_t *count, PyObject **keep);

/* A new object of the type at this offset of module_state. */
void *make_object(PyObject *module, size_t type_offset);

extern PyType_Spec dataset_spec, model_spec, result_spec, study_spec;
PyObject *open_dataset(PyObject *module, PyObject *args);
PyObject *wrap_dataset(PyObject *module, PyObject *args);
PyObject *apart_dataset(PyObject *module, PyObject *args);
PyObject *part_answer(PyObject *module, PyObject *args);
PyObject *part_merge(PyObject *module, PyObject *args);
PyObject *load_model(PyObject *module, PyObject *args);
PyObject *unpack_model(PyObject *module, PyObject *args);
PyObject *model_pack(PyObject *object, PyObject *args);
/* A model of our own, freed where that fails. */
PyObject *wrap_model(PyObject *module, rer_model *model);
PyObject *analyze(PyObject *module, PyObject *args);
PyObject *score(PyObject *module, PyObject *args);
PyObject *scale(PyObject *module, PyObject *args);
PyObject *bench(PyObject *module, PyObject *args);
PyObject *compare(PyObject *module, PyObject *args);
PyObject *plant_noise(PyObject *module, PyObject *args);
PyObject *apply(PyObject *module, PyObject *args);
PyObject *embed(PyObject *module, PyObject *args);
