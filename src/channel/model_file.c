/* A whole model, class models and channel: saved, loaded, freed. */
#include "channel/channel.h"
#include "core/files.h"
#include "core/json.h"
#include "core/tensors.h"
#include "fit/model.h"
#include "source/texts.h"

#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define FORMAT "7"

static const char *const normalize_names[] = {"auto", "whiten", "minmax", "unit", "none"};

void rer_model_free(rer_model *model)
{
    if (model == NULL)
        return;
    if (model->reconstructor != NULL)
        model->reconstructor->free(model->state);
    for (int32_t c = 0; model->names != NULL && c < model->C; c++)
        free(model->names[c]);
    free(model->names);
    rer_texts_free(&model->columns);
    free(model->source);
    free(model->n);
    rer_channel_free(model->channel);
    rer_normalizer_free(&model->normalizer);
    rer_span_free(model->span);
    rer_units_free(model->units);
    rer_usual_free(model->usual);
    free(model);
}

/* ---- saving ------------------------------------------------------------------------------ */

static void put_names(rer_writer *writer, const void *what, int which)
{
    const rer_model *model = what;
    rer_json json = {.writer = writer, .style = RER_JSON_LINE};
    (void)which;
    rer_json_texts(&json, NULL, model->names, model->C);
}

static void save_names(const rer_model *model, rer_tensors *tensors)
{
    char *text = NULL;
    (void)rer_file_text(&text, put_names, model, NULL);
    rer_tensors_set_text(tensors, "class_names", text); /* fails where there was no memory for it */
    free(text);
}

static void put_columns(rer_writer *writer, const void *what, int which)
{
    const rer_texts *columns = what;
    rer_json json = {.writer = writer, .style = RER_JSON_LINE};
    (void)which;
    rer_json_array(&json, NULL);
    for (int64_t i = 0; i < columns->count; i++)
        rer_json_text(&json, NULL, rer_text(columns, i));
    rer_json_end(&json);
}

/* Rows that come without names, as most do, leave no entry. */
static void save_columns(const rer_model *model, rer_tensors *tensors)
{
    char *text = NULL;
    if (model->columns.count == 0)
        return;
    (void)rer_file_text(&text, put_columns, &model->columns, NULL);
    rer_tensors_set_text(tensors, "column_names", text);
    free(text);
}

/* The numbers of a channel under their names in a saved model. */
static const struct {
    const char *name;
    size_t offset;
    double least, most;
} channel_numbers[] = {
    {"channel.weight", offsetof(rer_channel, weight) + RER_GLOBAL * sizeof(double), 1e-300, 1e300},
    {"channel.edge", offsetof(rer_channel, edge) + RER_GLOBAL * sizeof(double), 0, 1e300},
    {"channel.blur", offsetof(rer_channel, blur), 0, 1},
    {"channel.sharpness", offsetof(rer_channel, sharpness), 0, 1},
    {"channel.likeness", offsetof(rer_channel, likeness), 0, 1},
    {"channel.uniform", offsetof(rer_channel, uniform), 1e-300, 1},
    {"channel.confusion", offsetof(rer_channel, confusion), 0, 1},
    {"channel.all_right", offsetof(rer_channel, all_right), 0, .9999},
};
#define CHANNEL_NUMBERS (int)(sizeof channel_numbers / sizeof *channel_numbers)

static void save_channel(const rer_channel *channel, rer_tensors *tensors)
{
    int64_t C = channel->C;
    for (int i = 0; i < CHANNEL_NUMBERS; i++) {
        double value;
        memcpy(&value, (const char *)channel + channel_numbers[i].offset, sizeof value);
        rer_tensors_set_number(tensors, channel_numbers[i].name, value);
    }
    if (channel->alike != NULL)
        rer_tensors_add(tensors, "channel.alike", RER_F32, RER_SHAPE(C, C), channel->alike);
    rer_tensors_set_number(tensors, "channel.confused", channel->alike != NULL);
    rer_tensors_set_number(tensors, "channel.pairs", channel->counts != NULL);
    if (channel->counts != NULL)
        rer_tensors_add(tensors, "channel.counts", RER_F64, RER_SHAPE(C, C), channel->counts);
    rer_tensors_add(tensors, "channel.totals", RER_F64, RER_SHAPE(C), channel->totals);
    rer_tensors_add(tensors, "channel.bias", RER_F32, RER_SHAPE(C), channel->bias);
}

