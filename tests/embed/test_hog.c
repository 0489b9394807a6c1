/* The picture descriptor in cases small enough to work out by hand. */
#include "embed/hog.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define CLOSE 1e-6

typedef struct described {
    rer_hog plan;
    int64_t blocks; /* values before the thumbnail */
    float *values;  /* [D] */
} described;

static int64_t colours(const rer_hog *plan)
{
    return plan->channels < 3 ? 1 : 3;
}

static int64_t cells(int64_t size, int64_t cell)
{
    int64_t n = (int64_t)floor((double)size / (double)cell + 0.5);
    return n > 1 ? n : 1;
}

/* Describes one picture with dirty scratch and output, and checks that all D values are set, that
 * they are finite and that nothing is written beyond the output and the scratch. */
static described describe(const uint8_t *picture, int64_t height, int64_t width, int64_t channels)
{
    enum { GUARD = 64 };
    described d;
    rer_error error = {0};
    assert_int_equal(rer_hog_plan(&d.plan, height, width, channels, "test", &error), RER_OK);
    size_t bytes = (size_t)d.plan.D * sizeof(float), work = (size_t)rer_hog_scratch(&d.plan);
    unsigned char *out = malloc(bytes + GUARD), *scratch = malloc(work + GUARD);
    assert_non_null(out);
    assert_non_null(scratch);
    memset(out, 0xff, bytes + GUARD);
    memset(scratch, 0xff, work + GUARD);
    d.values = (float *)(void *)out;
    rer_hog_describe(&d.plan, picture, 1, d.values, scratch);
    for (int64_t i = 0; i < d.plan.D; i++)
        assert_true(isfinite(d.values[i]));
    for (size_t i = 0; i < GUARD; i++) {
        assert_int_equal(out[bytes + i], 0xff);
        assert_int_equal(scratch[work + i], 0xff);
    }
    free(scratch);
    d.blocks =
        d.plan.D - cells(d.plan.small_height, d.plan.cell) * cells(d.plan.small_width, d.plan.cell) * colours(&d.plan);
    return d;
}

static void assert_same(const described *a, const described *b, int64_t count, double tolerance)
{
    for (int64_t i = 0; i < count; i++)
        assert_float_equal(a->values[i], b->values[i], tolerance);
}

/* Step 4 of the formula, in double. */
static void normalise(double *b, int count)
{
    for (int pass = 0; pass < 2; pass++) {
        double sum = 0.05 * 0.05;
        for (int i = 0; i < count; i++)
            sum += b[i] * b[i];
        for (int i = 0; i < count; i++) {
            b[i] /= sqrt(sum);
            if (pass == 0 && b[i] > 0.25)
                b[i] = 0.25;
        }
    }
}

static void constant_pictures_have_no_gradients(void **state)
{
    (void)state;
    for (int level = 0; level <= 255; level += 85) {
        uint8_t picture[28 * 28];
        memset(picture, level, sizeof picture);
        described d = describe(picture, 28, 28, 1);
        assert_int_equal(d.plan.D, 36 * 36 + 49);
        assert_int_equal(d.plan.cell, 4);
        for (int64_t i = 0; i < d.blocks; i++)
            assert_true(d.values[i] == 0);
        for (int64_t i = d.blocks; i < d.plan.D; i++) /* half of sqrt(36) over sqrt(49) values */
            assert_float_equal(d.values[i], 0.5 * 6 / 7 * sqrt(level / 255.0), CLOSE);
        free(d.values);
    }
}

/* Black up to column 13, white from 14: pixels 13 and 14 have gx = 1, at u = 2.875 and 3.125 of
 * the cells across. Cell 2 gets 1/8 and cell 3 gets 7/8 + 7/8, a quarter of it each as the mean. */
static void vertical_edge(uint8_t *picture, int dark, int bright)
{
    for (int i = 0; i < 28 * 28; i++)
        picture[i] = (uint8_t)(i % 28 < 14 ? dark : bright);
}

