/* A folder of pictures as rows: see photos.h. Batches are read and described in parallel and handed on in order, so
 * that only as many pictures as there are threads are in memory. */
#include "source/photos.h"
#include "core/output.h"
#include "source/picture.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the files -------------------------------------------------------------------------------- */

static const char *const endings[] = RER_PICTURE_ENDINGS;

static bool is_picture_name(const char *name)
{
    for (int i = 0; i < RER_COUNT(endings); i++)
        if (name[0] != '.' && rer_path_ends(name, endings[i]))
            return true;
    return false;
}

static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

bool rer_path_is_folder(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 && S_ISDIR(found.st_mode);
}

/* A folder and those that it lies in: a link back to one of them is not followed. */
typedef struct place {
    struct stat folder;
    const struct place *above;
} place;

static bool is_above(const struct stat *folder, const place *here)
{
    for (; here != NULL; here = here->above)
        if (here->folder.st_dev == folder->st_dev && here->folder.st_ino == folder->st_ino)
            return true;
    return false;
}

static rer_status walk(rer_texts_builder *paths, const char *folder, const place *above, rer_error *error);

static rer_status visit(rer_texts_builder *paths, const char *folder, const char *name, bool is_picture,
                        const place *here, rer_error *error)
{
    char *path = NULL;
    rer_status status = rer_join_path(&path, folder, name, error);
    if (status == RER_OK && is_picture)
        status = rer_texts_add(paths, path, (int64_t)strlen(path), error);
    else if (status == RER_OK && rer_path_is_folder(path))
        status = walk(paths, path, here, error);
    free(path);
    return status;
}

/* All pictures below a folder: its own in the order of their names, then those of its folders. */
static rer_status walk(rer_texts_builder *paths, const char *folder, const place *above, rer_error *error)
{
    place here = {.above = above};
    struct dirent **entries = NULL;
    rer_status status = RER_OK;
    if (stat(folder, &here.folder) == 0 && is_above(&here.folder, above))
        return RER_OK;
    int count = scandir(folder, &entries, is_shown, by_bytes);
    if (count < 0)
        return rer_fail_errno(error, "%s: the folder cannot be read", folder);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < count && status == RER_OK; i++) {
            bool is_picture = is_picture_name(entries[i]->d_name);
            if (is_picture == (pass == 0))
                status = visit(paths, folder, entries[i]->d_name, is_picture, &here, error);
        }
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
    return status;
}

rer_status rer_pictures_below(rer_texts *paths, const char *folder, rer_error *error)
{
    rer_texts_builder found = {0};
    rer_status status = walk(&found, folder, NULL, error);
    if (status == RER_OK)
        *paths = found.texts;
    else
        rer_texts_free(&found.texts);
    return status;
}

/* ---- their names ------------------------------------------------------------------------------ */

void rer_photos_free(rer_photos *photos)
{
    rer_texts_free(&photos->paths);
    rer_texts_free(&photos->ids);
    rer_texts_free(&photos->classes);
    *photos = (rer_photos){0};
}

/* A name as text that every output can hold. */
static rer_status add_name(rer_texts_builder *texts, const char *name, int64_t length, rer_error *error)
{
    char *shown = NULL;
    if (rer_is_utf8(name, length))
        return rer_texts_add(texts, name, length, error);
    RER_TRY(rer_allocate(&shown, 4 * length + 8, 1, "a name", error));
    (void)rer_quote(shown, 4 * length + 8, name, length);
    rer_status status = rer_texts_add(texts, shown, (int64_t)strlen(shown), error);
    free(shown);
    return status;
}

/* ids and classes from the paths, of which the first `skip` bytes are the folder's. */
static rer_status name_rows(rer_photos *photos, int64_t skip, rer_error *error)
{
    rer_texts_builder ids = {0}, classes = {0};
    rer_status status = RER_OK;
    for (int64_t row = 0; row < photos->paths.count && status == RER_OK; row++) {
        const char *id = rer_text(&photos->paths, row) + skip;
        const char *slash = strchr(id, '/');
        photos->has_classes |= slash != NULL;
        status = add_name(&ids, id, (int64_t)strlen(id), error);
        RER_THEN(status, add_name(&classes, id, slash != NULL ? slash - id : 0, error));
    }
    photos->ids = ids.texts;
    photos->classes = classes.texts;
    return status;
}