/* The model in named arrays that point into it; free them. */
static rer_tensors *save_model(const rer_model *model)
{
    rer_tensors *tensors = rer_tensors_make();
    const rer_normalizer *normalizer = &model->normalizer;
    rer_tensors_set_text(tensors, "format", "rer model " FORMAT);
    rer_tensors_set_text(tensors, "reconstructor", model->reconstructor->name);
    rer_tensors_set_text(tensors, "normalize", normalize_names[normalizer->kind]);
    save_channel(model->channel, tensors);
    rer_tensors_set_number(tensors, "shrinkage", model->shrinkage);
    rer_tensors_set_number(tensors, "rows", (double)model->N);
    rer_tensors_set_number(tensors, "features", (double)model->D);
    save_names(model, tensors);
    save_columns(model, tensors);
    rer_tensors_add(tensors, "class_sizes", RER_I64, RER_SHAPE(model->C), model->n);
    if (normalizer->low != NULL) {
        rer_tensors_add(tensors, "normalize.low", RER_F64, RER_SHAPE(model->D), normalizer->low);
        rer_tensors_add(tensors, "normalize.factor", RER_F64, RER_SHAPE(model->D), normalizer->factor);
    }
    if (model->span != NULL) {
        rer_tensors_set_number(tensors, "columns", (double)model->span->D);
        rer_tensors_add(tensors, "span", RER_F32, RER_SHAPE(model->span->rank, model->span->D), model->span->basis);
    }
    rer_units_put(tensors, model->units);
    rer_usual_put(tensors, model->usual);
    model->reconstructor->save(model, tensors);
    return tensors;
}

rer_status rer_model_stage(rer_output *output, const rer_model *model, const char *path, rer_error *error)
{
    rer_tensors *tensors = save_model(model);
    rer_status status = rer_tensors_write(output, tensors, path, error);
    rer_tensors_free(tensors);
    return status;
}

rer_status rer_model_save(const rer_model *model, const char *path, rer_error *error)
{
    rer_output output = {0};
    rer_error_clear(error);
    rer_status status = rer_model_stage(&output, model, path, error);
    if (status == RER_OK)
        status = rer_output_commit(&output, error);
    rer_output_discard(&output);
    return status;
}

rer_status rer_model_pack(const rer_model *model, void **bytes, int64_t *size, rer_error *error)
{
    rer_error_clear(error);
    rer_tensors *tensors = save_model(model);
    rer_status status = rer_tensors_pack(tensors, bytes, size, error);
    rer_tensors_free(tensors);
    return status;
}

/* ---- loading ----------------------------------------------------------------------------- */

static rer_status load_names(rer_model *model, rer_tensors *tensors, rer_error *error)
{
    const char *text = rer_tensors_text(tensors, "class_names");
    json_t *names = text != NULL ? json_loads(text, 0, NULL) : NULL;
    rer_status status = RER_OK;
    if (json_array_size(names) != (size_t)model->C)
        rer_tensors_fail(tensors, "the class names are not those of %d classes", model->C);
    for (int32_t c = 0; status == RER_OK && c < model->C; c++) {
        const char *name = json_string_value(json_array_get(names, (size_t)c));
        if (name == NULL)
            rer_tensors_fail(tensors, "the name of class %d is no text", c);
        status = name != NULL ? rer_copy_text(&model->names[c], name, error) : rer_tensors_status(tensors, error);
    }
    json_decref(names);
    return status;
}

/* Names of the features, where they were known. */
static rer_status load_columns(rer_model *model, rer_tensors *tensors, rer_error *error)
{
    const char *text = rer_tensors_text(tensors, "column_names");
    json_t *names = text != NULL ? json_loads(text, 0, NULL) : NULL;
    int64_t D = rer_model_columns(model);
    rer_texts_builder columns = {0};
    rer_status status = RER_OK;
    if (text != NULL && json_array_size(names) != (size_t)D)
        rer_tensors_fail(tensors, "the names of columns are not those of %lld features", (long long)D);
    for (int64_t i = 0; text != NULL && status == RER_OK && i < D; i++) {
        const char *name = json_string_value(json_array_get(names, (size_t)i));
        if (name == NULL)
            rer_tensors_fail(tensors, "the name of column %lld is no text", (long long)(i + 1));
        status = name != NULL ? rer_texts_add(&columns, name, (int64_t)strlen(name), error)
                              : rer_tensors_status(tensors, error);
    }
    model->columns = columns.texts;
    json_decref(names);
    return status;
}

