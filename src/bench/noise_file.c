/* rer noise: a file of labels in, the same kind of file with wrong labels out.
 *
 * Whatever a label looks like in the file, a row that becomes class k gets the bytes of the first row that
 * is of class k: types, widths and spellings stay as they were. */
#include "bench/likely.h"
#include "bench/noise.h"
#include "report/writer.h"
#include "source/dataset.h"
#include "source/formats.h"
#include "source/texts.h"

#include <string.h>

/* ---- labels as they were written --------------------------------------------------------- */

void rer_label_file_free(rer_label_file *file)
{
    rer_labels_free(&file->labels);
    rer_array_close(&file->array);
    rer_texts_free(&file->texts);
}

rer_status rer_label_file_open(rer_label_file *file, const char *path, const char *column, int64_t expected,
                               rer_error *error)
{
    rer_input input = RER_NO_INPUT;
    rer_label_file opened = {.array = {.fd = -1}};
    rer_status status = rer_input_open(&input, path, error);
    if (status == RER_OK && column != NULL && input.format != RER_TEXT)
        status = rer_fail(error, RER_BAD_INPUT, "%s: has no column '%s': only .csv and .tsv files have columns", path,
                          column);
    if (status == RER_OK && input.format == RER_TEXT)
        status = rer_input_texts(&opened.texts, &input, column, expected, error);
    else if (status == RER_OK)
        status = rer_input_array(&opened.array, &input, error);
    if (status == RER_OK && input.format == RER_TEXT)
        status = rer_labels_from_texts(&opened.labels, &opened.texts, path, error);
    else if (status == RER_OK)
        status = rer_labels_from_array(&opened.labels, &opened.array, error);
    if (status == RER_OK)
        status = rer_copy_text(&opened.labels.source, path, error);
    rer_input_close(&input);
    if (status != RER_OK) {
        rer_label_file_free(&opened);
        return status;
    }
    *file = opened;
    return RER_OK;
}

/* ---- labels of another file -------------------------------------------------------------- */

static rer_status translate(int32_t *target, const rer_labels *labels, const rer_labels *other, rer_error *error)
{
    int32_t *map = NULL; /* [other's C] */
    char **names = NULL; /* [C] */
    char quoted[80];
    rer_status status = rer_allocate(&map, other->C, sizeof *map, "classes", error);
    if (status == RER_OK)
        status = rer_allocate(&names, labels->C, sizeof *names, "class names", error);
    for (int32_t c = 0; status == RER_OK && c < labels->C; c++)
        names[c] = labels->names.bytes + labels->names.offset[c];
    if (status == RER_OK)
        status = rer_labels_match(map, other, names, labels->C, error);
    for (int32_t c = 0; status == RER_OK && c < other->C; c++) {
        const char *name = rer_text(&other->names, c);
        if (map[c] < 0)
            status = rer_fail(error, RER_BAD_INPUT,
                              "%s: has the label '%s', which %s does not have; both must name the same classes",
                              other->source, rer_quote(quoted, sizeof quoted, name, (int64_t)strlen(name)),
                              labels->source != NULL ? labels->source : "the first file");
    }
    for (int64_t row = 0; status == RER_OK && row < labels->N; row++)
        target[row] = other->codes[row] < 0 ? -1 : map[other->codes[row]];
    free(map);
    free(names);
    return status;
}

rer_status rer_noise_other_labels(int32_t *target, const rer_labels *labels, const char *path, const char *column,
                                  rer_error *error)
{
    rer_label_file other = {.array = {.fd = -1}};
    rer_status status = rer_label_file_open(&other, path, column, labels->N, error);
    if (status == RER_OK && other.labels.N != labels->N)
        status = rer_fail(error, RER_BAD_INPUT, "%s has %lld labels but %s has %lld; each row needs both", path,
                          (long long)other.labels.N, labels->source != NULL ? labels->source : "the first file",
                          (long long)labels->N);
    if (status == RER_OK)
        status = translate(target, labels, &other.labels, error);
    rer_label_file_free(&other);
    return status;
}

rer_status rer_dataset_read_labels(int32_t *codes, const rer_dataset *data, const char *path, rer_error *error)
{
    if (data->labels.codes == NULL)
        return rer_fail(error, RER_BAD_USAGE, "%s: has no labels to compare %s with", data->features.name, path);
    return rer_noise_other_labels(codes, &data->labels, path, NULL, error);
}

/* ---- writing ----------------------------------------------------------------------------- */

