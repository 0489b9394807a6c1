/* Labels: integers of every kind, texts, missing ones, names. */
#include "files.h"
#include "source/labels.h"

#include <math.h>
#include <stdio.h>

/* Opens labels of an array and asserts names (NULL at the end) and codes [count]. */
static void check_array(const char *path, const char *const *names, const int32_t *codes, int64_t count)
{
    rer_error error = {0};
    rer_array array = {0};
    rer_labels labels = {0};
    if (rer_array_open(&array, path, &error) != RER_OK || rer_labels_from_array(&labels, &array, &error) != RER_OK)
        fail_msg("%s", error.message);
    int32_t C = 0;
    for (; names[C] != NULL; C++)
        assert_string_equal(labels.names.bytes + labels.names.offset[C], names[C]);
    assert_int_equal(labels.C, C);
    assert_int_equal(labels.N, count);
    for (int64_t i = 0; i < count; i++)
        assert_int_equal(labels.codes[i], codes[i]);
    rer_labels_free(&labels);
    rer_array_close(&array);
}

static void check_texts(const char *text, const char *const *names, const int32_t *codes, int64_t count)
{
    rer_error error = {0};
    rer_texts texts = {0};
    rer_labels labels = {0};
    const char *path = write_text("y.csv", text);
    if (rer_texts_open(&texts, path, NULL, count, NULL, &error) != RER_OK ||
        rer_labels_from_texts(&labels, &texts, &error) != RER_OK)
        fail_msg("%s", error.message);
    int32_t C = 0;
    for (; names[C] != NULL; C++)
        assert_string_equal(labels.names.bytes + labels.names.offset[C], names[C]);
    assert_int_equal(labels.C, C);
    assert_int_equal(labels.N, count);
    for (int64_t i = 0; i < count; i++)
        assert_int_equal(labels.codes[i], codes[i]);
    rer_labels_free(&labels);
    rer_texts_free(&texts);
}

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})
#define CODES(...) ((const int32_t[]){__VA_ARGS__})

static void test_integers_with_gaps_and_signs(void **state)
{
    (void)state;
    int64_t y[] = {INT64_MAX, -5, 100, -5, INT64_MIN};
    check_array(write_npy("y.npy", "<i8", 0, "(5,)", y, sizeof y),
                NAMES("-9223372036854775808", "-5", "100", "9223372036854775807"), CODES(3, 1, 2, 1, 0), 5);
}

static void test_uint64(void **state)
{
    (void)state;
    uint64_t y[] = {UINT64_MAX, 0, 1, UINT64_MAX};
    check_array(write_npy("y.npy", "<u8", 0, "(4, 1)", y, sizeof y), NAMES("0", "1", "18446744073709551615"),
                CODES(2, 0, 1, 2), 4);
}

static void test_every_integer_dtype(void **state)
{
    (void)state;
    int8_t i8[] = {-3, 7, 7};
    check_array(write_npy("y.npy", "|i1", 0, "(3,)", i8, sizeof i8), NAMES("-3", "7"), CODES(0, 1, 1), 3);
    uint8_t bools[] = {1, 0, 1};
    check_array(write_npy("y.npy", "|b1", 0, "(3,)", bools, sizeof bools), NAMES("0", "1"), CODES(1, 0, 1), 3);
    uint8_t big16[] = {1, 0, 0, 2, 0, 2};
    check_array(write_npy("y.npy", ">i2", 0, "(3,)", big16, sizeof big16), NAMES("2", "256"), CODES(1, 0, 0), 3);
    uint32_t u32[] = {4000000000u, 1, 1};
    check_array(write_npy("y.npy", "<u4", 0, "(3,)", u32, sizeof u32), NAMES("1", "4000000000"), CODES(1, 0, 0), 3);
    uint16_t f16[] = {0x3C00, 0xC000, 0x3C00};
    check_array(write_npy("y.npy", "<f2", 0, "(3,)", f16, sizeof f16), NAMES("-2", "1"), CODES(1, 0, 1), 3);
}

static void test_whole_floats_and_missing_ones(void **state)
{
    (void)state;
    float f32[] = {3, NAN, 1e6F, 3};
    check_array(write_npy("y.npy", "<f4", 0, "(4,)", f32, sizeof f32), NAMES("3", "1000000"), CODES(0, -1, 1, 0), 4);
    double f64[] = {-0.0, 1, NAN};
    check_array(write_npy("y.npy", "<f8", 0, "(3,)", f64, sizeof f64), NAMES("0", "1"), CODES(0, 1, -1), 3);
}

