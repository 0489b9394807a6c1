/* Pictures as an encoder wants them: see recipe.h. Sizes and offsets are rounded as the image processors of the
 * transformers package round them. */
#include "embed/recipe.h"

bool rer_recipe_size(const rer_recipe *recipe, int64_t size[2])
{
    size[0] = recipe->crop[0] > 0 ? recipe->crop[0] : recipe->height;
    size[1] = recipe->crop[1] > 0 ? recipe->crop[1] : recipe->width;
    return size[0] > 0 && size[1] > 0;
}

static void resized(int64_t *height, int64_t *width, const rer_recipe *recipe, rer_pixels picture)
{
    int64_t shorter = rer_min(picture.height, picture.width), longer = rer_max(picture.height, picture.width);
    *height = recipe->height > 0 ? recipe->height : picture.height;
    *width = recipe->width > 0 ? recipe->width : picture.width;
    if (recipe->shortest > 0) {
        int64_t other = (int64_t)((double)(recipe->shortest * longer) / (double)shorter);
        *height = picture.height <= picture.width ? recipe->shortest : other;
        *width = picture.height < picture.width ? other : recipe->shortest;
    }
}

/* The middle `wanted` of `there` pixels: *from on for *count, to be put at *at. What is missing on the two sides differs
 * by one at most; the larger part comes first. */
static void middle(int64_t *from, int64_t *count, int64_t *at, int64_t there, int64_t wanted)
{
    *from = there > wanted ? (there - wanted) / 2 : 0;
    *count = rer_min(there, wanted);
    *at = there < wanted ? (wanted - there + 1) / 2 : 0;
}

/* [pixels, channels] at the beginning of `at` -> [pixels, 3] in place. */
static void to_colour(uint8_t *at, int64_t pixels, int64_t channels)
{
    if (channels < 3)
        for (int64_t i = pixels - 1; i >= 0; i--)
            memset(at + 3 * i, at[channels * i], 3);
    else if (channels == 4)
        for (int64_t i = 0; i < pixels; i++)
            memmove(at + 3 * i, at + 4 * i, 3);
}

rer_status rer_recipe_apply(uint8_t *rgb, const rer_recipe *recipe, rer_pixels picture, rer_error *error)
{
    int64_t size[2], height, width, at[2];
    rer_window window;
    uint8_t *made = NULL;
    if (!rer_recipe_size(recipe, size))
        return rer_fail(error, RER_BAD_USAGE, "pictures are neither cropped nor resized to one size");
    resized(&height, &width, recipe, picture);
    middle(&window.top, &window.height, &at[0], height, size[0]);
    middle(&window.left, &window.width, &at[1], width, size[1]);
    rer_status status = rer_allocate(&made, window.height * window.width, 4, "a resized picture", error);
    RER_THEN(status, rer_resample(made, window.width * picture.channels, window, height, width, picture,
                                  (rer_filter)recipe->filter, error));
    if (status == RER_OK) {
        to_colour(made, window.height * window.width, picture.channels);
        if (window.height < size[0] || window.width < size[1])
            memset(rgb, 0, (size_t)(size[0] * size[1] * 3));
        for (int64_t y = 0; y < window.height; y++)
            memcpy(rgb + ((at[0] + y) * size[1] + at[1]) * 3, made + y * window.width * 3, (size_t)window.width * 3);
    }
    free(made);
    return status;
}
