/* Small pictures of rows: see thumbnails.h.
 *
 * 1. A few pictures at full size and at a quarter of it tell how many bytes one takes. With that, tier by tier, the most important
 *    first, the largest side is chosen at which the tier fits into its share of the room that is left.
 * 2. Each is read, area-resized and encoded, in any order by any thread.
 * 3. Where all of them turn out too large, the last tier is made anew, as much smaller as it takes.
 * 4. In the order of importance, those that still fit are kept. */
#include "report/thumbnails.h"
#include "embed/hog.h"

#include <webp/encode.h>

enum { TRIED = 24, LOSSLESS_SIDE = 40, SIDE_MIN = 28 };

#define QUALITY 78

bool rer_thumbnails_are_possible(const rer_dataset *data)
{
    return rer_images_are_there(&data->images) || (data->picture[0] > 0 && data->features.dtype == RER_U8);
}

void rer_thumbnails_free(rer_thumbnails *thumbnails)
{
    for (int64_t i = 0; thumbnails->bytes != NULL && i < thumbnails->count; i++)
        free(thumbnails->bytes[i]);
    RER_FREE_ALL(thumbnails->bytes, thumbnails->size, thumbnails->side);
    *thumbnails = (rer_thumbnails){0};
}

/* ---- one picture ------------------------------------------------------------------------------ */

/* The longer side becomes at most `side`; small pictures keep their size. */
static rer_status shrink(rer_picture *small, const rer_picture *picture, int64_t side, rer_error *error)
{
    float *resized = NULL;
    int64_t longer = rer_max(picture->height, picture->width), target = rer_min(longer, side);
    int64_t h = rer_max(1, (picture->height * target + longer / 2) / longer);
    int64_t w = rer_max(1, (picture->width * target + longer / 2) / longer);
    int64_t count = h * w * picture->channels;
    *small = (rer_picture){.height = h, .width = w, .channels = picture->channels};
    rer_room rooms[] = {RER_ROOM(resized, count), RER_ROOM(small->pixels, count)};
    RER_TRY(rer_allocate_all(rooms, RER_COUNT(rooms), "a thumbnail", error));
    rer_picture_resize(picture->pixels, picture->height, picture->width, picture->channels, resized, h, w);
    for (int64_t i = 0; i < count; i++)
        small->pixels[i] = (uint8_t)fminf(255, fmaxf(0, resized[i] + 0.5F));
    free(resized);
    return RER_OK;
}

/* Any number of channels -> four: red, green, blue, opacity. */
static void to_rgba(uint8_t *rgba, const rer_picture *picture)
{
    int64_t channels = picture->channels;
    for (int64_t i = 0; i < picture->height * picture->width; i++) {
        const uint8_t *in = picture->pixels + i * channels;
        bool grey = channels < 3;
        rgba[4 * i] = in[0];
        rgba[4 * i + 1] = grey ? in[0] : in[1];
        rgba[4 * i + 2] = grey ? in[0] : in[2];
        rgba[4 * i + 3] = channels == 4 ? in[3] : channels == 2 ? in[1] : 255;
    }
}

static rer_status encode(uint8_t **bytes, int64_t *size, const uint8_t *rgba, int64_t height, int64_t width,
                         bool lossless, rer_error *error)
{
    WebPConfig config;
    WebPPicture picture;
    WebPMemoryWriter memory;
    if (!WebPConfigPreset(&config, WEBP_PRESET_DEFAULT, QUALITY) || !WebPPictureInit(&picture))
        return rer_fail(error, RER_SYSTEM, "the WebP library is of another version than it was built for");
    config.method = 3;
    config.lossless = lossless;
    config.exact = 0;
    picture.use_argb = config.lossless;
    picture.width = (int)width;
    picture.height = (int)height;
    picture.writer = WebPMemoryWrite;
    picture.custom_ptr = &memory;
    WebPMemoryWriterInit(&memory);
    bool done = WebPPictureImportRGBA(&picture, rgba, (int)(4 * width)) && WebPEncode(&config, &picture);
    WebPPictureFree(&picture);
    rer_status status = RER_OK;
    if (!done)
        status = rer_fail(error, RER_SYSTEM, "a thumbnail of %lld x %lld pixels cannot be encoded (WebP error %d)",
                          (long long)width, (long long)height, (int)picture.error_code);
    RER_THEN(status, rer_allocate(bytes, (int64_t)memory.size, 1, "a thumbnail", error));
    if (status == RER_OK) {
        memcpy(*bytes, memory.mem, memory.size);
        *size = (int64_t)memory.size;
    }
    WebPMemoryWriterClear(&memory);
    return status;
}

