/* Saved models: what loads must also score, whatever its numbers are. */
#include "fuzz_reader.h"

#include <stdlib.h>
#include <string.h>

#define FEATURES_MAX 4096

/* Scores two rows of ones. */
static void score_rows(const rer_model *model)
{
    static float rows[2 * FEATURES_MAX];
    static rer_options *options;
    int64_t D = rer_model_columns(model);
    if (D > FEATURES_MAX)
        return;
    if (options == NULL &&
        (rer_options_new(&options, NULL) != RER_OK || rer_options_set_integer(options, "threads", 1, NULL) != RER_OK))
        abort();
    for (int64_t j = 0; j < 2 * FEATURES_MAX; j++)
        rows[j] = 1;
    rer_view view = {.data = rows, .dtype = RER_F32, .rank = 2, .shape = {2, D}};
    rer_dataset *data = NULL;
    rer_result *result = NULL;
    if (rer_dataset_wrap(&data, &view, NULL, options, NULL) != RER_OK)
        abort();
    (void)rer_score(&result, model, data, options, NULL, NULL, NULL);
    rer_result_free(result);
    rer_dataset_free(data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rer_error error = {0};
    rer_model *model = NULL;
    if (rer_model_load(&model, fuzz_file(".safetensors", data, size), &error) == RER_OK)
        score_rows(model);
    else if (error.message[0] == 0)
        abort(); /* every failure says why */
    rer_model_free(model);
    return 0;
}
