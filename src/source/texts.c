/* Texts: a builder, and one text a row of an array of texts or integers. */
#include "source/texts.h"
#include "source/formats.h"

#define BLOCK 4096 /* rows */

void rer_texts_free(rer_texts *texts)
{
    RER_FREE_ALL(texts->offset, texts->bytes);
    *texts = (rer_texts){0};
}

rer_status rer_texts_add(rer_texts_builder *builder, const char *text, int64_t length, rer_error *error)
{
    rer_texts *texts = &builder->texts;
    RER_TRY(rer_grow(&texts->offset, &builder->capacity, texts->count + 1, sizeof *texts->offset, "the places of texts",
                     error));
    RER_TRY(rer_grow(&texts->bytes, &builder->bytes_capacity, builder->used + length + 1, 1, "texts", error));
    texts->offset[texts->count++] = builder->used;
    if (length > 0)
        memcpy(texts->bytes + builder->used, text, (size_t)length);
    texts->bytes[builder->used + length] = 0;
    builder->used += length + 1;
    return RER_OK;
}

rer_status rer_texts_add_checked(rer_texts_builder *builder, const char *text, int64_t length, const char *name,
                                 const char *unit, int64_t place, rer_error *error)
{
    char quoted[80];
    const char *base = strcmp(unit, "row") == 0 ? " (from 0)" : ""; /* lines count from 1, as in editors */
    if (length > 0 && memchr(text, 0, (size_t)length) != NULL)
        return rer_fail(error, RER_BAD_INPUT, "%s: %s %lld%s: '%s' has a zero byte within a text", name, unit,
                        (long long)place, base, rer_quote(quoted, sizeof quoted, text, length));
    if (!rer_is_utf8(text, length))
        return rer_fail(error, RER_BAD_INPUT, "%s: %s %lld%s: '%s' is not valid UTF-8; save the file as UTF-8", name,
                        unit, (long long)place, base, rer_quote(quoted, sizeof quoted, text, length));
    return rer_texts_add(builder, text, length, error);
}

rer_status rer_texts_copy(rer_texts *texts, const char *const *from, int64_t count, const char *name, rer_error *error)
{
    rer_texts_builder builder = {0};
    rer_status status = RER_OK;
    for (int64_t i = 0; status == RER_OK && i < count; i++)
        status = rer_texts_add_checked(&builder, from[i], (int64_t)strlen(from[i]), name, "row", i, error);
    if (status == RER_OK)
        *texts = builder.texts;
    else
        rer_texts_free(&builder.texts);
    return status;
}

bool rer_text_is_word(const char *text)
{
    const char *at = text;
    while ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || *at == '_' || *at == '-' || (*at & 0x80) != 0)
        at++;
    return at > text && *at == 0;
}

/* ---- arrays ------------------------------------------------------------------------------ */

rer_status rer_array_check_column(const rer_array *array, const char *what, rer_error *error)
{
    char shape[RER_SHAPE_TEXT];
    if (rer_array_columns(array) == 1)
        return RER_OK;
    return rer_fail(error, RER_BAD_INPUT, "%s: shape %s is not one %s a row; give [N] or [N, 1]", array->name,
                    rer_shape_text(shape, array->rank, array->shape), what);
}

int64_t rer_integer_text(char *buffer, int64_t value, bool is_unsigned)
{
    return is_unsigned ? snprintf(buffer, RER_INTEGER_TEXT, "%llu", (unsigned long long)value)
                       : snprintf(buffer, RER_INTEGER_TEXT, "%lld", (long long)value);
}

#define WIDEN(type)                                                                                                    \
    for (int64_t i = 0; i < count; i++) {                                                                              \
        type item;                                                                                                     \
        memcpy(&item, (const char *)in + i * (int64_t)sizeof item, sizeof item);                                       \
        out[i] = (int64_t)item;                                                                                        \
    }

static void widen(rer_dtype dtype, const void *in, int64_t count, int64_t *out)
{
    switch (dtype) {
    case RER_U8:
        WIDEN(uint8_t) break;
    case RER_U16:
        WIDEN(uint16_t) break;
    case RER_U32:
        WIDEN(uint32_t) break;
    case RER_U64:
        WIDEN(uint64_t) break;
    case RER_I8:
        WIDEN(int8_t) break;
    case RER_I16:
        WIDEN(int16_t) break;
    case RER_I32:
        WIDEN(int32_t) break;
    default:
        WIDEN(int64_t) break;
    }
}

static rer_status whole_number(const rer_array *array, int64_t row, double value, int64_t *out, bool *missing,
                               rer_error *error)
{
    *missing = isnan(value);
    if (!*missing && (value != trunc(value) || fabs(value) >= 0x1p63))
        return rer_fail(error, RER_BAD_INPUT,
                        "%s: row %lld (from 0): %.17g is not a whole number of 64 bits; labels "
                        "are integers or texts",
                        array->name, (long long)row, value);
    *out = *missing ? 0 : (int64_t)value;
    return RER_OK;
}

