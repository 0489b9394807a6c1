/* A data set from memory, and what is attached to one: see dataset.h. open_files.c has those from files. */
#include "source/dataset.h"
#include "backend/device.h"
#include "source/formats.h"
#include "source/texts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHECKSUM_PIECE (1 << 20)

/* ---- checksums --------------------------------------------------------------------------- */

/* Of the shape, the first and the last megabyte. */
static rer_status features_checksum(uint64_t *out, const rer_array *array, rer_error *error)
{
    unsigned char *piece = NULL;
    int64_t bytes = array->shape[0] * rer_array_row_bytes(array), head = rer_min(bytes, CHECKSUM_PIECE);
    int64_t tail = rer_min(bytes - head, CHECKSUM_PIECE);
    int64_t size[] = {bytes, array->shape[0], array->dtype};
    uint64_t hash = rer_checksum(RER_CHECKSUM_START, size, sizeof size);
    rer_status status = rer_allocate(&piece, rer_max(head, tail), 1, "a checksum buffer", error);
    RER_THEN(status, rer_array_read(array, 0, head, piece, error));
    if (status == RER_OK) {
        hash = rer_checksum(hash, piece, head);
        status = rer_array_read(array, bytes - tail, tail, piece, error);
    }
    if (status == RER_OK)
        *out = rer_checksum(hash, piece, tail);
    free(piece);
    return status;
}

/* ---- what the features are --------------------------------------------------------------- */

static rer_status wrong_shape(const rer_array *array, const char *remedy, rer_error *error)
{
    char shape[RER_SHAPE_TEXT];
    return rer_fail(error, RER_BAD_INPUT,
                    "%s: shape %s of %s is neither features [N, D] nor pictures [N, H, W] or "
                    "[N, H, W, 1..4] of uint8; %s",
                    array->name, rer_shape_text(shape, array->rank, array->shape), rer_dtype_name(array->dtype),
                    remedy);
}

static rer_status set_pictures(rer_dataset *data, const rer_options *options, rer_error *error)
{
    const rer_array *array = &data->features;
    int64_t channels = array->rank == 4 ? array->shape[3] : 1;
    if (array->dtype != RER_U8)
        return wrong_shape(array, "save pictures as uint8, or flatten the features to [N, D]", error);
    if (channels > 4)
        return wrong_shape(array, "channels come last", error);
    data->picture[0] = array->shape[1];
    data->picture[1] = array->shape[2];
    data->picture[2] = channels;
    data->hog = options->features == RER_HOG;
    if (!data->hog)
        return RER_OK;
    RER_TRY(rer_hog_plan(&data->plan, array->shape[1], array->shape[2], channels, array->name, error));
    data->D = data->plan.D;
    return RER_OK;
}

rer_status rer_dataset_describe(rer_dataset *data, const rer_options *options, rer_error *error)
{
    const rer_array *array = &data->features;
    if (array->dtype == RER_BYTES || array->dtype == RER_UNICODE)
        return rer_fail(error, RER_BAD_INPUT, "%s: holds texts where features must be numbers", array->name);
    if (array->rank == 1)
        return wrong_shape(array, "are features and labels swapped? A single feature is [N, 1]", error);
    data->N = array->shape[0];
    data->D = rer_array_columns(array);
    if (array->rank > 2)
        RER_TRY(set_pictures(data, options, error));
    return features_checksum(&data->features_checksum, array, error);
}

/* ---- from memory ------------------------------------------------------------------------- */

/* The rest of a regular file from the view's offset on. */
static rer_status open_raw(rer_array *array, const rer_view *view, int64_t *available, rer_error *error)
{
    struct stat info;
    array->fd = open(view->path, O_RDONLY | O_CLOEXEC);
    array->offset = view->offset;
    if (array->fd < 0 || fstat(array->fd, &info) != 0)
        return rer_fail_errno(error, "%s: cannot open", view->path);
    if (!S_ISREG(info.st_mode) || view->offset < 0 || view->offset > info.st_size)
        return rer_fail(error, RER_BAD_INPUT, "%s: is no plain file with data at offset %lld", view->path,
                        (long long)view->offset);
    *available = info.st_size - view->offset;
    return RER_OK;
}

/* An array over the caller's memory. */
static rer_status wrap_array(rer_array *array, const rer_view *view, const char *name, rer_error *error)
{
    int32_t size = view->dtype >= RER_F16 && view->dtype <= RER_UNICODE ? rer_dtype_size(view->dtype) : -1;
    if (size < 0 || (view->data == NULL && view->path == NULL) || view->rank < 1 || view->rank > RER_RANK_MAX)
        return rer_fail(error, RER_BAD_USAGE, "%s: dtype %d, rank %d or missing data; rank is 1 to %d", name,
                        (int)view->dtype, view->rank, RER_RANK_MAX);
    if (size == 0)
        size = view->item_size;
    if (size <= 0 || (view->dtype == RER_UNICODE && size % 4 != 0))
        return rer_fail(error, RER_BAD_USAGE, "%s: item_size %d cannot be the bytes of one text", name,
                        view->item_size);
    rer_array wrapped = {.dtype = view->dtype, .item_size = size, .rank = view->rank, .data = view->data, .fd = -1};
    wrapped.big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    memcpy(wrapped.shape, view->shape, (size_t)view->rank * sizeof *view->shape);
    int64_t available = INT64_MAX;
    rer_status status = rer_copy_text(&wrapped.name, view->data != NULL ? name : view->path, error);
    if (status == RER_OK && view->data == NULL)
        status = open_raw(&wrapped, view, &available, error);
    RER_THEN(status, rer_array_check(&wrapped, available, error));
    if (status == RER_OK)
        *array = wrapped;
    else
        rer_array_close(&wrapped);
    return status;
}

