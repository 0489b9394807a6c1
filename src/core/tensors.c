/* safetensors: u64 header length (little endian), JSON header
 *     {"__metadata__": {key: text}, name: {"dtype": "F64", "shape": [..], "data_offsets": [from, to]}},
 * then the data. Metadata values are texts; numbers are kept with 17 digits. */
#include "core/tensors.h"

#include "core/output.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER_MAX (100 << 20)

typedef struct tensor {
    const void *data; /* of the caller, when writing */
    int64_t bytes;
} tensor;

struct rer_tensors {
    json_t *header;
    tensor *list; /* in the order of the data */
    int64_t count, capacity, bytes;
    char *path; /* when reading */
    const unsigned char *data;
    unsigned char *owned; /* data, where it came from a file */
};

static const struct {
    rer_dtype dtype;
    const char *name;
    int64_t size;
} types[] = {{RER_F64, "F64", 8}, {RER_F32, "F32", 4}, {RER_I64, "I64", 8}, {RER_I32, "I32", 4}, {RER_U8, "U8", 1}};

static int type_index(rer_dtype dtype)
{
    for (int i = 0; i < (int)(sizeof types / sizeof *types); i++)
        if (types[i].dtype == dtype)
            return i;
    return -1;
}

static rer_status fail_memory(rer_error *error)
{
    return rer_fail(error, RER_SYSTEM, "out of memory: the model's header");
}

rer_status rer_tensors_make(rer_tensors **tensors, rer_error *error)
{
    rer_tensors *made = NULL;
    rer_status status = rer_allocate(&made, 1, sizeof *made, "the model's header", error);
    if (status != RER_OK)
        return status;
    made->header = json_pack("{s:{}}", "__metadata__");
    if (made->header == NULL) {
        free(made);
        return fail_memory(error);
    }
    *tensors = made;
    return RER_OK;
}

void rer_tensors_free(rer_tensors *tensors)
{
    if (tensors == NULL)
        return;
    json_decref(tensors->header);
    free(tensors->list);
    free(tensors->path);
    free(tensors->owned);
    free(tensors);
}

/* ---- writing ----------------------------------------------------------------------------- */

rer_status rer_tensors_add(rer_tensors *tensors, const char *name, rer_dtype dtype, int32_t rank, const int64_t *shape,
                           const void *data, rer_error *error)
{
    int type = type_index(dtype);
    int64_t bytes = types[type].size;
    json_t *dimensions = json_array();
    for (int32_t i = 0; i < rank; i++) {
        bytes *= shape[i];
        if (json_array_append_new(dimensions, json_integer(shape[i])) != 0) {
            json_decref(dimensions);
            return fail_memory(error);
        }
    }
    json_t *entry = json_pack("{s:s, s:o, s:[I, I]}", "dtype", types[type].name, "shape", dimensions, "data_offsets",
                              (json_int_t)tensors->bytes, (json_int_t)(tensors->bytes + bytes));
    rer_status status =
        rer_grow(&tensors->list, &tensors->capacity, tensors->count + 1, sizeof *tensors->list, "the model", error);
    if (status != RER_OK) {
        json_decref(entry);
        return status;
    }
    if (entry == NULL || json_object_set_new(tensors->header, name, entry) != 0)
        return fail_memory(error);
    tensors->list[tensors->count++] = (tensor){data, bytes};
    tensors->bytes += bytes;
    return RER_OK;
}

rer_status rer_tensors_set_text(rer_tensors *tensors, const char *key, const char *value, rer_error *error)
{
    json_t *metadata = json_object_get(tensors->header, "__metadata__");
    return json_object_set_new(metadata, key, json_string(value)) == 0 ? RER_OK : fail_memory(error);
}

rer_status rer_tensors_set_number(rer_tensors *tensors, const char *key, double value, rer_error *error)
{
    char text[40];
    (void)snprintf(text, sizeof text, "%.17g", value);
    return rer_tensors_set_text(tensors, key, text, error);
}

