/* rer embed: a folder of pictures -> X.npy.
 *
 * 1. The pictures are listed, and the encoder is opened; a checksum of both says whether rows that an earlier call has
 *    left in X.npy.part are rows of this one.
 * 2. Pictures are read, prepared and described in batches; rows are appended in order. A picture that cannot be read
 *    is a row of NaN.
 * 3. X.npy gets the rows that are there, and ids, labels and a list of what was skipped take their places with it. */
#include "core/files.h"
#include "core/options.h"
#include "embed/encoder.h"
#include "source/photos.h"
#include "source/picture.h"
#include "studies/embed/rows_file.h"

typedef struct embedding {
    rer_embed_files files;
    rer_options options;
    rer_photos photos;
    rer_encoder *encoder;
    rer_rows_file rows;
    bool *is_row; /* [pictures] */
    rer_embed_summary summary;
} embedding;

/* ---- 1. what is to be done -------------------------------------------------------------------- */

/* Of all that decides about the rows. */
static uint64_t find_checksum(const embedding *e)
{
    uint64_t hash = rer_encoder_checksum(e->encoder);
    for (int64_t i = 0; i < e->photos.paths.count; i++) {
        const char *id = rer_text(&e->photos.ids, i);
        hash = rer_checksum(hash, id, (int64_t)strlen(id) + 1);
    }
    return hash;
}

static rer_status prepare_all(embedding *e, rer_error *error)
{
    rer_encoder_settings settings = rer_encoder_settings_of(&e->options);
    settings.model = e->files.model;
    settings.output = e->files.output;
    settings.mean = e->files.mean;
    settings.spread = e->files.std;
    if (e->files.input == NULL || e->files.out == NULL)
        return rer_fail(error, RER_BAD_USAGE, "no folder of pictures, or no file for its features is named");
    if (!rer_path_is_folder(e->files.input))
        return rer_fail(error, RER_BAD_INPUT, "%s: is no folder; pictures are taken from one", e->files.input);
    rer_status status = rer_check_output(e->files.out, NULL, error);
    if (status == RER_OK)
        status = rer_photos_list(&e->photos, e->files.input, error);
    if (status == RER_OK)
        status = rer_encoder_open(&e->encoder, &settings, error);
    if (status == RER_OK)
        status = rer_rows_file_open(&e->rows, e->files.out, rer_encoder_columns(e->encoder),
                                    e->options.embed_dtype == RER_EMBED_F16, find_checksum(e), error);
    if (status != RER_OK)
        return status;
    int64_t batch = rer_encoder_batch(e->encoder), count = e->photos.paths.count; /* batches are as they were */
    e->summary.n_before = e->rows.rows < count ? e->rows.rows / batch * batch : count;
    e->summary.n_pictures = count;
    e->summary.n_columns = rer_encoder_columns(e->encoder);
    return rer_rows_file_cut(&e->rows, e->summary.n_before, error);
}

/* ---- 2. rows ---------------------------------------------------------------------------------- */

static rer_status prepare_one(void *context, rer_pixels picture, uint8_t *slot, rer_error *error)
{
    return rer_recipe_apply(slot, rer_encoder_recipe(context), picture, error);
}

static rer_status describe(void *context, const uint8_t *slots, int64_t count, void *rows, rer_error *error)
{
    return rer_encoder_describe(context, slots, count, rows, error);
}

/* Whether the file can hold the numbers of a row. */
static rer_status check_row(const embedding *e, const float *row, int64_t picture, rer_error *error)
{
    double most = e->rows.is_half ? 65504 : (double)HUGE_VALF;
    for (int64_t j = 0; j < e->rows.columns; j++)
        if (!(fabs((double)row[j]) <= most) || isinf(row[j]))
            return rer_fail(error, RER_BAD_INPUT, "%s: feature %lld is %g, %s", rer_text(&e->photos.paths, picture),
                            (long long)j, (double)row[j],
                            isfinite(row[j]) ? "beyond what float16 holds; take --dtype float32"
                                             : "no number: something is wrong with the model");
    return RER_OK;
}