static void test_minus_one_means_no_label(void **state)
{
    (void)state;
    int32_t y[] = {4, -1, 2, 4};
    check_array(write_npy("y.npy", "<i4", 0, "(4,)", y, sizeof y), NAMES("2", "4"), CODES(1, -1, 0, 1), 4);
    int32_t two[] = {-1, 1, 1, -1}; /* the usual two classes */
    check_array(write_npy("y.npy", "<i4", 0, "(4,)", two, sizeof two), NAMES("-1", "1"), CODES(0, 1, 1, 0), 4);
    int32_t signs[] = {-1, 1, 0, -1}; /* and the usual three */
    check_array(write_npy("y.npy", "<i4", 0, "(4,)", signs, sizeof signs), NAMES("-1", "0", "1"), CODES(0, 2, 1, 0), 4);
    int32_t binary[] = {-1, 1, 0, 2}; /* but not with others */
    check_array(write_npy("y.npy", "<i4", 0, "(4,)", binary, sizeof binary), NAMES("0", "1", "2"), CODES(-1, 1, 0, 2),
                4);
    int32_t more[] = {-1, 1, -2, 2}; /* another negative label: -1 is one too */
    check_array(write_npy("y.npy", "<i4", 0, "(4,)", more, sizeof more), NAMES("-2", "-1", "1", "2"), CODES(1, 2, 0, 3),
                4);
    check_texts("-1\n10\n9\n", NAMES("9", "10"), CODES(-1, 1, 0), 3);
    check_texts("-1\na\nb\n", NAMES("-1", "a", "b"), CODES(0, 1, 2), 3);
}

static void test_texts_sort_by_value_or_by_bytes(void **state)
{
    (void)state;
    check_texts("10\n9\n-3\n123456789012345678901234567890\n-20\n9\n",
                NAMES("-20", "-3", "9", "10", "123456789012345678901234567890"), CODES(3, 2, 1, 4, 0, 2), 6);
    check_texts("10\n9\n07\n", NAMES("07", "10", "9"), CODES(1, 2, 0), 3); /* decorated: texts */
    check_texts("b\na\nB\n", NAMES("B", "a", "b"), CODES(2, 1, 0), 3);
    check_texts("\"x, \"\"y\"\"\nz\"\n\xC3\xA4\n\n", NAMES("x, \"y\"\nz", "\xC3\xA4"), CODES(0, 1, -1), 3);
}

static void test_fixed_width_texts(void **state)
{
    (void)state;
    check_array(write_npy("y.npy", "|S4", 0, "(3,)", "dog\0a\0\0\0\0\0\0\0", 12), NAMES("a", "dog"), CODES(1, 0, -1),
                3);
    uint32_t y[] = {0x1F408, 'b', 'a', 0, 0x1F408, 'b'};
    check_array(write_npy("y.npy", "<U2", 0, "(3, 1)", y, sizeof y),
                NAMES("a", "\xF0\x9F\x90\x88"
                           "b"),
                CODES(1, 0, 1), 3);
    uint8_t big[] = {0, 0, 0, 'q', 0, 0, 0, 'p'};
    check_array(write_npy("y.npy", ">U1", 0, "(2,)", big, sizeof big), NAMES("p", "q"), CODES(1, 0), 2);
}

static void test_many_classes(void **state)
{
    (void)state;
    enum { n = 200000, classes = 100000 };
    rer_error error = {0};
    rer_array array = {0};
    rer_labels labels = {0};
    int32_t *y = malloc(n * sizeof *y);
    for (int i = 0; i < n; i++)
        y[i] = (int)((int64_t)i * 7919 % classes) * 3;
    const char *path = write_npy("y.npy", "<i4", 0, "(200000,)", y, n * sizeof *y);
    assert_int_equal(rer_array_open(&array, path, &error), RER_OK);
    assert_int_equal(rer_labels_from_array(&labels, &array, &error), RER_OK);
    assert_int_equal(labels.C, classes);
    for (int i = 0; i < n; i++)
        assert_int_equal(labels.codes[i], y[i] / 3);
    rer_labels_free(&labels);
    rer_array_close(&array);
    free(y);
}

