/* Pictures and texts to features: see encoder.h. */
#include "embed/encoder.h"
#include "embed/engine.h"
#include "embed/hog.h"
#include "embed/model_folder.h"

#include <unistd.h>

enum { BATCH = 16 };

struct rer_encoder {
    rer_recipe recipe;
    int64_t size[2]; /* height, width */
    int64_t batch, columns;
    uint64_t checksum;
    rer_hog plan; /* of the descriptor, or */
    rer_engine *engine;
    rer_tokenizer *tokenizer; /* of texts */
    rer_token_limits limits;
    rer_pooling pooling;
    bool is_normalized;
    float table[3][256]; /* what a byte becomes, for red, green and blue */
};

rer_encoder_settings rer_encoder_settings_of(const rer_options *options)
{
    return (rer_encoder_settings){.side = options->size,
                                  .crop = options->crop,
                                  .filter = options->interpolation - 1,
                                  .preset = options->preset,
                                  .threads = options->threads};
}

static rer_status open_descriptor(rer_encoder *encoder, rer_error *error)
{
    encoder->recipe = (rer_recipe){.height = RER_HOG_SIDE, .width = RER_HOG_SIDE, .filter = RER_BILINEAR};
    encoder->checksum = rer_checksum(RER_CHECKSUM_START, "hog", 3);
    encoder->batch = BATCH;
    RER_TRY(rer_hog_plan(&encoder->plan, RER_HOG_SIDE, RER_HOG_SIDE, 3, "pictures", error));
    encoder->columns = encoder->plan.D;
    return RER_OK;
}

/* ---- a model ---------------------------------------------------------------------------------- */

static void fill_table(rer_encoder *encoder)
{
    const rer_recipe *r = &encoder->recipe;
    for (int c = 0; c < 3; c++)
        for (int v = 0; v < 256; v++)
            encoder->table[c][v] = (float)((v * r->scale - r->mean[c]) / r->spread[c]);
}

/* Of a whole batch: what is missing is empty. */
static rer_status make_tokens(rer_tokens *tokens, rer_encoder *encoder, const char *const *texts, int64_t count,
                              rer_error *error)
{
    const char *batch[BATCH];
    for (int64_t i = 0; i < encoder->batch; i++)
        batch[i] = i < count ? texts[i] : "";
    return rer_tokenizer_run(tokens, encoder->tokenizer, batch, encoder->batch, encoder->limits, error);
}

/* The length of a row is known when the model has run once. */
static rer_status try_model(rer_encoder *encoder, rer_error *error)
{
    rer_engine_seat *seat = NULL;
    rer_engine_result result;
    rer_tokens tokens = {0};
    rer_status status = rer_engine_sit(&seat, encoder->engine, error);
    if (status == RER_OK && encoder->tokenizer != NULL)
        status = make_tokens(&tokens, encoder, NULL, 0, error);
    RER_THEN(status, rer_engine_run(&result, encoder->engine, seat, tokens.count > 0 ? &tokens : NULL, error));
    if (status == RER_OK)
        encoder->columns = result.rank == 3 ? result.shape[2] : result.shape[1];
    rer_engine_rise(encoder->engine, seat);
    rer_tokens_free(&tokens);
    if (status == RER_OK && encoder->columns < 1)
        status =
            rer_fail(error, RER_BAD_INPUT, "the output %s of the model is empty", rer_engine_output(encoder->engine));
    return status;
}

static uint64_t model_checksum(const rer_encoder *encoder, const rer_model_folder *folder)
{
    const rer_recipe *r = &encoder->recipe;
    const char *output = rer_engine_output(encoder->engine);
    const int64_t sizes[] = {r->shortest,
                             r->height,
                             r->width,
                             r->crop[0],
                             r->crop[1],
                             r->filter,
                             encoder->pooling,
                             encoder->is_normalized,
                             encoder->limits.most,
                             encoder->tokenizer != NULL};
    uint64_t hash = rer_checksum(folder->checksum, sizes, sizeof sizes);
    hash = rer_checksum(hash, encoder->table, sizeof encoder->table);
    return rer_checksum(hash, output, (int64_t)strlen(output));
}

