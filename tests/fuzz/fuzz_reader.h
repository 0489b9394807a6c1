/* What the fuzzers of the readers share: the input as a file, and reading all of what was opened. */
#pragma once

#include "source/labels.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Path of a file with this content; its name has the ending. The same file each time. */
const char *fuzz_file(const char *ending, const uint8_t *data, size_t size);
/* The same for several files in one folder, by their names. */
const char *fuzz_named_file(const char *name, const void *data, size_t size);
const char *fuzz_folder(void);
/* The input as several such files, parted by a byte 255. */
void fuzz_files(const char *const *names, int count, const uint8_t *data, size_t size);

/* Analyses eight rows of two features and the classes a and b with what `files` adds to them. A program has one
 * detector. */
void fuzz_analysis(rer_files files, const char *detector);

/* Opens the array and reads rows, labels and texts of it; every outcome but a crash is right. */
void fuzz_array(const char *path);
