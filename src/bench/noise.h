/* Wrong labels on purpose, as classes: see rer_noise_plant in rer.h. */
#ifndef RER_NOISE_H
#define RER_NOISE_H

#include "source/labels.h"

/* The labels of a file in any form; rows of a table start after its header where that makes `expected`
 * of them (negative: unknown). `array` and `texts` keep the labels as they were written, one of the two.
 * Free all three with rer_label_file_free. */
typedef struct rer_label_file {
    rer_labels labels;
    rer_array array; /* name NULL where the labels are texts of a table */
    rer_texts texts;
} rer_label_file;

rer_status rer_label_file_open(rer_label_file *file, const char *path, const char *column, int64_t expected,
                               rer_error *error);
void rer_label_file_free(rer_label_file *file);

/* target [N]: the labels of the file `path` as classes of `labels`, whose N rows it must have. A label
 * that `labels` does not have is an error. */
rer_status rer_noise_other_labels(int32_t *target, const rer_labels *labels, const char *path, const char *column,
                                  rer_error *error);

#endif
