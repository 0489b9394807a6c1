/* Resizing as Pillow does it: see resample.h.
 *
 * Along an axis of `in` input and `out` output pixels, output pixel j lies at c = (j + 1/2) in / out. With
 * s = max(1, in / out), input pixel i weighs f((i + 1/2 - c) / s), normalised so that all weights sum to 1, then
 * rounded to multiples of 2^-22. First across, rounded to a byte, then down. An axis that keeps its length is left as
 * it is. The result of a pixel depends on no other, so that a window costs no more than it shows. */
#include "embed/resample.h"

#define BITS 22 /* 32, less 8 of a byte, less 2 for sums beyond it */

/* ---- filters ---------------------------------------------------------------------------------- */

static double sinc(double x)
{
    return x == 0 ? 1 : sin(M_PI * x) / (M_PI * x);
}

static double box(double x)
{
    return x > -.5 && x <= .5 ? 1 : 0;
}

static double bilinear(double x)
{
    return fabs(x) < 1 ? 1 - fabs(x) : 0;
}

static double hamming(double x)
{
    return fabs(x) >= 1 ? 0 : sinc(x) * (.54 + .46 * cos(M_PI * x));
}

static double bicubic(double x)
{
    const double a = -.5;
    x = fabs(x);
    return x < 1 ? ((a + 2) * x - (a + 3)) * x * x + 1 : x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

static double lanczos(double x)
{
    return x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0;
}

static const struct {
    double (*weight)(double);
    double reach;
} filters[RER_FILTERS] = {
    [RER_LANCZOS] = {lanczos, 3}, [RER_BILINEAR] = {bilinear, 1}, [RER_BICUBIC] = {bicubic, 2},
    [RER_BOX] = {box, .5},        [RER_HAMMING] = {hamming, 1},
};

/* ---- weights ---------------------------------------------------------------------------------- */

/* What each of the output pixels of a window takes, along one axis. */
typedef struct axis {
    int64_t most;     /* input pixels of one output pixel, at most */
    int64_t *first;   /* [count] the first of them */
    int64_t *taken;   /* [count] how many they are */
    int32_t *weights; /* [count, most] */
    double *exact;    /* [most] */
} axis;

static void axis_free(axis *a)
{
    RER_FREE_ALL(a->first, a->taken, a->weights, a->exact);
}

static void weigh(axis *a, int64_t pixel, int64_t j, int64_t in, int64_t out, rer_filter filter)
{
    double scale = (double)in / (double)out, wide = fmax(1, scale), reach = filters[filter].reach * wide;
    double center = ((double)j + .5) * scale, sum = 0;
    int64_t first = rer_max(0, (int64_t)(center - reach + .5));
    int64_t taken = rer_min(in, (int64_t)(center + reach + .5)) - first;
    for (int64_t i = 0; i < taken; i++) {
        a->exact[i] = filters[filter].weight(((double)(i + first) - center + .5) * (1 / wide));
        sum += a->exact[i];
    }
    for (int64_t i = 0; i < taken; i++) {
        double share = sum != 0 ? a->exact[i] / sum : a->exact[i];
        a->weights[pixel * a->most + i] = (int32_t)((share < 0 ? -.5 : .5) + share * (1 << BITS));
    }
    a->first[pixel] = first;
    a->taken[pixel] = taken;
}

/* The pixel under the middle of each; steps are added up, which decides where it falls between two. */
static void take_nearest(axis *a, int64_t from, int64_t count, int64_t in, int64_t out)
{
    double step = (double)in / (double)out, at = step / 2;
    for (int64_t j = 0; j < from + count; j++, at += step)
        if (j >= from) {
            a->first[j - from] = rer_min(in - 1, (int64_t)at);
            a->taken[j - from] = 1;
            a->weights[(j - from) * a->most] = 1 << BITS;
        }
}

static rer_status axis_make(axis *a, int64_t from, int64_t count, int64_t in, int64_t out, rer_filter filter,
                            rer_error *error)
{
    a->most = 2 * (int64_t)ceil(filters[filter].reach * fmax(1, (double)in / (double)out)) + 1;
    const rer_room rooms[] = {RER_ROOM(a->first, count), RER_ROOM(a->taken, count), RER_ROOM(a->exact, a->most),
                              RER_ROOM(a->weights, count * a->most)};
    RER_TRY(rer_allocate_all(rooms, RER_COUNT(rooms), "the weights of a resized picture", error));
    if (filter == RER_NEAREST)
        take_nearest(a, from, count, in, out);
    for (int64_t pixel = 0; pixel < count && filter != RER_NEAREST; pixel++)
        weigh(a, pixel, from + pixel, in, out, filter);
    return RER_OK;
}

/* ---- the two passes --------------------------------------------------------------------------- */

static inline uint8_t to_byte(int32_t sum)
{
    sum >>= BITS;
    return (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

/* One row; inlined for each number of channels. */
static inline void row_across(uint8_t *out, const uint8_t *in, int64_t channels, const axis *a, int64_t count)
{
    for (int64_t x = 0; x < count; x++) {
        const uint8_t *from = in + a->first[x] * channels;
        const int32_t *weights = a->weights + x * a->most;
        int32_t sum[4] = {1 << (BITS - 1), 1 << (BITS - 1), 1 << (BITS - 1), 1 << (BITS - 1)};
        for (int64_t i = 0; i < a->taken[x]; i++, from += channels)
            for (int64_t c = 0; c < channels; c++)
                sum[c] += from[c] * weights[i];
        for (int64_t c = 0; c < channels; c++)
            *out++ = to_byte(sum[c]);
    }
}

static void pass_across(uint8_t *out, const uint8_t *in, int64_t stride, int64_t rows, int64_t channels, const axis *a,
                        int64_t count)
{
    for (int64_t y = 0; y < rows; y++, in += stride, out += count * channels)
        switch (channels) {
        case 1:
            row_across(out, in, 1, a, count);
            break;
        case 3:
            row_across(out, in, 3, a, count);
            break;
        default:
            row_across(out, in, channels, a, count);
        }
}

/* `in` begins with row `from`; sums [bytes] is working memory. */
static void pass_down(uint8_t *out, int64_t out_stride, const uint8_t *in, int64_t from, int64_t bytes, const axis *a,
                      int64_t rows, int32_t *sums)
{
    for (int64_t y = 0; y < rows; y++, out += out_stride) {
        for (int64_t b = 0; b < bytes; b++)
            sums[b] = 1 << (BITS - 1);
        for (int64_t i = 0; i < a->taken[y]; i++) {
            const uint8_t *row = in + (a->first[y] - from + i) * bytes;
            int32_t weight = a->weights[y * a->most + i];
            for (int64_t b = 0; b < bytes; b++)
                sums[b] += row[b] * weight;
        }
        for (int64_t b = 0; b < bytes; b++)
            out[b] = to_byte(sums[b]);
    }
}

/* ---- all -------------------------------------------------------------------------------------- */

/* Rows first..end-1 of the input are what the window's rows take. */
static void rows_taken(int64_t *first, int64_t *end, const axis *down, rer_window w)
{
    *first = INT64_MAX;
    *end = 0;
    for (int64_t y = 0; y < w.height; y++) {
        *first = rer_min(*first, down->first[y]);
        *end = rer_max(*end, down->first[y] + down->taken[y]);
    }
}

static rer_status filter_window(uint8_t *out, int64_t stride, rer_window w, rer_pixels in, const axis *across,
                                const axis *down, rer_error *error)
{
    int64_t first = w.top, end = w.top + w.height, bytes = w.width * in.channels;
    uint8_t *narrow = NULL; /* [end - first, w.width, channels] */
    int32_t *sums = NULL;
    if (down->first != NULL)
        rows_taken(&first, &end, down, w);
    const rer_room rooms[] = {RER_ROOM(narrow, (end - first) * bytes), RER_ROOM(sums, bytes)};
    RER_TRY(rer_allocate_all(rooms, RER_COUNT(rooms), "a resized picture", error));
    int64_t in_stride = in.width * in.channels;
    const uint8_t *from = in.at + first * in_stride;
    if (across->first != NULL)
        pass_across(narrow, from, in_stride, end - first, in.channels, across, w.width);
    for (int64_t y = 0; across->first == NULL && y < end - first; y++)
        memcpy(narrow + y * bytes, from + y * in_stride + w.left * in.channels, (size_t)bytes);
    if (down->first != NULL)
        pass_down(out, stride, narrow, first, bytes, down, w.height, sums);
    for (int64_t y = 0; down->first == NULL && y < w.height; y++)
        memcpy(out + y * stride, narrow + y * bytes, (size_t)bytes);
    RER_FREE_ALL(narrow, sums);
    return RER_OK;
}

rer_status rer_resample(uint8_t *out, int64_t stride, rer_window window, int64_t height, int64_t width, rer_pixels in,
                        rer_filter filter, rer_error *error)
{
    axis across = {0}, down = {0};
    rer_status status = RER_OK;
    if (width != in.width)
        status = axis_make(&across, window.left, window.width, in.width, width, filter, error);
    if (status == RER_OK && height != in.height)
        status = axis_make(&down, window.top, window.height, in.height, height, filter, error);
    RER_THEN(status, filter_window(out, stride, window, in, &across, &down, error));
    axis_free(&across);
    axis_free(&down);
    return status;
}
