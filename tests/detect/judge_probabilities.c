/* Confident learning on given probabilities, written as raw arrays, for comparison with cleanlab.
 *     judge_probabilities folder N C
 * Reads folder/probabilities (float [N, C]) and folder/labels (int32 [N], -1: none); writes folder/flagged
 * (bytes, bit 1 << rer_prune), own, other (float), suggested (int32), threshold (double [C]), joint
 * (int64 [cells, 3]: given, true, count); prints the noise rate. */
#include "detect/confident.h"

#include <stdio.h>
#include <string.h>

enum { ROWS = 100 }; /* of a block */

typedef struct memory_source {
    const float *p; /* [N, C] */
    int64_t N;
    int32_t C;
} memory_source;

static rer_status memory_block(rer_probability_block *block, const void *context, int64_t item, rer_scratch scratch,
                               rer_error *error)
{
    const memory_source *source = context;
    int64_t first = item * ROWS, count = rer_min(ROWS, source->N - first);
    (void)error;
    *block = (rer_probability_block){
        .first = first, .count = count, .p = rer_take(&scratch, ROWS * source->C, sizeof(float))};
    memcpy(block->p, source->p + first * source->C, (size_t)(count * source->C) * sizeof(float));
    return RER_OK;
}

static FILE *open_file(const char *folder, const char *name, const char *mode)
{
    char path[600];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, mode);
    if (file == NULL)
        exit(3);
    return file;
}

static void read_file(const char *folder, const char *name, void *data, int64_t bytes)
{
    FILE *file = open_file(folder, name, "rb");
    if (fread(data, 1, (size_t)bytes, file) != (size_t)bytes)
        exit(3);
    (void)fclose(file);
}

static void save(const char *folder, const char *name, const void *data, int64_t bytes)
{
    FILE *file = open_file(folder, name, "wb");
    if (fwrite(data, 1, (size_t)bytes, file) != (size_t)bytes || fclose(file) != 0)
        exit(3);
}

static void save_all(const rer_confident *confident, const char *folder, int64_t N, int32_t C)
{
    save(folder, "flagged", confident->flagged, N);
    save(folder, "own", confident->own, N * (int64_t)sizeof(float));
    save(folder, "other", confident->other, N * (int64_t)sizeof(float));
    save(folder, "suggested", confident->suggested, N * (int64_t)sizeof(int32_t));
    save(folder, "threshold", confident->threshold, C * (int64_t)sizeof(double));
    FILE *file = open_file(folder, "joint", "wb");
    for (int64_t i = 0; i < confident->n_joint; i++) {
        int64_t cell[] = {confident->joint[i].given, confident->joint[i].truth, confident->joint[i].count};
        if (fwrite(cell, sizeof cell, 1, file) != 1)
            exit(3);
    }
    (void)fclose(file);
    (void)printf("%.17g\n", confident->noise_rate);
}

int main(int count, char **words)
{
    if (count != 4)
        return 2;
    rer_error error = {0};
    rer_confident confident = {0};
    rer_options options = rer_options_default();
    memory_source source = {.N = atoll(words[2]), .C = atoi(words[3])};
    rer_dataset data = {.N = source.N};
    rer_run run = {0};
    float *p = NULL;
    int32_t *given = NULL;
    options.threads = 2;
    rer_status status = rer_allocate(&p, source.N * source.C, sizeof *p, "probabilities", &error);
    if (status == RER_OK)
        status = rer_allocate(&given, source.N, sizeof *given, "labels", &error);
    if (status == RER_OK) {
        read_file(words[1], "probabilities", p, source.N * source.C * (int64_t)sizeof *p);
        read_file(words[1], "labels", given, source.N * (int64_t)sizeof *given);
        source.p = p;
        status = rer_run_start(&run, &data, given, source.C, &options, NULL, &error);
    }
    if (status == RER_OK) {
        rer_probabilities probabilities = {.source = &source,
                                           .C = source.C,
                                           .items = (source.N + ROWS - 1) / ROWS,
                                           .scratch = ROWS * source.C * (int64_t)sizeof *p + 64,
                                           .block = memory_block};
        status = rer_confident_judge(&confident, &run, &probabilities, &error);
    }
    if (status == RER_OK)
        save_all(&confident, words[1], source.N, source.C);
    else
        (void)fprintf(stderr, "%s\n", error.message);
    rer_confident_free(&confident);
    rer_run_end(&run);
    free(p);
    free(given);
    return (int)status;
}
