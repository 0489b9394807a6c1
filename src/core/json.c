/* The JSON writer: see json.h. */
#include "core/json.h"
#include "core/options.h"

#define REAL_DIGITS 15 /* 17 would be exact, and show .1 as .10000000000000001 */

/* ---- texts ------------------------------------------------------------------------------------ */

/* Whether a page has the character by its number: what could end a script or begin markup, line ends of JavaScript
 * that JSON does not know, and what is no character at all. */
static bool is_risky(uint32_t point)
{
    return (point >= 0x7F && point < 0xA0) || (point < 0x7F && strchr("<>&'", (int)point) != NULL) || point == 0x2028 ||
           point == 0x2029 || point == 0xFEFF || point == 0xFFFE || point == 0xFFFF;
}

/* The character of `length` bytes; what is malformed (0) or beyond 16 bits is U+FFFD. */
static uint32_t point_at(const char *text, int length)
{
    uint32_t point = length == 1 ? (unsigned char)*text : 0xFFFD;
    if (length == 2 || length == 3) {
        point = (unsigned char)*text & (0x3FU >> (length - 1));
        for (int i = 1; i < length; i++)
            point = point << 6 | ((unsigned char)text[i] & 0x3FU);
    }
    return point;
}

static void put_escape(rer_writer *writer, uint32_t point, bool in_page)
{
    static const char shorts[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    for (const char *at = shorts; !in_page && *at != 0; at += 2)
        if ((uint32_t)*at == point) {
            rer_put_format(writer, "\\%c", at[1]);
            return;
        }
    rer_put_format(writer, in_page ? "\\u%04x" : "\\u%04X", point);
}

static void put_text(rer_writer *writer, const char *text, bool in_page)
{
    const char *start = text, *end = text + strlen(text);
    rer_put(writer, "\"");
    while (text < end) {
        int length = rer_utf8_length(text, end - text);
        uint32_t point = point_at(text, length);
        bool is_escaped = length == 0 || point < 0x20 || point == '"' || point == '\\';
        if (is_escaped || (in_page && length < 4 && is_risky(point))) {
            rer_put_bytes(writer, start, text - start);
            put_escape(writer, point, in_page);
            start = text + rer_max(length, 1);
        }
        text += rer_max(length, 1);
    }
    rer_put_bytes(writer, start, text - start);
    rer_put(writer, "\"");
}

/* ---- structure -------------------------------------------------------------------------------- */

static void put_line(const rer_json *json)
{
    rer_put(json->writer, "\n");
    for (int i = 0; i < json->depth; i++)
        rer_put(json->writer, "  ");
}

void rer_json_name(rer_json *json, const char *name)
{
    uint32_t here = 1U << json->depth;
    if ((json->has_items & here) != 0)
        rer_put(json->writer, (json->in_lines & here) != 0 ? ",\n" : ",");
    if (json->depth > 0 && json->style == RER_JSON_FILE)
        put_line(json);
    json->has_items |= here;
    if (name == NULL)
        return;
    put_text(json->writer, name, json->style == RER_JSON_PAGE);
    rer_put(json->writer, json->style == RER_JSON_FILE ? ": " : ":");
}

static void open_list(rer_json *json, const char *name, bool is_array)
{
    rer_json_name(json, name);
    rer_put(json->writer, is_array ? "[" : "{");
    uint32_t inside = 1U << ++json->depth;
    json->is_array = is_array ? json->is_array | inside : json->is_array & ~inside;
    json->has_items &= ~inside;
    json->in_lines &= ~inside;
}

void rer_json_object(rer_json *json, const char *name)
{
    open_list(json, name, false);
}

void rer_json_array(rer_json *json, const char *name)
{
    open_list(json, name, true);
}

void rer_json_lines(rer_json *json)
{
    if (json->style != RER_JSON_FILE)
        json->in_lines |= 1U << json->depth;
}

void rer_json_end(rer_json *json)
{
    uint32_t inside = 1U << json->depth--;
    if (json->style == RER_JSON_FILE && (json->has_items & inside) != 0)
        put_line(json);
    rer_put(json->writer, (json->is_array & inside) != 0 ? "]" : "}");
    if (json->style == RER_JSON_FILE && json->depth == 0)
        rer_put(json->writer, "\n");
}

/* ---- values ----------------------------------------------------------------------------------- */

/* 15 digits with a point or an exponent, so that it reads back as a real; 1e-05 as 1e-5. */
static void put_real(rer_writer *writer, double value)
{
    char text[40];
    (void)snprintf(text, sizeof text - 2, "%.*g", REAL_DIGITS, value);
    char *comma = strchr(text, ','), *exponent = strchr(text, 'e');
    if (comma != NULL)
        *comma = '.'; /* of the user's language */
    if (strpbrk(text, ".e") == NULL)
        strcat(text, ".0");
    if (exponent != NULL) {
        char *from = exponent + 2, *to = exponent + (exponent[1] == '-' ? 2 : 1);
        while (*from == '0')
            from++;
        memmove(to, from, strlen(from) + 1);
    }
    rer_put(writer, text);
}

void rer_json_real(rer_json *json, const char *name, double value)
{
    rer_json_name(json, name);
    bool in_page = json->style == RER_JSON_PAGE;
    if (!isfinite(in_page ? (double)(float)value : value))
        rer_put(json->writer, "null");
    else if (in_page)
        rer_put_number(json->writer, value);
    else
        put_real(json->writer, value);
}

void rer_json_integer(rer_json *json, const char *name, int64_t value)
{
    rer_json_name(json, name);
    rer_put_integer(json->writer, value);
}

void rer_json_bool(rer_json *json, const char *name, bool value)
{
    rer_json_name(json, name);
    rer_put(json->writer, value ? "true" : "false");
}

/* Text that was cut in the middle of a character is still shown. */
void rer_json_text(rer_json *json, const char *name, const char *text)
{
    char quoted[1000];
    bool in_page = json->style == RER_JSON_PAGE;
    rer_json_name(json, name);
    if (text != NULL && !in_page && !rer_is_utf8(text, (int64_t)strlen(text)))
        text = rer_quote(quoted, sizeof quoted, text, (int64_t)strlen(text));
    if (text == NULL)
        rer_put(json->writer, "null");
    else
        put_text(json->writer, text, in_page);
}

void rer_json_checksum(rer_json *json, const char *name, uint64_t checksum)
{
    rer_json_name(json, name);
    rer_put_format(json->writer, "\"%016llx\"", (unsigned long long)checksum);
}

void rer_json_interval(rer_json *json, const char *name, rer_interval interval)
{
    rer_json_array(json, name);
    rer_json_real(json, NULL, interval.low);
    rer_json_real(json, NULL, interval.high);
    rer_json_end(json);
}

void rer_json_texts(rer_json *json, const char *name, char *const *texts, int64_t count)
{
    rer_json_array(json, name);
    for (int64_t i = 0; i < count; i++)
        rer_json_text(json, NULL, texts[i]);
    rer_json_end(json);
}

void rer_json_fields(rer_json *json, const rer_field *fields, int count, const void *from)
{
    for (int i = 0; i < count; i++) {
        rer_field_value value = rer_field_read(&fields[i], from);
        if (fields[i].kind == RER_FIELD_REAL)
            rer_json_real(json, fields[i].name, value.real);
        else if (fields[i].kind == RER_FIELD_TEXT)
            rer_json_text(json, fields[i].name, value.text);
        else if (fields[i].kind == RER_FIELD_BOOL)
            rer_json_bool(json, fields[i].name, value.integer != 0);
        else
            rer_json_integer(json, fields[i].name, value.integer);
    }
}

void rer_json_record(rer_json *json, const char *name, const rer_field *fields, int count, const void *from)
{
    rer_json_object(json, name);
    rer_json_fields(json, fields, count, from);
    rer_json_end(json);
}

void rer_json_options(rer_json *json, const char *name, const rer_options *options, const char *command)
{
    rer_json_object(json, name);
    for (int i = 0; i < rer_options_count(); i++) {
        const rer_option_info *info = rer_options_info(i);
        char text[256];
        if (!rer_option_is_for(info, command))
            continue;
        rer_options_text(options, i, text, sizeof text);
        if (info->is_flag)
            rer_json_bool(json, info->name, strcmp(text, "yes") == 0);
        else
            rer_json_text(json, info->name, text);
    }
    rer_json_end(json);
}
