/* scale.csv, scale.json, scale.svg, scale_error.svg and scale.html: points and laws of rer_scale. */
#include "core/files.h"
#include "core/json.h"
#include "studies/scale/page.h"

static const char *const names[RER_MEASURES] = {"chi", "chi0", "chi_rand", "error_rate"};

/* ---- scale.csv ------------------------------------------------------------------------------ */

static void put_csv(rer_writer *writer, const void *what, int which)
{
    enum { DIGITS = 10 };
    const rer_scaling *scaling = what;
    (void)which;
    rer_put(writer, "n,rows,subsets");
    for (int m = 0; m < RER_MEASURES; m++)
        rer_put_format(writer, ",%s,%s_sd,%s_law", names[m], names[m], names[m]);
    rer_csv_end(writer);
    for (int i = 0; i < scaling->count; i++) {
        const rer_scale_point *point = &scaling->points[i];
        rer_csv_real(writer, point->n, DIGITS);
        rer_csv_integer(writer, point->rows);
        rer_csv_integer(writer, point->subsets);
        for (int m = 0; m < RER_MEASURES; m++) {
            rer_csv_real(writer, point->mean[m], DIGITS);
            rer_csv_real(writer, point->deviation[m], DIGITS);
            rer_csv_real(writer, rer_scale_law_at(&scaling->laws[m], point->n), DIGITS);
        }
        rer_csv_end(writer);
    }
}

/* ---- scale.json ----------------------------------------------------------------------------- */

static void put_point(rer_json *json, const rer_scale_point *point)
{
    rer_json_object(json, NULL);
    rer_json_real(json, "n", point->n);
    rer_json_integer(json, "rows", point->rows);
    rer_json_integer(json, "subsets", point->subsets);
    for (int m = 0; m < RER_MEASURES; m++) {
        char deviation[32];
        (void)snprintf(deviation, sizeof deviation, "%s_sd", names[m]);
        rer_json_real(json, names[m], point->mean[m]);
        rer_json_real(json, deviation, point->deviation[m]);
    }
    rer_json_end(json);
}

/* The limit is called chi_inf for chi, and so on. */
static void put_law(rer_json *json, const rer_scaling *scaling, int m)
{
    const rer_scale_law *law = &scaling->laws[m];
    char limit[32];
    (void)snprintf(limit, sizeof limit, "%s_inf", names[m]);
    rer_json_real(json, limit, law->limit);
    rer_json_real(json, "gamma0", law->gamma0);
    rer_json_real(json, "gamma1", law->gamma1);
    rer_json_real(json, "gamma2", law->gamma2);
    rer_json_real(json, "r2", law->r2);
    rer_json_real(json, "finite_size", scaling->points[scaling->count - 1].mean[m] - law->limit);
    rer_json_bool(json, "gamma0_fitted", law->is_free);
    rer_json_object(json, "intervals");
    rer_json_interval(json, limit, law->limit_within);
    rer_json_interval(json, "gamma0", law->gamma0_within);
    rer_json_interval(json, "gamma1", law->gamma1_within);
    rer_json_interval(json, "gamma2", law->gamma2_within);
    rer_json_end(json);
}

static void put_forecast(rer_json *json, const char *name, const rer_scaling *scaling, double n)
{
    rer_forecast forecast = rer_scaling_forecast(scaling, n);
    rer_json_object(json, name);
    rer_json_real(json, "n", forecast.n);
    for (int m = 0; m < RER_MEASURES; m++)
        rer_json_real(json, names[m], forecast.value[m]);
    rer_json_real(json, "accuracy", forecast.accuracy);
    rer_json_end(json);
}

static void put_json(rer_writer *writer, const void *what, int which)
{
    const rer_scaling *scaling = what;
    rer_json json = {.writer = writer};
    (void)which;
    rer_json_object(&json, NULL);
    rer_json_text(&json, "version", rer_version());
    rer_json_integer(&json, "n_samples", scaling->N);
    rer_json_integer(&json, "n_features", scaling->D);
    rer_json_integer(&json, "n_classes", scaling->C);
    rer_json_integer(&json, "n_labelled", scaling->labelled);
    rer_json_real(&json, "shrinkage", scaling->shrinkage);
    rer_json_array(&json, "points");
    for (int i = 0; i < scaling->count; i++)
        put_point(&json, &scaling->points[i]);
    rer_json_end(&json);
    put_law(&json, scaling, RER_CHI);
    for (int m = RER_CHI0; m < RER_MEASURES; m++) {
        rer_json_object(&json, names[m]);
        put_law(&json, scaling, m);
        rer_json_end(&json);
    }
    rer_json_object(&json, "forecasts");
    put_forecast(&json, "prune", scaling, rer_scaling_pruned(scaling));
    put_forecast(&json, "collect", scaling, rer_scaling_collected(scaling));
    rer_json_end(&json);
    rer_json_object(&json, "seconds");
    rer_json_real(&json, "whole", scaling->seconds_whole);
    rer_json_real(&json, "total", scaling->seconds);
    rer_json_end(&json);
    rer_json_options(&json, "options", &scaling->options, "scale");
    rer_json_texts(&json, "notes", scaling->notes.text, scaling->notes.count);
    rer_json_end(&json);
}

rer_status rer_scaling_json(const rer_scaling *scaling, char **json, rer_error *error)
{
    return rer_file_text(json, put_json, scaling, error);
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

void rer_scaling_put_chart(rer_writer *writer, const void *what, int which)
{
    static const char *const titles[RER_MEASURES] = {"χ", "χ₀", "χ rand", NULL};
    const rer_scaling *scaling = what;
    bool is_error = which == RER_SCALE_ERROR_CHART;
    int first = is_error ? RER_ERROR_RATE : RER_CHI, shown = is_error ? 1 : RER_ERROR_RATE;
    measure_curve curves[RER_MEASURES];
    rer_series series[2 * RER_MEASURES];
    for (int i = 0; i < shown; i++)
        draw_measure(series + 2 * i, &curves[i], scaling, first + i, titles[first + i]);
    rer_reference limit = {.value = scaling->laws[first].limit,
                           .label = is_error ? "unlimited data" : "χ, unlimited data"};
    rer_chart chart = {
        .title = is_error ? "Nearest-class error against sample size" : "χ against sample size",
        .x = {.title = "samples of a class", .log = true},
        .y = {.title = is_error ? "samples nearest to another class" : "χ: own over other distance",
              .percent = is_error},
        .series = series,
        .n_series = 2 * shown,
        .references = &limit,
        .n_references = isnan(limit.value) ? 0 : 1,
    };
    rer_frame_chart(writer, &chart);
}

rer_status rer_scaling_write(const rer_scaling *scaling, const char *folder, rer_error *error)
{
    static const rer_file files[] = {
        {"scale.csv", put_csv, 0, 0},
        {"scale.svg", rer_scaling_put_chart, RER_SCALE_CHART, 0},
        {"scale_error.svg", rer_scaling_put_chart, RER_SCALE_ERROR_CHART, 0},
        {"scale.html", rer_scaling_put_page, 0, 0},
        {"scale.json", put_json, 0, 0},
    };
    const rer_folder content = {.command = "scale", .files = files, .count = RER_COUNT(files), .what = scaling};
    return rer_folder_write(folder, &content, error);
}
