/* Files that are damaged or hold something else: the message must name the file, the place and the value. */
#include "files.h"
#include "source/array.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void check(const char *path, const char *a, const char *b, const char *c)
{
    rer_error error = {0};
    rer_array array = {0};
    (void)rer_array_open(&array, path, &error);
    assert_bad_input(&error, a, b, c, NULL);
    assert_null(array.name); /* unchanged */
}

static void test_files_that_are_not_there(void **state)
{
    (void)state;
    check(file_path("none.npy"), "none.npy", "No such file", "");
    check(file_path("none.npz:x"), "none.npz:x", "No such file", "");
    check(file_path("."), "folder", "", "");
    check(write_text("empty.npy", ""), "empty.npy", "empty", "");
    check(write_gzip("empty.gz", "", 0), "empty.gz", "empty", "");
    int saved = redirect_input("/dev/null");
    check("-", "standard input", "empty", "");
    restore_input(saved);
}

static void test_no_permission_is_no_bad_input(void **state)
{
    (void)state;
    rer_error error = {0};
    rer_array array = {0};
    bool is_root = geteuid() == 0; /* who may read everything: another user for a moment */
    (void)chmod(write_text("x.npy", "x"), 0);
    (void)chmod(file_path(""), 0711);
    assert_true(!is_root || seteuid(65534) == 0);
    rer_status status = rer_array_open(&array, file_path("x.npy"), &error);
    assert_true(!is_root || seteuid(0) == 0);
    assert_int_equal(status, RER_SYSTEM);
    assert_non_null(strstr(error.message, "x.npy"));
}

static void test_something_else(void **state)
{
    (void)state;
    check(write_text("x.npy", "hello"), "x.npy", "'hello'", ".npz");
    check(write_text("x.bin", "\x01\x02\x03"), "x.bin", "\\x01\\x02\\x03", "");
    check(write_file("x.npy", "\x93NUM", 4), "x.npy", "\\x93NUM", "");
    check(write_file("x.npy", "\x93NUMPY\x01", 7), "x.npy", "truncated", "7");
    check(write_file("x.npy", "\x93NUMPY\x09\0\0\0\0\0", 12), "x.npy", "version 9", "");
    check(write_file("x.npy", "\x93NUMPY\x02\0\xFF\xFF\xFF\x7F", 12), "x.npy", "2147483647", "12");
    char member[600];
    (void)snprintf(member, sizeof member, "%s:x", write_npy("x.npy", "<f4", 0, "(1, 1)", "abcd", 4));
    check(member, "x.npy", "no .npz or .h5", "'x'");
}

