/* Near-duplicates: groups of rows that point the same way to within a small angle. */
#pragma once

#include "run/result.h"
#include "run/run.h"

/* Fills the result's duplicate [N] and the summary's part: rows whose angle is below the option's are in
 * one group, and so are those that others join. Exact, and quadratic in N. */
rer_status rer_duplicates_find(rer_result *result, const rer_run *run, rer_error *error);
