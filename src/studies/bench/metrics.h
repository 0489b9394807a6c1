/* How well a detector's answer fits labels whose mistakes are known. Letters: n judged rows. */
#pragma once

#include "core/core.h"

/* What a detector said about n rows, and what is true. */
typedef struct rer_outcome {
    int64_t n;
    const double *score;          /* [n] high: suspicious; NaN ranks below all others */
    const double *probability;    /* [n] that the label is wrong, NaN: none; or NULL */
    const bool *flagged;          /* [n] */
    const bool *wrong;            /* [n] the truth */
    const bool *suggestion_right; /* [n] the suggested class is the true one; or NULL */
    double threshold;             /* of the probability, above which a label is said to be wrong */
    double noise_rate;            /* estimated, NaN: none */
    double noise_low, noise_high; /* 90 % interval of it, NaN: none */
    double true_rate;             /* what the estimate should be, NaN: unknown */
} rer_outcome;

typedef enum rer_metric_id {
    RER_AUROC,             /* ties count half */
    RER_AVERAGE_PRECISION, /* area under precision over recall, as a sum of steps */
    RER_F1,                /* of the flags */
    RER_PRECISION,
    RER_RECALL,
    RER_BEST_F1, /* of any threshold on the score */
    RER_NDCG,    /* of the first RER_TOP; ties share their gain */
    RER_LIFT,    /* share of wrong labels among the first RER_TOP, over that among all */
    RER_FNR,     /* share of the wrong labels that are not among as many first ones as are wrong */
    RER_ECE,     /* expected calibration error, RER_CALIBRATION_BINS bins */
    RER_WEIGHTED_F1,
    RER_NCFD,
    RER_SUGGESTION_ACCURACY, /* among flagged wrong labels */
    RER_NOISE_RATE,          /* estimate */
    RER_TRUE_NOISE_RATE,
    RER_NOISE_RATE_ERROR, /* |estimate - truth| */
    RER_INTERVAL_WIDTH,
    RER_INTERVAL_COVERS, /* 1 or 0 */
    RER_FLAGGED,         /* labels */
    RER_WRONG,
    RER_WRONG_TOP, /* wrong labels among the first RER_TOP, RER_FAR_TOP, as many as are flagged ... */
    RER_EXPECTED_TOP,
    RER_WRONG_FAR,
    RER_EXPECTED_FAR, /* ... and how many the probabilities promise */
    RER_WRONG_FLAGGED,
    RER_EXPECTED_FLAGGED,
    RER_METRICS
} rer_metric_id;

#define RER_TOP 100
#define RER_FAR_TOP 500
#define RER_CALIBRATION_BINS 15

const char *rer_metric_name(rer_metric_id metric);

/* All of them; NaN where one is not defined: no wrong label, only wrong ones, no probability. */
rer_status rer_metrics(double values[RER_METRICS], const rer_outcome *outcome, rer_error *error);

typedef struct rer_calibration_bin {
    int64_t count;
    double probability, wrong; /* means */
} rer_calibration_bin;

/* Bins (b / B, (b + 1) / B]; the first has 0 too. */
void rer_calibration(rer_calibration_bin bins[RER_CALIBRATION_BINS], const rer_outcome *outcome);

/* Rows from the most to the least suspicious, and where groups of equal scores end. */
typedef struct rer_ranking {
    int64_t n, groups;
    int64_t *row; /* [n] */
    int64_t *end; /* [groups] one past the last place of each */
} rer_ranking;

rer_status rer_ranking_make(rer_ranking *ranking, const double *score, int64_t n, rer_error *error);
void rer_ranking_free(rer_ranking *ranking);

/* AUROC where row i counts weight[i] times (NULL: once). */
double rer_auroc(const rer_ranking *ranking, const bool *wrong, const uint16_t *weight);
