#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_analysis((rer_files){.pred_probs = fuzz_file(".npy", data, size)}, "rer");
    return 0;
}
