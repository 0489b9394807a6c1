/* safetensors: u64 header length (little endian), JSON header
 *     {"__metadata__": {key: text}, name: {"dtype": "F64", "shape": [..], "data_offsets": [from, to]}},
 * then the data. Metadata values are texts; numbers are kept with 17 digits. */
#include "core/tensors.h"

#include "core/output.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdarg.h>
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
    rer_error error;      /* the first failure */
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

static bool has_failed(const rer_tensors *tensors)
{
    return tensors == NULL || tensors->error.status != RER_OK;
}

rer_status rer_tensors_status(const rer_tensors *tensors, rer_error *error)
{
    if (tensors == NULL)
        return fail_memory(error);
    const rer_error *first = &tensors->error;
    return first->status == RER_OK ? RER_OK : rer_fail(error, first->status, "%s", first->message);
}

void rer_tensors_fail(rer_tensors *tensors, const char *format, ...)
{
    if (has_failed(tensors))
        return;
    char message[sizeof tensors->error.message];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(message, sizeof message, format, args);
    va_end(args);
    (void)rer_fail(&tensors->error, RER_BAD_INPUT, "%s: %s", tensors->path, message);
}

rer_tensors *rer_tensors_make(void)
{
    rer_tensors *made = NULL;
    if (rer_allocate(&made, 1, sizeof *made, "the model's header", NULL) != RER_OK)
        return NULL;
    made->header = json_pack("{s:{}}", "__metadata__");
    if (made->header == NULL)
        (void)fail_memory(&made->error);
    return made;
}

void rer_tensors_free(rer_tensors *tensors)
{
    if (tensors == NULL)
        return;
    json_decref(tensors->header);
    RER_FREE_ALL(tensors->list, tensors->path, tensors->owned, tensors);
}

/* ---- writing ----------------------------------------------------------------------------- */

static json_t *list_shape(int32_t rank, const int64_t *shape)
{
    json_t *dimensions = json_array();
    for (int32_t i = 0; i < rank; i++)
        if (json_array_append_new(dimensions, json_integer(shape[i])) != 0) {
            json_decref(dimensions);
            return NULL;
        }
    return dimensions;
}

void rer_tensors_add(rer_tensors *tensors, const char *name, rer_dtype dtype, int32_t rank, const int64_t *shape,
                     const void *data)
{
    if (has_failed(tensors))
        return;
    int type = type_index(dtype);
    int64_t bytes = types[type].size;
    for (int32_t i = 0; i < rank; i++)
        bytes *= shape[i];
    /* "o" takes the list over, and fails where it is NULL */
    json_t *entry = json_pack("{s:s, s:o, s:[I, I]}", "dtype", types[type].name, "shape", list_shape(rank, shape),
                              "data_offsets", (json_int_t)tensors->bytes, (json_int_t)(tensors->bytes + bytes));
    if (entry == NULL || json_object_set_new(tensors->header, name, entry) != 0) {
        (void)fail_memory(&tensors->error);
        return;
    }
    if (rer_grow(&tensors->list, &tensors->capacity, tensors->count + 1, sizeof *tensors->list, "the model",
                 &tensors->error) != RER_OK)
        return;
    tensors->list[tensors->count++] = (tensor){data, bytes};
    tensors->bytes += bytes;
}

void rer_tensors_set_text(rer_tensors *tensors, const char *key, const char *value)
{
    if (has_failed(tensors))
        return;
    json_t *metadata = json_object_get(tensors->header, "__metadata__");
    if (json_object_set_new(metadata, key, json_string(value)) != 0)
        (void)fail_memory(&tensors->error);
}

void rer_tensors_set_number(rer_tensors *tensors, const char *key, double value)
{
    char text[40];
    (void)snprintf(text, sizeof text, "%.17g", value);
    rer_tensors_set_text(tensors, key, text);
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
    RER_THEN(status, put(to, header, (int64_t)used, error));
    RER_THEN(status, put(to, "       ", (int64_t)(padded - used), error));
    for (int64_t i = 0; status == RER_OK && i < tensors->count; i++)
        status = put(to, tensors->list[i].data, tensors->list[i].bytes, error);
    free(header);
    return status;
}

static rer_status put_in_file(void *to, const void *bytes, int64_t count, rer_error *error)
{
    return rer_output_write(to, bytes, count, error);
}

