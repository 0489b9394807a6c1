/* samples.csv and classes.csv: RFC 4180 quoting, lines ended by LF, a missing value is an empty
 * cell, labels as the user wrote them. */
#include "report/report.h"

static void put_label(rer_writer *writer, const rer_result *result, int32_t c)
{
    rer_put(writer, ",");
    rer_put_cell(writer, rer_result_class_name(result, c));
}

static void put_value(rer_writer *writer, double value)
{
    rer_put(writer, ",");
    rer_put_number(writer, value);
}

/* The nearest rows of a flagged one, nearest first, with blanks between them. */
static void put_near(rer_writer *writer, const rer_result *result, int64_t row)
{
    int64_t rows[RER_NEAR_ROWS];
    int32_t count = rer_result_near(result, row, rows);
    for (int32_t i = 0; i < count; i++) {
        rer_put(writer, i > 0 ? " " : "");
        rer_put_integer(writer, rows[i]);
    }
}

static void put_sample(rer_writer *writer, const rer_result *result, const rer_dataset *data, int64_t row)
{
    rer_sample sample = rer_sample_of(result, row);
    bool has_suggestion = (sample.given < 0 || sample.is_issue) && !sample.is_invalid;
    rer_put_integer(writer, row);
    if (data->ids.count > 0) {
        rer_put(writer, ",");
        rer_put_cell(writer, rer_dataset_id(data, row));
    }
    put_label(writer, result, sample.given);
    put_label(writer, result, sample.predicted);
    put_value(writer, sample.chi);
    put_value(writer, sample.mistakenness);
    put_value(writer, sample.label_score);
    rer_put(writer, sample.is_issue ? ",true" : ",false");
    put_value(writer, sample.own_error);
    put_value(writer, sample.best_other_error);
    put_label(writer, result, has_suggestion ? sample.suggested : -1);
    put_value(writer, sample.suggestion_probability);
    put_value(writer, sample.outlier_score);
    rer_put(writer, sample.is_outlier ? ",true," : ",false,");
    if (sample.is_issue)
        put_near(writer, result, row);
    rer_put(writer, "\n");
}

rer_status rer_write_samples(rer_writer *writer, const rer_result *result, const rer_dataset *data)
{
    rer_put(writer, data->ids.count > 0 ? "index,id," : "index,");
    rer_put(writer, "given_label,predicted_label,rer,mistakenness,label_score,is_label_issue,own_error,"
                    "best_other_error,suggested_label,suggestion_probability,outlier_score,is_outlier,nearest_rows\n");
    for (int64_t row = 0; row < result->N && writer->status == RER_OK; row++)
        put_sample(writer, result, data, row);
    return writer->status;
}

/* Near-duplicates group by group, by counting: order [n_duplicates]; place [groups + 1], zero at first. */
static void sort_duplicates(int64_t *order, int64_t *place, const rer_result *result)
{
    for (int64_t row = 0; row < result->N; row++)
        if (result->duplicate[row] >= 0)
            place[result->duplicate[row] + 1]++;
    for (int64_t group = 0; group < result->summary.n_duplicate_groups; group++)
        place[group + 1] += place[group];
    for (int64_t row = 0; row < result->N; row++)
        if (result->duplicate[row] >= 0)
            order[place[result->duplicate[row]]++] = row;
}

rer_status rer_write_duplicates(rer_writer *writer, const void *context)
{
    const rer_result_files *files = context;
    const rer_result *result = files->result;
    int64_t *place = NULL, *order = NULL, count = result->summary.n_duplicates;
    bool has_ids = files->data->ids.count > 0;
    rer_status status =
        rer_allocate(&place, result->summary.n_duplicate_groups + 1, sizeof *place, "groups", writer->error);
    if (status == RER_OK)
        status = rer_allocate(&order, count, sizeof *order, "duplicates", writer->error);
    if (status == RER_OK)
        sort_duplicates(order, place, result);
    rer_put(writer, has_ids ? "group,index,id,label\n" : "group,index,label\n");
    for (int64_t i = 0; status == RER_OK && i < count && writer->status == RER_OK; i++) {
        rer_put_integer(writer, result->duplicate[order[i]]);
        rer_put(writer, ",");
        rer_put_integer(writer, order[i]);
        if (has_ids) {
            rer_put(writer, ",");
            rer_put_cell(writer, rer_dataset_id(files->data, order[i]));
        }
        put_label(writer, result, result->given[order[i]]);
        rer_put(writer, "\n");
    }
    free(place);
    free(order);
    return status != RER_OK ? status : writer->status;
}

rer_status rer_write_classes(rer_writer *writer, const rer_result *result, const rer_dataset *data)
{
    (void)data;
    rer_put(writer, "label,n,chi,noise_rate,n_issues,most_confused_with,own_error\n");
    for (int32_t c = 0; c < result->C && writer->status == RER_OK; c++) {
        const rer_class_summary *class = &result->classes[c];
        rer_put_cell(writer, result->names[c]);
        rer_put(writer, ",");
        rer_put_integer(writer, class->n);
        put_value(writer, class->chi);
        put_value(writer, class->noise_rate);
        rer_put(writer, ",");
        rer_put_integer(writer, class->n_issues);
        put_label(writer, result, class->most_confused_with);
        put_value(writer, class->own_error);
        rer_put(writer, "\n");
    }
    return writer->status;
}
