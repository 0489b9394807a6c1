/* Inference by OpenVINO's C interface, loaded when a model is opened: nothing of it is needed to build or to run what
 * has no model. */
#pragma once

#include "embed/tokenizer.h"

typedef struct rer_engine rer_engine;

typedef struct rer_engine_settings {
    const char *file;           /* .onnx, or .xml with its .bin beside it */
    bool of_texts;              /* tokens go in, and no pictures */
    int64_t batch, size[2];     /* rows at once; height and width of pictures */
    const char *const *outputs; /* names, up to a NULL: the first that it has is taken, or else its first output */
    bool must_have;             /* the first name, or nothing */
    int32_t threads;            /* that run at once, one core each */
} rer_engine_settings;

/* Reads and compiles the model, for input float [batch, 3, height, width], or tokens. A model that takes both (CLIP's two
 * towers) gets one empty piece of what is not asked for. */
rer_status rer_engine_open(rer_engine **engine, const rer_engine_settings *settings, rer_error *error);
void rer_engine_free(rer_engine *engine);
int64_t rer_engine_batch(const rer_engine *engine); /* what was asked for, or what the model insists on */
const char *rer_engine_output(const rer_engine *engine);

/* A place to run at: one for each thread at a time. */
typedef struct rer_engine_seat {
    void *request;
    float *input; /* of pictures: [batch, 3, height, width] to be filled */
    struct rer_engine_seat *next;
} rer_engine_seat;

typedef struct rer_engine_result {
    const float *data; /* until the seat runs again */
    int64_t rank, shape[4];
} rer_engine_result;

rer_status rer_engine_sit(rer_engine_seat **seat, rer_engine *engine, rer_error *error);
void rer_engine_rise(rer_engine *engine, rer_engine_seat *seat); /* NULL is fine */
/* `tokens`: of a whole batch of texts; NULL: the pictures of the seat. */
rer_status rer_engine_run(rer_engine_result *result, const rer_engine *engine, rer_engine_seat *seat,
                          const rer_tokens *tokens, rer_error *error);
