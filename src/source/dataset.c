/* A data set from files or from memory: see dataset.h. */
#include "source/dataset.h"
#include "source/class_texts.h"
#include "source/formats.h"
#include "source/inputs.h"
#include "source/photos.h"
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
    if (status == RER_OK)
        status = rer_array_read(array, 0, head, piece, error);
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
    rer_status status = rer_hog_plan(&data->plan, array->shape[1], array->shape[2], channels, array->name, error);
    data->D = data->plan.D;
    return status;
}

/* Sets everything that follows from the opened features. */
static rer_status describe(rer_dataset *data, const rer_options *options, rer_error *error)
{
    const rer_array *array = &data->features;
    if (array->dtype == RER_BYTES || array->dtype == RER_UNICODE)
        return rer_fail(error, RER_BAD_INPUT, "%s: holds texts where features must be numbers", array->name);
    if (array->rank == 1)
        return wrong_shape(array, "are features and labels swapped? A single feature is [N, 1]", error);
    data->N = array->shape[0];
    data->D = rer_array_columns(array);
    rer_status status = array->rank > 2 ? set_pictures(data, options, error) : RER_OK;
    return status == RER_OK ? features_checksum(&data->features_checksum, array, error) : status;
}

/* ---- opening ----------------------------------------------------------------------------- */

static rer_status open_features(rer_dataset *data, const rer_files *files, rer_error *error)
{
    rer_input input = RER_NO_INPUT;
    rer_texts labels = {0};
    const char *column = files->labels == NULL ? files->label_column : NULL;
    rer_status status = rer_input_open(&input, files->features, error);
    if (status == RER_OK && column != NULL && input.format != RER_TEXT)
        status = rer_fail(error, RER_BAD_INPUT,
                          "%s: has no column '%s': only .csv and .tsv files have named columns; "
                          "give the labels as a file",
                          files->features, column);
    if (status == RER_OK && input.format == RER_TEXT)
        status =
            rer_input_table(&data->features, column != NULL ? &labels : NULL, &data->columns, &input, column, error);
    else if (status == RER_OK)
        status = rer_input_array(&data->features, &input, error);
    if (status == RER_OK && column != NULL)
        status = rer_labels_from_texts(&data->labels, &labels, error);
    rer_texts_free(&labels);
    rer_input_close(&input);
    return status;
}

static rer_status read_labels(rer_labels *labels, rer_input *input, const char *column, int64_t N, rer_error *error)
{
    rer_texts texts = {0};
    rer_array array = {.fd = -1};
    rer_status status;
    if (input->format == RER_TEXT) {
        status = rer_input_texts(&texts, input, column, N, error);
        if (status == RER_OK)
            status = rer_labels_from_texts(labels, &texts, error);
    } else {
        status = rer_input_array(&array, input, error);
        if (status == RER_OK)
            status = rer_labels_from_array(labels, &array, error);
    }
    rer_array_close(&array);
    rer_texts_free(&texts);
    return status;
}

static rer_status open_labels(rer_dataset *data, const rer_files *files, rer_error *error)
{
    rer_input input = RER_NO_INPUT;
    rer_status status = rer_input_open_column(&input, files->labels, error);
    if (status == RER_OK)
        status = read_labels(&data->labels, &input, files->label_column, data->N, error);
    if (status == RER_OK && data->labels.N != data->N)
        status = rer_fail(error, RER_BAD_INPUT,
                          "%s has %lld labels but %s has %lld rows; each row needs one label "
                          "(an empty one where it is unknown)",
                          files->labels, (long long)data->labels.N, files->features, (long long)data->N);
    rer_input_close(&input);
    return status;
}

static rer_status open_ids(rer_dataset *data, const rer_files *files, rer_error *error)
{
    rer_status status = rer_texts_open(&data->ids, files->ids, NULL, data->N, error);
    if (status == RER_OK && data->ids.count != data->N)
        status = rer_fail(error, RER_BAD_INPUT, "%s has %lld ids but %s has %lld rows; give one a row", files->ids,
                          (long long)data->ids.count, files->features, (long long)data->N);
    return status;
}

/* One value for each row, of what the user calls `what`. */
static rer_status open_row_values(rer_labels *values, const rer_dataset *data, const char *file, const char *what,
                                  const rer_files *files, rer_error *error)
{
    rer_input input = RER_NO_INPUT;
    rer_status status = rer_input_open_column(&input, file, error);
    if (status == RER_OK)
        status = read_labels(values, &input, NULL, data->N, error);
    if (status == RER_OK && values->N != data->N)
        status = rer_fail(error, RER_BAD_INPUT,
                          "%s has %lld %s but %s has %lld rows; give one a row (an empty one for none)", file,
                          (long long)values->N, what, files->features, (long long)data->N);
    rer_input_close(&input);
    return status;
}

