/* What the fuzzers of the readers share: the input as a file, and reading all of what was opened. */
#pragma once

#include "source/labels.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Path of a file with this content; its name has the ending. The same file each time. */
const char *fuzz_file(const char *ending, const uint8_t *data, size_t size);
/* Opens the array and reads rows, labels and texts of it; every outcome but a crash is right. */
void fuzz_array(const char *path);
