/* scale.csv, scale.json, scale.svg, scale_error.svg and scale.html: points and laws of rer_scale. */
#include "report/folder.h"
#include "report/json_values.h"
#include "studies/scale/page.h"

#include <math.h>

static const char *const names[RER_MEASURES] = {"chi", "chi0", "chi_rand", "error_rate"};

/* ---- scale.csv ------------------------------------------------------------------------------ */

static void put_cell(rer_writer *writer, double value)
{
    rer_put(writer, ",");
    if (!isnan(value))
        rer_put_format(writer, "%.10g", value);
}

static rer_status write_csv(rer_writer *writer, const void *context)
{
    const rer_scaling *scaling = context;
    rer_put(writer, "n,rows,subsets");
    for (int m = 0; m < RER_MEASURES; m++)
        rer_put_format(writer, ",%s,%s_sd,%s_law", names[m], names[m], names[m]);
    rer_put(writer, "\n");
    for (int i = 0; i < scaling->count; i++) {
        const rer_scale_point *point = &scaling->points[i];
        rer_put_format(writer, "%.10g,%lld,%d", point->n, (long long)point->rows, point->subsets);
        for (int m = 0; m < RER_MEASURES; m++) {
            put_cell(writer, point->mean[m]);
            put_cell(writer, point->deviation[m]);
            put_cell(writer, rer_scale_law_at(&scaling->laws[m], point->n));
        }
        rer_put(writer, "\n");
    }
    return writer->status;
}

/* ---- scale.json ----------------------------------------------------------------------------- */

static json_t *point_object(const rer_scale_point *point)
{
    char deviation[32];
    json_t *object = rer_json_add_real(json_object(), "n", point->n);
    object = rer_json_add_integer(object, "rows", point->rows);
    object = rer_json_add_integer(object, "subsets", point->subsets);
    for (int m = 0; m < RER_MEASURES; m++) {
        (void)snprintf(deviation, sizeof deviation, "%s_sd", names[m]);
        object = rer_json_add_real(object, names[m], point->mean[m]);
        object = rer_json_add_real(object, deviation, point->deviation[m]);
    }
    return object;
}

static json_t *points_array(const rer_scaling *scaling)
{
    json_t *array = json_array();
    for (int i = 0; i < scaling->count; i++)
        array = rer_json_append(array, point_object(&scaling->points[i]));
    return array;
}

static json_t *interval_array(rer_interval interval)
{
    return rer_json_append(rer_json_append(json_array(), rer_json_real(interval.low)), rer_json_real(interval.high));
}

/* The limit is called chi_inf for chi, and so on; `now` is the value of the whole data. */
static json_t *add_law(json_t *object, const rer_scale_law *law, const char *limit, double now)
{
    object = rer_json_add_real(object, limit, law->limit);
    object = rer_json_add_real(object, "gamma0", law->gamma0);
    object = rer_json_add_real(object, "gamma1", law->gamma1);
    object = rer_json_add_real(object, "gamma2", law->gamma2);
    object = rer_json_add_real(object, "r2", law->r2);
    object = rer_json_add_real(object, "finite_size", now - law->limit);
    object = rer_json_set(object, "gamma0_fitted", json_boolean(law->is_free));
    json_t *intervals = rer_json_set(json_object(), limit, interval_array(law->limit_within));
    intervals = rer_json_set(intervals, "gamma0", interval_array(law->gamma0_within));
    intervals = rer_json_set(intervals, "gamma1", interval_array(law->gamma1_within));
    intervals = rer_json_set(intervals, "gamma2", interval_array(law->gamma2_within));
    return rer_json_set(object, "intervals", intervals);
}

static json_t *forecast_object(const rer_scaling *scaling, double n)
{
    rer_forecast forecast = rer_scaling_forecast(scaling, n);
    json_t *object = rer_json_add_real(json_object(), "n", forecast.n);
    for (int m = 0; m < RER_MEASURES; m++)
        object = rer_json_add_real(object, names[m], forecast.value[m]);
    return rer_json_add_real(object, "accuracy", forecast.accuracy);
}

rer_status rer_scaling_json(const rer_scaling *scaling, char **json, rer_error *error)
{
    static const char *const limits[RER_MEASURES] = {"chi_inf", "chi0_inf", "chi_rand_inf", "error_rate_inf"};
    const rer_scale_point *now = &scaling->points[scaling->count - 1];
    rer_error_clear(error);
    json_t *root = rer_json_add_text(json_object(), "version", rer_version());
    root = rer_json_add_integer(root, "n_samples", scaling->N);
    root = rer_json_add_integer(root, "n_features", scaling->D);
    root = rer_json_add_integer(root, "n_classes", scaling->C);
    root = rer_json_add_integer(root, "n_labelled", scaling->labelled);
    root = rer_json_add_real(root, "shrinkage", scaling->shrinkage);
    root = rer_json_set(root, "points", points_array(scaling));
    root = add_law(root, &scaling->laws[RER_CHI], limits[RER_CHI], now->mean[RER_CHI]);
    for (int m = RER_CHI0; m < RER_MEASURES; m++)
        root = rer_json_set(root, names[m], add_law(json_object(), &scaling->laws[m], limits[m], now->mean[m]));
    json_t *forecasts = rer_json_set(json_object(), "prune", forecast_object(scaling, rer_scaling_pruned(scaling)));
    forecasts = rer_json_set(forecasts, "collect", forecast_object(scaling, rer_scaling_collected(scaling)));
    root = rer_json_set(root, "forecasts", forecasts);
    json_t *seconds = rer_json_add_real(json_object(), "whole", scaling->seconds_whole);
    root = rer_json_set(root, "seconds", rer_json_add_real(seconds, "total", scaling->seconds));
    root = rer_json_set(root, "options", rer_json_options(&scaling->options, "scale"));
    root = rer_json_set(root, "notes", rer_json_texts(scaling->notes.text, scaling->notes.count));
    return rer_json_text(json, root, "scale.json", error);
}

