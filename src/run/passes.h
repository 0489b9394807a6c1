/* The passes over all rows of a run. Where rows lie is their business alone: here (rer_passes_here, score/passes.c), or
 * in parts on other machines (rer_passes_apart, parts/ask.c). */
#pragma once

#include "core/neighbor.h"
#include "core/output.h"
#include "run/run.h"
#include "run/scores.h"

struct rer_class_sums;
struct rer_class_moments;
struct rer_row_sample;
struct rer_near;
struct rer_witnesses;
struct rer_device_training;
struct rer_device_trainee;
struct rer_device_logistic;
struct rer_device_softmax;

#define RER_LISTED 20 /* neighbours listed: more than vote, so that some may be left out at random */

/* Near-duplicates (detect/duplicates.c), of rows of unit length. */
typedef struct rer_copies {
    int64_t sampled;
    const int64_t *row;             /* [sampled] */
    float *nearest;                 /* [sampled] their squared distance to the nearest other row, made first */
    double (*limit)(void *context); /* then asked for: of the squared distance of copies */
    void *context;
    int32_t *group; /* [N] then made: the first row of each row's group */
} rer_copies;

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
    /* The RER_LISTED rows nearest to each row (detect/neighbors.h), to list [N, RER_LISTED]; among [N]: 1 where a row is
     * searched among. *done false: it has no part in that, as where this is NULL. */
    rer_status (*neighbors)(rer_neighbor *list, const uint8_t *among, const rer_run *run, bool *done, rer_error *error);
    /* Trains networks side by side (fit/autoencoder/tile.h). *done false: it has no part in that or no room for so many,
     * as where this is NULL. */
    rer_status (*train)(const struct rer_device_training *training, struct rer_device_trainee *trainees, int32_t count,
                        const rer_run *run, bool *done, rer_error *error);
    /* Finds copies. *done as above. */
    rer_status (*copies)(const rer_copies *copies, const rer_run *run, bool *done, rer_error *error);
    /* Sums of logistic regressions (detect/logistic_train.c): begun once, *done as above; then asked for, and ended. */
    rer_status (*logistic_begin)(const struct rer_device_logistic *of, const rer_run *run, bool *done,
                                 rer_error *error);
    rer_status (*logistic_sums)(const struct rer_device_softmax *at, const rer_run *run, rer_error *error);
    void (*logistic_end)(const rer_run *run);
    bool reads_rows; /* single rows can be read when they are needed; else they are fetched by `scatter` */
} rer_passes;
