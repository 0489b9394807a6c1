/* rer embed: a folder of pictures, or a file of texts -> X.npy.
 *
 * 1. The pictures are listed, or the texts read, and the encoder is opened; a checksum of both says whether rows that an earlier call has
 *    left in X.npy.part are rows of this one.
 * 2. Pictures are read, prepared and described in batches; rows are appended in order. A picture that cannot be read
 *    is a row of NaN.
 * 3. X.npy gets the rows that are there, and ids, labels and a list of what was skipped take their places with it. */
#include "core/files.h"
#include "core/options.h"
#include "embed/encoder.h"
#include "source/class_texts.h"
#include "source/photos.h"
#include "source/picture.h"
#include "source/row_texts.h"
#include "source/text_rows.h"
#include "studies/embed/rows_file.h"

#include <errno.h>
#include <unistd.h>

typedef struct embedding {
    rer_embed_files files;
    rer_options options;
    rer_photos photos; /* or */
    rer_texts texts;
    rer_encoder *encoder;
    rer_rows_file rows;
    bool *is_row;   /* [pictures] */
    float *classes; /* [names, columns] where names are given */
    int64_t classes_shape[2];
    rer_embed_summary summary;
    const rer_progress *progress;
} embedding;

/* ---- 1. what is to be done -------------------------------------------------------------------- */

/* Of all that decides about the rows. */
static uint64_t find_checksum(const embedding *e)
{
    const rer_texts *rows = e->texts.count > 0 ? &e->texts : &e->photos.ids;
    uint64_t hash = rer_encoder_checksum(e->encoder);
    for (int64_t i = 0; i < rows->count; i++) {
        const char *id = rer_text(rows, i);
        hash = rer_checksum(hash, id, (int64_t)strlen(id) + 1);
    }
    return hash;
}

static rer_status list_rows(embedding *e, rer_error *error)
{
    if (rer_path_is_folder(e->files.input))
        return rer_photos_list(&e->photos, e->files.input, error);
    RER_TRY(rer_row_texts_all(&e->texts, e->files.input, error));
    if (e->files.model == NULL)
        return rer_fail(error, RER_BAD_USAGE, "%s: texts need a model: --model DIR; a folder of pictures needs none",
                        e->files.input);
    return RER_OK;
}

/* Rows of an earlier call are those of whole batches: batches are as they were. */
static rer_status take_earlier(embedding *e, rer_error *error)
{
    int64_t piece = e->texts.count > 0 ? RER_TEXT_PIECE : rer_encoder_batch(e->encoder);
    int64_t count = e->texts.count > 0 ? e->texts.count : e->photos.paths.count;
    e->summary.n_before = e->rows.rows < count ? e->rows.rows / piece * piece : count;
    e->summary.n_pictures = count;
    e->summary.n_columns = rer_encoder_columns(e->encoder);
    return rer_rows_file_cut(&e->rows, e->summary.n_before, error);
}

/* At the beginning: a mistake in it is not found after hours. */
static rer_status describe_classes(embedding *e, const rer_encoder_settings *settings, rer_error *error)
{
    rer_texts names = {0};
    if (e->files.model == NULL)
        return rer_fail(error, RER_BAD_USAGE, "%s: names of classes need a model (--model) that knows texts too",
                        e->files.classes);
    rer_status status = rer_row_texts_all(&names, e->files.classes, error);
    e->classes_shape[0] = names.count;
    RER_THEN(status, rer_class_texts_describe(&e->classes, &e->classes_shape[1], &names, e->files.class_template,
                                              settings, error));
    rer_texts_free(&names);
    return status;
}

