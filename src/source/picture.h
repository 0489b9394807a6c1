/* Picture files: JPEG, PNG, WebP -> pixels. */
#pragma once

#include "core/core.h"

typedef struct rer_picture {
    int64_t height, width;
    int64_t channels; /* 1: grey, 3: colour, 4: with transparency */
    uint8_t *pixels;  /* [height, width, channels], owned */
} rer_picture;

#define RER_PICTURE_PIXELS_MAX ((int64_t)1 << 25) /* of what comes out */

/* Decodes a whole file in memory; its first bytes say what it is. It comes out upright, as its Exif entry says. A JPEG
 * may come out smaller than it is, but not below `side` pixels on its longer side: that is quicker (0: as large as it
 * is, or as it may be). `name` is for the message. */
rer_status rer_picture_decode(rer_picture *picture, const uint8_t *bytes, int64_t size, int64_t side, const char *name,
                              rer_error *error);
rer_status rer_picture_read(rer_picture *picture, const char *path, int64_t side, rer_error *error);
void rer_picture_free(rer_picture *picture);
