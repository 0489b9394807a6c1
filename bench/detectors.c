/* One detector from files to its verdict, for against_baselines.py to time as a whole process.
 *     bench.detectors features labels embeddings DETECTOR [threads] */
#include "detect/detect.h"

#include <stdio.h>

int main(int count, char **words)
{
    rer_error error = {0};
    rer_options options = rer_options_default();
    rer_dataset *data = NULL;
    rer_detection *detection = NULL;
    rer_verdict verdict = {0};
    const rer_detector *detector = count > 4 ? rer_detector_named(words[4]) : NULL;
    if (detector == NULL || (count > 5 && rer_options_set(&options, "threads", words[5], &error) != RER_OK))
        return 2;
    rer_files files = {.size = sizeof files, .features = words[1], .labels = words[2], .class_embeddings = words[3]};
    rer_status status = rer_dataset_open(&data, &files, &options, &error);
    if (status == RER_OK)
        status = rer_detection_open(&detection, data, NULL, &options, NULL, &error);
    if (status == RER_OK)
        status = rer_detect(&verdict, detection, detector, &error);
    if (status == RER_OK)
        (void)printf("%.6f\n", verdict.noise_rate);
    else
        (void)fprintf(stderr, "%s\n", error.message);
    rer_verdict_free(&verdict);
    rer_detection_close(detection);
    rer_dataset_free(data);
    return (int)status;
}