static rer_status prepare_all(embedding *e, rer_error *error)
{
    rer_encoder_settings settings = rer_encoder_settings_of(&e->options);
    settings.model = e->files.model;
    settings.output = e->files.output;
    settings.mean = e->files.mean;
    settings.spread = e->files.std;
    if (e->files.input == NULL || e->files.out == NULL)
        return rer_fail(error, RER_BAD_USAGE,
                        "no folder of pictures or file of texts, or no file for features is named");
    RER_TRY(rer_check_output(e->files.out, NULL, error));
    RER_TRY(list_rows(e, error));
    if (e->files.classes != NULL)
        RER_TRY(describe_classes(e, &settings, error));
    settings.of_texts = e->texts.count > 0;
    RER_TRY(rer_encoder_open(&e->encoder, &settings, error));
    RER_TRY(rer_rows_file_open(&e->rows, e->files.out, rer_encoder_columns(e->encoder),
                               e->options.embed_dtype == RER_EMBED_F16, find_checksum(e), error));
    return take_earlier(e, error);
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
static rer_status check_row(const embedding *e, const float *row, int64_t index, rer_error *error)
{
    double most = e->rows.is_half ? 65504 : (double)HUGE_VALF;
    char text[64];
    (void)snprintf(text, sizeof text, "text %lld", (long long)index + 1);
    for (int64_t j = 0; j < e->rows.columns; j++)
        if (!(fabs((double)row[j]) <= most) || isinf(row[j]))
            return rer_fail(error, RER_BAD_INPUT, "%s: feature %lld is %g, %s",
                            e->texts.count > 0 ? text : rer_text(&e->photos.paths, index), (long long)j, (double)row[j],
                            isfinite(row[j]) ? "beyond what float16 holds; take --dtype float32"
                                             : "no number: something is wrong with the model");
    return RER_OK;
}

static rer_status add_rows(void *context, const rer_made_rows *made, rer_error *error)
{
    embedding *e = context;
    float *rows = (float *)(void *)made->rows;
    for (int64_t i = 0; i < made->count; i++) {
        float *row = rows + i * e->rows.columns;
        if (made->failures == NULL || made->failures[i].status == RER_OK)
            RER_TRY(check_row(e, row, made->first + i, error));
        else
            for (int64_t j = 0; j < e->rows.columns; j++)
                row[j] = NAN;
    }
    return rer_rows_file_add(&e->rows, rows, made->count, error);
}

static rer_status read_pictures(embedding *e, rer_pool *pool, rer_error *error)
{
    int64_t size[2] = {0};
    (void)rer_recipe_size(rer_encoder_recipe(e->encoder), size);
    rer_describer describer = {.slot_bytes = size[0] * size[1] * 3,
                               .row_bytes = e->rows.columns * (int64_t)sizeof(float),
                               .batch = rer_encoder_batch(e->encoder),
                               .prepare = prepare_one,
                               .describe = describe,
                               .context = e->encoder};
    return rer_photos_read(&e->photos, e->summary.n_before, &describer, e->options.strict, add_rows, e, pool, error);
}

static rer_status make_rows(embedding *e, const rer_progress *progress, rer_error *error)
{
    rer_pool *pool = NULL;
    rer_pool_settings settings = {.threads = e->options.threads, .memory = e->options.memory, .progress = progress};
    rer_status status = rer_pool_open(&pool, &settings, error);
    RER_THEN(status, e->texts.count == 0
                         ? read_pictures(e, pool, error)
                         : rer_text_rows_read(&e->texts, e->summary.n_before, e->encoder, add_rows, e, pool, error));
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

/* Now and then, while rows are copied to their last place. */
static rer_status tell(const embedding *e, int64_t row, rer_error *error)
{
    const rer_progress *progress = e->progress;
    double share = RER_ROWS_MADE + (1 - RER_ROWS_MADE) * (double)row / (double)e->rows.rows;
    if (row % 4096 != 0 || progress == NULL || progress->report == NULL)
        return RER_OK;
    return progress->report(progress->context, "writing", share)
               ? rer_fail(error, RER_CANCELLED, "stopped while writing")
               : RER_OK;
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
        ok = rer_writer_ok(writer, tell(e, i, writer->error));
        if (!ok || !e->is_row[i])
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

static void put_classes(rer_writer *writer, const void *what, int which)
{
    const embedding *e = what;
    (void)which;
    rer_put_npy_header(writer, 'f', sizeof *e->classes, 2, e->classes_shape);
    rer_put_bytes(writer, (const char *)e->classes,
                  e->classes_shape[0] * e->classes_shape[1] * (int64_t)sizeof *e->classes);
}

enum { ROWS, IDS, LABELS, SKIPPED, CLASSES, OUTPUTS };

static const struct {
    const char *ending; /* in place of .npy */
    rer_putter *put;
} outputs[OUTPUTS] = {[ROWS] = {NULL, put_rows},
                      [IDS] = {"_ids.csv", put_ids},
                      [LABELS] = {"_labels.csv", put_labels},
                      [SKIPPED] = {"_skipped.csv", put_skipped},
                      [CLASSES] = {"_classes.npy", put_classes}};

static rer_status name_output(char **path, const char *out, const char *ending, rer_error *error)
{
    int64_t length = (int64_t)strlen(out), size = length + 32;
    if (ending == NULL)
        return rer_copy_text(path, out, error);
    RER_TRY(rer_allocate(path, size, 1, "a file name", error));
    if (rer_path_ends(out, ".npy"))
        length -= (int64_t)strlen(".npy");
    (void)snprintf(*path, (size_t)size, "%.*s%s", (int)length, out, ending);
    return RER_OK;
}

static rer_status write_output(rer_output *output, const embedding *e, int which, rer_error *error)
{
    char *path = NULL;
    rer_writer *writer = NULL;
    rer_status status = name_output(&path, e->files.out, outputs[which].ending, error);
    RER_THEN(status, rer_allocate(&writer, 1, sizeof *writer, "a writer", error));
    RER_THEN(status, rer_output_open(output, path, error));
    if (status == RER_OK) {
        rer_writer_start(writer, output, error);
        writer->spreadsheet_safe = e->options.spreadsheet_safe;
        outputs[which].put(writer, e, which);
        status = rer_writer_end(writer);
    }
    RER_FREE_ALL(path, writer);
    return status;
}

/* Of an earlier run: nothing is left out any more. */
static rer_status remove_skipped(const embedding *e, rer_error *error)
{
    char *path = NULL;
    rer_status status = name_output(&path, e->files.out, outputs[SKIPPED].ending, error);
    if (status == RER_OK && unlink(path) != 0 && errno != ENOENT)
        status = rer_fail_errno(error, "%s: cannot be removed, and is of an earlier run", path);
    free(path);
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
    const bool wanted[OUTPUTS] = {true, e->texts.count == 0, e->photos.has_classes, e->summary.n_skipped > 0,
                                  e->classes != NULL};
    for (int i = 0; i < OUTPUTS && status == RER_OK; i++)
        if (wanted[i])
            status = write_output(&made[count++], e, i, error);
    RER_THEN(status, rer_outputs_commit(made, count, error));
    for (int i = 0; i < count; i++)
        rer_output_discard(&made[i]);
    if (status == RER_OK && !wanted[SKIPPED])
        status = remove_skipped(e, error);
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
    RER_THEN(status, rer_struct_take(&e.files, sizeof e.files, files, "rer_embed_files", error));
    RER_THEN(status, rer_options_take(&e.options, options, error));
    RER_THEN(status, prepare_all(&e, error));
    if (status == RER_OK) {
        rer_struct_give(summary, &e.summary, sizeof e.summary);
        e.progress = progress;
        status = make_rows(&e, progress, error);
    }
    RER_THEN(status, write_all(&e, error));
    e.summary.seconds = rer_now() - start;
    if (status == RER_OK)
        rer_struct_give(summary, &e.summary, sizeof e.summary);
    rer_rows_file_close(&e.rows);
    rer_encoder_free(e.encoder);
    rer_photos_free(&e.photos);
    rer_texts_free(&e.texts);
    RER_FREE_ALL(e.is_row, e.classes);
    return status;
}
