/* A second look at the rows that matter, against the rows next to them. See second_look.c. */
#pragma once

#include "channel/calibrate.h"
#include "run/result.h"
#include "score/near_rows.h"
#include "score/pace.h"

/* Fills result->looks, and improves logit and the suggestion of those rows. The rows were scored before. */
rer_status rer_second_look(rer_result *result, const rer_calibration *calibration, const rer_model *model,
                           const rer_run *run, rer_error *error);
/* How much that will be, as far as the shape of the data tells. */
rer_look_size rer_look_foreseen(const rer_run *run);
