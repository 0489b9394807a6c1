/* How difficulty depends on sample size. In steps:
 *   1. the whole data is analysed: the last point;
 *   2. each repeat puts the rows of every class into a random order; the first n of them make the
 *      subset of size n, so that the subsets of a repeat are nested;
 *   3. the classes are modelled by the rows of a subset alone, and all rows are scored: those of the
 *      subset left out, the others as they are. With centroid the metric is a yardstick and stays that
 *      of the whole data (nested.c); other reconstructors are fitted anew;
 *   4. chi, chi0, chi_rand and the error rate, mean over repeats, follow a law in n (stats/scaling_law.c). */
#include "studies/scale/scaling.h"

#include "core/random.h"
#include "fit/row_sample.h"
#include "run/class_rows.h"
#include "run/result.h"
#include "score/pace.h"
#include "score/score.h"
#include "studies/scale/nested.h"

#define FEW_POINTS 6

typedef struct scale_run {
    rer_scaling *scaling;
    rer_run run;
    rer_options options;
    rer_result *whole; /* of all data */
    int32_t *given;    /* [N] labels of the rows that a model is fitted on, or that are scored: run.given */
    rer_scores scores; /* of the point at hand: own, other, nearest */
    rer_class_rows classes;
    int64_t *place; /* [N] of a row in its class's random order */
    bool *fitted;   /* [N] rows of the subset */
    rer_nested nested;
} scale_run;

/* ---- progress: each analysis is a part of the whole -------------------------------------------- */

typedef struct part_progress {
    const rer_progress *outer;
    double from, span;
} part_progress;

static bool report_part(void *context, const char *stage, double fraction)
{
    const part_progress *part = context;
    return part->outer->report(part->outer->context, stage, part->from + part->span * fraction);
}

/* Each part of the work counts from 0 to 1. */
static void begin_part(part_progress *part, const scale_run *scale)
{
    part->from += part->span;
    rer_pool_begin_part(scale->run.pool);
}

/* Of the time: with means as models a repeat takes about 2.3 times as long as scoring all rows, with others each of its
 * fits about half as long as the whole. */
static double share_of_whole(const scale_run *scale, const rer_dataset *data, bool is_closed_form)
{
    rer_run run = {.data = data, .options = &scale->options, .N = data->N, .D = data->D, .columns = data->D};
    run.C = data->labels.C;
    rer_pace pace = rer_pace_of(&run, true, false);
    double whole = 0;
    for (int i = 0; i < RER_PACE_STAGES; i++)
        whole += pace.cost[i];
    double repeat = is_closed_form ? 2.3 * pace.cost[RER_PACE_SCORING] : .5 * FEW_POINTS * whole;
    return whole / (whole + scale->scaling->options.repeats * repeat);
}

/* ---- sizes --------------------------------------------------------------------------------- */

static int64_t subset_rows(const rer_class_rows *classes, int64_t n)
{
    int64_t rows = 0;
    for (int32_t c = 0; c < classes->C; c++)
        rows += rer_min(n, rer_class_size(classes, c));
    return rows;
}

/* A size is of use where half the classes have so many rows and a tenth of all rows stays outside. */
static bool is_usable(const rer_class_rows *classes, int64_t labelled, int64_t n)
{
    int32_t large = 0;
    for (int32_t c = 0; c < classes->C; c++)
        large += rer_class_size(classes, c) >= n;
    return n >= 2 && 2 * large >= classes->C && 10 * subset_rows(classes, n) <= 9 * labelled;
}

#define SIZES_WANTED 5

static void choose_sizes(scale_run *scale)
{
    static const int64_t small[] = {3, 4, 5, 6, 8, 10, 14}, usual[] = {20, 30, 40, 60, 80, 100, 140, 200};
    enum { N_SMALL = sizeof small / sizeof *small, N_USUAL = sizeof usual / sizeof *usual };
    int n_usual = 0, n_small = 0;
    while (n_usual < N_USUAL && is_usable(&scale->classes, scale->scaling->labelled, usual[n_usual]))
        n_usual++;
    while (n_small < N_SMALL && is_usable(&scale->classes, scale->scaling->labelled, small[n_small]))
        n_small++;
    int extra = (int)rer_min(n_small, rer_max(0, SIZES_WANTED - n_usual));
    for (int i = 0; i < extra; i++)
        scale->nested.sizes[scale->nested.count++] = small[n_small - extra + i];
    for (int i = 0; i < n_usual; i++)
        scale->nested.sizes[scale->nested.count++] = usual[i];
}

