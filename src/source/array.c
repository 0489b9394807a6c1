/* Rows of an array as float, wherever they are: see array.h.
 *
 * C order: one read of count rows. Fortran order: one read of count items for each column, then a
 * transpose. Both go through the caller's scratch, so that nothing is allocated while rows stream
 * and several threads may read at once. */
#include "backend/device.h"
#include "source/formats.h"

#include <unistd.h>

#define HOST_IS_BIG (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)

void rer_array_close(rer_array *array)
{
    if (array->name == NULL)
        return; /* never opened: the descriptor is not ours */
    RER_FREE_ALL(array->name, array->owned);
    if (array->fd >= 0)
        (void)close(array->fd);
    *array = (rer_array){.fd = -1};
}

void rer_array_take(rer_array *array, rer_bytes *bytes)
{
    array->owned = bytes->owned;
    array->fd = bytes->fd;
    if (bytes->data != NULL)
        array->data = bytes->data + array->offset;
    else
        array->offset += bytes->offset;
    *bytes = RER_NO_BYTES;
}

rer_status rer_array_from_spool(rer_array *array, const rer_array *form, rer_spool *spool, const char *name,
                                rer_error *error)
{
    rer_bytes bytes = RER_NO_BYTES;
    rer_array made = *form;
    rer_status status = rer_copy_text(&made.name, name, error);
    RER_THEN(status, rer_spool_finish(spool, &bytes, error));
    if (status != RER_OK) {
        rer_array_close(&made);
        return status;
    }
    rer_array_take(&made, &bytes);
    *array = made;
    return RER_OK;
}

rer_array rer_float_rows(const float *x, int64_t N, int64_t D)
{
    return (rer_array){.dtype = RER_F32,
                       .item_size = sizeof(float),
                       .big_endian = HOST_IS_BIG,
                       .rank = 2,
                       .fd = -1,
                       .shape = {N, D},
                       .data = (const unsigned char *)x};
}

/* ---- shapes ------------------------------------------------------------------------------ */

const char *rer_dtype_name(rer_dtype dtype)
{
    static const char *const names[] = {"float16", "float32", "float64", "uint8", "uint16",     "uint32", "uint64",
                                        "int8",    "int16",   "int32",   "int64", "byte texts", "texts"};
    return names[dtype];
}

int32_t rer_dtype_size(rer_dtype dtype)
{
    static const int32_t sizes[] = {2, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 0, 0};
    return sizes[dtype];
}

const char *rer_shape_text(char *buffer, int32_t rank, const int64_t *shape)
{
    int used = snprintf(buffer, RER_SHAPE_TEXT, "(");
    for (int32_t i = 0; i < rank; i++)
        used +=
            snprintf(buffer + used, (size_t)(RER_SHAPE_TEXT - used), i == 0 ? "%lld" : ", %lld", (long long)shape[i]);
    (void)snprintf(buffer + used, (size_t)(RER_SHAPE_TEXT - used), rank == 1 ? ",)" : ")");
    return buffer;
}

int64_t rer_array_columns(const rer_array *array)
{
    int64_t columns = 1;
    for (int32_t i = 1; i < array->rank; i++)
        columns *= array->shape[i];
    return columns;
}

int64_t rer_array_row_bytes(const rer_array *array)
{
    return rer_array_columns(array) * array->item_size;
}

rer_status rer_array_check(const rer_array *array, int64_t available, rer_error *error)
{
    char shape[RER_SHAPE_TEXT];
    int64_t bytes = array->item_size;
    (void)rer_shape_text(shape, array->rank, array->shape);
    for (int32_t i = 0; i < array->rank; i++)
        if (array->shape[i] <= 0)
            return rer_fail(error, RER_BAD_INPUT, "%s: shape %s holds no data; rows and columns must be at least 1",
                            array->name, shape);
    for (int32_t i = 0; i < array->rank; i++)
        if (!rer_product(bytes, array->shape[i], &bytes))
            return rer_fail(error, RER_BAD_INPUT,
                            "%s: shape %s of %s is larger than any file can be: a damaged header?", array->name, shape,
                            rer_dtype_name(array->dtype));
    if (bytes > available)
        return rer_fail(error, RER_BAD_INPUT,
                        "%s: truncated: shape %s of %s needs %lld bytes but only %lld follow the header", array->name,
                        shape, rer_dtype_name(array->dtype), (long long)bytes, (long long)available);
    return RER_OK;
}