/* json_dumps forgets a failed allocation while it writes the name of a member; into a buffer that is
 * large enough nothing can fail. */
static char *dump_header(const json_t *header)
{
    size_t bytes = json_dumpb(header, NULL, 0, JSON_COMPACT);
    char *text = NULL;
    if (bytes == 0 || rer_allocate(&text, (int64_t)bytes + 1, 1, "the header", NULL) != RER_OK)
        return NULL;
    if (json_dumpb(header, text, bytes, JSON_COMPACT) == bytes)
        return text;
    free(text);
    return NULL;
}

/* Where the bytes of a file go. */
typedef rer_status byte_sink(void *to, const void *bytes, int64_t count, rer_error *error);

static rer_status emit(const rer_tensors *tensors, byte_sink *put, void *to, rer_error *error)
{
    unsigned char length[8];
    char *header = dump_header(tensors->header);
    if (header == NULL)
        return fail_memory(error);
    uint64_t used = strlen(header), padded = (used + 7) & ~(uint64_t)7; /* data starts aligned */
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)(padded >> (8 * i));
    rer_status status = put(to, length, 8, error);
    if (status == RER_OK)
        status = put(to, header, (int64_t)used, error);
    if (status == RER_OK)
        status = put(to, "       ", (int64_t)(padded - used), error);
    for (int64_t i = 0; status == RER_OK && i < tensors->count; i++)
        status = put(to, tensors->list[i].data, tensors->list[i].bytes, error);
    free(header);
    return status;
}

static rer_status put_in_file(void *to, const void *bytes, int64_t count, rer_error *error)
{
    return rer_output_write(to, bytes, count, error);
}

rer_status rer_tensors_write(const rer_tensors *tensors, const char *path, rer_error *error)
{
    rer_output output = {0};
    rer_status status = rer_output_open(&output, path, error);
    if (status == RER_OK)
        status = emit(tensors, put_in_file, &output, error);
    if (status == RER_OK)
        status = rer_output_commit(&output, error);
    rer_output_discard(&output);
    return status;
}

typedef struct packing {
    unsigned char *bytes;
    int64_t used, capacity;
} packing;

static rer_status put_in_memory(void *to, const void *bytes, int64_t count, rer_error *error)
{
    packing *packed = to;
    rer_status status = rer_grow(&packed->bytes, &packed->capacity, packed->used + count, 1, "packed arrays", error);
    if (status == RER_OK && count > 0)
        memcpy(packed->bytes + packed->used, bytes, (size_t)count);
    packed->used += status == RER_OK ? count : 0;
    return status;
}

rer_status rer_tensors_pack(const rer_tensors *tensors, void **bytes, int64_t *size, rer_error *error)
{
    packing packed = {0};
    rer_status status = emit(tensors, put_in_memory, &packed, error);
    if (status != RER_OK) {
        free(packed.bytes);
        return status;
    }
    *bytes = packed.bytes;
    *size = packed.used;
    return RER_OK;
}

/* ---- reading ----------------------------------------------------------------------------- */

static rer_status fail_file(const char *path, const char *what, rer_error *error)
{
    return rer_fail(error, RER_BAD_INPUT, "%s: %s; a model saved by --save-model is needed", path, what);
}

/* Reads exactly `bytes` bytes into fresh memory, one byte longer and ending in zero. */
static rer_status read_piece(int fd, int64_t bytes, unsigned char **out, const char *path, rer_error *error)
{
    unsigned char *memory = NULL;
    rer_status status = rer_allocate(&memory, bytes + 1, 1, "the model", error);
    for (int64_t done = 0; status == RER_OK && done < bytes;) {
        ssize_t got = read(fd, memory + done, (size_t)(bytes - done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            status = rer_fail_errno(error, "%s: reading", path);
        else if (got == 0)
            status = fail_file(path, "the file ends early", error);
        else
            done += got;
    }
    if (status != RER_OK) {
        free(memory);
        return status;
    }
    *out = memory;
    return RER_OK;
}

/* The header's length from the first bytes of `available` ones. */
static rer_status header_length(const unsigned char *start, int64_t available, int64_t *length, const char *path,
                                rer_error *error)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++)
        value |= (uint64_t)start[i] << (8 * i);
    if (value > HEADER_MAX || (int64_t)value > available - 8)
        return fail_file(path, "the header's length does not fit the file; this is no safetensors file", error);
    *length = (int64_t)value;
    return RER_OK;
}