rer_status rer_array_integers(const rer_array *array, int64_t first, int64_t count, int64_t *out, bool *missing,
                              void *scratch, rer_error *error)
{
    rer_dtype dtype = array->dtype;
    if (dtype == RER_F16 || dtype == RER_F32) {
        float *values = (float *)scratch + count; /* behind the place for the rows as stored */
        RER_TRY(rer_array_rows(array, first, count, values, scratch, error));
        for (int64_t i = 0; i < count; i++)
            RER_TRY(whole_number(array, first + i, (double)values[i], &out[i], &missing[i], error));
        return RER_OK;
    }
    RER_TRY(rer_array_raw_rows(array, first, count, out, scratch, error));
    memcpy(scratch, out, (size_t)(count * array->item_size));
    memset(missing, 0, (size_t)count * sizeof *missing);
    if (dtype != RER_F64) {
        widen(dtype, scratch, count, out);
        return RER_OK;
    }
    for (int64_t i = 0; i < count; i++)
        RER_TRY(whole_number(array, first + i, ((double *)scratch)[i], &out[i], &missing[i], error));
    return RER_OK;
}

static rer_status integers_to_texts(rer_texts_builder *builder, const rer_array *array, rer_error *error)
{
    char text[RER_INTEGER_TEXT];
    int64_t *values = NULL; /* [2, BLOCK]: values, scratch */
    bool missing[BLOCK];
    rer_status status = rer_allocate(&values, 2 * BLOCK, sizeof *values, "a block of integers", error);
    for (int64_t first = 0; first < array->shape[0] && status == RER_OK; first += BLOCK) {
        int64_t count = rer_min(BLOCK, array->shape[0] - first);
        status = rer_array_integers(array, first, count, values, missing, values + BLOCK, error);
        for (int64_t i = 0; i < count && status == RER_OK; i++) {
            int64_t length = missing[i] ? 0 : rer_integer_text(text, values[i], array->dtype == RER_U64);
            status = rer_texts_add(builder, text, length, error);
        }
    }
    free(values);
    return status;
}

/* UCS-4 [length], checked -> UTF-8; `out` holds 4 bytes a character. Returns the bytes used. */
static int64_t ucs4_to_utf8(const uint32_t *in, int64_t length, char *out)
{
    unsigned char *at = (unsigned char *)out;
    for (int64_t i = 0; i < length; i++) {
        uint32_t c = in[i];
        if (c < 0x80) {
            *at++ = (unsigned char)c;
        } else if (c < 0x800) {
            *at++ = (unsigned char)(0xC0 | c >> 6);
            *at++ = (unsigned char)(0x80 | (c & 0x3F));
        } else if (c < 0x10000) {
            *at++ = (unsigned char)(0xE0 | c >> 12);
            *at++ = (unsigned char)(0x80 | (c >> 6 & 0x3F));
            *at++ = (unsigned char)(0x80 | (c & 0x3F));
        } else {
            *at++ = (unsigned char)(0xF0 | c >> 18);
            *at++ = (unsigned char)(0x80 | (c >> 12 & 0x3F));
            *at++ = (unsigned char)(0x80 | (c >> 6 & 0x3F));
            *at++ = (unsigned char)(0x80 | (c & 0x3F));
        }
    }
    return (char *)at - out;
}

/* One fixed-width item, without the zeros behind it. */
static rer_status add_item(rer_texts_builder *builder, const rer_array *array, int64_t row, const void *item,
                           char *utf8, rer_error *error)
{
    int64_t length = array->item_size;
    if (array->dtype == RER_BYTES) {
        const char *text = item;
        while (length > 0 && text[length - 1] == 0)
            length--;
        return rer_texts_add_checked(builder, text, length, array->name, "row", row, error);
    }
    const uint32_t *text = item;
    length /= 4;
    while (length > 0 && text[length - 1] == 0)
        length--;
    for (int64_t i = 0; i < length; i++)
        if (text[i] > 0x10FFFF || (text[i] >= 0xD800 && text[i] <= 0xDFFF))
            return rer_fail(error, RER_BAD_INPUT,
                            "%s: row %lld (from 0): character %lld is U+%04X, which is not "
                            "Unicode",
                            array->name, (long long)row, (long long)i, (unsigned)text[i]);
    length = ucs4_to_utf8(text, length, utf8);
    return rer_texts_add_checked(builder, utf8, length, array->name, "row", row, error);
}

static rer_status items_to_texts(rer_texts_builder *builder, const rer_array *array, rer_error *error)
{
    char *block = NULL; /* rows as stored and scratch: [2, rows, item]; then one item as UTF-8 */
    int64_t item = array->item_size, bytes = 0;
    int64_t rows = rer_min(array->shape[0], rer_max(1, (1 << 20) / item));
    if (!rer_product(rows, item, &bytes))
        return rer_fail(error, RER_BAD_INPUT, "%s: texts of %lld bytes are too long", array->name, (long long)item);
    rer_status status = rer_allocate(&block, 2 * bytes + item, 1, "a block of texts", error);
    for (int64_t first = 0; first < array->shape[0] && status == RER_OK; first += rows) {
        int64_t count = rer_min(rows, array->shape[0] - first);
        status = rer_array_raw_rows(array, first, count, block, block + bytes, error);
        for (int64_t i = 0; i < count && status == RER_OK; i++)
            status = add_item(builder, array, first + i, block + i * item, block + 2 * bytes, error);
    }
    free(block);
    return status;
}

rer_status rer_texts_from_array(rer_texts *texts, const rer_array *array, rer_error *error)
{
    rer_texts_builder builder = {0};
    bool is_text = array->dtype == RER_BYTES || array->dtype == RER_UNICODE;
    rer_status status = rer_array_check_column(array, "text or number", error);
    RER_THEN(status, is_text ? items_to_texts(&builder, array, error) : integers_to_texts(&builder, array, error));
    if (status != RER_OK) {
        rer_texts_free(&builder.texts);
        return status;
    }
    *texts = builder.texts;
    return RER_OK;
}
