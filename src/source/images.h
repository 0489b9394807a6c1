/* The picture of each row, for people to look at: from a folder, a list of files, or an array. */
#pragma once

#include "source/array.h"
#include "source/picture.h"

typedef struct rer_images {
    rer_array array; /* uint8 [N, H, W] or [N, H, W, channels]; name NULL where the pictures are files */
    rer_texts paths; /* [N] of the files; count 0 where they are an array */
    rer_header header;
} rer_images;

/* `path`: a folder with N pictures (one for each id where ids are given, else in the order of their
 * names, folder by folder), a text with one file name a line, or an array of pictures. */
rer_status rer_images_open(rer_images *images, const char *path, int64_t N, const rer_texts *ids, rer_error *error);
/* Takes over an array of pictures. */
rer_status rer_images_take(rer_images *images, rer_array *array, int64_t N, rer_error *error);
void rer_images_free(rer_images *images);
bool rer_images_are_there(const rer_images *images);

/* The picture of one row, at least `side` pixels on its longer side where it is that large. Safe to call
 * from several threads. */
rer_status rer_images_read(rer_picture *picture, const rer_images *images, int64_t row, int64_t side, rer_error *error);
/* The same from an array of pictures. */
rer_status rer_picture_of_row(rer_picture *picture, const rer_array *array, int64_t row, rer_error *error);
