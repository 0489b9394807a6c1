#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_array(fuzz_file(".npy", data, size));
    return 0;
}
