/* Whether features are in units of their own. */
#pragma once

#include "run/units.h"

/* The units of a run's features; NULL where its rows are directions, as embeddings are, or must be taken as they are. */
rer_status rer_units_find(rer_units **units, const rer_run *run, rer_error *error);
