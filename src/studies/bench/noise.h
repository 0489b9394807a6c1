/* Wrong labels on purpose, as classes: see rer_noise_plant in rer.h. */
#pragma once

#include "labels/label_file.h"
#include "core/options.h"

/* target [N]: the labels of the file `path` as classes of `labels`, whose N rows it must have. A label
 * that `labels` does not have is an error. */
rer_status rer_noise_other_labels(int32_t *target, const rer_labels *labels, const char *path, const char *column,
                                  rer_error *error);
