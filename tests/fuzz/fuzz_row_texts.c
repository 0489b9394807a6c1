#include "fuzz_reader.h"
#include "source/row_texts.h"

/* The first byte: rows that are expected. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    rer_row_texts texts = {.input = RER_NO_INPUT};
    rer_texts read = {0};
    int64_t N = data[0] % 8;
    const int64_t rows[3] = {0, N / 2, N - 1};
    const char *path = fuzz_file(".csv", data + 1, size - 1);
    if (rer_row_texts_open(&texts, path, N, NULL) == RER_OK) {
        if (N >= 4 && rer_row_texts_read(&read, &texts, rows, 3, NULL) == RER_OK && read.count != 3)
            __builtin_trap();
        rer_texts_free(&read);
        rer_row_texts_free(&texts);
    }
    return 0;
}
