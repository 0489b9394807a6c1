/* A data set from files: features, then all that is attached to them, each file once. */
#include "source/class_texts.h"
#include "source/dataset.h"
#include "source/formats.h"
#include "source/inputs.h"
#include "source/photos.h"
#include "source/texts.h"

/* COLUMN of t.csv:COLUMN where t.csv are the features, else NULL. */
static const char *own_column(const rer_files *files, const char *path)
{
    size_t length = strlen(files->features);
    bool is_own = path != NULL && length > 0 && rer_path_is_table(files->features) &&
                  strncmp(path, files->features, length) == 0 && path[length] == ':';
    return is_own ? path + length + 1 : NULL;
}

/* Columns of the features' own table that the user has named as something else: no features. */
static void list_own_columns(const char *columns[5], const rer_files *files)
{
    const char *paths[] = {files->ids, files->texts, files->groups, files->subsets};
    for (size_t i = 0; i < RER_COUNT(paths); i++) {
        *columns = own_column(files, paths[i]);
        columns += *columns != NULL;
    }
    *columns = NULL;
}

static rer_status open_features(rer_dataset *data, const rer_files *files, rer_error *error)
{
    rer_input input = RER_NO_INPUT;
    rer_texts labels = {0};
    const char *column = files->labels == NULL ? files->label_column : NULL, *others[5];
    list_own_columns(others, files);
    rer_status status = rer_input_open(&input, files->features, error);
    if (status == RER_OK && column != NULL && input.format != RER_TEXT)
        status = rer_fail(error, RER_BAD_INPUT,
                          "%s: has no column '%s': only .csv and .tsv files have named columns; "
                          "give the labels as a file",
                          files->features, column);
    if (status == RER_OK && input.format == RER_TEXT)
        status = rer_input_table(&data->features, column != NULL ? &labels : NULL, &data->columns, &input, column,
                                 others, files->progress, error);
    else if (status == RER_OK)
        status = rer_input_array(&data->features, &input, error);
    if (status == RER_OK && column != NULL)
        status = rer_labels_from_texts(&data->labels, &labels, error);
    rer_texts_free(&labels);
    rer_input_close(&input);
    return status;
}

static rer_status open_ids(rer_dataset *data, const rer_files *files, rer_error *error)
{
    rer_header header = {0};
    RER_TRY(rer_texts_open(&data->ids, files->ids, NULL, data->N, &header, error));
    if (data->ids.count != data->N)
        return rer_fail(error, RER_BAD_INPUT, "%s has %lld ids but %s has %lld rows; give one a row%s", files->ids,
                        (long long)data->ids.count, files->features, (long long)data->N,
                        rer_header_remedy(data->ids.count, data->N));
    return rer_dataset_note_header(data, files->ids, &header, error);
}

/* One value for each row, of what the user calls `what`: a file, or its column of that name. */
static rer_status open_row_values(rer_labels *values, rer_dataset *data, const char *file, const char *column,
                                  const char *what, const rer_files *files, rer_error *error)
{
    rer_input input = RER_NO_INPUT;
    rer_texts texts = {0};
    rer_array array = {.fd = -1};
    rer_header header = {0};
    rer_status status = rer_input_open_column(&input, file, error);
    RER_THEN(status, rer_input_labels(values, &texts, &array, &input, column, data->N, &header, error));
    if (status == RER_OK && values->N != data->N)
        status = rer_fail(error, RER_BAD_INPUT,
                          "%s has %lld %s but %s has %lld rows; give one a row (an empty one where there is none)%s",
                          file, (long long)values->N, what, files->features, (long long)data->N,
                          rer_header_remedy(values->N, data->N));
    RER_THEN(status, rer_dataset_note_header(data, file, &header, error));
    rer_array_close(&array);
    rer_texts_free(&texts);
    rer_input_close(&input);
    return status;
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
    RER_TRY(rer_allocate(word, 4 * (int64_t)strlen(text) + 4, 1, "a word of a command", error));
    char *at = *word;
    put_word(&at, text);
    return RER_OK;
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
    RER_TRY(rer_allocate(&data->inputs, size, 1, "the names of the inputs", error));
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
    RER_TRY(rer_allocate(&data->labels.source, size, 1, "the name of the labels", error));
    (void)snprintf(data->labels.source, (size_t)size, "%s:%s", files->features, column);
    return RER_OK;
}

/* t.csv t.csv:COLUMN is t.csv --label-column COLUMN: the labels are no feature. */
static rer_files with_own_column(const rer_files *given)
{
    rer_files files = *given;
    const char *column = files.features != NULL && files.label_column == NULL ? own_column(&files, files.labels) : NULL;
    if (column != NULL) {
        files.label_column = column;
        files.labels = NULL;
    }
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
    RER_TRY(rer_class_texts_check(files, error));
    RER_TRY(rer_path_is_folder(files->features) ? rer_dataset_open_photos(data, files, options, error)
            : files->model != NULL              ? rer_dataset_open_text_rows(data, files, options, error)
                                                : open_features(data, files, error));
    RER_TRY(rer_dataset_describe(data, options, error));
    if (files->labels != NULL)
        RER_TRY(open_row_values(&data->labels, data, files->labels, files->label_column, "labels", files, error));
    if (data->labels.codes != NULL)
        RER_TRY(name_labels(data, files, error));
    if (files->class_names != NULL && data->labels.codes == NULL)
        return rer_fail(error, RER_BAD_USAGE, "%s: class names need labels", files->class_names);
    if (files->class_names != NULL)
        RER_TRY(rer_labels_rename(&data->labels, files->class_names, error));
    if (files->ids != NULL)
        RER_TRY(open_ids(data, files, error));
    if (files->subsets != NULL)
        RER_TRY(open_row_values(&data->subsets, data, files->subsets, NULL, "subsets", files, error));
    data->group_duplicates = files->groups != NULL && strcmp(files->groups, "duplicates") == 0;
    if (files->groups != NULL && !data->group_duplicates)
        RER_TRY(open_row_values(&data->groups, data, files->groups, NULL, "groups", files, error));
    if (files->pred_probs != NULL)
        RER_TRY(rer_array_open(&data->pred_probs, files->pred_probs, error));
    if (files->class_embeddings != NULL)
        RER_TRY(rer_class_embeddings_open(data, files->class_embeddings, error));
    else if (files->classes != NULL || (files->model != NULL && options->detector == RER_DETECT_ZEROSHOT))
        RER_TRY(rer_class_texts_take(data, files, options, error));
    if (files->images != NULL)
        RER_TRY(rer_dataset_open_images(data, files->images, error));
    if (files->texts != NULL)
        RER_TRY(rer_dataset_open_texts(data, files->texts, error));
    RER_TRY(name_inputs(data, &named, error));
    RER_TRY(rer_inputs_text(&data->opened, &named, error));
    return rer_dataset_check(data, error);
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
    RER_THEN(status, rer_options_take(&options, given, error));
    RER_THEN(status, rer_allocate(&opened, 1, sizeof *opened, "a data set", error));
    if (status == RER_OK)
        rer_dataset_wake_card(opened, &options);
    RER_THEN(status, open_all(opened, &files, &options, error));
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
