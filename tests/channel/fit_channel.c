/* Fits a channel to given evidence, for comparison with scipy.
 *     fit_channel rows classes folder [threads [enough | thinned]]
 * Reads raw arrays from the folder: global (float [rows, C]), code (int32 [rows]), log_n (float [C]) and, where they are
 * there, stands (float [rows]) and local (float [rows, C]): the fit then starts from the one without it; thinned: from
 * that of all rows, with the first half of them. Writes numbers (double: weights of global and local, edges of the two,
 * blur, sharpness, likeness, uniform, pairs, surprise, all_right, which is asked where there are enough rows,
 * confusion), bias (float [C]), rates and alike (float [C seen, C true] each, where there are some), right (float [C]),
 * logit (double [rows]); of a thinned fit also began, the numbers of the one it starts from. */
#include "channel/channel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *read_array(const char *folder, const char *name, int64_t bytes, bool needed)
{
    char path[600];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL && !needed)
        return NULL;
    void *memory = malloc((size_t)bytes);
    if (file == NULL || memory == NULL || fread(memory, 1, (size_t)bytes, file) != (size_t)bytes)
        exit(3);
    (void)fclose(file);
    return memory;
}

static void save(const char *folder, const char *name, const void *data, int64_t bytes)
{
    char path[600];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(data, 1, (size_t)bytes, file) != (size_t)bytes || fclose(file) != 0)
        exit(3);
}

static void save_numbers(const rer_channel *channel, const char *folder, const char *name)
{
    const double numbers[] = {channel->weight[RER_GLOBAL],
                              channel->weight[RER_LOCAL],
                              channel->edge[RER_GLOBAL],
                              channel->edge[RER_LOCAL],
                              channel->blur,
                              channel->sharpness,
                              channel->likeness,
                              channel->uniform,
                              channel->rates != NULL,
                              channel->surprise,
                              channel->all_right,
                              channel->confusion};
    save(folder, name, numbers, sizeof numbers);
}

static void save_channel(const rer_channel *channel, const rer_channel_sample *sample, const char *folder)
{
    int64_t C = channel->C;
    double *logit = calloc((size_t)sample->rows, sizeof *logit);
    float *z = calloc((size_t)C, sizeof *z);
    if (logit == NULL || z == NULL)
        exit(3);
    for (int64_t i = 0; i < sample->rows; i++) {
        const float *value[RER_EVIDENCE_KINDS] = {NULL};
        for (int j = 0; j < RER_EVIDENCE_KINDS; j++)
            value[j] = sample->value[j] != NULL ? sample->value[j] + i * C : NULL;
        rer_channel_state state = rer_channel_begin();
        rer_channel_take(&state, channel, value, 0, (int32_t)C, sample->code[i], z, rer_cpu_kernels());
        logit[i] = rer_channel_wrong(&state, channel, sample->code[i]);
    }
    save_numbers(channel, folder, "numbers");
    save(folder, "bias", channel->bias, C * (int64_t)sizeof(float));
    save(folder, "right", channel->right, C * (int64_t)sizeof(float));
    if (channel->rates != NULL)
        save(folder, "rates", channel->rates, C * C * (int64_t)sizeof(float));
    if (channel->alike != NULL)
        save(folder, "alike", channel->alike, C * C * (int64_t)sizeof(float));
    save(folder, "logit", logit, sample->rows * (int64_t)sizeof *logit);
    free(logit);
    free(z);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    int64_t rows = strtoll(argv[1], NULL, 10), C = strtoll(argv[2], NULL, 10);
    float *global = read_array(argv[3], "global", rows * C * (int64_t)sizeof(float), true);
    float *local = read_array(argv[3], "local", rows * C * (int64_t)sizeof(float), false);
    float *stands = read_array(argv[3], "stands", rows * (int64_t)sizeof(float), false);
    float *log_n = read_array(argv[3], "log_n", C * (int64_t)sizeof(float), true);
    int32_t *code = read_array(argv[3], "code", rows * (int64_t)sizeof(int32_t), true);
    bool thinned = argc > 5 && strcmp(argv[5], "thinned") == 0, again = local != NULL || thinned;
    rer_channel_sample sample = {.value = {global},
                                 .code = code,
                                 .stands = stands,
                                 .log_n = log_n,
                                 .rows = rows,
                                 .C = (int32_t)C,
                                 .whitened = true};
    rer_channel channel = {0}, start = {0};
    rer_pool *pool = NULL;
    rer_error error = {0};
    rer_pool_settings settings = {.threads = argc > 4 ? (int32_t)strtol(argv[4], NULL, 10) : 1};
    rer_status status = rer_pool_open(&pool, &settings, &error);
    if (status == RER_OK)
        status = rer_channel_fit(&start, NULL, &sample, rer_cpu_kernels(), pool, &error);
    sample.value[RER_LOCAL] = local;
    sample.enough = argc > 5 && !thinned;
    sample.thinned = thinned;
    sample.rows = thinned ? rows / 2 : rows;
    if (status == RER_OK && again)
        status = rer_channel_fit(&channel, &start, &sample, rer_cpu_kernels(), pool, &error);
    if (status == RER_OK && thinned)
        save_numbers(&start, argv[3], "began");
    if (status == RER_OK)
        save_channel(again ? &channel : &start, &sample, argv[3]);
    else
        (void)fprintf(stderr, "%s\n", error.message);
    rer_pool_close(pool);
    rer_channel_clear(&channel);
    rer_channel_clear(&start);
    free(global);
    free(local);
    free(stands);
    free(log_n);
    free(code);
    return status == RER_OK ? 0 : 1;
}