rer_status rer_dataset_set_pred_probs(rer_dataset *data, const rer_view *pred_probs, rer_error *error)
{
    rer_array wrapped = {.fd = -1};
    rer_error_clear(error);
    rer_status status = rer_array_wrap(&wrapped, pred_probs, "predicted probabilities", error);
    if (status == RER_OK)
        status = rer_dataset_check_probabilities(data, &wrapped, error);
    if (status != RER_OK) {
        rer_array_close(&wrapped);
        return status;
    }
    rer_array_close(&data->pred_probs);
    data->pred_probs = wrapped;
    return RER_OK;
}

static bool is_standard_input(const char *path)
{
    return path != NULL && path[0] == '-' && (path[1] == 0 || path[1] == ':');
}

/* Appends " TEXT" in single quotes where a shell needs them. */
static void put_word(char **at, const char *text)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:=+,@%-";
    bool is_plain = text[0] != 0 && text[strspn(text, plain)] == 0;
    *(*at)++ = ' ';
    if (!is_plain)
        *(*at)++ = '\'';
    for (; *text != 0; text++) {
        if (!is_plain && *text == '\'') {
            memcpy(*at, "'\\'", 3); /* ends the quotes, a quote by itself, and they begin again */
            *at += 3;
        }
        *(*at)++ = *text;
    }
    if (!is_plain)
        *(*at)++ = '\'';
    **at = 0;
}

rer_status rer_shell_word(char **word, const char *text, rer_error *error)
{
    rer_status status = rer_allocate(word, 4 * (int64_t)strlen(text) + 4, 1, "a word of a command", error);
    char *at = *word;
    if (status == RER_OK)
        put_word(&at, text);
    return status;
}

/* data->inputs, as a command line would name the files. */
static rer_status name_inputs(rer_dataset *data, const rer_files *files, rer_error *error)
{
    const struct {
        const char *option, *path;
    } words[] = {{NULL, files->features},
                 {NULL, files->labels},
                 {"--model", files->model},
                 {"--label-column", files->label_column},
                 {"--class-names", files->class_names},
                 {"--ids", files->ids},
                 {"--images", files->images},
                 {"--texts", files->texts}};
    int64_t size = 1;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        size += words[i].path != NULL ? 4 * (int64_t)strlen(words[i].path) + 24 : 0;
    rer_status status = rer_allocate(&data->inputs, size, 1, "the names of the inputs", error);
    if (status != RER_OK)
        return status;
    char *at = data->inputs;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (words[i].path != NULL && words[i].option != NULL)
            put_word(&at, words[i].option);
        if (words[i].path != NULL)
            put_word(&at, words[i].path);
    }
    return RER_OK;
}

/* How rer apply would name the labels: y.npy, or the column of the features' table; the folder that has them. */
static rer_status name_labels(rer_dataset *data, const rer_files *files, rer_error *error)
{
    const char *column = files->labels == NULL ? files->label_column : NULL;
    int64_t size = (int64_t)strlen(files->features) + (column != NULL ? (int64_t)strlen(column) : 0) + 2;
    if (data->labels.source != NULL) /* of texts that have features by a model */
        return RER_OK;
    if (column == NULL) {
        const char *labels = data->has_folder_labels ? files->features : files->labels;
        return labels != NULL ? rer_copy_text(&data->labels.source, labels, error) : RER_OK;
    }
    rer_status status = rer_allocate(&data->labels.source, size, 1, "the name of the labels", error);
    if (status == RER_OK)
        (void)snprintf(data->labels.source, (size_t)size, "%s:%s", files->features, column);
    return status;
}

/* t.csv t.csv:COLUMN is t.csv --label-column COLUMN: the labels are no feature. */
static rer_files with_own_column(const rer_files *given)
{
    rer_files files = *given;
    size_t length = files.features != NULL ? strlen(files.features) : 0;
    if (files.labels == NULL || files.label_column != NULL || length == 0 || !rer_path_is_table(files.features) ||
        strncmp(files.labels, files.features, length) != 0 || files.labels[length] != ':')
        return files;
    files.label_column = files.labels + length + 1;
    files.labels = NULL;
    return files;
}

