/* Output files that a reader sees whole or not at all: written under a temporary name in the same
 * folder, synced, then renamed. */
#pragma once

#include "core/core.h"

#include <stdio.h>

typedef struct rer_output {
    char *path;      /* final name */
    char *temporary; /* NULL once committed or discarded, and for a FIFO or a device */
    FILE *stream;
} rer_output;

/* Opens `path`'s temporary file for writing. */
rer_status rer_output_open(rer_output *output, const char *path, rer_error *error);
rer_status rer_output_write(rer_output *output, const void *bytes, int64_t count, rer_error *error);
/* The header of a .npy, version 1: descr "<f4", shape [rank]; the data follow. */
rer_status rer_output_npy_header(rer_output *output, const char *descr, bool fortran, int32_t rank,
                                 const int64_t *shape, rer_error *error);
/* Flushes, syncs and closes the temporary file: after that only the rename is left. */
rer_status rer_output_finish(rer_output *output, rer_error *error);
/* Finishes where that was not done yet, renames, and frees. */
rer_status rer_output_commit(rer_output *output, rer_error *error);
/* The same for several files of one folder: nothing is renamed before all are finished. */
rer_status rer_outputs_commit(rer_output *outputs, int count, rer_error *error);
/* Removes the temporary file and frees; does nothing after a commit. Accepts a zeroed output. */
void rer_output_discard(rer_output *output);

/* Fails with errno's reason and a remedy, for whoever makes folders or files for output. */
rer_status rer_output_fail(rer_error *error, const char *path, const char *what);
