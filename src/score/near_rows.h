/* The rows nearest to some rows, class by class: exact, streamed, O(rows asked for) memory. See near_rows.c. */
#pragma once

#include "core/neighbor.h"
#include "run/run.h"

#define RER_NEAR 3                  /* rows of a class whose mean squared distance is its local evidence */
#define RER_NEAR_KEPT RER_NEAR_ROWS /* rows of a class that are kept, to be shown */

/* Rows, centred and of unit length, and the classes that each is compared with. */
typedef struct rer_near {
    int64_t count, D;
    int32_t slots;
    int64_t *row;       /* [count] ascending, places in the whole data */
    float *x;           /* [count, D] */
    int32_t *class;     /* [count, slots] -1: none */
    rer_neighbor *list; /* [count, slots, RER_NEAR_KEPT] nearest first, squared distances; INFINITY: none */
    float *trusted;     /* [count, slots, RER_NEAR] squared distances of rows that are not doubted, INFINITY: none */
} rer_near;

/* Who may be near: the labelled rows of a run, of large classes a share. */
typedef struct rer_witnesses {
    const rer_normalizer *normalizer;
    const double *center;   /* [D] of the normalised rows */
    const float *share;     /* [C] of each class's rows */
    const uint8_t *doubted; /* [N] rows whose own label is doubted */
    int64_t seed;
} rer_witnesses;

rer_status rer_near_make(rer_near *near, int64_t count, int32_t slots, int64_t D, rer_error *error);
/* Room for what is found alone; count, slots and D are set. */
rer_status rer_near_make_lists(rer_near *near, rer_error *error);
void rer_near_free(rer_near *near);
/* unit [D] = (scale x - center) / its length; 0 for a row at the center. */
void rer_near_unit(float *unit, const float *x, double scale, const double *center, int64_t D,
                   const rer_kernels *kernels);

/* Fills list and trusted from the rows of a run, wherever they are. */
rer_status rer_near_search(rer_near *near, const rer_witnesses *witnesses, const rer_run *run, rer_error *error);
/* The search among the rows that are here, into lists that are made ready. */
rer_status rer_near_here(rer_near *near, const rer_witnesses *witnesses, const rer_run *run, rer_error *error);
/* What such a search goes by: asked [count slots] places query * slots + slot by class, start [C + 1] where each class's
 * begin; and whether a row may be near. */
void rer_near_list_asked(int64_t *start, int64_t *asked, const rer_near *near, int32_t C);
bool rer_near_is_witness(const rer_witnesses *witnesses, const rer_run *run, int64_t row);
/* Keeps a squared distance in a list [RER_NEAR], nearest first. */
static inline void rer_near_keep(float *list, float distance)
{
    int at = RER_NEAR - 1;
    if (!(distance < list[at]))
        return;
    for (; at > 0 && distance < list[at - 1]; at--)
        list[at] = list[at - 1];
    list[at] = distance;
}
/* Takes what was found elsewhere in. */
void rer_near_merge(rer_near *near, const rer_neighbor *list, const float *trusted);
