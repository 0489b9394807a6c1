/* Rows that are left out together: copies of one picture, frames of one video. */
#pragma once

#include "fit/moments.h"

/* A cell is a group's rows of one class; cells of a group follow each other. Rows of groups with one
 * labelled row have none. */
typedef struct rer_groups {
    int64_t cells;
    int32_t *cell;   /* [N] of each row, -1: it is left out alone */
    int32_t *group;  /* [cells] ascending */
    int32_t *code;   /* [cells] class, ascending within a group */
    int64_t *rows;   /* [cells] */
    float *residual; /* [cells, D] mean of the rows less that of the class */
    int64_t *usable; /* [C] rows of each class, 1 where they are all of one group: nothing is left to judge by */
    int32_t n_whole; /* classes of two and more rows that are one group */
} rer_groups;

/* From run->groups, for the rows that the moments are of. */
rer_status rer_groups_make(rer_groups **groups, const rer_class_moments *moments, const rer_normalizer *normalizer,
                           const rer_run *run, rer_error *error);
void rer_groups_free(rer_groups *groups);
