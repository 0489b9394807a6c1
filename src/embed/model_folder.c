/* A model as people have it: see model_folder.h. How pictures are prepared comes from preprocessor_config.json beside
 * the model, or from a preset; what the caller says goes before both. */
#define _GNU_SOURCE /* strcasestr */
#include "embed/model_folder.h"
#include "core/output.h"

#include <fcntl.h>
#include <jansson.h>
#include <sys/stat.h>
#include <unistd.h>

void rer_model_folder_close(rer_model_folder *folder)
{
    RER_FREE_ALL(folder->file, folder->tokenizer);
    *folder = (rer_model_folder){0};
}

/* ---- presets ---------------------------------------------------------------------------------- */

#define IMAGENET                                                                                                       \
    {.485, .456, .406},                                                                                                \
    {                                                                                                                  \
        .229, .224, .225                                                                                               \
    }
#define CLIP                                                                                                           \
    {.48145466, .4578275, .40821073},                                                                                  \
    {                                                                                                                  \
        .26862954, .26130258, .27577711                                                                                \
    }
#define HALF                                                                                                           \
    {.5, .5, .5},                                                                                                      \
    {                                                                                                                  \
        .5, .5, .5                                                                                                     \
    }

static const rer_recipe presets[] = {
    [RER_PRESET_CLIP] = {224, 0, 0, {224, 224}, RER_BICUBIC, 1. / 255, CLIP},
    [RER_PRESET_SIGLIP] = {0, 224, 224, {0, 0}, RER_BICUBIC, 1. / 255, HALF},
    [RER_PRESET_DINOV2] = {256, 0, 0, {224, 224}, RER_BICUBIC, 1. / 255, IMAGENET},
    [RER_PRESET_IMAGENET] = {256, 0, 0, {224, 224}, RER_BILINEAR, 1. / 255, IMAGENET},
};

/* ---- preprocessor_config.json ----------------------------------------------------------------- */

/* Within an int32: what lies outside is as wrong as its ends. */
static int64_t whole(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return json_is_integer(value) ? rer_max(INT32_MIN, rer_min(INT32_MAX, json_integer_value(value))) : 0;
}

static bool is_on(const json_t *object, const char *name, bool otherwise)
{
    const json_t *value = json_object_get(object, name);
    return json_is_boolean(value) ? json_is_true(value) : otherwise;
}

static const char *text(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return json_is_string(value) ? json_string_value(value) : "";
}

/* One number for all channels, or three. */
static void take_three(double three[3], const json_t *value)
{
    for (size_t i = 0; i < 3; i++) {
        const json_t *item = json_is_array(value) ? json_array_get(value, i) : value;
        three[i] = json_is_number(item) ? json_number_value(item) : three[i];
    }
}

/* A number is the shorter side for processors of CLIP's kind, and both sides for the others. */
static void take_size(rer_recipe *recipe, const json_t *config)
{
    const json_t *size = json_object_get(config, "size");
    bool by_shortest = strstr(text(config, "image_processor_type"), "CLIP") != NULL ||
                       strstr(text(config, "feature_extractor_type"), "CLIP") != NULL;
    if (json_is_integer(size))
        *(by_shortest ? &recipe->shortest : &recipe->height) = json_integer_value(size);
    else if (whole(size, "shortest_edge") > 0)
        recipe->shortest = whole(size, "shortest_edge");
    else {
        recipe->height = whole(size, "height");
        recipe->width = whole(size, "width");
    }
    if (recipe->width == 0)
        recipe->width = recipe->height;
}

static void take_crop(rer_recipe *recipe, const json_t *config)
{
    const json_t *crop = json_object_get(config, "crop_size");
    recipe->crop[0] = json_is_integer(crop) ? json_integer_value(crop) : whole(crop, "height");
    recipe->crop[1] = json_is_integer(crop) ? json_integer_value(crop) : whole(crop, "width");
}

