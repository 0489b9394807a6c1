/* class_details.csv, subset_details.csv, transitions.csv, pair_details.csv, extremes.csv, details.json and
 * three distributions as SVG. */
#include "run/details.h"
#include "core/json.h"
#include "judge/judge.h"
#include "report/frame.h"
#include "report/report.h"
#include "stats/order.h"

#define EXTREMES 50

/* ---- portions --------------------------------------------------------------------------------- */

#define OF_PORTION(member) RER_FIELD(rer_portion, member)
#define OF_SPREAD(member) RER_FIELD(rer_spread, member)

static const rer_field portion_start[] = {OF_PORTION(name), OF_PORTION(n), OF_PORTION(chi)};
static const rer_field portion_rest[] = {OF_PORTION(error_rate), OF_PORTION(difficulty), OF_PORTION(noise_rate),
                                         OF_PORTION(n_issues), OF_PORTION(own_error)};
static const rer_field spread_fields[] = {OF_SPREAD(n),
                                          OF_SPREAD(mean),
                                          RER_FIELD_AS("sd", rer_spread, deviation),
                                          RER_FIELD_AS("min", rer_spread, low),
                                          RER_FIELD_AS("max", rer_spread, high),
                                          RER_FIELD_AS("gaussian_r2", rer_spread, r2)};

static void put_real(rer_writer *writer, double value)
{
    rer_csv_real(writer, value, 9);
}

static void put_spread(rer_writer *writer, const rer_spread *spread)
{
    put_real(writer, spread->mean);
    put_real(writer, spread->deviation);
    put_real(writer, spread->r2);
}

void rer_put_portions(rer_writer *writer, const void *what, int which)
{
    const rer_result *result = ((const rer_result_files *)what)->result;
    const rer_portion *portion;
    rer_put(writer, which == RER_BY_CLASS ? "label" : "subset");
    rer_put(writer, ",n,chi,chi_low,chi_high,error_rate,difficulty,noise_rate,n_issues,own_error,in_mean,in_sd,in_r2,"
                    "out_mean,out_sd,out_r2\n");
    for (int32_t g = 0; (portion = rer_result_portion(result, (rer_portion_kind)which, g)) != NULL; g++) {
        rer_csv_fields(writer, RER_FIELDS(portion_start), portion);
        put_real(writer, portion->chi_within.low);
        put_real(writer, portion->chi_within.high);
        rer_csv_fields(writer, RER_FIELDS(portion_rest), portion);
        put_spread(writer, &portion->own);
        put_spread(writer, &portion->others);
        rer_csv_end(writer);
    }
}

/* ---- transitions ---------------------------------------------------------------------------- */

static void put_transition(rer_writer *writer, const rer_result *result, int32_t from, int32_t to, int64_t count)
{
    rer_csv_text(writer, result->names[from]);
    rer_csv_text(writer, result->names[to]);
    rer_csv_integer(writer, count);
    put_real(writer, (double)count / (double)rer_result_portion(result, RER_BY_CLASS, from)->n);
    rer_csv_end(writer);
}

/* The entries of the matrix that are not 0, row by row; share: of the given label's samples. */
void rer_put_transitions(rer_writer *writer, const void *what, int which)
{
    const rer_result *result = ((const rer_result_files *)what)->result;
    rer_confusion *list = NULL;
    int64_t count = 0, at = 0;
    (void)which;
    bool is_made = rer_writer_ok(writer, rer_list_confusions(&list, &count, result, writer->error));
    rer_put(writer, "given_label,predicted_label,n,share\n");
    for (int32_t c = 0; is_made && c < result->C; c++) {
        int64_t right = rer_result_portion(result, RER_BY_CLASS, c)->n;
        for (int64_t i = at; i < count && list[i].from == c; i++)
            right -= list[i].count;
        for (; at < count && list[at].from == c && list[at].to < c; at++)
            put_transition(writer, result, c, list[at].to, list[at].count);
        if (right > 0)
            put_transition(writer, result, c, c, right);
        for (; at < count && list[at].from == c; at++)
            put_transition(writer, result, c, list[at].to, list[at].count);
    }
    free(list);
}

/* ---- pairs and samples ---------------------------------------------------------------------- */

#define OF_PAIR(member) RER_FIELD(rer_pair_detail, member)

