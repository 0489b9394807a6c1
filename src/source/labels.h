/* Labels as the user wrote them -> class numbers 0..C-1, in sorted order (integers by value, texts
 * by bytes). No label: an empty text, or -1 where it is the only negative integer and at least two
 * other labels are there, unless they are 0 and 1 (so that -1 and 1, and -1, 0 and 1, are classes). */
#pragma once

#include "source/array.h"

typedef struct rer_labels {
    char *source; /* the file they come from, for messages; may be NULL */
    int64_t N;
    int32_t C;
    int32_t *codes;       /* [N], -1: no label */
    rer_texts names;      /* [C] */
    rer_texts values;     /* [C] as in the file, where other names were given; else count 0 */
    bool drops_minus_one; /* -1 was there and meant: no label */
} rer_labels;

/* How a class is written in the file of labels. */
const char *rer_labels_value(const rer_labels *labels, int32_t c);
/* Of all class numbers and values: the same labels have the same sum in whatever file they come, and
 * whatever their classes are called. */
uint64_t rer_labels_checksum(const rer_labels *labels);

rer_status rer_labels_from_array(rer_labels *labels, const rer_array *array, rer_error *error);
rer_status rer_labels_from_texts(rer_labels *labels, const rer_texts *texts, rer_error *error);
/* Replaces the names by those of a file of C lines. */
rer_status rer_labels_rename(rer_labels *labels, const char *path, rer_error *error);
/* map [labels->C] becomes the place of each class among `names` [C], -1 where it is not there. */
rer_status rer_labels_match(int32_t *map, const rer_labels *labels, char *const *names, int32_t C, rer_error *error);
rer_status rer_labels_set_names(rer_labels *labels, const char *const *names, int64_t count, rer_error *error);
void rer_labels_free(rer_labels *labels);
