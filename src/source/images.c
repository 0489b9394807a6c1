/* The picture of each row: see images.h. */
#include "source/images.h"
#include "core/output.h"
#include "source/formats.h"
#include "source/photos.h"
#include "source/texts.h"

#include <sys/stat.h>

void rer_images_free(rer_images *images)
{
    rer_array_close(&images->array);
    rer_texts_free(&images->paths);
    *images = (rer_images){.array = {.fd = -1}};
}

bool rer_images_are_there(const rer_images *images)
{
    return images->array.name != NULL || images->paths.count > 0;
}

/* ---- folders ---------------------------------------------------------------------------------- */

static const char *const endings[] = RER_PICTURE_ENDINGS;

static bool is_file(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 && S_ISREG(found.st_mode);
}

/* folder/id, or folder/id.jpg and so on; the first that is there, else folder/id. */
static rer_status add_named(rer_texts_builder *paths, const char *folder, const char *id, rer_error *error)
{
    char *path = NULL, *longer = NULL;
    rer_status status = rer_join_path(&path, folder, id, error);
    if (status != RER_OK)
        return status;
    for (int i = 0; i < RER_COUNT(endings) && status == RER_OK && longer == NULL && !is_file(path); i++) {
        status = rer_allocate(&longer, (int64_t)strlen(path) + 8, 1, "a path", error);
        if (status == RER_OK)
            (void)snprintf(longer, strlen(path) + 8, "%s%s", path, endings[i]);
        if (status == RER_OK && !is_file(longer)) {
            free(longer);
            longer = NULL;
        }
    }
    const char *found = longer != NULL ? longer : path;
    RER_THEN(status, rer_texts_add(paths, found, (int64_t)strlen(found), error));
    RER_FREE_ALL(longer, path);
    return status;
}

static rer_status open_named(rer_texts *files, const char *folder, const rer_texts *ids, rer_error *error)
{
    rer_texts_builder paths = {0};
    rer_status status = RER_OK;
    for (int64_t row = 0; row < ids->count && status == RER_OK; row++)
        status = add_named(&paths, folder, rer_text(ids, row), error);
    if (status == RER_OK && !is_file(rer_text(&paths.texts, 0)))
        status =
            rer_fail(error, RER_BAD_INPUT,
                     "%s: has no picture '%s', the id of row 0; with --ids, pictures are named by the ids, with or "
                     "without .jpg, .png or .webp",
                     folder, rer_text(ids, 0));
    *files = paths.texts;
    return status;
}

static rer_status open_folder(rer_images *images, const char *folder, int64_t N, const rer_texts *ids, rer_error *error)
{
    rer_texts paths = {0};
    bool by_id = ids != NULL && ids->count == N && N > 0;
    rer_status status = by_id ? open_named(&paths, folder, ids, error) : rer_pictures_below(&paths, folder, error);
    if (status == RER_OK && paths.count != N)
        status =
            rer_fail(error, RER_BAD_INPUT,
                     "%s: has %lld pictures (.jpg, .png, .webp) but there are %lld rows; give a list of files, one "
                     "a row, or --ids with their names",
                     folder, (long long)paths.count, (long long)N);
    if (status == RER_OK)
        images->paths = paths;
    else
        rer_texts_free(&paths);
    return status;
}

/* ---- lists and arrays ------------------------------------------------------------------------- */

static rer_status check_files(const rer_texts *paths, const char *list, rer_error *error)
{
    for (int64_t row = 0; row < paths->count; row++) {
        const char *path = rer_text(paths, row);
        if (!is_file(path))
            return rer_fail(error, RER_BAD_INPUT, "%s: names '%s' for row %lld (from 0), which is no file", list,
                            RER_QUOTED(path), (long long)row);
    }
    return RER_OK;
}

