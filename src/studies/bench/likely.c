/* The likeliest wrong class: see likely.h. */
#include "studies/bench/likely.h"

rer_status rer_noise_likely(int32_t *likely, rer_detection *detection, rer_error *error)
{
    rer_verdict verdict = {0};
    const rer_detector *detector = rer_detector_named("confident");
    if (detector == NULL)
        return rer_fail(error, RER_BAD_USAGE, "noise of type confidence needs logistic regression, which is not here");
    int64_t seed = detection->options.seed;
    detection->options.seed = 0; /* the seed of the noise chooses rows: what they may become stays the same */
    rer_status status = rer_detect(&verdict, detection, detector, error);
    detection->options.seed = seed;
    if (status == RER_OK)
        memcpy(likely, verdict.suggested, (size_t)detection->run.N * sizeof *likely);
    rer_verdict_free(&verdict);
    return status;
}

rer_status rer_noise_likely_of_file(int32_t *likely, const char *features, const int32_t *codes, int64_t N,
                                    const rer_options *options, const rer_progress *progress, rer_error *error)
{
    rer_dataset *data = NULL;
    rer_detection *detection = NULL;
    rer_view labels = {.data = codes, .dtype = RER_I32, .rank = 1, .shape = {N}};
    rer_status status =
        rer_dataset_open(&data, &(rer_files){.size = sizeof(rer_files), .features = features}, options, error);
    if (status == RER_OK)
        status = rer_dataset_set_labels(data, &labels, error); /* sorted, so that classes keep their numbers */
    RER_THEN(status, rer_detection_open(&detection, data, NULL, options, progress, error));
    RER_THEN(status, rer_noise_likely(likely, detection, error));
    rer_detection_close(detection);
    rer_dataset_free(data);
    return status;
}
