/* Errors of all rows under all classes, reduced as they are made to O(N) numbers and a few sums. */
#pragma once

#include "backend/device.h"
#include "run/passes.h"
#include "score/reduce.h"

/* Opens a file for the errors of all rows, a Fortran-order .npy [C, N] of float32; the caller
 * commits it when all else has gone well. */
rer_status rer_errors_open(rer_output *errors, const char *path, int32_t C, int64_t N, rer_error *error);

/* The pass over the rows that are here: fills those of the scores that are wanted; all errors go to `errors` as well,
 * unless it is NULL. */
rer_status rer_score_here(rer_scores *scores, rer_ratio_sums *sums, const rer_model *model, const rer_run *run,
                          bool left_out, rer_output *errors, rer_error *error);
/* The same with the sums of each block, [blocks]. */
rer_status rer_score_blocks(rer_scores *scores, rer_ratio_sums *blocks, const rer_model *model, const rer_run *run,
                            bool left_out, rer_error *error);

/* Rows whose errors were reduced elsewhere (backend/device.h). */
typedef struct rer_score_stretch {
    int64_t first, count; /* the first is a multiple of RER_BLOCK */
    const rer_reduced_row *rows;
    double from, to; /* the stretch's part of the whole progress */
} rer_score_stretch;
/* The same from these; rows that lost digits are computed here. No evidence but the errors, and none of `flipped`. */
rer_status rer_score_reduced(rer_scores *scores, rer_ratio_sums *sums, const rer_score_stretch *stretch,
                             const rer_model *model, const rer_run *run, bool left_out, rer_error *error);

extern const rer_passes rer_passes_here;
