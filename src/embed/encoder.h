/* What turns prepared pictures, or texts, into features: the built-in descriptor (of pictures), or a model. */
#pragma once

#include "core/options.h"
#include "embed/recipe.h"

typedef struct rer_encoder rer_encoder;

/* What a caller may say about a model; NULL or 0: its folder or a preset says it. */
typedef struct rer_encoder_settings {
    const char *model;         /* folder or .onnx or .xml; NULL: the built-in descriptor */
    bool of_texts;             /* and not of pictures */
    const char *output;        /* name of the output that has the features */
    const char *mean, *spread; /* of red, green and blue, one number or three with commas between */
    int64_t side, crop;        /* pixels */
    int32_t filter;            /* rer_filter, -1: not said */
    int32_t preset;            /* rer_preset */
    int32_t threads;           /* that call rer_encoder_describe at once */
} rer_encoder_settings;

/* What the options say of it. */
rer_encoder_settings rer_encoder_settings_of(const rer_options *options);

rer_status rer_encoder_open(rer_encoder **encoder, const rer_encoder_settings *settings, rer_error *error);
void rer_encoder_free(rer_encoder *encoder);

/* What it makes of a picture; features of each; how many at once; a checksum of all that decides about the numbers. */
const rer_recipe *rer_encoder_recipe(const rer_encoder *encoder);
int64_t rer_encoder_columns(const rer_encoder *encoder);
int64_t rer_encoder_batch(const rer_encoder *encoder);
uint64_t rer_encoder_checksum(const rer_encoder *encoder);

/* rgb uint8 [count, height, width, 3] -> out float [count, columns]. There is room for a whole batch in both. Several
 * threads may call it. */
rer_status rer_encoder_describe(rer_encoder *encoder, const uint8_t *rgb, int64_t count, float *out, rer_error *error);
/* The same for texts, a batch at most. */
rer_status rer_encoder_describe_texts(rer_encoder *encoder, const char *const *texts, int64_t count, float *out,
                                      rer_error *error);
