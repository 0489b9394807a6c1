/* A whole model, class models and channel: saved, loaded, freed. */
#include "channel/channel.h"
#include "core/files.h"
#include "core/json.h"
#include "core/tensors.h"
#include "fit/model.h"

#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define FORMAT "3"

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
    free(model->n);
    rer_channel_free(model->channel);
    rer_normalizer_free(&model->normalizer);
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

static rer_status save_names(const rer_model *model, rer_tensors *tensors, rer_error *error)
{
    char *text = NULL;
    rer_status status = rer_file_text(&text, put_names, model, error);
    if (status == RER_OK)
        status = rer_tensors_set_text(tensors, "class_names", text, error);
    free(text);
    return status;
}

/* The numbers of a channel under their names in a saved model. */
static const struct {
    const char *name;
    size_t offset;
    double least, most; /* least itself is out of range */
} channel_numbers[] = {
    {"channel.weight", offsetof(rer_channel, weight) + RER_GLOBAL * sizeof(double), 0, 1e300},
    {"channel.edge", offsetof(rer_channel, edge) + RER_GLOBAL * sizeof(double), -1, 1e300},
    {"channel.blur", offsetof(rer_channel, blur), -1, 1},
    {"channel.sharpness", offsetof(rer_channel, sharpness), -1, 1},
    {"channel.likeness", offsetof(rer_channel, likeness), -1, 1},
    {"channel.uniform", offsetof(rer_channel, uniform), 0, 1},
};
#define CHANNEL_NUMBERS (int)(sizeof channel_numbers / sizeof *channel_numbers)

static rer_status save_channel(const rer_channel *channel, rer_tensors *tensors, rer_error *error)
{
    rer_status status = RER_OK;
    int64_t C = channel->C;
    for (int i = 0; status == RER_OK && i < CHANNEL_NUMBERS; i++) {
        double value;
        memcpy(&value, (const char *)channel + channel_numbers[i].offset, sizeof value);
        status = rer_tensors_set_number(tensors, channel_numbers[i].name, value, error);
    }
    if (status == RER_OK)
        status = rer_tensors_set_number(tensors, "channel.pairs", channel->counts != NULL, error);
    if (status == RER_OK && channel->counts != NULL)
        status = rer_tensors_add(tensors, "channel.counts", RER_F64, 2, (int64_t[]){C, C}, channel->counts, error);
    if (status == RER_OK)
        status = rer_tensors_add(tensors, "channel.totals", RER_F64, 1, &C, channel->totals, error);
    if (status == RER_OK)
        status = rer_tensors_add(tensors, "channel.bias", RER_F32, 1, &C, channel->bias, error);
    return status;
}

static rer_status save_common(const rer_model *model, rer_tensors *tensors, rer_error *error)
{
    rer_status status = rer_tensors_set_text(tensors, "format", "rer model " FORMAT, error);
    if (status == RER_OK)
        status = rer_tensors_set_text(tensors, "reconstructor", model->reconstructor->name, error);
    if (status == RER_OK)
        status = rer_tensors_set_text(tensors, "normalize", normalize_names[model->normalizer.kind], error);
    if (status == RER_OK)
        status = save_channel(model->channel, tensors, error);
    if (status == RER_OK)
        status = rer_tensors_set_number(tensors, "shrinkage", model->shrinkage, error);
    if (status == RER_OK)
        status = rer_tensors_set_number(tensors, "rows", (double)model->N, error);
    if (status == RER_OK)
        status = rer_tensors_set_number(tensors, "features", (double)model->D, error);
    if (status == RER_OK)
        status = save_names(model, tensors, error);
    int64_t C = model->C, D = model->D;
    if (status == RER_OK)
        status = rer_tensors_add(tensors, "class_sizes", RER_I64, 1, &C, model->n, error);
    if (status == RER_OK && model->normalizer.low != NULL)
        status = rer_tensors_add(tensors, "normalize.low", RER_F64, 1, &D, model->normalizer.low, error);
    if (status == RER_OK && model->normalizer.low != NULL)
        status = rer_tensors_add(tensors, "normalize.factor", RER_F64, 1, &D, model->normalizer.factor, error);
    return status;
}

static rer_status fill_tensors(rer_tensors **tensors, const rer_model *model, rer_error *error)
{
    rer_tensors *made = NULL;
    rer_status status = rer_tensors_make(&made, error);
    if (status == RER_OK)
        status = save_common(model, made, error);
    if (status == RER_OK)
        status = model->reconstructor->save(model, made, error);
    if (status != RER_OK) {
        rer_tensors_free(made);
        return status;
    }
    *tensors = made;
    return RER_OK;
}

rer_status rer_model_save(const rer_model *model, const char *path, rer_error *error)
{
    rer_tensors *tensors = NULL;
    rer_error_clear(error);
    rer_status status = fill_tensors(&tensors, model, error);
    if (status == RER_OK)
        status = rer_tensors_write(tensors, path, error);
    rer_tensors_free(tensors);
    return status;
}

