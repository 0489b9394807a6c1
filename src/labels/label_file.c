/* Files of labels, in and out: see label_file.h.
 *
 * Whatever a label looks like in the file, a row that becomes class k gets the bytes of the first row that
 * is of class k: types, widths and spellings stay as they were. */
#include "labels/label_file.h"
#include "core/writer.h"
#include "source/formats.h"
#include "source/texts.h"

#include <math.h>
#include <string.h>

/* ---- reading ----------------------------------------------------------------------------- */

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

/* ---- writing ----------------------------------------------------------------------------- */

/* source [N]: the row whose label each row gets, -1: none. */
static rer_status find_sources(int64_t *source, const rer_labels *labels, const int32_t *codes, rer_error *error)
{
    int64_t *first = NULL; /* [C] first row of a class */
    rer_status status = rer_allocate(&first, labels->C, sizeof *first, "classes", error);
    if (status != RER_OK)
        return status;
    for (int64_t row = labels->N - 1; row >= 0; row--)
        if (labels->codes[row] >= 0)
            first[labels->codes[row]] = row;
    for (int64_t row = 0; row < labels->N; row++)
        source[row] = codes[row] == labels->codes[row] ? row : codes[row] < 0 ? -1 : first[codes[row]];
    free(first);
    return RER_OK;
}

/* What stands for no label: NaN, -1, or an empty text. */
static void put_no_label(char *item, rer_dtype dtype, int64_t size)
{
    const uint16_t half = 0x7E00;
    const float single = NAN;
    const double wide = NAN;
    bool is_text = dtype == RER_BYTES || dtype == RER_UNICODE;
    memset(item, is_text ? 0 : 0xFF, (size_t)size);
    if (dtype == RER_F16)
        memcpy(item, &half, sizeof half);
    else if (dtype == RER_F32)
        memcpy(item, &single, sizeof single);
    else if (dtype == RER_F64)
        memcpy(item, &wide, sizeof wide);
}

/* Unsigned integers as int64, which has a -1. */
static rer_status write_as_signed(rer_output *output, const rer_array *array, const int64_t *source, rer_error *error)
{
    int64_t N = array->shape[0], *values = NULL; /* [3, N]: values, scratch, what is written */
    bool *missing = NULL;
    rer_status status = rer_allocate(&values, 3 * N, sizeof *values, "labels", error);
    if (status == RER_OK)
        status = rer_allocate(&missing, N, sizeof *missing, "labels", error);
    if (status == RER_OK)
        status = rer_array_integers(array, 0, N, values, missing, values + N, error);
    for (int64_t row = 0; status == RER_OK && row < N; row++) {
        values[2 * N + row] = source[row] < 0 ? -1 : values[source[row]];
        if (source[row] >= 0 && values[source[row]] < 0)
            status = rer_fail(error, RER_BAD_INPUT,
                              "%s: row %lld has a label above 2^63, and there is no room for -1 (no label) beside it; "
                              "write --weights instead",
                              array->name, (long long)source[row]);
    }
    if (status == RER_OK)
        status = rer_output_npy_header(output, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? ">i8" : "<i8", false,
                                       array->rank, array->shape, error);
    if (status == RER_OK)
        status = rer_output_write(output, values + 2 * N, N * (int64_t)sizeof *values, error);
    free(values);
    free(missing);
    return status;
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
    for (int64_t row = 0; status == RER_OK && row < N; row++) {
        if (source[row] >= 0)
            memcpy(rows + row * size, items + source[row] * size, (size_t)size);
        else
            put_no_label(rows + row * size, array->dtype, size);
    }
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
        if (source[row] >= 0)
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
        rer_csv_text(&writer, source[row] >= 0 ? rer_text(texts, source[row]) : NULL);
        rer_csv_end(&writer);
    }
    return rer_writer_end(&writer);
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* Labels are written as text (one a line) or as .npy. */
bool rer_path_is_text_output(const char *path)
{
    return rer_path_is_table(path) && !ends_with(path, ".gz");
}

rer_status rer_label_file_check(const char *out, rer_error *error)
{
    if (!rer_path_is_text_output(out) && !ends_with(out, ".npy") && strncmp(out, "/dev/", 5) != 0)
        return rer_fail(error, RER_BAD_USAGE, "%s: labels are written as .npy, .csv, .tsv or .txt; name it so", out);
    return RER_OK;
}

/* -1 means no label only where no class has a negative number. */
static rer_status check_drops(const rer_label_file *file, const int32_t *codes, bool *drops, rer_error *error)
{
    bool is_number = file->array.name != NULL && file->array.dtype != RER_BYTES && file->array.dtype != RER_UNICODE;
    for (int64_t row = 0; row < file->labels.N; row++)
        *drops |= codes[row] < 0 && file->labels.codes[row] >= 0;
    for (int32_t c = 0; *drops && is_number && c < file->labels.C; c++)
        if (rer_labels_value(&file->labels, c)[0] == '-')
            return rer_fail(error, RER_BAD_INPUT,
                            "%s: has the label %s, so that -1 cannot stand for a dropped sample; write --weights "
                            "instead, where it gets 0",
                            file->array.name, rer_labels_value(&file->labels, c));
    return RER_OK;
}

/* Into an open file. */
static rer_status write_all(rer_output *output, const char *out, const rer_label_file *file, const int64_t *source,
                            bool drops, rer_error *error)
{
    bool is_array = file->array.name != NULL;
    if (rer_path_is_text_output(out))
        return write_lines(output, &file->texts, source, error);
    if (!is_array)
        return write_texts_array(output, &file->texts, source, error);
    if (drops && file->array.dtype >= RER_U8 && file->array.dtype <= RER_U64)
        return write_as_signed(output, &file->array, source, error);
    return write_items(output, &file->array, source, error);
}

rer_status rer_label_file_write(const char *out, rer_label_file *file, const int32_t *codes, rer_error *error)
{
    rer_output output = {0};
    int64_t *source = NULL; /* [N] */
    bool drops = false;
    rer_status status = check_drops(file, codes, &drops, error);
    if (status == RER_OK)
        status = rer_allocate(&source, file->labels.N, sizeof *source, "labels", error);
    if (status == RER_OK)
        status = find_sources(source, &file->labels, codes, error);
    if (status == RER_OK && file->array.name != NULL && rer_path_is_text_output(out) && file->texts.count == 0)
        status = rer_texts_from_array(&file->texts, &file->array, error);
    if (status == RER_OK)
        status = rer_output_open(&output, out, error);
    if (status == RER_OK)
        status = write_all(&output, out, file, source, drops, error);
    if (status == RER_OK)
        status = rer_output_commit(&output, error);
    rer_output_discard(&output);
    free(source);
    return status;
}
