/* How a camera was held: the Exif orientation of a picture file. */
#pragma once

#include "source/picture.h"

/* 1 to 8, as Exif numbers them; 1 (as it is) where a JPEG, PNG or WebP says nothing, or nothing that can be read. */
int rer_exif_orientation(const uint8_t *bytes, int64_t size);
/* Turns the picture upright. */
rer_status rer_picture_turn(rer_picture *picture, int orientation, rer_error *error);
