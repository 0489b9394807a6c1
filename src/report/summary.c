/* summary.json: every number of rer_summary, the options, and checksums of the inputs. Its shape is
 * fixed by docs/summary.schema.json. */
#include "core/json.h"
#include "report/report.h"

#define SCHEMA_VERSION 1

#define OF_SUMMARY(member) RER_FIELD(rer_summary, member)
#define OF_MOMENTS(member) RER_FIELD(rer_moments, member)
#define OF_SECONDS(member) RER_FIELD(rer_seconds, member)

static const rer_field counts[] = {
    OF_SUMMARY(n_samples),    OF_SUMMARY(n_features), OF_SUMMARY(n_classes),    OF_SUMMARY(n_labelled),
    OF_SUMMARY(n_unlabelled), OF_SUMMARY(n_invalid),  OF_SUMMARY(n_singletons),
};
static const rer_field chosen[] = {OF_SUMMARY(shrinkage), OF_SUMMARY(temperature), OF_SUMMARY(rank)};
static const rer_field noise[] = {
    OF_SUMMARY(chi),       OF_SUMMARY(chi0),       OF_SUMMARY(chi_rand), OF_SUMMARY(noise_rate),
    OF_SUMMARY(noise_low), OF_SUMMARY(noise_high), OF_SUMMARY(eta),      OF_SUMMARY(threshold),
};
static const rer_field findings[] = {
    OF_SUMMARY(n_issues),
    OF_SUMMARY(expected_wrong),
    OF_SUMMARY(n_outliers),
    OF_SUMMARY(duplicate_angle),
    OF_SUMMARY(n_duplicates),
    OF_SUMMARY(n_duplicate_groups),
    OF_SUMMARY(n_duplicate_conflicts),
    OF_SUMMARY(error_rate),
    OF_SUMMARY(difficulty),
    OF_SUMMARY(own_error),
    OF_SUMMARY(best_error),
    OF_SUMMARY(second_error),
};
static const rer_field moments[] = {OF_MOMENTS(n), OF_MOMENTS(mean), OF_MOMENTS(variance), OF_MOMENTS(skewness),
                                    OF_MOMENTS(kurtosis)};
static const rer_field seconds[] = {OF_SECONDS(read),  OF_SECONDS(fit),   OF_SECONDS(score),
                                    OF_SECONDS(judge), OF_SECONDS(write), OF_SECONDS(total)};

static void put_settings(rer_json *json, const rer_result *result)
{
    static const char *const names[] = {"detector", "reconstructor", "normalize"};
    for (int i = 0; i < RER_COUNT(names); i++) {
        char text[128];
        rer_option_text(&result->options, names[i], text, sizeof text);
        rer_json_text(json, names[i], text);
    }
    rer_json_fields(json, RER_FIELDS(chosen), &result->summary);
    rer_json_integer(json, "seed", result->options.seed);
    rer_json_text(json, "kernels", rer_kernels_in_use());
}

static void put_findings(rer_json *json, const rer_summary *summary)
{
    rer_json_fields(json, RER_FIELDS(noise), summary);
    rer_json_text(json, "threshold_on", summary->threshold_on_chi ? "chi" : "mistakenness");
    rer_json_fields(json, RER_FIELDS(findings), summary);
    rer_json_record(json, "chi_all", RER_FIELDS(moments), &summary->chi_all);
    rer_json_record(json, "chi_above_one", RER_FIELDS(moments), &summary->chi_above_one);
    rer_json_record(json, "chi_below_one", RER_FIELDS(moments), &summary->chi_below_one);
    rer_json_real(json, "transition_entropy", summary->transition_entropy);
}

/* What a look at the n most suspicious buys, for each n that there are as many labels of. */
static void put_budgets(rer_json *json, const rer_result *result)
{
    static const int64_t budgets[] = {10, 50, 100, 500, 1000, 5000, 10000, 50000};
    rer_json_array(json, "budgets");
    for (int i = 0; i < RER_COUNT(budgets) && budgets[i] <= result->summary.chi_all.n; i++) {
        rer_json_object(json, NULL);
        rer_json_integer(json, "n", budgets[i]);
        rer_json_real(json, "expected_wrong", rer_result_expected_wrong(result, budgets[i]));
        rer_json_end(json);
    }
    rer_json_end(json);
}

static void put_checksums(rer_json *json, const rer_dataset *data)
{
    rer_json_object(json, "checksums");
    rer_json_checksum(json, "features", data->features_checksum);
    if (data->labels.codes != NULL)
        rer_json_checksum(json, "labels", data->labels_checksum);
    else
        rer_json_text(json, "labels", NULL);
    rer_json_end(json);
}

void rer_put_summary(rer_writer *writer, const void *what, int which)
{
    const rer_result_files *files = what;
    const rer_result *result = files->result;
    rer_json json = {.writer = writer};
    (void)which;
    if (files->seconds != NULL) {
        double write = rer_now() - files->start;
        files->seconds->total += write - files->seconds->write;
        files->seconds->write = write;
    }
    rer_json_object(&json, NULL);
    rer_json_integer(&json, "schema_version", SCHEMA_VERSION);
    rer_json_text(&json, "version", rer_version());
    rer_json_fields(&json, RER_FIELDS(counts), &result->summary);
    put_settings(&json, result);
    put_findings(&json, &result->summary);
    put_budgets(&json, result);
    rer_json_record(&json, "seconds", RER_FIELDS(seconds), &result->summary.seconds);
    rer_json_integer(&json, "peak_memory_bytes", result->summary.peak_memory);
    put_checksums(&json, files->data);
    rer_json_options(&json, "options", &result->options, "analyze");
    rer_json_texts(&json, "notes", result->notes.text, result->notes.count);
    rer_json_end(&json);
}
