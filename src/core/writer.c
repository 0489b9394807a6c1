/* Buffered text for files, with the escaping that each format needs. */
#include "core/writer.h"

#include <stdarg.h>
#include <zlib.h>

void rer_writer_start(rer_writer *writer, rer_output *output, rer_error *error)
{
    writer->output = output;
    writer->text = NULL;
    writer->length = writer->capacity = 0;
    writer->error = error;
    writer->status = RER_OK;
    writer->in_page = writer->in_line = writer->spreadsheet_safe = false;
    writer->put = 0;
    writer->crc32 = 0;
    writer->used = 0;
}

bool rer_writer_ok(rer_writer *writer, rer_status status)
{
    if (writer->status == RER_OK)
        writer->status = status;
    return writer->status == RER_OK;
}

static rer_status append(rer_writer *writer, const char *bytes, int64_t count)
{
    int64_t needed = writer->length + count + 1;
    RER_TRY(rer_grow(&writer->text, &writer->capacity, needed, 1, "a text", writer->error));
    memcpy(writer->text + writer->length, bytes, (size_t)count);
    writer->length += count;
    writer->text[writer->length] = 0;
    return RER_OK;
}

static void pass_on(rer_writer *writer, const char *bytes, int64_t count)
{
    if (writer->status == RER_OK && writer->output == NULL)
        writer->status = append(writer, bytes, count);
    else if (writer->status == RER_OK)
        writer->status = rer_output_write(writer->output, bytes, count, writer->error);
    writer->put += count;
}

static void flush(rer_writer *writer)
{
    pass_on(writer, writer->buffer, writer->used);
    writer->crc32 = (uint32_t)crc32(writer->crc32, (const unsigned char *)writer->buffer, (unsigned)writer->used);
    writer->used = 0;
}

rer_status rer_writer_end_memory(rer_writer *writer, char **text)
{
    flush(writer);
    if (writer->status == RER_OK)
        *text = writer->text;
    else
        free(writer->text);
    return writer->status;
}

rer_status rer_writer_end(rer_writer *writer)
{
    flush(writer);
    return writer->status;
}

/* Where the next `count` bytes go; they must be fewer than the buffer holds. */
static char *reserve(rer_writer *writer, int64_t count)
{
    if (writer->used + count > (int64_t)sizeof writer->buffer)
        flush(writer);
    return writer->buffer + writer->used;
}

void rer_put_bytes(rer_writer *writer, const char *bytes, int64_t count)
{
    while (count > 0) {
        int64_t part = rer_min(count, (int64_t)sizeof writer->buffer);
        memcpy(reserve(writer, part), bytes, (size_t)part);
        writer->used += part;
        bytes += part;
        count -= part;
    }
}

void rer_put_written(rer_writer *writer, const rer_writer *from, const char *text)
{
    flush(writer);
    pass_on(writer, text, from->put);
    writer->crc32 = (uint32_t)crc32_combine(writer->crc32, from->crc32, from->put);
}

void rer_put(rer_writer *writer, const char *text)
{
    rer_put_bytes(writer, text, (int64_t)strlen(text));
}

void rer_put_texts(rer_writer *writer, const char *const *texts)
{
    for (; *texts != NULL; texts++)
        rer_put(writer, *texts);
}

void rer_put_integer(rer_writer *writer, int64_t value)
{
    char reversed[24];
    int n = 0;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        reversed[n++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (value < 0)
        reversed[n++] = '-';
    char *out = reserve(writer, n);
    writer->used += n;
    while (n > 0)
        *out++ = reversed[--n];
}

void rer_put_number(rer_writer *writer, double value)
{
    if (isnan(value))
        return;
    char *out = reserve(writer, RER_NUMBER_MAX);
    writer->used += rer_format_number(out, (float)value);
}

void rer_put_format(rer_writer *writer, const char *format, ...)
{
    char text[128];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    rer_put_bytes(writer, text, rer_min(rer_max(length, 0), (int64_t)sizeof text - 1));
}

void rer_put_count(rer_writer *writer, int64_t value)
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%lld", (long long)value);
    for (int i = 0; i < length; i++) {
        rer_put_bytes(writer, digits + i, 1);
        if ((length - i) % 3 == 1 && i < length - 1 && digits[i] != '-')
            rer_put(writer, ",");
    }
}

void rer_put_percent(rer_writer *writer, double share)
{
    if (!isfinite(share))
        rer_put(writer, "–");
    else if (share > .9995 && share < 1)
        rer_put(writer, "&gt; 99.9 %");
    else
        rer_put_format(writer, share < 0.0995 ? "%.2f %%" : "%.1f %%", 100 * share);
}

void rer_put_decimal(rer_writer *writer, double value)
{
    if (!isfinite(value))
        rer_put(writer, "–");
    else
        rer_put_format(writer, fabs(value) < 1000 ? "%.3f" : "%.4g", value);
}

