/* The passes over all rows of a run. Where rows lie is their business alone: here (rer_passes_here, score/passes.c), or
 * in parts on other machines (rer_passes_apart, parts/ask.c). */
#pragma once

#include "core/output.h"
#include "run/run.h"
#include "run/scores.h"

struct rer_class_sums;
struct rer_class_moments;
struct rer_row_sample;
struct rer_near;
struct rer_witnesses;

typedef struct rer_passes {
    /* Adds the rows' class sums (fit/moments.h); finds the invalid rows. */
    rer_status (*class_sums)(struct rer_class_sums *sums, const rer_normalizer *normalizer, const rer_run *run,
                             rer_error *error);
    /* Adds to scatter [D, D] (lower triangle), unless it is NULL, and fills the sample's rows. */
    rer_status (*scatter)(double *scatter, struct rer_row_sample *sample, const struct rer_class_moments *moments,
                          const rer_normalizer *normalizer, const rer_run *run, rer_error *error);
    /* Fills the scores; all errors go to `errors` as well, unless it is NULL (score/score.h). */
    rer_status (*score)(rer_scores *scores, rer_ratio_sums *sums, const rer_model *model, const rer_run *run,
                        bool left_out, rer_output *errors, rer_error *error);
    /* Fills the lists of the nearest rows (score/near_rows.h). */
    rer_status (*near)(struct rer_near *near, const struct rer_witnesses *witnesses, const rer_run *run,
                       rer_error *error);
    bool reads_rows; /* single rows can be read when they are needed; else they are fetched by `scatter` */
} rer_passes;