static rer_status set_sizes(scale_run *scale, rer_error *error)
{
    const int32_t *asked = scale->options.sizes;
    rer_scaling *scaling = scale->scaling;
    if (asked[0] == 0)
        choose_sizes(scale);
    for (int i = 0; i < RER_NESTED_MAX && asked[i] > 0; i++) {
        if (is_usable(&scale->classes, scaling->labelled, asked[i]))
            scale->nested.sizes[scale->nested.count++] = asked[i];
        else
            RER_TRY(rer_notes_add(&scaling->notes, error,
                                  "n = %d is left out: fewer than half of the classes have so many samples, or "
                                  "hardly any would be left over",
                                  asked[i]));
    }
    if (scale->nested.count < 2)
        return rer_fail(error, RER_BAD_INPUT,
                        "%s: %s usable sample size%s; at least two are needed. %lld labelled samples are %.1f a class; "
                        "give --sizes N,N,... below that, or more data",
                        scale->run.data->labels.source != NULL ? scale->run.data->labels.source : "labels",
                        scale->nested.count == 0 ? "no" : "only one", scale->nested.count == 0 ? "" : " is there",
                        (long long)scaling->labelled, (double)scaling->labelled / scaling->C);
    return RER_OK;
}

/* ---- points -------------------------------------------------------------------------------- */

/* A random order in every class; a row's place in it says from which n on it belongs to the subset. */
static rer_status draw_order(scale_run *scale, int32_t repeat, rer_error *error)
{
    rer_class_rows *classes = &scale->classes;
    rer_class_rows_free(classes);
    RER_TRY(rer_class_rows_make(classes, &scale->run, error));
    for (int32_t c = 0; c < classes->C; c++) {
        int64_t *rows = classes->rows + classes->start[c], n = rer_class_size(classes, c);
        uint64_t key = (uint64_t)repeat << 32 | (uint32_t)c;
        rer_random_shuffle(rows, n, scale->options.seed, RER_RANDOM_SUBSET, key);
        for (int64_t i = 0; i < n; i++)
            scale->place[rows[i]] = i;
    }
    return RER_OK;
}

static bool is_closed_form(const scale_run *scale)
{
    return scale->whole->model->reconstructor->is_closed_form;
}

/* values [RER_MEASURES]. */
static void measure(double *values, const rer_nested_sums *sums)
{
    double n = (double)sums->ratios.n;
    values[RER_CHI] = sums->chi / n;
    values[RER_CHI0] = sums->ratios.chi0 / n;
    values[RER_CHI_RAND] = sums->ratios.chi_rand / n;
    values[RER_ERROR_RATE] = (double)sums->wrong / n;
}

/* Rows of the subset keep their label, the others lose it until the model is fitted. */
static void mark_subset(scale_run *scale, int64_t n)
{
    const rer_result *whole = scale->whole;
    for (int64_t row = 0; row < scale->run.N; row++) {
        bool is_used = whole->given[row] >= 0 && (whole->flags[row] & RER_FLAG_INVALID) == 0;
        scale->fitted[row] = is_used && scale->place[row] < n;
        scale->given[row] = scale->fitted[row] ? whole->given[row] : RER_NO_LABEL;
    }
}

static void label_all(scale_run *scale)
{
    memcpy(scale->given, scale->whole->given, (size_t)scale->run.N * sizeof *scale->given);
}

/* Ratio and nearest class of all rows with a label. */
static void add_scores(rer_nested_sums *sums, const scale_run *scale)
{
    const rer_scores *scores = &scale->scores;
    for (int64_t row = 0; row < scale->run.N; row++)
        if (scale->given[row] >= 0 && !isnan(scores->own[row])) {
            sums->chi += rer_chi((double)scores->own[row], (double)scores->other[row]);
            sums->wrong += !(scores->own[row] <= scores->other[row]);
        }
}

