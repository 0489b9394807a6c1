/* Errors of all rows under all classes, reduced as they are made to O(N) numbers and a few sums. */
#ifndef RER_SCORE_H
#define RER_SCORE_H

#include "fit/model.h"
#include "score/reduce.h"

/* Fills run->result's own, other, suggested and, for rows without a label, logit [N].
 * errors_path (or NULL): all errors go to a Fortran-order .npy [C, N] of float32 as well. */
rer_status rer_score_rows(rer_ratio_sums *sums, const rer_model *model, const rer_run *run, bool left_out,
                          const char *errors_path, rer_error *error);

#endif