rer_status rer_thumbnail_encode(uint8_t **bytes, int64_t *size, const rer_picture *picture, int64_t side,
                                rer_error *error)
{
    rer_picture small = {0};
    uint8_t *rgba = NULL;
    rer_status status = shrink(&small, picture, side, error);
    RER_THEN(status, rer_allocate(&rgba, small.height * small.width, 4, "a thumbnail", error));
    if (status == RER_OK) {
        bool lossless = rer_max(picture->height, picture->width) <= LOSSLESS_SIDE;
        to_rgba(rgba, &small);
        status = encode(bytes, size, rgba, small.height, small.width, lossless, error);
    }
    free(rgba);
    rer_picture_free(&small);
    return status;
}

/* ---- many ------------------------------------------------------------------------------------- */

typedef struct batch {
    rer_thumbnails *thumbnails;
    const rer_dataset *data;
    const int64_t *rows;
} batch;

static rer_status read_picture(rer_picture *picture, const rer_dataset *data, int64_t row, int64_t side,
                               rer_error *error)
{
    if (rer_images_are_there(&data->images))
        return rer_images_read(picture, &data->images, row, side, error);
    return rer_picture_of_row(picture, &data->features, row, error);
}

/* A picture that cannot be read is no failure of the report; a lack of memory is. */
static rer_status make_one(void *context, int64_t item, void *scratch, rer_error *error)
{
    const batch *b = context;
    rer_thumbnails *thumbnails = b->thumbnails;
    rer_picture picture = {0};
    rer_error failure = {0};
    (void)scratch;
    rer_status status = read_picture(&picture, b->data, b->rows[item], thumbnails->side[item], &failure);
    if (status == RER_OK)
        thumbnails->side[item] = rer_min(thumbnails->side[item], rer_max(picture.height, picture.width));
    RER_THEN(status, rer_thumbnail_encode(&thumbnails->bytes[item], &thumbnails->size[item], &picture,
                                          thumbnails->side[item], &failure));
    rer_picture_free(&picture);
    bool is_ours = strstr(failure.message, "out of memory") != NULL;
    return status != RER_OK && is_ours ? rer_fail(error, status, "%s", failure.message) : RER_OK;
}

/* from, to: of all that is drawn. */
static rer_status make_range(const batch *b, int64_t count, double from, double to, rer_pool *pool, rer_error *error)
{
    rer_job job = {.stage = "drawing pictures", .from = from, .to = to, .items = count, .work = make_one};
    job.context = (void *)b;
    return rer_pool_run(pool, &job, error);
}

/* A picture at full size, as far as the first ones tell; its bytes go with side^growth. */
typedef struct typical {
    double bytes, side, growth;
} typical;

static typical mean_of(const rer_thumbnails *tried)
{
    typical sum = {0};
    double made = 0;
    for (int64_t i = 0; i < tried->count; i++) {
        sum.bytes += (double)tried->size[i];
        sum.side += tried->size[i] > 0 ? (double)tried->side[i] : 0;
        made += tried->size[i] > 0;
    }
    return made > 0 ? (typical){.bytes = sum.bytes / made, .side = sum.side / made}
                    : (typical){.bytes = 1, .side = RER_THUMBNAIL_MAX};
}

static typical typical_of(const rer_thumbnails *full, const rer_thumbnails *quarter)
{
    typical large = mean_of(full), small = mean_of(quarter);
    double growth = log(large.bytes / small.bytes) / log(large.side / small.side);
    large.growth = isfinite(growth) ? fmin(2, fmax(1, growth)) : 2;
    return large;
}

/* The first ones are looked at longest: each tier has a share of the room that the ones before have left. Returns where
 * the last tier begins. */
static int64_t choose_sides(rer_thumbnails *made, typical one, double room)
{
    static const struct {
        int64_t until;
        double share;
    } tiers[] = {{24, .3}, {120, .4}, {600, .5}, {INT64_MAX, 1}};
    int64_t from = 0, first = 0, last = RER_THUMBNAIL_MAX;
    for (size_t t = 0; from < made->count; t++) {
        int64_t until = rer_min(tiers[t].until, made->count);
        double count = (double)(until - from), fair = count / (double)(made->count - from);
        double share = fmax(fair, tiers[t].share);
        double fits = .92 * share * room / (one.bytes * count);
        double scale = fmin(1, pow(fmax(fits, 0), 1 / one.growth));
        int64_t side = rer_max(SIDE_MIN, (int64_t)(one.side * scale) / 4 * 4);
        room -= count * one.bytes * pow(fmin(1, (double)side / one.side), one.growth);
        last = side = rer_min(last, scale < 1 ? side : RER_THUMBNAIL_MAX);
        first = from;
        for (; from < until; from++)
            made->side[from] = side;
    }
    return first;
}