/* ---- conversion -------------------------------------------------------------------------- */

/* Items are loaded by memcpy: data in a file's memory need not be aligned. */
#define DEFINE_CONVERT(name, type)                                                                                     \
    static void name(const unsigned char *restrict in, int64_t count, float *restrict out)                             \
    {                                                                                                                  \
        _Pragma("omp simd") for (int64_t i = 0; i < count; i++)                                                        \
        {                                                                                                              \
            type item;                                                                                                 \
            memcpy(&item, in + i * (int64_t)sizeof item, sizeof item);                                                 \
            out[i] = (float)item;                                                                                      \
        }                                                                                                              \
    }
DEFINE_CONVERT(convert_f64, double)
DEFINE_CONVERT(convert_u8, uint8_t)
DEFINE_CONVERT(convert_u16, uint16_t)
DEFINE_CONVERT(convert_u32, uint32_t)
DEFINE_CONVERT(convert_u64, uint64_t)
DEFINE_CONVERT(convert_i8, int8_t)
DEFINE_CONVERT(convert_i16, int16_t)
DEFINE_CONVERT(convert_i32, int32_t)
DEFINE_CONVERT(convert_i64, int64_t)

static void convert_f16(const unsigned char *in, int64_t count, float *out)
{
    rer_cpu_kernels()->half_to_float(out, in, count);
}

static void convert_f32(const unsigned char *in, int64_t count, float *out)
{
    memcpy(out, in, (size_t)count * sizeof *out);
}

typedef void convert_function(const unsigned char *in, int64_t count, float *out);
static convert_function *const converters[] = {
    [RER_F16] = convert_f16, [RER_F32] = convert_f32, [RER_F64] = convert_f64, [RER_U8] = convert_u8,
    [RER_U16] = convert_u16, [RER_U32] = convert_u32, [RER_U64] = convert_u64, [RER_I8] = convert_i8,
    [RER_I16] = convert_i16, [RER_I32] = convert_i32, [RER_I64] = convert_i64, [RER_BYTES] = NULL,
    [RER_UNICODE] = NULL,
};

#define SWAP(type, swap)                                                                                               \
    for (int64_t i = 0; i < bytes; i += (int64_t)sizeof(type)) {                                                       \
        type item;                                                                                                     \
        memcpy(&item, data + i, sizeof item);                                                                          \
        item = swap(item);                                                                                             \
        memcpy(data + i, &item, sizeof item);                                                                          \
    }

static void swap_bytes(unsigned char *data, int64_t bytes, int32_t unit)
{
    if (unit == 2) {
        SWAP(uint16_t, __builtin_bswap16)
    } else if (unit == 4) {
        SWAP(uint32_t, __builtin_bswap32)
    } else if (unit == 8) {
        SWAP(uint64_t, __builtin_bswap64)
    }
}

/* Bytes that change places in the other byte order: an item, or one character of UCS-4. */
static int32_t swap_unit(const rer_array *array)
{
    if (array->big_endian == HOST_IS_BIG || array->dtype == RER_BYTES)
        return 1;
    return array->dtype == RER_UNICODE ? 4 : array->item_size;
}

/* ---- reading ----------------------------------------------------------------------------- */

static int64_t data_bytes(const rer_array *array)
{
    return array->shape[0] * rer_array_row_bytes(array); /* checked when the array was opened */
}

static rer_status say_fetched(const rer_array *array, bool done, const char *why, rer_error *error)
{
    return done ? RER_OK
                : rer_fail(error, RER_SYSTEM, "%s: cannot be read from card %d: %s", array->name, array->card, why);
}

static rer_status fetch(const rer_array *array, int64_t offset, int64_t bytes, void *out, rer_error *error)
{
    char why[RER_DEVICE_MESSAGE];
    bool done = array->plugin->fetch(out, array->card, array->on_card + offset, bytes, why);
    return say_fetched(array, done, why, error);
}

rer_status rer_array_fetch_rows(const rer_array *array, const int64_t *row, int64_t count, float *out, rer_error *error)
{
    char why[RER_DEVICE_MESSAGE];
    bool done = array->plugin->fetch_rows(out, array->card, (const float *)(const void *)array->on_card,
                                          array->shape[1], row, count, why);
    return say_fetched(array, done, why, error);
}

