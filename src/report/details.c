/* class_details.csv, subset_details.csv, transitions.csv, pair_details.csv, extremes.csv, details.json and
 * three distributions as SVG. */
#include "run/details.h"
#include "judge/judge.h"
#include "report/chart.h"
#include "report/json_values.h"
#include "report/report.h"

#include <math.h>

#define EXTREMES 50

/* ---- groups --------------------------------------------------------------------------------- */

static void put_real(rer_writer *writer, double value)
{
    rer_put(writer, ",");
    if (isfinite(value))
        rer_put_format(writer, "%.9g", value);
}

static void put_spread(rer_writer *writer, const rer_spread *spread)
{
    put_real(writer, spread->mean);
    put_real(writer, spread->deviation);
    put_real(writer, spread->r2);
}

static rer_status write_groups(rer_writer *writer, const rer_result_files *files, rer_grouping grouping)
{
    const rer_group *group;
    rer_put(writer, grouping == RER_BY_CLASS ? "label" : "subset");
    rer_put(writer, ",n,chi,chi_low,chi_high,error_rate,difficulty,noise_rate,n_issues,own_error,in_mean,in_sd,in_r2,"
                    "out_mean,out_sd,out_r2\n");
    for (int32_t g = 0; (group = rer_result_group(files->result, grouping, g)) != NULL; g++) {
        rer_put_cell(writer, group->name);
        rer_put(writer, ",");
        rer_put_integer(writer, group->n);
        put_real(writer, group->chi);
        put_real(writer, group->chi_within.low);
        put_real(writer, group->chi_within.high);
        put_real(writer, group->error_rate);
        put_real(writer, group->difficulty);
        put_real(writer, group->noise_rate);
        rer_put(writer, ",");
        rer_put_integer(writer, group->n_issues);
        put_real(writer, group->own_error);
        put_spread(writer, &group->own);
        put_spread(writer, &group->others);
        rer_put(writer, "\n");
    }
    return writer->status;
}

rer_status rer_write_class_details(rer_writer *writer, const void *context)
{
    return write_groups(writer, context, RER_BY_CLASS);
}

rer_status rer_write_subset_details(rer_writer *writer, const void *context)
{
    return write_groups(writer, context, RER_BY_SUBSET);
}

/* ---- transitions ---------------------------------------------------------------------------- */

static void put_transition(rer_writer *writer, const rer_result *result, int32_t from, int32_t to, int64_t count)
{
    rer_put_cell(writer, result->names[from]);
    rer_put(writer, ",");
    rer_put_cell(writer, result->names[to]);
    rer_put(writer, ",");
    rer_put_integer(writer, count);
    put_real(writer, (double)count / (double)rer_result_group(result, RER_BY_CLASS, from)->n);
    rer_put(writer, "\n");
}

