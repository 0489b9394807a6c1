/* Picture files as an encoder wants them, for test_pictures.py to compare: each line of standard input is
 * SHORTEST HEIGHT WIDTH CROP_HEIGHT CROP_WIDTH FILTER PATH; standard output gets rgb uint8 [height, width, 3] of each. */
#include "embed/recipe.h"
#include "source/picture.h"

static rer_status prepare(const rer_recipe *recipe, const char *path, rer_error *error)
{
    rer_picture picture = {0};
    uint8_t *rgb = NULL;
    int64_t size[2] = {0};
    rer_status status = rer_picture_read(&picture, path, 0, error);
    if (status == RER_OK && !rer_recipe_size(recipe, size))
        status = rer_fail(error, RER_BAD_USAGE, "%s: of which size?", path);
    if (status == RER_OK)
        status = rer_allocate(&rgb, size[0] * size[1], 3, "a picture", error);
    if (status == RER_OK)
        status = rer_recipe_apply(rgb, recipe,
                                  (rer_pixels){picture.height, picture.width, picture.channels, picture.pixels}, error);
    if (status == RER_OK)
        (void)fwrite(rgb, 3, (size_t)(size[0] * size[1]), stdout);
    rer_picture_free(&picture);
    free(rgb);
    return status;
}

int main(void)
{
    char line[4096], path[4096];
    long long n[6];
    rer_error error = {0};
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (sscanf(line, "%lld %lld %lld %lld %lld %lld %4095[^\n]", &n[0], &n[1], &n[2], &n[3], &n[4], &n[5], path) !=
            7)
            return 2;
        rer_recipe recipe = {
            .shortest = n[0], .height = n[1], .width = n[2], .crop = {n[3], n[4]}, .filter = (int32_t)n[5]};
        if (prepare(&recipe, path, &error) != RER_OK) {
            (void)fprintf(stderr, "%s\n", error.message);
            return 1;
        }
    }
    return 0;
}
