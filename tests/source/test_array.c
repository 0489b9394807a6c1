/* Arrays: every dtype, order and byte order, in .npy, .npz, IDX, gzipped and on standard input. */
#include "files.h"
#include "source/array.h"

#include <math.h>
#include <stdio.h>

enum { N = 5, D = 3 };

static int host_is_big(void)
{
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
}

/* Value of item (row, column): exact in every numeric dtype, and no two alike. */
static int value_at(int row, int column, int is_signed)
{
    return (row * D + column) * 7 + 1 - (is_signed ? 50 : 0);
}

static uint16_t to_half(double value) /* of integers below 2048 */
{
    if (value == 0)
        return 0;
    int exponent = 0;
    double mantissa = frexp(fabs(value), &exponent); /* [.5, 1) */
    return (uint16_t)((value < 0 ? 0x8000 : 0) | (exponent + 14) << 10 | ((int)(mantissa * 2048) & 0x3FF));
}

static void put(unsigned char *at, char kind, int size, int big, int value)
{
    unsigned char item[8];
    int64_t integer = value;
    float single = (float)value;
    double number = value;
    uint16_t half = to_half(value);
    if (kind == 'f')
        memcpy(item, size == 2 ? (void *)&half : size == 4 ? (void *)&single : (void *)&number, (size_t)size);
    else if (host_is_big())
        memcpy(item, (char *)&integer + 8 - size, (size_t)size);
    else
        memcpy(item, &integer, (size_t)size);
    for (int i = 0; i < size; i++)
        at[i] = big == host_is_big() ? item[i] : item[size - 1 - i];
}

static void check_rows(const char *path, int is_signed)
{
    rer_error error = {0};
    rer_array array = {0};
    float rows[N * D];
    unsigned char scratch[N * D * 8];
    if (rer_array_open(&array, path, &error) != RER_OK)
        fail_msg("%s", error.message);
    assert_int_equal(array.rank, 2);
    assert_int_equal(array.shape[0], N);
    assert_int_equal(rer_array_columns(&array), D);
    for (int first = 0; first < N; first++)
        for (int count = 1; first + count <= N; count++) {
            assert_int_equal(rer_array_rows(&array, first, count, rows, scratch, &error), RER_OK);
            for (int i = 0; i < count * D; i++)
                assert_true(rows[i] == (float)value_at(first + i / D, i % D, is_signed));
        }
    assert_int_not_equal(rer_array_rows(&array, N, 1, rows, scratch, NULL), RER_OK);
    assert_int_not_equal(rer_array_rows(&array, -1, 1, rows, scratch, NULL), RER_OK);
    rer_array_close(&array);
}