/* The entries of the matrix that are not 0, row by row; share: of the given label's samples. */
rer_status rer_write_transitions(rer_writer *writer, const void *context)
{
    const rer_result *result = ((const rer_result_files *)context)->result;
    rer_confusion *list = NULL;
    int64_t count = 0, at = 0;
    rer_status status = rer_list_confusions(&list, &count, result, writer->error);
    if (status != RER_OK)
        return status;
    rer_put(writer, "given_label,predicted_label,n,share\n");
    for (int32_t c = 0; c < result->C; c++) {
        int64_t right = rer_result_group(result, RER_BY_CLASS, c)->n;
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
    return writer->status;
}

/* ---- pairs and samples ---------------------------------------------------------------------- */

rer_status rer_write_pair_details(rer_writer *writer, const void *context)
{
    const rer_result *result = ((const rer_result_files *)context)->result;
    const rer_pair_detail *detail;
    rer_put(writer, "label_a,label_b,a_as_b,b_as_a,pair_error_rate,pair_difficulty,better_merged,merged_error_rate,"
                    "merged_chi,samples_between\n");
    for (int p = 0; (detail = rer_result_pair_detail(result, p)) != NULL; p++) {
        rer_put_cell(writer, result->names[detail->pair.a]);
        rer_put(writer, ",");
        rer_put_cell(writer, result->names[detail->pair.b]);
        rer_put(writer, ",");
        rer_put_integer(writer, detail->pair.a_as_b);
        rer_put(writer, ",");
        rer_put_integer(writer, detail->pair.b_as_a);
        put_real(writer, detail->error_rate);
        put_real(writer, detail->difficulty);
        rer_put(writer, detail->is_better_merged ? ",true" : ",false");
        put_real(writer, detail->merged_error_rate);
        put_real(writer, detail->merged_chi);
        for (int i = 0; i < detail->n_between; i++)
            rer_put_format(writer, "%s%lld", i == 0 ? "," : " ", (long long)detail->between[i]);
        rer_put(writer, detail->n_between == 0 ? ",\n" : "\n");
    }
    return writer->status;
}

static rer_status put_extremes(rer_writer *writer, const rer_result_files *files, bool hardest)
{
    int64_t rows[EXTREMES], found = 0;
    rer_status status = rer_extremes(files->result, hardest, EXTREMES, rows, &found, writer->error);
    for (int64_t i = 0; status == RER_OK && i < found; i++) {
        rer_sample sample = rer_sample_of(files->result, rows[i]);
        rer_put_format(writer, "%s,%lld,%lld,", hardest ? "hardest" : "easiest", (long long)(i + 1),
                       (long long)rows[i]);
        rer_put_cell(writer, rer_dataset_id(files->data, rows[i]));
        rer_put(writer, ",");
        rer_put_cell(writer, rer_result_class_name(files->result, sample.given));
        rer_put(writer, ",");
        rer_put_cell(writer, rer_result_class_name(files->result, sample.suggested));
        put_real(writer, sample.chi);
        put_real(writer, sample.mistakenness);
        rer_put(writer, "\n");
    }
    return status == RER_OK ? writer->status : status;
}

rer_status rer_write_extremes(rer_writer *writer, const void *context)
{
    rer_put(writer, "kind,rank,index,id,given_label,nearest_other_label,rer,mistakenness\n");
    rer_status status = put_extremes(writer, context, false);
    return status == RER_OK ? put_extremes(writer, context, true) : status;
}

/* ---- details.json --------------------------------------------------------------------------- */

static json_t *spread_object(const rer_spread *spread)
{
    json_t *object = rer_json_add_integer(json_object(), "n", spread->n);
    object = rer_json_add_real(object, "mean", spread->mean);
    object = rer_json_add_real(object, "sd", spread->deviation);
    object = rer_json_add_real(object, "min", spread->low);
    object = rer_json_add_real(object, "max", spread->high);
    return rer_json_add_real(object, "gaussian_r2", spread->r2);
}

static json_t *group_object(const rer_group *group)
{
    json_t *object = rer_json_add_text(json_object(), "name", group->name);
    object = rer_json_add_integer(object, "n", group->n);
    object = rer_json_add_real(object, "chi", group->chi);
    json_t *interval = rer_json_append(json_array(), rer_json_real(group->chi_within.low));
    object = rer_json_set(object, "chi_interval", rer_json_append(interval, rer_json_real(group->chi_within.high)));
    object = rer_json_add_real(object, "error_rate", group->error_rate);
    object = rer_json_add_real(object, "difficulty", group->difficulty);
    object = rer_json_add_real(object, "noise_rate", group->noise_rate);
    object = rer_json_add_integer(object, "n_issues", group->n_issues);
    object = rer_json_add_real(object, "own_error", group->own_error);
    object = rer_json_set(object, "in_class", spread_object(&group->own));
    return rer_json_set(object, "out_of_class", spread_object(&group->others));
}

static json_t *groups_array(const rer_result *result, rer_grouping grouping)
{
    const rer_group *group;
    json_t *array = json_array();
    for (int32_t g = 0; (group = rer_result_group(result, grouping, g)) != NULL; g++)
        array = rer_json_append(array, group_object(group));
    return array;
}

static json_t *pair_object(const rer_result *result, const rer_pair_detail *detail)
{
    json_t *object = rer_json_add_text(json_object(), "label_a", result->names[detail->pair.a]);
    object = rer_json_add_text(object, "label_b", result->names[detail->pair.b]);
    object = rer_json_add_integer(object, "a_as_b", detail->pair.a_as_b);
    object = rer_json_add_integer(object, "b_as_a", detail->pair.b_as_a);
    object = rer_json_add_real(object, "pair_error_rate", detail->error_rate);
    object = rer_json_add_real(object, "pair_difficulty", detail->difficulty);
    object = rer_json_set(object, "better_merged", json_boolean(detail->is_better_merged));
    object = rer_json_add_real(object, "merged_error_rate", detail->merged_error_rate);
    object = rer_json_add_real(object, "merged_chi", detail->merged_chi);
    json_t *between = json_array();
    for (int i = 0; i < detail->n_between; i++)
        between = rer_json_append(between, json_integer(detail->between[i]));
    return rer_json_set(object, "samples_between", between);
}

rer_status rer_write_details_json(rer_writer *writer, const void *context)
{
    const rer_result *result = ((const rer_result_files *)context)->result;
    const rer_pair_detail *detail;
    json_t *root = rer_json_set(json_object(), "whole", group_object(rer_result_group(result, RER_WHOLE, 0)));
    root = rer_json_add_real(root, "transition_entropy", result->summary.transition_entropy);
    root = rer_json_set(root, "classes", groups_array(result, RER_BY_CLASS));
    root = rer_json_set(root, "subsets", groups_array(result, RER_BY_SUBSET));
    json_t *pairs = json_array();
    for (int p = 0; (detail = rer_result_pair_detail(result, p)) != NULL; p++)
        pairs = rer_json_append(pairs, pair_object(result, detail));
    root = rer_json_set(root, "pairs", pairs);
    char *text = NULL;
    rer_status status = rer_json_text(&text, root, "details.json", writer->error);
    if (status != RER_OK)
        return status;
    rer_put(writer, text);
    rer_put(writer, "\n");
    free(text);
    return writer->status;
}

/* ---- distributions -------------------------------------------------------------------------- */

typedef struct ranked_class {
    double chi;
    int32_t class;
} ranked_class;

static int by_chi(const void *left, const void *right)
{
    const ranked_class *a = left, *b = right;
    if (a->chi != b->chi)
        return a->chi < b->chi ? -1 : 1;
    return a->class < b->class ? -1 : a->class > b->class;
}

/* The class that has `share` of the others below it in chi, of those with samples. */
static rer_status class_of_rank(int32_t *class, const rer_result *result, double share, rer_error *error)
{
    ranked_class *ranked = NULL;
    int32_t usable = 0;
    rer_status status = rer_allocate(&ranked, result->C, sizeof *ranked, "classes", error);
    for (int32_t c = 0; status == RER_OK && c < result->C; c++) {
        const rer_group *group = rer_result_group(result, RER_BY_CLASS, c);
        if (group->n > 0)
            ranked[usable++] = (ranked_class){group->chi, c};
    }
    if (usable > 0) {
        qsort(ranked, (size_t)usable, sizeof *ranked, by_chi);
        *class = ranked[(int32_t)(share * (usable - 1) + .5)].class;
    }
    free(ranked);
    return status;
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
    (void)snprintf(drawn->name, sizeof drawn->name, "%s, R2 %.3f", side, spread->r2);
}

static rer_status write_distribution(rer_writer *writer, const rer_result_files *files, const char *which, double share)
{
    const rer_result *result = files->result;
    int32_t c = 0;
    rer_status status = class_of_rank(&c, result, share, writer->error);
    if (status != RER_OK)
        return status;
    const rer_group *group = rer_result_group(result, RER_BY_CLASS, c);
    drawn_spread own, others;
    char title[200];
    draw_spread(&own, &group->own, rer_group_counts(result->details, 1 + c, RER_OWN), "in class");
    draw_spread(&others, &group->others, rer_group_counts(result->details, 1 + c, RER_OTHERS), "out of class");
    (void)snprintf(title, sizeof title, "%s class: %.120s, chi %.3f", which, group->name, group->chi);
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
    rer_chart_put_alone(writer, &chart);
    return writer->status;
}

rer_status rer_write_easiest(rer_writer *writer, const void *context)
{
    return write_distribution(writer, context, "Easiest", 0);
}

rer_status rer_write_median(rer_writer *writer, const void *context)
{
    return write_distribution(writer, context, "Median", .5);
}

rer_status rer_write_hardest(rer_writer *writer, const void *context)
{
    return write_distribution(writer, context, "Hardest", 1);
}
