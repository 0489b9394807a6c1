#include "fuzz_reader.h"
#include "rer_studies.h"

#include <stdio.h>
#include <stdlib.h>

static void compare(rer_error *error)
{
    char other[64];
    (void)snprintf(other, sizeof other, "%s/.", fuzz_folder());
    const char *folders[] = {fuzz_folder(), other};
    rer_comparison *comparison = NULL;
    (void)rer_compare(&comparison, folders, 2, NULL, NULL, NULL, error);
    rer_comparison_free(comparison);
}

static void apply(rer_error *error)
{
    static const char labels[] = "a\nb\na\nb\n";
    static rer_options *options;
    if (options == NULL &&
        (rer_options_new(&options, NULL) != RER_OK || rer_options_set_real(options, "auto", .5, NULL) != RER_OK))
        abort();
    rer_apply_summary summary = {.size = sizeof summary};
    rer_apply_files files = {.size = sizeof files,
                             .labels = fuzz_named_file("labels.csv", labels, sizeof labels - 1),
                             .decisions = fuzz_folder(),
                             .weights = "/dev/null"};
    (void)rer_apply(&summary, &files, options, error);
}

/* The folder of a run: compared with itself under another name, and applied to the labels of its seeds. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"samples.csv", "classes.csv", "summary.json"};
    rer_error error = {0};
    fuzz_files(names, 3, data, size);
    compare(&error);
    if (error.status != RER_OK && error.message[0] == 0)
        abort(); /* every failure says why */
    apply(&error);
    return 0;
}
