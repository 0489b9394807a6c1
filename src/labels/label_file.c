/* Files of labels, in and out: see label_file.h.
 *
 * Whatever a label looks like in the file, a row that becomes class k gets the bytes of the first row that
 * is of class k: types, widths and spellings stay as they were. */
#include "labels/label_file.h"
#include "core/files.h"
#include "source/formats.h"
#include "source/texts.h"

#include <errno.h>

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
    rer_status status = rer_input_open_column(&input, path, error);
    opened.is_column = column != NULL || input.member != NULL;
    if (status == RER_OK && column != NULL && input.format != RER_TEXT)
        status = rer_fail(error, RER_BAD_INPUT, "%s: has no column '%s': only .csv and .tsv files have columns", path,
                          column);
    RER_THEN(status,
             rer_input_labels(&opened.labels, &opened.texts, &opened.array, &input, column, expected, NULL, error));
    RER_THEN(status, rer_copy_text(&opened.labels.source, path, error));
    rer_input_close(&input);
    if (status == RER_OK)
        *file = opened;
    else
        rer_label_file_free(&opened);
    return status;
}

/* ---- writing ----------------------------------------------------------------------------- */

/* source [N]: the row whose label each row gets, -1: none, -2 - k: the new label k. */
static rer_status find_sources(int64_t *source, const rer_labels *labels, const int32_t *codes, rer_error *error)
{
    int64_t *first = NULL; /* [C] first row of a class */
    RER_TRY(rer_allocate(&first, labels->C, sizeof *first, "classes", error));
    for (int64_t row = labels->N - 1; row >= 0; row--)
        if (labels->codes[row] >= 0)
            first[labels->codes[row]] = row;
    for (int64_t row = 0; row < labels->N; row++)
        source[row] = codes[row] == labels->codes[row] ? row
                      : codes[row] < 0                 ? -1
                      : codes[row] < labels->C         ? first[codes[row]]
                                                       : labels->C - codes[row] - 2;
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

typedef struct relabelled {
    const rer_label_file *file;
    const rer_texts *added;
    int64_t *source; /* [N] */
    bool drops;      /* some row loses its label */
} relabelled;

static bool is_number(const rer_array *array)
{
    return array->name != NULL && array->dtype != RER_BYTES && array->dtype != RER_UNICODE;
}

static bool parse_integer(int64_t *value, const char *text)
{
    char *end = NULL;
    errno = 0;
    *value = strtoll(text, &end, 10);
    return errno == 0 && end != text && *end == 0 && *value >= 0;
}

bool rer_label_file_takes(const char *out, const rer_label_file *file, const char *label)
{
    int64_t value;
    return !is_number(&file->array) || rer_path_is_text_output(out) || parse_integer(&value, label);
}

/* All numbers as int64, which has a -1 and room for new ones. */
static void put_as_signed(rer_writer *writer, const relabelled *changed)
{
    const rer_array *array = &changed->file->array;
    const int64_t *source = changed->source;
    int64_t N = array->shape[0], *values = NULL, *out = NULL; /* [2, N]: values, scratch; [N] */
    bool *missing = NULL;
    const rer_room rooms[] = {RER_ROOM(values, 2 * N), RER_ROOM(out, N), RER_ROOM(missing, N)};
    rer_status status = rer_allocate_all(rooms, RER_COUNT(rooms), "labels", writer->error);
    RER_THEN(status, rer_array_integers(array, 0, N, values, missing, values + N, writer->error));
    for (int64_t row = 0; status == RER_OK && row < N; row++) {
        if (source[row] < -1)
            (void)parse_integer(&out[row], rer_text(changed->added, -2 - source[row]));
        else
            out[row] = source[row] < 0 || missing[source[row]] ? -1 : values[source[row]];
        if (source[row] >= 0 && array->dtype == RER_U64 && values[source[row]] < 0)
            status = rer_fail(writer->error, RER_BAD_INPUT,
                              "%s: row %lld has a label above 2^63, and there is no room for -1 (no label) beside it; "
                              "write --weights instead",
                              array->name, (long long)source[row]);
    }
    if (rer_writer_ok(writer, status)) {
        rer_put_npy_header(writer, 'i', sizeof *out, array->rank, array->shape);
        rer_put_bytes(writer, (const char *)out, N * (int64_t)sizeof *out);
    }
    RER_FREE_ALL(values, out, missing);
}

/* An array's items, as they are, in native byte order. */
static void put_items(rer_writer *writer, const rer_array *array, const int64_t *source)
{
    static const char kinds[] = "fffuuuuiiiiSU"; /* of rer_dtype */
    char *items = NULL, *scratch = NULL, *rows = NULL;
    int64_t N = array->shape[0], size = array->item_size, bytes = N * size;
    const rer_room rooms[] = {RER_ROOM(items, bytes), RER_ROOM(scratch, bytes), RER_ROOM(rows, bytes)};
    rer_status status = rer_allocate_all(rooms, RER_COUNT(rooms), "labels", writer->error);
    RER_THEN(status, rer_array_raw_rows(array, 0, N, items, scratch, writer->error));
    for (int64_t row = 0; status == RER_OK && row < N; row++) {
        if (source[row] >= 0)
            memcpy(rows + row * size, items + source[row] * size, (size_t)size);
        else
            put_no_label(rows + row * size, array->dtype, size);
    }
    if (rer_writer_ok(writer, status)) {
        rer_put_npy_header(writer, kinds[array->dtype], size, array->rank, array->shape);
        rer_put_bytes(writer, rows, bytes);
    }
    RER_FREE_ALL(items, scratch, rows);
}

/* What a row's label becomes; NULL: none. */
static const char *new_text(const relabelled *changed, int64_t row)
{
    int64_t from = changed->source[row];
    return from == -1 ? NULL : from < 0 ? rer_text(changed->added, -2 - from) : rer_text(&changed->file->texts, from);
}

/* Texts as an array of fixed width. */
static void put_texts_array(rer_writer *writer, const relabelled *changed)
{
    uint32_t *item = NULL; /* [width] */
    const rer_texts *texts = &changed->file->texts;
    int64_t N = texts->count, width = 1;
    for (int64_t row = 0; row < N; row++)
        width = rer_max(width, rer_utf8_decode(rer_text(texts, row), NULL));
    for (int64_t k = 0; k < changed->added->count; k++)
        width = rer_max(width, rer_utf8_decode(rer_text(changed->added, k), NULL));
    bool is_made = rer_writer_ok(writer, rer_allocate(&item, width, sizeof *item, "a label", writer->error));
    rer_put_npy_header(writer, 'U', width * (int64_t)sizeof *item, 1, &N);
    for (int64_t row = 0; is_made && row < N; row++) {
        memset(item, 0, (size_t)width * sizeof *item);
        const char *text = new_text(changed, row);
        if (text != NULL)
            (void)rer_utf8_decode(text, item);
        rer_put_bytes(writer, (const char *)item, width * (int64_t)sizeof *item);
    }
    free(item);
}

/* One label a line. */
static void put_lines(rer_writer *writer, const relabelled *changed)
{
    for (int64_t row = 0; row < changed->file->texts.count; row++) {
        rer_csv_text(writer, new_text(changed, row));
        rer_csv_end(writer);
    }
}

/* Labels are written as text (one a line) or as .npy. */
bool rer_path_is_text_output(const char *path)
{
    return rer_path_is_table(path) && !rer_path_ends(path, ".gz");
}

rer_status rer_label_file_check(const char *out, rer_error *error)
{
    if (!rer_path_is_text_output(out) && !rer_path_ends(out, ".npy") && strncmp(out, "/dev/", 5) != 0)
        return rer_fail(error, RER_BAD_USAGE, "%s: labels are written as .npy, .csv, .tsv or .txt; name it so", out);
    return RER_OK;
}

/* -1 means no label only where no class has a negative number. */
static rer_status check_drops(const rer_label_file *file, const int32_t *codes, bool *drops, rer_error *error)
{
    for (int64_t row = 0; row < file->labels.N; row++)
        *drops |= codes[row] < 0 && file->labels.codes[row] >= 0;
    for (int32_t c = 0; *drops && is_number(&file->array) && c < file->labels.C; c++)
        if (rer_labels_value(&file->labels, c)[0] == '-')
            return rer_fail(error, RER_BAD_INPUT,
                            "%s: has the label %s, so that -1 cannot stand for a dropped sample; write --weights "
                            "instead, where it gets 0",
                            file->array.name, rer_labels_value(&file->labels, c));
    return RER_OK;
}

static void put_labels(rer_writer *writer, const void *what, int is_text)
{
    const relabelled *changed = what;
    const rer_array *array = &changed->file->array;
    bool adds = changed->added->count > 0;
    if (is_text)
        put_lines(writer, changed);
    else if (array->name == NULL || (adds && !is_number(array)))
        put_texts_array(writer, changed);
    else if (adds || (changed->drops && array->dtype >= RER_U8 && array->dtype <= RER_U64))
        put_as_signed(writer, changed);
    else
        put_items(writer, array, changed->source);
}

rer_status rer_label_file_write(const char *out, rer_label_file *file, const int32_t *codes, const rer_texts *added,
                                rer_error *error)
{
    relabelled changed = {.file = file, .added = added};
    bool is_text = rer_path_is_text_output(out);
    bool needs_texts = is_text || (added->count > 0 && !is_number(&file->array));
    rer_status status = check_drops(file, codes, &changed.drops, error);
    RER_THEN(status, rer_allocate(&changed.source, file->labels.N, sizeof *changed.source, "labels", error));
    RER_THEN(status, find_sources(changed.source, &file->labels, codes, error));
    if (status == RER_OK && file->array.name != NULL && needs_texts && file->texts.count == 0)
        status = rer_texts_from_array(&file->texts, &file->array, error);
    RER_THEN(status, rer_file_write(out, put_labels, &changed, is_text, error));
    free(changed.source);
    return status;
}