/* source [N]: the row whose label each row gets. */
static rer_status find_sources(int64_t *source, const rer_labels *labels, const int32_t *noisy, rer_error *error)
{
    int64_t *first = NULL; /* [C] first row of a class */
    rer_status status = rer_allocate(&first, labels->C, sizeof *first, "classes", error);
    if (status != RER_OK)
        return status;
    for (int64_t row = labels->N - 1; row >= 0; row--)
        if (labels->codes[row] >= 0)
            first[labels->codes[row]] = row;
    for (int64_t row = 0; row < labels->N; row++)
        source[row] = noisy[row] == labels->codes[row] ? row : first[noisy[row]];
    free(first);
    return RER_OK;
}

/* An array's items, as they are, in native byte order. */
static rer_status write_items(rer_output *output, const rer_array *array, const int64_t *source, rer_error *error)
{
    static const char kinds[] = "fffuuuuiiiiSU"; /* of rer_dtype */
    char *items = NULL, *scratch = NULL, *rows = NULL;
    int64_t N = array->shape[0], size = array->item_size, bytes = N * size;
    char descr[32];
    bool wide = size > 1 && array->dtype != RER_BYTES;
    (void)snprintf(descr, sizeof descr, "%c%c%lld",
                   !wide                                    ? '|'
                   : __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? '>'
                                                            : '<',
                   kinds[array->dtype], (long long)(array->dtype == RER_UNICODE ? size / 4 : size));
    rer_status status = rer_allocate(&items, bytes, 1, "labels", error);
    if (status == RER_OK)
        status = rer_allocate(&scratch, bytes, 1, "labels", error);
    if (status == RER_OK)
        status = rer_allocate(&rows, bytes, 1, "labels", error);
    if (status == RER_OK)
        status = rer_array_raw_rows(array, 0, N, items, scratch, error);
    for (int64_t row = 0; status == RER_OK && row < N; row++)
        memcpy(rows + row * size, items + source[row] * size, (size_t)size);
    if (status == RER_OK)
        status = rer_output_npy_header(output, descr, false, array->rank, array->shape, error);
    if (status == RER_OK)
        status = rer_output_write(output, rows, bytes, error);
    free(items);
    free(scratch);
    free(rows);
    return status;
}

/* Characters of UTF-8 text as UCS-4; returns how many. `out` may be NULL. */
static int64_t decode_utf8(const char *text, uint32_t *out)
{
    int64_t count = 0;
    for (const unsigned char *at = (const unsigned char *)text; *at != 0; count++) {
        int more = *at >= 0xF0 ? 3 : *at >= 0xE0 ? 2 : *at >= 0xC0 ? 1 : 0;
        uint32_t point = more == 0 ? *at : *at & (0x3FU >> more);
        for (at++; more > 0; more--, at++)
            point = point << 6 | (*at & 0x3FU);
        if (out != NULL)
            out[count] = point;
    }
    return count;
}

/* Texts as an array of fixed width. */
static rer_status write_texts_array(rer_output *output, const rer_texts *texts, const int64_t *source, rer_error *error)
{
    uint32_t *item = NULL; /* [width] */
    int64_t N = texts->count, width = 1;
    char descr[32];
    for (int64_t row = 0; row < N; row++)
        width = rer_max(width, decode_utf8(rer_text(texts, row), NULL));
    rer_status status = rer_allocate(&item, width, sizeof *item, "a label", error);
    (void)snprintf(descr, sizeof descr, "%cU%lld", __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? '>' : '<',
                   (long long)width);
    if (status == RER_OK)
        status = rer_output_npy_header(output, descr, false, 1, &N, error);
    for (int64_t row = 0; status == RER_OK && row < N; row++) {
        memset(item, 0, (size_t)width * sizeof *item);
        (void)decode_utf8(rer_text(texts, source[row]), item);
        status = rer_output_write(output, item, width * (int64_t)sizeof *item, error);
    }
    free(item);
    return status;
}