static rer_status open_all(rer_dataset *data, const rer_files *given, const rer_options *options, rer_error *error)
{
    rer_files named = with_own_column(given), taken = named, *files = &taken; /* as given, and what is left to open */
    if (files->features == NULL)
        return rer_fail(error, RER_BAD_USAGE, "no file of features is given");
    if (is_standard_input(files->features) + is_standard_input(files->labels) + is_standard_input(files->ids) +
            is_standard_input(files->class_names) + is_standard_input(files->subsets) +
            is_standard_input(files->groups) + is_standard_input(files->class_embeddings) +
            is_standard_input(files->images) + is_standard_input(files->texts) >
        1)
        return rer_fail(error, RER_BAD_USAGE,
                        "standard input (-) can be read only once; give one of the files by name");
    rer_status status = rer_class_texts_check(files, error);
    if (status == RER_OK)
        status = rer_path_is_folder(files->features) ? rer_dataset_open_photos(data, files, options, error)
                 : files->model != NULL              ? rer_dataset_open_text_rows(data, files, options, error)
                                                     : open_features(data, files, error);
    if (status == RER_OK)
        status = describe(data, options, error);
    if (status == RER_OK && files->labels != NULL)
        status = open_labels(data, files, error);
    if (status == RER_OK && data->labels.codes != NULL)
        status = name_labels(data, files, error);
    if (status == RER_OK && files->class_names != NULL && data->labels.codes == NULL)
        status = rer_fail(error, RER_BAD_USAGE, "%s: class names need labels", files->class_names);
    if (status == RER_OK && files->class_names != NULL)
        status = rer_labels_rename(&data->labels, files->class_names, error);
    if (status == RER_OK && files->ids != NULL)
        status = open_ids(data, files, error);
    if (status == RER_OK && files->subsets != NULL)
        status = open_row_values(&data->subsets, data, files->subsets, "subsets", files, error);
    data->group_duplicates = files->groups != NULL && strcmp(files->groups, "duplicates") == 0;
    if (status == RER_OK && files->groups != NULL && !data->group_duplicates)
        status = open_row_values(&data->groups, data, files->groups, "groups", files, error);
    if (status == RER_OK && files->pred_probs != NULL)
        status = rer_array_open(&data->pred_probs, files->pred_probs, error);
    if (status == RER_OK && files->class_embeddings != NULL)
        status = rer_class_embeddings_open(data, files->class_embeddings, error);
    else if (status == RER_OK &&
             (files->classes != NULL || (files->model != NULL && options->detector == RER_DETECT_ZEROSHOT)))
        status = rer_class_texts_take(data, files, options, error);
    if (status == RER_OK && files->images != NULL)
        status = rer_dataset_open_images(data, files->images, error);
    if (status == RER_OK && files->texts != NULL)
        status = rer_dataset_open_texts(data, files->texts, error);
    if (status == RER_OK)
        status = name_inputs(data, &named, error);
    if (status == RER_OK)
        status = rer_inputs_text(&data->opened, &named, error);
    return status == RER_OK ? rer_dataset_check(data, error) : status;
}

rer_status rer_dataset_open(rer_dataset **data, const rer_files *given_files, const rer_options *given,
                            rer_error *error)
{
    rer_dataset *opened = NULL;
    rer_files files;
    rer_options options;
    double start = rer_now();
    rer_error_clear(error);
    rer_status status = rer_struct_take(&files, sizeof files, given_files, "rer_files", error);
    if (status == RER_OK)
        status = rer_options_take(&options, given, error);
    if (status == RER_OK)
        status = rer_allocate(&opened, 1, sizeof *opened, "a data set", error);
    if (status == RER_OK)
        status = open_all(opened, &files, &options, error);
    if (status != RER_OK) {
        rer_dataset_free(opened);
        return status;
    }
    if (opened->labels.codes != NULL)
        opened->labels_checksum = rer_labels_checksum(&opened->labels);
    opened->seconds_read = rer_now() - start;
    *data = opened;
    return RER_OK;
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

rer_status rer_array_wrap(rer_array *array, const rer_view *view, const char *name, rer_error *error)
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
    if (status == RER_OK)
        status = rer_array_check(&wrapped, available, error);
    if (status == RER_OK)
        *array = wrapped;
    else
        rer_array_close(&wrapped);
    return status;
}

