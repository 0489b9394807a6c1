/* Output files and folders that a reader sees whole or not at all: made under a temporary name beside the final one,
 * synced, then exchanged for what was there. */
#pragma once

#include "core/core.h"

#include <stdio.h>

typedef struct rer_output {
    char *path;      /* final name */
    char *temporary; /* NULL once committed or discarded, and for a FIFO or a device */
    FILE *stream;    /* of a file */
    bool is_folder;
    char *replaced; /* names of the old folder's files, each on a line of its own: what may be removed of it */
    size_t made;    /* bytes of its path up to the first parent that was made for it; 0: all were there */
    int placed;     /* how it took its name, while others may still fail to take theirs */
} rer_output;

/* Opens `path`'s temporary file for writing. */
rer_status rer_output_open(rer_output *output, const char *path, rer_error *error);
rer_status rer_output_write(rer_output *output, const void *bytes, int64_t count, rer_error *error);
/* The header of a .npy, version 1: descr "<f4", shape [rank]; the data follow, at a multiple of 64 bytes. */
#define RER_NPY_HEADER 256
void rer_npy_head(char header[RER_NPY_HEADER], const char *descr, bool fortran, int32_t rank, const int64_t *shape);
rer_status rer_output_npy_header(rer_output *output, const char *descr, bool fortran, int32_t rank,
                                 const int64_t *shape, rer_error *error);
/* Flushes, syncs and closes the temporary file: after that only the rename is left. */
rer_status rer_output_finish(rer_output *output, rer_error *error);
/* Finishes where that was not done yet, renames, and frees. */
rer_status rer_output_commit(rer_output *output, rer_error *error);
/* The same for several files and folders: none takes its name before all are finished, and where one cannot, those
 * before it give theirs back. */
rer_status rer_outputs_commit(rer_output *outputs, int count, rer_error *error);
/* Removes what is temporary and frees; does nothing after a commit. Accepts a zeroed output. */
void rer_output_discard(rer_output *output);

/* An empty folder under a temporary name beside `path`, where files can be made by rer_output_create. The parents of
 * `path` are made where they are missing. */
rer_status rer_output_open_folder(rer_output *output, const char *path, rer_error *error);
/* A file of this name in a folder that is such an output, under its own name at once; messages tell the final one. */
rer_status rer_output_create(rer_output *output, const rer_output *folder, const char *name, rer_error *error);
rer_status rer_join_path(char **path, const char *folder, const char *name, rer_error *error); /* free() it */

/* The name without links of what is there; a copy of `path` where it is not. free() it. */
rer_status rer_follow(char **real, const char *path, bool is_there, rer_error *error);
/* Fails with errno's reason and a remedy, for whoever makes folders or files for output. */
rer_status rer_output_fail(rer_error *error, const char *path, const char *what);
