/* The transition matrix that the consensus of near rows gives, as raw doubles.
 *     estimate_consensus features labels out
 * Writes T [C, C], then p [C]. */
#include "detect/detect.h"

#include <stdio.h>

static rer_status estimate(rer_detection *detection, const char *out, rer_error *error)
{
    const rer_consensus *consensus = &detection->consensus;
    size_t C = (size_t)detection->run.C;
    rer_status status = rer_detection_consensus(detection, error);
    if (status == RER_OK) {
        FILE *file = fopen(out, "wb");
        if (file == NULL || fwrite(consensus->T, sizeof(double), C * C, file) != C * C ||
            fwrite(consensus->p, sizeof(double), C, file) != C || fclose(file) != 0)
            status = RER_SYSTEM;
    }
    return status;
}

int main(int count, char **words)
{
    rer_error error = {0};
    rer_options options = rer_options_default();
    rer_dataset *data = NULL;
    rer_detection *detection = NULL;
    if (count != 4)
        return 2;
    rer_files files = {.size = sizeof files, .features = words[1], .labels = words[2]};
    rer_status status = rer_dataset_open(&data, &files, &options, &error);
    if (status == RER_OK)
        status = rer_detection_open(&detection, data, NULL, &options, NULL, &error);
    if (status == RER_OK)
        status = estimate(detection, words[3], &error);
    rer_detection_close(detection);
    rer_dataset_free(data);
    if (status != RER_OK)
        (void)fprintf(stderr, "%s\n", error.message);
    return (int)status;
}
