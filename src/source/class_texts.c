/* Embeddings of classes from their names: see class_texts.h. */
#include "source/class_texts.h"
#include "source/formats.h"
#include "source/texts.h"

static rer_status wrong_template(const char *template, rer_error *error)
{
    return rer_fail(error, RER_BAD_USAGE, "--template '%s': has no {} for the name of a class", RER_QUOTED(template));
}

rer_status rer_class_texts_check(const rer_files *files, rer_error *error)
{
    if (files->classes != NULL && files->class_embeddings != NULL)
        return rer_fail(error, RER_BAD_USAGE, "classes are given twice: by %s and by %s; drop one", files->classes,
                        files->class_embeddings);
    if (files->classes != NULL && files->model == NULL)
        return rer_fail(error, RER_BAD_USAGE, "%s: names of classes need the model (--model) that knows texts too",
                        files->classes);
    if (files->class_template != NULL && strstr(files->class_template, "{}") == NULL)
        return wrong_template(files->class_template, error);
    return RER_OK;
}

static rer_status fill_template(rer_texts_builder *sentences, const char *template, const char *name, rer_error *error)
{
    const char *place = strstr(template, "{}");
    char *sentence = NULL;
    int64_t size = (int64_t)(strlen(template) + strlen(name)) + 1;
    if (place == NULL)
        return wrong_template(template, error);
    RER_TRY(rer_allocate(&sentence, size, 1, "a sentence", error));
    int length = snprintf(sentence, (size_t)size, "%.*s%s%s", (int)(place - template), template, name, place + 2);
    rer_status status = rer_texts_add(sentences, sentence, length, error);
    free(sentence);
    return status;
}

static rer_status describe_all(float *made, const rer_texts *sentences, rer_encoder *encoder, rer_error *error)
{
    int64_t batch = rer_encoder_batch(encoder), columns = rer_encoder_columns(encoder);
    const char **texts = NULL;
    rer_status status = rer_allocate(&texts, sentences->count, sizeof *texts, "sentences", error);
    for (int64_t i = 0; status == RER_OK && i < sentences->count; i++)
        texts[i] = rer_text(sentences, i);
    for (int64_t at = 0; status == RER_OK && at < sentences->count; at += batch)
        status = rer_encoder_describe_texts(encoder, texts + at, rer_min(batch, sentences->count - at),
                                            made + at * columns, error);
    free(texts);
    return status;
}

rer_status rer_class_texts_describe(float **made, int64_t *columns, const rer_texts *names, const char *template,
                                    const rer_encoder_settings *settings, rer_error *error)
{
    rer_texts_builder sentences = {0};
    rer_encoder *encoder = NULL;
    rer_encoder_settings of_texts = *settings;
    rer_status status = RER_OK;
    for (int64_t i = 0; i < names->count && status == RER_OK; i++)
        status = fill_template(&sentences, template != NULL ? template : "a photo of a {}", rer_text(names, i), error);
    of_texts.of_texts = true;
    RER_THEN(status, rer_encoder_open(&encoder, &of_texts, error));
    if (status == RER_OK) {
        *columns = rer_encoder_columns(encoder);
        status = rer_allocate(made, names->count * *columns, sizeof **made, "embeddings of classes", error);
    }
    RER_THEN(status, describe_all(*made, &sentences.texts, encoder, error));
    rer_encoder_free(encoder);
    rer_texts_free(&sentences.texts);
    return status;
}

/* The names in a file, or the labels themselves, with spaces where folders have _. */
static rer_status find_names(rer_texts *names, const rer_dataset *data, const char *file, rer_error *error)
{
    rer_texts_builder copied = {0};
    rer_status status = RER_OK;
    if (file != NULL)
        return rer_texts_open(names, file, NULL, data->labels.C, NULL, error);
    for (int32_t c = 0; c < data->labels.C && status == RER_OK; c++) {
        const char *name = rer_text(&data->labels.names, c);
        status = rer_texts_add(&copied, name, (int64_t)strlen(name), error);
    }
    for (int64_t i = 0; i < copied.used; i++)
        if (copied.texts.bytes[i] == '_')
            copied.texts.bytes[i] = ' ';
    *names = copied.texts;
    return status;
}

rer_status rer_class_texts_take(rer_dataset *data, const rer_files *files, const rer_options *options, rer_error *error)
{
    rer_encoder_settings settings = rer_encoder_settings_of(options);
    rer_texts names = {0};
    float *made = NULL;
    int64_t columns = 0;
    settings.model = files->model;
    if (data->labels.codes == NULL)
        return rer_fail(error, RER_BAD_USAGE, "names of classes need labels");
    rer_status status = find_names(&names, data, files->classes, error);
    RER_THEN(status, rer_class_texts_describe(&made, &columns, &names, files->class_template, &settings, error));
    if (status == RER_OK) {
        rer_array array = rer_float_rows(made, names.count, columns);
        array.name = files->classes != NULL ? (char *)files->classes : (char *)"names of classes";
        status = rer_class_embeddings_take(data, &array, error);
    }
    rer_texts_free(&names);
    free(made);
    return status;
}
