/* Runs detectors and writes what they say as raw arrays, for comparison with other software.
 *     run_detector features labels folder [option=value ...] DETECTOR ...
 * DETECTOR may be NAME, or NAME=FILE to run it with the labels of another file (raw int32 [N]). Writes
 * folder/NAME.mistakenness (double), NAME.suggested (int32), NAME.flagged (bytes), NAME.rate (text). */
#include "detect/detect.h"

#include <stdio.h>
#include <string.h>

static rer_status save(const char *folder, const char *name, const char *what, const void *data, int64_t bytes)
{
    char path[600];
    (void)snprintf(path, sizeof path, "%s/%s.%s", folder, name, what);
    FILE *file = fopen(path, "wb");
    bool written = file != NULL && fwrite(data, 1, (size_t)bytes, file) == (size_t)bytes;
    if (file != NULL && fclose(file) != 0)
        written = false;
    return written ? RER_OK : RER_SYSTEM;
}

static rer_status read_labels(int32_t *labels, int64_t N, const char *path)
{
    FILE *file = fopen(path, "rb");
    bool whole = file != NULL && fread(labels, sizeof *labels, (size_t)N, file) == (size_t)N;
    if (file != NULL)
        (void)fclose(file);
    return whole ? RER_OK : RER_BAD_INPUT;
}

static rer_status run_one(rer_detection *detection, const char *folder, char *word, rer_error *error)
{
    int64_t N = detection->run.N;
    char *path = strchr(word, '='), rate[40];
    rer_verdict verdict = {0};
    if (path != NULL) {
        int32_t *labels = NULL;
        *path++ = 0;
        rer_status status = rer_allocate(&labels, N, sizeof *labels, "labels", error);
        if (status == RER_OK)
            status = read_labels(labels, N, path);
        if (status == RER_OK)
            rer_detection_relabel(detection, labels);
        free(labels);
        if (status != RER_OK)
            return rer_fail(error, status, "%s cannot be read", path);
    }
    const rer_detector *detector = rer_detector_named(word);
    if (detector == NULL)
        return rer_fail(error, RER_BAD_USAGE, "no detector %s", word);
    rer_status status = rer_detect(&verdict, detection, detector, error);
    if (status != RER_OK)
        return status;
    (void)snprintf(rate, sizeof rate, "%.17g", verdict.noise_rate);
    status = save(folder, word, "mistakenness", verdict.mistakenness, N * (int64_t)sizeof *verdict.mistakenness);
    if (status == RER_OK)
        status = save(folder, word, "suggested", verdict.suggested, N * (int64_t)sizeof *verdict.suggested);
    if (status == RER_OK)
        status = save(folder, word, "flagged", verdict.flagged, N * (int64_t)sizeof *verdict.flagged);
    if (status == RER_OK)
        status = save(folder, word, "rate", rate, (int64_t)strlen(rate));
    rer_verdict_free(&verdict);
    return status;
}

int main(int count, char **words)
{
    rer_error error = {0};
    rer_options options = rer_options_default();
    rer_dataset *data = NULL;
    rer_detection *detection = NULL;
    rer_status status = count > 4 ? RER_OK : RER_BAD_USAGE;
    int at = 4;
    for (char *value; status == RER_OK && at < count && (value = strchr(words[at], '=')) != NULL; at++) {
        *value = 0;
        if (rer_detector_named(words[at]) != NULL) {
            *value = '=';
            break;
        }
        status = rer_options_set(&options, words[at], value + 1, &error);
    }
    if (status == RER_OK) {
        rer_files files = {.size = sizeof files, .features = words[1], .labels = words[2]};
        status = rer_dataset_open(&data, &files, &options, &error);
    }
    if (status == RER_OK)
        status = rer_detection_open(&detection, data, NULL, &options, NULL, &error);
    for (; status == RER_OK && at < count; at++)
        status = run_one(detection, words[3], words[at], &error);
    rer_detection_close(detection);
    rer_dataset_free(data);
    if (status != RER_OK)
        (void)fprintf(stderr, "%s\n", error.message);
    return (int)status;
}
