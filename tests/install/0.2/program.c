/* A program as people wrote it for 0.2, compiled with the headers of 0.2 beside it (frozen: never change them) and
 * run with the library of today. It touches every way in which structs go in and out.
 *     program FOLDER      FOLDER: for files; ends with 0 and one line */
#include "rer_studies.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 300, D = 4, C = 3, WRONG = 6 };

static float x[N * D];
static int32_t y[N];

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "line %d: %s (%s)\n", __LINE__, #condition, error.message);                                \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static rer_error error;
static char path[1000];

static const char *in_folder(const char *folder, const char *name)
{
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* Three distant classes, the first rows labelled as the next one. */
static void make_rows(void)
{
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < D; j++)
            x[i * D + j] = (float)((i * 7919 + j * 104729) % 1000) / 1000 + (i % C == j ? 3 : 0);
        y[i] = (i + (i < WRONG)) % C;
    }
}

static bool count_report(void *context, const char *stage, double fraction)
{
    (void)stage;
    (void)fraction;
    ++*(int *)context;
    return false;
}

static rer_options *make_options(void)
{
    rer_options *options = NULL, *copy = NULL;
    char text[32];
    int64_t threads = 0;
    double shrinkage = 0;
    bool details = false;
    CHECK(rer_options_new(&options, &error) == RER_OK);
    CHECK(rer_options_set(options, "budget", "6", &error) == RER_OK);
    CHECK(rer_options_set_integer(options, "threads", 1, &error) == RER_OK);
    CHECK(rer_options_set_real(options, "shrinkage", .5, &error) == RER_OK);
    CHECK(rer_options_set_flag(options, "details", true, &error) == RER_OK);
    CHECK(rer_options_set_real(options, "shrinkage", 7, &error) == RER_BAD_USAGE);
    CHECK(rer_options_copy(&copy, options, &error) == RER_OK && error.message[0] == 0);
    rer_options_free(options);
    CHECK(rer_options_get(copy, "budget", text, sizeof text, &error) == RER_OK && strcmp(text, "6") == 0);
    CHECK(rer_options_get_integer(copy, "threads", &threads, &error) == RER_OK && threads == 1);
    CHECK(rer_options_get_real(copy, "shrinkage", &shrinkage, &error) == RER_OK && shrinkage == .5);
    CHECK(rer_options_get_flag(copy, "details", &details, &error) == RER_OK && details);
    CHECK(rer_options_get_real(copy, "threshold", &shrinkage, &error) == RER_OK && isnan(shrinkage));
    CHECK(rer_options_count() > 50 && strcmp(rer_options_info(0)->name, "reconstructor") == 0);
    CHECK(rer_option_is_for(rer_options_info(0), "analyze"));
    return copy;
}

static void read_result(const rer_result *result)
{
    const rer_summary *summary = rer_result_summary(result);
    int64_t rows[WRONG];
    CHECK(summary->n_samples == N && summary->n_classes == C && summary->n_issues == WRONG);
    CHECK(summary->seconds.total > 0 && summary->peak_memory > 0);
    CHECK(rer_result_suspects(result, WRONG, rows) == WRONG);
    for (int i = 0; i < WRONG; i++) {
        rer_sample sample = {.size = sizeof sample};
        CHECK(rer_result_sample(&sample, result, rows[i], &error) == RER_OK);
        CHECK(sample.row < WRONG && sample.suggested == sample.row % C && sample.is_issue && !sample.is_invalid);
    }
    CHECK(strcmp(rer_result_class_name(result, 2), "two") == 0);
    CHECK(rer_result_class(result, C) == NULL && rer_result_pair(result, C * C) == NULL);
    CHECK(rer_result_pair(result, 0)->a < C);
}

