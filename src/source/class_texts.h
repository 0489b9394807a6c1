/* Embeddings of classes from their names, by the encoder that the rows have. */
#pragma once

#include "embed/encoder.h"
#include "source/dataset.h"

/* Each name in place of {} in the template (NULL: "a photo of a {}") -> *made [names, *columns]; free() it. */
rer_status rer_class_texts_describe(float **made, int64_t *columns, const rer_texts *names, const char *template,
                                    const rer_encoder_settings *settings, rer_error *error);
/* Whether what files say of classes goes together: asked before the rows are made, which may take hours. */
rer_status rer_class_texts_check(const rer_files *files, rer_error *error);
/* The embeddings of the classes of a data set, as its files say. */
rer_status rer_class_texts_take(rer_dataset *data, const rer_files *files, const rer_options *options,
                                rer_error *error);
