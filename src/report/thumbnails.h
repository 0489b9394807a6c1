/* Small pictures of rows, as WebP in memory. */
#pragma once

#include "core/pool.h"
#include "source/dataset.h"

#define RER_THUMBNAIL_MAX 512 /* pixels of the longer side */

typedef struct rer_thumbnails {
    int64_t count;
    uint8_t **bytes;   /* [count] a WebP file each; NULL where there is none */
    int64_t *size;     /* [count] */
    int64_t *side;     /* [count] pixels of the longer side at most */
    int64_t n_failed;  /* pictures that could not be read ... */
    char message[400]; /* ... and why not the first one */
    int64_t n_left;    /* pictures left out for want of room */
} rer_thumbnails;

/* Whether rows of the data have pictures. */
bool rer_thumbnails_are_possible(const rer_dataset *data);
/* Pictures of `rows` [count], the most important first: these are the largest, the others as small as
 * `room` bytes for all of them want it, and what is past that is left out. A picture that cannot be read is left out and counted. */
rer_status rer_thumbnails_make(rer_thumbnails *thumbnails, const rer_dataset *data, const int64_t *rows, int64_t count,
                               int64_t room, rer_pool *pool, rer_error *error);
void rer_thumbnails_free(rer_thumbnails *thumbnails);

/* One picture, area-resized, as WebP: without loss where it was small already. free() the bytes. */
rer_status rer_thumbnail_encode(uint8_t **bytes, int64_t *size, const rer_picture *picture, int64_t side,
                                rer_error *error);
