/* Confident learning (Northcutt et al. 2021): from out-of-sample probabilities to flags, as the cleanlab
 * package does it. */
#pragma once

#include "detect/probabilities.h"
#include "run/run.h"

/* Ways to flag. */
typedef enum rer_prune {
    RER_PRUNE_BY_NOISE_RATE, /* of each pair given i, true j as many as the joint says, by margin p_j - p_i */
    RER_PRUNE_BY_CLASS,      /* of each class as many as the joint says, by self-confidence */
    RER_PRUNE_BOTH,          /* what both flag */
    RER_PRUNE_CONFIDENT,     /* what the joint counts off its diagonal */
    RER_PRUNES,
} rer_prune;

typedef struct rer_joint_cell {
    int32_t given, truth;
    int64_t count;
} rer_joint_cell;

typedef struct rer_confident {
    float *own;            /* [N] probability of the given label; NaN: none */
    float *other;          /* [N] of the best other class */
    int32_t *suggested;    /* [N] that class, -1: invalid row */
    int32_t *guess;        /* [N] true class as far as that is confident, else -1 */
    bool *agrees;          /* [N] the most probable class is the given one */
    uint8_t *flagged;      /* [N] bit 1 << rer_prune */
    double *threshold;     /* [C] mean probability of its own label; 2: the class has no rows */
    rer_joint_cell *joint; /* [n_joint] calibrated counts that are not 0, by given and true class */
    int64_t n_joint;
    double noise_rate; /* share of the joint off its diagonal */
} rer_confident;

rer_status rer_confident_judge(rer_confident *confident, const rer_run *run, const rer_probabilities *probabilities,
                               rer_error *error);
void rer_confident_free(rer_confident *confident);
