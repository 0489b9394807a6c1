/* The built-in descriptor of pictures (gradient histograms and a coarse thumbnail). */
#pragma once

#include "core/core.h"

#define RER_HOG_SIDE 64 /* larger pictures are resized to so many pixels on their longer side */

/* Geometry, fixed by the picture's size. */
typedef struct rer_hog {
    int64_t height, width, channels;   /* of the input, 1 to 4 channels (an alpha channel is ignored) */
    int64_t small_height, small_width; /* after the area resize, at most 64 */
    int64_t cell;                      /* pixels on a side, about: 2 to 8, 4 at 28 */
    int64_t D;                         /* length of the descriptor */
} rer_hog;

/* `name` is what the message calls the pictures. */
rer_status rer_hog_plan(rer_hog *plan, int64_t height, int64_t width, int64_t channels, const char *name,
                        rer_error *error);
/* Bytes of working memory, aligned as malloc's, for one caller of rer_hog_describe at a time. */
int64_t rer_hog_scratch(const rer_hog *plan);
/* pictures uint8 [count, height, width, channels] -> out float [count, D] */
void rer_hog_describe(const rer_hog *plan, const uint8_t *pictures, int64_t count, float *out, void *scratch);

/* Area resize of one uint8 picture [height, width, channels] to float [h, w, channels], 0 to 255;
 * exact but for the last rounding. */
void rer_picture_resize(const uint8_t *in, int64_t height, int64_t width, int64_t channels, float *out, int64_t h,
                        int64_t w);
