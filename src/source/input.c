/* From the path as the user wrote it to the reader of its format.
 *
 * The content decides on the format, by its first bytes; the name only tells what to say when
 * nothing fits. */
#include "source/formats.h"

#include <strings.h>
#include <sys/stat.h>

static bool ends_with(const char *text, size_t length, const char *end)
{
    size_t tail = strlen(end);
    return length >= tail && strncasecmp(text + length - tail, end, tail) == 0;
}

bool rer_path_ends(const char *path, const char *ending)
{
    return ends_with(path, strlen(path), ending);
}

/* Whether the name has this ending, with .gz after it or not. */
static bool has_ending(const char *path, const char *ending)
{
    return ends_with(path, strlen(path) - (rer_path_ends(path, ".gz") ? 3 : 0), ending);
}

bool rer_path_is_table(const char *path)
{
    return has_ending(path, ".csv") || has_ending(path, ".tsv") || has_ending(path, ".txt");
}

static bool file_exists(const char *path)
{
    struct stat info;
    return strcmp(path, "-") == 0 || stat(path, &info) == 0;
}

/* file.npz:name -> file.npz and name, at the first colon behind the name of a file that is there. A
 * file whose own name has the colon goes first. */
static rer_status split_path(rer_input *input, const char *path, rer_error *error)
{
    RER_TRY(rer_copy_text(&input->name, path, error));
    RER_TRY(rer_copy_text(&input->file, path, error));
    if (file_exists(path))
        return RER_OK;
    for (char *colon = strchr(input->file, ':'); colon != NULL; colon = strchr(colon + 1, ':')) {
        *colon = 0;
        if (file_exists(input->file)) {
            input->member = input->name + (colon - input->file) + 1;
            return RER_OK;
        }
        *colon = ':';
    }
    return RER_OK; /* opening it will say that it is not there */
}

static bool is_text(const unsigned char *head, int64_t length)
{
    for (int64_t i = 0; i < length; i++)
        if (head[i] < 9 || (head[i] > 13 && head[i] < 32))
            return false;
    return true;
}

static rer_status find_format(rer_input *input, bool columns, rer_error *error)
{
    unsigned char head[512];
    char quoted[40];
    int64_t length = rer_min((int64_t)sizeof head, input->bytes.size);
    RER_TRY(rer_bytes_read(&input->bytes, 0, length, head, input->name, error));
    if (length >= 6 && memcmp(head, "\x93NUMPY", 6) == 0)
        input->format = RER_NPY;
    else if (length >= 4 && (memcmp(head, "PK\3\4", 4) == 0 || memcmp(head, "PK\5\6", 4) == 0))
        input->format = RER_ZIP;
    else if (length >= 8 && memcmp(head, "\x89HDF\r\n\x1a\n", 8) == 0)
        input->format = RER_HDF5;
    else if (rer_path_is_table(input->file))
        input->format = RER_TEXT;
    else if (length >= 4 && head[0] == 0 && head[1] == 0 && head[2] >= 8 && head[2] <= 14)
        input->format = RER_IDX;
    else if (has_ending(input->file, ".h5") || has_ending(input->file, ".hdf5"))
        input->format = RER_HDF5; /* the signature may stand further behind */
    else if (is_text(head, length) && !has_ending(input->file, ".npy") && !has_ending(input->file, ".npz"))
        input->format = RER_TEXT;
    else
        return rer_fail(error, RER_BAD_INPUT,
                        "%s: begins with '%s', which is none of .npy, .npz, .h5, .csv, .tsv or IDX: a damaged or "
                        "incomplete file?",
                        input->name, rer_quote(quoted, sizeof quoted, (const char *)head, rer_min(length, 16)));
    if (input->member != NULL && input->format != RER_ZIP && input->format != RER_HDF5 &&
        !(columns && input->format == RER_TEXT))
        return rer_fail(error, RER_BAD_INPUT, "%s: '%s' names a member, but %s is no .npz or .h5 file", input->name,
                        input->member, input->file);
    return RER_OK;
}

static rer_status open_input(rer_input *input, const char *path, bool columns, rer_error *error)
{
    rer_input opened = RER_NO_INPUT;
    rer_status status = split_path(&opened, path, error);
    RER_THEN(status, rer_bytes_open(&opened.bytes, opened.file, error));
    if (status == RER_OK && strcmp(opened.name, "-") == 0) {
        free(opened.name);
        opened.name = NULL;
        status = rer_copy_text(&opened.name, "standard input", error);
    }
    RER_THEN(status, find_format(&opened, columns, error));
    if (status == RER_OK)
        *input = opened;
    else
        rer_input_close(&opened);
    return status;
}

rer_status rer_input_open(rer_input *input, const char *path, rer_error *error)
{
    return open_input(input, path, false, error);
}

rer_status rer_input_open_column(rer_input *input, const char *path, rer_error *error)
{
    return open_input(input, path, true, error);
}

void rer_input_close(rer_input *input)
{
    rer_bytes_close(&input->bytes);
    RER_FREE_ALL(input->file, input->name);
    *input = RER_NO_INPUT;
}

/* Replaces a zip file by its member. */
static rer_status enter_member(rer_input *input, rer_error *error)
{
    rer_bytes member = RER_NO_BYTES;
    unsigned char head[6] = {0};
    RER_TRY(rer_npz_member(&member, input, error));
    rer_bytes_close(&input->bytes);
    input->bytes = member;
    if (member.size >= 6)
        RER_TRY(rer_bytes_read(&member, 0, 6, head, input->name, error));
    if (memcmp(head, "\x93NUMPY", 6) != 0)
        return rer_fail(error, RER_BAD_INPUT, "%s: this member of the zip file is no .npy array", input->name);
    return RER_OK;
}

/* What the array is; `data` where it does not lie in the input's bytes. */
static rer_status read_header(rer_array *array, rer_bytes *data, rer_input *input, rer_error *error)
{
    RER_TRY(rer_copy_text(&array->name, input->name, error));
    if (input->format == RER_ZIP)
        RER_TRY(enter_member(input, error));
    if (input->format == RER_HDF5)
        return rer_hdf5_open(array, data, input, error);
    return input->format == RER_IDX ? rer_idx_header(array, &input->bytes, error)
                                    : rer_npy_header(array, &input->bytes, error);
}

rer_status rer_input_array(rer_array *array, rer_input *input, rer_error *error)
{
    rer_array opened = {.fd = -1};
    rer_bytes data = RER_NO_BYTES;
    if (input->format == RER_TEXT)
        return rer_input_table(array, NULL, NULL, input, NULL, NULL, NULL, error);
    rer_status status = read_header(&opened, &data, input, error);
    if (status == RER_OK) {
        rer_array_take(&opened, input->format == RER_HDF5 ? &data : &input->bytes);
        *array = opened;
    } else {
        rer_array_close(&opened);
    }
    rer_bytes_close(&data);
    return status;
}

rer_status rer_array_open(rer_array *array, const char *path, rer_error *error)
{
    rer_input input = RER_NO_INPUT;
    rer_status status = rer_input_open(&input, path, error);
    RER_THEN(status, rer_input_array(array, &input, error));
    rer_input_close(&input);
    return status;
}
