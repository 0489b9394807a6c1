/* The wrong class that a classifier finds most probable, for noise of the kind RER_NOISE_CONFIDENCE. */
#pragma once

#include "detect/detect.h"

/* likely [N]: of the labels that the detection has, by cross-validated logistic regression fitted to
 * them; -1 for rows without a label. */
rer_status rer_noise_likely(int32_t *likely, rer_detection *detection, rer_error *error);

/* The same for features of a file: codes [N], classes. */
rer_status rer_noise_likely_of_file(int32_t *likely, const char *features, const int32_t *codes, int64_t N,
                                    const rer_options *options, const rer_progress *progress, rer_error *error);
