/* .npy, version 1 to 3: magic, version, length of the header, and the header, a Python literal
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
 * in any order of the keys, then the data. */
#include "source/formats.h"

#define HEADER_MAX (1 << 20) /* numpy itself stays far below; structured types are refused anyway */
#define TYPE_MAX 32

/* The header while it is read; `at` stops at `end`, where a zero stands. */
typedef struct header {
    const char *at, *end;
    const char *name;
    char descr[TYPE_MAX];
    bool has_descr, has_order, has_shape;
} header;

static rer_status damaged(const header *h, const char *what, rer_error *error)
{
    char quoted[64];
    return rer_fail(error, RER_BAD_INPUT, "%s: damaged .npy header: %s at '%s'", h->name, what,
                    rer_quote(quoted, sizeof quoted, h->at, h->end - h->at));
}

static void skip_spaces(header *h)
{
    while (h->at < h->end && (*h->at == ' ' || *h->at == '\n' || *h->at == '\t' || *h->at == '\r'))
        h->at++;
}

static bool take(header *h, char wanted)
{
    skip_spaces(h);
    if (h->at >= h->end || *h->at != wanted)
        return false;
    h->at++;
    return true;
}

/* A quoted text without escapes into `out` [TYPE_MAX]. */
static bool take_text(header *h, char *out)
{
    skip_spaces(h);
    char quote = *h->at;
    if (quote != '\'' && quote != '"')
        return false;
    const char *close = memchr(h->at + 1, quote, (size_t)(h->end - h->at - 1));
    if (close == NULL || close - h->at - 1 >= TYPE_MAX)
        return false;
    memcpy(out, h->at + 1, (size_t)(close - h->at - 1));
    out[close - h->at - 1] = 0;
    h->at = close + 1;
    return true;
}

static bool take_word(header *h, const char *word)
{
    skip_spaces(h);
    size_t length = strlen(word);
    if ((size_t)(h->end - h->at) < length || memcmp(h->at, word, length) != 0)
        return false;
    h->at += length;
    return true;
}

static rer_status take_number(header *h, int64_t *out, rer_error *error)
{
    int64_t value = 0;
    const char *start = h->at;
    for (; *h->at >= '0' && *h->at <= '9'; h->at++)
        if (!rer_product(value, 10, &value) || __builtin_add_overflow(value, *h->at - '0', &value)) {
            h->at = start;
            return damaged(h, "a size that overflows", error);
        }
    if (h->at == start)
        return damaged(h, "a size is wanted", error);
    (void)(*h->at == 'L' && h->at++); /* as Python 2 wrote it */
    *out = value;
    return RER_OK;
}

static rer_status take_shape(header *h, rer_array *array, rer_error *error)
{
    array->rank = 0;
    if (!take(h, '('))
        return damaged(h, "a shape is wanted", error);
    while (!take(h, ')')) {
        if (array->rank == RER_RANK_MAX)
            return rer_fail(error, RER_BAD_INPUT,
                            "%s: the array has more than %d axes; give features as [N, D] or "
                            "pictures as [N, H, W] or [N, H, W, channels]",
                            h->name, RER_RANK_MAX);
        RER_TRY(take_number(h, &array->shape[array->rank++], error));
        if (!take(h, ',') && (skip_spaces(h), *h->at != ')'))
            return damaged(h, "a comma or ) is wanted", error);
    }
    if (array->rank == 0)
        return rer_fail(error, RER_BAD_INPUT, "%s: shape () is a single value; give an array with one row a sample",
                        h->name);
    return RER_OK;
}

static rer_status take_entry(header *h, rer_array *array, rer_error *error)
{
    char key[TYPE_MAX];
    if (!take_text(h, key) || !take(h, ':'))
        return damaged(h, "a key is wanted", error);
    if (strcmp(key, "descr") == 0) {
        skip_spaces(h);
        if (*h->at == '[' || *h->at == '(')
            return rer_fail(error, RER_BAD_INPUT, "%s: structured dtype; save one plain array of numbers instead",
                            h->name);
        h->has_descr = take_text(h, h->descr);
        return h->has_descr ? RER_OK : damaged(h, "a dtype is wanted", error);
    }
    if (strcmp(key, "fortran_order") == 0) {
        array->fortran = take_word(h, "True");
        h->has_order = array->fortran || take_word(h, "False");
        return h->has_order ? RER_OK : damaged(h, "True or False is wanted", error);
    }
    if (strcmp(key, "shape") == 0) {
        h->has_shape = true;
        return take_shape(h, array, error);
    }
    return damaged(h, "an unknown key", error);
}

/* Bytes of an item: a decimal number that is all of `text`; 0 where it is not. */
static int64_t type_size(const char *text)
{
    int64_t size = 0;
    for (; *text >= '0' && *text <= '9' && size < INT32_MAX; text++)
        size = 10 * size + (*text - '0');
    return *text == 0 && size < INT32_MAX / 4 ? size : 0;
}

