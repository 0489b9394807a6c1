/* The table of detectors, and what they share. */
#include "detect/detect.h"

#include <math.h>
#include <string.h>

static const rer_detector detectors[] = {
    {.name = "knn", .help = "vote of the 10 nearest neighbours by cosine", .run = rer_detect_knn},
};

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

/* ---- one data set ------------------------------------------------------------------------- */

rer_status rer_detection_open(rer_detection **detection, const rer_dataset *data, const int32_t *labels,
                              const rer_options *options, const rer_progress *progress, rer_error *error)
{
    rer_detection *made = NULL;
    rer_result *result = NULL;
    if (data->labels.codes == NULL)
        return rer_fail(error, RER_BAD_USAGE, "%s: labels are needed: a file of labels, or a label column",
                        data->features.name);
    rer_status status = rer_allocate(&made, 1, sizeof *made, "a detection", error);
    if (status == RER_OK)
        status = rer_allocate(&result, 1, sizeof *result, "labels", error);
    if (status != RER_OK) {
        free(made);
        return status;
    }
    made->options = *options;
    made->run.result = result;
    result->N = data->N;
    result->C = data->labels.C;
    status = rer_allocate(&result->given, data->N, sizeof *result->given, "labels", error);
    if (status == RER_OK)
        status = rer_allocate(&result->flags, data->N, sizeof *result->flags, "flags", error);
    if (status == RER_OK)
        status = rer_run_start(&made->run, result, data, &made->options, progress, error);
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
    memcpy(run->result->given, labels != NULL ? labels : run->data->labels.codes,
           (size_t)run->N * sizeof *run->result->given);
}

void rer_detection_close(rer_detection *detection)
{
    if (detection == NULL)
        return;
    rer_pool_close(detection->run.pool);
    rer_result_free(detection->run.result);
    rer_neighbors_free(&detection->neighbors);
    free(detection);
}

rer_status rer_detection_neighbors(rer_detection *detection, rer_error *error)
{
    if (rer_neighbors_hold(&detection->neighbors, &detection->run))
        return RER_OK;
    rer_neighbors_free(&detection->neighbors);
    return rer_neighbors_find(&detection->neighbors, &detection->run, error);
}

/* ---- running one -------------------------------------------------------------------------- */

rer_status rer_detect(rer_verdict *verdict, rer_detection *detection, const rer_detector *detector, rer_error *error)
{
    rer_verdict made = {.noise_rate = NAN};
    int64_t N = detection->run.N;
    rer_status status = rer_allocate(&made.mistakenness, N, sizeof *made.mistakenness, "scores", error);
    if (status == RER_OK)
        status = rer_allocate(&made.suggested, N, sizeof *made.suggested, "suggestions", error);
    if (status == RER_OK)
        status = rer_allocate(&made.flagged, N, sizeof *made.flagged, "flags", error);
    for (int64_t row = 0; status == RER_OK && row < N; row++) {
        made.mistakenness[row] = NAN;
        made.suggested[row] = -1;
    }
    if (status == RER_OK)
        status = detector->run(&made, detection, detector, error);
    if (status != RER_OK) {
        rer_verdict_free(&made);
        return status;
    }
    *verdict = made;
    return RER_OK;
}

void rer_verdict_free(rer_verdict *verdict)
{
    free(verdict->mistakenness);
    free(verdict->suggested);
    free(verdict->flagged);
    *verdict = (rer_verdict){0};
}