/* Those from `first` on, which were to be `side` large. */
static rer_status make_smaller(const batch *all, int64_t first, int64_t side, typical one, int64_t room, rer_pool *pool,
                               rer_error *error)
{
    rer_thumbnails *made = all->thumbnails;
    rer_thumbnails last = {.count = made->count - first,
                           .bytes = made->bytes + first,
                           .size = made->size + first,
                           .side = made->side + first};
    batch b = {.thumbnails = &last, .data = all->data, .rows = all->rows + first};
    double here = 0;
    for (int64_t i = 0; i < made->count; i++) {
        room -= i < first ? made->size[i] : 0;
        here += i < first ? 0 : (double)made->size[i];
    }
    if (here <= (double)room)
        return RER_OK;
    double scale = pow(.95 * fmax((double)room, 0) / here, 1 / one.growth);
    for (int64_t i = 0; i < last.count; i++) {
        free(last.bytes[i]);
        last.bytes[i] = NULL;
        last.size[i] = 0;
        last.side[i] = rer_max(SIDE_MIN, (int64_t)((double)side * scale) / 4 * 4);
    }
    return make_range(&b, last.count, .9, 1, pool, error);
}

static rer_status start(rer_thumbnails *thumbnails, int64_t count, int64_t side, rer_error *error)
{
    *thumbnails = (rer_thumbnails){.count = count};
    const rer_room rooms[] = {RER_ROOM(thumbnails->bytes, count), RER_ROOM(thumbnails->size, count),
                              RER_ROOM(thumbnails->side, count)};
    RER_TRY(rer_allocate_all(rooms, RER_COUNT(rooms), "thumbnails", error));
    for (int64_t i = 0; i < count; i++)
        thumbnails->side[i] = side;
    return RER_OK;
}

static rer_status try_some(typical *one, const rer_dataset *data, const int64_t *rows, int64_t count, rer_pool *pool,
                           rer_error *error)
{
    rer_thumbnails full = {0}, quarter = {0};
    batch b = {.thumbnails = &full, .data = data, .rows = rows};
    rer_status status = start(&full, count, RER_THUMBNAIL_MAX, error);
    RER_THEN(status, make_range(&b, count, 0, .08, pool, error));
    RER_THEN(status, start(&quarter, count, rer_max(SIDE_MIN, (int64_t)mean_of(&full).side / 4), error));
    b.thumbnails = &quarter;
    RER_THEN(status, make_range(&b, count, .08, .1, pool, error));
    if (status == RER_OK)
        *one = typical_of(&full, &quarter);
    rer_thumbnails_free(&full);
    rer_thumbnails_free(&quarter);
    return status;
}

/* Which pictures are missing, and why the first of them is. */
static void look_for_failures(rer_thumbnails *thumbnails, const rer_dataset *data, const int64_t *rows)
{
    for (int64_t i = 0; i < thumbnails->count; i++) {
        if (thumbnails->bytes[i] != NULL)
            continue;
        rer_error failure = {0};
        rer_picture picture = {0};
        if (thumbnails->n_failed++ == 0 &&
            read_picture(&picture, data, rows[i], thumbnails->side[i], &failure) != RER_OK)
            (void)snprintf(thumbnails->message, sizeof thumbnails->message, "%.399s", failure.message);
        rer_picture_free(&picture);
    }
}

rer_status rer_thumbnails_make(rer_thumbnails *thumbnails, const rer_dataset *data, const int64_t *rows, int64_t count,
                               int64_t room, rer_pool *pool, rer_error *error)
{
    rer_thumbnails made = {0};
    typical one = {0};
    batch b = {.thumbnails = &made, .data = data, .rows = rows};
    rer_status status = try_some(&one, data, rows, rer_min(count, TRIED), pool, error);
    RER_THEN(status, start(&made, count, RER_THUMBNAIL_MAX, error));
    if (status == RER_OK) {
        int64_t first = choose_sides(&made, one, (double)room), side = count > 0 ? made.side[count - 1] : 0;
        status = make_range(&b, count, .1, .9, pool, error);
        RER_THEN(status, make_smaller(&b, first, side, one, room, pool, error));
    }
    if (status != RER_OK) {
        rer_thumbnails_free(&made);
        return status;
    }
    look_for_failures(&made, data, rows);
    for (int64_t i = 0; i < count; i++) {
        room -= made.size[i];
        if (room >= 0 || made.bytes[i] == NULL)
            continue;
        free(made.bytes[i]);
        made.bytes[i] = NULL;
        made.size[i] = 0;
        made.n_left++;
    }
    *thumbnails = made;
    return RER_OK;
}
