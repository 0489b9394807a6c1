#include "embed/model_folder.h"
#include "fuzz_reader.h"

#include <stdlib.h>

static void prepare_picture(const rer_recipe *recipe)
{
    enum { SIDE_MOST = 64 }; /* larger ones take long */
    static const uint8_t pixels[5 * 7 * 3];
    static uint8_t made[SIDE_MOST * SIDE_MOST * 3];
    int64_t size[2];
    rer_pixels picture = {.at = pixels, .height = 5, .width = 7, .channels = 3};
    if (rer_recipe_size(recipe, size) && size[0] <= SIDE_MOST && size[1] <= SIDE_MOST)
        (void)rer_recipe_apply(made, recipe, picture, NULL);
}

/* What lies beside an encoder, and what is then made of a picture. The encoder itself is OpenVINO's to read. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"preprocessor_config.json", "config.json", "modules.json",
                                        "sentence_bert_config.json"};
    fuzz_files(names, RER_COUNT(names), data, size);
    (void)fuzz_named_file("model.onnx", "", 0);
    (void)fuzz_named_file("openvino_tokenizer.xml", "", 0);
    for (int of_texts = 0; of_texts < 2; of_texts++) {
        rer_error error = {0};
        rer_model_folder folder = {0};
        rer_encoder_settings settings = {.model = fuzz_folder(), .of_texts = of_texts == 1, .filter = -1};
        if (rer_model_folder_open(&folder, &settings, &error) != RER_OK && error.message[0] == 0)
            abort(); /* every failure says why */
        if (error.status == RER_OK && !settings.of_texts)
            prepare_picture(&folder.recipe);
        rer_model_folder_close(&folder);
    }
    return 0;
}
