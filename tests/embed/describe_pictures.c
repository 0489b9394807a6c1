/* Pictures on standard input to descriptors (or, with a size, resized pictures) on standard
 * output, so that compare_hog.py can check the numbers.
 *
 *     describe_pictures COUNT HEIGHT WIDTH CHANNELS [H W]
 *
 * in: uint8 [COUNT, HEIGHT, WIDTH, CHANNELS]; out: float [COUNT, D] or [COUNT, H, W, CHANNELS] */
#include "embed/hog.h"

#include <stdio.h>

static void stop(const char *reason)
{
    fprintf(stderr, "describe_pictures: %s\n", reason);
    exit(1);
}

static void *reserve(int64_t count, int64_t item_size)
{
    void *memory = NULL;
    rer_error error = {0};
    if (rer_allocate(&memory, count, item_size, "buffer", &error) != RER_OK)
        stop(error.message);
    return memory;
}

int main(int argc, char **argv)
{
    int64_t size[6] = {0}; /* COUNT HEIGHT WIDTH CHANNELS H W */
    if (argc != 5 && argc != 7)
        stop("4 or 6 numbers are needed");
    for (int i = 1; i < argc; i++)
        size[i - 1] = strtoll(argv[i], NULL, 10);

    rer_hog plan;
    rer_error error = {0};
    if (rer_hog_plan(&plan, size[1], size[2], size[3], "input", &error) != RER_OK)
        stop(error.message);
    int64_t picture = size[1] * size[2] * size[3], values = argc == 7 ? size[4] * size[5] * size[3] : plan.D;
    uint8_t *pictures = reserve(size[0], picture);
    float *out = reserve(size[0] * values, sizeof(float));
    void *scratch = reserve(rer_hog_scratch(&plan), 1);

    if (fread(pictures, (size_t)picture, (size_t)size[0], stdin) != (size_t)size[0])
        stop("the input is too short");
    if (argc == 5)
        rer_hog_describe(&plan, pictures, size[0], out, scratch);
    else
        for (int64_t i = 0; i < size[0]; i++)
            rer_picture_resize(pictures + i * picture, size[1], size[2], size[3], out + i * values, size[4], size[5]);
    if (fwrite(out, sizeof(float), (size_t)(size[0] * values), stdout) != (size_t)(size[0] * values))
        stop("the output cannot be written");
    free(scratch);
    free(out);
    free(pictures);
    return 0;
}
