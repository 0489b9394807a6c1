/* What rer_scale leaves: points, laws, notes. */
#pragma once

#include "core/core.h"
#include "core/notes.h"
#include "core/options.h"

#define RER_SCALE_POINTS_MAX 17 /* 16 sizes and the whole data */

struct rer_scaling {
    rer_options options;
    char *name; /* of the features' file; NULL: from memory */
    int64_t N, D, labelled;
    double shrinkage; /* NaN where it plays no part */
    int32_t C;
    int count;
    rer_scale_point points[RER_SCALE_POINTS_MAX];
    rer_scale_law laws[RER_MEASURES];
    rer_notes notes;
    double seconds, seconds_whole; /* of everything; of the analysis of all rows alone */
};