static void test_every_dtype_order_and_byte_order(void **state)
{
    static const char *const types[] = {"f2", "f4", "f8", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8"};
    (void)state;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (int fortran = 0; fortran < 2; fortran++)
            for (int big = 0; big < 2; big++) {
                unsigned char data[N * D * 8];
                int size = types[t][1] - '0', is_signed = types[t][0] != 'u';
                for (int row = 0; row < N; row++)
                    for (int c = 0; c < D; c++)
                        put(data + (fortran ? c * N + row : row * D + c) * size, types[t][0], size, big,
                            value_at(row, c, is_signed));
                char descr[4] = {big ? '>' : '<', types[t][0], types[t][1], 0};
                const char *plain = write_npy("x.npy", descr, fortran, "(5, 3)", data, N * D * size);
                check_rows(plain, is_signed);

                int64_t bytes = 0;
                unsigned char *whole = read_whole(plain, &bytes);
                check_rows(write_gzip("x.npy.gz", whole, bytes), is_signed); /* in memory */
                free(whole);
            }
}

static void test_half_has_every_value(void **state)
{
    (void)state;
    rer_error error = {0};
    rer_array array = {0};
    uint16_t *halves = malloc(65536 * sizeof *halves);
    float *floats = malloc(65536 * sizeof *floats);
    for (int i = 0; i < 65536; i++)
        halves[i] = (uint16_t)i;
    const char *path = write_npy("x.npy", "<f2", 0, "(65536, 1)", halves, 131072);
    assert_int_equal(rer_array_open(&array, path, &error), RER_OK);
    assert_int_equal(rer_array_rows(&array, 0, 65536, floats, halves, &error), RER_OK);
    for (int i = 0; i < 65536; i++) {
        int exponent = i >> 10 & 31, mantissa = i & 1023;
        double expected = exponent == 0 ? ldexp(mantissa, -24) : ldexp(1024 + mantissa, exponent - 25);
        if (exponent == 31)
            expected = mantissa == 0 ? INFINITY : NAN;
        if (isnan(expected))
            assert_true(isnan(floats[i]));
        else
            assert_true((double)floats[i] == (i < 32768 ? expected : -expected));
        assert_int_equal(signbit(floats[i]) != 0, i >= 32768);
    }
    rer_array_close(&array);
    free(halves);
    free(floats);
}

/* Rank 4 in Fortran order: the reader's place of an item against the definition. */
static void test_fortran_order_of_pictures(void **state)
{
    (void)state;
    enum { n = 3, h = 2, w = 4, channels = 2 };
    unsigned char data[n * h * w * channels], rows[n * h * w * channels], scratch[sizeof data];
    rer_error error = {0};
    rer_array array = {0};
    for (int i = 0; i < n * h * w * channels; i++)
        data[i] = (unsigned char)i;
    const char *path = write_npy("x.npy", "|u1", 1, "(3, 2, 4, 2)", data, sizeof data);
    assert_int_equal(rer_array_open(&array, path, &error), RER_OK);
    assert_int_equal(rer_array_raw_rows(&array, 1, 2, rows, scratch, &error), RER_OK);
    for (int i = 0; i < 2; i++)
        for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++)
                for (int c = 0; c < channels; c++)
                    assert_int_equal(rows[((i * h + y) * w + x) * channels + c], (i + 1) + n * (y + h * (x + w * c)));
    rer_array_close(&array);
}

static void test_npz_stored_and_deflated(void **state)
{
    (void)state;
    float data[N * D];
    char path[600];
    for (int i = 0; i < N * D; i++)
        data[i] = (float)value_at(i / D, i % D, 1);
    const char *a = write_npy("a.npy", "<f4", 0, "(5, 3)", data, sizeof data);
    for (int deflated = 0; deflated < 2; deflated++) {
        const char *two = write_npz("two.npz", a, a, deflated);
        (void)snprintf(path, sizeof path, "%s:b", two);
        check_rows(path, 1);
        (void)snprintf(path, sizeof path, "%s:a.npy", two);
        check_rows(path, 1);
        check_rows(write_npz("one.npz", a, NULL, deflated), 1); /* its only member needs no name */
        int64_t size = 0;
        unsigned char *whole = read_whole(two, &size);
        (void)snprintf(path, sizeof path, "%s:b", write_gzip("two.npz.gz", whole, size));
        check_rows(path, 1); /* a zip file in memory */
        free(whole);
    }
}

static void test_a_stored_member_is_read_in_place(void **state)
{
    (void)state;
    rer_error error = {0};
    rer_array array = {0};
    float data[N * D] = {0};
    const char *a = write_npy("a.npy", "<f4", 0, "(5, 3)", data, sizeof data);
    assert_int_equal(rer_array_open(&array, write_npz("one.npz", a, NULL, 0), &error), RER_OK);
    assert_true(array.fd >= 0 && array.data == NULL && array.offset > 128);
    rer_array_close(&array);
}

static void test_idx_of_every_type(void **state)
{
    static const struct {
        unsigned char code;
        char kind;
        int size;
    } types[] = {{0x08, 'u', 1}, {0x09, 'i', 1}, {0x0B, 'i', 2}, {0x0C, 'i', 4}, {0x0D, 'f', 4}, {0x0E, 'f', 8}};
    (void)state;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        unsigned char data[12 + N * D * 8] = {0, 0, types[t].code, 2, 0, 0, 0, N, 0, 0, 0, D};
        int size = types[t].size, is_signed = types[t].kind != 'u';
        for (int i = 0; i < N * D; i++)
            put(data + 12 + i * size, types[t].kind, size, 1, value_at(i / D, i % D, is_signed));
        check_rows(write_file("x-idx", data, 12 + N * D * size), is_signed);
        check_rows(write_gzip("x-idx.gz", data, 12 + N * D * size), is_signed);
    }
}