static rer_status write_json(rer_writer *writer, const void *context)
{
    char *json = NULL;
    rer_status status = rer_scaling_json(context, &json, writer->error);
    if (status != RER_OK)
        return status;
    rer_put(writer, json);
    rer_put(writer, "\n");
    free(json);
    return writer->status;
}

/* ---- scale.svg, scale_error.svg --------------------------------------------------------------- */

#define CURVE_POINTS 120
#define BEYOND 4.0 /* how far past the whole data the law is drawn */

typedef struct measure_curve {
    double n[RER_SCALE_POINTS_MAX], y[RER_SCALE_POINTS_MAX];
    double low[RER_SCALE_POINTS_MAX], high[RER_SCALE_POINTS_MAX];
    double law_n[CURVE_POINTS], law[CURVE_POINTS];
} measure_curve;

/* The points of a measure with a standard deviation to either side, and its law, as two series. */
static void draw_measure(rer_series series[2], measure_curve *curve, const rer_scaling *scaling, int measure,
                         const char *name)
{
    int count = scaling->count, color = measure % RER_ERROR_RATE + 1;
    double first = scaling->points[0].n, last = BEYOND * scaling->points[count - 1].n;
    for (int i = 0; i < count; i++) {
        const rer_scale_point *point = &scaling->points[i];
        curve->n[i] = point->n;
        curve->y[i] = point->mean[measure];
        curve->low[i] = point->mean[measure] - point->deviation[measure];
        curve->high[i] = point->mean[measure] + point->deviation[measure];
    }
    for (int k = 0; k < CURVE_POINTS; k++) {
        curve->law_n[k] = first * pow(last / first, (double)k / (CURVE_POINTS - 1));
        curve->law[k] = rer_scale_law_at(&scaling->laws[measure], curve->law_n[k]);
    }
    series[0] = (rer_series){.kind = RER_POINTS,
                             .name = name,
                             .n = count,
                             .x = curve->n,
                             .y = curve->y,
                             .low = curve->low,
                             .high = curve->high,
                             .color = color};
    series[1] = (rer_series){
        .kind = RER_LINE, .n = CURVE_POINTS, .x = curve->law_n, .y = curve->law, .color = color, .dashed = true};
}

void rer_scaling_put_chart(rer_writer *writer, const rer_scaling *scaling, rer_chart_putter *put)
{
    enum { SHOWN = RER_ERROR_RATE };
    static const char *const titles[SHOWN] = {"χ", "χ₀", "χ rand"};
    measure_curve curves[SHOWN];
    rer_series series[2 * SHOWN];
    for (int m = 0; m < SHOWN; m++)
        draw_measure(series + 2 * m, &curves[m], scaling, m, titles[m]);
    rer_reference limit = {.value = scaling->laws[RER_CHI].limit, .label = "χ, unlimited data"};
    rer_chart chart = {
        .title = "Difficulty against sample size",
        .x = {.title = "samples of a class", .log = true},
        .y = {.title = "ratio of errors"},
        .series = series,
        .n_series = 2 * SHOWN,
        .references = &limit,
        .n_references = isnan(limit.value) ? 0 : 1,
    };
    put(writer, &chart);
}

void rer_scaling_put_error_chart(rer_writer *writer, const rer_scaling *scaling, rer_chart_putter *put)
{
    measure_curve curve;
    rer_series series[2];
    draw_measure(series, &curve, scaling, RER_ERROR_RATE, NULL);
    rer_reference limit = {.value = scaling->laws[RER_ERROR_RATE].limit, .label = "unlimited data"};
    rer_chart chart = {
        .title = "Left-out error against sample size",
        .x = {.title = "samples of a class", .log = true},
        .y = {.title = "nearest class is not the given one", .percent = true},
        .series = series,
        .n_series = 2,
        .references = &limit,
        .n_references = isnan(limit.value) ? 0 : 1,
    };
    put(writer, &chart);
}

static rer_status write_chart(rer_writer *writer, const void *context)
{
    rer_scaling_put_chart(writer, context, rer_chart_put_alone);
    return writer->status;
}

static rer_status write_error_chart(rer_writer *writer, const void *context)
{
    rer_scaling_put_error_chart(writer, context, rer_chart_put_alone);
    return writer->status;
}

rer_status rer_scaling_write(const rer_scaling *scaling, const char *folder, rer_error *error)
{
    static const rer_folder_file files[] = {
        {"scale.csv", write_csv},
        {"scale.svg", write_chart},
        {"scale_error.svg", write_error_chart},
        {"scale.html", rer_scaling_put_page},
        {"scale.json", write_json},
    };
    rer_error_clear(error);
    return rer_folder_write(folder, files, sizeof files / sizeof *files, scaling, error);
}