static void load_sizes(rer_model *model, rer_tensors *tensors)
{
    int64_t *sizes = rer_tensors_copy(tensors, "class_sizes", RER_I64, RER_SHAPE(model->C));
    for (int32_t c = 0; sizes != NULL && c < model->C; c++) {
        model->n[c] = sizes[c];
        if (sizes[c] < 0)
            rer_tensors_fail(tensors, "class %d has %lld samples", c, (long long)sizes[c]);
    }
    free(sizes);
}

static void load_normalizer(rer_normalizer *normalizer, int64_t D, rer_tensors *tensors)
{
    const char *name = rer_tensors_text(tensors, "normalize");
    int kind = RER_WHITEN;
    while (kind <= RER_NONE && (name == NULL || strcmp(name, normalize_names[kind]) != 0))
        kind++;
    if (kind > RER_NONE)
        rer_tensors_fail(tensors, "the model's normalisation '%.40s' is unknown", name != NULL ? name : "");
    normalizer->kind = (rer_normalize)kind;
    if (kind != RER_MINMAX)
        return;
    normalizer->low = rer_tensors_copy(tensors, "normalize.low", RER_F64, RER_SHAPE(D));
    normalizer->factor = rer_tensors_copy(tensors, "normalize.factor", RER_F64, RER_SHAPE(D));
}

/* Numbers that a scoring can use: counts are positive, no bias is higher than any class size, S is a share. */
static bool are_usable(const rer_channel *channel)
{
    int64_t C = channel->C;
    for (int64_t i = 0; channel->alike != NULL && i < C * C; i++)
        if (!(channel->alike[i] >= 0 && channel->alike[i] <= 1))
            return false;
    for (int64_t i = 0; channel->counts != NULL && i < C * C; i++)
        if (!(channel->counts[i] >= 0 && channel->counts[i] < 1e15))
            return false;
    for (int64_t k = 0; k < C; k++)
        if (!(channel->totals[k] >= 0 && channel->totals[k] < 1e15) || !(channel->bias[k] < 1e3f))
            return false;
    return true;
}

static void load_channel_arrays(rer_channel *channel, rer_tensors *tensors)
{
    int64_t C = channel->C;
    bool pairs = rer_tensors_number(tensors, "channel.pairs") != 0;
    bool confused = rer_tensors_number(tensors, "channel.confused") != 0;
    if (C > RER_CHANNEL_PAIRS_MOST && (pairs || confused || channel->likeness > 0))
        rer_tensors_fail(tensors, "rates for each pair of %lld classes; %d is the most", (long long)C,
                         RER_CHANNEL_PAIRS_MOST);
    if (confused)
        channel->alike = rer_tensors_copy(tensors, "channel.alike", RER_F32, RER_SHAPE(C, C));
    if (pairs)
        channel->counts = rer_tensors_copy(tensors, "channel.counts", RER_F64, RER_SHAPE(C, C));
    channel->totals = rer_tensors_copy(tensors, "channel.totals", RER_F64, RER_SHAPE(C));
    channel->bias = rer_tensors_copy(tensors, "channel.bias", RER_F32, RER_SHAPE(C));
    if (rer_tensors_status(tensors, NULL) == RER_OK && !are_usable(channel))
        rer_tensors_fail(tensors, "channel.alike, channel.counts, channel.totals or channel.bias are out of range");
}

static rer_status load_channel(rer_model *model, rer_tensors *tensors, rer_error *error)
{
    rer_status status = rer_channel_make(&model->channel, model->C, error);
    if (status != RER_OK)
        return status;
    for (int i = 0; i < CHANNEL_NUMBERS; i++) {
        double value = rer_tensors_number(tensors, channel_numbers[i].name);
        if (!(value >= channel_numbers[i].least && value <= channel_numbers[i].most))
            rer_tensors_fail(tensors, "%s is %g; it must lie between %g and %g", channel_numbers[i].name, value,
                             channel_numbers[i].least, channel_numbers[i].most);
        memcpy((char *)model->channel + channel_numbers[i].offset, &value, sizeof value);
    }
    load_channel_arrays(model->channel, tensors);
    status = rer_tensors_status(tensors, error);
    return status == RER_OK ? rer_channel_finish(model->channel, error) : status;
}

