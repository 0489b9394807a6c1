/* Picture files -> pixels: see picture.h. Nothing in a file is trusted: sizes are checked before
 * anything is allocated, and the libraries' own errors end here. */
#include "source/picture.h"
#include "source/exif.h"
#include "source/spool.h"

#include <setjmp.h>
#include <stdio.h> /* before jpeglib.h, which needs it */
#include <string.h>

#include <jpeglib.h>
#include <png.h>
#include <webp/decode.h>

#define FILE_MAX ((int64_t)1 << 28)        /* bytes */
#define JPEG_PIXELS_MAX ((int64_t)1 << 29) /* that a file may claim to have */
#define JPEG_MEMORY_MAX (192L << 20)       /* of libjpeg's own; a progressive file needs it */
#define JPEG_SCANS_MAX 100                 /* programs write up to some 20 ... */
#define JPEG_WORK_MAX ((int64_t)1 << 31)   /* ... and each goes over all pixels: about a second for so many */

void rer_picture_free(rer_picture *picture)
{
    free(picture->pixels);
    *picture = (rer_picture){0};
}

static rer_status make_pixels(rer_picture *picture, int64_t height, int64_t width, int64_t channels, const char *name,
                              rer_error *error)
{
    int64_t pixels = 0;
    if (height < 1 || width < 1 || !rer_product(height, width, &pixels) || pixels > RER_PICTURE_PIXELS_MAX)
        return rer_fail(error, RER_BAD_INPUT, "%s: a picture of %lld x %lld pixels is too large (or empty)", name,
                        (long long)width, (long long)height);
    *picture = (rer_picture){.height = height, .width = width, .channels = channels};
    return rer_allocate(&picture->pixels, pixels * channels, 1, "a picture", error);
}

/* ---- JPEG ------------------------------------------------------------------------------------- */

typedef struct jpeg_failure {
    struct jpeg_error_mgr manager; /* first: libjpeg knows this part alone */
    jmp_buf jump;
    char message[JMSG_LENGTH_MAX];
} jpeg_failure;

static void on_jpeg_error(j_common_ptr info)
{
    jpeg_failure *failure = (jpeg_failure *)(void *)info->err;
    failure->manager.format_message(info, failure->message);
    longjmp(failure->jump, 1);
}

static void on_jpeg_warning(j_common_ptr info, int level)
{
    (void)info;
    (void)level; /* a damaged part is shown as well as it can be */
}

/* A progressive file may have any number of scans of a few bytes each. */
static void on_jpeg_progress(j_common_ptr info)
{
    const struct jpeg_decompress_struct *reading = (const struct jpeg_decompress_struct *)(const void *)info;
    int64_t pixels = (int64_t)reading->image_width * reading->image_height;
    if (reading->input_scan_number > rer_max(16, rer_min(JPEG_SCANS_MAX, JPEG_WORK_MAX / rer_max(1, pixels)))) {
        jpeg_failure *failure = (jpeg_failure *)(void *)info->err;
        (void)snprintf(failure->message, sizeof failure->message, "more than %d scans", reading->input_scan_number - 1);
        longjmp(failure->jump, 1);
    }
}

/* Eighths of the full size that keep the longer side at `side` at least, and the pixels within what may come out. */
static unsigned eighths(int64_t longer, int64_t shorter, int64_t side)
{
    unsigned n = side > 0 ? 1 : 8;
    while (n < 8 && (longer * n + 7) / 8 < side)
        n++;
    while (n > 1 && ((longer * n + 7) / 8) * ((shorter * n + 7) / 8) > RER_PICTURE_PIXELS_MAX)
        n--;
    return n;
}

/* Inks on white paper; Adobe's files hold them inverted. */
static void cmyk_to_rgb(uint8_t *out, const uint8_t *in, int64_t width, bool inverted)
{
    for (int64_t x = 0; x < width; x++)
        for (int c = 0; c < 3; c++) {
            unsigned ink = in[4 * x + c], black = in[4 * x + 3];
            unsigned light = inverted ? ink : 255 - ink, key = inverted ? black : 255 - black;
            out[3 * x + c] = (uint8_t)(light * key / 255);
        }
}