static void test_standard_input(void **state)
{
    (void)state;
    float data[N * D];
    for (int i = 0; i < N * D; i++)
        data[i] = (float)value_at(i / D, i % D, 1);
    const char *plain = write_npy("x.npy", "<f4", 0, "(5, 3)", data, sizeof data);
    int saved = redirect_input(plain);
    check_rows("-", 1);
    restore_input(saved);
    int64_t size = 0;
    unsigned char *whole = read_whole(plain, &size);
    saved = redirect_input(write_gzip("x.gz", whole, size));
    check_rows("-", 1);
    restore_input(saved);
    free(whole);
}

/* Past RER_SPOOL_MAX the decoded bytes are in a file without a name. */
static void test_a_large_gzip_goes_to_a_file(void **state)
{
    (void)state;
    rer_error error = {0};
    rer_array array = {0};
    int64_t rows = RER_SPOOL_MAX / 1000 + 5000, size = 12 + rows * 1000;
    unsigned char *data = calloc((size_t)size, 1), row[1000];
    assert_non_null(data);
    memcpy(data, "\0\0\x08\x02", 4);
    for (int i = 0; i < 4; i++)
        data[4 + i] = (unsigned char)(rows >> (24 - 8 * i));
    data[10] = 1000 >> 8;
    data[11] = 1000 & 255;
    for (int64_t i = 0; i < rows; i++)
        data[12 + i * 1000] = (unsigned char)(i % 251);
    const char *path = write_gzip("x.gz", data, size);
    free(data);
    assert_int_equal(rer_array_open(&array, path, &error), RER_OK);
    assert_true(array.fd >= 0 && array.data == NULL);
    for (int64_t i = 0; i < rows; i += 777) {
        assert_int_equal(rer_array_raw_rows(&array, i, 1, row, NULL, &error), RER_OK);
        assert_int_equal(row[0], i % 251);
    }
    rer_array_close(&array);
}

static void test_versions_and_spacing_of_the_header(void **state)
{
    (void)state;
    rer_error error = {0};
    rer_array array = {0};
    const char v2[] = "\x93NUMPY\x02\x00\x2a\x00\x00\x00{\"shape\":(2L,),'fortran_order':False ,'descr':'|b1'}\n\1\0";
    unsigned char data[100];
    memcpy(data, v2, sizeof v2);
    data[8] = (unsigned char)(sizeof v2 - 1 - 12 - 2);
    assert_int_equal(rer_array_open(&array, write_file("x", data, sizeof v2 - 1), &error), RER_OK);
    assert_int_equal(array.rank, 1);
    assert_int_equal(array.shape[0], 2);
    assert_int_equal(array.dtype, RER_U8);
    rer_array_close(&array);
}

static void test_a_colon_may_be_part_of_a_file_name(void **state)
{
    (void)state;
    float data[N * D];
    for (int i = 0; i < N * D; i++)
        data[i] = (float)value_at(i / D, i % D, 1);
    check_rows(write_npy("x:y.npy", "<f4", 0, "(5, 3)", data, sizeof data), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FILES_TEST(test_every_dtype_order_and_byte_order),
        FILES_TEST(test_half_has_every_value),
        FILES_TEST(test_fortran_order_of_pictures),
        FILES_TEST(test_npz_stored_and_deflated),
        FILES_TEST(test_a_stored_member_is_read_in_place),
        FILES_TEST(test_idx_of_every_type),
        FILES_TEST(test_standard_input),
        FILES_TEST(test_a_large_gzip_goes_to_a_file),
        FILES_TEST(test_versions_and_spacing_of_the_header),
        FILES_TEST(test_a_colon_may_be_part_of_a_file_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
