/* The orientation of a picture: see exif.h. It is entry 0x0112 of a TIFF directory, which lies in segment APP1 of a
 * JPEG, in chunk eXIf of a PNG, in chunk EXIF of a WebP. Every offset is checked against the end of the file. */
#include "source/exif.h"

typedef struct piece {
    const uint8_t *at;
    int64_t size;
} piece;

static uint32_t number(const uint8_t *at, int bytes, bool big)
{
    uint32_t value = 0;
    for (int i = 0; i < bytes; i++)
        value = value << 8 | at[big ? i : bytes - 1 - i];
    return value;
}

static bool begins(piece p, int64_t at, const char *text, int64_t length)
{
    return p.size - at >= length && memcmp(p.at + at, text, (size_t)length) == 0;
}

/* ---- where it is ------------------------------------------------------------------------------ */

static piece find_in_jpeg(piece file)
{
    for (int64_t at = 2; file.size - at >= 4 && file.at[at] == 0xFF;) {
        int64_t length = number(file.at + at + 2, 2, true);
        if (file.at[at + 1] == 0xDA || length < 2 || length > file.size - at - 2) /* the pixels, or nonsense */
            break;
        if (file.at[at + 1] == 0xE1 && length >= 8 && begins(file, at + 4, "Exif\0\0", 6))
            return (piece){file.at + at + 10, length - 8};
        at += 2 + length;
    }
    return (piece){0};
}

/* Chunks of a length, a name and as much data: `big` as in a PNG, which puts the length first. */
static piece find_chunk(piece file, int64_t at, const char *name, bool big)
{
    while (file.size - at >= 8) {
        int64_t length = number(file.at + at + (big ? 0 : 4), 4, big);
        if (length > file.size - at - 8)
            break;
        if (begins(file, at + (big ? 4 : 0), name, 4))
            return (piece){file.at + at + 8, length};
        at += 8 + (big ? length + 4 : length + length % 2);
    }
    return (piece){0};
}

static piece find_exif(piece file)
{
    piece found = {0};
    if (begins(file, 0, "\xFF\xD8", 2))
        found = find_in_jpeg(file);
    else if (begins(file, 0, "\x89PNG", 4))
        found = find_chunk(file, 8, "eXIf", true);
    else if (begins(file, 0, "RIFF", 4))
        found = find_chunk(file, 12, "EXIF", false);
    if (begins(found, 0, "Exif\0\0", 6)) /* some programs put it before a WebP's too */
        found = (piece){found.at + 6, found.size - 6};
    return found;
}

/* ---- what it says ----------------------------------------------------------------------------- */

int rer_exif_orientation(const uint8_t *bytes, int64_t size)
{
    piece exif = find_exif((piece){bytes, size});
    bool big = begins(exif, 0, "MM", 2);
    if (exif.size < 8 || (!big && !begins(exif, 0, "II", 2)) || number(exif.at + 2, 2, big) != 42)
        return 1;
    int64_t at = number(exif.at + 4, 4, big);
    if (at > exif.size - 2)
        return 1;
    for (int64_t left = number(exif.at + at, 2, big), entry = at + 2; left > 0 && entry <= exif.size - 12;
         left--, entry += 12)
        if (number(exif.at + entry, 2, big) == 0x0112 && number(exif.at + entry + 2, 2, big) == 3) {
            uint32_t value = number(exif.at + entry + 8, 2, big);
            return value >= 1 && value <= 8 ? (int)value : 1;
        }
    return 1;
}

/* Orientations of 5 and more have rows and columns exchanged; then some count from the other end. */
rer_status rer_picture_turn(rer_picture *picture, int orientation, rer_error *error)
{
    static const bool from_right[9] = {[2] = true, [3] = true, [6] = true, [7] = true};
    static const bool from_bottom[9] = {[3] = true, [4] = true, [7] = true, [8] = true};
    bool swaps = orientation >= 5;
    if (orientation <= 1 || orientation > 8)
        return RER_OK;
    int64_t height = swaps ? picture->width : picture->height, width = swaps ? picture->height : picture->width;
    int64_t channels = picture->channels;
    uint8_t *turned = NULL;
    RER_TRY(rer_allocate(&turned, height * width, channels, "a turned picture", error));
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0; x < width; x++) {
            int64_t v = from_bottom[orientation] ? height - 1 - y : y, u = from_right[orientation] ? width - 1 - x : x;
            int64_t from = swaps ? u * picture->width + v : v * picture->width + u;
            memcpy(turned + (y * width + x) * channels, picture->pixels + from * channels, (size_t)channels);
        }
    free(picture->pixels);
    *picture = (rer_picture){.height = height, .width = width, .channels = channels, .pixels = turned};
    return RER_OK;
}