static int32_t count_threads(int32_t asked)
{
    return asked > 0 ? asked : (int32_t)rer_max(1, sysconf(_SC_NPROCESSORS_ONLN));
}

static rer_status open_model(rer_encoder *encoder, const rer_encoder_settings *settings, rer_error *error)
{
    rer_model_folder folder = {0};
    rer_status status = rer_model_folder_open(&folder, settings, error);
    if (status == RER_OK) {
        encoder->recipe = folder.recipe;
        encoder->pooling = folder.pooling;
        encoder->is_normalized = folder.is_normalized;
        encoder->limits = folder.limits;
        (void)rer_recipe_size(&encoder->recipe, encoder->size);
        fill_table(encoder);
        rer_engine_settings wanted = {.file = folder.file,
                                      .of_texts = settings->of_texts,
                                      .batch = BATCH,
                                      .size = {encoder->size[0], encoder->size[1]},
                                      .outputs = folder.outputs,
                                      .must_have = settings->output != NULL,
                                      .threads = count_threads(settings->threads)};
        status = rer_engine_open(&encoder->engine, &wanted, error);
    }
    if (status == RER_OK && settings->of_texts)
        status = rer_tokenizer_open(&encoder->tokenizer, folder.tokenizer, error);
    if (status == RER_OK) {
        encoder->batch = rer_engine_batch(encoder->engine);
        encoder->checksum = model_checksum(encoder, &folder);
        status = try_model(encoder, error);
    }
    rer_model_folder_close(&folder);
    return status;
}

/* [height, width, 3] bytes -> [3, height, width] as the model wants them. */
static void fill_input(const rer_encoder *encoder, const uint8_t *rgb, int64_t count, float *input)
{
    int64_t pixels = encoder->size[0] * encoder->size[1];
    for (int64_t i = 0; i < count; i++, rgb += 3 * pixels)
        for (int c = 0; c < 3; c++, input += pixels)
            for (int64_t p = 0; p < pixels; p++)
                input[p] = encoder->table[c][rgb[3 * p + c]];
}

/* Features of patches or tokens become one row; NULL: all of them count. */
static void pool_tokens(float *row, const rer_encoder *encoder, const float *features, int64_t length,
                        const int64_t *mask)
{
    int64_t D = encoder->columns, count = 0;
    for (int64_t t = 0; t < length; t++)
        count += mask == NULL || mask[t] != 0;
    int64_t first = encoder->pooling == RER_POOL_LAST ? count - 1 : 0;
    int64_t end = encoder->pooling == RER_POOL_FIRST ? 1 : count;
    for (int64_t j = 0; j < D; j++) {
        double sum = 0, most = -INFINITY;
        for (int64_t t = first; t < end; t++) {
            double value = (double)features[t * D + j];
            sum += value;
            most = fmax(most, value);
        }
        row[j] = (float)(encoder->pooling == RER_POOL_MAX ? most : sum / (double)(end - first));
    }
}

static void pool_planes(float *row, const float *planes, int64_t pixels, int64_t columns)
{
    for (int64_t j = 0; j < columns; j++) {
        double sum = 0;
        for (int64_t p = 0; p < pixels; p++)
            sum += (double)planes[j * pixels + p];
        row[j] = (float)(sum / (double)pixels);
    }
}

static void normalize(float *row, int64_t columns)
{
    double sum = 0;
    for (int64_t j = 0; j < columns; j++)
        sum += (double)row[j] * (double)row[j];
    double length = sqrt(sum);
    for (int64_t j = 0; j < columns && length > 0; j++)
        row[j] = (float)((double)row[j] / length);
}