static void vertical_edge_fills_one_direction(void **state)
{
    (void)state;
    uint8_t picture[28 * 28];
    vertical_edge(picture, 0, 255);
    described d = describe(picture, 28, 28, 1);
    for (int64_t i = 0; i < d.blocks; i++)
        assert_true(i % 9 == 0 || d.values[i] == 0);
    double b[4] = {0.125 / 4, 1.75 / 4, 0.125 / 4, 1.75 / 4};
    normalise(b, 4);
    const float *block = d.values + (2 * 6 + 2) * 36; /* block row 2, its left cells in column 2 */
    for (int i = 0; i < 4; i++)
        assert_float_equal(block[9 * i], b[i], CLOSE);
    double top[4] = {0.875 * 0.125 / 4, 0.875 * 1.75 / 4, 0.125 / 4, 1.75 / 4}; /* half a pixel is lost above */
    normalise(top, 4);
    for (int i = 0; i < 4; i++)
        assert_float_equal(d.values[2 * 36 + 9 * i], top[i], CLOSE);
    assert_true(d.values[0] == 0); /* block 0 is far from the edge */
    for (int x = 0; x < 7; x++)    /* the middle thumbnail cell is half white */
        assert_float_equal(d.values[d.blocks + 7 + x], 0.5 * 6 / 7 * (x < 3 ? 0 : x == 3 ? 0.5 : 1), CLOSE);
    free(d.values);
}

static void direction_has_no_sign(void **state)
{
    (void)state;
    uint8_t rising[28 * 28], falling[28 * 28];
    vertical_edge(rising, 9, 200);
    vertical_edge(falling, 200, 9);
    described a = describe(rising, 28, 28, 1), b = describe(falling, 28, 28, 1);
    assert_same(&a, &b, a.blocks, CLOSE);
    free(a.values);
    free(b.values);
}

/* 90 degrees is direction 4.5: half to 4, half to 5. */
static void horizontal_edge_fills_two_directions(void **state)
{
    (void)state;
    uint8_t picture[28 * 28];
    for (int i = 0; i < 28 * 28; i++)
        picture[i] = i / 28 < 14 ? 0 : 255;
    described d = describe(picture, 28, 28, 1);
    double b[8] = {0.0625 / 4, 0.0625 / 4, 0.0625 / 4, 0.0625 / 4, 0.875 / 4, 0.875 / 4, 0.875 / 4, 0.875 / 4};
    normalise(b, 8);
    const float *block = d.values + (2 * 6 + 2) * 36;
    for (int i = 0; i < 36; i++) {
        double expected = i % 9 == 4 || i % 9 == 5 ? b[2 * (i / 9) + i % 9 - 4] : 0;
        assert_float_equal(block[i], expected, CLOSE);
    }
    free(d.values);
}

/* (x + y)^2 has the square root x + y: a slope of 45 degrees, direction 2.25, or mirrored of 135
 * degrees, direction 6.75. Away from the border every cell of 2 x 2 pixels has the same histogram. */
static void slopes_are_shared_between_the_nearest_directions(void **state)
{
    (void)state;
    for (int mirrored = 0; mirrored < 2; mirrored++) {
        uint8_t picture[8 * 8];
        for (int y = 0; y < 8; y++)
            for (int x = 0; x < 8; x++) {
                int root = y + (mirrored ? 7 - x : x);
                picture[y * 8 + x] = (uint8_t)(root * root);
            }
        described d = describe(picture, 8, 8, 1);
        assert_int_equal(d.plan.D, 9 * 36 + 16);
        double m = sqrt(8 / 255.0), b[8];
        for (int i = 0; i < 8; i++)
            b[i] = (i % 2 == mirrored ? 0.75 : 0.25) * m;
        normalise(b, 8);
        const float *block = d.values + (1 * 3 + 1) * 36;
        int low = mirrored ? 6 : 2;
        for (int i = 0; i < 36; i++) {
            int k = i % 9 - low;
            assert_float_equal(block[i], k == 0 || k == 1 ? b[2 * (i / 9) + k] : 0, CLOSE);
        }
        free(d.values);
    }
}