static rer_status parse_header(rer_tensors *tensors, const void *text, int64_t length, rer_error *error)
{
    json_decref(tensors->header);
    tensors->header = json_loadb(text, (size_t)length, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(tensors->header))
        return fail_file(tensors->path, "the header is no JSON object; this is no safetensors file", error);
    return RER_OK;
}

static const char too_short[] = "the file is too short to be a safetensors file";

static rer_status read_file(rer_tensors *tensors, int fd, rer_error *error)
{
    const char *path = tensors->path;
    struct stat info;
    unsigned char *piece = NULL;
    int64_t length = 0;
    if (fstat(fd, &info) != 0)
        return rer_fail_errno(error, "%s", path);
    if (!S_ISREG(info.st_mode))
        return fail_file(path, "this is no regular file", error);
    if (info.st_size < 8)
        return fail_file(path, too_short, error);
    rer_status status = read_piece(fd, 8, &piece, path, error);
    if (status == RER_OK)
        status = header_length(piece, info.st_size, &length, path, error);
    free(piece);
    piece = NULL;
    if (status == RER_OK)
        status = read_piece(fd, length, &piece, path, error);
    if (status == RER_OK)
        status = parse_header(tensors, piece, length, error);
    free(piece);
    if (status != RER_OK)
        return status;
    tensors->bytes = (int64_t)info.st_size - 8 - length;
    status = read_piece(fd, tensors->bytes, &tensors->owned, path, error);
    tensors->data = tensors->owned;
    return status;
}

rer_status rer_tensors_read(rer_tensors **tensors, const char *path, rer_error *error)
{
    rer_tensors *made = NULL;
    rer_status status = rer_tensors_make(&made, error);
    if (made == NULL)
        return status;
    status = rer_copy_text(&made->path, path, error);
    if (status == RER_OK) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        status = fd < 0 ? rer_fail_errno(error, "%s", path) : read_file(made, fd, error);
        if (fd >= 0)
            (void)close(fd);
    }
    if (status != RER_OK) {
        rer_tensors_free(made);
        return status;
    }
    *tensors = made;
    return RER_OK;
}

rer_status rer_tensors_unpack(rer_tensors **tensors, const void *bytes, int64_t size, const char *name,
                              rer_error *error)
{
    rer_tensors *made = NULL;
    const unsigned char *start = bytes;
    int64_t length = 0;
    rer_status status = rer_tensors_make(&made, error);
    if (made == NULL)
        return status;
    status = rer_copy_text(&made->path, name, error);
    if (status == RER_OK && size < 8)
        status = fail_file(name, too_short, error);
    if (status == RER_OK)
        status = header_length(start, size, &length, name, error);
    if (status == RER_OK)
        status = parse_header(made, start + 8, length, error);
    if (status != RER_OK) {
        rer_tensors_free(made);
        return status;
    }
    made->bytes = size - 8 - length;
    made->data = start + 8 + length;
    *tensors = made;
    return RER_OK;
}

static rer_status fail_tensor(const rer_tensors *tensors, const char *name, const char *what, rer_error *error)
{
    return rer_fail(error, RER_BAD_INPUT, "%s: the array '%s' %s; this is no model of this version", tensors->path,
                    name, what);
}