static rer_status refit_subset(rer_nested_sums *sums, scale_run *scale, int64_t n, rer_error *error)
{
    rer_run *run = &scale->run;
    rer_model *model = NULL;
    rer_row_sample sample = {0};
    rer_status status = rer_model_begin(&model, run->data, &scale->options, error);
    if (status == RER_OK) {
        mark_subset(scale, n);
        status = model->reconstructor->fit(model, &sample, run, error);
        rer_row_sample_free(&sample);
    }
    if (status == RER_OK) {
        label_all(scale);
        run->fitted = scale->fitted;
        status = run->passes->score(&scale->scores, &sums->ratios, model, run, true, NULL, error);
        run->fitted = NULL;
    }
    if (status == RER_OK)
        add_scores(sums, scale);
    rer_model_free(model);
    return status;
}

/* sums [sizes] of one repeat. */
static rer_status run_repeat(rer_nested_sums *sums, scale_run *scale, part_progress *part, rer_error *error)
{
    const rer_nested *nested = &scale->nested;
    if (is_closed_form(scale)) {
        begin_part(part, scale);
        return rer_score_nested(sums, nested, scale->whole->model, &scale->run, error);
    }
    for (int s = 0; s < nested->count; s++) {
        begin_part(part, scale);
        RER_TRY(refit_subset(&sums[s], scale, nested->sizes[s], error));
    }
    return RER_OK;
}

/* Running mean and sum of squared deviations (Welford); `seen` counts the new value. */
static void add_values(rer_scale_point *point, const double *values, int32_t seen)
{
    for (int m = 0; m < RER_MEASURES; m++) {
        double difference = values[m] - point->mean[m];
        point->mean[m] += difference / seen;
        point->deviation[m] += difference * (values[m] - point->mean[m]);
    }
}

static rer_status run_points(scale_run *scale, part_progress *part, rer_error *error)
{
    rer_scaling *scaling = scale->scaling;
    const rer_nested *nested = &scale->nested;
    int32_t repeats = scaling->options.repeats;
    for (int s = 0; s < nested->count; s++) {
        int64_t rows = subset_rows(&scale->classes, nested->sizes[s]);
        scaling->points[s] = (rer_scale_point){.n = (double)rows / scaling->C, .rows = rows, .subsets = repeats};
    }
    for (int32_t repeat = 0; repeat < repeats; repeat++) {
        rer_nested_sums sums[RER_NESTED_MAX] = {0};
        double values[RER_MEASURES];
        RER_TRY(draw_order(scale, repeat, error));
        RER_TRY(run_repeat(sums, scale, part, error));
        for (int s = 0; s < nested->count; s++) {
            measure(values, &sums[s]);
            add_values(&scaling->points[s], values, repeat + 1);
        }
    }
    for (int s = 0; s < nested->count; s++)
        for (int m = 0; m < RER_MEASURES; m++) {
            double *deviation = &scaling->points[s].deviation[m];
            *deviation = repeats > 1 ? sqrt(*deviation / (repeats - 1)) : NAN;
        }
    return RER_OK;
}

static rer_status run_whole(scale_run *scale, const rer_dataset *data, const rer_progress *progress, rer_error *error)
{
    rer_scaling *scaling = scale->scaling;
    double start = rer_now();
    RER_TRY(rer_analyze(&scale->whole, data, &scaling->options, NULL, progress, error));
    const rer_summary *summary = &scale->whole->summary;
    scaling->seconds_whole = rer_now() - start;
    scaling->labelled = summary->n_labelled;
    scaling->options.normalize = scale->whole->options.normalize;
    scaling->shrinkage = summary->shrinkage;
    scaling->points[0] = (rer_scale_point){
        .n = (double)summary->n_labelled / scaling->C,
        .rows = summary->n_labelled,
        .subsets = 1,
        .mean = {summary->chi, summary->chi0, summary->chi_rand, summary->error_rate},
        .deviation = {NAN, NAN, NAN, NAN},
    };
    return RER_OK;
}

/* ---- the law ------------------------------------------------------------------------------- */

