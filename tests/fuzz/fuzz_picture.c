#include "fuzz_reader.h"
#include "report/thumbnails.h"

/* Any bytes as a picture file, at both ways of decoding, and a thumbnail of what comes out. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int64_t side = 0; side <= 32; side += 32) {
        rer_picture picture = {0};
        rer_error error = {0};
        uint8_t *bytes = NULL;
        int64_t length = 0;
        if (rer_picture_decode(&picture, data, (int64_t)size, side, "picture", &error) == RER_OK &&
            picture.height * picture.width <= 1 << 16)
            (void)rer_thumbnail_encode(&bytes, &length, &picture, 32, &error);
        free(bytes);
        rer_picture_free(&picture);
    }
    return 0;
}
