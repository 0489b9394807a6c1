#include "fuzz_reader.h"

#include "../support/open_table.h"

/* The first byte chooses the column of labels: none, the third, or the one called y. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const columns[] = {NULL, "3", "y"};
    if (size == 0)
        return 0;
    rer_array array = {0};
    rer_texts labels = {0};
    const char *column = columns[data[0] % 3], *path = fuzz_file(".csv", data + 1, size - 1);
    if (open_table(&array, column != NULL ? &labels : NULL, path, column, NULL) == RER_OK) {
        if (column != NULL && labels.count != array.shape[0])
            __builtin_trap();
        rer_array_close(&array);
        rer_texts_free(&labels);
    }
    return 0;
}