/* The part that may jump: it keeps nothing of its own. */
static rer_status read_jpeg(struct jpeg_decompress_struct *info, rer_picture *picture, uint8_t **line, int64_t side,
                            const char *name, rer_error *error)
{
    (void)jpeg_read_header(info, TRUE);
    bool is_cmyk = info->jpeg_color_space == JCS_CMYK || info->jpeg_color_space == JCS_YCCK;
    int64_t longer = rer_max(info->image_width, info->image_height);
    int64_t shorter = rer_min(info->image_width, info->image_height);
    if ((int64_t)info->image_width * info->image_height > JPEG_PIXELS_MAX)
        return rer_fail(error, RER_BAD_INPUT, "%s: a picture of %u x %u pixels is too large", name, info->image_width,
                        info->image_height);
    info->scale_num = eighths(longer, shorter, side);
    info->scale_denom = 8;
    info->out_color_space = is_cmyk ? JCS_CMYK : info->jpeg_color_space == JCS_GRAYSCALE ? JCS_GRAYSCALE : JCS_RGB;
    (void)jpeg_start_decompress(info);
    int64_t width = info->output_width, channels = is_cmyk ? 3 : info->output_components;
    RER_TRY(make_pixels(picture, info->output_height, width, channels, name, error));
    if (is_cmyk)
        RER_TRY(rer_allocate(line, width, 4, "a line of a picture", error));
    while (info->output_scanline < info->output_height) {
        uint8_t *out = picture->pixels + (int64_t)info->output_scanline * width * channels;
        JSAMPROW row = is_cmyk ? *line : out;
        (void)jpeg_read_scanlines(info, &row, 1);
        if (is_cmyk)
            cmyk_to_rgb(out, *line, width, info->saw_Adobe_marker != 0);
    }
    return RER_OK;
}

static rer_status decode_jpeg(rer_picture *picture, const uint8_t *bytes, int64_t size, int64_t side, const char *name,
                              rer_error *error)
{
    struct jpeg_decompress_struct info;
    jpeg_failure failure;
    struct jpeg_progress_mgr progress = {.progress_monitor = on_jpeg_progress};
    rer_picture made = {0};
    uint8_t *line = NULL;
    rer_picture *volatile made_at = &made; /* addresses: what they hold survives the jump */
    uint8_t **volatile line_at = &line;
    volatile rer_status status = RER_OK;
    info.err = jpeg_std_error(&failure.manager);
    failure.manager.error_exit = on_jpeg_error;
    failure.manager.emit_message = on_jpeg_warning;
    jpeg_create_decompress(&info);
    info.progress = &progress;
    info.mem->max_memory_to_use = JPEG_MEMORY_MAX;
    if (setjmp(failure.jump) == 0) {
        jpeg_mem_src(&info, bytes, (unsigned long)size);
        status = read_jpeg(&info, made_at, line_at, side, name, error);
    } else {
        status = rer_fail(error, RER_BAD_INPUT, "%s: is no JPEG that can be read: %s", name, failure.message);
    }
    jpeg_destroy_decompress(&info);
    free(*line_at);
    if (status == RER_OK)
        *picture = *made_at;
    else
        rer_picture_free(made_at);
    return status;
}

/* ---- PNG and WebP ----------------------------------------------------------------------------- */

