#include "fuzz_reader.h"

#include <stdio.h>

/* The first byte: as groups that are left out together, or as subsets; of a column or of the file. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char column[128];
    if (size == 0)
        return 0;
    const char *path = fuzz_file(".csv", data + 1, size - 1);
    (void)snprintf(column, sizeof column, "%s:g", path);
    const char *file = data[0] & 2 ? column : path;
    fuzz_analysis(data[0] & 1 ? (rer_files){.subsets = file} : (rer_files){.groups = file}, "rer");
    return 0;
}