static rer_status add_rows(void *context, const rer_photo_rows *made, rer_error *error)
{
    embedding *e = context;
    float *rows = (float *)(void *)made->rows;
    rer_status status = RER_OK;
    for (int64_t i = 0; i < made->count && status == RER_OK; i++) {
        float *row = rows + i * e->rows.columns;
        if (made->failures[i].status == RER_OK)
            status = check_row(e, row, made->first + i, error);
        else
            for (int64_t j = 0; j < e->rows.columns; j++)
                row[j] = NAN;
    }
    return status == RER_OK ? rer_rows_file_add(&e->rows, rows, made->count, error) : status;
}

static rer_status make_rows(embedding *e, const rer_progress *progress, rer_error *error)
{
    rer_pool *pool = NULL;
    rer_pool_settings settings = {.threads = e->options.threads, .memory = e->options.memory, .progress = progress};
    int64_t size[2] = {0};
    (void)rer_recipe_size(rer_encoder_recipe(e->encoder), size);
    rer_describer describer = {.slot_bytes = size[0] * size[1] * 3,
                               .row_bytes = e->rows.columns * (int64_t)sizeof(float),
                               .batch = rer_encoder_batch(e->encoder),
                               .prepare = prepare_one,
                               .describe = describe,
                               .context = e->encoder};
    rer_status status = rer_pool_open(&pool, &settings, error);
    if (status == RER_OK)
        status =
            rer_photos_read(&e->photos, e->summary.n_before, &describer, e->options.strict, add_rows, e, pool, error);
    rer_pool_close(pool);
    return status;
}

/* ---- 3. outputs ------------------------------------------------------------------------------- */

static rer_status count_rows(embedding *e, rer_error *error)
{
    char *row = NULL;
    const rer_room rooms[] = {RER_ROOM(row, rer_rows_file_row_bytes(&e->rows)), RER_ROOM(e->is_row, e->rows.rows)};
    rer_status status = rer_allocate_all(rooms, RER_COUNT(rooms), "a row", error);
    for (int64_t i = 0; i < e->rows.rows && status == RER_OK; i++) {
        status = rer_rows_file_read(&e->rows, i, row, &e->is_row[i], error);
        e->summary.n_rows += status == RER_OK && e->is_row[i];
    }
    e->summary.n_skipped = e->rows.rows - e->summary.n_rows;
    free(row);
    return status;
}

static void put_rows(rer_writer *writer, const void *what, int which)
{
    const embedding *e = what;
    const int64_t shape[] = {e->summary.n_rows, e->rows.columns};
    int64_t bytes = rer_rows_file_row_bytes(&e->rows);
    char *row = NULL;
    bool is_there;
    (void)which;
    rer_put_npy_header(writer, 'f', bytes / e->rows.columns, 2, shape);
    bool ok = rer_writer_ok(writer, rer_allocate(&row, bytes, 1, "a row", writer->error));
    for (int64_t i = 0; ok && i < e->rows.rows; i++) {
        if (!e->is_row[i])
            continue;
        ok = rer_writer_ok(writer, rer_rows_file_read(&e->rows, i, row, &is_there, writer->error));
        if (ok)
            rer_put_bytes(writer, row, bytes);
    }
    free(row);
}

static void put_names(rer_writer *writer, const embedding *e, const char *title, const rer_texts *texts)
{
    rer_csv_text(writer, title);
    rer_csv_end(writer);
    for (int64_t i = 0; i < e->rows.rows; i++)
        if (e->is_row[i]) {
            rer_csv_text(writer, rer_text(texts, i));
            rer_csv_end(writer);
        }
}

static void put_ids(rer_writer *writer, const void *what, int which)
{
    const embedding *e = what;
    (void)which;
    put_names(writer, e, "id", &e->photos.ids);
}

static void put_labels(rer_writer *writer, const void *what, int which)
{
    const embedding *e = what;
    (void)which;
    put_names(writer, e, "label", &e->photos.classes);
}

/* Why, by trying again. */
static void put_skipped(rer_writer *writer, const void *what, int which)
{
    const embedding *e = what;
    (void)which;
    rer_csv_text(writer, "id");
    rer_csv_text(writer, "reason");
    rer_csv_end(writer);
    for (int64_t i = 0; i < e->rows.rows; i++) {
        rer_picture picture = {0};
        rer_error why = {.message = "could not be read before, and can be now: remove the outputs and start anew"};
        if (e->is_row[i])
            continue;
        (void)rer_picture_read(&picture, rer_text(&e->photos.paths, i), 0, &why);
        rer_picture_free(&picture);
        rer_csv_text(writer, rer_text(&e->photos.ids, i));
        rer_csv_text(writer, why.message);
        rer_csv_end(writer);
    }
}

