/* How the time of an analysis is spread over its stages, foreseen from the shape of the data. */
#pragma once

#include "core/core.h"

enum { RER_PACE_STAGES = 9 };

typedef struct rer_pace {
    double time[RER_PACE_STAGES + 1]; /* share of the time at the end of each stage, 0 first */
} rer_pace;

rer_pace rer_pace_of(int64_t N, int64_t D, int32_t C, bool looks_again);
/* The share of the time that has passed where stages say that `done` of the work is. */
double rer_pace_at(const rer_pace *pace, double done);
