/* Thumbnails: a row's picture, area-resized, as a PNG inside the page. */
#include "embed/hog.h"
#include "report/report.h"

#include <png.h>
#include <string.h>

#define SIDE_MAX 96

struct rer_thumbnails {
    const rer_array *array;
    int64_t height, width, channels;
    int64_t small_height, small_width;
    unsigned char *picture; /* [height, width, channels] */
    unsigned char *scratch; /* one row of the array */
    float *resized;         /* [small_height, small_width, channels] */
    unsigned char *small;   /* the same as bytes */
    unsigned char *png;
    int64_t png_capacity;
};

void rer_thumbnails_free(rer_thumbnails *thumbnails)
{
    if (thumbnails == NULL)
        return;
    free(thumbnails->picture);
    free(thumbnails->scratch);
    free(thumbnails->resized);
    free(thumbnails->small);
    free(thumbnails->png);
    free(thumbnails);
}

/* The longer side becomes at most SIDE_MAX; small pictures keep their size. */
static void set_size(rer_thumbnails *thumbnails)
{
    int64_t longer = rer_max(thumbnails->height, thumbnails->width);
    int64_t side = rer_min(longer, SIDE_MAX);
    thumbnails->small_height = rer_max(1, thumbnails->height * side / longer);
    thumbnails->small_width = rer_max(1, thumbnails->width * side / longer);
}

rer_status rer_thumbnails_start(rer_thumbnails **thumbnails, const rer_dataset *data, rer_error *error)
{
    int64_t shape[3];
    rer_thumbnails *made = NULL;
    if (!rer_dataset_is_pictures(data, shape) || data->features.dtype != RER_U8)
        return RER_OK;
    rer_status status = rer_allocate(&made, 1, sizeof *made, "thumbnails", error);
    if (status != RER_OK)
        return status;
    made->array = &data->features;
    made->height = shape[0];
    made->width = shape[1];
    made->channels = shape[2];
    set_size(made);
    int64_t row_bytes = rer_array_row_bytes(made->array);
    int64_t small = made->small_height * made->small_width * made->channels;
    status = rer_allocate(&made->picture, row_bytes, 1, "a picture", error);
    if (status == RER_OK)
        status = rer_allocate(&made->scratch, row_bytes, 1, "a picture", error);
    if (status == RER_OK)
        status = rer_allocate(&made->resized, small, sizeof(float), "a thumbnail", error);
    if (status == RER_OK)
        status = rer_allocate(&made->small, small, 1, "a thumbnail", error);
    if (status == RER_OK)
        *thumbnails = made;
    else
        rer_thumbnails_free(made);
    return status;
}

static void shrink(rer_thumbnails *thumbnails)
{
    int64_t count = thumbnails->small_height * thumbnails->small_width * thumbnails->channels;
    rer_picture_resize(thumbnails->picture, thumbnails->height, thumbnails->width, thumbnails->channels,
                       thumbnails->resized, thumbnails->small_height, thumbnails->small_width);
    for (int64_t i = 0; i < count; i++) {
        float value = thumbnails->resized[i] + 0.5F;
        thumbnails->small[i] = (unsigned char)(value < 0 ? 0 : value > 255 ? 255 : value);
    }
}

/* Grows the buffer to libpng's own bound first, so that one attempt is enough. */
static rer_status encode(rer_thumbnails *thumbnails, int64_t *size, rer_error *error)
{
    static const png_uint_32 formats[] = {PNG_FORMAT_GRAY, PNG_FORMAT_GA, PNG_FORMAT_RGB, PNG_FORMAT_RGBA};
    png_image image = {.version = PNG_IMAGE_VERSION};
    image.width = (png_uint_32)thumbnails->small_width;
    image.height = (png_uint_32)thumbnails->small_height;
    image.format = formats[thumbnails->channels - 1];
    image.flags = PNG_IMAGE_FLAG_FAST;
    png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(image);
    rer_status status = rer_grow(&thumbnails->png, &thumbnails->png_capacity, (int64_t)bytes, 1, "a thumbnail", error);
    if (status != RER_OK)
        return status;
    if (png_image_write_to_memory(&image, thumbnails->png, &bytes, 0, thumbnails->small, 0, NULL) == 0) {
        status =
            rer_fail(error, RER_SYSTEM, "%s: a thumbnail cannot be made: %s", thumbnails->array->name, image.message);
        png_image_free(&image);
        return status;
    }
    *size = (int64_t)bytes;
    return RER_OK;
}

rer_status rer_thumbnails_put(rer_thumbnails *thumbnails, rer_writer *writer, int64_t row)
{
    int64_t size = 0;
    rer_status status =
        rer_array_raw_rows(thumbnails->array, row, 1, thumbnails->picture, thumbnails->scratch, writer->error);
    if (status != RER_OK)
        return status;
    shrink(thumbnails);
    status = encode(thumbnails, &size, writer->error);
    if (status != RER_OK)
        return status;
    rer_put_format(writer, "<img width=\"%lld\" height=\"%lld\" alt=\"row %lld\" src=\"data:image/png;base64,",
                   (long long)thumbnails->small_width, (long long)thumbnails->small_height, (long long)row);
    rer_put_base64(writer, thumbnails->png, size);
    rer_put(writer, "\">");
    return RER_OK;
}
