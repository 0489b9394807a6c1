/* HDF5: every layout, as h5py wrote it (tests/fuzz/make_corpus.py), texts, files that cannot be read, and every
 * change of a byte. tests/cli/test_hdf5.py has what is larger, against h5py itself. */
#include "files.h"
#include "source/labels.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

enum { N = 7, D = 3 };
#ifdef __SANITIZE_ADDRESS__ /* which keeps what was freed */
enum { MORE_MAX = 1 << 20 };
#else
enum { MORE_MAX = 1 << 10 }; /* kilobytes that a changed file may take more than a sound one */
#endif

static const char *seed(const char *name)
{
    static char path[8][600];
    static int next;
    char *at = path[next++ % 8];
    (void)snprintf(at, sizeof *path, SEEDS "/%s", name);
    return at;
}

/* x [N, D] counts from -4 on. */
static void check_matrix(const char *path, bool in_place)
{
    rer_error error = {0};
    rer_array array = {0};
    float rows[N * D];
    char scratch[N * D * 8];
    if (rer_array_open(&array, path, &error) != RER_OK)
        fail_msg("%s", error.message);
    assert_int_equal(array.rank, 2);
    assert_int_equal(array.shape[0], N);
    assert_int_equal(array.shape[1], D);
    assert_int_equal(array.data == NULL, in_place);
    assert_int_equal(rer_array_rows(&array, 0, N, rows, scratch, &error), RER_OK);
    for (int i = 0; i < N * D; i++)
        assert_true(rows[i] == (float)i - 4);
    rer_array_close(&array);
}

static const char *const chunked[] = {"old_chunked", "old_packed",   "single",     "single_packed",
                                      "fixed",       "fixed_packed", "extensible", "extensible_packed",
                                      "tree",        "tree_packed"};

static void test_layouts(void **state)
{
    char path[700];
    (void)state;
    check_matrix(seed("contiguous"), true);
    check_matrix(seed("old_contiguous"), true);
    check_matrix(seed("big_endian"), true);
    for (int i = 0; i < RER_COUNT(chunked); i++)
        check_matrix(seed(chunked[i]), false);
    (void)snprintf(path, sizeof path, "%s:/x", seed("old_packed"));
    check_matrix(path, false);
}

/* Addresses count from behind it, also where it was put there later. */
static void test_user_block(void **state)
{
    (void)state;
    int64_t size = 0;
    unsigned char *whole = read_whole(seed("old_contiguous"), &size), *moved = calloc(1, (size_t)size + 1024);
    memcpy(moved + 1024, whole, (size_t)size);
    check_matrix(write_file("moved.h5", moved, size + 1024), true);
    free(moved);
    free(whole);
}

static void test_gzipped_and_standard_input(void **state)
{
    (void)state;
    int64_t size = 0;
    unsigned char *whole = read_whole(seed("fixed_packed"), &size);
    check_matrix(write_gzip("x.h5.gz", whole, size), false);
    int saved = redirect_input(seed("old_packed"));
    check_matrix("-", false);
    restore_input(saved);
    free(whole);
}

static void check_labels(const char *name, const char *member, const char *joined)
{
    char full[700], got[200] = "";
    rer_error error = {0};
    rer_array array = {0};
    rer_labels labels = {0};
    (void)snprintf(full, sizeof full, "%s:%s", seed(name), member);
    if (rer_array_open(&array, full, &error) != RER_OK || rer_labels_from_array(&labels, &array, &error) != RER_OK)
        fail_msg("%s", error.message);
    for (int i = 0; i < N; i++) {
        strcat(got, i > 0 ? "|" : "");
        if (labels.codes[i] >= 0)
            strcat(got, labels.names.bytes + labels.names.offset[labels.codes[i]]);
    }
    assert_string_equal(got, joined);
    rer_labels_free(&labels);
    rer_array_close(&array);
}

static void test_labels(void **state)
{
    static const char *const files[] = {"texts", "old_texts"};
    (void)state;
    for (int i = 0; i < RER_COUNT(files); i++) {
        check_labels(files[i], "w", "dog|cat||a long, long text|cat|\xC3\xA4|dog");
        check_labels(files[i], "deep/fixed", "dog|cat||a lo|cat|\xC3\xA4|dog");
        check_labels(files[i], "/deep/numbers", "5|-3|5|9|9223372036854775807|9|5");
        check_labels(files[i], "x", "5|-3|5|9|9223372036854775807|9|5"); /* a soft link */
    }
    check_labels("texts", "deep//./flags", "1|0|0|1|1|0|1");
}

static void *open_many(void *unused)
{
    for (int i = 0; i < 20; i++)
        check_matrix(i % 2 ? SEEDS "/old_contiguous" : SEEDS "/old_packed", i % 2); /* seed() is for one thread */
    return unused;
}

