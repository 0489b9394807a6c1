/* Percentile intervals of means by resampling. */
#pragma once

#include "core/core.h"

/* 95 % interval of the mean of values [n]; `key` tells the streams of different groups apart. NaN for
 * fewer than two. */
rer_status rer_bootstrap_mean(rer_interval *interval, const float *values, int64_t n, int64_t seed, uint64_t key,
                              rer_error *error);