/* ConvNeXt's processor, which ResNet has too: below 384 the size is the crop's, crop_pct of what it is cut from. */
static void take_share(rer_recipe *recipe, const json_t *config)
{
    const json_t *share = json_object_get(config, "crop_pct");
    int64_t side = recipe->shortest;
    if (!json_is_number(share) || side <= 0 || json_number_value(share) <= 0)
        return;
    recipe->shortest = side < 384 ? (int64_t)fmin((double)side / json_number_value(share), INT32_MAX) : 0;
    recipe->crop[0] = recipe->crop[1] = side < 384 ? side : 0;
    recipe->height = recipe->width = side < 384 ? 0 : side;
}

static void take_config(rer_recipe *recipe, const json_t *config)
{
    *recipe = (rer_recipe){.filter = RER_BILINEAR, .scale = 1, .spread = {1, 1, 1}};
    if (is_on(config, "do_resize", true))
        take_size(recipe, config);
    if (is_on(config, "do_center_crop", json_object_get(config, "crop_size") != NULL))
        take_crop(recipe, config);
    take_share(recipe, config);
    if (json_is_integer(json_object_get(config, "resample")))
        recipe->filter = (int32_t)whole(config, "resample");
    if (is_on(config, "do_rescale", true)) {
        const json_t *factor = json_object_get(config, "rescale_factor");
        recipe->scale = json_is_number(factor) ? json_number_value(factor) : 1. / 255;
    }
    if (is_on(config, "do_normalize", true)) {
        take_three(recipe->mean, json_object_get(config, "image_mean"));
        take_three(recipe->spread, json_object_get(config, "image_std"));
    }
}

/* *config stays NULL where there is no such file. */
static rer_status read_json(json_t **config, json_type type, const char *folder, const char *name, rer_error *error)
{
    json_error_t failure;
    char *path = NULL;
    rer_status status = rer_join_path(&path, folder, name, error);
    if (status == RER_OK && access(path, F_OK) == 0) {
        *config = json_load_file(path, 0, &failure);
        if (*config == NULL || json_typeof(*config) != type)
            status =
                rer_fail(error, RER_BAD_INPUT, "%s: line %d is not the JSON of an %s: %s", path, failure.line,
                         type == JSON_ARRAY ? "array" : "object", *config == NULL ? failure.text : "something else");
    }
    free(path);
    return status;
}

/* ---- the model -------------------------------------------------------------------------------- */

/* A model that goes by a part of such a name, for the command that makes it; the last is for texts, the one before it
 * for pictures of any kind. */
static const struct {
    const char *part, *format, *model;
} known_models[] = {{"siglip", "openvino", "google/siglip-base-patch16-224"},
                    {"clip", "openvino", "openai/clip-vit-base-patch32"},
                    {"resnet", "openvino", "microsoft/resnet-50"},
                    {"vit", "openvino", "google/vit-base-patch16-224-in21k"},
                    {"e5", "openvino", "intfloat/e5-base-v2"},
                    {"bge", "openvino", "BAAI/bge-base-en-v1.5"},
                    {"dino", "onnx", "facebook/dinov2-base"},
                    {"minilm", "openvino", "sentence-transformers/all-MiniLM-L6-v2"}};

static rer_status missing(const char *model, bool of_texts, rer_error *error)
{
    int which = RER_COUNT(known_models) - (of_texts ? 1 : 2);
    for (int i = RER_COUNT(known_models) - 1; i >= 0; i--)
        if (strcasestr(model, known_models[i].part) != NULL)
            which = i;
    bool is_onnx = strcmp(known_models[which].format, "onnx") == 0;
    return rer_fail(error, RER_BAD_INPUT,
                    "%s: there is no such folder or file; optimum-cli export %s --model %s %s makes it (pip install "
                    "%s)",
                    model, known_models[which].format, known_models[which].model, model,
                    is_onnx ? "optimum-onnx" : "optimum-intel openvino-tokenizers");
}

static rer_status find_model(char **file, const char *folder, rer_error *error)
{
    static const char *const names[] = {"openvino_model.xml", "model.onnx", "onnx/model.onnx"};
    for (int i = 0; i < RER_COUNT(names); i++) {
        RER_TRY(rer_join_path(file, folder, names[i], error));
        if (access(*file, F_OK) == 0)
            return RER_OK;
        free(*file);
        *file = NULL;
    }
    return rer_fail(error, RER_BAD_INPUT,
                    "%s: has neither openvino_model.xml nor model.onnx; optimum-cli export openvino leaves one there",
                    folder);
}