/* `mask` [count, tokens], or NULL. */
static void take_rows(const rer_encoder *encoder, const rer_engine_result *result, const int64_t *mask, int64_t count,
                      float *out)
{
    const int64_t *shape = result->shape, D = encoder->columns;
    for (int64_t i = 0; i < count; i++, out += D) {
        if (result->rank == 3)
            pool_tokens(out, encoder, result->data + i * shape[1] * D, shape[1],
                        mask != NULL ? mask + i * shape[1] : NULL);
        else if (result->rank == 4)
            pool_planes(out, result->data + i * D * shape[2] * shape[3], shape[2] * shape[3], D);
        else
            memcpy(out, result->data + i * D, (size_t)D * sizeof *out);
        if (encoder->is_normalized)
            normalize(out, D);
    }
}

static rer_status describe_by_model(rer_encoder *encoder, const uint8_t *rgb, int64_t count, float *out,
                                    rer_error *error)
{
    rer_engine_seat *seat = NULL;
    rer_engine_result result;
    RER_TRY(rer_engine_sit(&seat, encoder->engine, error));
    fill_input(encoder, rgb, encoder->batch, seat->input); /* the last batch is filled up */
    rer_status status = rer_engine_run(&result, encoder->engine, seat, NULL, error);
    if (status == RER_OK)
        take_rows(encoder, &result, NULL, count, out);
    rer_engine_rise(encoder->engine, seat);
    return status;
}

rer_status rer_encoder_describe_texts(rer_encoder *encoder, const char *const *texts, int64_t count, float *out,
                                      rer_error *error)
{
    rer_engine_seat *seat = NULL;
    rer_engine_result result;
    rer_tokens tokens = {0};
    rer_status status = make_tokens(&tokens, encoder, texts, count, error);
    RER_THEN(status, rer_engine_sit(&seat, encoder->engine, error));
    RER_THEN(status, rer_engine_run(&result, encoder->engine, seat, &tokens, error));
    if (status == RER_OK && result.rank == 3 && result.shape[1] != tokens.length)
        status = rer_fail(error, RER_BAD_INPUT, "the output %s of the model has not a part for each token",
                          rer_engine_output(encoder->engine));
    if (status == RER_OK)
        take_rows(encoder, &result, tokens.mask, count, out);
    rer_engine_rise(encoder->engine, seat);
    rer_tokens_free(&tokens);
    return status;
}

/* ---- all -------------------------------------------------------------------------------------- */

rer_status rer_encoder_open(rer_encoder **encoder, const rer_encoder_settings *settings, rer_error *error)
{
    rer_encoder *opened = NULL;
    rer_status status = rer_allocate(&opened, 1, sizeof *opened, "an encoder", error);
    RER_THEN(status, settings->model != NULL ? open_model(opened, settings, error) : open_descriptor(opened, error));
    if (status == RER_OK)
        *encoder = opened;
    else
        rer_encoder_free(opened);
    return status;
}

void rer_encoder_free(rer_encoder *encoder)
{
    if (encoder != NULL) {
        rer_engine_free(encoder->engine);
        rer_tokenizer_free(encoder->tokenizer);
    }
    free(encoder);
}

const rer_recipe *rer_encoder_recipe(const rer_encoder *encoder)
{
    return &encoder->recipe;
}

int64_t rer_encoder_columns(const rer_encoder *encoder)
{
    return encoder->columns;
}

int64_t rer_encoder_batch(const rer_encoder *encoder)
{
    return encoder->batch;
}

uint64_t rer_encoder_checksum(const rer_encoder *encoder)
{
    return encoder->checksum;
}

static rer_status describe_by_hog(const rer_encoder *encoder, const uint8_t *rgb, int64_t count, float *out,
                                  rer_error *error)
{
    char *scratch = NULL;
    RER_TRY(rer_allocate(&scratch, rer_hog_scratch(&encoder->plan), 1, "the descriptor of pictures", error));
    rer_hog_describe(&encoder->plan, rgb, count, out, scratch);
    free(scratch);
    return RER_OK;
}

rer_status rer_encoder_describe(rer_encoder *encoder, const uint8_t *rgb, int64_t count, float *out, rer_error *error)
{
    return encoder->engine != NULL ? describe_by_model(encoder, rgb, count, out, error)
                                   : describe_by_hog(encoder, rgb, count, out, error);
}
