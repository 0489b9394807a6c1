#include "fuzz_reader.h"

#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const members[] = {"", ":/x", ":/w", ":/deep/fixed"};
    char member[128];
    const char *path = fuzz_file(".h5", data, size);
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        (void)snprintf(member, sizeof member, "%s%s", path, members[i]);
        fuzz_array(member);
    }
    return 0;
}