/* Encoders whose token of the whole picture stands first, and whose pooler was made for other ends or is missing. */
static const char *const token_models[] = {"vit", "deit", "dinov2", "dinov2_with_registers", "dinov3_vit"};

static void choose_outputs(rer_model_folder *folder, const char *model_type)
{
    bool first = false;
    for (int i = 0; i < RER_COUNT(token_models); i++)
        first |= strcmp(model_type, token_models[i]) == 0;
    folder->pooling = first ? RER_POOL_FIRST : RER_POOL_MEAN;
    folder->outputs[0] = "image_embeds";
    folder->outputs[1] = first ? "last_hidden_state" : "pooler_output";
    folder->outputs[2] = first ? "pooler_output" : "last_hidden_state";
}

/* ---- texts ------------------------------------------------------------------------------------ */

/* 1_Pooling/config.json of sentence-transformers, in both of its forms. */
static rer_status take_pooling(rer_model_folder *folder, const json_t *config, const char *model, rer_error *error)
{
    static const struct {
        const char *flag, *name;
        rer_pooling pooling;
    } known[] = {{"pooling_mode_mean_tokens", "mean", RER_POOL_MEAN},
                 {"pooling_mode_cls_token", "cls", RER_POOL_FIRST},
                 {"pooling_mode_lasttoken", "lasttoken", RER_POOL_LAST},
                 {"pooling_mode_max_tokens", "max", RER_POOL_MAX},
                 {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", -1},
                 {"pooling_mode_weightedmean_tokens", "weightedmean", -1}};
    int chosen = 0;
    for (int i = 0; i < RER_COUNT(known); i++)
        if (is_on(config, known[i].flag, false) || strcmp(text(config, "pooling_mode"), known[i].name) == 0) {
            folder->pooling = known[i].pooling;
            chosen += (int)known[i].pooling < 0 ? 2 : 1;
        }
    return chosen == 1
               ? RER_OK
               : rer_fail(error, RER_BAD_INPUT,
                          "%s: 1_Pooling/config.json asks for none of mean, cls, lasttoken and max alone", model);
}

/* modules.json: what follows the encoder. */
static rer_status take_modules(rer_model_folder *folder, const json_t *modules, const char *model, rer_error *error)
{
    for (size_t i = 0; i < json_array_size(modules); i++) {
        const char *type = text(json_array_get(modules, i), "type"), *last = strrchr(type, '.');
        last = last != NULL ? last + 1 : type;
        folder->is_normalized |= strcmp(last, "Normalize") == 0;
        if (strcmp(last, "Normalize") != 0 && strcmp(last, "Transformer") != 0 && strcmp(last, "Pooling") != 0)
            return rer_fail(error, RER_BAD_INPUT, "%s: modules.json has a layer %s, which is not known here", model,
                            RER_QUOTED(type));
    }
    return RER_OK;
}

/* Positions of these models begin behind two that are for padding. */
static const char *const shifted_models[] = {"roberta", "xlm-roberta", "camembert", "mpnet"};

static void take_limits(rer_token_limits *limits, const json_t *config, const json_t *sentences)
{
    const json_t *texts = json_object_get(config, "text_config");
    texts = json_is_object(texts) ? texts : config;
    int64_t positions = whole(texts, "max_position_embeddings"), said = whole(sentences, "max_seq_length");
    for (int i = 0; i < RER_COUNT(shifted_models); i++)
        if (strcmp(text(config, "model_type"), shifted_models[i]) == 0)
            positions -= 2;
    limits->most = positions > 0 ? positions : 512;
    limits->most = said > 0 ? rer_min(said, limits->most) : limits->most;
    limits->step = 8;
    limits->padding = rer_max(0, whole(texts, "pad_token_id"));
}

static rer_status find_tokenizer(rer_model_folder *folder, const char *model, rer_error *error)
{
    RER_TRY(rer_join_path(&folder->tokenizer, model, "openvino_tokenizer.xml", error));
    if (access(folder->tokenizer, F_OK) != 0)
        return rer_fail(error, RER_BAD_INPUT,
                        "%s: has no openvino_tokenizer.xml, which texts need; convert_tokenizer MODEL -o %s makes it "
                        "(pip install openvino-tokenizers[transformers]), and optimum-cli export openvino does",
                        model, model);
    return RER_OK;
}

static rer_status open_texts(rer_model_folder *folder, const char *model, const json_t *config, rer_error *error)
{
    json_t *pooling = NULL, *modules = NULL, *sentences = NULL;
    rer_status status = find_tokenizer(folder, model, error);
    RER_THEN(status, read_json(&pooling, JSON_OBJECT, model, "1_Pooling/config.json", error));
    RER_THEN(status, read_json(&modules, JSON_ARRAY, model, "modules.json", error));
    RER_THEN(status, read_json(&sentences, JSON_OBJECT, model, "sentence_bert_config.json", error));
    folder->pooling = RER_POOL_MEAN;
    if (status == RER_OK && pooling != NULL)
        status = take_pooling(folder, pooling, model, error);
    RER_THEN(status, take_modules(folder, modules, model, error));
    take_limits(&folder->limits, config, sentences);
    folder->outputs[0] = "sentence_embedding";
    folder->outputs[1] = "text_embeds";
    folder->outputs[2] = "last_hidden_state";
    json_decref(pooling);
    json_decref(modules);
    json_decref(sentences);
    return status;
}

static rer_status open_folder(rer_model_folder *folder, const rer_encoder_settings *settings, rer_error *error)
{
    json_t *processor = NULL, *config = NULL;
    rer_status status = find_model(&folder->file, settings->model, error);
    RER_THEN(status, read_json(&processor, JSON_OBJECT, settings->model, "preprocessor_config.json", error));
    RER_THEN(status, read_json(&config, JSON_OBJECT, settings->model, "config.json", error));
    if (status == RER_OK && processor != NULL)
        take_config(&folder->recipe, processor);
    if (status == RER_OK && settings->of_texts)
        status = open_texts(folder, settings->model, config, error);
    else if (status == RER_OK)
        choose_outputs(folder, text(config, "model_type"));
    json_decref(processor);
    json_decref(config);
    return status;
}

/* Of the size, the beginning and the end. */
static uint64_t checksum_of(uint64_t hash, const char *path)
{
    enum { PIECE = 1 << 16 };
    char *bytes = rer_memory(PIECE);
    struct stat found;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && bytes != NULL && fstat(fd, &found) == 0) {
        int64_t size = found.st_size;
        hash = rer_checksum(hash, &size, sizeof size);
        for (int end = 0; end < 2; end++) {
            ssize_t got = pread(fd, bytes, PIECE, end ? (off_t)rer_max(0, size - PIECE) : 0);
            hash = rer_checksum(hash, bytes, rer_max(0, got));
        }
    }
    if (fd >= 0)
        (void)close(fd);
    free(bytes);
    return hash;
}