rer_status rer_array_read(const rer_array *array, int64_t offset, int64_t bytes, void *out, rer_error *error)
{
    if (array->on_card != NULL)
        return fetch(array, offset, bytes, out, error);
    rer_bytes all = {.data = array->data, .fd = array->fd, .offset = array->offset, .size = data_bytes(array)};
    return rer_bytes_read(&all, offset, bytes, out, array->name, error);
}

/* Items before column c (counted in C order) of a Fortran array, where axis 0 is the fastest. */
static int64_t fortran_offset(const rer_array *array, int64_t c)
{
    int64_t digits[RER_RANK_MAX] = {0}, index = 0;
    for (int32_t i = array->rank - 1; i >= 1; i--) {
        digits[i] = c % array->shape[i];
        c /= array->shape[i];
    }
    for (int32_t i = array->rank - 1; i >= 1; i--)
        index = index * array->shape[i] + digits[i];
    return index * array->shape[0];
}

/* Rows into `out` as stored but in native byte order: [count, columns], or [columns, count] for a
 * Fortran array. */
static rer_status read_native(const rer_array *array, int64_t first, int64_t count, void *out, rer_error *error)
{
    int64_t columns = rer_array_columns(array), row_bytes = rer_array_row_bytes(array), item = array->item_size;
    if (!array->fortran)
        RER_TRY(rer_array_read(array, first * row_bytes, count * row_bytes, out, error));
    for (int64_t c = 0; array->fortran && c < columns; c++)
        RER_TRY(rer_array_read(array, (fortran_offset(array, c) + first) * item, count * item,
                               (char *)out + c * count * item, error));
    swap_bytes(out, count * row_bytes, swap_unit(array));
    return RER_OK;
}

/* in [columns, count] of any numeric dtype -> out float [count, columns], in tiles that fit the cache */
static void convert_transposed(const rer_array *array, const unsigned char *in, int64_t count, float *out)
{
    enum { TILE = 64 };
    float tile[TILE];
    int64_t columns = rer_array_columns(array), item = array->item_size;
    for (int64_t r = 0; r < count; r += TILE) {
        int64_t rows = rer_min(TILE, count - r);
        for (int64_t c = 0; c < columns; c++) {
            converters[array->dtype](in + (c * count + r) * item, rows, tile);
            for (int64_t i = 0; i < rows; i++)
                out[(r + i) * columns + c] = tile[i];
        }
    }
}

/* A reader's bug rather than the user's, but reading outside of the data must never happen. */
static rer_status check_range(const rer_array *array, int64_t first, int64_t count, rer_error *error)
{
    if (first >= 0 && count >= 0 && first <= array->shape[0] - count)
        return RER_OK;
    return rer_fail(error, RER_BAD_USAGE, "%s: rows %lld to %lld are wanted of %lld", array->name, (long long)first,
                    (long long)first + (long long)count, (long long)array->shape[0]);
}

rer_status rer_array_rows(const rer_array *array, int64_t first, int64_t count, float *out, void *scratch,
                          rer_error *error)
{
    RER_TRY(check_range(array, first, count, error));
    convert_function *convert = converters[array->dtype];
    if (convert == NULL)
        return rer_fail(error, RER_BAD_INPUT, "%s: holds %s where numbers are needed", array->name,
                        rer_dtype_name(array->dtype));
    int64_t items = count * rer_array_columns(array);
    bool as_stored = !array->fortran && swap_unit(array) == 1;
    if (as_stored && array->data != NULL) {
        convert(array->data + first * rer_array_row_bytes(array), items, out);
        return RER_OK;
    }
    if (!array->fortran && array->dtype == RER_F32)
        return read_native(array, first, count, out, error); /* no conversion, so no detour */
    RER_TRY(read_native(array, first, count, scratch, error));
    if (array->fortran)
        convert_transposed(array, scratch, count, out);
    else
        convert(scratch, items, out);
    return RER_OK;
}

rer_status rer_array_raw_rows(const rer_array *array, int64_t first, int64_t count, void *out, void *scratch,
                              rer_error *error)
{
    RER_TRY(check_range(array, first, count, error));
    if (!array->fortran)
        return read_native(array, first, count, out, error);
    RER_TRY(read_native(array, first, count, scratch, error));
    int64_t columns = rer_array_columns(array), item = array->item_size;
    for (int64_t r = 0; r < count; r++)
        for (int64_t c = 0; c < columns; c++)
            memcpy((char *)out + (r * columns + c) * item, (char *)scratch + (c * count + r) * item, (size_t)item);
    return RER_OK;
}