/* ---- colour ------------------------------------------------------------------------------ */

static uint8_t noise(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (uint8_t)(*seed >> 24);
}

static void equal_channels_describe_as_grey(void **state)
{
    (void)state;
    enum { H = 20, W = 31 };
    uint8_t grey[H * W], colour[H * W * 3];
    uint32_t seed = 3;
    for (int i = 0; i < H * W; i++) {
        grey[i] = noise(&seed);
        memset(colour + 3 * i, grey[i], 3);
    }
    described a = describe(grey, H, W, 1), b = describe(colour, H, W, 3);
    assert_int_equal(a.blocks, b.blocks);
    assert_same(&a, &b, a.blocks, 0);
    for (int64_t i = b.blocks; i < b.plan.D; i++) /* three times the values, the same length */
        assert_float_equal(b.values[i] * sqrt(3), a.values[a.blocks + (i - b.blocks) / 3], CLOSE);
    free(a.values);
    free(b.values);
}

/* One channel rises steeply across, the other two a little downwards: only the first is seen. */
static void strongest_channel_wins(void **state)
{
    (void)state;
    uint8_t strong[8 * 8], colour[8 * 8 * 3];
    for (int i = 0; i < 8 * 8; i++)
        strong[i] = (uint8_t)(4 * (i % 8) * (i % 8));
    described alone = describe(strong, 8, 8, 1);
    assert_true(alone.values[0] > 0.1);
    for (int channel = 0; channel < 3; channel++) {
        for (int i = 0; i < 8 * 8; i++)
            for (int c = 0; c < 3; c++)
                colour[3 * i + c] = c == channel ? strong[i] : (uint8_t)(100 + i / 8);
        described d = describe(colour, 8, 8, 3);
        assert_same(&d, &alone, alone.blocks, 0);
        free(d.values);
    }
    free(alone.values);
}

static void alpha_is_ignored(void **state)
{
    (void)state;
    enum { PIXELS = 70 * 66 };
    static uint8_t colour[PIXELS * 3], colour_alpha[PIXELS * 4], grey[PIXELS], grey_alpha[PIXELS * 2];
    uint32_t seed = 5;
    for (int i = 0; i < PIXELS; i++) {
        for (int c = 0; c < 3; c++)
            colour_alpha[4 * i + c] = colour[3 * i + c] = noise(&seed);
        grey_alpha[2 * i] = grey[i] = noise(&seed);
        colour_alpha[4 * i + 3] = grey_alpha[2 * i + 1] = noise(&seed);
    }
    described a = describe(colour, 70, 66, 3), b = describe(colour_alpha, 70, 66, 4);
    described c = describe(grey, 70, 66, 1), d = describe(grey_alpha, 70, 66, 2);
    assert_int_equal(a.plan.D, b.plan.D);
    assert_int_equal(c.plan.D, d.plan.D);
    assert_same(&a, &b, a.plan.D, 0);
    assert_same(&c, &d, c.plan.D, 0);
    free(a.values);
    free(b.values);
    free(c.values);
    free(d.values);
}

/* ---- sizes ------------------------------------------------------------------------------- */

static void one_pixel_is_a_thumbnail(void **state)
{
    (void)state;
    uint8_t picture[3] = {255, 51, 0};
    described d = describe(picture, 1, 1, 3);
    assert_int_equal(d.plan.D, 9 + 3);
    for (int i = 0; i < 9; i++)
        assert_true(d.values[i] == 0);
    for (int i = 0; i < 3; i++)
        assert_float_equal(d.values[9 + i], 0.5 * sqrt(1.0 / 3) * sqrt(picture[i] / 255.0), CLOSE);
    free(d.values);
}

