/* A data set from a folder of pictures. Their rows are spooled: features by a model, or else small pictures of one
 * size, which then go the way of every array of pictures. */
#include "embed/encoder.h"
#include "source/dataset.h"
#include "source/formats.h"
#include "source/photos.h"
#include "source/row_texts.h"

enum { SIDE = RER_HOG_SIDE, BATCH = 16 };

static rer_status prepare(void *context, rer_pixels picture, uint8_t *slot, rer_error *error)
{
    return rer_recipe_apply(slot, context, picture, error);
}

static rer_status prepare_for_model(void *context, rer_pixels picture, uint8_t *slot, rer_error *error)
{
    return rer_recipe_apply(slot, rer_encoder_recipe(context), picture, error);
}

static rer_status describe(void *context, const uint8_t *slots, int64_t count, void *rows, rer_error *error)
{
    return rer_encoder_describe(context, slots, count, rows, error);
}

/* What could be read, row by row. */
typedef struct gathering {
    const rer_photos *photos;
    rer_encoder *encoder; /* NULL: rows are small pictures */
    int64_t row_bytes;
    rer_spool spool;
    rer_texts_builder paths, ids, classes, skipped;
} gathering;

static rer_status add(rer_texts_builder *to, const rer_texts *from, int64_t row, rer_error *error)
{
    const char *text = rer_text(from, row);
    return rer_texts_add(to, text, (int64_t)strlen(text), error);
}

static rer_status gather_row(gathering *g, const rer_made_rows *rows, int64_t i, rer_error *error)
{
    const char *failure = rows->failures[i].message;
    if (rows->failures[i].status != RER_OK)
        return rer_texts_add(&g->skipped, failure, (int64_t)strlen(failure), error);
    RER_TRY(rer_spool_write(&g->spool, rows->rows + i * g->row_bytes, g->row_bytes, error));
    RER_TRY(add(&g->paths, &g->photos->paths, rows->first + i, error));
    RER_TRY(add(&g->ids, &g->photos->ids, rows->first + i, error));
    return add(&g->classes, &g->photos->classes, rows->first + i, error);
}

static rer_status gather(void *context, const rer_made_rows *rows, rer_error *error)
{
    for (int64_t i = 0; i < rows->count; i++)
        RER_TRY(gather_row(context, rows, i, error));
    return RER_OK;
}

static rer_status make_array(rer_array *array, gathering *g, const char *name, rer_error *error)
{
    int64_t N = g->paths.texts.count;
    rer_array form = {.dtype = RER_U8, .item_size = 1, .rank = 4, .fd = -1, .shape = {N, SIDE, SIDE, 3}};
    if (g->encoder != NULL)
        form = rer_float_rows(NULL, N, rer_encoder_columns(g->encoder));
    return rer_array_from_spool(array, &form, &g->spool, name, error);
}

static void move(rer_texts *to, rer_texts_builder *from)
{
    *to = from->texts;
    from->texts = (rer_texts){0};
}

/* What was gathered becomes the data set's. */
static rer_status take(rer_dataset *data, gathering *g, const rer_files *files, rer_error *error)
{
    if (g->paths.texts.count == 0)
        return rer_fail(error, RER_BAD_INPUT, "%s: none of its %lld pictures can be read; the first: %s",
                        files->features, (long long)g->photos->paths.count, rer_text(&g->skipped.texts, 0));
    RER_TRY(make_array(&data->features, g, files->features, error));
    data->has_folder_labels = files->labels == NULL && g->photos->has_classes;
    if (data->has_folder_labels)
        RER_TRY(rer_labels_from_texts(&data->labels, &g->classes.texts, error));
    if (files->ids == NULL)
        move(&data->ids, &g->ids);
    if (files->images == NULL)
        move(&data->images.paths, &g->paths);
    move(&data->skipped, &g->skipped);
    return RER_OK;
}

/* Where a file has a line for each picture, none may be missing. */
static bool needs_all(const rer_files *files)
{
    return files->labels != NULL || files->ids != NULL || files->pred_probs != NULL || files->subsets != NULL ||
           files->images != NULL || files->texts != NULL;
}

static rer_describer small_pictures(rer_recipe *recipe)
{
    *recipe = (rer_recipe){.height = SIDE, .width = SIDE, .filter = RER_BILINEAR};
    return (rer_describer){.slot_bytes = (int64_t)SIDE * SIDE * 3,
                           .row_bytes = (int64_t)SIDE * SIDE * 3,
                           .batch = BATCH,
                           .prepare = prepare,
                           .context = recipe};
}

