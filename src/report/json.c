/* summary.json: every number of rer_summary, the options, and checksums of the inputs. Its shape is
 * fixed by docs/summary.schema.json. */
#include "report/report.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#define SCHEMA_VERSION 1
#define REAL_DIGITS 15 /* 17 would be exact, and show .1 as .10000000000000001 */

/* All of these accept a NULL object: out of memory is noticed once, at the end. */
static json_t *checked(json_t *object, json_t *value, const char *name)
{
    if (json_object_set_new(object, name, value) == 0)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *add_real(json_t *object, const char *name, double value)
{
    return checked(object, isfinite(value) ? json_real(value) : json_null(), name);
}

static json_t *add_integer(json_t *object, const char *name, int64_t value)
{
    return checked(object, json_integer(value), name);
}

/* Text that was cut in the middle of a character is still shown. */
static json_t *text_value(const char *text)
{
    char quoted[1000];
    int64_t length = (int64_t)strlen(text);
    return json_string(rer_is_utf8(text, length) ? text : rer_quote(quoted, sizeof quoted, text, length));
}

static json_t *add_text(json_t *object, const char *name, const char *text)
{
    return checked(object, text_value(text), name);
}

static json_t *add_option(json_t *object, const rer_options *options, const char *name)
{
    char text[128];
    rer_option_text(options, name, text, sizeof text);
    return add_text(object, name, text);
}

static json_t *moments_object(const rer_moments *moments)
{
    json_t *object = add_integer(json_object(), "n", moments->n);
    object = add_real(object, "mean", moments->mean);
    object = add_real(object, "variance", moments->variance);
    object = add_real(object, "skewness", moments->skewness);
    return add_real(object, "kurtosis", moments->kurtosis);
}

static json_t *seconds_object(const rer_seconds *seconds)
{
    json_t *object = add_real(json_object(), "read", seconds->read);
    object = add_real(object, "fit", seconds->fit);
    object = add_real(object, "score", seconds->score);
    object = add_real(object, "judge", seconds->judge);
    object = add_real(object, "write", seconds->write);
    return add_real(object, "total", seconds->total);
}

static json_t *checksum_value(bool given, uint64_t checksum)
{
    char text[24];
    (void)snprintf(text, sizeof text, "%016llx", (unsigned long long)checksum);
    return given ? json_string(text) : json_null();
}

static json_t *checksums_object(const rer_dataset *data)
{
    json_t *object = checked(json_object(), checksum_value(true, data->features_checksum), "features");
    return checked(object, checksum_value(data->labels.codes != NULL, data->labels_checksum), "labels");
}

/* Options as on the command line; flags as true or false. */
static json_t *options_object(const rer_options *options)
{
    json_t *object = json_object();
    for (int i = 0; i < rer_options_count(); i++) {
        const rer_option_info *info = rer_options_info(i);
        char text[128];
        if (!rer_option_is_for(info, "analyze"))
            continue;
        rer_options_get(options, i, text, sizeof text);
        object = checked(object, info->is_flag ? json_boolean(strcmp(text, "yes") == 0) : text_value(text), info->name);
    }
    return object;
}

static json_t *notes_array(const rer_result *result)
{
    json_t *notes = json_array();
    for (int i = 0; i < result->n_notes; i++)
        if (json_array_append_new(notes, text_value(result->notes[i])) != 0) {
            json_decref(notes);
            return NULL;
        }
    return notes;
}

static json_t *add_counts(json_t *root, const rer_summary *summary)
{
    root = add_integer(root, "n_samples", summary->n_samples);
    root = add_integer(root, "n_features", summary->n_features);
    root = add_integer(root, "n_classes", summary->n_classes);
    root = add_integer(root, "n_labelled", summary->n_labelled);
    root = add_integer(root, "n_unlabelled", summary->n_unlabelled);
    root = add_integer(root, "n_invalid", summary->n_invalid);
    return add_integer(root, "n_singletons", summary->n_singletons);
}

static json_t *add_settings(json_t *root, const rer_result *result)
{
    root = add_option(root, &result->options, "reconstructor");
    root = add_option(root, &result->options, "normalize");
    root = add_real(root, "shrinkage", result->summary.shrinkage);
    root = add_real(root, "temperature", result->summary.temperature);
    root = add_real(root, "rank", result->summary.rank);
    return add_integer(root, "seed", result->options.seed);
}

static json_t *add_findings(json_t *root, const rer_summary *summary)
{
    root = add_real(root, "chi", summary->chi);
    root = add_real(root, "chi0", summary->chi0);
    root = add_real(root, "chi_rand", summary->chi_rand);
    root = add_real(root, "noise_rate", summary->noise_rate);
    root = add_real(root, "threshold", summary->threshold);
    root = add_text(root, "threshold_on", summary->threshold_on_chi ? "chi" : "mistakenness");
    root = add_integer(root, "n_issues", summary->n_issues);
    root = add_real(root, "error_rate", summary->error_rate);
    root = add_real(root, "own_error", summary->own_error);
    root = add_real(root, "best_error", summary->best_error);
    root = add_real(root, "second_error", summary->second_error);
    root = checked(root, moments_object(&summary->chi_all), "chi_all");
    root = checked(root, moments_object(&summary->chi_above_one), "chi_above_one");
    root = checked(root, moments_object(&summary->chi_below_one), "chi_below_one");
    return add_real(root, "transition_entropy", summary->transition_entropy);
}

typedef struct json_text {
    char *bytes;
    int64_t used, capacity;
    bool failed;
} json_text;

/* Remembers a failure: Jansson itself forgets one while it writes the name of a member. */
static int append_text(const char *bytes, size_t count, void *context)
{
    json_text *text = context;
    int64_t needed = text->used + (int64_t)count + 1;
    if (text->failed || rer_grow(&text->bytes, &text->capacity, needed, 1, "summary.json", NULL) != RER_OK) {
        text->failed = true;
        return -1;
    }
    memcpy(text->bytes + text->used, bytes, count);
    text->used += (int64_t)count;
    text->bytes[text->used] = 0;
    return 0;
}

static char *dump_text(const json_t *root)
{
    json_text text = {0};
    size_t flags = JSON_INDENT(2) | JSON_REAL_PRECISION(REAL_DIGITS);
    if (root != NULL && json_dump_callback(root, append_text, &text, flags) == 0 && !text.failed)
        return text.bytes;
    free(text.bytes);
    return NULL;
}

rer_status rer_result_json(const rer_result *result, const rer_dataset *data, char **json, rer_error *error)
{
    json_t *root = add_integer(json_object(), "schema_version", SCHEMA_VERSION);
    root = add_text(root, "version", rer_version());
    root = add_counts(root, &result->summary);
    root = add_settings(root, result);
    root = add_findings(root, &result->summary);
    root = checked(root, seconds_object(&result->summary.seconds), "seconds");
    root = add_integer(root, "peak_memory_bytes", result->summary.peak_memory);
    root = checked(root, checksums_object(data), "checksums");
    root = checked(root, options_object(&result->options), "options");
    root = checked(root, notes_array(result), "notes");
    char *text = dump_text(root);
    json_decref(root);
    if (text == NULL)
        return rer_fail(error, RER_SYSTEM, "out of memory: summary.json");
    *json = text;
    return RER_OK;
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
