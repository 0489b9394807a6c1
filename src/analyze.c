/* The pipeline: source -> fit -> channel -> score -> judge. */
#include "channel/calibrate.h"
#include "detect/detect.h"
#include "detect/duplicates.h"
#include "device/device.h"
#include "fit/row_sample.h"
#include "fit/units.h"
#include "judge/judge.h"
#include "parts/parts.h"
#include "report/report.h"
#include "score/pace.h"
#include "score/score.h"
#include "score/second_look.h"
#include "source/texts.h"

#include <sys/resource.h>

static int64_t peak_memory(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (int64_t)usage.ru_maxrss * 1024 : 0;
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
    summary->temperature = 2 * model->channel->weight[RER_GLOBAL];
    summary->rank = model->rank;
    summary->seconds.read = data->seconds_read;
    summary->seconds.total = rer_now() - started + data->seconds_read;
    summary->peak_memory = peak_memory();
}

static rer_status note_pictures(rer_result *result, const rer_dataset *data, rer_error *error)
{
    rer_status status = RER_OK;
    if (data->skipped.count > 0)
        status = rer_result_add_note(result, error, "%lld pictures could not be read and are left out; the first: %s",
                                     (long long)data->skipped.count, rer_text(&data->skipped, 0));
    if (data->picture[0] == 0 || status != RER_OK)
        return status;
    return rer_result_add_note(result, error, "the pictures went through %s; a real encoder's features would do better",
                               result->options.features == RER_HOG ? "the built-in descriptor"
                                                                   : "no encoder (raw pixels)");
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

/* What -1 was taken for, where it could be taken for something else. */
static rer_status note_minus_one(rer_result *result, const rer_labels *labels, rer_error *error)
{
    if (labels->drops_minus_one)
        return rer_result_add_doubt(result, error,
                                    "-1 means no label, as it does where all other labels are 0 or more");
    if (labels->C < 2 || labels->C > 3 || strcmp(rer_labels_value(labels, 0), "-1") != 0)
        return RER_OK;
    const char *next = rer_labels_value(labels, 1);
    if (labels->C == 3 && strcmp(next, "0") == 0 && strcmp(rer_labels_value(labels, 2), "1") == 0)
        return rer_result_add_doubt(result, error, "-1 is a class beside 0 and 1; an empty label means none");
    bool is_number = next[0] != 0 && next[strspn(next, "0123456789")] == 0;
    if (labels->C == 2 && is_number && strcmp(next, "1") != 0) /* -1 and 1 are signs */
        return rer_result_add_doubt(result, error, "-1 is a class beside %s; an empty label means none", next);
    return RER_OK;
}

/* ---- score and judge: what rer_analyze and rer_score share --------------------------------- */

/* What scoring fills of a result, and what only judging needs: free it. */
static rer_status make_scores(rer_scores *scores, const rer_result *result, rer_error *error)
{
    bool by_density = result->options.probability == RER_DENSITY && result->options.detector == RER_DETECT_RER;
    *scores =
        (rer_scores){.own = result->own, .other = result->other, .nearest = result->suggested, .logit = result->logit};
    rer_room rooms[] = {RER_ROOM(scores->margin, result->N), RER_ROOM(scores->removed, result->N),
                        RER_ROOM(scores->flipped, result->N)};
    return rer_allocate_all(rooms, by_density ? 3 : 2, "scores", error);
}

static void free_scores(rer_scores *scores)
{
    RER_FREE_ALL(scores->margin, scores->removed, scores->flipped);
}

static rer_status score_rows(rer_findings *findings, rer_result *result, const rer_model *model, bool left_out,
                             const rer_run *run, rer_output *errors, rer_error *error)
{
    RER_TRY(make_scores(&findings->scores, result, error));
    if (!run->options->ratios_only) /* then there is no channel to suggest anything */
        RER_TRY(rer_allocate(&result->proposed, run->N, sizeof *result->proposed, "suggestions", error));
    findings->scores.proposed = result->proposed;
    RER_TRY(run->passes->score(&findings->scores, &findings->sums, model, run, left_out, errors, error));
    for (int64_t row = 0; row < run->N; row++)
        result->flags[row] |= run->invalid[row] != 0 ? RER_FLAG_INVALID : 0;
    return RER_OK;
}

/* The rows that matter are looked at again, unless the probabilities are not the channel's; and a classifier of the
 * user's own has looked at the rows beside each other already. */
static bool needs_second_look(const rer_options *options, const rer_dataset *data)
{
    return options->detector == RER_DETECT_RER && options->probability == RER_CHANNEL && data->pred_probs.name == NULL;
}

static rer_status add_notes(rer_result *result, const rer_detector *detector, bool left_out, const rer_dataset *data,
                            rer_error *error)
{
    for (int i = 0; i < data->notes.count; i++) /* how files were read: their labels may be others' */
        RER_TRY(rer_result_add_doubt(result, error, "%s", data->notes.text[i]));
    RER_TRY(note_minus_one(result, &data->labels, error));
    if (detector->name != NULL)
        RER_TRY(rer_result_add_note(result, error,
                                    "labels were judged by %s (%s); ratios, errors and predictions are the "
                                    "reconstructor's",
                                    detector->name, detector->help));
    if (!left_out && result->summary.n_labelled > 0)
        RER_TRY(rer_result_add_doubt(result, error,
                                     "labels are judged by their class models alone: a saved model has no rows for a "
                                     "second look"));
    if (!left_out)
        return RER_OK;
    RER_TRY(note_pictures(result, data, error));
    return note_clusters(result, data, error);
}

/* What is written beside the result: all of it appears together, when nothing else can fail. */
enum { ERRORS, MODEL, FOLDER, OUTPUTS };

typedef struct run_outputs {
    rer_outputs wanted;
    rer_output made[OUTPUTS];
} run_outputs;

/* `calibration` NULL: the rows are new ones. */
static rer_status score_and_judge(rer_result *result, const rer_model *model, const rer_calibration *calibration,
                                  const rer_run *run, run_outputs *outputs, rer_error *error)
{
    bool left_out = calibration != NULL;
    rer_findings findings = {0};
    rer_output *errors = outputs->wanted.errors != NULL ? &outputs->made[ERRORS] : NULL;
    rer_detector detector = {0};
    rer_verdict verdict = {0};
    double start = rer_now();
    rer_status status = RER_OK;
    if (errors != NULL)
        status = rer_errors_open(errors, outputs->wanted.errors, model->C, run->N, error);
    RER_THEN(status, score_rows(&findings, result, model, left_out, run, errors, error));
    if (status == RER_OK && left_out && needs_second_look(&result->options, run->data))
        status = rer_second_look(result, calibration, model, run, error);
    double scored = rer_now();
    const rer_run as_came = rer_units_leave(run);
    if (status == RER_OK && left_out)
        status = rer_verdict_find(&verdict, &detector, &as_came, error);
    rer_pace_enter(run, RER_PACE_SUMS);
    if (status == RER_OK && verdict.flagged != NULL) {
        rer_verdict_give(result, &verdict);
        findings.flagged = verdict.flagged;
        findings.noise_rate = verdict.noise_rate;
    }
    if (status == RER_OK && left_out)
        status = rer_usual_find(&result->model->usual, result, &findings.scores, model->D, error);
    findings.usual = model->usual;
    RER_THEN(status, rer_judge(result, &findings, run->pool, error));
    RER_THEN(status, add_notes(result, &detector, left_out, run->data, error));
    rer_verdict_free(&verdict);
    free_scores(&findings.scores);
    result->summary.seconds.score = scored - start;
    result->summary.seconds.judge = rer_now() - scored;
    return status;
}

/* ---- a data set --------------------------------------------------------------------------- */

/* What not every reconstructor can do. */
static rer_status check_abilities(const rer_model *model, const rer_dataset *data, rer_error *error)
{
    const rer_reconstructor *reconstructor = model->reconstructor;
    bool grouped = data->groups.codes != NULL || data->group_duplicates;
    if (rer_dataset_is_apart(data) && !reconstructor->is_closed_form)
        return rer_fail(error, RER_BAD_USAGE,
                        "--reconstructor %s: rows that lie in parts can be analysed by centroid only",
                        reconstructor->name);
    if (grouped && !reconstructor->is_closed_form)
        return rer_fail(error, RER_BAD_USAGE, "--groups: works with the reconstructor centroid, not with '%s'",
                        reconstructor->name);
    return RER_OK;
}

static rer_status find_groups(rer_run *run, rer_result *result, rer_error *error)
{
    const rer_dataset *data = run->data;
    rer_pace_enter(run, RER_PACE_COPIES);
    const rer_run as_came = rer_units_leave(run);
    if (run->options->duplicates != RER_OFF || data->group_duplicates)
        RER_TRY(rer_duplicates_find(result, &as_came, error));
    rer_pace_enter(run, RER_PACE_SUMS);
    run->groups = data->group_duplicates ? result->duplicate : data->groups.codes;
    return RER_OK;
}

/* Fits, calibrates, scores and judges, into a result that has labels. */
static rer_status run_stages(rer_result *result, rer_run *run, run_outputs *outputs, rer_error *error)
{
    double started = rer_now();
    rer_row_sample sample = {0};
    rer_calibration calibration = {0};
    rer_status status = rer_model_begin(&result->model, run->data, run->options, error);
    rer_model *model = result->model;
    RER_THEN(status, check_abilities(model, run->data, error));
    RER_THEN(status, find_groups(run, result, error));
    RER_THEN(status, model->reconstructor->fit(model, &sample, run, error));
    double fitted = rer_now();
    if (run->options->ratios_only) /* without any row there is nothing to search for */
        rer_row_sample_free(&sample);
    RER_THEN(status, rer_calibrate(&calibration, model, &sample, run, error));
    rer_row_sample_free(&sample);
    double calibrated = rer_now();
    RER_THEN(status, score_and_judge(result, model, &calibration, run, outputs, error));
    rer_calibration_free(&calibration);
    result->summary.seconds.fit = fitted - started;
    result->summary.seconds.judge += calibrated - fitted; /* what the labels seen say is judgement too */
    return status;
}

/* Few wide rows are analysed in their span where the metric, features x features, is what costs. Class embeddings lie
 * outside of it. */
static bool can_span(const rer_dataset *data, const rer_options *options)
{
    return rer_span_pays(data) && rer_normalize_of(options) == RER_WHITEN && options->reconstructor == RER_CENTROID &&
           !rer_dataset_is_apart(data) && data->class_embeddings == NULL;
}

/* Stages say how far the work is; this turns it into how far the time is. */
typedef struct timed {
    const rer_progress *progress;
    rer_progress by_time;
    rer_pace pace;
} timed;

static bool is_told(const timed *t)
{
    return t->progress != NULL && t->progress->report != NULL;
}

static bool report_time(void *context, const char *stage, double done)
{
    timed *t = context;
    return t->progress->report(t->progress->context, stage, rer_pace_at(&t->pace, done));
}

/* What stages tell; NULL: nobody asked. */
static const rer_progress *told_by(timed *t)
{
    t->by_time = (rer_progress){.report = report_time, .context = t};
    return is_told(t) ? &t->by_time : NULL;
}

static rer_status say_writing(timed *t, rer_error *error)
{
    t->pace.part = RER_PACE_WRITING;
    return is_told(t) && report_time(t, "writing", 0) ? rer_fail(error, RER_CANCELLED, "cancelled") : RER_OK;
}

static rer_status choose_device(rer_run *run, rer_result *result, rer_error *error)
{
    char why[RER_DEVICE_MESSAGE];
    const rer_array *rows = &run->data->features;
    RER_TRY(rer_device_open(run, why, error));
    if (*why != 0)
        RER_TRY(rer_result_add_note(result, error, "no card was used (%s): the CPU did it", why));
    bool stay = run->data->units != NULL || (run->device != NULL && run->device->in_place);
    if (rows->on_card != NULL && !stay)
        RER_TRY(rer_result_add_note(
            result, error,
            "the features lie on card %d and were copied block by block; --device cuda:%d leaves them there",
            rows->card, rows->card));
    return RER_OK;
}

static rer_status enter_units(rer_run *run, const rer_units *units, rer_result *result, rer_error *error)
{
    RER_TRY(rer_units_enter(run, units, error));
    return rer_result_add_note(result, error,
                               "the features are measurements in units of their own: each was standardised");
}

/* So that rows of another table are scored column by column. */
static rer_status keep_columns(rer_model *model, const rer_dataset *data, rer_error *error)
{
    rer_texts_builder kept = {0};
    rer_status status = RER_OK;
    for (int64_t i = 0; i < data->columns.count && status == RER_OK; i++) {
        const char *name = rer_text(&data->columns, i);
        status = rer_texts_add(&kept, name, (int64_t)strlen(name), error);
    }
    model->columns = kept.texts;
    return status;
}

/* `span` and `units` are freed by the caller where they have not become the model's. */
static rer_status run_analysis(rer_result *result, rer_run *run, rer_span **span, rer_units **units,
                               const rer_dataset *data, run_outputs *outputs, timed *times, rer_error *error)
{
    const rer_options *options = &result->options;
    RER_TRY(rer_result_copy_names(result, NULL, &data->labels.names, error));
    RER_TRY(rer_run_start(run, data, result->given, result->C, options, told_by(times), error));
    run->passes = rer_dataset_is_apart(data) ? &rer_passes_apart : &rer_passes_here;
    if (can_span(data, options))
        RER_TRY(rer_span_make(span, run, error));
    if (*span != NULL)
        RER_TRY(rer_span_enter(run, *span, true, error));
    RER_TRY(rer_units_find(units, run, error));
    if (*units != NULL)
        RER_TRY(enter_units(run, *units, result, error));
    times->pace = rer_pace_of(run, needs_second_look(options, data), outputs->wanted.folder != NULL);
    run->pace = &times->pace;
    RER_TRY(choose_device(run, result, error));
    RER_TRY(run_stages(result, run, outputs, error));
    result->model->span = *span;
    result->model->units = *units;
    *span = NULL;
    *units = NULL;
    return keep_columns(result->model, data, error);
}

/* *result is freed by the caller, on failure too. */
static rer_status analyze(rer_result **result, const rer_dataset *data, const rer_options *options,
                          run_outputs *outputs, timed *times, rer_error *error)
{
    double started = rer_now();
    rer_run run = {0};
    rer_span *span = NULL;
    rer_units *units = NULL;
    RER_TRY(rer_dataset_check_labelled(data, error));
    RER_TRY(rer_result_make(result, data->N, data->labels.C, options, error));
    rer_result *made = *result;
    memcpy(made->given, data->labels.codes, (size_t)data->N * sizeof *made->given);
    rer_status status = run_analysis(made, &run, &span, &units, data, outputs, times, error);
    rer_device_close(&run);
    rer_run_end(&run);
    rer_span_free(span);
    rer_units_free(units);
    times->pace.part = RER_PACE_DETAILS;
    if (status == RER_OK && (options->details || data->subsets.codes != NULL))
        status = rer_result_detail(made, data, told_by(times), error);
    if (status == RER_OK && outputs->wanted.folder != NULL)
        status = say_writing(times, error);
    if (status == RER_OK)
        finish_summary(made, made->model, data, started);
    return status;
}

/* What rer_analyze and rer_score begin with. */
static rer_status take_inputs(rer_options *options, rer_outputs *outputs, const rer_dataset *data,
                              const rer_options *given, const rer_outputs *given_outputs, rer_error *error)
{
    rer_error_clear(error);
    RER_TRY(rer_options_take(options, given, error));
    RER_TRY(rer_struct_take(outputs, sizeof *outputs, given_outputs, "rer_outputs", error));
    if (outputs->folder != NULL)
        RER_TRY(rer_check_output(outputs->folder, "analyze", error));
    return rer_dataset_check(data, error);
}

static bool is_cancelled(const timed *t)
{
    return is_told(t) && t->progress->report(t->progress->context, "writing", 1);
}

/* What they end with: the outputs take their names, and `made` becomes the caller's; or neither. */
static rer_status give(rer_result **result, rer_result *made, const rer_dataset *data, run_outputs *outputs,
                       timed *times, rer_status status, rer_error *error)
{
    const rer_outputs *wanted = &outputs->wanted;
    const rer_model *model = made != NULL ? made->model : NULL;
    if (status == RER_OK && wanted->model != NULL)
        status = rer_model_stage(&outputs->made[MODEL], model, wanted->model, error);
    if (status == RER_OK && wanted->folder != NULL)
        status = rer_result_stage(&outputs->made[FOLDER], made, data, wanted->folder, told_by(times), error);
    if (status == RER_OK && (wanted->model != NULL || wanted->folder != NULL) && is_cancelled(times))
        status = rer_fail(error, RER_CANCELLED, "cancelled");
    if (status == RER_OK)
        status = rer_outputs_commit(outputs->made, OUTPUTS, error);
    for (int i = 0; i < OUTPUTS; i++)
        rer_output_discard(&outputs->made[i]);
    if (status == RER_OK)
        *result = made;
    else
        rer_result_free(made);
    return status;
}

rer_status rer_analyze(rer_result **result, const rer_dataset *data, const rer_options *given,
                       const rer_outputs *given_outputs, const rer_progress *progress, rer_error *error)
{
    rer_options options;
    run_outputs outputs = {0};
    timed times = {.progress = progress};
    rer_result *made = NULL;
    rer_status status = take_inputs(&options, &outputs.wanted, data, given, given_outputs, error);
    RER_THEN(status, analyze(&made, data, &options, &outputs, &times, error));
    return give(result, made, data, &outputs, &times, status, error);
}

/* ---- new rows against a model ------------------------------------------------------------ */

static const char *name_of(const rer_model *model)
{
    return model->source != NULL ? model->source : "the model";
}

/* The data's classes in the model's numbers: map [data's C]. */
static rer_status match_classes(int32_t *map, const rer_model *model, const rer_dataset *data, rer_error *error)
{
    RER_TRY(rer_labels_match(map, &data->labels, model->names, model->C, error));
    for (int32_t c = 0; c < data->labels.C; c++) {
        const char *name = data->labels.names.bytes + data->labels.names.offset[c];
        if (map[c] < 0)
            return rer_fail(error, RER_BAD_INPUT, "%s: %s has no class '%s'; it has %d classes, among them '%.60s'",
                            data->labels.source != NULL ? data->labels.source : "labels", name_of(model),
                            RER_QUOTED(name), model->C, model->names[0]);
    }
    return RER_OK;
}

static rer_status check_columns(const rer_model *model, const rer_dataset *data, rer_error *error)
{
    int64_t D = rer_model_columns(model);
    if (data->D != D)
        return rer_fail(error, RER_BAD_INPUT, "%s: rows have %lld features, but %s was fitted on %lld",
                        data->features.name, (long long)data->D, name_of(model), (long long)D);
    if (data->columns.count != model->columns.count) /* one of them has no names */
        return RER_OK;
    for (int64_t i = 0; i < model->columns.count; i++) {
        const char *given = rer_text(&data->columns, i), *fitted = rer_text(&model->columns, i);
        if (strcmp(given, fitted) != 0)
            return rer_fail(error, RER_BAD_INPUT,
                            "%s: feature %lld is the column '%s', but %s was fitted on '%s' there; give the columns "
                            "that it was fitted on in their order, or leave their names out",
                            data->features.name, (long long)(i + 1), RER_QUOTED(given), name_of(model),
                            RER_QUOTED(fitted));
    }
    return RER_OK;
}

static rer_status give_labels(rer_result *result, const rer_model *model, const rer_dataset *data, rer_error *error)
{
    int32_t *map = NULL;
    if (data->labels.codes == NULL)
        return RER_OK;
    rer_status status = rer_allocate(&map, data->labels.C, sizeof *map, "classes", error);
    RER_THEN(status, match_classes(map, model, data, error));
    for (int64_t row = 0; status == RER_OK && row < data->N; row++)
        if (data->labels.codes[row] >= 0)
            result->given[row] = map[data->labels.codes[row]];
    free(map);
    return status;
}

static rer_status run_scoring(rer_result *result, rer_run *run, const rer_model *model, const rer_dataset *data,
                              run_outputs *outputs, timed *times, rer_error *error)
{
    RER_TRY(rer_run_start(run, data, result->given, result->C, &result->options, told_by(times), error));
    run->passes = &rer_passes_here;
    if (model->span != NULL)
        RER_TRY(rer_span_enter(run, model->span, false, error));
    if (model->units != NULL)
        RER_TRY(rer_units_enter(run, model->units, error));
    times->pace = rer_pace_of_scoring(run, outputs->wanted.folder != NULL);
    run->pace = &times->pace;
    RER_TRY(rer_result_copy_names(result, model->names, NULL, error));
    RER_TRY(give_labels(result, model, data, error));
    return score_and_judge(result, model, NULL, run, outputs, error);
}

/* *result is freed by the caller, on failure too. */
static rer_status score(rer_result **result, const rer_model *model, const rer_dataset *data,
                        const rer_options *options, run_outputs *outputs, timed *times, rer_error *error)
{
    double started = rer_now();
    rer_run run = {0};
    RER_TRY(check_columns(model, data, error));
    RER_TRY(rer_result_make(result, data->N, model->C, options, error));
    rer_status status = run_scoring(*result, &run, model, data, outputs, times, error);
    rer_run_end(&run);
    if (status == RER_OK && outputs->wanted.folder != NULL)
        status = say_writing(times, error);
    if (status == RER_OK)
        finish_summary(*result, model, data, started);
    return status;
}

rer_status rer_score(rer_result **result, const rer_model *model, const rer_dataset *data, const rer_options *given,
                     const rer_outputs *given_outputs, const rer_progress *progress, rer_error *error)
{
    rer_options options;
    run_outputs outputs = {0};
    timed times = {.progress = progress};
    rer_result *made = NULL;
    rer_status status = take_inputs(&options, &outputs.wanted, data, given, given_outputs, error);
    if (status == RER_OK && outputs.wanted.model != NULL)
        status = rer_fail(error, RER_BAD_USAGE, "rer_outputs.model: rer_score fits none; rer_analyze does");
    RER_THEN(status, score(&made, model, data, &options, &outputs, &times, error));
    return give(result, made, data, &outputs, &times, status, error);
}