rer_status rer_photos_list(rer_photos *photos, const char *folder, rer_error *error)
{
    rer_photos listed = {0};
    int64_t length = (int64_t)strlen(folder);
    rer_status status = rer_pictures_below(&listed.paths, folder, error);
    if (status == RER_OK && listed.paths.count == 0)
        status = rer_fail(error, RER_BAD_INPUT,
                          "%s: has no pictures (.jpg, .png, .webp) in it; a folder is taken for pictures, best with a "
                          "sub-folder for each class",
                          folder);
    RER_THEN(status, name_rows(&listed, length + (length > 0 && folder[length - 1] != '/'), error));
    if (status == RER_OK)
        *photos = listed;
    else
        rer_photos_free(&listed);
    return status;
}

/* ---- reading ---------------------------------------------------------------------------------- */

typedef struct reading {
    const rer_photos *photos;
    int64_t first;
    const rer_describer *describer;
    bool strict;
    rer_rows_taker *take;
    void *context;
    rer_pool *pool;
} reading;

typedef struct batch {
    uint8_t *slots, *rows; /* the same where nothing is described */
    rer_error *failures;   /* [count] */
} batch;

static batch lay_out(rer_scratch *scratch, const rer_describer *d)
{
    batch b;
    b.slots = rer_take(scratch, d->batch * d->slot_bytes, 1);
    b.rows = d->describe != NULL ? rer_take(scratch, d->batch * d->row_bytes, 1) : b.slots;
    b.failures = rer_take(scratch, d->batch, sizeof *b.failures);
    return b;
}

/* One that cannot be read is the picture's failure alone, unless the machine's memory is why. */
static rer_status read_one(const reading *r, int64_t row, uint8_t *slot, rer_error *failure)
{
    const char *path = rer_text(&r->photos->paths, row);
    rer_picture picture = {0};
    rer_status status = rer_picture_read(&picture, path, 0, failure);
    bool is_its_own = status == RER_BAD_INPUT || (status != RER_OK && access(path, R_OK) != 0);
    if (status == RER_OK) {
        rer_pixels pixels = {picture.height, picture.width, picture.channels, picture.pixels};
        status = r->describer->prepare(r->describer->context, pixels, slot, failure);
    }
    rer_picture_free(&picture);
    return is_its_own && !r->strict ? RER_OK : status;
}

static int64_t rows_of(const reading *r, int64_t item)
{
    return rer_min(r->describer->batch, r->photos->paths.count - r->first - item * r->describer->batch);
}

static rer_status read_batch(void *context, int64_t item, void *memory, rer_error *error)
{
    const reading *r = context;
    const rer_describer *d = r->describer;
    rer_scratch scratch = rer_pool_scratch(r->pool, memory);
    batch b = lay_out(&scratch, d);
    rer_status status = RER_OK;
    memset(b.slots, 0, (size_t)(d->batch * d->slot_bytes));
    for (int64_t i = 0; i < rows_of(r, item) && status == RER_OK; i++) {
        b.failures[i] = (rer_error){0};
        status = read_one(r, r->first + item * d->batch + i, b.slots + i * d->slot_bytes, &b.failures[i]);
        if (status != RER_OK && error != NULL)
            *error = b.failures[i];
        else if (status == RER_OK)
            status = rer_pool_pulse(r->pool, error);
    }
    if (status == RER_OK && d->describe != NULL)
        status = d->describe(d->context, b.slots, rows_of(r, item), b.rows, error);
    return status;
}

static rer_status hand_on(void *context, int64_t item, void *memory, rer_error *error)
{
    const reading *r = context;
    rer_scratch scratch = rer_pool_scratch(r->pool, memory);
    batch b = lay_out(&scratch, r->describer);
    rer_made_rows rows = {.first = r->first + item * r->describer->batch,
                          .count = rows_of(r, item),
                          .rows = b.rows,
                          .failures = b.failures};
    return r->take(r->context, &rows, error);
}

rer_status rer_photos_read(const rer_photos *photos, int64_t first, const rer_describer *describer, bool strict,
                           rer_rows_taker *take, void *context, rer_pool *pool, rer_error *error)
{
    reading r = {photos, first, describer, strict, take, context, pool};
    rer_scratch measured = RER_MEASURE;
    (void)lay_out(&measured, describer);
    rer_job job = {.stage = "pictures",
                   .from = photos->paths.count > 0 ? RER_ROWS_MADE * (double)first / (double)photos->paths.count : 0,
                   .to = RER_ROWS_MADE,
                   .items = (photos->paths.count - first + describer->batch - 1) / describer->batch,
                   .scratch = measured.used,
                   .work = read_batch,
                   .commit = hand_on,
                   .context = &r};
    return rer_pool_run(pool, &job, error);
}