rer_status rer_tensors_write(rer_output *output, const rer_tensors *tensors, const char *path, rer_error *error)
{
    RER_TRY(rer_tensors_status(tensors, error));
    RER_TRY(rer_output_open(output, path, error));
    return emit(tensors, put_in_file, output, error);
}

typedef struct packing {
    unsigned char *bytes;
    int64_t used, capacity;
} packing;

static rer_status put_in_memory(void *to, const void *bytes, int64_t count, rer_error *error)
{
    packing *packed = to;
    RER_TRY(rer_grow(&packed->bytes, &packed->capacity, packed->used + count, 1, "packed arrays", error));
    if (count > 0)
        memcpy(packed->bytes + packed->used, bytes, (size_t)count);
    packed->used += count;
    return RER_OK;
}

rer_status rer_tensors_pack(const rer_tensors *tensors, void **bytes, int64_t *size, rer_error *error)
{
    packing packed = {0};
    rer_status status = rer_tensors_status(tensors, error);
    RER_THEN(status, emit(tensors, put_in_memory, &packed, error));
    if (status != RER_OK) {
        free(packed.bytes);
        return status;
    }
    *bytes = packed.bytes;
    *size = packed.used;
    return RER_OK;
}

/* ---- opening ----------------------------------------------------------------------------- */

static void fail_file(rer_tensors *tensors, const char *what)
{
    rer_tensors_fail(tensors, "%s; a model saved by --save-model is needed", what);
}

