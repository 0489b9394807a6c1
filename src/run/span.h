/* Rows in coordinates of the space that they span, where they are few and wide. All that whitening, distances and
 * lengths say is the same there, in N dimensions instead of D. */
#ifndef RER_SPAN_H
#define RER_SPAN_H

#include "run/run.h"

typedef struct rer_span {
    int64_t rank, D;
    float *basis; /* [rank, D] orthonormal rows */
} rer_span;

/* Whether that pays: half as many rows as features, or fewer. */
bool rer_span_pays(const rer_dataset *data);
/* The span of the data set's rows; NULL where they have none, or a row that is to be refused by who reads it. */
rer_status rer_span_make(rer_span **span, const rer_run *run, rer_error *error);
rer_span *rer_span_wrap(int64_t rank, int64_t D, float *basis); /* takes the basis; NULL: no memory */
void rer_span_free(rer_span *span);

/* From now on the run's rows are [N, rank + 1]: their coordinates, and last how long the part of a row is that lies
 * outside; 0 for the rows that the span was made of (`within`). */
rer_status rer_span_enter(rer_run *run, const rer_span *span, bool within, rer_error *error);

#endif
