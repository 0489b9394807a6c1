/* What an encoder wants of a picture before it looks at it: resized, cropped, in colour, of one size. */
#pragma once

#include "embed/resample.h"

typedef struct rer_recipe {
    int64_t shortest;          /* resized so that the shorter side is this; or */
    int64_t height, width;     /* to this, whatever its shape was; 0: not resized */
    int64_t crop[2];           /* height, width cut from the middle, black where there is less; 0: all of it */
    int32_t filter;            /* rer_filter */
    double scale;              /* then v * scale ... */
    double mean[3], spread[3]; /* ... less the mean, over the spread, for each of red, green and blue */
} rer_recipe;

/* Height and width of what comes out; false where they would depend on the picture. */
bool rer_recipe_size(const rer_recipe *recipe, int64_t size[2]);
/* One picture of 1 to 4 channels -> rgb uint8 [height, width, 3]. Transparency is ignored, as convert("RGB") does. */
rer_status rer_recipe_apply(uint8_t *rgb, const rer_recipe *recipe, rer_pixels picture, rer_error *error);