static void test_class_names(void **state)
{
    (void)state;
    rer_error error = {0};
    rer_array array = {0};
    rer_labels labels = {0};
    int32_t y[] = {3, 1, 3};
    assert_int_equal(rer_array_open(&array, write_npy("y.npy", "<i4", 0, "(3,)", y, sizeof y), &error), RER_OK);
    assert_int_equal(rer_labels_from_array(&labels, &array, &error), RER_OK);
    /* Plain lines: neither commas nor quotes mean anything. */
    assert_int_equal(rer_labels_rename(&labels, write_text("n.txt", "tench, Tinca\r\n5\" disk\r\n"), &error), RER_OK);
    assert_string_equal(labels.names.bytes + labels.names.offset[0], "tench, Tinca");
    assert_string_equal(labels.names.bytes + labels.names.offset[1], "5\" disk");
    assert_int_equal(rer_labels_rename(&labels, write_text("n.csv", "\"a,b\"\nc\n"), &error), RER_OK);
    assert_string_equal(labels.names.bytes + labels.names.offset[0], "a,b");

    (void)write_text("named.csv", "name\none\ntwo\n");
    char *column = strcat(strcpy((char[4200]){0}, file_path("named.csv")), ":name");
    assert_int_equal(rer_labels_rename(&labels, column, &error), RER_OK);
    assert_string_equal(labels.names.bytes + labels.names.offset[0], "one");
    (void)rer_labels_rename(&labels, write_text("long.csv", "name\n1st\n2nd\n"), &error); /* no header is guessed */
    assert_bad_input(&error, "long.csv", "3 class names", "2 classes", "FILE:COLUMN", NULL);
    error = (rer_error){0};

    (void)rer_labels_rename(&labels, write_text("short.txt", "one\n"), &error);
    assert_bad_input(&error, "short.txt", "1 class names", "2 classes", NULL);
    error = (rer_error){0};
    (void)rer_labels_rename(&labels, write_text("same.txt", "one\none\n"), &error);
    assert_bad_input(&error, "same.txt", "names 1 and 2", "'one'", NULL);
    error = (rer_error){0};
    (void)rer_labels_rename(&labels, write_text("blank.txt", "one\n\n"), &error);
    assert_bad_input(&error, "blank.txt", "line 2", "empty", "'two'", NULL);
    assert_string_equal(labels.names.bytes + labels.names.offset[0], "one"); /* unchanged */
    rer_labels_free(&labels);
    rer_array_close(&array);
}

static void check_bad(const char *path, const char *a, const char *b, const char *c)
{
    rer_error error = {0};
    rer_array array = {0};
    rer_labels labels = {0};
    if (rer_array_open(&array, path, &error) == RER_OK)
        (void)rer_labels_from_array(&labels, &array, &error);
    assert_bad_input(&error, a, b, c, NULL);
    assert_null(labels.codes);
    rer_array_close(&array);
}

static void test_bad_labels(void **state)
{
    (void)state;
    float half[] = {1, 2.5F};
    check_bad(write_npy("y.npy", "<f4", 0, "(2,)", half, sizeof half), "y.npy", "row 1", "2.5");
    double huge[] = {1e300, 2};
    check_bad(write_npy("y.npy", "<f8", 0, "(2,)", huge, sizeof huge), "y.npy", "row 0", "1.0000000000000001e+300");
    double infinite[] = {1, INFINITY};
    check_bad(write_npy("y.npy", "<f8", 0, "(2,)", infinite, sizeof infinite), "y.npy", "row 1", "inf");
    check_bad(write_npy("y.npy", "<i2", 0, "(1, 2)", "abcd", 4), "y.npy", "(1, 2)", "one label a row");
    check_bad(write_npy("y.npy", "|S2", 0, "(2,)", "ab\xFFz", 4), "y.npy", "row 1 (from 0)", "\\xffz");
    check_bad(write_npy("y.npy", "|S3", 0, "(2,)", "abca\0b", 6), "y.npy", "row 1 (from 0)", "zero byte");
    uint32_t surrogate[] = {'a', 0xD800};
    check_bad(write_npy("y.npy", "<U1", 0, "(2,)", surrogate, 8), "y.npy", "row 1 (from 0)", "U+D800");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FILES_TEST(test_integers_with_gaps_and_signs),
        FILES_TEST(test_uint64),
        FILES_TEST(test_every_integer_dtype),
        FILES_TEST(test_whole_floats_and_missing_ones),
        FILES_TEST(test_minus_one_means_no_label),
        FILES_TEST(test_texts_sort_by_value_or_by_bytes),
        FILES_TEST(test_fixed_width_texts),
        FILES_TEST(test_many_classes),
        FILES_TEST(test_class_names),
        FILES_TEST(test_bad_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