static bool number_type(char kind, int64_t size, rer_dtype *dtype)
{
    static const struct {
        char kind;
        int8_t size;
        rer_dtype dtype;
    } types[] = {
        {'f', 2, RER_F16}, {'f', 4, RER_F32}, {'f', 8, RER_F64}, {'u', 1, RER_U8},
        {'u', 2, RER_U16}, {'u', 4, RER_U32}, {'u', 8, RER_U64}, {'i', 1, RER_I8},
        {'i', 2, RER_I16}, {'i', 4, RER_I32}, {'i', 8, RER_I64}, {'b', 1, RER_U8}, /* bool */
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].kind == kind && types[i].size == size) {
            *dtype = types[i].dtype;
            return true;
        }
    return false;
}

/* "<f4" -> dtype, item size, byte order */
static rer_status parse_descr(const header *h, rer_array *array, rer_error *error)
{
    const char *descr = h->descr;
    array->big_endian = descr[0] == '>';
    if (descr[0] != 0 && strchr("<>|=", descr[0]) != NULL)
        descr++;
    char kind = descr[0];
    int64_t size = kind != 0 ? type_size(descr + 1) : 0;
    if (kind == 'O')
        return rer_fail(error, RER_BAD_INPUT,
                        "%s: dtype object (|O) holds Python objects, which are not read; save "
                        "y.astype(str) or X.astype('float32') instead",
                        h->name);
    if (kind == 'V')
        return rer_fail(error, RER_BAD_INPUT,
                        "%s: structured or void dtype '%s'; save one plain array of numbers "
                        "instead",
                        h->name, RER_QUOTED(h->descr));
    if ((kind == 'S' || kind == 'a' || kind == 'U') && size > 0) {
        array->dtype = kind == 'U' ? RER_UNICODE : RER_BYTES;
        array->item_size = (int32_t)(kind == 'U' ? 4 * size : size);
        return RER_OK;
    }
    if (!number_type(kind, size, &array->dtype))
        return rer_fail(error, RER_BAD_INPUT,
                        "%s: dtype '%s' is not read; use float16, float32, float64, an integer, "
                        "bool or text dtype",
                        h->name, RER_QUOTED(h->descr));
    array->item_size = (int32_t)size;
    return RER_OK;
}

static rer_status parse_header(rer_array *array, const char *text, int64_t length, rer_error *error)
{
    header h = {.at = text, .end = text + length, .name = array->name};
    if (!take(&h, '{'))
        return damaged(&h, "{ is wanted", error);
    while (!take(&h, '}')) {
        RER_TRY(take_entry(&h, array, error));
        if (!take(&h, ',') && (skip_spaces(&h), *h.at != '}'))
            return damaged(&h, "a comma or } is wanted", error);
    }
    if (!h.has_descr || !h.has_order || !h.has_shape)
        return rer_fail(error, RER_BAD_INPUT, "%s: damaged .npy header: '%s' is missing", h.name,
                        !h.has_descr   ? "descr"
                        : !h.has_order ? "fortran_order"
                                       : "shape");
    return parse_descr(&h, array, error);
}

rer_status rer_npy_header(rer_array *array, const rer_bytes *bytes, rer_error *error)
{
    unsigned char head[12] = {0};
    char *text = NULL;
    int64_t length = 0;
    rer_status status = rer_bytes_read(bytes, 0, 10, head, array->name, error);
    if (status == RER_OK && (head[6] < 1 || head[6] > 3))
        status = rer_fail(error, RER_BAD_INPUT, "%s: .npy version %d is unknown; it must be 1, 2 or 3", array->name,
                          head[6]);
    if (status == RER_OK && head[6] > 1)
        status = rer_bytes_read(bytes, 0, 12, head, array->name, error);
    if (status != RER_OK)
        return status;
    int64_t start = head[6] == 1 ? 10 : 12;
    length = head[8] | head[9] << 8;
    if (head[6] > 1)
        length |= (int64_t)head[10] << 16 | (int64_t)head[11] << 24;
    if (length > HEADER_MAX || length > bytes->size - start)
        return rer_fail(error, RER_BAD_INPUT, "%s: truncated or damaged: a header of %lld bytes in a file of %lld",
                        array->name, (long long)length, (long long)bytes->size);
    status = rer_allocate(&text, length + 1, 1, "a .npy header", error);
    RER_THEN(status, rer_bytes_read(bytes, start, length, text, array->name, error));
    RER_THEN(status, parse_header(array, text, length, error));
    array->offset = start + length;
    RER_THEN(status, rer_array_check(array, bytes->size - array->offset, error));
    free(text);
    return status;
}