enum { ROWS, IDS, LABELS, SKIPPED, OUTPUTS };

static const struct {
    const char *ending; /* in place of .npy */
    rer_putter *put;
} outputs[OUTPUTS] = {[ROWS] = {NULL, put_rows},
                      [IDS] = {"_ids.csv", put_ids},
                      [LABELS] = {"_labels.csv", put_labels},
                      [SKIPPED] = {"_skipped.csv", put_skipped}};

static rer_status name_output(char **path, const char *out, const char *ending, rer_error *error)
{
    int64_t length = (int64_t)strlen(out), size = length + 32;
    if (ending == NULL)
        return rer_copy_text(path, out, error);
    rer_status status = rer_allocate(path, size, 1, "a file name", error);
    if (rer_path_ends(out, ".npy"))
        length -= (int64_t)strlen(".npy");
    if (status == RER_OK)
        (void)snprintf(*path, (size_t)size, "%.*s%s", (int)length, out, ending);
    return status;
}

static rer_status write_output(rer_output *output, const embedding *e, int which, rer_error *error)
{
    char *path = NULL;
    rer_writer *writer = NULL;
    rer_status status = name_output(&path, e->files.out, outputs[which].ending, error);
    if (status == RER_OK)
        status = rer_allocate(&writer, 1, sizeof *writer, "a writer", error);
    if (status == RER_OK)
        status = rer_output_open(output, path, error);
    if (status == RER_OK) {
        rer_writer_start(writer, output, error);
        writer->spreadsheet_safe = e->options.spreadsheet_safe;
        outputs[which].put(writer, e, which);
        status = rer_writer_end(writer);
    }
    RER_FREE_ALL(path, writer);
    return status;
}

static rer_status write_all(embedding *e, rer_error *error)
{
    rer_output made[OUTPUTS] = {{0}};
    int count = 0;
    rer_status status = count_rows(e, error);
    if (status == RER_OK && e->summary.n_rows == 0)
        status = rer_fail(error, RER_BAD_INPUT, "%s: none of its %lld pictures can be read", e->files.input,
                          (long long)e->summary.n_pictures);
    if (status == RER_OK && e->options.strict && e->summary.n_skipped > 0)
        status = rer_fail(error, RER_BAD_INPUT,
                          "%s: %lld pictures could not be read before --strict was given; remove "
                          "%s to start anew",
                          e->files.input, (long long)e->summary.n_skipped, e->rows.path);
    const bool wanted[OUTPUTS] = {true, true, e->photos.has_classes, e->summary.n_skipped > 0};
    for (int i = 0; i < OUTPUTS && status == RER_OK; i++)
        if (wanted[i])
            status = write_output(&made[count++], e, i, error);
    if (status == RER_OK)
        status = rer_outputs_commit(made, count, error);
    for (int i = 0; i < count; i++)
        rer_output_discard(&made[i]);
    return status == RER_OK ? rer_rows_file_remove(&e->rows, error) : status;
}

/* ---- all -------------------------------------------------------------------------------------- */

rer_status rer_embed(rer_embed_summary *summary, const rer_embed_files *files, const rer_options *options,
                     const rer_progress *progress, rer_error *error)
{
    embedding e = {.rows = RER_NO_ROWS_FILE};
    double start = rer_now();
    rer_error_clear(error);
    rer_status status = rer_struct_check(summary, "rer_embed_summary", error);
    if (status == RER_OK)
        status = rer_struct_take(&e.files, sizeof e.files, files, "rer_embed_files", error);
    if (status == RER_OK)
        status = rer_options_take(&e.options, options, error);
    if (status == RER_OK)
        status = prepare_all(&e, error);
    if (status == RER_OK) {
        rer_struct_give(summary, &e.summary, sizeof e.summary);
        status = make_rows(&e, progress, error);
    }
    if (status == RER_OK)
        status = write_all(&e, error);
    e.summary.seconds = rer_now() - start;
    if (status == RER_OK)
        rer_struct_give(summary, &e.summary, sizeof e.summary);
    rer_rows_file_close(&e.rows);
    rer_encoder_free(e.encoder);
    rer_photos_free(&e.photos);
    free(e.is_row);
    return status;
}
