#include "fuzz_reader.h"

/* The first byte: rows that are expected; the second: which column. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const columns[] = {NULL, "1", "y"};
    if (size < 2)
        return 0;
    rer_texts texts = {0};
    rer_labels labels = {0};
    rer_header header = {0};
    const char *path = fuzz_file(".csv", data + 2, size - 2);
    if (rer_texts_open(&texts, path, columns[data[1] % 3], (int8_t)data[0], &header, NULL) == RER_OK) {
        if (rer_labels_from_texts(&labels, &texts, NULL) == RER_OK) {
            for (int64_t i = 0; i < labels.N; i++)
                if (labels.codes[i] < -1 || labels.codes[i] >= labels.C)
                    __builtin_trap();
            (void)rer_labels_rename(&labels, path, NULL);
            rer_labels_free(&labels);
        }
        rer_texts_free(&texts);
    }
    return 0;
}
