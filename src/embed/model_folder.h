/* A model as people have it: a folder in the layout of Hugging Face, or a file by itself. */
#pragma once

#include "embed/encoder.h"

typedef struct rer_model_folder {
    char *file; /* .xml or .onnx */
    rer_recipe recipe;
    const char *outputs[4]; /* names that its features may have, the best first, up to a NULL */
    bool first_token;       /* of features of patches [batch, tokens, D]: the first is the picture's; else their mean */
    uint64_t checksum;      /* of the file, and of its .bin */
} rer_model_folder;

rer_status rer_model_folder_open(rer_model_folder *folder, const rer_encoder_settings *settings, rer_error *error);
void rer_model_folder_close(rer_model_folder *folder);
