/* The file formats behind rer_array_open, one file each, and what they share. */
#pragma once

#include "source/labels.h"
#include "source/spool.h"

typedef enum rer_format { RER_NPY, RER_ZIP, RER_HDF5, RER_IDX, RER_TEXT } rer_format;

/* An opened file, before it is known what the caller wants from it. */
typedef struct rer_input {
    char *name;         /* as the user wrote it, "standard input" for "-" */
    char *file;         /* without the member */
    const char *member; /* part of `name` after the colon, or NULL */
    rer_bytes bytes;
    rer_format format;
} rer_input;

#define RER_NO_INPUT ((rer_input){.bytes = {.fd = -1}})

rer_status rer_input_open(rer_input *input, const char *path, rer_error *error);
rer_status rer_input_open_column(rer_input *input, const char *path, rer_error *error); /* table.csv:COLUMN too */
void rer_input_close(rer_input *input);
/* The array in any input that is no text; takes over the input's bytes. */
rer_status rer_input_array(rer_array *array, rer_input *input, rer_error *error);
/* The table of numbers in a text (CSV, TSV; header or not). With a label column (a name of the header, or a
 * 1-based number) that column goes to `labels` and the rest to `array` (float32 [N, D]; a value out of
 * its range becomes Inf); columns `left_out`, up to NULL, go nowhere. `columns` are the names of the header [D], none
 * without one. labels, columns, left_out: may be NULL. */
rer_status rer_input_table(rer_array *array, rer_texts *labels, rer_texts *columns, const rer_input *input,
                           const char *label_column, const char *const *left_out, const rer_progress *progress,
                           rer_error *error);
/* One text a row of any input: see rer_texts_open. */
rer_status rer_input_texts(rer_texts *texts, rer_input *input, const char *column, int64_t expected, rer_header *header,
                           rer_error *error);
/* One label a row. What they were made from is left in `texts` or `array`: free both. */
rer_status rer_input_labels(rer_labels *labels, rer_texts *texts, rer_array *array, rer_input *input,
                            const char *column, int64_t expected, rer_header *header, rer_error *error);

/* Each reads a header: dtype, order, shape and offset of the data within `bytes`. */
rer_status rer_npy_header(rer_array *array, const rer_bytes *bytes, rer_error *error);
rer_status rer_idx_header(rer_array *array, const rer_bytes *bytes, rer_error *error);
/* The bytes of one member of a zip file. Where it is stored uncompressed, that is a part of the input's
 * bytes, which it takes over. */
rer_status rer_npz_member(rer_bytes *member, rer_input *input, rer_error *error);
/* The data set `input->member` of an HDF5 file, in place where it is contiguous. */
rer_status rer_hdf5_open(rer_array *array, rer_bytes *data, rer_input *input, rer_error *error);

/* Whether the shape makes sense and the data fit into `available` bytes after the offset. */
rer_status rer_array_check(const rer_array *array, int64_t available, rer_error *error);
/* An open array over the data in `bytes`, which it takes over. */
void rer_array_take(rer_array *array, rer_bytes *bytes);

/* An array of the dtype and shape of `form` over all that was spooled. */
rer_status rer_array_from_spool(rer_array *array, const rer_array *form, rer_spool *spool, const char *name,
                                rer_error *error);
/* Rows of float32 x [N, D], borrowed and without a name; NULL: such a form. */
rer_array rer_float_rows(const float *x, int64_t N, int64_t D);

#define RER_SHAPE_TEXT 120
/* "(60000, 28, 28)" into a buffer of RER_SHAPE_TEXT bytes. */
const char *rer_shape_text(char *buffer, int32_t rank, const int64_t *shape);
const char *rer_dtype_name(rer_dtype dtype);
int32_t rer_dtype_size(rer_dtype dtype); /* bytes, 0 for texts */
