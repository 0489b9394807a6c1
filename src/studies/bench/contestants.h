/* What takes part in a comparison: analyses of ours and the detectors, each as one answer of the same form. */
#pragma once

#include "detect/detect.h"

typedef struct rer_contestant {
    const char *name;
    const rer_detector *detector; /* NULL: rer_analyze with the changes below */
    int32_t reconstructor;        /* rer_reconstructor_kind */
    int32_t normalize;            /* rer_normalize */
    bool as_in_paper;             /* ranked by chi, flagged by the paper's threshold, with its probability */
} rer_contestant;

typedef struct rer_answer {
    double *score;       /* [N] high: suspicious; NaN: not judged */
    double *probability; /* [N] that the label is wrong */
    int32_t *suggested;  /* [N] class (before any was lost), -1: none */
    bool *flagged;       /* [N] */
    double threshold;    /* of the probability */
    double noise_rate;   /* estimate, NaN: none */
    double noise_low, noise_high;
    double seconds;
} rer_answer;

/* The names in `list` with commas between; NULL or "usual": those that are not rare; "all". Zeroshot is among the latter
 * two only where there are class embeddings. *contestants [*count], free() it. A name twice counts once. */
rer_status rer_contestants_choose(rer_contestant **contestants, int *count, const char *list, bool has_class_embeddings,
                                  rer_error *error);

/* Asks one. `labelled` has the labels that `detection` has. */
rer_status rer_contestant_ask(rer_answer *answer, const rer_contestant *contestant, const rer_dataset *labelled,
                              rer_detection *detection, const rer_options *options, const rer_progress *progress,
                              rer_error *error);
void rer_answer_free(rer_answer *answer);
