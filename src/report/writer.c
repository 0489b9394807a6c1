/* Buffered text for the report files, with the escaping that each format needs. */
#include "report/writer.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

void rer_writer_start(rer_writer *writer, rer_output *output, rer_error *error)
{
    writer->output = output;
    writer->error = error;
    writer->status = RER_OK;
    writer->used = 0;
}

static void flush(rer_writer *writer)
{
    if (writer->status == RER_OK)
        writer->status = rer_output_write(writer->output, writer->buffer, writer->used, writer->error);
    writer->used = 0;
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

void rer_put(rer_writer *writer, const char *text)
{
    rer_put_bytes(writer, text, (int64_t)strlen(text));
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
    if (isnan(share))
        rer_put(writer, "–");
    else if (share > .9995) /* no probability is quite 1 */
        rer_put(writer, "&gt; 99.9 %");
    else
        rer_put_format(writer, share < 0.0995 ? "%.2f %%" : "%.1f %%", 100 * share);
}

void rer_put_decimal(rer_writer *writer, double value)
{
    if (isnan(value))
        rer_put(writer, "–");
    else
        rer_put_format(writer, fabs(value) < 1000 ? "%.3f" : "%.4g", value);
}

void rer_put_cell(rer_writer *writer, const char *text)
{
    if (text == NULL)
        return;
    int64_t length = (int64_t)strlen(text);
    if (strpbrk(text, ",\"\r\n") == NULL) {
        rer_put_bytes(writer, text, length);
        return;
    }
    rer_put(writer, "\"");
    for (const char *quote; (quote = strchr(text, '"')) != NULL; text = quote + 1) {
        rer_put_bytes(writer, text, quote - text);
        rer_put(writer, "\"\"");
    }
    rer_put(writer, text);
    rer_put(writer, "\"");
}

static const char *html_entity(unsigned char byte)
{
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
    default:
        return byte < 0x20 || byte == 0x7F ? "&#xFFFD;" : NULL; /* HTML has no control characters */
    }
}

void rer_put_html(rer_writer *writer, const char *text)
{
    const char *start = text;
    for (; text != NULL && *text != 0; text++) {
        const char *entity = html_entity((unsigned char)*text);
        if (entity == NULL)
            continue;
        rer_put_bytes(writer, start, text - start);
        rer_put(writer, entity);
        start = text + 1;
    }
    if (text != NULL)
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
