/* Exact nearest neighbours of every row among the labelled ones, by cosine. */
#pragma once

#include "core/neighbor.h"
#include "run/passes.h"

typedef struct rer_neighbors {
    rer_neighbor *list; /* [N, RER_LISTED] nearest first, index -1 past the last; the distance is
                         * |a - b|^2 of rows of unit length, 2 - 2 cos. NULL: not searched yet */
    uint8_t *among;     /* [N] rows that were searched among */
} rer_neighbors;

/* Rows with a label (and without NaN or Inf) are searched among; a row is no neighbour of itself. */
rer_status rer_neighbors_find(rer_neighbors *neighbors, const rer_run *run, rer_error *error);
/* Whether the rows that have a label are still those that were searched among. */
bool rer_neighbors_hold(const rer_neighbors *neighbors, const rer_run *run);
void rer_neighbors_free(rer_neighbors *neighbors);
