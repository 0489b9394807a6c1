/* A model as people have it: a folder in the layout of Hugging Face, or a file by itself. */
#pragma once

#include "embed/encoder.h"
#include "embed/tokenizer.h"

/* What features of patches or tokens [batch, tokens, D] become. */
typedef enum rer_pooling { RER_POOL_MEAN, RER_POOL_FIRST, RER_POOL_LAST, RER_POOL_MAX } rer_pooling;

typedef struct rer_model_folder {
    char *file; /* .xml or .onnx */
    rer_recipe recipe;
    const char *outputs[4]; /* names that its features may have, the best first, up to a NULL */
    rer_pooling pooling;
    bool is_normalized;      /* rows are to be of unit length */
    char *tokenizer;         /* of texts: openvino_tokenizer.xml */
    rer_token_limits limits; /* of texts */
    uint64_t checksum;       /* of the files */
} rer_model_folder;

rer_status rer_model_folder_open(rer_model_folder *folder, const rer_encoder_settings *settings, rer_error *error);
void rer_model_folder_close(rer_model_folder *folder);