static void assert_blocks_at_most_unit(const described *d)
{
    int64_t ny = cells(d->plan.small_height, d->plan.cell), nx = cells(d->plan.small_width, d->plan.cell);
    int64_t length = 9 * (ny > 1 ? 2 : 1) * (nx > 1 ? 2 : 1);
    assert_int_equal(d->blocks, length * (ny > 1 ? ny - 1 : 1) * (nx > 1 ? nx - 1 : 1));
    for (int64_t block = 0; block < d->blocks; block += length) {
        double sum = 0;
        for (int64_t i = block; i < block + length; i++) {
            assert_true(d->values[i] >= 0);
            sum += (double)d->values[i] * d->values[i];
        }
        assert_true(sum <= 1);
    }
}

static void every_size_gives_finite_numbers(void **state)
{
    (void)state;
    static uint8_t picture[130 * 130 * 4];
    uint32_t seed = 11;
    for (size_t i = 0; i < sizeof picture; i++)
        picture[i] = noise(&seed);
    static const int64_t sizes[] = {1, 2, 3, 5, 7, 16, 27, 33, 47, 63, 64, 65, 130};
    enum { SIZES = sizeof sizes / sizeof sizes[0] };
    for (int h = 0; h < SIZES; h++)
        for (int w = 0; w < SIZES; w++) {
            described d = describe(picture, sizes[h], sizes[w], 1 + (h + w) % 4);
            assert_blocks_at_most_unit(&d);
            free(d.values);
        }
    described d = describe(picture, 5, 3, 1);
    assert_int_equal(d.plan.D, 2 * 36 + 6); /* 3 x 2 cells of about 2 pixels */
    free(d.values);
}

static void doubled_pixels_change_nothing(void **state)
{
    (void)state;
    static uint8_t small[64 * 64 * 3], large[128 * 128 * 3];
    uint32_t seed = 17;
    for (size_t i = 0; i < sizeof small; i++)
        small[i] = noise(&seed);
    for (int y = 0; y < 128; y++)
        for (int x = 0; x < 128; x++)
            memcpy(large + (y * 128 + x) * 3, small + (y / 2 * 64 + x / 2) * 3, 3);
    described a = describe(small, 64, 64, 3), b = describe(large, 128, 128, 3);
    assert_int_equal(a.plan.D, 49 * 36 + 64 * 3);
    assert_int_equal(b.plan.D, a.plan.D);
    assert_same(&a, &b, a.plan.D, 0);
    free(a.values);
    free(b.values);
}

static void batches_equal_single_pictures(void **state)
{
    (void)state;
    enum { COUNT = 5, VALUES = 13 * 19 * 3 };
    uint8_t pictures[COUNT * VALUES];
    uint32_t seed = 23;
    for (int i = 0; i < COUNT * VALUES; i++)
        pictures[i] = noise(&seed);
    rer_hog plan;
    assert_int_equal(rer_hog_plan(&plan, 13, 19, 3, "test", NULL), RER_OK);
    float *out = malloc((size_t)(COUNT * plan.D) * sizeof(float)); /* [COUNT, D] */
    void *scratch = malloc((size_t)rer_hog_scratch(&plan));
    assert_non_null(out);
    assert_non_null(scratch);
    rer_hog_describe(&plan, pictures, COUNT, out, scratch);
    for (int i = 0; i < COUNT; i++) {
        described d = describe(pictures + i * VALUES, 13, 19, 3);
        assert_memory_equal(d.values, out + i * plan.D, (size_t)plan.D * sizeof(float));
        free(d.values);
    }
    free(scratch);
    free(out);
}