/* One value for each row of the data; replaces `labels` where all is well. */
static rer_status copy_labels(rer_labels *labels, const rer_view *view, const char *what, int64_t N, rer_error *error)
{
    rer_array array = {.fd = -1};
    rer_labels made = {0};
    rer_status status = rer_array_wrap(&array, view, what, error);
    if (status == RER_OK)
        status = rer_labels_from_array(&made, &array, error);
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
    rer_status status = copy_labels(&data->labels, labels, "labels", data->N, error);
    if (status == RER_OK) {
        data->labels_checksum = rer_labels_checksum(&data->labels);
        data->clusters = 0;
        data->has_folder_labels = false;
    }
    return status;
}

rer_status rer_dataset_set_groups(rer_dataset *data, const rer_view *groups, rer_error *error)
{
    rer_error_clear(error);
    rer_status status = groups == NULL ? RER_OK : copy_labels(&data->groups, groups, "groups", data->N, error);
    if (status == RER_OK)
        data->group_duplicates = groups == NULL;
    return status;
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
    rer_status status = rer_labels_set_names(&data->labels, names, count, error);
    if (status == RER_OK)
        data->labels_checksum = rer_labels_checksum(&data->labels);
    return status;
}

rer_status rer_dataset_set_ids(rer_dataset *data, const char *const *ids, int64_t count, rer_error *error)
{
    rer_texts texts = {0};
    rer_error_clear(error);
    if (count != data->N)
        return rer_fail(error, RER_BAD_INPUT, "%lld ids but %lld rows of features; give one a row", (long long)count,
                        (long long)data->N);
    rer_status status = rer_texts_copy(&texts, ids, count, "ids", error);
    if (status != RER_OK)
        return status;
    rer_texts_free(&data->ids);
    data->ids = texts;
    return RER_OK;
}

rer_status rer_dataset_set_class_embeddings(rer_dataset *data, const rer_view *embeddings, rer_error *error)
{
    rer_array array = {.fd = -1};
    rer_error_clear(error);
    rer_status status = rer_array_wrap(&array, embeddings, "class embeddings", error);
    if (status == RER_OK)
        status = rer_class_embeddings_take(data, &array, error);
    rer_array_close(&array);
    return status;
}

rer_status rer_dataset_wrap(rer_dataset **data, const rer_view *features, const rer_view *labels,
                            const rer_options *given, rer_error *error)
{
    rer_dataset *wrapped = NULL;
    rer_options options;
    double start = rer_now();
    rer_error_clear(error);
    rer_status status = rer_options_take(&options, given, error);
    if (status == RER_OK)
        status = rer_allocate(&wrapped, 1, sizeof *wrapped, "a data set", error);
    if (status == RER_OK)
        status = rer_array_wrap(&wrapped->features, features, "features", error);
    if (status == RER_OK)
        status = describe(wrapped, &options, error);
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

void rer_dataset_free(rer_dataset *data)
{
    if (data == NULL)
        return;
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
    RER_FREE_ALL(data->inputs, data->opened, data);
}

/* ---- for people -------------------------------------------------------------------------- */

rer_status rer_dataset_open_images(rer_dataset *data, const char *path, rer_error *error)
{
    rer_images opened = {.array = {.fd = -1}};
    rer_error_clear(error);
    rer_status status = rer_images_open(&opened, path, data->N, &data->ids, error);
    if (status != RER_OK)
        return status;
    rer_images_free(&data->images);
    data->images = opened;
    return RER_OK;
}

rer_status rer_dataset_set_images(rer_dataset *data, const rer_view *images, rer_error *error)
{
    rer_array array = {.fd = -1};
    rer_images opened = {.array = {.fd = -1}};
    rer_error_clear(error);
    rer_status status = rer_array_wrap(&array, images, "images", error);
    if (status == RER_OK)
        status = rer_images_take(&opened, &array, data->N, error);
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
    rer_status status = rer_row_texts_open(&opened, path, data->N, error);
    if (status != RER_OK)
        return status;
    rer_row_texts_free(&data->texts);
    data->texts = opened;
    return RER_OK;
}

rer_status rer_dataset_set_texts(rer_dataset *data, const char *const *texts, int64_t count, rer_error *error)
{
    rer_texts copied = {0};
    rer_error_clear(error);
    if (count != data->N)
        return rer_fail(error, RER_BAD_INPUT, "%lld texts but %lld rows of features; give one a row", (long long)count,
                        (long long)data->N);
    rer_status status = rer_texts_copy(&copied, texts, count, "texts", error);
    if (status != RER_OK)
        return status;
    rer_row_texts_free(&data->texts);
    data->texts.kept = copied;
    return RER_OK;
}