static void study(const rer_dataset *data, const rer_result *result, const rer_options *options)
{
    static int32_t noisy[N];
    rer_scaling *scaling = NULL;
    rer_bench *bench = NULL;
    rer_options *few = NULL;
    rer_bench_labels human = {.name = "people", .codes = y};
    rer_bench_settings settings = {.size = sizeof settings, .detectors = "rer,knn", .human = &human, .n_human = 1};
    rer_bench_difference gap;
    int64_t changed = 0;
    CHECK(rer_result_portion(result, RER_BY_CLASS, 2)->own.n > 0);
    CHECK(rer_noise_plant(noisy, &changed, y, NULL, N, C, NULL, &error) == RER_OK && changed == N / 10);
    CHECK(rer_options_copy(&few, options, &error) == RER_OK);
    CHECK(rer_options_set(few, "sizes", "10,20,40", &error) == RER_OK);
    CHECK(rer_options_set(few, "noise", "none", &error) == RER_OK);
    CHECK(rer_options_set_integer(few, "bootstrap", 0, &error) == RER_OK);
    CHECK(rer_scale(&scaling, data, few, NULL, &error) == RER_OK);
    CHECK(rer_scaling_point(scaling, rer_scaling_count(scaling) - 1)->rows == N);
    CHECK(rer_scaling_forecast(scaling, 200).n == 200);
    CHECK(rer_bench_run(&bench, data, &settings, few, NULL, &error) == RER_OK);
    CHECK(strcmp(rer_bench_cell_at(bench, 1)->noise, "human:people") == 0);
    CHECK(rer_bench_gap(&gap, bench, 1, 0, 1, &error) == RER_OK);
    rer_bench_free(bench);
    rer_scaling_free(scaling);
    rer_options_free(few);
}

static void cluster(const rer_view *features)
{
    rer_dataset *data = NULL;
    rer_options *options = NULL;
    rer_clustering clustering = {.size = sizeof clustering};
    CHECK(rer_options_new(&options, &error) == RER_OK);
    CHECK(rer_options_set_integer(options, "clusters", C, &error) == RER_OK);
    CHECK(rer_dataset_wrap(&data, features, NULL, options, &error) == RER_OK);
    CHECK(rer_dataset_cluster(data, &clustering, options, NULL, &error) == RER_OK && clustering.clusters == C);
    rer_dataset_free(data);
    rer_options_free(options);
}

int main(int argc, char **argv)
{
    static const char *const names[C] = {"zero", "one", "two"};
    rer_view features = {.data = x, .dtype = RER_F32, .rank = 2, .shape = {N, D}};
    rer_view labels = {.data = y, .dtype = RER_I32, .rank = 1, .shape = {N}};
    rer_dataset *data = NULL;
    rer_result *result = NULL, *scored = NULL;
    rer_model *model = NULL;
    char *json = NULL;
    int reports = 0;
    if (argc != 2)
        return 2;
    make_rows();
    rer_options *options = make_options();
    rer_progress progress = {.report = count_report, .context = &reports};
    CHECK(rer_dataset_wrap(&data, &features, &labels, options, &error) == RER_OK);
    CHECK(rer_dataset_set_class_names(data, names, C, &error) == RER_OK);
    CHECK(rer_dataset_rows(data) == N && rer_dataset_columns(data) == D && rer_dataset_classes(data) == C);
    rer_outputs outputs = {.size = sizeof outputs, .errors = in_folder(argv[1], "errors.npy")};
    CHECK(rer_analyze(&result, data, options, &outputs, &progress, &error) == RER_OK);
    read_result(result);
    CHECK(rer_model_save(rer_result_model(result), in_folder(argv[1], "model"), &error) == RER_OK);
    CHECK(rer_model_load(&model, in_folder(argv[1], "model"), &error) == RER_OK);
    CHECK(rer_score(&scored, model, data, NULL, NULL, NULL, &error) == RER_OK);
    CHECK(rer_result_json(result, data, &json, &error) == RER_OK && strstr(json, "\"n_samples\": 300") != NULL);
    CHECK(rer_result_write(result, data, in_folder(argv[1], "out"), &error) == RER_OK);
    study(data, result, options);
    cluster(&features);
    rer_files files = {.size = sizeof files, .features = in_folder(argv[1], "missing.npy")};
    rer_dataset *none = NULL;
    CHECK(rer_dataset_open(&none, &files, NULL, &error) == RER_BAD_INPUT && none == NULL);
    CHECK(strstr(error.message, "missing.npy") != NULL);
    free(json);
    rer_model_free(model);
    rer_result_free(scored);
    rer_result_free(result);
    rer_dataset_free(data);
    rer_options_free(options);
    printf("built for %s, runs with %s\n", RER_VERSION, rer_version());
    return 0;
}
