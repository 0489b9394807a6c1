/* JSON, written as it is made: the one writer of it, for files, saved models and pages.
 *
 *     rer_json json = {.writer = writer};
 *     rer_json_object(&json, NULL);
 *     rer_json_integer(&json, "n", 3);
 *     rer_json_array(&json, "names");
 *     rer_json_text(&json, NULL, "cat");
 *     rer_json_end(&json);
 *     rer_json_end(&json);
 *
 * Items of an array have no name: NULL. Failures stick to the writer. */
#pragma once

#include "core/fields.h"

typedef enum rer_json_style {
    RER_JSON_FILE, /* indented, reals of 15 digits, a line's end behind the last bracket */
    RER_JSON_LINE, /* the same without white space */
    RER_JSON_PAGE, /* likewise, for <script>: reals as float32, texts without markup */
} rer_json_style;

typedef struct rer_json {
    rer_writer *writer;
    rer_json_style style;
    int depth;
    /* of what is open, a bit for each depth */
    uint32_t is_array, has_items, in_lines;
} rer_json;

void rer_json_object(rer_json *json, const char *name);
void rer_json_array(rer_json *json, const char *name);
void rer_json_end(rer_json *json); /* of what was opened last */
/* From now on each further item of what was opened last begins a line, as all do in a file. */
void rer_json_lines(rer_json *json);

void rer_json_real(rer_json *json, const char *name, double value); /* null where not finite */
void rer_json_integer(rer_json *json, const char *name, int64_t value);
void rer_json_bool(rer_json *json, const char *name, bool value);
void rer_json_text(rer_json *json, const char *name, const char *text); /* any bytes; NULL is null */
void rer_json_name(rer_json *json, const char *name);                   /* the caller puts the value */

void rer_json_interval(rer_json *json, const char *name, rer_interval interval);
void rer_json_checksum(rer_json *json, const char *name, uint64_t checksum); /* 16 hexadecimal digits */
void rer_json_texts(rer_json *json, const char *name, char *const *texts, int64_t count);
void rer_json_fields(rer_json *json, const rer_field *fields, int count, const void *from);
/* The same as an object of their own. */
void rer_json_record(rer_json *json, const char *name, const rer_field *fields, int count, const void *from);
/* Options as on the command line; flags as true or false. Those of the command ("scale") and of all. */
void rer_json_options(rer_json *json, const char *name, const rer_options *options, const char *command);
