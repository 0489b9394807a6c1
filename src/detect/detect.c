/* The table of detectors, and what they share. */
#include "detect/detect.h"

#include "detect/logistic.h"
#include "run/pace.h"

/* Of four classifiers three are rare: unit rows with C = 10 rank best (docs/detection.md), and each takes longer than
 * all other detectors together. */
#define CONFIDENT(NAME, TEXT, UNIT, INVERSE, MARGIN)                                                                   \
    {                                                                                                                  \
        .name = NAME, .help = "confident learning, " TEXT, .run = rer_detect_confident, .margin = (MARGIN),            \
        .classifier = {.unit = (UNIT), .C = (INVERSE)}, .rare = !(UNIT) || (INVERSE) != 10,                            \
    }

/* clang-format off */
static const rer_detector detectors[] = {
    CONFIDENT("confident", "rows as they are, C = 1, self-confidence", false, 1, false),
    CONFIDENT("confident-margin", "rows as they are, C = 1, margin", false, 1, true),
    CONFIDENT("confident-c10", "rows as they are, C = 10, self-confidence", false, 10, false),
    CONFIDENT("confident-c10-margin", "rows as they are, C = 10, margin", false, 10, true),
    CONFIDENT("confident-unit", "unit rows, C = 1, self-confidence", true, 1, false),
    CONFIDENT("confident-unit-margin", "unit rows, C = 1, margin", true, 1, true),
    CONFIDENT("confident-unit-c10", "unit rows, C = 10, self-confidence", true, 10, false),
    CONFIDENT("confident-unit-c10-margin", "unit rows, C = 10, margin", true, 10, true),
    {.name = "simifeat", .help = "SimiFeat, by vote", .run = rer_detect_simifeat},
    {.name = "simifeat-rank", .help = "SimiFeat, by rank", .run = rer_detect_simifeat, .rank = true},
    {.name = "knn", .help = "vote of the 10 nearest neighbours by cosine", .run = rer_detect_knn},
    {.name = "zeroshot", .help = "nearness to given embeddings of the classes", .run = rer_detect_zeroshot, .needs_class_embeddings = true},
};
/* clang-format on */

const rer_detector *rer_detector_at(int index)
{
    return index >= 0 && index < (int)(sizeof detectors / sizeof *detectors) ? &detectors[index] : NULL;
}

const rer_detector *rer_detector_named(const char *name)
{
    for (int i = 0; rer_detector_at(i) != NULL; i++)
        if (strcmp(detectors[i].name, name) == 0)
            return &detectors[i];
    return NULL;
}

bool rer_detector_of(rer_detector *detector, const rer_options *options)
{
    static const char *const names[] = {[RER_DETECT_CONFIDENT] = "confident",
                                        [RER_DETECT_SIMIFEAT] = "simifeat",
                                        [RER_DETECT_KNN] = "knn",
                                        [RER_DETECT_ZEROSHOT] = "zeroshot"};
    if (options->detector == RER_DETECT_RER)
        return false;
    *detector = *rer_detector_named(names[options->detector]);
    detector->classifier = (rer_classifier){options->classifier_rows == 1, options->classifier_c};
    detector->margin = options->quality == 1;
    detector->prune = (rer_prune)options->prune_by;
    return true;
}

/* ---- one data set ------------------------------------------------------------------------- */

rer_status rer_detection_open(rer_detection **detection, const rer_dataset *data, const int32_t *labels,
                              const rer_options *options, const rer_progress *progress, rer_error *error)
{
    rer_detection *made = NULL;
    rer_status status = rer_dataset_check_labelled(data, error);
    RER_THEN(status, rer_allocate(&made, 1, sizeof *made, "a detection", error));
    if (status != RER_OK)
        return status;
    made->options = *options;
    status = rer_allocate(&made->given, data->N, sizeof *made->given, "labels", error);
    RER_THEN(status, rer_run_start(&made->run, data, made->given, data->labels.C, &made->options, progress, error));
    if (status != RER_OK) {
        rer_detection_close(made);
        return status;
    }
    rer_detection_relabel(made, labels);
    *detection = made;
    return RER_OK;
}

