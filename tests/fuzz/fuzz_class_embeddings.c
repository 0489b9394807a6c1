#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_analysis((rer_files){.class_embeddings = fuzz_file(".npy", data, size)}, "zeroshot");
    return 0;
}
