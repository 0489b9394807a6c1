/* Resizing with an antialiasing filter, to the bit as Pillow does it (before 13, which takes some shapes down before
 * across: a matter of rounding): encoders were trained on that. */
#pragma once

#include "core/core.h"

/* Numbered as Pillow, and with it preprocessor_config.json, numbers them. */
typedef enum rer_filter {
    RER_NEAREST,
    RER_LANCZOS,
    RER_BILINEAR,
    RER_BICUBIC,
    RER_BOX,
    RER_HAMMING,
    RER_FILTERS,
} rer_filter;

/* uint8 [height, width, channels] */
typedef struct rer_pixels {
    int64_t height, width, channels;
    const uint8_t *at;
} rer_pixels;

/* A part of a picture. */
typedef struct rer_window {
    int64_t top, left, height, width;
} rer_window;

/* The window of `in` resized to [height, width], into `out`, whose rows are `stride` bytes apart. */
rer_status rer_resample(uint8_t *out, int64_t stride, rer_window window, int64_t height, int64_t width, rer_pixels in,
                        rer_filter filter, rer_error *error);