static void test_npy_headers(void **state)
{
    static const char *const cases[][3] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (9, 9), }", "truncated", "(9, 9)"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }", "larger than any file",
         "4611686018427387904"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999, 4), }", "overflows", "99999999"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-4, 4), }", "size", "-4"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4), }", "no data", "(0, 4)"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4, 0), }", "no data", "(4, 0)"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (), }", "()", "single value"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1), }", "more than 4 axes", ""},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (2,), }", "object", "astype"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }", "structured", ""},
        {"{'descr': '|V8', 'fortran_order': False, 'shape': (2,), }", "|V8", ""},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (2,), }", "'<c8'", "float32"},
        {"{'descr': '<f16', 'fortran_order': False, 'shape': (2,), }", "'<f16'", ""},
        {"{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (2,), }", "'<M8[ns]'", ""},
        {"{'descr': '|S0', 'fortran_order': False, 'shape': (2,), }", "'|S0'", ""},
        {"{'descr': '<U99999999999', 'fortran_order': False, 'shape': (2,), }", "<U99999999999", ""},
        {"{'fortran_order': False, 'shape': (2,), }", "descr", "missing"},
        {"{'descr': '<f4', 'shape': (2,), }", "fortran_order", "missing"},
        {"{'descr': '<f4', 'fortran_order': False}", "shape", "missing"},
        {"{'descr': '<f4', 'fortran_order': 7, 'shape': (2,), }", "True or False", "7"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': 2, }", "a shape", "2"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2 3), }", "comma", "3)"},
        {"{'descr': '<f4', 'what': False, }", "unknown key", ""},
        {"{'descr': '<f4", "dtype", ""},
        {"nonsense", "{ is wanted", "nonsense"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(write_npy_header("x.npy", cases[i][0], "abcdefgh", 8), "x.npy", cases[i][1], cases[i][2]);
}

static void test_idx(void **state)
{
    (void)state;
    check(write_file("x-idx",
                     "\0\0\x08\x01\0\0\0\x09"
                     "abc",
                     11),
          "x-idx", "truncated", "(9,)");
    check(write_file("x-idx",
                     "\0\0\x0A\x01\0\0\0\x01"
                     "a",
                     9),
          "x-idx", "0x0a", "");
    check(write_file("x-idx",
                     "\0\0\x08\x05\0\0\0\x01"
                     "a",
                     9),
          "x-idx", "rank 5", "");
    check(write_file("x-idx",
                     "\0\0\x08\x00\0\0\0\x01"
                     "a",
                     9),
          "x-idx", "rank 0", "");
    check(write_file("x-idx", "\0\0\x08\x02\0\0", 6), "x-idx", "truncated", "6");
    check(write_file("x-idx", "\0\0\x0E\x04\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 20),
          "x-idx", "larger than any file", "4294967295");
}

static void test_gzip(void **state)
{
    (void)state;
    int64_t size = 0;
    unsigned char *whole = read_whole(write_gzip("x.gz",
                                                 "\0\0\x08\x01\0\0\0\x05"
                                                 "abcde",
                                                 13),
                                      &size);
    check(write_file("cut.gz", whole, size - 9), "cut.gz", "truncated", "");
    whole[size - 6] ^= 1; /* the checksum */
    check(write_file("bad.gz", whole, size), "bad.gz", "damaged gzip", "");
    free(whole);
    check(write_file("x.gz", "\x1F\x8B\x09", 3), "x.gz", "gzip", "");
}

static void test_zip(void **state)
{
    (void)state;
    char member[600];
    int64_t size = 0;
    const char *a = write_npy("a.npy", "<f4", 0, "(1, 2)", "abcdefgh", 8), *t = write_text("t", "no array");
    const char *two = write_npz("two.npz", a, a, 0);
    check(two, "two.npz", "2 arrays", "'a', 'b'");
    (void)snprintf(member, sizeof member, "%s:c", two);
    check(member, "two.npz", "no member 'c'", "'a', 'b'");
    check(write_npz("text.npz", t, NULL, 0), "text.npz", "no .npy array", "");
    unsigned char *whole = read_whole(two, &size);
    for (int64_t i = 0; i + 5 <= size; i++)
        if (memcmp(whole + i, "b.npy", 5) == 0)
            whole[i] = 'a'; /* its name: nothing tells which is meant */
    (void)snprintf(member, sizeof member, "%s:a", write_file("same.npz", whole, size));
    check(member, "same.npz", "2 members", "'a'");
    free(whole);
    whole = read_whole(two, &size);
    (void)snprintf(member, sizeof member, "%s:a", write_file("cut.npz", whole, size - 30));
    check(member, "cut.npz", "zip", "");
    free(whole);
    whole = read_whole(write_npz("one.npz", a, NULL, 1), &size);
    memset(whole + 40, 0xFF, 20); /* in the compressed data */
    check(write_file("bad.npz", whole, size), "bad.npz", "damaged", "");
    free(whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FILES_TEST(test_files_that_are_not_there),
        FILES_TEST(test_no_permission_is_no_bad_input),
        FILES_TEST(test_something_else),
        FILES_TEST(test_npy_headers),
        FILES_TEST(test_idx),
        FILES_TEST(test_gzip),
        FILES_TEST(test_zip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
