/* Named arrays and numbers in a safetensors file: 8 bytes of header length, a JSON header, then
 * the data. Saved models are these. */
#ifndef RER_TENSORS_H
#define RER_TENSORS_H

#include "core/core.h"

typedef struct rer_tensors rer_tensors;

rer_status rer_tensors_make(rer_tensors **tensors, rer_error *error);
void rer_tensors_free(rer_tensors *tensors);

/* Writing: the data is not copied and must stay until the file is written. */
rer_status rer_tensors_add(rer_tensors *tensors, const char *name, rer_dtype dtype, int32_t rank, const int64_t *shape,
                           const void *data, rer_error *error);
rer_status rer_tensors_set_text(rer_tensors *tensors, const char *key, const char *value, rer_error *error);
rer_status rer_tensors_set_number(rer_tensors *tensors, const char *key, double value, rer_error *error);
rer_status rer_tensors_write(const rer_tensors *tensors, const char *path, rer_error *error);
/* The same bytes in memory; free() them. */
rer_status rer_tensors_pack(const rer_tensors *tensors, void **bytes, int64_t *size, rer_error *error);

/* Reading: every size is checked against the file's length. */
rer_status rer_tensors_read(rer_tensors **tensors, const char *path, rer_error *error);
/* The same from memory, which must stay; `name` is for messages. */
rer_status rer_tensors_unpack(rer_tensors **tensors, const void *bytes, int64_t size, const char *name,
                              rer_error *error);
/* Rank and shape [RER_TENSOR_RANK_MAX] of an array. */
#define RER_TENSOR_RANK_MAX 4
rer_status rer_tensors_shape(const rer_tensors *tensors, const char *name, int32_t *rank, int64_t *shape,
                             rer_error *error);
/* *out (a pointer) gets a fresh copy of an array that must have this type and shape; free() it. */
rer_status rer_tensors_copy(const rer_tensors *tensors, const char *name, rer_dtype dtype, int32_t rank,
                            const int64_t *shape, void *out, rer_error *error);
bool rer_tensors_has(const rer_tensors *tensors, const char *name);
/* NULL where the key is missing. */
const char *rer_tensors_text(const rer_tensors *tensors, const char *key);
rer_status rer_tensors_number(const rer_tensors *tensors, const char *key, double *value, rer_error *error);

#endif