static rer_status wrap_card_array(rer_array *array, const rer_view *view, const char *name, rer_error *error)
{
    char why[RER_DEVICE_MESSAGE];
    if (view->data == NULL || view->dtype != RER_F32 || view->rank != 2)
        return rer_fail(error, RER_BAD_USAGE, "%s: what lies on a card must be float32 [N, D]", name);
    const rer_device_plugin *plugin = rer_device_find(why);
    int32_t card = plugin != NULL ? plugin->card_of(view->data, why) : -1;
    if (card < 0)
        return rer_fail(error, RER_SYSTEM, "%s: cannot be read where it lies, on a card: %s; copy it to the host", name,
                        why);
    RER_TRY(wrap_array(array, view, name, error));
    array->plugin = plugin;
    array->on_card = array->data;
    array->card = card;
    array->data = NULL;
    return RER_OK;
}

/* One value for each row of the data; replaces `labels` where all is well. */
static rer_status copy_labels(rer_labels *labels, const rer_view *view, const char *what, int64_t N, rer_error *error)
{
    rer_array array = {.fd = -1};
    rer_labels made = {0};
    rer_status status = wrap_array(&array, view, what, error);
    RER_THEN(status, rer_labels_from_array(&made, &array, error));
    if (status == RER_OK && made.N != N)
        status = rer_fail(error, RER_BAD_INPUT, "%lld %s but %lld rows of features; each row needs one",
                          (long long)made.N, what, (long long)N);
    rer_array_close(&array);
    if (status != RER_OK) {
        rer_labels_free(&made);
        return status;
    }
    rer_labels_free(labels);
    *labels = made;
    return RER_OK;
}

rer_status rer_dataset_set_labels(rer_dataset *data, const rer_view *labels, rer_error *error)
{
    rer_error_clear(error);
    RER_TRY(copy_labels(&data->labels, labels, "labels", data->N, error));
    data->labels_checksum = rer_labels_checksum(&data->labels);
    data->clusters = 0;
    data->has_folder_labels = false;
    return RER_OK;
}

rer_status rer_dataset_set_groups(rer_dataset *data, const rer_view *groups, rer_error *error)
{
    rer_error_clear(error);
    if (groups != NULL)
        RER_TRY(copy_labels(&data->groups, groups, "groups", data->N, error));
    data->group_duplicates = groups == NULL;
    return RER_OK;
}

rer_status rer_dataset_set_subsets(rer_dataset *data, const rer_view *subsets, rer_error *error)
{
    rer_error_clear(error);
    return copy_labels(&data->subsets, subsets, "subsets", data->N, error);
}

rer_status rer_dataset_set_class_names(rer_dataset *data, const char *const *names, int64_t count, rer_error *error)
{
    rer_error_clear(error);
    if (data->labels.codes == NULL)
        return rer_fail(error, RER_BAD_USAGE, "class names need labels");
    RER_TRY(rer_labels_set_names(&data->labels, names, count, error));
    data->labels_checksum = rer_labels_checksum(&data->labels);
    return RER_OK;
}

rer_status rer_dataset_set_ids(rer_dataset *data, const char *const *ids, int64_t count, rer_error *error)
{
    rer_texts texts = {0};
    rer_error_clear(error);
    if (count != data->N)
        return rer_fail(error, RER_BAD_INPUT, "%lld ids but %lld rows of features; give one a row", (long long)count,
                        (long long)data->N);
    RER_TRY(rer_texts_copy(&texts, ids, count, "ids", error));
    rer_texts_free(&data->ids);
    data->ids = texts;
    return RER_OK;
}

rer_status rer_dataset_set_pred_probs(rer_dataset *data, const rer_view *pred_probs, rer_error *error)
{
    rer_array wrapped = {.fd = -1};
    rer_error_clear(error);
    rer_status status = wrap_array(&wrapped, pred_probs, "predicted probabilities", error);
    RER_THEN(status, rer_dataset_check_probabilities(data, &wrapped, error));
    if (status != RER_OK) {
        rer_array_close(&wrapped);
        return status;
    }
    rer_array_close(&data->pred_probs);
    data->pred_probs = wrapped;
    return RER_OK;
}

