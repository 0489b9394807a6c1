/* The pipeline: source -> fit -> score -> judge. */
#include "detect/detect.h"
#include "fit/calibrate.h"
#include "detect/duplicates.h"
#include "judge/judge.h"
#include "pipeline.h"
#include "score/score.h"
#include "score/second_look.h"

#include <math.h>
#include <string.h>
#include <sys/resource.h>

static int64_t peak_memory(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (int64_t)usage.ru_maxrss * 1024 : 0;
}

rer_status rer_result_copy_names(rer_result *result, char *const *names, const rer_texts *texts, rer_error *error)
{
    rer_status status = rer_allocate(&result->names, result->C, sizeof *result->names, "class names", error);
    for (int32_t c = 0; status == RER_OK && c < result->C; c++)
        status = rer_copy_text(&result->names[c], texts == NULL ? names[c] : texts->bytes + texts->offset[c], error);
    return status;
}

rer_status rer_result_make(rer_result **result, int64_t N, int32_t C, const rer_options *options, rer_error *error)
{
    rer_result *made = NULL;
    rer_status status = rer_allocate(&made, 1, sizeof *made, "the result", error);
    if (status != RER_OK)
        return status;
    made->N = N;
    made->C = C;
    made->options = *options;
    made->summary.duplicate_angle = NAN;
    status = rer_allocate(&made->given, N, sizeof *made->given, "labels", error);
    if (status == RER_OK)
        status = rer_allocate(&made->suggested, N, sizeof *made->suggested, "suggestions", error);
    if (status == RER_OK)
        status = rer_allocate(&made->own, N, sizeof *made->own, "errors", error);
    if (status == RER_OK)
        status = rer_allocate(&made->other, N, sizeof *made->other, "errors", error);
    if (status == RER_OK)
        status = rer_allocate(&made->logit, N, sizeof *made->logit, "scores", error);
    if (status == RER_OK && options->probability == RER_DENSITY)
        status = rer_allocate(&made->flipped, N, sizeof *made->flipped, "ratios", error);
    if (status == RER_OK)
        status = rer_allocate(&made->margin, N, sizeof *made->margin, "margins", error);
    if (status == RER_OK)
        status = rer_allocate(&made->removed, N, sizeof *made->removed, "margins", error);
    if (status == RER_OK)
        status = rer_allocate(&made->flags, N, sizeof *made->flags, "flags", error);
    if (status != RER_OK) {
        rer_result_free(made);
        return status;
    }
    for (int64_t row = 0; row < N; row++)
        made->given[row] = RER_NO_LABEL;
    *result = made;
    return RER_OK;
}

static void finish_summary(rer_result *result, const rer_model *model, const rer_dataset *data, double started)
{
    rer_summary *summary = &result->summary;
    result->options.normalize = (int32_t)model->normalizer.kind; /* what was really done */
    result->options.reconstructor = rer_reconstructor_index(model->reconstructor);
    summary->n_samples = data->N;
    summary->n_features = data->D;
    summary->n_classes = result->C;
    summary->shrinkage = model->shrinkage;
    summary->temperature = 2 * model->channel.weight[RER_GLOBAL];
    summary->rank = model->rank;
    summary->seconds.read = data->seconds_read;
    summary->seconds.total = rer_now() - started + data->seconds_read;
    summary->peak_memory = peak_memory();
}

static rer_status note_pictures(rer_result *result, const rer_dataset *data, rer_error *error)
{
    if (data->picture[0] == 0)
        return RER_OK;
    return rer_result_add_note(result, error, "the pictures went through %s; a real encoder's features would do better",
                               data->hog ? "the built-in descriptor" : "no encoder (raw pixels)");
}

static rer_status note_clusters(rer_result *result, const rer_dataset *data, rer_error *error)
{
    if (data->clusters == 0)
        return RER_OK;
    bool at_end =
        result->options.clusters[1] > result->options.clusters[0] && data->clusters == result->options.clusters[1];
    return rer_result_add_note(result, error, "the labels are %d clusters of k-means%s", data->clusters,
                               at_end ? ", the most of the range: more may be likelier" : "");
}

/* Whether the probabilities are those of our channel. */
static bool is_ours(const rer_options *options)
{
    return options->detector == RER_DETECT_RER && options->probability == RER_CHANNEL;
}

/* Score and judge: what rer_analyze and rer_score share. The file of errors appears last, when
 * nothing else can fail. */