static rer_status decode_png(rer_picture *picture, const uint8_t *bytes, int64_t size, const char *name,
                             rer_error *error)
{
    png_image image = {.version = PNG_IMAGE_VERSION};
    rer_picture made = {0};
    rer_status status = RER_OK;
    if (png_image_begin_read_from_memory(&image, bytes, (size_t)size) != 0) {
        bool colour = (image.format & PNG_FORMAT_FLAG_COLOR) != 0, clear = (image.format & PNG_FORMAT_FLAG_ALPHA) != 0;
        image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB; /* 16 bits that say nothing of gamma are as 8 bits are */
        image.format = clear ? PNG_FORMAT_RGBA : colour ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
        status = make_pixels(&made, image.height, image.width, clear ? 4 : colour ? 3 : 1, name, error);
        if (status == RER_OK)
            (void)png_image_finish_read(&image, NULL, made.pixels, 0, NULL);
    }
    if (status == RER_OK && PNG_IMAGE_FAILED(image))
        status = rer_fail(error, RER_BAD_INPUT, "%s: is no PNG that can be read: %s", name, image.message);
    png_image_free(&image);
    if (status == RER_OK)
        *picture = made;
    else
        rer_picture_free(&made);
    return status;
}

static rer_status decode_webp(rer_picture *picture, const uint8_t *bytes, int64_t size, const char *name,
                              rer_error *error)
{
    WebPBitstreamFeatures found;
    rer_picture made = {0};
    if (WebPGetFeatures(bytes, (size_t)size, &found) != VP8_STATUS_OK)
        return rer_fail(error, RER_BAD_INPUT, "%s: is no WebP picture that can be read", name);
    int64_t channels = found.has_alpha ? 4 : 3;
    RER_TRY(make_pixels(&made, found.height, found.width, channels, name, error));
    size_t room = (size_t)(made.height * made.width * channels);
    int stride = (int)(made.width * channels);
    bool done = (found.has_alpha ? WebPDecodeRGBAInto(bytes, (size_t)size, made.pixels, room, stride)
                                 : WebPDecodeRGBInto(bytes, (size_t)size, made.pixels, room, stride)) != NULL;
    if (!done) {
        rer_picture_free(&made);
        return rer_fail(error, RER_BAD_INPUT, "%s: is no WebP picture that can be read (an animation, or damaged?)",
                        name);
    }
    *picture = made;
    return RER_OK;
}

/* ---- any -------------------------------------------------------------------------------------- */

static rer_status decode(rer_picture *picture, const uint8_t *bytes, int64_t size, int64_t side, const char *name,
                         rer_error *error)
{
    if (size >= 3 && memcmp(bytes, "\xFF\xD8\xFF", 3) == 0)
        return decode_jpeg(picture, bytes, size, side, name, error);
    if (size >= 8 && memcmp(bytes, "\x89PNG\r\n\x1a\n", 8) == 0)
        return decode_png(picture, bytes, size, name, error);
    if (size >= 12 && memcmp(bytes, "RIFF", 4) == 0 && memcmp(bytes + 8, "WEBP", 4) == 0)
        return decode_webp(picture, bytes, size, name, error);
    return rer_fail(error, RER_BAD_INPUT, "%s: is none of JPEG, PNG or WebP", name); /* no word of what it is */
}

rer_status rer_picture_decode(rer_picture *picture, const uint8_t *bytes, int64_t size, int64_t side, const char *name,
                              rer_error *error)
{
    rer_picture made = {0};
    rer_status status = decode(&made, bytes, size, side, name, error);
    RER_THEN(status, rer_picture_turn(&made, rer_exif_orientation(bytes, size), error));
    if (status == RER_OK)
        *picture = made;
    else
        rer_picture_free(&made);
    return status;
}

rer_status rer_picture_read(rer_picture *picture, const char *path, int64_t side, rer_error *error)
{
    rer_bytes file = RER_NO_BYTES;
    uint8_t *bytes = NULL;
    rer_status status = rer_bytes_open_plain(&file, path, FILE_MAX, error);
    RER_THEN(status, rer_allocate(&bytes, file.size, 1, "a picture file", error));
    RER_THEN(status, rer_bytes_read(&file, 0, file.size, bytes, path, error));
    RER_THEN(status, rer_picture_decode(picture, bytes, file.size, side, path, error));
    free(bytes);
    rer_bytes_close(&file);
    return status;
}
