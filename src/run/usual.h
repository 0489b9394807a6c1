/* What is usual of rows that have a class: found among those of an analysis (judge/usual.c), by which rows are said to
 * fit no class (judge/outliers.c), those and new ones. */
#pragma once

#include "core/tensors.h"

typedef struct rer_usual {
    int32_t C;
    double *center, *spread; /* [C] of the log error of a class's own rows */
    double tail;             /* margins above it are the last of all */
    int64_t n_removed;
    float *removed; /* [n_removed] ascending: margins that rows have without their best class */
} rer_usual;

void rer_usual_free(rer_usual *usual);
/* As named arrays, NULL: too few rows to say. A failure to read them stays there. */
void rer_usual_put(rer_tensors *tensors, const rer_usual *usual);
rer_status rer_usual_get(rer_usual **usual, rer_tensors *tensors, int32_t C, rer_error *error);