static rer_status score_and_judge(rer_result *result, const rer_model *model, const rer_calibration *calibration,
                                  const rer_run *run, const char *errors_path, rer_error *error)
{
    bool left_out = calibration != NULL;
    rer_ratio_sums sums = {0};
    rer_output errors = {0};
    double start = rer_now();
    rer_status status = RER_OK;
    if (errors_path != NULL)
        status = rer_errors_open(&errors, errors_path, model->C, run->N, error);
    if (status == RER_OK)
        status = rer_score_rows(&sums, model, run, left_out, errors_path != NULL ? &errors : NULL, error);
    /* A classifier of the user's own has looked at the rows beside each other already. */
    if (status == RER_OK && left_out && is_ours(&result->options) && run->data->pred_probs.name == NULL)
        status = rer_second_look(calibration, model, run, error);
    double scored = rer_now();
    if (status == RER_OK)
        status = rer_judge(result, &sums, error);
    if (status == RER_OK && left_out)
        status = rer_detect_result(result, run, error);
    if (status == RER_OK && !left_out && result->summary.n_labelled > 0)
        status = rer_result_add_note(result, error,
                                     "labels are judged by their class models alone: a saved model has no rows for a "
                                     "second look");
    if (status == RER_OK && left_out)
        status = note_pictures(result, run->data, error);
    if (status == RER_OK && left_out)
        status = note_clusters(result, run->data, error);
    if (status == RER_OK && errors_path != NULL)
        status = rer_output_commit(&errors, error);
    rer_output_discard(&errors);
    result->summary.seconds.score = scored - start;
    result->summary.seconds.judge = rer_now() - scored;
    return status;
}

static rer_status choose_normalize(rer_model *model, const rer_options *options, rer_error *error)
{
    const rer_reconstructor *reconstructor = model->reconstructor;
    bool is_auto = options->normalize == RER_NORMALIZE_AUTO;
    model->normalizer.kind = is_auto ? reconstructor->normalize : (rer_normalize)options->normalize;
    if (reconstructor->needs_minmax && model->normalizer.kind != RER_MINMAX)
        return rer_fail(error, RER_BAD_USAGE, "--normalize: the reconstructor '%s' needs minmax (or auto)",
                        reconstructor->name);
    return RER_OK;
}

rer_status rer_check_labelled(const rer_dataset *data, rer_error *error)
{
    if (data->labels.codes != NULL)
        return RER_OK;
    return rer_fail(error, RER_BAD_USAGE, "%s: labels are needed: a file of labels, or a label column",
                    data->features.name);
}

rer_status rer_model_begin(rer_model **model, const rer_result *result, int64_t D, const rer_options *options,
                           rer_error *error)
{
    rer_model *made = NULL;
    rer_status status = rer_model_make(&made, D, result->C, error);
    if (status != RER_OK)
        return status;
    made->reconstructor = rer_reconstructor_of(options->reconstructor);
    status = choose_normalize(made, options, error);
    for (int32_t c = 0; status == RER_OK && c < result->C; c++)
        status = rer_copy_text(&made->names[c], result->names[c], error);
    if (status != RER_OK) {
        rer_model_free(made);
        return status;
    }
    *model = made;
    return RER_OK;
}

/* Near-duplicates where they are asked for, and the rows that are left out together. */
static rer_status find_groups(rer_run *run, const rer_model *model, rer_error *error)
{
    const rer_dataset *data = run->data;
    bool grouped = data->groups.codes != NULL || data->group_duplicates;
    if (grouped && model->reconstructor != &rer_centroid_reconstructor)
        return rer_fail(error, RER_BAD_USAGE, "--groups: works with the reconstructor centroid, not with '%s'",
                        model->reconstructor->name);
    rer_status status = RER_OK;
    if (run->options->duplicates != RER_OFF || data->group_duplicates)
        status = rer_duplicates_find(run, error);
    run->groups = data->group_duplicates ? run->result->duplicate : data->groups.codes;
    return status;
}

static rer_status analyze(rer_result **result, const rer_dataset *data, const rer_options *options,
                          const char *errors_path, const rer_progress *progress, rer_error *error)
{
    double started = rer_now();
    rer_result *made = NULL;
    rer_model *model = NULL;
    rer_row_sample sample = {0};
    rer_calibration calibration = {0};
    rer_status status = rer_check_labelled(data, error);
    if (status == RER_OK)
        status = rer_result_make(&made, data->N, data->labels.C, options, error);
    if (status != RER_OK)
        return status;
    memcpy(made->given, data->labels.codes, (size_t)data->N * sizeof *made->given);
    rer_run run = {0};
    status = rer_run_start(&run, made, data, options, progress, error);
    if (status == RER_OK)
        status = rer_result_copy_names(made, NULL, &data->labels.names, error);
    if (status == RER_OK)
        status = rer_model_begin(&model, made, data->D, options, error);
    made->model = model;
    if (status == RER_OK && data->parts.ask != NULL && model->reconstructor != &rer_centroid_reconstructor)
        status = rer_fail(error, RER_BAD_USAGE,
                          "--reconstructor %s: rows that lie in parts can be analysed by centroid only",
                          model->reconstructor->name);
    if (status == RER_OK)
        status = find_groups(&run, model, error);
    if (status == RER_OK)
        status = model->reconstructor->fit(model, &sample, &run, error);
    double fitted = rer_now();
    if (status == RER_OK)
        status = rer_calibrate(&calibration, model, &sample, &run, error);
    rer_row_sample_free(&sample);
    double calibrated = rer_now();
    if (status == RER_OK)
        status = score_and_judge(made, model, &calibration, &run, errors_path, error);
    rer_calibration_free(&calibration);
    made->summary.seconds.fit = fitted - started;
    made->summary.seconds.judge += calibrated - fitted; /* what the labels seen say is judgement too */
    rer_pool_close(run.pool);
    if (status == RER_OK && (options->details || data->subsets.codes != NULL))
        status = rer_result_detail(made, data, progress, error);
    if (status != RER_OK) {
        rer_result_free(made);
        return status;
    }
    finish_summary(made, model, data, started);
    *result = made;
    return RER_OK;
}

