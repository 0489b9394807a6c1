/* Errors of all rows under all classes, reduced as they are made to O(N) numbers and a few sums. */
#ifndef RER_SCORE_H
#define RER_SCORE_H

#include "core/output.h"
#include "fit/model.h"
#include "score/reduce.h"

/* Opens a file for the errors of all rows, a Fortran-order .npy [C, N] of float32; the caller
 * commits it when all else has gone well. */
rer_status rer_errors_open(rer_output *errors, const char *path, int32_t C, int64_t N, rer_error *error);

/* Fills run->result's own, other, suggested and, for rows without a label, logit [N], and margin and
 * removed [N]; all errors go
 * to `errors` as well, unless it is NULL. */
rer_status rer_score_rows(rer_ratio_sums *sums, const rer_model *model, const rer_run *run, bool left_out,
                          rer_output *errors, rer_error *error);

/* The same with the sums of each block, [blocks]. */
rer_status rer_score_blocks(rer_ratio_sums *blocks, const rer_model *model, const rer_run *run, bool left_out,
                            rer_error *error);

#endif