/* Rows that were wider than they were many are modelled in their span, with what lies outside as one more feature. */
static void load_span(rer_model *model, rer_tensors *tensors)
{
    if (rer_tensors_text(tensors, "columns") == NULL)
        return;
    double columns = rer_tensors_number(tensors, "columns");
    int64_t rank = model->D - 1;
    if (!(columns > (double)model->D && columns <= INT32_MAX / 2)) {
        rer_tensors_fail(tensors, "%g columns do not give rows of %lld features", columns, (long long)model->D);
        return;
    }
    float *basis = rer_tensors_copy(tensors, "span", RER_F32, RER_SHAPE(rank, (int64_t)columns));
    model->span = rer_span_wrap(rank, (int64_t)columns, basis);
    if (model->span == NULL)
        rer_tensors_fail(tensors, "no memory for the span of the rows");
}

static rer_status load_common(rer_model *model, rer_tensors *tensors, rer_error *error)
{
    rer_status status = load_names(model, tensors, error);
    load_sizes(model, tensors);
    load_normalizer(&model->normalizer, model->D, tensors);
    load_span(model, tensors);
    if (status == RER_OK) /* one more feature makes them directions */
        status = rer_units_get(&model->units, tensors, model->D - 1, error);
    RER_THEN(status, rer_usual_get(&model->usual, tensors, model->C, error));
    RER_THEN(status, load_columns(model, tensors, error));
    model->shrinkage = rer_tensors_number(tensors, "shrinkage");
    double rows = rer_tensors_number(tensors, "rows");
    if (!(rows >= 2 && rows < 1e15))
        rer_tensors_fail(tensors, "%g rows are no usable number", rows);
    if (status == RER_OK)
        status = rer_tensors_status(tensors, error);
    if (status != RER_OK)
        return status;
    model->N = (int64_t)rows;
    return load_channel(model, tensors, error);
}

/* Checks that these tensors are a model, and how large. */
static rer_status read_sizes(rer_tensors *tensors, int32_t *C, int64_t *D, rer_error *error)
{
    int64_t shape[RER_TENSOR_RANK_MAX];
    const char *format = rer_tensors_text(tensors, "format");
    if (format == NULL || strcmp(format, "rer model " FORMAT) != 0)
        rer_tensors_fail(tensors, "this is no rer model of format " FORMAT " (it says '%.40s')",
                         format != NULL ? format : "nothing");
    int32_t rank = rer_tensors_shape(tensors, "class_sizes", shape);
    double features = rer_tensors_number(tensors, "features");
    if (rank != 1 || shape[0] < 2 || shape[0] > INT32_MAX || !(features >= 1 && features <= INT32_MAX / 2))
        rer_tensors_fail(tensors, "%lld classes of %g features are no usable sizes", (long long)shape[0], features);
    rer_status status = rer_tensors_status(tensors, error);
    if (status == RER_OK) {
        *C = (int32_t)shape[0];
        *D = (int64_t)features;
    }
    return status;
}

static rer_status load_reconstructor(rer_model *model, rer_tensors *tensors, rer_error *error)
{
    const char *name = rer_tensors_text(tensors, "reconstructor");
    model->reconstructor = rer_reconstructor_named(name);
    if (model->reconstructor != NULL)
        return model->reconstructor->load(model, tensors, error);
    rer_tensors_fail(tensors, "unknown reconstructor '%.40s'", name != NULL ? name : "");
    return rer_tensors_status(tensors, error);
}

/* Frees the tensors. */
static rer_status load_model(rer_model **model, rer_tensors *tensors, rer_error *error)
{
    rer_model *made = NULL;
    int32_t C = 0;
    int64_t D = 0;
    rer_status status = read_sizes(tensors, &C, &D, error);
    if (status == RER_OK)
        status = rer_model_make(&made, D, C, error);
    if (status == RER_OK)
        status = load_common(made, tensors, error);
    if (status == RER_OK)
        status = load_reconstructor(made, tensors, error);
    rer_backend_leave(); /* what the reconstructor took to prepare itself */
    rer_tensors_free(tensors);
    if (status != RER_OK) {
        rer_model_free(made);
        return status;
    }
    *model = made;
    return RER_OK;
}

rer_status rer_model_load(rer_model **model, const char *path, rer_error *error)
{
    rer_model *loaded = NULL;
    rer_error_clear(error);
    rer_status status = load_model(&loaded, rer_tensors_read(path), error);
    if (status == RER_OK)
        status = rer_copy_text(&loaded->source, path, error);
    if (status != RER_OK) {
        rer_model_free(loaded);
        return status;
    }
    *model = loaded;
    return RER_OK;
}

rer_status rer_model_unpack(rer_model **model, const void *bytes, int64_t size, rer_error *error)
{
    rer_error_clear(error);
    return load_model(model, rer_tensors_unpack(bytes, size, "the model"), error);
}
