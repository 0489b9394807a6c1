/* A folder of pictures as rows: one sub-folder for each class, pictures of any size. */
#pragma once

#include "core/pool.h"
#include "embed/resample.h"
#include "source/texts.h"

#define RER_PICTURE_ENDINGS                                                                                            \
    {                                                                                                                  \
        ".jpg", ".jpeg", ".png", ".webp"                                                                               \
    }

/* The files below a folder, each folder's own pictures before those of its folders, in the order of their names. */
rer_status rer_pictures_below(rer_texts *paths, const char *folder, rer_error *error);
bool rer_path_is_folder(const char *path);

typedef struct rer_photos {
    rer_texts paths;
    rer_texts ids;     /* paths from the folder on; what is no UTF-8 in them as \xNN */
    rer_texts classes; /* first folder of an id, "" where there is none */
    bool has_classes;  /* some have one */
} rer_photos;

/* The pictures of a folder that may be rows; none is an error. */
rer_status rer_photos_list(rer_photos *photos, const char *folder, rer_error *error);
void rer_photos_free(rer_photos *photos);

/* What turns pictures into rows, one after the other or many at once. Its functions are called from several threads. */
typedef struct rer_describer {
    int64_t slot_bytes, row_bytes;
    int64_t batch; /* pictures at once */
    rer_status (*prepare)(void *context, rer_pixels picture, uint8_t *slot, rer_error *error);
    /* slots [count] -> rows [count]; NULL: they are the rows */
    rer_status (*describe)(void *context, const uint8_t *slots, int64_t count, void *rows, rer_error *error);
    void *context;
} rer_describer;

typedef struct rer_made_rows {
    int64_t first, count;
    uint8_t *rows;             /* [count, row_bytes], the taker may change them */
    const rer_error *failures; /* [count] why a picture could not be read; its row is zeros. NULL: all could */
} rer_made_rows;

/* Progress when all rows are made; what is left is writing them. */
#define RER_ROWS_MADE .97

typedef rer_status rer_rows_taker(void *context, const rer_made_rows *rows, rer_error *error);

/* Hands the rows from `first` on to `take`, in order. What cannot be read is an error where it is strict. */
rer_status rer_photos_read(const rer_photos *photos, int64_t first, const rer_describer *describer, bool strict,
                           rer_rows_taker *take, void *context, rer_pool *pool, rer_error *error);
