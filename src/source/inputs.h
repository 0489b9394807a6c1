/* inputs.json: the files of a data set, to open them again from anywhere. */
#pragma once

#include "core/core.h"

#define RER_INPUTS "inputs.json" /* in the folder of a run */

/* The names as JSON, made absolute. free() it. */
rer_status rer_inputs_text(char **text, const rer_files *files, rer_error *error);

typedef struct rer_inputs {
    rer_files files; /* its texts are `names` */
    void *names;
} rer_inputs;

/* Reads such a text of the file `path`, which may be a stranger's: what it names must be files or folders, if anything.
 * Free what it made, even where it failed. */
rer_status rer_inputs_read(rer_inputs *inputs, const char *path, rer_error *error);
void rer_inputs_free(rer_inputs *inputs);
