#include "fuzz_reader.h"
#include "source/images.h"

/* Any list of pictures; one that is there is called ok. The first byte: rows that are expected. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char picture[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\10\0\0\0\0:~\x9bU"
                                  "\0\0\0\nIDATx\x9c"
                                  "ch\0\0\0\x82\0\x81w\xcdr\xb6\0\0\0\0IEND\xae"
                                  "B`\x82";
    if (size == 0)
        return 0;
    rer_images images = {.array = {.fd = -1}};
    int64_t N = data[0] % 8;
    (void)fuzz_named_file("ok", picture, sizeof picture - 1);
    if (rer_images_open(&images, fuzz_file(".txt", data + 1, size - 1), N, NULL, NULL) == RER_OK)
        for (int64_t i = 0; i < N; i++) {
            rer_picture read = {0};
            (void)rer_images_read(&read, &images, i, 8, NULL);
            rer_picture_free(&read);
        }
    rer_images_free(&images);
    return 0;
}
