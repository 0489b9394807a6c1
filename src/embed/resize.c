/* Area resize of a picture: every output pixel is the mean of the input's rectangle under it.
 *
 * Along an axis of `in` input and `out` output pixels, cut the axis into in * out units: input
 * pixel i covers units i * out .. (i + 1) * out, output pixel j covers j * in .. (j + 1) * in.
 * All overlaps are then whole numbers, so the weighted sums are exact and only the last division
 * rounds; with in = out the picture comes back as it is. */
#include "embed/hog.h"

/* The input pixels under one output pixel, along one axis. */
typedef struct span {
    int64_t first, last;               /* both included */
    int64_t first_weight, last_weight; /* overlaps; those between have the full `weight` */
    int64_t weight;
} span;

static span span_under(int64_t j, int64_t in, int64_t out)
{
    span s = {.weight = out};
    int64_t begin = j * in, end = begin + in;
    s.first = begin / out;
    s.last = (end - 1) / out;
    s.first_weight = rer_min((s.first + 1) * out, end) - begin;
    s.last_weight = s.last > s.first ? end - s.last * out : 0;
    return s;
}

/* Weighted sum over one row; `row` points at the channel of pixel 0. */
static int64_t sum_across(const uint8_t *row, int64_t channels, const span *s)
{
    int64_t between = 0;
    for (int64_t x = s->first + 1; x < s->last; x++)
        between += row[x * channels];
    return s->first_weight * row[s->first * channels] + s->weight * between + s->last_weight * row[s->last * channels];
}

static int64_t sum_under(const uint8_t *channel, int64_t width, int64_t channels, const span *down, const span *across)
{
    int64_t stride = width * channels, between = 0;
    for (int64_t y = down->first + 1; y < down->last; y++)
        between += sum_across(channel + y * stride, channels, across);
    return down->first_weight * sum_across(channel + down->first * stride, channels, across) + down->weight * between +
           down->last_weight * sum_across(channel + down->last * stride, channels, across);
}

void rer_picture_resize(const uint8_t *in, int64_t height, int64_t width, int64_t channels, float *out, int64_t h,
                        int64_t w)
{
    if (h == height && w == width) {
        for (int64_t i = 0; i < h * w * channels; i++)
            out[i] = in[i];
        return;
    }
    double area = (double)height * (double)width; /* of an output pixel, in units */
    for (int64_t y = 0; y < h; y++) {
        span down = span_under(y, height, h);
        for (int64_t x = 0; x < w; x++) {
            span across = span_under(x, width, w);
            for (int64_t c = 0; c < channels; c++)
                *out++ = (float)((double)sum_under(in + c, width, channels, &down, &across) / area);
        }
    }
}
