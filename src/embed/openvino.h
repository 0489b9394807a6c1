/* The part of OpenVINO's C interface that is used, declared anew: no header of it is needed. */
#pragma once

#include "core/core.h"

typedef struct ov_shape {
    int64_t rank, *dims;
} ov_shape;
typedef struct ov_dimension {
    int64_t min, max; /* the same where it is fixed */
} ov_dimension;
typedef struct ov_partial_shape {
    ov_dimension rank;
    ov_dimension *dims;
} ov_partial_shape;

/* result, name, arguments; a status of 0 is success. Objects are opaque. */
#define OPENVINO_FUNCTIONS(X)                                                                                          \
    X(const char *, ov_get_last_err_msg, (void))                                                                       \
    X(void, ov_free, (const char *text))                                                                               \
    X(int, ov_core_create, (void **core))                                                                              \
    X(void, ov_core_free, (void *core))                                                                                \
    X(int, ov_core_add_extension, (const void *core, const char *file))                                                \
    X(int, ov_core_read_model, (const void *core, const char *file, const char *weights, void **model))                \
    X(int, ov_core_compile_model,                                                                                      \
      (const void *core, const void *model, const char *device, size_t properties, void **compiled, ...))              \
    X(void, ov_model_free, (void *model))                                                                              \
    X(int, ov_model_inputs_size, (const void *model, size_t *count))                                                   \
    X(int, ov_model_const_input_by_index, (const void *model, size_t index, void **port))                              \
    X(int, ov_model_const_output_by_index, (const void *model, size_t index, void **port))                             \
    X(int, ov_model_const_output_by_name, (const void *model, const char *name, void **port))                          \
    X(int, ov_model_reshape_by_port_indexes,                                                                           \
      (const void *model, const size_t *indexes, const ov_partial_shape *shapes, size_t count))                        \
    X(int, ov_port_get_any_name, (const void *port, char **name))                                                      \
    X(int, ov_port_get_partial_shape, (const void *port, ov_partial_shape *shape))                                     \
    X(int, ov_port_get_element_type, (const void *port, int *type))                                                    \
    X(void, ov_output_const_port_free, (void *port))                                                                   \
    X(int, ov_partial_shape_create_static, (int64_t rank, const int64_t *dims, ov_partial_shape *shape))               \
    X(void, ov_partial_shape_free, (ov_partial_shape * shape))                                                         \
    X(void, ov_compiled_model_free, (void *compiled))                                                                  \
    X(int, ov_compiled_model_create_infer_request, (const void *compiled, void **request))                             \
    X(void, ov_infer_request_free, (void *request))                                                                    \
    X(int, ov_infer_request_get_input_tensor_by_index, (const void *request, size_t index, void **tensor))             \
    X(int, ov_infer_request_get_tensor, (const void *request, const char *name, void **tensor))                        \
    X(int, ov_infer_request_set_input_tensor_by_index, (void *request, size_t index, const void *tensor))              \
    X(int, ov_infer_request_infer, (void *request))                                                                    \
    X(int, ov_tensor_create, (int type, ov_shape shape, void **tensor))                                                \
    X(int, ov_tensor_create_from_string_array,                                                                         \
      (const char *const *texts, size_t count, ov_shape shape, void **tensor))                                         \
    X(int, ov_tensor_get_shape, (const void *tensor, ov_shape *shape))                                                 \
    X(int, ov_tensor_get_element_type, (const void *tensor, int *type))                                                \
    X(int, ov_tensor_get_byte_size, (const void *tensor, size_t *bytes))                                               \
    X(int, ov_tensor_data, (const void *tensor, void **data))                                                          \
    X(void, ov_tensor_free, (void *tensor))                                                                            \
    X(int, ov_shape_create, (int64_t rank, const int64_t *dims, ov_shape *shape))                                      \
    X(int, ov_shape_free, (ov_shape * shape))

typedef struct openvino {
    void *library;
#define MEMBER(result, name, arguments) result(*name) arguments; /* NOLINT(bugprone-macro-parentheses) */
    OPENVINO_FUNCTIONS(MEMBER)
#undef MEMBER
    int float32; /* its number, which differs between versions */
} openvino;

/* The library stays loaded: its threads outlive what is closed. */
rer_status rer_openvino_load(openvino *ov, rer_error *error);
/* What it says of a call that failed, where the result is not 0. `name` is the file that it was about. */
rer_status rer_openvino_check(const openvino *ov, int result, const char *name, const char *what, rer_error *error);
/* The library with the operations of tokenizers, from the package openvino-tokenizers beside it; free() it. */
rer_status rer_openvino_tokenizers(char **path, const openvino *ov, rer_error *error);
