/* Fits logistic regression in folds and writes it as raw arrays, for comparison with scikit-learn.
 *     fit_logistic features labels folder unit|raw C [option=value ...]
 * Writes folder/fold (int32 [N], -1: none), probabilities (float [N, C]), weights (float [folds, C, D], for rows
 * from which `mean` is subtracted), bias (float [folds, C]), mean (double [D]); prints evaluations and seconds. */
#include "detect/logistic.h"

#include <stdio.h>
#include <string.h>

typedef struct output {
    const rer_probabilities *probabilities;
    float *p; /* [N, C] */
} output;

static rer_status keep_block(void *context, int64_t item, void *scratch, rer_error *error)
{
    output *out = context;
    rer_probability_block block;
    int64_t C = out->probabilities->C;
    rer_scratch room = rer_scratch_over(scratch, out->probabilities->scratch);
    rer_status status = out->probabilities->block(&block, out->probabilities->source, item, room, error);
    for (int64_t i = 0; status == RER_OK && i < block.count; i++)
        memcpy(out->p + rer_probability_row(&block, i) * C, block.p + i * C, (size_t)C * sizeof(float));
    return status;
}

static void save(const char *folder, const char *name, const void *data, int64_t bytes)
{
    char path[600];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(data, 1, (size_t)bytes, file) != (size_t)bytes || fclose(file) != 0)
        exit(3);
}

static rer_status fit_and_save(const rer_run *run, char **words, rer_error *error)
{
    rer_logistic logistic = {0};
    int32_t *fold = NULL;
    output out = {0};
    double start = rer_now();
    rer_status status = rer_logistic_fit(&logistic, run, strcmp(words[4], "unit") == 0, atof(words[5]), error);
    double fitted = rer_now();
    if (status == RER_OK)
        status = rer_allocate(&fold, run->N, sizeof *fold, "folds", error);
    if (status == RER_OK)
        status = rer_allocate(&out.p, run->N * run->C, sizeof *out.p, "probabilities", error);
    if (status == RER_OK) {
        rer_probabilities probabilities = rer_logistic_probabilities(&logistic);
        out.probabilities = &probabilities;
        rer_job job = {.stage = "predicting",
                       .items = probabilities.items,
                       .scratch = probabilities.scratch,
                       .work = keep_block,
                       .context = &out};
        status = rer_pool_run(run->pool, &job, error);
    }
    if (status == RER_OK) {
        for (int64_t row = 0; row < run->N; row++)
            fold[row] = -1;
        for (int64_t b = 0; b < logistic.n_blocks; b++)
            for (int64_t i = 0; i < logistic.blocks[b].count; i++)
                fold[logistic.order[logistic.blocks[b].first + i]] = logistic.blocks[b].fold;
        int64_t weights = RER_LOGISTIC_FOLDS * (int64_t)run->C;
        save(words[3], "fold", fold, run->N * (int64_t)sizeof *fold);
        save(words[3], "probabilities", out.p, run->N * run->C * (int64_t)sizeof *out.p);
        save(words[3], "weights", logistic.weights, weights * run->D * (int64_t)sizeof(float));
        save(words[3], "bias", logistic.bias, weights * (int64_t)sizeof(float));
        save(words[3], "mean", logistic.features.mean, run->D * (int64_t)sizeof(double));
        for (int f = 0; f < RER_LOGISTIC_FOLDS; f++)
            (void)printf("%d ", logistic.evaluated[f]);
        (void)printf("%.3f\n", fitted - start);
    }
    free(fold);
    free(out.p);
    rer_logistic_free(&logistic);
    return status;
}

int main(int count, char **words)
{
    rer_error error = {0};
    rer_options options = rer_options_default();
    rer_dataset *data = NULL;
    rer_run run = {0};
    rer_status status = count > 5 ? RER_OK : RER_BAD_USAGE;
    for (int at = 6; status == RER_OK && at < count; at++) {
        char *value = strchr(words[at], '=');
        if (value == NULL)
            return 2;
        *value = 0;
        status = rer_options_set(&options, words[at], value + 1, &error);
    }
    if (status == RER_OK) {
        rer_files files = {.size = sizeof files, .features = words[1], .labels = words[2]};
        status = rer_dataset_open(&data, &files, &options, &error);
    }
    if (status == RER_OK)
        status = rer_run_start(&run, data, data->labels.codes, data->labels.C, &options, NULL, &error);
    if (status == RER_OK)
        status = fit_and_save(&run, words, &error);
    rer_run_end(&run);
    rer_dataset_free(data);
    if (status != RER_OK)
        (void)fprintf(stderr, "%s\n", error.message);
    return (int)status;
}