static double given_exponent(const rer_options *options, const rer_reconstructor *reconstructor)
{
    if (options->exponent == RER_FREE)
        return NAN;
    if (options->exponent == RER_PAPER)
        return rer_reconstructor_of(RER_PUBLISHED)->exponent;
    return options->exponent == RER_AUTO ? reconstructor->exponent : options->exponent;
}

static void fit_laws(rer_scaling *scaling, const rer_reconstructor *reconstructor)
{
    double n[RER_SCALE_POINTS_MAX], y[RER_SCALE_POINTS_MAX],
        exponent = given_exponent(&scaling->options, reconstructor);
    for (int m = 0; m < RER_MEASURES; m++) {
        for (int i = 0; i < scaling->count; i++) {
            n[i] = scaling->points[i].n;
            y[i] = scaling->points[i].mean[m];
        }
        scaling->laws[m] = rer_scale_law_fit(n, y, scaling->count, exponent);
    }
}

static rer_status add_notes(rer_scaling *scaling, const rer_reconstructor *reconstructor, const rer_notes *of_data,
                            rer_error *error)
{
    const rer_scale_law *law = &scaling->laws[RER_CHI];
    double first = scaling->points[0].mean[RER_CHI];
    if (scaling->count < FEW_POINTS)
        RER_TRY(rer_notes_add(&scaling->notes, error, "%d points are few for a law: take its limit as a rough guess",
                              scaling->count));
    if ((first - 1) * (law->limit - 1) < 0)
        RER_TRY(rer_notes_add(&scaling->notes, error,
                              "chi crosses 1 between n = %.0f and the limit: the law was not made for that",
                              scaling->points[0].n));
    if (reconstructor->scale_note != NULL)
        RER_TRY(rer_notes_add(&scaling->notes, error, "%s", reconstructor->scale_note));
    for (int i = 0; i < of_data->count; i++)
        RER_TRY(rer_notes_add(&scaling->notes, error, "%s", of_data->text[i]));
    return RER_OK;
}

rer_forecast rer_scaling_forecast(const rer_scaling *scaling, double n)
{
    const rer_scale_point *now = &scaling->points[scaling->count - 1];
    rer_forecast forecast = {.n = n, .accuracy = NAN};
    for (int m = 0; m < RER_MEASURES; m++) {
        const rer_scale_law *law = &scaling->laws[m];
        double value = now->mean[m] + rer_scale_law_at(law, n) - rer_scale_law_at(law, now->n);
        forecast.value[m] = value < 0 ? 0 : value; /* NaN stays */
    }
    /* The error of the user's model changes by the same factor as that of the nearest class. */
    double accuracy = scaling->options.accuracy, before = now->mean[RER_ERROR_RATE];
    double factor = before > 0 ? forecast.value[RER_ERROR_RATE] / before : 1;
    if (accuracy >= 0 && !isnan(factor))
        forecast.accuracy = 1 - fmin(1, (1 - accuracy) * factor);
    return forecast;
}

double rer_scaling_pruned(const rer_scaling *scaling)
{
    return scaling->points[scaling->count - 1].n * (1 - scaling->options.prune / 100);
}

bool rer_scaling_changes(const rer_scaling *scaling, const rer_forecast *forecast)
{
    const rer_scale_point *now = &scaling->points[scaling->count - 1];
    double error = now->mean[RER_ERROR_RATE], chance = sqrt(error * (1 - error) / (double)now->rows);
    return fabs(forecast->value[RER_ERROR_RATE] - error) >= fmax(.0005, chance);
}

double rer_scaling_collected(const rer_scaling *scaling)
{
    double now = scaling->points[scaling->count - 1].n;
    return now + (scaling->options.collect >= 0 ? scaling->options.collect : now);
}

/* ---- all of it ------------------------------------------------------------------------------ */

static rer_status allocate_run(scale_run *scale, int64_t N, rer_error *error)
{
    rer_room rooms[] = {
        RER_ROOM(scale->given, N),      RER_ROOM(scale->place, N),        RER_ROOM(scale->fitted, N),
        RER_ROOM(scale->scores.own, N), RER_ROOM(scale->scores.other, N), RER_ROOM(scale->scores.nearest, N),
    };
    return rer_allocate_all(rooms, RER_COUNT(rooms), "samples", error);
}

