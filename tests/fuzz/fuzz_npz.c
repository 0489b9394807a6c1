#include "fuzz_reader.h"

#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char member[128];
    const char *path = fuzz_file(".npz", data, size);
    fuzz_array(path);
    (void)snprintf(member, sizeof member, "%s:a", path);
    fuzz_array(member);
    return 0;
}