static rer_status find_checksum(rer_model_folder *folder, rer_error *error)
{
    char *weights = NULL;
    RER_TRY(rer_copy_text(&weights, folder->file, error));
    folder->checksum = checksum_of(RER_CHECKSUM_START, folder->file);
    size_t length = strlen(weights);
    if (length > 4 && strcmp(weights + length - 4, ".xml") == 0) {
        memcpy(weights + length - 4, ".bin", 4);
        folder->checksum = checksum_of(folder->checksum, weights);
    }
    if (folder->tokenizer != NULL)
        folder->checksum = checksum_of(folder->checksum, folder->tokenizer);
    free(weights);
    return RER_OK;
}

/* ---- what the caller says --------------------------------------------------------------------- */

static rer_status parse_three(double three[3], const char *option, const char *text_given, rer_error *error)
{
    const char *at = text_given;
    int count = 0;
    while (at != NULL && count < 3) {
        char *end = NULL;
        three[count] = strtod(at, &end);
        if (end == at || (*end != 0 && *end != ',') || !isfinite(three[count]))
            break;
        count++;
        at = *end == ',' ? end + 1 : NULL;
    }
    if (text_given != NULL && (at != NULL || count == 0 || count == 2))
        return rer_fail(error, RER_BAD_USAGE, "--%s: '%s' is neither one number nor three with commas between", option,
                        RER_QUOTED(text_given));
    for (; count == 1 || count == 2; count++)
        three[count] = three[0];
    return RER_OK;
}