static rer_status start_run(scale_run *scale, const rer_dataset *data, const rer_progress *progress, rer_error *error)
{
    RER_TRY(rer_run_start(&scale->run, data, scale->given, data->labels.C, &scale->options, progress, error));
    scale->run.passes = &rer_passes_here;
    label_all(scale);
    for (int64_t row = 0; row < data->N; row++) /* invalid rows are known now */
        scale->run.invalid[row] = (scale->whole->flags[row] & RER_FLAG_INVALID) != 0;
    const rer_units *units = scale->whole->model->units;
    return units != NULL ? rer_units_enter(&scale->run, units, error) : RER_OK;
}

static rer_status run_all(scale_run *scale, const rer_dataset *data, const rer_progress *progress, rer_error *error)
{
    rer_scaling *scaling = scale->scaling;
    double whole = share_of_whole(scale, data, scaling->options.reconstructor == RER_CENTROID);
    part_progress part = {.outer = progress, .span = whole};
    rer_progress inner = {.report = report_part, .context = &part};
    const rer_progress *used = progress != NULL ? &inner : NULL;
    RER_TRY(allocate_run(scale, data->N, error));
    RER_TRY(run_whole(scale, data, used, error));
    RER_TRY(start_run(scale, data, used, error));
    scale->nested.place = scale->place;
    RER_TRY(rer_class_rows_make(&scale->classes, &scale->run, error));
    RER_TRY(set_sizes(scale, error));
    scaling->count = scale->nested.count + 1;
    scaling->points[scale->nested.count] = scaling->points[0];
    int parts = is_closed_form(scale) ? 1 : scale->nested.count;
    part.span = (1 - whole) / (parts * scaling->options.repeats);
    part.from = whole - part.span;
    RER_TRY(run_points(scale, &part, error));
    const rer_reconstructor *reconstructor = scale->whole->model->reconstructor;
    fit_laws(scaling, reconstructor);
    return add_notes(scaling, reconstructor, &data->notes, error);
}

rer_status rer_scale(rer_scaling **scaling, const rer_dataset *data, const rer_options *given,
                     const rer_progress *progress, rer_error *error)
{
    scale_run scale = {0};
    rer_scaling *made = NULL;
    double start = rer_now();
    rer_error_clear(error);
    rer_status status = rer_options_take(&scale.options, given, error);
    RER_THEN(status, rer_dataset_check_labelled(data, error));
    RER_THEN(status, rer_allocate(&made, 1, sizeof *made, "the points", error));
    if (status != RER_OK)
        return status;
    made->options = scale.options;
    made->N = data->N;
    made->D = data->D;
    made->C = data->labels.C;
    scale.scaling = made;
    if (data->features.name != NULL)
        status = rer_copy_text(&made->name, data->features.name, error);
    RER_THEN(status, run_all(&scale, data, progress, error));
    rer_run_end(&scale.run);
    rer_class_rows_free(&scale.classes);
    rer_result_free(scale.whole);
    RER_FREE_ALL(scale.given, scale.place, scale.fitted, scale.scores.own, scale.scores.other, scale.scores.nearest);
    made->seconds = rer_now() - start;
    if (status == RER_OK)
        *scaling = made;
    else
        rer_scaling_free(made);
    return status;
}

void rer_scaling_free(rer_scaling *scaling)
{
    if (scaling == NULL)
        return;
    rer_notes_free(&scaling->notes);
    RER_FREE_ALL(scaling->name, scaling);
}

int rer_scaling_count(const rer_scaling *scaling)
{
    return scaling->count;
}

const rer_scale_point *rer_scaling_point(const rer_scaling *scaling, int index)
{
    return index >= 0 && index < scaling->count ? &scaling->points[index] : NULL;
}

const rer_scale_law *rer_scaling_law(const rer_scaling *scaling, rer_measure measure)
{
    return measure >= 0 && measure < RER_MEASURES ? &scaling->laws[measure] : NULL;
}

const char *rer_scaling_note(const rer_scaling *scaling, int index)
{
    return index >= 0 && index < scaling->notes.count ? scaling->notes.text[index] : NULL;
}
