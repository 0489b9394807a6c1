/* Named arrays and numbers in a safetensors file: 8 bytes of header length, a JSON header, then
 * the data. Saved models are these.
 *
 * The first failure sticks, from making or opening on: later calls do nothing and reads give NULL or 0. It is told
 * by rer_tensors_status, or by writing and packing, so that a run of calls needs one check: before what was read is
 * used. NULL stands for tensors that there was no memory for. */
#pragma once

#include "core/core.h"

typedef struct rer_tensors rer_tensors;

/* A shape as the arguments rank, shape: RER_SHAPE(C, D). */
#define RER_SHAPE(...) RER_COUNT(((int64_t[]){__VA_ARGS__})), ((int64_t[]){__VA_ARGS__})

rer_tensors *rer_tensors_make(void);
/* The sizes of whatever is read are checked against the file's length. */
rer_tensors *rer_tensors_read(const char *path);
/* The same from memory, which must stay; `name` is for messages. */
rer_tensors *rer_tensors_unpack(const void *bytes, int64_t size, const char *name);
void rer_tensors_free(rer_tensors *tensors);

rer_status rer_tensors_status(const rer_tensors *tensors, rer_error *error);
/* What was read is of no use (RER_BAD_INPUT): "<file>: <message>". */
void rer_tensors_fail(rer_tensors *tensors, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writing: the data is not copied and must stay until the file is written. */
void rer_tensors_add(rer_tensors *tensors, const char *name, rer_dtype dtype, int32_t rank, const int64_t *shape,
                     const void *data);
void rer_tensors_set_text(rer_tensors *tensors, const char *key, const char *value);
void rer_tensors_set_number(rer_tensors *tensors, const char *key, double value);
rer_status rer_tensors_write(const rer_tensors *tensors, const char *path, rer_error *error);
/* The same bytes in memory; free() them. */
rer_status rer_tensors_pack(const rer_tensors *tensors, void **bytes, int64_t *size, rer_error *error);

/* Reading. Shape [RER_TENSOR_RANK_MAX] of an array, zeros past its rank, which is returned. */
#define RER_TENSOR_RANK_MAX 4
int32_t rer_tensors_shape(rer_tensors *tensors, const char *name, int64_t *shape);
/* A fresh copy of an array that must have this type and shape; free() it. */
void *rer_tensors_copy(rer_tensors *tensors, const char *name, rer_dtype dtype, int32_t rank, const int64_t *shape);
bool rer_tensors_has(const rer_tensors *tensors, const char *name);
/* NULL where the key is missing, which is no failure. */
const char *rer_tensors_text(const rer_tensors *tensors, const char *key);
double rer_tensors_number(rer_tensors *tensors, const char *key);