static const rer_field pair_fields[] = {
    RER_FIELD_AS("a_as_b", rer_pair_detail, pair.a_as_b),
    RER_FIELD_AS("b_as_a", rer_pair_detail, pair.b_as_a),
    RER_FIELD_AS("pair_error_rate", rer_pair_detail, error_rate),
    RER_FIELD_AS("pair_difficulty", rer_pair_detail, difficulty),
    RER_FIELD_AS("better_merged", rer_pair_detail, is_better_merged),
    OF_PAIR(merged_error_rate),
    OF_PAIR(merged_chi),
};

void rer_put_pair_details(rer_writer *writer, const void *what, int which)
{
    const rer_result *result = ((const rer_result_files *)what)->result;
    const rer_pair_detail *detail;
    (void)which;
    rer_csv_text(writer, "label_a");
    rer_csv_text(writer, "label_b");
    rer_csv_names(writer, RER_FIELDS(pair_fields));
    rer_csv_text(writer, "samples_between");
    rer_csv_end(writer);
    for (int p = 0; (detail = rer_result_pair_detail(result, p)) != NULL; p++) {
        rer_csv_text(writer, result->names[detail->pair.a]);
        rer_csv_text(writer, result->names[detail->pair.b]);
        rer_csv_fields(writer, RER_FIELDS(pair_fields), detail);
        rer_csv_integers(writer, detail->between, detail->n_between);
        rer_csv_end(writer);
    }
}

static void put_extremes(rer_writer *writer, const rer_result_files *files, bool hardest)
{
    int64_t rows[EXTREMES], found = 0;
    if (!rer_writer_ok(writer, rer_extremes(files->result, hardest, EXTREMES, rows, &found, writer->error)))
        return;
    for (int64_t i = 0; i < found; i++) {
        rer_sample sample = rer_sample_of(files->result, rows[i]);
        rer_csv_text(writer, hardest ? "hardest" : "easiest");
        rer_csv_integer(writer, i + 1);
        rer_csv_integer(writer, rows[i]);
        rer_csv_text(writer, rer_dataset_id(files->data, rows[i]));
        rer_csv_text(writer, rer_result_class_name(files->result, sample.given));
        rer_csv_text(writer, rer_result_class_name(files->result, sample.suggested));
        put_real(writer, sample.chi);
        put_real(writer, sample.mistakenness);
        rer_csv_end(writer);
    }
}

void rer_put_extremes(rer_writer *writer, const void *what, int which)
{
    (void)which;
    rer_put(writer, "kind,rank,index,id,given_label,nearest_other_label,rer,mistakenness\n");
    put_extremes(writer, what, false);
    put_extremes(writer, what, true);
}

/* ---- details.json --------------------------------------------------------------------------- */

static void put_portion(rer_json *json, const char *name, const rer_portion *portion)
{
    rer_json_object(json, name);
    rer_json_fields(json, RER_FIELDS(portion_start), portion);
    rer_json_interval(json, "chi_interval", portion->chi_within);
    rer_json_fields(json, RER_FIELDS(portion_rest), portion);
    rer_json_record(json, "in_class", RER_FIELDS(spread_fields), &portion->own);
    rer_json_record(json, "out_of_class", RER_FIELDS(spread_fields), &portion->others);
    rer_json_end(json);
}

static void put_portions(rer_json *json, const char *name, const rer_result *result, rer_portion_kind kind)
{
    const rer_portion *portion;
    rer_json_array(json, name);
    for (int32_t g = 0; (portion = rer_result_portion(result, kind, g)) != NULL; g++)
        put_portion(json, NULL, portion);
    rer_json_end(json);
}

static void put_pair(rer_json *json, const rer_result *result, const rer_pair_detail *detail)
{
    rer_json_object(json, NULL);
    rer_json_text(json, "label_a", result->names[detail->pair.a]);
    rer_json_text(json, "label_b", result->names[detail->pair.b]);
    rer_json_fields(json, RER_FIELDS(pair_fields), detail);
    rer_json_array(json, "samples_between");
    for (int i = 0; i < detail->n_between; i++)
        rer_json_integer(json, NULL, detail->between[i]);
    rer_json_end(json);
    rer_json_end(json);
}

void rer_put_details_json(rer_writer *writer, const void *what, int which)
{
    const rer_result *result = ((const rer_result_files *)what)->result;
    const rer_pair_detail *detail;
    rer_json json = {.writer = writer};
    (void)which;
    rer_json_object(&json, NULL);
    put_portion(&json, "whole", rer_result_portion(result, RER_WHOLE, 0));
    rer_json_real(&json, "transition_entropy", result->summary.transition_entropy);
    put_portions(&json, "classes", result, RER_BY_CLASS);
    put_portions(&json, "subsets", result, RER_BY_SUBSET);
    rer_json_array(&json, "pairs");
    for (int p = 0; (detail = rer_result_pair_detail(result, p)) != NULL; p++)
        put_pair(&json, result, detail);
    rer_json_end(&json);
    rer_json_end(&json);
}

