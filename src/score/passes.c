/* The passes over rows that are here. */
#include "fit/moments.h"
#include "score/near_rows.h"
#include "score/score.h"

const rer_passes rer_passes_here = {
    .class_sums = rer_class_sums_add,
    .scatter = rer_scatter_add,
    .score = rer_score_here,
    .near = rer_near_here,
    .reads_rows = true,
};
