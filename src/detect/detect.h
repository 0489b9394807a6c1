/* Detectors: established ways to find wrong labels, on the same features and labels as ours, to
 * compare with (rer bench) and to use (rer analyze --detector).
 *
 * A detection is one data set with its threads; labels can be exchanged without opening the data
 * again. What several detectors need is made once and kept: neighbours as long as the detection,
 * probabilities as long as the labels. */
#pragma once

#include "detect/confident.h"
#include "detect/consensus.h"
#include "detect/neighbors.h"
#include "run/result.h"

typedef struct rer_verdict {
    double *mistakenness; /* [N] 0..1, high: the label is wrong; NaN: no label, or an invalid row */
    int32_t *suggested;   /* [N] best class other than the label; -1: none */
    bool *flagged;        /* [N] */
    double noise_rate;    /* estimated share of wrong labels */
} rer_verdict;

/* How confident learning gets its probabilities. */
typedef struct rer_classifier {
    bool unit; /* rows of unit length, else as they are */
    double C;  /* inverse of the penalty */
} rer_classifier;

typedef struct rer_detection {
    rer_run run;
    int32_t *given;      /* [N] what run.given points to, where the detection was opened */
    rer_options options; /* what run.options points to */
    rer_neighbors neighbors;
    rer_confident confident; /* of the present labels and this classifier; own NULL: none */
    rer_classifier classifier;
    rer_consensus consensus; /* likewise; p NULL: none */
} rer_detection;

typedef struct rer_detector {
    const char *name;
    const char *help;
    bool needs_class_embeddings; /* of the data set */
    bool rare;                   /* compared only where it is named, or all are */
    rer_classifier classifier;   /* confident learning */
    bool margin;                 /* and its score: margin, else self-confidence */
    rer_prune prune;             /* and how it flags */
    bool rank;                   /* SimiFeat: flag the lowest of each class, else by vote */
    rer_status (*run)(rer_verdict *verdict, rer_detection *detection, const struct rer_detector *detector,
                      rer_error *error);
} rer_detector;

/* The table; NULL past its end, or where no detector has the name. */
const rer_detector *rer_detector_at(int index);
const rer_detector *rer_detector_named(const char *name);

/* The one that the options name, with their settings; false: RER_DETECT_RER. */
bool rer_detector_of(rer_detector *detector, const rer_options *options);

/* `labels` [N]: classes 0..C-1 of the data set, -1: none; NULL: the data set's own. The data set
 * must stay; labels are copied. Of the options, threads, memory, seed and drop_invalid count. */
rer_status rer_detection_open(rer_detection **detection, const rer_dataset *data, const int32_t *labels,
                              const rer_options *options, const rer_progress *progress, rer_error *error);
void rer_detection_relabel(rer_detection *detection, const int32_t *labels);
void rer_detection_close(rer_detection *detection);

/* Runs one detector; free the verdict. */
rer_status rer_detect(rer_verdict *verdict, rer_detection *detection, const rer_detector *detector, rer_error *error);
void rer_verdict_free(rer_verdict *verdict);

/* Where the options name another detector than ours: it, and its verdict on the rows of a run; free the verdict. */
rer_status rer_verdict_find(rer_verdict *verdict, rer_detector *detector, const rer_run *run, rer_error *error);
/* Its probabilities and suggestions go over to a scored result. */
void rer_verdict_give(rer_result *result, rer_verdict *verdict);

/* ---- for the detectors -------------------------------------------------------------------- */

/* Frees what was kept. */
void rer_detection_clear(rer_detection *detection);
/* The K = RER_LISTED nearest labelled rows of every row, by cosine; made when first asked for. */
rer_status rer_detection_neighbors(rer_detection *detection, rer_error *error);
/* The transition matrix of the present labels. */
rer_status rer_detection_consensus(rer_detection *detection, rer_error *error);
#define RER_VOTERS 10 /* neighbours that vote */

/* The label other than the row's own with most votes among its first RER_VOTERS neighbours, of equals the
 * nearer one; -1: none. Returns its votes. */
int32_t rer_most_voted(int32_t *class, const rer_run *run, const rer_neighbors *neighbors, int64_t row);

rer_status rer_detect_confident(rer_verdict *verdict, rer_detection *detection, const rer_detector *detector,
                                rer_error *error);
rer_status rer_detect_knn(rer_verdict *verdict, rer_detection *detection, const rer_detector *detector,
                          rer_error *error);
rer_status rer_detect_simifeat(rer_verdict *verdict, rer_detection *detection, const rer_detector *detector,
                               rer_error *error);
rer_status rer_detect_zeroshot(rer_verdict *verdict, rer_detection *detection, const rer_detector *detector,
                               rer_error *error);
