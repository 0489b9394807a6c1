/* Multinomial logistic regression with an L2 penalty, cross-fitted: for each fold f the minimum of
 *     mean_i [log sum_k exp z_ik - z_i,y_i] + |W|^2 / (2 C n),  z_i = W x_i + b,
 * over the n rows of the other folds (with two classes the penalty is twice that, which is the binary
 * regression of one weight vector). */
#pragma once

#include "detect/features.h"
#include "detect/probabilities.h"

#define RER_LOGISTIC_FOLDS 5

typedef struct rer_fold_block {
    int64_t first, count; /* rows, in the order of the features */
    int32_t fold;         /* all of this fold; -1: rows without a label */
} rer_fold_block;

typedef struct rer_logistic {
    rer_features features; /* centred; rows of the first fold first, those without a label last */
    int64_t *order;        /* [features.count] rows of the input */
    int32_t C;
    rer_fold_block *blocks; /* [n_blocks] */
    int64_t n_blocks, n_labelled_blocks;
    int64_t block_rows; /* at most */
    int64_t n_labelled;
    int64_t n_fit[RER_LOGISTIC_FOLDS];     /* rows that a fold's model is fitted on */
    bool *present;                         /* [folds, C] classes among them */
    float *weights;                        /* [folds, C, D] for the centred features */
    float *bias;                           /* [folds, C] -INFINITY: the class is not present */
    int32_t evaluated[RER_LOGISTIC_FOLDS]; /* how often the objective was */
} rer_logistic;

/* `unit`: rows of unit length; `C`: inverse of the penalty. Folds are stratified and follow the seed. */
rer_status rer_logistic_fit(rer_logistic *logistic, const rer_run *run, bool unit, double C, rer_error *error);
/* Of each row by the model that has not seen it; those of rows without a label by the first one. */
rer_probabilities rer_logistic_probabilities(const rer_logistic *logistic);
void rer_logistic_free(rer_logistic *logistic);

/* The parts: */

/* weights and bias. */
rer_status rer_logistic_train(rer_logistic *logistic, double C, rer_error *error);
