/* Rows whose features are in units of their own (source/dataset.h), read as directions. */
#pragma once

#include "core/tensors.h"
#include "run/run.h"

rer_status rer_units_make(rer_units **units, int64_t D, rer_error *error); /* nothing in it yet */
void rer_units_free(rer_units *units);
/* As named arrays, units of D features, *units NULL: there are none. A failure to read them stays there. */
void rer_units_put(rer_tensors *tensors, const rer_units *units);
rer_status rer_units_get(rer_units **units, rer_tensors *tensors, int64_t D, rer_error *error);
/* From now on the run's rows are read in these units, which must stay. */
rer_status rer_units_enter(rer_run *run, const rer_units *units, rer_error *error);
/* The same run for methods of others, which take rows as they came; it ends with the first. */
rer_run rer_units_leave(const rer_run *run);