/* What stands for the character of `length` bytes (0: malformed), or NULL: itself. */
static const char *html_entity(const char *at, int length)
{
    static const char replacement[] = "&#xFFFD;";
    unsigned char byte = (unsigned char)*at;
    switch (byte) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    case '\t':
    case '\n':
        return NULL;
    case 0xC2: /* U+0080 to U+009F */
        return length == 2 && (unsigned char)at[1] < 0xA0 ? replacement : NULL;
    case 0xEF: /* U+FFFE and U+FFFF */
        return length == 3 && (unsigned char)at[1] == 0xBF && (unsigned char)at[2] >= 0xBE ? replacement : NULL;
    default:
        return length == 0 || byte < 0x20 || byte == 0x7F ? replacement : NULL;
    }
}

void rer_put_html(rer_writer *writer, const char *text)
{
    const char *start = text;
    if (text == NULL)
        return;
    for (const char *end = text + strlen(text); text < end;) {
        int length = rer_utf8_length(text, end - text);
        const char *entity = html_entity(text, length);
        if (length == 0 && entity == NULL)
            entity = "&#xFFFD;"; /* a lead byte alone */
        if (entity != NULL) {
            rer_put_bytes(writer, start, text - start);
            rer_put(writer, entity);
            start = text + rer_max(length, 1);
        }
        text += rer_max(length, 1);
    }
    rer_put_bytes(writer, start, text - start);
}

void rer_put_base64(rer_writer *writer, const unsigned char *bytes, int64_t count)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (int64_t i = 0; i < count; i += 3) {
        unsigned group = (unsigned)bytes[i] << 16;
        group |= i + 1 < count ? (unsigned)bytes[i + 1] << 8 : 0;
        group |= i + 2 < count ? (unsigned)bytes[i + 2] : 0;
        char out[4] = {letters[group >> 18], letters[group >> 12 & 63], i + 1 < count ? letters[group >> 6 & 63] : '=',
                       i + 2 < count ? letters[group & 63] : '='};
        rer_put_bytes(writer, out, 4);
    }
}

void rer_put_npy_header(rer_writer *writer, char kind, int64_t size, int32_t rank, const int64_t *shape)
{
    const char order = size == 1 || kind == 'S' ? '|' : __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? '>' : '<';
    char descr[32];
    (void)snprintf(descr, sizeof descr, "%c%c%lld", order, kind, (long long)(kind == 'U' ? size / 4 : size));
    flush(writer);
    if (writer->status == RER_OK)
        writer->status = rer_output_npy_header(writer->output, descr, false, rank, shape, writer->error);
}

/* ---- cells of a .csv -------------------------------------------------------------------------- */

static void put_quoted(rer_writer *writer, const char *prefix, const char *text)
{
    if (strpbrk(text, ",\"\r\n") == NULL) {
        rer_puts(writer, prefix, text);
        return;
    }
    rer_puts(writer, "\"", prefix);
    for (const char *quote; (quote = strchr(text, '"')) != NULL; text = quote + 1) {
        rer_put_bytes(writer, text, quote - text);
        rer_put(writer, "\"\"");
    }
    rer_puts(writer, text, "\"");
}

static void start_cell(rer_writer *writer)
{
    if (writer->in_line)
        rer_put(writer, ",");
    writer->in_line = true;
}

/* The apostrophe too, so that one of the text's own is never taken for ours. */
static bool is_formula(const char *text)
{
    return text[0] != 0 && strchr("=+-@\t\r'", text[0]) != NULL;
}

void rer_csv_text(rer_writer *writer, const char *text)
{
    start_cell(writer);
    if (text != NULL)
        put_quoted(writer, writer->spreadsheet_safe && is_formula(text) ? "'" : "", text);
}

void rer_csv_integer(rer_writer *writer, int64_t value)
{
    start_cell(writer);
    rer_put_integer(writer, value);
}

void rer_csv_number(rer_writer *writer, double value)
{
    start_cell(writer);
    rer_put_number(writer, value);
}

void rer_csv_real(rer_writer *writer, double value, int digits)
{
    start_cell(writer);
    if (isfinite(value))
        rer_put_format(writer, "%.*g", digits, value);
}

void rer_csv_bool(rer_writer *writer, bool value)
{
    rer_csv_text(writer, value ? "true" : "false");
}

void rer_csv_integers(rer_writer *writer, const int64_t *values, int64_t count)
{
    start_cell(writer);
    for (int64_t i = 0; i < count; i++) {
        rer_put(writer, i > 0 ? " " : "");
        rer_put_integer(writer, values[i]);
    }
}

void rer_csv_end(rer_writer *writer)
{
    rer_put(writer, "\n");
    writer->in_line = false;
}
