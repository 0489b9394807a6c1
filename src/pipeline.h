/* What everything that fits models from a data set begins with (analyze.c). */
#ifndef RER_PIPELINE_H
#define RER_PIPELINE_H

#include "fit/model.h"

/* Fails where the data set has no labels. */
rer_status rer_check_labelled(const rer_dataset *data, rer_error *error);
/* A result with room for N rows, nothing scored yet and no label given. */
rer_status rer_result_make(rer_result **result, int64_t N, int32_t C, const rer_options *options, rer_error *error);
/* The classes' names from `texts` or, where that is NULL, from `names`. */
rer_status rer_result_copy_names(rer_result *result, char *const *names, const rer_texts *texts, rer_error *error);
/* A model of the result's classes with its reconstructor and normalisation, ready to be fitted. */
rer_status rer_model_begin(rer_model **model, const rer_result *result, int64_t D, const rer_options *options,
                           rer_error *error);

#endif
