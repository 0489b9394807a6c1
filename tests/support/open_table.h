/* A table by its path, as rer_dataset_open opens it. */
#pragma once

#include "source/formats.h"

static inline rer_status open_table(rer_array *array, rer_texts *labels, const char *path, const char *label_column,
                                    rer_error *error)
{
    rer_input input = RER_NO_INPUT;
    rer_status status = rer_input_open(&input, path, error);
    if (status == RER_OK && input.format != RER_TEXT)
        status = rer_fail(error, RER_BAD_INPUT, "%s: is no table", path);
    if (status == RER_OK)
        status = rer_input_table(array, labels, NULL, &input, label_column, NULL, NULL, error);
    rer_input_close(&input);
    return status;
}