rer_status rer_dataset_set_class_embeddings(rer_dataset *data, const rer_view *embeddings, rer_error *error)
{
    rer_array array = {.fd = -1};
    rer_error_clear(error);
    rer_status status = wrap_array(&array, embeddings, "class embeddings", error);
    RER_THEN(status, rer_class_embeddings_take(data, &array, error));
    rer_array_close(&array);
    return status;
}

void rer_dataset_wake_card(rer_dataset *data, const rer_options *options)
{
    if (options->device != RER_DEVICE_CPU)
        rer_device_wake(&data->waking, rer_device_card(options->device, data->features.card));
}

typedef rer_status array_wrapper(rer_array *array, const rer_view *view, const char *name, rer_error *error);

static rer_status wrap(rer_dataset **data, array_wrapper *wrapper, const rer_view *features, const rer_view *labels,
                       const rer_options *given, rer_error *error)
{
    rer_dataset *wrapped = NULL;
    rer_options options;
    double start = rer_now();
    rer_error_clear(error);
    rer_status status = rer_options_take(&options, given, error);
    RER_THEN(status, rer_allocate(&wrapped, 1, sizeof *wrapped, "a data set", error));
    RER_THEN(status, wrapper(&wrapped->features, features, "features", error));
    if (status == RER_OK)
        rer_dataset_wake_card(wrapped, &options);
    RER_THEN(status, rer_dataset_describe(wrapped, &options, error));
    if (status == RER_OK && labels != NULL)
        status = rer_dataset_set_labels(wrapped, labels, error);
    if (status != RER_OK) {
        rer_dataset_free(wrapped);
        return status;
    }
    wrapped->seconds_read = rer_now() - start;
    *data = wrapped;
    return RER_OK;
}

rer_status rer_dataset_wrap(rer_dataset **data, const rer_view *features, const rer_view *labels,
                            const rer_options *options, rer_error *error)
{
    return wrap(data, wrap_array, features, labels, options, error);
}

rer_status rer_dataset_wrap_card(rer_dataset **data, const rer_view *features, const rer_view *labels,
                                 const rer_options *options, rer_error *error)
{
    return wrap(data, wrap_card_array, features, labels, options, error);
}

void rer_dataset_free(rer_dataset *data)
{
    if (data == NULL)
        return;
    rer_device_wake_end(&data->waking);
    if (!data->borrows_features)
        rer_array_close(&data->features);
    rer_labels_free(&data->labels);
    rer_labels_free(&data->subsets);
    rer_labels_free(&data->groups);
    rer_array_close(&data->pred_probs);
    rer_texts_free(&data->ids);
    rer_texts_free(&data->columns);
    RER_FREE_ALL(data->origin, data->class_embeddings);
    rer_images_free(&data->images);
    rer_row_texts_free(&data->texts);
    rer_texts_free(&data->skipped);
    rer_notes_free(&data->notes);
    RER_FREE_ALL(data->inputs, data->opened, data);
}

rer_status rer_dataset_note_header(rer_dataset *data, const char *path, const rer_header *header, rer_error *error)
{
    if (header->text[0] == 0)
        return RER_OK;
    return rer_notes_add(&data->notes, error, "%s: the first row, '%s', was taken for a header: it is one too many",
                         path, header->text);
}

/* ---- for people -------------------------------------------------------------------------- */

rer_status rer_dataset_open_images(rer_dataset *data, const char *path, rer_error *error)
{
    rer_images opened = {.array = {.fd = -1}};
    rer_error_clear(error);
    RER_TRY(rer_images_open(&opened, path, data->N, &data->ids, error));
    rer_images_free(&data->images);
    data->images = opened;
    return rer_dataset_note_header(data, path, &opened.header, error);
}

rer_status rer_dataset_set_images(rer_dataset *data, const rer_view *images, rer_error *error)
{
    rer_array array = {.fd = -1};
    rer_images opened = {.array = {.fd = -1}};
    rer_error_clear(error);
    rer_status status = wrap_array(&array, images, "images", error);
    RER_THEN(status, rer_images_take(&opened, &array, data->N, error));
    rer_array_close(&array);
    if (status != RER_OK)
        return status;
    rer_images_free(&data->images);
    data->images = opened;
    return RER_OK;
}

rer_status rer_dataset_open_texts(rer_dataset *data, const char *path, rer_error *error)
{
    rer_row_texts opened = {.input = RER_NO_INPUT};
    rer_error_clear(error);
    RER_TRY(rer_row_texts_open(&opened, path, data->N, error));
    rer_row_texts_free(&data->texts);
    data->texts = opened;
    return rer_dataset_note_header(data, path, &opened.implied, error);
}

rer_status rer_dataset_set_texts(rer_dataset *data, const char *const *texts, int64_t count, rer_error *error)
{
    rer_texts copied = {0};
    rer_error_clear(error);
    if (count != data->N)
        return rer_fail(error, RER_BAD_INPUT, "%lld texts but %lld rows of features; give one a row", (long long)count,
                        (long long)data->N);
    RER_TRY(rer_texts_copy(&copied, texts, count, "texts", error));
    rer_row_texts_free(&data->texts);
    data->texts.kept = copied;
    return RER_OK;
}
