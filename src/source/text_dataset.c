/* A data set from a file of texts, whose features a model makes. */
#include "embed/encoder.h"
#include "source/dataset.h"
#include "source/formats.h"
#include "source/text_rows.h"

typedef struct gathering {
    rer_spool spool;
    int64_t row_bytes;
} gathering;

static rer_status gather(void *context, const rer_made_rows *made, rer_error *error)
{
    gathering *g = context;
    return rer_spool_write(&g->spool, made->rows, made->count * g->row_bytes, error);
}

static rer_status describe_all(rer_array *array, const rer_texts *texts, const rer_files *files,
                               const rer_options *options, rer_error *error)
{
    gathering g = {.spool = RER_EMPTY_SPOOL};
    rer_encoder *encoder = NULL;
    rer_pool *pool = NULL;
    rer_encoder_settings settings = rer_encoder_settings_of(options);
    rer_pool_settings threads = {.threads = options->threads, .memory = options->memory, .progress = files->progress};
    settings.model = files->model;
    settings.of_texts = true;
    rer_status status = rer_encoder_open(&encoder, &settings, error);
    if (status == RER_OK) {
        g.row_bytes = rer_encoder_columns(encoder) * (int64_t)sizeof(float);
        status = rer_pool_open(&pool, &threads, error);
    }
    RER_THEN(status, rer_text_rows_read(texts, 0, encoder, gather, &g, pool, error));
    if (status == RER_OK) {
        rer_array form = rer_float_rows(NULL, texts->count, rer_encoder_columns(encoder));
        status = rer_array_from_spool(array, &form, &g.spool, files->features, error);
    }
    rer_pool_close(pool);
    rer_encoder_free(encoder);
    rer_spool_drop(&g.spool);
    return status;
}

/* Labels that stand beside the texts: a column, or a member of JSON lines. */
static rer_status read_labels(rer_dataset *data, rer_files *files, rer_error *error)
{
    rer_texts labels = {0};
    char *path = NULL;
    rer_status status = rer_row_texts_beside(&path, files->features, files->labels, files->label_column, error);
    if (status == RER_OK && path != NULL) {
        status = rer_row_texts_all(&labels, path, error);
        RER_THEN(status, rer_labels_from_texts(&data->labels, &labels, error));
        data->labels.source = path;
        files->labels = files->label_column = NULL;
    }
    rer_texts_free(&labels);
    return status;
}

rer_status rer_dataset_open_text_rows(rer_dataset *data, rer_files *files, const rer_options *options, rer_error *error)
{
    rer_texts texts = {0};
    rer_status status = rer_row_texts_all(&texts, files->features, error);
    RER_THEN(status, read_labels(data, files, error));
    RER_THEN(status, describe_all(&data->features, &texts, files, options, error));
    if (status == RER_OK && files->texts == NULL)
        files->texts = files->features; /* for people to read */
    rer_texts_free(&texts);
    return status;
}
