/* Building JSON. Everything accepts a NULL object, and passes it on: out of memory is noticed once, by
 * rer_json_text. */
#ifndef RER_JSON_VALUES_H
#define RER_JSON_VALUES_H

#include "core/core.h"

#include <jansson.h>

/* Each returns the object, or NULL (and frees it) where the value could not be added. */
json_t *rer_json_set(json_t *object, const char *name, json_t *value);
json_t *rer_json_add_real(json_t *object, const char *name, double value); /* null where not finite */
json_t *rer_json_add_integer(json_t *object, const char *name, int64_t value);
json_t *rer_json_add_text(json_t *object, const char *name, const char *text);

json_t *rer_json_real(double value);
json_t *rer_json_string(const char *text); /* any bytes: what is no UTF-8 is quoted */
json_t *rer_json_append(json_t *array, json_t *value);
json_t *rer_json_texts(char *const *texts, int64_t count);
/* Options as on the command line; flags as true or false. Those of the command ("scale") and of all. */
json_t *rer_json_options(const rer_options *options, const char *command);

/* The text of `root`, which is freed; `what` names it in the message. free() the text. */
rer_status rer_json_text(char **text, json_t *root, const char *what, rer_error *error);

#endif
