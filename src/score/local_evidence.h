/* What the rows beside a row say of its classes, and what that is worth. */
#pragma once

#include "channel/calibrate.h"
#include "score/near_rows.h"

#define RER_LOOK_CLASSES 16 /* that a row is compared with, at most, its own with them */

/* L of a place of the lists: by witnesses that are not doubted or, where there is none or no doubt, by all; NaN where the
 * class has no row but this one. */
float rer_local_at(const rer_near *near, int64_t place);
/* local [classes] of one row, from class `first` on: classes that were not compared are as far as the farthest that was. */
void rer_local_fill(float *local, const rer_near *near, int64_t query, int32_t first, int32_t classes);

/* Found from the rows that calibrate: */
typedef struct rer_local_worth {
    rer_channel channel; /* with both kinds of evidence, */
    float *typical;      /* [C] and local evidence of a row of the class, in the median; NaN: unknown */
} rer_local_worth;

/* row [near->count]: the rows of the lists, those that calibrate among them. by_rules: some witnesses are doubted because of
 * rules that the model's channel knows; they are heard all the same, near->trusted NULL, where that explains the labels better. Free
 * what is made with rer_local_worth_free, on failure too. */
rer_status rer_local_weigh(rer_local_worth *worth, rer_near *near, const int64_t *row, bool by_rules,
                           const rer_calibration *calibration, const rer_model *model, const rer_run *run,
                           rer_error *error);
/* Passes over the rows that calibrate which that takes, more or less. */
double rer_local_usual_passes(int32_t C, bool by_rules);
void rer_local_worth_free(rer_local_worth *worth);