/* Names in a list are seen from where the list is. */
static rer_status open_list(rer_images *images, rer_input *input, const char *path, int64_t N, rer_error *error)
{
    rer_texts listed = {0};
    rer_texts_builder paths = {0};
    char *folder = NULL;
    RER_TRY(rer_copy_text(&folder, path, error));
    char *slash = strrchr(folder, '/');
    *(slash != NULL ? slash + 1 : folder) = 0;
    rer_status status = rer_input_texts(&listed, input, NULL, N, &images->header, error);
    if (status == RER_OK && listed.count != N)
        status = rer_fail(error, RER_BAD_INPUT, "%s: names %lld pictures but there are %lld rows; give one a row%s",
                          path, (long long)listed.count, (long long)N, rer_header_remedy(listed.count, N));
    for (int64_t i = 0; i < listed.count && status == RER_OK; i++) {
        const char *name = rer_text(&listed, i);
        char *joined = NULL;
        if (name[0] == '/' || folder[0] == 0)
            status = rer_texts_add(&paths, name, (int64_t)strlen(name), error);
        else if ((status = rer_join_path(&joined, folder, name, error)) == RER_OK)
            status = rer_texts_add(&paths, joined, (int64_t)strlen(joined), error);
        free(joined);
    }
    RER_THEN(status, check_files(&paths.texts, path, error));
    if (status == RER_OK)
        images->paths = paths.texts;
    else
        rer_texts_free(&paths.texts);
    rer_texts_free(&listed);
    free(folder);
    return status;
}

rer_status rer_images_take(rer_images *images, rer_array *array, int64_t N, rer_error *error)
{
    char shape[RER_SHAPE_TEXT];
    bool fits = array->dtype == RER_U8 && array->rank >= 3 && (array->rank == 3 || array->shape[3] <= 4);
    if (!fits)
        return rer_fail(error, RER_BAD_INPUT,
                        "%s: shape %s of %s holds no pictures; they are [N, H, W] or [N, H, W, 1..4] of uint8",
                        array->name, rer_shape_text(shape, array->rank, array->shape), rer_dtype_name(array->dtype));
    if (array->shape[0] != N)
        return rer_fail(error, RER_BAD_INPUT, "%s: has %lld pictures but there are %lld rows; give one a row",
                        array->name, (long long)array->shape[0], (long long)N);
    images->array = *array;
    *array = (rer_array){.fd = -1};
    return RER_OK;
}

static rer_status open_file(rer_images *images, const char *path, int64_t N, rer_error *error)
{
    rer_input input = RER_NO_INPUT;
    rer_array array = {.fd = -1};
    rer_status status = rer_input_open_column(&input, path, error);
    if (status == RER_OK && input.format == RER_TEXT) {
        status = open_list(images, &input, path, N, error);
    } else {
        RER_THEN(status, rer_input_array(&array, &input, error));
        RER_THEN(status, rer_images_take(images, &array, N, error));
    }
    rer_array_close(&array);
    rer_input_close(&input);
    return status;
}

rer_status rer_images_open(rer_images *images, const char *path, int64_t N, const rer_texts *ids, rer_error *error)
{
    rer_images opened = {.array = {.fd = -1}};
    rer_status status =
        rer_path_is_folder(path) ? open_folder(&opened, path, N, ids, error) : open_file(&opened, path, N, error);
    if (status == RER_OK)
        *images = opened;
    else
        rer_images_free(&opened);
    return status;
}

/* ---- reading ---------------------------------------------------------------------------------- */

rer_status rer_picture_of_row(rer_picture *picture, const rer_array *array, int64_t row, rer_error *error)
{
    int64_t bytes = rer_array_row_bytes(array);
    uint8_t *pixels = NULL, *scratch = NULL;
    rer_status status = rer_allocate(&pixels, bytes, 1, "a picture", error);
    RER_THEN(status, rer_allocate(&scratch, bytes, 1, "a picture", error));
    RER_THEN(status, rer_array_raw_rows(array, row, 1, pixels, scratch, error));
    free(scratch);
    if (status != RER_OK) {
        free(pixels);
        return status;
    }
    *picture = (rer_picture){.height = array->shape[1],
                             .width = array->shape[2],
                             .channels = array->rank == 4 ? array->shape[3] : 1,
                             .pixels = pixels};
    return RER_OK;
}

rer_status rer_images_read(rer_picture *picture, const rer_images *images, int64_t row, int64_t side, rer_error *error)
{
    if (images->array.name != NULL)
        return rer_picture_of_row(picture, &images->array, row, error);
    return rer_picture_read(picture, rer_text(&images->paths, row), side, error);
}