/* One label a line. */
static rer_status write_lines(rer_output *output, const rer_texts *texts, const int64_t *source, rer_error *error)
{
    rer_writer writer;
    rer_writer_start(&writer, output, error);
    for (int64_t row = 0; row < texts->count; row++) {
        rer_put_cell(&writer, rer_text(texts, source[row]));
        rer_put(&writer, "\n");
    }
    return rer_writer_end(&writer);
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* Labels are written as text (one a line) or as .npy. */
static bool is_text_path(const char *path)
{
    return rer_path_is_table(path) && !ends_with(path, ".gz");
}

static rer_status write_labels(const char *out, rer_label_file *file, const int32_t *noisy, rer_error *error)
{
    rer_output output = {0};
    int64_t *source = NULL; /* [N] */
    bool is_array = file->array.name != NULL;
    rer_status status = rer_allocate(&source, file->labels.N, sizeof *source, "labels", error);
    if (status == RER_OK)
        status = find_sources(source, &file->labels, noisy, error);
    if (status == RER_OK && is_array && is_text_path(out))
        status = rer_texts_from_array(&file->texts, &file->array, error);
    if (status == RER_OK)
        status = rer_output_open(&output, out, error);
    if (status == RER_OK && is_text_path(out))
        status = write_lines(&output, &file->texts, source, error);
    else if (status == RER_OK && is_array)
        status = write_items(&output, &file->array, source, error);
    else if (status == RER_OK)
        status = write_texts_array(&output, &file->texts, source, error);
    if (status == RER_OK)
        status = rer_output_commit(&output, error);
    rer_output_discard(&output);
    free(source);
    return status;
}

/* ---- the whole --------------------------------------------------------------------------- */

static rer_status check_files(const char *out, const rer_files *files, const char *human, const rer_options *options,
                              rer_error *error)
{
    bool is_human = options->noise_type == RER_NOISE_HUMAN;
    if (files->labels == NULL)
        return rer_fail(error, RER_BAD_USAGE, "no file of labels is given");
    if (out == NULL)
        return rer_fail(error, RER_BAD_USAGE, "no file for the noisy labels is named: --out y_noisy.npy");
    if (is_human && human == NULL)
        return rer_fail(error, RER_BAD_USAGE, "noise of type human needs the other labels: --human FILE");
    if (!is_human && human != NULL)
        return rer_fail(error, RER_BAD_USAGE, "--human %s is for --type human alone", human);
    if (options->noise_type == RER_NOISE_CONFIDENCE && files->features == NULL)
        return rer_fail(error, RER_BAD_USAGE, "noise of type confidence needs the features: --features X.npy");
    if (!is_text_path(out) && !ends_with(out, ".npy") && !(strncmp(out, "/dev/", 5) == 0))
        return rer_fail(error, RER_BAD_USAGE, "%s: noisy labels are written as .npy, .csv, .tsv or .txt; name it so",
                        out);
    return RER_OK;
}

/* A word above nothing but numbers is the header of a table, and no label. */
static rer_status check_header(const rer_label_file *file, const rer_files *files, rer_error *error)
{
    char quoted[80];
    const rer_texts *texts = &file->texts;
    if (files->label_column != NULL || texts->count < 2 || strspn(rer_text(texts, 0), "-0123456789") > 0)
        return RER_OK;
    for (int64_t row = 1; row < texts->count; row++) {
        const char *text = rer_text(texts, row);
        if (text[strspn(text, "-0123456789")] != 0)
            return RER_OK;
    }
    (void)rer_quote(quoted, sizeof quoted, rer_text(texts, 0), (int64_t)strlen(rer_text(texts, 0)));
    return rer_fail(error, RER_BAD_INPUT, "%s: line 1, '%s', is a header above numbers; say --label-column '%s'",
                    files->labels, quoted, quoted);
}

rer_status rer_noise_file(const char *out, rer_noise_summary *summary, const rer_files *files, const char *human,
                          const rer_options *options, const rer_progress *progress, rer_error *error)
{
    rer_label_file file = {.array = {.fd = -1}};
    int32_t *target = NULL, *noisy = NULL; /* [N] */
    int64_t changed = 0;
    rer_status status = check_files(out, files, human, options, error);
    if (status == RER_OK)
        status = rer_label_file_open(&file, files->labels, files->label_column, -1, error);
    if (status == RER_OK)
        status = check_header(&file, files, error);
    if (status == RER_OK)
        status = rer_allocate(&target, file.labels.N, sizeof *target, "labels", error);
    if (status == RER_OK)
        status = rer_allocate(&noisy, file.labels.N, sizeof *noisy, "labels", error);
    if (status == RER_OK && options->noise_type == RER_NOISE_HUMAN)
        status = rer_noise_other_labels(target, &file.labels, human, NULL, error);
    if (status == RER_OK && options->noise_type == RER_NOISE_CONFIDENCE)
        status = rer_noise_likely_of_file(target, files->features, file.labels.codes, file.labels.N, options, progress,
                                          error);
    if (status == RER_OK)
        status =
            rer_noise_plant(noisy, &changed, file.labels.codes, target, file.labels.N, file.labels.C, options, error);
    if (status == RER_OK)
        status = write_labels(out, &file, noisy, error);
    if (status == RER_OK && summary != NULL) {
        *summary = (rer_noise_summary){.n_changed = changed, .n_classes = file.labels.C};
        for (int64_t row = 0; row < file.labels.N; row++)
            summary->n_labelled += file.labels.codes[row] >= 0;
    }
    rer_label_file_free(&file);
    free(target);
    free(noisy);
    return status;
}