rer_status rer_model_pack(const rer_model *model, void **bytes, int64_t *size, rer_error *error)
{
    rer_tensors *tensors = NULL;
    rer_error_clear(error);
    rer_status status = fill_tensors(&tensors, model, error);
    if (status == RER_OK)
        status = rer_tensors_pack(tensors, bytes, size, error);
    rer_tensors_free(tensors);
    return status;
}

/* ---- loading ----------------------------------------------------------------------------- */

static rer_status load_names(rer_model *model, const rer_tensors *tensors, const char *path, rer_error *error)
{
    const char *text = rer_tensors_text(tensors, "class_names");
    json_t *names = text != NULL ? json_loads(text, 0, NULL) : NULL;
    rer_status status = RER_OK;
    if (json_array_size(names) != (size_t)model->C)
        status = rer_fail(error, RER_BAD_INPUT, "%s: the class names are not those of %d classes", path, model->C);
    for (int32_t c = 0; status == RER_OK && c < model->C; c++) {
        const char *name = json_string_value(json_array_get(names, (size_t)c));
        status = name != NULL ? rer_copy_text(&model->names[c], name, error)
                              : rer_fail(error, RER_BAD_INPUT, "%s: the name of class %d is no text", path, c);
    }
    json_decref(names);
    return status;
}

static rer_status load_sizes(rer_model *model, const rer_tensors *tensors, const char *path, rer_error *error)
{
    int64_t C = model->C, *sizes = NULL;
    rer_status status = rer_tensors_copy(tensors, "class_sizes", RER_I64, 1, &C, &sizes, error);
    for (int32_t c = 0; status == RER_OK && c < model->C; c++) {
        model->n[c] = sizes[c];
        if (sizes[c] < 0)
            status = rer_fail(error, RER_BAD_INPUT, "%s: class %d has %lld samples", path, c, (long long)sizes[c]);
    }
    free(sizes);
    return status;
}

static rer_status load_normalizer(rer_model *model, const rer_tensors *tensors, const char *path, rer_error *error)
{
    const char *name = rer_tensors_text(tensors, "normalize");
    int kind = RER_WHITEN;
    while (kind <= RER_NONE && (name == NULL || strcmp(name, normalize_names[kind]) != 0))
        kind++;
    if (kind > RER_NONE)
        return rer_fail(error, RER_BAD_INPUT, "%s: the model's normalisation '%.40s' is unknown", path,
                        name != NULL ? name : "");
    model->normalizer.kind = (rer_normalize)kind;
    if (kind != RER_MINMAX)
        return RER_OK;
    rer_status status =
        rer_tensors_copy(tensors, "normalize.low", RER_F64, 1, &model->D, &model->normalizer.low, error);
    if (status == RER_OK)
        status = rer_tensors_copy(tensors, "normalize.factor", RER_F64, 1, &model->D, &model->normalizer.factor, error);
    return status;
}

/* Numbers that a scoring can use: counts are positive, no bias is higher than any class size. */
static bool are_usable(const rer_channel *channel)
{
    int64_t C = channel->C;
    for (int64_t i = 0; channel->counts != NULL && i < C * C; i++)
        if (!(channel->counts[i] >= 0 && channel->counts[i] < 1e15))
            return false;
    for (int64_t k = 0; k < C; k++)
        if (!(channel->totals[k] >= 0 && channel->totals[k] < 1e15) || !(channel->bias[k] < 1e3f))
            return false;
    return true;
}

static rer_status load_arrays(rer_model *model, const rer_tensors *tensors, bool pairs, const char *path,
                              rer_error *error)
{
    rer_channel *channel = model->channel;
    int64_t C = model->C;
    rer_status status = RER_OK;
    if (C > RER_CHANNEL_PAIRS_MOST && (pairs || channel->likeness > 0))
        return rer_fail(error, RER_BAD_INPUT, "%s: rates for each pair of %lld classes; %d is the most", path,
                        (long long)C, RER_CHANNEL_PAIRS_MOST);
    if (pairs)
        status = rer_tensors_copy(tensors, "channel.counts", RER_F64, 2, (int64_t[]){C, C}, &channel->counts, error);
    if (status == RER_OK)
        status = rer_tensors_copy(tensors, "channel.totals", RER_F64, 1, &C, &channel->totals, error);
    if (status == RER_OK)
        status = rer_tensors_copy(tensors, "channel.bias", RER_F32, 1, &C, &channel->bias, error);
    if (status == RER_OK && !are_usable(channel))
        status =
            rer_fail(error, RER_BAD_INPUT, "%s: channel.counts, channel.totals or channel.bias are out of range", path);
    return status == RER_OK ? rer_channel_finish(channel, error) : status;
}

