#include "fuzz_reader.h"
#include "rer_studies.h"

#include <stdlib.h>

/* Any journal of a review of four labels, whose checksum the seeds have. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char labels[] = "a\nb\na\nb\n";
    rer_error error = {0};
    rer_apply_summary summary = {.size = sizeof summary};
    (void)fuzz_named_file("decisions.jsonl", data, size);
    rer_apply_files files = {.size = sizeof files,
                             .labels = fuzz_named_file("labels.csv", labels, sizeof labels - 1),
                             .decisions = fuzz_folder(),
                             .weights = "/dev/null"};
    if (rer_apply(&summary, &files, NULL, &error) != RER_OK && error.message[0] == 0)
        abort(); /* every failure says why */
    if (error.status == RER_OK && summary.n_kept + summary.n_changed + summary.n_dropped > summary.n_rows)
        abort();
    return 0;
}