rer_status rer_tensors_shape(const rer_tensors *tensors, const char *name, int32_t *rank, int64_t *shape,
                             rer_error *error)
{
    json_t *dimensions = json_object_get(json_object_get(tensors->header, name), "shape");
    size_t count = json_array_size(dimensions);
    if (!json_is_array(dimensions) || count > RER_TENSOR_RANK_MAX)
        return fail_tensor(tensors, name, "is missing or has no usable shape", error);
    for (size_t i = 0; i < count; i++) {
        json_t *value = json_array_get(dimensions, i);
        if (!json_is_integer(value) || json_integer_value(value) < 0)
            return fail_tensor(tensors, name, "has a size that is no number", error);
        shape[i] = json_integer_value(value);
    }
    *rank = (int32_t)count;
    return RER_OK;
}

/* Finds where an array's data is, after checking type, shape and place against the file. */
static rer_status locate(const rer_tensors *tensors, const char *name, int type, int32_t rank, const int64_t *shape,
                         int64_t *from, int64_t *bytes, rer_error *error)
{
    int32_t rank_there = 0;
    int64_t there[RER_TENSOR_RANK_MAX];
    rer_status status = rer_tensors_shape(tensors, name, &rank_there, there, error);
    if (status != RER_OK)
        return status;
    json_t *entry = json_object_get(tensors->header, name), *offsets = json_object_get(entry, "data_offsets");
    const char *dtype = json_string_value(json_object_get(entry, "dtype"));
    bool fits = rank_there == rank;
    *bytes = types[type].size;
    for (int32_t i = 0; fits && i < rank; i++)
        fits = there[i] == shape[i] && rer_product(*bytes, shape[i], bytes);
    if (!fits || dtype == NULL || strcmp(dtype, types[type].name) != 0)
        return fail_tensor(tensors, name, "has another type or shape than the rest of the file says", error);
    json_int_t begin = json_integer_value(json_array_get(offsets, 0)),
               end = json_integer_value(json_array_get(offsets, 1));
    if (json_array_size(offsets) != 2 || begin < 0 || end < begin || end > tensors->bytes || end - begin != *bytes)
        return fail_tensor(tensors, name, "lies outside the file", error);
    *from = begin;
    return RER_OK;
}

rer_status rer_tensors_copy(const rer_tensors *tensors, const char *name, rer_dtype dtype, int32_t rank,
                            const int64_t *shape, void *out, rer_error *error)
{
    void *copy = NULL;
    int64_t from = 0, bytes = 0;
    rer_status status = locate(tensors, name, type_index(dtype), rank, shape, &from, &bytes, error);
    if (status == RER_OK)
        status = rer_allocate(&copy, bytes, 1, name, error);
    if (status != RER_OK)
        return status;
    memcpy(copy, tensors->data + from, (size_t)bytes);
    for (int64_t i = 0; dtype == RER_F64 && i < bytes / 8; i++)
        if (!isfinite(((const double *)copy)[i])) {
            free(copy);
            return fail_tensor(tensors, name, "holds a value that is not finite", error);
        }
    *(void **)out = copy;
    return RER_OK;
}

bool rer_tensors_has(const rer_tensors *tensors, const char *name)
{
    return json_object_get(tensors->header, name) != NULL;
}

const char *rer_tensors_text(const rer_tensors *tensors, const char *key)
{
    return json_string_value(json_object_get(json_object_get(tensors->header, "__metadata__"), key));
}

rer_status rer_tensors_number(const rer_tensors *tensors, const char *key, double *value, rer_error *error)
{
    const char *text = rer_tensors_text(tensors, key);
    char *end = NULL;
    if (text == NULL)
        return rer_fail(error, RER_BAD_INPUT, "%s: the entry '%s' is missing; this is no model of this version",
                        tensors->path, key);
    double parsed = strtod(text, &end);
    if (end == text || *end != 0)
        return rer_fail(error, RER_BAD_INPUT, "%s: the entry '%s' is '%.40s' and no number", tensors->path, key, text);
    *value = parsed;
    return RER_OK;
}