/* Exactly `bytes` bytes in fresh memory, one byte longer and ending in zero. */
static unsigned char *read_piece(rer_tensors *tensors, int fd, int64_t bytes)
{
    unsigned char *memory = NULL;
    if (has_failed(tensors) || rer_allocate(&memory, bytes + 1, 1, "the model", &tensors->error) != RER_OK)
        return NULL;
    for (int64_t done = 0; !has_failed(tensors) && done < bytes;) {
        ssize_t got = read(fd, memory + done, (size_t)(bytes - done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            (void)rer_fail_errno(&tensors->error, "%s: reading", tensors->path);
        else if (got == 0)
            fail_file(tensors, "the file ends early");
        else
            done += got;
    }
    return memory;
}

/* The header's length from the first 8 of `available` bytes. */
static int64_t header_length(rer_tensors *tensors, const unsigned char *start, int64_t available)
{
    uint64_t value = 0;
    if (available < 8)
        fail_file(tensors, "the file is too short to be a safetensors file");
    for (int i = 0; !has_failed(tensors) && i < 8; i++)
        value |= (uint64_t)start[i] << (8 * i);
    if (value <= HEADER_MAX && (int64_t)value <= available - 8)
        return (int64_t)value;
    fail_file(tensors, "the header's length does not fit the file; this is no safetensors file");
    return 0;
}

static void parse_header(rer_tensors *tensors, const void *text, int64_t length)
{
    if (has_failed(tensors))
        return;
    json_decref(tensors->header);
    tensors->header = json_loadb(text, (size_t)length, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(tensors->header))
        fail_file(tensors, "the header is no JSON object; this is no safetensors file");
}

static void read_file(rer_tensors *tensors, int fd)
{
    struct stat info;
    if (fstat(fd, &info) != 0) {
        (void)rer_fail_errno(&tensors->error, "%s", tensors->path);
        return;
    }
    if (!S_ISREG(info.st_mode))
        fail_file(tensors, "this is no regular file");
    unsigned char *start = read_piece(tensors, fd, rer_min(8, info.st_size));
    int64_t length = header_length(tensors, start, info.st_size);
    unsigned char *header = read_piece(tensors, fd, length);
    parse_header(tensors, header, length);
    RER_FREE_ALL(start, header);
    tensors->bytes = (int64_t)info.st_size - 8 - length;
    tensors->data = tensors->owned = read_piece(tensors, fd, tensors->bytes);
}

/* Tensors with nothing in them but the name that messages begin with. */
static rer_tensors *make_named(const char *name)
{
    rer_tensors *made = rer_tensors_make();
    if (!has_failed(made))
        (void)rer_copy_text(&made->path, name, &made->error);
    return made;
}

rer_tensors *rer_tensors_read(const char *path)
{
    rer_tensors *made = make_named(path);
    if (has_failed(made))
        return made;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        (void)rer_fail_errno(&made->error, "%s", path);
        return made;
    }
    read_file(made, fd);
    (void)close(fd);
    return made;
}

rer_tensors *rer_tensors_unpack(const void *bytes, int64_t size, const char *name)
{
    const unsigned char *start = bytes;
    rer_tensors *made = make_named(name);
    if (has_failed(made))
        return made;
    int64_t length = header_length(made, start, size);
    parse_header(made, start + 8, length);
    made->bytes = size - 8 - length;
    made->data = start + 8 + length;
    return made;
}

/* ---- reading ----------------------------------------------------------------------------- */

static void fail_tensor(rer_tensors *tensors, const char *name, const char *what)
{
    rer_tensors_fail(tensors, "the array '%s' %s; this is no model of this version", name, what);
}

int32_t rer_tensors_shape(rer_tensors *tensors, const char *name, int64_t *shape)
{
    memset(shape, 0, RER_TENSOR_RANK_MAX * sizeof *shape);
    if (has_failed(tensors))
        return 0;
    json_t *dimensions = json_object_get(json_object_get(tensors->header, name), "shape");
    size_t count = json_array_size(dimensions);
    if (!json_is_array(dimensions) || count > RER_TENSOR_RANK_MAX) {
        fail_tensor(tensors, name, "is missing or has no usable shape");
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        json_t *value = json_array_get(dimensions, i);
        if (!json_is_integer(value) || json_integer_value(value) < 0) {
            fail_tensor(tensors, name, "has a size that is no number");
            return 0;
        }
        shape[i] = json_integer_value(value);
    }
    return (int32_t)count;
}

/* Where an array's data is, after checking type, shape and place against the file; NULL: it has failed. */
static const unsigned char *locate(rer_tensors *tensors, const char *name, int type, int32_t rank, const int64_t *shape,
                                   int64_t *bytes)
{
    int64_t there[RER_TENSOR_RANK_MAX];
    bool fits = rer_tensors_shape(tensors, name, there) == rank;
    if (has_failed(tensors))
        return NULL;
    json_t *entry = json_object_get(tensors->header, name), *offsets = json_object_get(entry, "data_offsets");
    const char *dtype = json_string_value(json_object_get(entry, "dtype"));
    *bytes = types[type].size;
    for (int32_t i = 0; fits && i < rank; i++)
        fits = there[i] == shape[i] && rer_product(*bytes, shape[i], bytes);
    if (!fits || dtype == NULL || strcmp(dtype, types[type].name) != 0) {
        fail_tensor(tensors, name, "has another type or shape than the rest of the file says");
        return NULL;
    }
    json_int_t begin = json_integer_value(json_array_get(offsets, 0)),
               end = json_integer_value(json_array_get(offsets, 1));
    if (json_array_size(offsets) != 2 || begin < 0 || end < begin || end > tensors->bytes || end - begin != *bytes) {
        fail_tensor(tensors, name, "lies outside the file");
        return NULL;
    }
    return tensors->data + begin;
}

void *rer_tensors_copy(rer_tensors *tensors, const char *name, rer_dtype dtype, int32_t rank, const int64_t *shape)
{
    void *copy = NULL;
    int64_t bytes = 0;
    const unsigned char *from = locate(tensors, name, type_index(dtype), rank, shape, &bytes);
    if (from == NULL || rer_allocate(&copy, bytes, 1, name, &tensors->error) != RER_OK)
        return NULL;
    memcpy(copy, from, (size_t)bytes);
    for (int64_t i = 0; dtype == RER_F64 && i < bytes / 8; i++)
        if (!isfinite(((const double *)copy)[i])) {
            free(copy);
            fail_tensor(tensors, name, "holds a value that is not finite");
            return NULL;
        }
    return copy;
}

bool rer_tensors_has(const rer_tensors *tensors, const char *name)
{
    return !has_failed(tensors) && json_object_get(tensors->header, name) != NULL;
}

const char *rer_tensors_text(const rer_tensors *tensors, const char *key)
{
    if (has_failed(tensors))
        return NULL;
    return json_string_value(json_object_get(json_object_get(tensors->header, "__metadata__"), key));
}

double rer_tensors_number(rer_tensors *tensors, const char *key)
{
    const char *text = rer_tensors_text(tensors, key);
    char *end = NULL;
    if (text == NULL) {
        rer_tensors_fail(tensors, "the entry '%s' is missing; this is no model of this version", key);
        return 0;
    }
    double parsed = strtod(text, &end);
    if (end != text && *end == 0)
        return parsed;
    rer_tensors_fail(tensors, "the entry '%s' is '%.40s' and no number", key, text);
    return 0;
}
