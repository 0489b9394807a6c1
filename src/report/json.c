/* summary.json: every number of rer_summary, the options, and checksums of the inputs. Its shape is
 * fixed by docs/summary.schema.json. */
#include "report/json_values.h"
#include "report/report.h"

#include <stdio.h>

#define SCHEMA_VERSION 1

static json_t *add_option(json_t *object, const rer_options *options, const char *name)
{
    char text[128];
    rer_option_text(options, name, text, sizeof text);
    return rer_json_add_text(object, name, text);
}

static json_t *moments_object(const rer_moments *moments)
{
    json_t *object = rer_json_add_integer(json_object(), "n", moments->n);
    object = rer_json_add_real(object, "mean", moments->mean);
    object = rer_json_add_real(object, "variance", moments->variance);
    object = rer_json_add_real(object, "skewness", moments->skewness);
    return rer_json_add_real(object, "kurtosis", moments->kurtosis);
}

static json_t *seconds_object(const rer_seconds *seconds)
{
    json_t *object = rer_json_add_real(json_object(), "read", seconds->read);
    object = rer_json_add_real(object, "fit", seconds->fit);
    object = rer_json_add_real(object, "score", seconds->score);
    object = rer_json_add_real(object, "judge", seconds->judge);
    object = rer_json_add_real(object, "write", seconds->write);
    return rer_json_add_real(object, "total", seconds->total);
}

static json_t *checksum_value(bool given, uint64_t checksum)
{
    char text[24];
    (void)snprintf(text, sizeof text, "%016llx", (unsigned long long)checksum);
    return given ? json_string(text) : json_null();
}

static json_t *checksums_object(const rer_dataset *data)
{
    json_t *object = rer_json_set(json_object(), "features", checksum_value(true, data->features_checksum));
    return rer_json_set(object, "labels", checksum_value(data->labels.codes != NULL, data->labels_checksum));
}

static json_t *add_counts(json_t *root, const rer_summary *summary)
{
    root = rer_json_add_integer(root, "n_samples", summary->n_samples);
    root = rer_json_add_integer(root, "n_features", summary->n_features);
    root = rer_json_add_integer(root, "n_classes", summary->n_classes);
    root = rer_json_add_integer(root, "n_labelled", summary->n_labelled);
    root = rer_json_add_integer(root, "n_unlabelled", summary->n_unlabelled);
    root = rer_json_add_integer(root, "n_invalid", summary->n_invalid);
    return rer_json_add_integer(root, "n_singletons", summary->n_singletons);
}

static json_t *add_settings(json_t *root, const rer_result *result)
{
    root = add_option(root, &result->options, "detector");
    root = add_option(root, &result->options, "reconstructor");
    root = add_option(root, &result->options, "normalize");
    root = rer_json_add_real(root, "shrinkage", result->summary.shrinkage);
    root = rer_json_add_real(root, "temperature", result->summary.temperature);
    root = rer_json_add_real(root, "rank", result->summary.rank);
    return rer_json_add_integer(root, "seed", result->options.seed);
}

static json_t *add_findings(json_t *root, const rer_summary *summary)
{
    root = rer_json_add_real(root, "chi", summary->chi);
    root = rer_json_add_real(root, "chi0", summary->chi0);
    root = rer_json_add_real(root, "chi_rand", summary->chi_rand);
    root = rer_json_add_real(root, "noise_rate", summary->noise_rate);
    root = rer_json_add_real(root, "noise_low", summary->noise_low);
    root = rer_json_add_real(root, "noise_high", summary->noise_high);
    root = rer_json_add_real(root, "eta", summary->eta);
    root = rer_json_add_real(root, "threshold", summary->threshold);
    root = rer_json_add_text(root, "threshold_on", summary->threshold_on_chi ? "chi" : "mistakenness");
    root = rer_json_add_integer(root, "n_issues", summary->n_issues);
    root = rer_json_add_real(root, "expected_wrong", summary->expected_wrong);
    root = rer_json_add_integer(root, "n_outliers", summary->n_outliers);
    root = rer_json_add_real(root, "duplicate_angle", summary->duplicate_angle);
    root = rer_json_add_integer(root, "n_duplicates", summary->n_duplicates);
    root = rer_json_add_integer(root, "n_duplicate_groups", summary->n_duplicate_groups);
    root = rer_json_add_integer(root, "n_duplicate_conflicts", summary->n_duplicate_conflicts);
    root = rer_json_add_real(root, "error_rate", summary->error_rate);
    root = rer_json_add_real(root, "difficulty", summary->difficulty);
    root = rer_json_add_real(root, "own_error", summary->own_error);
    root = rer_json_add_real(root, "best_error", summary->best_error);
    root = rer_json_add_real(root, "second_error", summary->second_error);
    root = rer_json_set(root, "chi_all", moments_object(&summary->chi_all));
    root = rer_json_set(root, "chi_above_one", moments_object(&summary->chi_above_one));
    root = rer_json_set(root, "chi_below_one", moments_object(&summary->chi_below_one));
    return rer_json_add_real(root, "transition_entropy", summary->transition_entropy);
}

/* What a look at the n most suspicious buys, for each n that there are as many labels of. */
static json_t *budgets_array(const rer_result *result)
{
    static const int64_t budgets[] = {10, 50, 100, 500, 1000, 5000, 10000, 50000};
    json_t *array = json_array();
    for (size_t i = 0; i < sizeof budgets / sizeof *budgets && budgets[i] <= result->summary.chi_all.n; i++) {
        json_t *object = rer_json_add_integer(json_object(), "n", budgets[i]);
        array = rer_json_append(
            array, rer_json_add_real(object, "expected_wrong", rer_result_expected_wrong(result, budgets[i])));
    }
    return array;
}

rer_status rer_result_json(const rer_result *result, const rer_dataset *data, char **json, rer_error *error)
{
    rer_error_clear(error);
    rer_status status = rer_dataset_check_rows(data, result->N, error);
    if (status != RER_OK)
        return status;
    json_t *root = rer_json_add_integer(json_object(), "schema_version", SCHEMA_VERSION);
    root = rer_json_add_text(root, "version", rer_version());
    root = add_counts(root, &result->summary);
    root = add_settings(root, result);
    root = add_findings(root, &result->summary);
    root = rer_json_set(root, "budgets", budgets_array(result));
    root = rer_json_set(root, "seconds", seconds_object(&result->summary.seconds));
    root = rer_json_add_integer(root, "peak_memory_bytes", result->summary.peak_memory);
    root = rer_json_set(root, "checksums", checksums_object(data));
    root = rer_json_set(root, "options", rer_json_options(&result->options, "analyze"));
    root = rer_json_set(root, "notes", rer_json_texts(result->notes.text, result->notes.count));
    return rer_json_text(json, root, "summary.json", error);
}

rer_status rer_write_json(rer_writer *writer, const rer_result *result, const rer_dataset *data)
{
    char *json = NULL;
    rer_status status = rer_result_json(result, data, &json, writer->error);
    if (status != RER_OK)
        return status;
    rer_put(writer, json);
    rer_put(writer, "\n");
    free(json);
    return writer->status;
}