/* ---- distributions -------------------------------------------------------------------------- */

/* The class that has `share` of the others below it in chi, of those with samples. */
static rer_status class_of_rank(int32_t *class, const rer_result *result, double share, rer_error *error)
{
    rer_ranked *ranked = NULL;
    int32_t usable = 0;
    RER_TRY(rer_allocate(&ranked, result->C, sizeof *ranked, "classes", error));
    for (int32_t c = 0; c < result->C; c++) {
        const rer_portion *portion = rer_result_portion(result, RER_BY_CLASS, c);
        if (portion->n > 0)
            ranked[usable++] = (rer_ranked){portion->chi, c};
    }
    if (usable > 0) {
        rer_sort_ranked(ranked, usable);
        *class = (int32_t)ranked[(int32_t)(share * (usable - 1) + .5)].place;
    }
    free(ranked);
    return RER_OK;
}

#define CURVE_POINTS 200

/* Histogram as a density, and its Gaussian. */
typedef struct drawn_spread {
    double edges[RER_BINS + 1], density[RER_BINS], x[CURVE_POINTS], y[CURVE_POINTS];
    char name[64];
} drawn_spread;

static void draw_spread(drawn_spread *drawn, const rer_spread *spread, const int64_t *counts, const char *side)
{
    double width = (spread->high - spread->low) / RER_BINS;
    for (int k = 0; k <= RER_BINS; k++)
        drawn->edges[k] = spread->low + k * width;
    for (int k = 0; k < RER_BINS; k++)
        drawn->density[k] = width > 0 ? (double)counts[k] / ((double)spread->n * width) : NAN;
    for (int k = 0; k < CURVE_POINTS; k++) {
        drawn->x[k] = spread->low + (spread->high - spread->low) * k / (CURVE_POINTS - 1);
        double z = (drawn->x[k] - spread->mean) / spread->deviation;
        drawn->y[k] = exp(-z * z / 2) / (spread->deviation * sqrt(2 * 3.14159265358979323846));
    }
    char r2[RER_CHART_TEXT];
    bool is_fitted = isfinite(spread->r2);
    (void)snprintf(drawn->name, sizeof drawn->name, is_fitted ? "%s, R2 %s" : "%s", side,
                   rer_fixed_text(r2, spread->r2, 3));
}

void rer_put_distribution(rer_writer *writer, const void *what, int which)
{
    static const struct {
        const char *name;
        double share;
    } places[] = {{"Easiest", 0}, {"Median", .5}, {"Hardest", 1}};
    const rer_result *result = ((const rer_result_files *)what)->result;
    int32_t c = 0;
    if (!rer_writer_ok(writer, class_of_rank(&c, result, places[which].share, writer->error)))
        return;
    const rer_portion *portion = rer_result_portion(result, RER_BY_CLASS, c);
    drawn_spread own, others;
    char title[200], chi[RER_CHART_TEXT];
    draw_spread(&own, &portion->own, rer_portion_counts(result->details, 1 + c, RER_OWN), "in class");
    draw_spread(&others, &portion->others, rer_portion_counts(result->details, 1 + c, RER_OTHERS), "out of class");
    (void)snprintf(title, sizeof title, "%s class: %.120s, chi %s", places[which].name, portion->name,
                   rer_fixed_text(chi, portion->chi, 3));
    rer_series series[] = {
        {.kind = RER_HISTOGRAM, .name = own.name, .n = RER_BINS, .x = own.edges, .y = own.density, .color = 1},
        {.kind = RER_HISTOGRAM, .name = others.name, .n = RER_BINS, .x = others.edges, .y = others.density, .color = 2},
        {.kind = RER_LINE, .n = CURVE_POINTS, .x = own.x, .y = own.y, .color = 1, .dashed = true},
        {.kind = RER_LINE, .n = CURVE_POINTS, .x = others.x, .y = others.y, .color = 2, .dashed = true},
    };
    rer_chart chart = {
        .title = title,
        .x = {.title = "error under this class"},
        .y = {.title = "density"},
        .series = series,
        .n_series = 4,
    };
    rer_frame_chart(writer, &chart);
}