static rer_describer by_model(rer_encoder *encoder)
{
    int64_t size[2] = {0};
    (void)rer_recipe_size(rer_encoder_recipe(encoder), size);
    return (rer_describer){.slot_bytes = size[0] * size[1] * 3,
                           .row_bytes = rer_encoder_columns(encoder) * (int64_t)sizeof(float),
                           .batch = rer_encoder_batch(encoder),
                           .prepare = prepare_for_model,
                           .describe = describe,
                           .context = encoder};
}

static rer_status read_photos(gathering *g, const rer_photos *photos, const rer_files *files,
                              const rer_options *options, rer_error *error)
{
    rer_pool *pool = NULL;
    rer_pool_settings settings = {.threads = options->threads, .memory = options->memory, .progress = files->progress};
    rer_recipe recipe;
    rer_describer describer = g->encoder != NULL ? by_model(g->encoder) : small_pictures(&recipe);
    g->row_bytes = describer.row_bytes;
    rer_status status = rer_pool_open(&pool, &settings, error);
    RER_THEN(status,
             rer_photos_read(photos, 0, &describer, options->strict || needs_all(files), gather, g, pool, error));
    rer_pool_close(pool);
    return status;
}

static rer_status open_encoder(rer_encoder **encoder, const rer_files *files, const rer_options *options,
                               rer_error *error)
{
    rer_encoder_settings settings = rer_encoder_settings_of(options);
    settings.model = files->model;
    return files->model != NULL ? rer_encoder_open(encoder, &settings, error) : RER_OK;
}

/* ---- labels of a table ------------------------------------------------------------------------ */

static bool is_name_of(const char *name, const char *id)
{
    const char *slash = strrchr(id, '/');
    return strcmp(name, id) == 0 || (slash != NULL && strcmp(name, slash + 1) == 0);
}

static rer_status check_names(const rer_texts *names, const rer_photos *photos, const char *path, rer_error *error)
{
    for (int64_t i = 0; names->count == photos->ids.count && i < names->count; i++)
        if (!is_name_of(rer_text(names, i), rer_text(&photos->ids, i)))
            return rer_fail(
                error, RER_BAD_INPUT,
                "%s: row %lld (from 0) is of '%s', but the picture there is '%s'; labels go by the order of "
                "the paths, as rer embed lists them in X_ids.csv: bring the table into it",
                path, (long long)i, RER_QUOTED(rer_text(names, i)), RER_QUOTED(rer_text(&photos->ids, i)));
    return RER_OK;
}

/* A table that names the pictures must name them in their order: labels of other pictures look like wrong ones. */
static rer_status check_table(const rer_photos *photos, const char *labels, rer_error *error)
{
    static const char *const columns[] = {"file", "file_name", "filename", "path", "image", "id"};
    rer_status status = RER_OK;
    for (int i = 0; status == RER_OK && i < RER_COUNT(columns); i++) {
        char *path = NULL;
        rer_texts names = {0};
        rer_error cause = {0};
        status = rer_row_texts_beside(&path, labels, NULL, columns[i], error);
        rer_status read = status == RER_OK ? rer_row_texts_all(&names, path, &cause) : status;
        if (read == RER_OK)
            status = check_names(&names, photos, path, error);
        else if (status == RER_OK && read == RER_SYSTEM)
            status = rer_fail(error, RER_SYSTEM, "%s", cause.message);
        rer_texts_free(&names);
        free(path);
    }
    return status;
}

/* Of a file that may have columns; what cannot be read is told where it is read. */
static bool is_table(const char *labels)
{
    const char *colon = labels != NULL ? strrchr(labels, ':') : NULL;
    return colon != NULL && colon - labels > 4 &&
           (strncmp(colon - 4, ".csv", 4) == 0 || strncmp(colon - 4, ".tsv", 4) == 0);
}

rer_status rer_dataset_open_photos(rer_dataset *data, const rer_files *files, const rer_options *options,
                                   rer_error *error)
{
    rer_photos photos = {0};
    gathering g = {.photos = &photos, .spool = RER_EMPTY_SPOOL};
    if (files->labels == NULL && files->label_column != NULL)
        return rer_fail(error, RER_BAD_USAGE,
                        "%s: a folder has no column '%s'; give the labels as a file, one a picture", files->features,
                        files->label_column);
    rer_status status = rer_photos_list(&photos, files->features, error);
    if (status == RER_OK && is_table(files->labels))
        status = check_table(&photos, files->labels, error);
    RER_THEN(status, open_encoder(&g.encoder, files, options, error));
    RER_THEN(status, read_photos(&g, &photos, files, options, error));
    RER_THEN(status, take(data, &g, files, error));
    rer_encoder_free(g.encoder);
    rer_spool_drop(&g.spool);
    rer_texts_free(&g.paths.texts);
    rer_texts_free(&g.ids.texts);
    rer_texts_free(&g.classes.texts);
    rer_texts_free(&g.skipped.texts);
    rer_photos_free(&photos);
    return status;
}