static void test_two_threads(void **state)
{
    (void)state;
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, open_many, NULL), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static void check_bad(const char *path, const char *a, const char *b)
{
    rer_error error = {0};
    rer_array array = {0};
    (void)rer_array_open(&array, path, &error);
    assert_bad_input(&error, a, b, NULL);
    assert_null(array.name);
}

static void test_bad_files(void **state)
{
    (void)state;
    static const struct {
        const char *member, *a, *b;
    } cases[] = {{"", "holds 4 data sets or groups", "'w', 'deep', 'x', 'other'"},
                 {"/nothing", "no data set '/nothing'", "'deep'"},
                 {"/deep/nothing", "no data set '/deep/nothing'", "'flags'"},
                 {"w/x", "no data set 'w/x'", "is a data set, not a group"},
                 {"/deep", "is a group", "/deep"},
                 {"other", "link to another file", "'other.h5'"}};
    char member[700];
    int64_t size = 0;
    for (int i = 0; i < RER_COUNT(cases); i++) {
        (void)snprintf(member, sizeof member, "%s:%s", seed("texts"), cases[i].member);
        check_bad(member, cases[i].a, cases[i].b);
    }
    unsigned char *whole = read_whole(seed("contiguous"), &size);
    check_bad(write_file("cut.h5", whole, size / 2), "cut.h5", "truncated");
    check_bad(write_text("no.h5", "nothing of the kind"), "no.h5", "is no HDF5 file");
    free(whole);
    whole = read_whole(seed("old_packed"), &size); /* whose headers have no checksum */
    int64_t name = 0;
    while (name + 12 < size && memcmp(whole + name, "shuffle", sizeof "shuffle") != 0)
        name++;
    assert_true(name + 12 < size);
    whole[name + 11] = 0x7F; /* items of two billion bytes: they are not counted through */
    check_bad(write_file("items.h5", whole, size), "items.h5", "cannot be unshuffled");
    free(whole);
}

/* ---- every change of a byte -------------------------------------------------------------- */

/* Reads all of it; it must be there, or be refused as bad input. */
static void try_path(const char *path)
{
    rer_error error = {0};
    rer_texts texts = {0};
    rer_status status = rer_texts_open(&texts, path, NULL, -1, NULL, &error);
    rer_texts_free(&texts);
    if (status != RER_OK && status != RER_BAD_INPUT)
        fail_msg("status %d: %s", (int)status, error.message);
}

static int64_t peak_kilobytes(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

static void put_byte(int fd, int64_t at, unsigned char value)
{
    assert_int_equal(pwrite(fd, &value, 1, (off_t)at), 1);
}

/* Each byte of the file, at a step, takes each other value, at a step. */
static void change_bytes(const char *name, const char *member, int byte_step, int value_step)
{
    char path[700];
    int64_t size = 0;
    unsigned char *whole = read_whole(seed(name), &size);
    const char *file = write_file("changed.h5", whole, size);
    int fd = open(file, O_WRONLY);
    int64_t before = peak_kilobytes();
    (void)snprintf(path, sizeof path, "%s%s", file, member);
    for (int64_t i = 0; i < size; i += byte_step) {
        for (int change = 1 + (int)(i % value_step); change < 256; change += value_step) {
            put_byte(fd, i, whole[i] ^ (unsigned char)change);
            try_path(path);
        }
        put_byte(fd, i, whole[i]);
    }
    (void)close(fd);
    free(whole);
    assert_in_range(peak_kilobytes() - before, 0, MORE_MAX);
}

static void change_five_files(int byte_step, int value_step)
{
    change_bytes("old_packed", "", byte_step, value_step);
    change_bytes("old_texts", ":w", byte_step, value_step);
    change_bytes("extensible_packed", "", byte_step, value_step);
    change_bytes("fixed", "", byte_step, value_step);
    change_bytes("texts", ":w", byte_step, value_step);
}

static void test_some_changes(void **state)
{
    (void)state;
    change_five_files(3, 101);
}

static void test_every_change(void **state)
{
    (void)state;
    change_five_files(1, 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FILES_TEST(test_layouts),      FILES_TEST(test_user_block),  FILES_TEST(test_gzipped_and_standard_input),
        FILES_TEST(test_labels),       FILES_TEST(test_two_threads), FILES_TEST(test_bad_files),
        FILES_TEST(test_some_changes),
    };
    const struct CMUnitTest slow[] = {FILES_TEST(test_every_change)};
    if (argc == 2 && strcmp(argv[1], "all") == 0)
        return cmocka_run_group_tests(slow, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
