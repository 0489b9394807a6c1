/* HDF5: contiguous, chunked and compressed data sets, texts, and files that cannot be read. */
#include "files.h"
#include "source/labels.h"

#include <hdf5.h>
#include <pthread.h>
#include <stdio.h>

enum { N = 7, D = 3 };

static void put(hid_t file, const char *name, hid_t type, hid_t space, hid_t plist, hid_t memory, const void *data)
{
    hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    assert_true(dataset >= 0);
    assert_true(H5Dwrite(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
    (void)H5Dclose(dataset);
}

static hid_t text_type(size_t size)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    (void)H5Tset_size(type, size);
    if (size != H5T_VARIABLE)
        (void)H5Tset_strpad(type, H5T_STR_NULLPAD);
    return type;
}

/* x [N, D] in several layouts, y [N] as texts and integers, in a file with a user block or without. */
static const char *write_h5(const char *name, hsize_t user_block)
{
    const char *path = file_path(name);
    float x[N * D];
    for (int i = 0; i < N * D; i++)
        x[i] = (float)i - 4;
    hsize_t shape[] = {N, D}, chunk[] = {3, 2}, length = N;
    hid_t creation = H5Pcreate(H5P_FILE_CREATE), plist = H5Pcreate(H5P_DATASET_CREATE);
    (void)H5Pset_userblock(creation, user_block);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, creation, H5P_DEFAULT);
    assert_true(file >= 0);
    hid_t matrix = H5Screate_simple(2, shape, NULL), vector = H5Screate_simple(1, &length, NULL);
    put(file, "plain", H5T_IEEE_F32LE, matrix, H5P_DEFAULT, H5T_NATIVE_FLOAT, x);
    put(file, "big", H5T_IEEE_F64BE, matrix, H5P_DEFAULT, H5T_NATIVE_FLOAT, x);
    put(file, "short", H5T_STD_I16BE, matrix, H5P_DEFAULT, H5T_NATIVE_FLOAT, x);
    (void)H5Pset_chunk(plist, 2, chunk);
    put(file, "chunks", H5T_IEEE_F32LE, matrix, plist, H5T_NATIVE_FLOAT, x);
    (void)H5Pset_shuffle(plist);
    (void)H5Pset_deflate(plist, 6);
    hid_t group = H5Gcreate2(file, "deep", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    put(file, "deep/packed", H5T_IEEE_F64LE, matrix, plist, H5T_NATIVE_FLOAT, x);

    const char *words[N] = {"dog", "cat", "", "a long, long text", "cat", "\xC3\xA4", "dog"};
    hid_t variable = text_type(H5T_VARIABLE), fixed = text_type(4);
    put(file, "words", variable, vector, H5P_DEFAULT, variable, words);
    put(file, "fixed", fixed, vector, H5P_DEFAULT, fixed, "dog\0cat\0\0\0\0\0abcdcat\0\xC3\xA4\0\0dog\0");
    int64_t numbers[N] = {5, -3, 5, 9, INT64_MAX, 9, 5};
    put(file, "numbers", H5T_STD_I64LE, vector, H5P_DEFAULT, H5T_NATIVE_INT64, numbers);
    int8_t no = 0, yes = 1, flags[N] = {1, 0, 0, 1, 1, 0, 1};
    hid_t boolean = H5Tenum_create(H5T_STD_I8LE); /* as h5py writes bool */
    (void)H5Tenum_insert(boolean, "FALSE", &no);
    (void)H5Tenum_insert(boolean, "TRUE", &yes);
    put(file, "flags", boolean, vector, H5P_DEFAULT, boolean, flags);
    hid_t compound = H5Tcreate(H5T_COMPOUND, 8);
    (void)H5Tinsert(compound, "a", 0, H5T_NATIVE_DOUBLE);
    put(file, "compound", compound, vector, H5P_DEFAULT, compound, numbers);

    hsize_t absurd[] = {(hsize_t)1 << 40, 1 << 10};
    hid_t sparse = H5Screate_simple(2, absurd, NULL); /* nothing is ever written to it */
    (void)H5Dclose(H5Dcreate2(file, "absurd", H5T_IEEE_F32LE, sparse, H5P_DEFAULT, plist, H5P_DEFAULT));
    (void)H5Gclose(group);
    (void)H5Tclose(variable), (void)H5Tclose(fixed), (void)H5Tclose(boolean), (void)H5Tclose(compound);
    (void)H5Sclose(matrix), (void)H5Sclose(vector), (void)H5Sclose(sparse);
    (void)H5Pclose(plist), (void)H5Pclose(creation);
    assert_true(H5Fclose(file) >= 0);
    return path;
}

static void check_matrix(const char *path, const char *member, bool in_place)
{
    char full[600];
    rer_error error = {0};
    rer_array array = {0};
    float rows[N * D];
    char scratch[N * D * 8];
    (void)snprintf(full, sizeof full, "%s:%s", path, member);
    if (rer_array_open(&array, full, &error) != RER_OK)
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

static void test_layouts(void **state)
{
    (void)state;
    for (hsize_t user_block = 0; user_block <= 1024; user_block += 1024) {
        const char *path = write_h5("x.h5", user_block);
        check_matrix(path, "/plain", true);
        check_matrix(path, "big", true);
        check_matrix(path, "short", true);
        check_matrix(path, "chunks", false);
        check_matrix(path, "/deep/packed", false);
    }
}

static void test_gzipped_and_standard_input(void **state)
{
    (void)state;
    int64_t size = 0;
    unsigned char *whole = read_whole(write_h5("x.h5", 0), &size);
    const char *packed = write_gzip("x.h5.gz", whole, size);
    check_matrix(packed, "plain", true); /* in the temporary file */
    check_matrix(packed, "deep/packed", false);
    int saved = redirect_input(file_path("x.h5"));
    check_matrix("-", "/plain", true);
    restore_input(saved);
    free(whole);
}

static void check_labels(const char *path, const char *member, const char *joined)
{
    char full[600], got[200] = "";
    rer_error error = {0};
    rer_array array = {0};
    rer_labels labels = {0};
    (void)snprintf(full, sizeof full, "%s:%s", path, member);
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
    (void)state;
    const char *path = write_h5("y.h5", 0);
    check_labels(path, "words", "dog|cat||a long, long text|cat|\xC3\xA4|dog");
    check_labels(path, "fixed", "dog|cat||abcd|cat|\xC3\xA4|dog");
    check_labels(path, "numbers", "5|-3|5|9|9223372036854775807|9|5");
    check_labels(path, "flags", "1|0|0|1|1|0|1");
}

static void *open_many(void *path)
{
    for (int i = 0; i < 20; i++)
        check_matrix(path, i % 2 ? "plain" : "deep/packed", i % 2);
    return NULL;
}

static void test_two_threads(void **state)
{
    (void)state;
    char path[512];
    pthread_t threads[2];
    strcpy(path, write_h5("x.h5", 0));
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, open_many, path), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static void check_bad(const char *path, const char *a, const char *b)
{
    rer_error error = {0};
    rer_array array = {0};
    (void)rer_array_open(&array, path, &error);
    assert_bad_input(&error, a, b, ".h5", NULL);
    assert_null(array.name);
}

static void test_bad_files(void **state)
{
    (void)state;
    char member[600];
    int64_t size = 0;
    const char *path = write_h5("x.h5", 0);
    check_bad(path, "holds", "'plain'");
    (void)snprintf(member, sizeof member, "%s:/nothing", path);
    check_bad(member, "'/nothing'", "'deep'");
    (void)snprintf(member, sizeof member, "%s:/deep", path);
    check_bad(member, "no data set '/deep'", "'deep'");
    (void)snprintf(member, sizeof member, "%s:/compound", path);
    check_bad(member, "compound", "not read");
    (void)snprintf(member, sizeof member, "%s:/absurd", path);
    check_bad(member, "absurd", "only 0 are stored");
    unsigned char *whole = read_whole(path, &size);
    (void)snprintf(member, sizeof member, "%s:/plain", write_file("cut.h5", whole, size / 2));
    check_bad(member, "cut.h5", "truncated");
    check_bad(write_text("no.h5", "nothing of the kind"), "no.h5", "HDF5 cannot open");
    free(whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FILES_TEST(test_layouts),   FILES_TEST(test_gzipped_and_standard_input),
        FILES_TEST(test_labels),    FILES_TEST(test_two_threads),
        FILES_TEST(test_bad_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
