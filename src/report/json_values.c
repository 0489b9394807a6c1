/* Building JSON: objects, values, and their text. */
#include "report/json_values.h"
#include "core/options.h"

#include <math.h>
#include <string.h>

#define REAL_DIGITS 15 /* 17 would be exact, and show .1 as .10000000000000001 */

json_t *rer_json_set(json_t *object, const char *name, json_t *value)
{
    if (json_object_set_new(object, name, value) == 0)
        return object;
    json_decref(object);
    return NULL;
}

json_t *rer_json_real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *rer_json_add_real(json_t *object, const char *name, double value)
{
    return rer_json_set(object, name, rer_json_real(value));
}

json_t *rer_json_add_integer(json_t *object, const char *name, int64_t value)
{
    return rer_json_set(object, name, json_integer(value));
}

/* Text that was cut in the middle of a character is still shown. */
json_t *rer_json_string(const char *text)
{
    char quoted[1000];
    int64_t length = (int64_t)strlen(text);
    return json_string(rer_is_utf8(text, length) ? text : rer_quote(quoted, sizeof quoted, text, length));
}

json_t *rer_json_add_text(json_t *object, const char *name, const char *text)
{
    return rer_json_set(object, name, rer_json_string(text));
}

json_t *rer_json_append(json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) == 0)
        return array;
    json_decref(array);
    return NULL;
}

json_t *rer_json_texts(char *const *texts, int64_t count)
{
    json_t *array = json_array();
    for (int64_t i = 0; i < count; i++)
        array = rer_json_append(array, rer_json_string(texts[i]));
    return array;
}

json_t *rer_json_options(const rer_options *options, const char *command)
{
    json_t *object = json_object();
    for (int i = 0; i < rer_options_count(); i++) {
        const rer_option_info *info = rer_options_info(i);
        char text[256];
        if (!rer_option_is_for(info, command))
            continue;
        rer_options_text(options, i, text, sizeof text);
        json_t *value = info->is_flag ? json_boolean(strcmp(text, "yes") == 0) : rer_json_string(text);
        object = rer_json_set(object, info->name, value);
    }
    return object;
}

typedef struct json_bytes {
    char *bytes;
    int64_t used, capacity;
    bool failed;
} json_bytes;

/* Remembers a failure: Jansson itself forgets one while it writes the name of a member. */
static int append_bytes(const char *bytes, size_t count, void *context)
{
    json_bytes *text = context;
    int64_t needed = text->used + (int64_t)count + 1;
    if (text->failed || rer_grow(&text->bytes, &text->capacity, needed, 1, "JSON", NULL) != RER_OK) {
        text->failed = true;
        return -1;
    }
    memcpy(text->bytes + text->used, bytes, count);
    text->used += (int64_t)count;
    text->bytes[text->used] = 0;
    return 0;
}

rer_status rer_json_text(char **text, json_t *root, const char *what, rer_error *error)
{
    json_bytes made = {0};
    size_t flags = JSON_INDENT(2) | JSON_REAL_PRECISION(REAL_DIGITS);
    bool done = root != NULL && json_dump_callback(root, append_bytes, &made, flags) == 0 && !made.failed;
    json_decref(root);
    if (!done) {
        free(made.bytes);
        return rer_fail(error, RER_SYSTEM, "out of memory: %s", what);
    }
    *text = made.bytes;
    return RER_OK;
}