static rer_status override(rer_recipe *recipe, const rer_encoder_settings *settings, rer_error *error)
{
    if (settings->side > 0) {
        recipe->shortest = settings->crop > 0 || recipe->crop[0] > 0 ? settings->side : 0;
        recipe->height = recipe->width = recipe->shortest > 0 ? 0 : settings->side;
    }
    if (settings->crop > 0)
        recipe->crop[0] = recipe->crop[1] = settings->crop;
    if (settings->filter >= 0)
        recipe->filter = settings->filter;
    RER_TRY(parse_three(recipe->mean, "mean", settings->mean, error));
    return parse_three(recipe->spread, "std", settings->spread, error);
}

static rer_status check_recipe(const rer_recipe *recipe, const char *model, rer_error *error)
{
    enum { MOST = 1 << 12 };
    const int64_t sides[] = {recipe->shortest, recipe->height, recipe->width, recipe->crop[0], recipe->crop[1]};
    int64_t size[2];
    for (int i = 0; i < RER_COUNT(sides); i++)
        if (sides[i] < 0 || sides[i] > MOST)
            return rer_fail(error, RER_BAD_INPUT, "%s: pictures of %lld pixels on a side; 1 to %d can be made", model,
                            (long long)sides[i], MOST);
    if (!rer_recipe_size(recipe, size))
        return rer_fail(error, RER_BAD_USAGE,
                        "%s: nothing says how large pictures must be: no preprocessor_config.json with a size lies "
                        "beside the model; give --preset, or --size and --crop, to rer embed",
                        model);
    if (recipe->filter < 0 || recipe->filter >= RER_FILTERS)
        return rer_fail(error, RER_BAD_INPUT, "%s: preprocessor_config.json has no resample 0 to 5, but %d", model,
                        recipe->filter);
    for (int i = 0; i < 3; i++)
        if (!(recipe->spread[i] > 0))
            return rer_fail(error, RER_BAD_INPUT, "%s: a standard deviation of %g; it must be positive", model,
                            recipe->spread[i]);
    return RER_OK;
}

rer_status rer_model_folder_open(rer_model_folder *folder, const rer_encoder_settings *settings, rer_error *error)
{
    struct stat found;
    rer_model_folder opened = {.recipe = {.filter = RER_BILINEAR, .scale = 1. / 255, .spread = {1, 1, 1}}};
    if (stat(settings->model, &found) != 0)
        return missing(settings->model, settings->of_texts, error);
    if (settings->of_texts && !S_ISDIR(found.st_mode))
        return rer_fail(error, RER_BAD_USAGE, "%s: is no folder; a model of texts has its tokenizer beside it",
                        settings->model);
    rer_status status = S_ISDIR(found.st_mode) ? open_folder(&opened, settings, error)
                                               : rer_copy_text(&opened.file, settings->model, error);
    if (status == RER_OK && settings->preset != RER_PRESET_NONE) {
        opened.recipe = presets[settings->preset];
        if (settings->preset == RER_PRESET_DINOV2)
            opened.pooling = RER_POOL_FIRST;
    }
    RER_THEN(status, override(&opened.recipe, settings, error));
    if (status == RER_OK && !settings->of_texts)
        status = check_recipe(&opened.recipe, settings->model, error);
    if (status == RER_OK && settings->output != NULL) {
        opened.outputs[0] = settings->output;
        opened.outputs[1] = NULL;
    }
    RER_THEN(status, find_checksum(&opened, error));
    if (status == RER_OK)
        *folder = opened;
    else
        rer_model_folder_close(&opened);
    return status;
}