/* What rer_analyze and rer_score begin with. */
static rer_status take_inputs(rer_options *options, rer_outputs *outputs, const rer_dataset *data,
                              const rer_options *given, const rer_outputs *given_outputs, rer_error *error)
{
    rer_error_clear(error);
    rer_status status = rer_options_take(options, given, error);
    if (status == RER_OK)
        status = rer_struct_take(outputs, sizeof *outputs, given_outputs, "rer_outputs", error);
    return status == RER_OK ? rer_dataset_check(data, error) : status;
}

rer_status rer_analyze(rer_result **result, const rer_dataset *data, const rer_options *given,
                       const rer_outputs *given_outputs, const rer_progress *progress, rer_error *error)
{
    rer_options options;
    rer_outputs outputs;
    rer_status status = take_inputs(&options, &outputs, data, given, given_outputs, error);
    return status == RER_OK ? analyze(result, data, &options, outputs.errors, progress, error) : status;
}

/* ---- new rows against a model ------------------------------------------------------------ */

/* The data's classes in the model's numbers: map [data's C]. */
static rer_status match_classes(int32_t *map, const rer_model *model, const rer_dataset *data, rer_error *error)
{
    rer_status status = rer_labels_match(map, &data->labels, model->names, model->C, error);
    for (int32_t c = 0; status == RER_OK && c < data->labels.C; c++) {
        const char *name = data->labels.names.bytes + data->labels.names.offset[c];
        char quoted[80];
        if (map[c] < 0)
            status =
                rer_fail(error, RER_BAD_INPUT, "%s: the model has no class '%s'; it has %d classes, among them '%.60s'",
                         data->features.name, rer_quote(quoted, sizeof quoted, name, (int64_t)strlen(name)), model->C,
                         model->names[0]);
    }
    return status;
}

static rer_status give_labels(rer_result *result, const rer_model *model, const rer_dataset *data, rer_error *error)
{
    int32_t *map = NULL;
    if (data->labels.codes == NULL)
        return RER_OK;
    rer_status status = rer_allocate(&map, data->labels.C, sizeof *map, "classes", error);
    if (status == RER_OK)
        status = match_classes(map, model, data, error);
    for (int64_t row = 0; status == RER_OK && row < data->N; row++)
        if (data->labels.codes[row] >= 0)
            result->given[row] = map[data->labels.codes[row]];
    free(map);
    return status;
}

static rer_status score(rer_result **result, const rer_model *model, const rer_dataset *data,
                        const rer_options *options, const char *errors_path, const rer_progress *progress,
                        rer_error *error)
{
    double started = rer_now();
    rer_result *made = NULL;
    if (data->D != model->D)
        return rer_fail(error, RER_BAD_INPUT, "%s: rows have %lld features, but the model was fitted on %lld",
                        data->features.name, (long long)data->D, (long long)model->D);
    rer_status status = rer_result_make(&made, data->N, model->C, options, error);
    if (status != RER_OK)
        return status;
    rer_run run = {0};
    status = rer_run_start(&run, made, data, options, progress, error);
    if (status == RER_OK)
        status = rer_result_copy_names(made, model->names, NULL, error);
    if (status == RER_OK)
        status = give_labels(made, model, data, error);
    if (status == RER_OK)
        status = score_and_judge(made, model, NULL, &run, errors_path, error);
    rer_pool_close(run.pool);
    if (status != RER_OK) {
        rer_result_free(made);
        return status;
    }
    finish_summary(made, model, data, started);
    *result = made;
    return RER_OK;
}

rer_status rer_score(rer_result **result, const rer_model *model, const rer_dataset *data, const rer_options *given,
                     const rer_outputs *given_outputs, const rer_progress *progress, rer_error *error)
{
    rer_options options;
    rer_outputs outputs;
    rer_status status = take_inputs(&options, &outputs, data, given, given_outputs, error);
    return status == RER_OK ? score(result, model, data, &options, outputs.errors, progress, error) : status;
}