static rer_status load_channel(rer_model *model, const rer_tensors *tensors, const char *path, rer_error *error)
{
    double pairs = 0;
    rer_status status = rer_channel_make(&model->channel, model->C, error);
    for (int i = 0; status == RER_OK && i < CHANNEL_NUMBERS; i++) {
        double value = 0;
        status = rer_tensors_number(tensors, channel_numbers[i].name, &value, error);
        if (status == RER_OK && !(value > channel_numbers[i].least && value <= channel_numbers[i].most))
            status = rer_fail(error, RER_BAD_INPUT, "%s: %s is %g; it must be above %g and at most %g", path,
                              channel_numbers[i].name, value, channel_numbers[i].least, channel_numbers[i].most);
        memcpy((char *)model->channel + channel_numbers[i].offset, &value, sizeof value);
    }
    if (status == RER_OK)
        status = rer_tensors_number(tensors, "channel.pairs", &pairs, error);
    return status == RER_OK ? load_arrays(model, tensors, pairs != 0, path, error) : status;
}

static rer_status load_common(rer_model *model, const rer_tensors *tensors, const char *path, rer_error *error)
{
    double rows = 0;
    rer_status status = load_names(model, tensors, path, error);
    if (status == RER_OK)
        status = load_sizes(model, tensors, path, error);
    if (status == RER_OK)
        status = load_normalizer(model, tensors, path, error);
    if (status == RER_OK)
        status = load_channel(model, tensors, path, error);
    if (status == RER_OK)
        status = rer_tensors_number(tensors, "shrinkage", &model->shrinkage, error);
    if (status == RER_OK)
        status = rer_tensors_number(tensors, "rows", &rows, error);
    if (status == RER_OK && !(rows >= 2 && rows < 1e15))
        status = rer_fail(error, RER_BAD_INPUT, "%s: %g rows are no usable number", path, rows);
    if (status == RER_OK)
        model->N = (int64_t)rows;
    return status;
}

static rer_status read_sizes(const rer_tensors *tensors, const char *path, int32_t *C, int64_t *D, rer_error *error)
{
    int32_t rank = 0;
    int64_t shape[RER_TENSOR_RANK_MAX] = {0};
    double features = 0;
    const char *format = rer_tensors_text(tensors, "format");
    if (format == NULL || strcmp(format, "rer model " FORMAT) != 0)
        return rer_fail(error, RER_BAD_INPUT, "%s: this is no rer model of format " FORMAT " (it says '%.40s')", path,
                        format != NULL ? format : "nothing");
    rer_status status = rer_tensors_shape(tensors, "class_sizes", &rank, shape, error);
    if (status == RER_OK)
        status = rer_tensors_number(tensors, "features", &features, error);
    if (status != RER_OK)
        return status;
    if (rank != 1 || shape[0] < 2 || shape[0] > INT32_MAX || !(features >= 1 && features <= INT32_MAX / 2))
        return rer_fail(error, RER_BAD_INPUT, "%s: %lld classes of %g features are no usable sizes", path,
                        (long long)shape[0], features);
    *C = (int32_t)shape[0];
    *D = (int64_t)features;
    return RER_OK;
}

static rer_status load_tensors(rer_model **model, const rer_tensors *tensors, const char *path, rer_error *error)
{
    rer_model *made = NULL;
    int32_t C = 0;
    int64_t D = 0;
    rer_status status = read_sizes(tensors, path, &C, &D, error);
    if (status == RER_OK)
        status = rer_model_make(&made, D, C, error);
    if (status == RER_OK)
        status = load_common(made, tensors, path, error);
    if (status == RER_OK) {
        const char *name = rer_tensors_text(tensors, "reconstructor");
        made->reconstructor = rer_reconstructor_named(name);
        status = made->reconstructor != NULL ? made->reconstructor->load(made, tensors, error)
                                             : rer_fail(error, RER_BAD_INPUT, "%s: unknown reconstructor '%.40s'", path,
                                                        name != NULL ? name : "");
    }
    rer_backend_leave(); /* what the reconstructor took to prepare itself */
    if (status != RER_OK) {
        rer_model_free(made);
        return status;
    }
    *model = made;
    return RER_OK;
}

rer_status rer_model_load(rer_model **model, const char *path, rer_error *error)
{
    rer_tensors *tensors = NULL;
    rer_error_clear(error);
    rer_status status = rer_tensors_read(&tensors, path, error);
    if (status == RER_OK)
        status = load_tensors(model, tensors, path, error);
    rer_tensors_free(tensors);
    return status;
}

rer_status rer_model_unpack(rer_model **model, const void *bytes, int64_t size, rer_error *error)
{
    static const char name[] = "the model";
    rer_tensors *tensors = NULL;
    rer_error_clear(error);
    rer_status status = rer_tensors_unpack(&tensors, bytes, size, name, error);
    if (status == RER_OK)
        status = load_tensors(model, tensors, name, error);
    rer_tensors_free(tensors);
    return status;
}