static void impossible_pictures_are_refused(void **state)
{
    (void)state;
    static const int64_t bad[][3] = {{0, 5, 1}, {5, 0, 1},         {-1, 5, 1},     {5, 5, 0},
                                     {5, 5, 5}, {INT64_MAX, 1, 1}, {1, 1 << 21, 3}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        rer_hog plan = {.D = 77};
        rer_error error = {0};
        assert_int_equal(rer_hog_plan(&plan, bad[i][0], bad[i][1], bad[i][2], "holiday.npy", &error), RER_BAD_INPUT);
        assert_non_null(strstr(error.message, "holiday.npy"));
        assert_int_equal(plan.D, 77);
    }
}

/* ---- resize ------------------------------------------------------------------------------ */

static void resize_averages_whole_blocks(void **state)
{
    (void)state;
    const uint8_t in[4 * 4] = {0, 2, 10, 20, 4, 6, 30, 41, 255, 255, 1, 0, 255, 255, 0, 0};
    float out[4];
    rer_picture_resize(in, 4, 4, 1, out, 2, 2);
    assert_true(out[0] == 3 && out[1] == 25.25f && out[2] == 255 && out[3] == 0.25f);
}

/* 3 x 3 to 2 x 2: each output pixel covers one whole pixel, two halves and a quarter. */
static void resize_splits_pixels(void **state)
{
    (void)state;
    const uint8_t in[3 * 3 * 2] = {90, 1, 60, 1, 30, 1, 12, 1, 200, 1, 8, 1, 0, 1, 255, 1, 6, 1}; /* [3, 3, 2] */
    float out[2 * 2 * 2];
    rer_picture_resize(in, 3, 3, 2, out, 2, 2);
    assert_float_equal(out[0], (90 + 30 + 6 + 50) / 2.25, 1e-4);
    assert_float_equal(out[2], (30 + 30 + 4 + 50) / 2.25, 1e-4);
    assert_float_equal(out[4], (0 + 127.5 + 6 + 50) / 2.25, 1e-4);
    assert_float_equal(out[6], (6 + 127.5 + 4 + 50) / 2.25, 1e-4);
    for (int i = 1; i < 8; i += 2) /* the channels stay apart */
        assert_true(out[i] == 1);
}

static void resize_keeps_the_same_size_and_the_mean(void **state)
{
    (void)state;
    enum { H = 23, W = 17 };
    uint8_t in[H * W];
    float same[H * W], smaller[7 * 5];
    uint32_t seed = 29;
    double mean = 0, smaller_mean = 0;
    for (int i = 0; i < H * W; i++) {
        in[i] = noise(&seed);
        mean += in[i] / (double)(H * W);
    }
    rer_picture_resize(in, H, W, 1, same, H, W);
    for (int i = 0; i < H * W; i++)
        assert_true(same[i] == in[i]);
    rer_picture_resize(in, H, W, 1, smaller, 7, 5);
    for (int i = 0; i < 7 * 5; i++)
        smaller_mean += smaller[i] / (double)(7 * 5);
    assert_float_equal(smaller_mean, mean, 1e-5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant_pictures_have_no_gradients),
        cmocka_unit_test(vertical_edge_fills_one_direction),
        cmocka_unit_test(direction_has_no_sign),
        cmocka_unit_test(horizontal_edge_fills_two_directions),
        cmocka_unit_test(slopes_are_shared_between_the_nearest_directions),
        cmocka_unit_test(equal_channels_describe_as_grey),
        cmocka_unit_test(strongest_channel_wins),
        cmocka_unit_test(alpha_is_ignored),
        cmocka_unit_test(one_pixel_is_a_thumbnail),
        cmocka_unit_test(every_size_gives_finite_numbers),
        cmocka_unit_test(doubled_pixels_change_nothing),
        cmocka_unit_test(batches_equal_single_pictures),
        cmocka_unit_test(impossible_pictures_are_refused),
        cmocka_unit_test(resize_averages_whole_blocks),
        cmocka_unit_test(resize_splits_pixels),
        cmocka_unit_test(resize_keeps_the_same_size_and_the_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