void rer_detection_relabel(rer_detection *detection, const int32_t *labels)
{
    const rer_run *run = &detection->run;
    memcpy(detection->given, labels != NULL ? labels : run->data->labels.codes,
           (size_t)run->N * sizeof *detection->given);
    rer_confident_free(&detection->confident);
    rer_consensus_free(&detection->consensus);
}

void rer_detection_clear(rer_detection *detection)
{
    rer_neighbors_free(&detection->neighbors);
    rer_confident_free(&detection->confident);
    rer_consensus_free(&detection->consensus);
}

void rer_detection_close(rer_detection *detection)
{
    if (detection == NULL)
        return;
    rer_run_end(&detection->run);
    rer_detection_clear(detection);
    RER_FREE_ALL(detection->given, detection);
}

rer_status rer_detection_neighbors(rer_detection *detection, rer_error *error)
{
    if (rer_neighbors_hold(&detection->neighbors, &detection->run))
        return RER_OK;
    rer_neighbors_free(&detection->neighbors);
    return rer_neighbors_find(&detection->neighbors, &detection->run, error);
}

rer_status rer_detection_consensus(rer_detection *detection, rer_error *error)
{
    RER_TRY(rer_detection_neighbors(detection, error));
    if (detection->consensus.p != NULL)
        return RER_OK;
    rer_pace_enter(&detection->run, RER_PACE_CONSENSUS);
    return rer_consensus_estimate(&detection->consensus, &detection->run, &detection->neighbors, error);
}

/* Confident learning with cross-fitted logistic regression. `suggested` and `other` of it are the best
 * class other than the label and its probability. */
static rer_status learn_confidently(rer_detection *detection, rer_classifier classifier, rer_error *error)
{
    const rer_classifier *made = &detection->classifier;
    rer_logistic logistic = {0};
    if (detection->confident.own != NULL && made->unit == classifier.unit && made->C == classifier.C)
        return RER_OK;
    rer_confident_free(&detection->confident);
    detection->classifier = classifier;
    rer_status status = rer_logistic_fit(&logistic, &detection->run, classifier.unit, classifier.C, error);
    if (status == RER_OK) {
        rer_probabilities probabilities = rer_logistic_probabilities(&logistic);
        status = rer_confident_judge(&detection->confident, &detection->run, &probabilities, error);
    }
    rer_logistic_free(&logistic);
    return status;
}

rer_status rer_detect_confident(rer_verdict *verdict, rer_detection *detection, const rer_detector *detector,
                                rer_error *error)
{
    const rer_confident *confident = &detection->confident;
    RER_TRY(learn_confidently(detection, detector->classifier, error));
    for (int64_t row = 0; row < detection->run.N; row++) {
        double own = (double)confident->own[row], other = (double)confident->other[row];
        verdict->suggested[row] = confident->suggested[row];
        verdict->flagged[row] = (confident->flagged[row] >> detector->prune & 1) != 0;
        verdict->mistakenness[row] = detector->margin ? (1 - (own - other)) / 2 : 1 - own;
    }
    verdict->noise_rate = confident->noise_rate;
    return RER_OK;
}

/* ---- running one -------------------------------------------------------------------------- */

rer_status rer_detect(rer_verdict *verdict, rer_detection *detection, const rer_detector *detector, rer_error *error)
{
    rer_verdict made = {.noise_rate = NAN};
    int64_t N = detection->run.N;
    rer_room rooms[] = {RER_ROOM(made.mistakenness, N), RER_ROOM(made.suggested, N), RER_ROOM(made.flagged, N)};
    RER_TRY(rer_allocate_all(rooms, RER_COUNT(rooms), "scores", error));
    for (int64_t row = 0; row < N; row++) {
        made.mistakenness[row] = NAN;
        made.suggested[row] = -1;
    }
    rer_pace_enter(&detection->run, RER_PACE_DETECTING);
    rer_status status = detector->run(&made, detection, detector, error);
    if (status == RER_OK)
        *verdict = made;
    else
        rer_verdict_free(&made);
    return status;
}

void rer_verdict_free(rer_verdict *verdict)
{
    RER_FREE_ALL(verdict->mistakenness, verdict->suggested, verdict->flagged);
    *verdict = (rer_verdict){0};
}
