/* Data sets: pictures or features, labels, ids and class names together, from files and from memory. */
#include "files.h"
#include "source/dataset.h"

#include <stdio.h>

static rer_dataset *open_data(const rer_files *files, int32_t features)
{
    rer_error error = {0};
    rer_dataset *data = NULL;
    rer_options options = rer_options_default();
    options.features = features;
    if (rer_dataset_open(&data, files, &options, &error) != RER_OK)
        fail_msg("%s", error.message);
    return data;
}

static void check_bad(const rer_files *files, const char *a, const char *b, const char *c)
{
    rer_error error = {0};
    rer_dataset *data = NULL;
    rer_options options = rer_options_default();
    (void)rer_dataset_open(&data, files, &options, &error);
    assert_bad_input(&error, a, b, c, NULL);
    assert_null(data);
}

static const char *write_features(const char *name)
{
    float x[] = {1, 2, 3, 4, 5, 6};
    return write_npy(name, "<f4", 0, "(3, 2)", x, sizeof x);
}

static void test_everything_together(void **state)
{
    (void)state;
    rer_files files = {.size = sizeof files,
                       .features = write_features("x.npy"),
                       .labels = write_text("y.csv", "label\nb\n\na\n"),
                       .ids = write_text("ids.txt", "r0\nr1\nr2\n"),
                       .class_names = write_text("names.txt", "Apple\nBanana\n")};
    rer_dataset *data = open_data(&files, RER_HOG);
    assert_int_equal(rer_dataset_rows(data), 3);
    assert_int_equal(rer_dataset_columns(data), 2);
    assert_int_equal(rer_dataset_classes(data), 2);
    assert_string_equal(rer_dataset_class_name(data, 1), "Banana");
    assert_null(rer_dataset_class_name(data, 2));
    assert_null(rer_dataset_class_name(data, -1));
    assert_string_equal(rer_dataset_id(data, 2), "r2");
    assert_null(rer_dataset_id(data, 3));
    assert_false(rer_dataset_is_pictures(data, NULL));
    assert_int_equal(data->labels.codes[0], 1);
    assert_int_equal(data->labels.codes[1], -1);
    assert_int_equal(data->labels.codes[2], 0);
    rer_dataset_free(data);
}

static void test_label_columns(void **state)
{
    (void)state;
    rer_files files = {
        .size = sizeof files, .features = write_text("x.csv", "a,b,y\n1,2,p\n3,4,q\n5,6,p\n"), .label_column = "y"};
    rer_dataset *data = open_data(&files, RER_HOG);
    assert_int_equal(rer_dataset_columns(data), 2);
    assert_int_equal(data->labels.codes[1], 1);
    rer_dataset_free(data);
    files = (rer_files){
        .size = sizeof(rer_files), .features = write_features("x.npy"), .labels = files.features, .label_column = "y"};
    data = open_data(&files, RER_HOG); /* a column of the file of labels */
    assert_int_equal(data->labels.codes[1], 1);
    rer_dataset_free(data);
}

/* The rows that are left of labels, ids and texts with one row too many, or what is wrong with them. */
static void test_first_row_too_many(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text;
        const char *note; /* NULL: refused */
    } cases[] = {
        {"labels", "label\nb\n\na\n", "'label'"},
        {"labels", "class name\n1\n0\n1\n", "'class name'"},
        {"labels", "b\nb\na\na\n", NULL}, /* a class like the others */
        {"labels", "0\n1\n0\n1\n", NULL},
        {"labels", "2\n1\n0\n1\n", NULL}, /* a number is no header, whatever else is there */
        {"labels", "2.5e3\nb\na\na\n", NULL},
        {"labels", "\"\"\nb\na\na\n", NULL},
        {"groups", "video\n1\n1\n2\n", "'video'"},
        {"groups", "1\n1\n1\n2\n", NULL},
        {"subsets", "ann\nann\nbob\nbob\n", NULL},
        {"ids", "id\nr0\nr1\nr2\n", "'id'"},
        {"ids", "r0\nr1\nr2\nr3\n", NULL},
        {"texts", "body\nso good\nso bad\noh well\n", "'body'"},
        {"texts", "text\ngood\nbad\nwell\n", ""}, /* the name that is looked for */
        {"texts", "so so\nso good\nso bad\noh well\n", NULL},
        {"texts", "fine\nso good\nso bad\nwell\n", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path = write_text("rows.csv", cases[i].text), *what = cases[i].name;
        rer_files files = {.size = sizeof files,
                           .features = write_features("x.npy"),
                           .labels = strcmp(what, "labels") == 0 ? path : NULL,
                           .ids = strcmp(what, "ids") == 0 ? path : NULL,
                           .groups = strcmp(what, "groups") == 0 ? path : NULL,
                           .subsets = strcmp(what, "subsets") == 0 ? path : NULL,
                           .texts = strcmp(what, "texts") == 0 ? path : NULL};
        if (cases[i].note == NULL) {
            check_bad(&files, strcmp(what, "texts") == 0 ? "rows.csv: has 4" : "rows.csv has 4", "3 rows",
                      "FILE:COLUMN");
            continue;
        }
        rer_dataset *data = open_data(&files, RER_HOG);
        assert_int_equal(data->notes.count, cases[i].note[0] != 0);
        if (data->notes.count > 0) {
            assert_non_null(strstr(data->notes.text[0], "rows.csv"));
            assert_non_null(strstr(data->notes.text[0], cases[i].note));
        }
        rer_dataset_free(data);
    }
}

/* Names of columns belong to the data set that read them alone: both are freed. */
static void test_relabelled_table(void **state)
{
    (void)state;
    const int32_t codes[] = {1, 0, 1};
    rer_error error = {0};
    rer_dataset *other = NULL;
    rer_files files = {
        .size = sizeof files, .features = write_text("x.csv", "a,b,y\n1,2,p\n3,4,q\n5,6,p\n"), .label_column = "y"};
    rer_dataset *data = open_data(&files, RER_HOG);
    assert_int_equal(rer_dataset_relabel(&other, data, codes, &error), RER_OK);
    assert_int_equal(other->labels.codes[0], 1);
    rer_dataset_free(other);
    assert_string_equal(data->columns.bytes + data->columns.offset[1], "b");
    rer_dataset_free(data);
}

static void test_pictures(void **state)
{
    (void)state;
    uint8_t pixels[2 * 8 * 8 * 3];
    int64_t shape[3] = {0};
    float rows[2 * 8 * 8 * 3];
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (uint8_t)(i * 37);
    rer_files files = {.size = sizeof files,
                       .features = write_npy("x.npy", "|u1", 0, "(2, 8, 8, 3)", pixels, sizeof pixels)};
    rer_dataset *raw = open_data(&files, RER_RAW);
    assert_true(rer_dataset_is_pictures(raw, shape));
    assert_int_equal(shape[0] * 100 + shape[1] * 10 + shape[2], 883);
    assert_int_equal(rer_dataset_columns(raw), 192);
    void *scratch = malloc((size_t)rer_dataset_scratch(raw, 2));
    assert_int_equal(rer_dataset_rows_read(raw, 0, 2, rows, scratch, NULL), RER_OK);
    for (size_t i = 0; i < sizeof pixels; i++)
        assert_true(rows[i] == (float)pixels[i]);
    free(scratch);
    rer_dataset_free(raw);
}

/* The descriptor of pictures in a file, in memory and in Fortran order is the same. */
static void test_descriptor(void **state)
{
    (void)state;
    enum { n = 3, h = 8, w = 12 };
    uint8_t pixels[n * h * w], fortran[n * h * w];
    for (int i = 0; i < n * h * w; i++) {
        pixels[i] = (uint8_t)(i * i / 7);
        fortran[i / (h * w) + n * (i / w % h + h * (i % w))] = pixels[i];
    }
    int64_t size = 0;
    unsigned char *whole = read_whole(write_npy("c.npy", "|u1", 0, "(3, 8, 12)", pixels, sizeof pixels), &size);
    const char *paths[] = {file_path("c.npy"), write_npy("f.npy", "|u1", 1, "(3, 8, 12)", fortran, sizeof fortran),
                           write_gzip("c.npy.gz", whole, size)};
    float *expected = NULL;
    free(whole);
    for (int i = 0; i < 3; i++) {
        rer_files files = {.size = sizeof files, .features = paths[i]};
        rer_dataset *data = open_data(&files, RER_HOG);
        assert_true(data->hog);
        size_t bytes = (size_t)(2 * data->D) * sizeof(float);
        float *rows = malloc(bytes);
        void *scratch = NULL;
        assert_int_equal(posix_memalign(&scratch, 64, (size_t)rer_dataset_scratch(data, 2)), 0);
        assert_int_equal(rer_dataset_rows_read(data, 1, 2, rows, scratch, NULL), RER_OK);
        if (expected != NULL)
            assert_memory_equal(rows, expected, bytes);
        free(scratch);
        if (expected == NULL)
            expected = rows;
        else
            free(rows);
        rer_dataset_free(data);
    }
    free(expected);
}

static void test_memory(void **state)
{
    (void)state;
    rer_error error = {0};
    rer_dataset *data = NULL;
    rer_options options = rer_options_default();
    double x[] = {1, 2, 3, 4};
    int32_t y[] = {7, -7};
    rer_view features = {.data = x, .dtype = RER_F64, .rank = 2, .shape = {2, 2}};
    rer_view labels = {.data = y, .dtype = RER_I32, .rank = 1, .shape = {2}};
    float rows[4], scratch[8];
    assert_int_equal(rer_dataset_wrap(&data, &features, &labels, &options, &error), RER_OK);
    assert_int_equal(rer_dataset_rows_read(data, 0, 2, rows, scratch, &error), RER_OK);
    assert_true(rows[0] == 1 && rows[3] == 4);
    assert_string_equal(rer_dataset_class_name(data, 0), "-7");
    rer_dataset_free(data);
    data = NULL;

    features.data = NULL; /* the same rows in a file, after a byte of something else */
    char raw[1 + sizeof x] = "?";
    memcpy(raw + 1, x, sizeof x);
    features.path = write_file("x.raw", raw, sizeof raw);
    features.offset = 1;
    assert_int_equal(rer_dataset_wrap(&data, &features, &labels, &options, &error), RER_OK);
    assert_int_equal(rer_dataset_rows_read(data, 0, 2, rows, scratch, &error), RER_OK);
    assert_true(rows[0] == 1 && rows[3] == 4);
    rer_dataset_free(data);
    data = NULL;
    features.offset = 2;
    assert_int_equal(rer_dataset_wrap(&data, &features, &labels, &options, &error), RER_BAD_INPUT);
    assert_bad_input(&error, "x.raw", "truncated", NULL);
    error = (rer_error){0};
    features.offset = -1;
    assert_int_equal(rer_dataset_wrap(&data, &features, &labels, &options, &error), RER_BAD_INPUT);
    assert_bad_input(&error, "x.raw", "offset -1", NULL);
    error = (rer_error){0};
    features = (rer_view){.data = x, .dtype = RER_F64, .rank = 2, .shape = {2, 2}};

    labels.shape[0] = 1;
    assert_int_equal(rer_dataset_wrap(&data, &features, &labels, &options, &error), RER_BAD_INPUT);
    assert_bad_input(&error, "1 labels", "2 rows", NULL);
    error = (rer_error){0};
    features.rank = 5;
    assert_int_equal(rer_dataset_wrap(&data, &features, NULL, &options, &error), RER_BAD_USAGE);
    features = (rer_view){.data = x, .dtype = RER_F64, .rank = 2, .shape = {INT64_MAX / 2, 8}};
    error = (rer_error){0};
    assert_int_equal(rer_dataset_wrap(&data, &features, NULL, &options, &error), RER_BAD_INPUT);
    labels = (rer_view){.data = y, .dtype = RER_BYTES, .item_size = 0, .rank = 1, .shape = {2}};
    features = (rer_view){.data = x, .dtype = RER_F64, .rank = 2, .shape = {2, 2}};
    error = (rer_error){0};
    assert_int_equal(rer_dataset_wrap(&data, &features, &labels, &options, &error), RER_BAD_USAGE);
    assert_null(data);
}

/* Labels, names and ids given later make the data set that files of them would have made. */
static void test_set_later(void **state)
{
    (void)state;
    rer_error error = {0};
    static const char *const names[] = {"Apple", "Banana"}, *const ids[] = {"r0", "r1", "r2"};
    rer_files files = {.size = sizeof files,
                       .features = write_features("x.npy"),
                       .labels = write_text("y.csv", "b\n\na\n"),
                       .ids = write_text("ids.txt", "r0\nr1\nr2\n"),
                       .class_names = write_text("names.txt", "Apple\nBanana\n")};
    rer_dataset *expected = open_data(&files, RER_HOG);
    files = (rer_files){.size = sizeof(rer_files), .features = files.features};
    rer_dataset *data = open_data(&files, RER_HOG);
    rer_view labels = {.data = "b\0a", .dtype = RER_BYTES, .item_size = 1, .rank = 1, .shape = {3}};
    assert_int_equal(rer_dataset_set_class_names(data, names, 2, &error), RER_BAD_USAGE); /* no labels yet */
    error = (rer_error){0};
    assert_int_equal(rer_dataset_set_labels(data, &labels, &error), RER_OK);
    assert_int_equal(rer_dataset_set_class_names(data, names, 2, &error), RER_OK);
    assert_int_equal(rer_dataset_set_ids(data, ids, 3, &error), RER_OK);
    assert_true(data->labels_checksum == expected->labels_checksum); /* of all codes and names */
    for (int64_t row = 0; row < 3; row++)
        assert_string_equal(rer_dataset_id(data, row), rer_dataset_id(expected, row));

    assert_int_equal(rer_dataset_set_class_names(data, names, 1, &error), RER_BAD_INPUT);
    assert_bad_input(&error, "1 class names", "2 classes", NULL);
    error = (rer_error){0};
    assert_int_equal(rer_dataset_set_ids(data, ids, 2, &error), RER_BAD_INPUT);
    assert_bad_input(&error, "2 ids", "3 rows", NULL);
    error = (rer_error){0};
    labels.shape[0] = 2;
    assert_int_equal(rer_dataset_set_labels(data, &labels, &error), RER_BAD_INPUT);
    assert_true(data->labels_checksum == expected->labels_checksum); /* unchanged on errors */
    rer_dataset_free(data);
    rer_dataset_free(expected);
}

static void test_checksums(void **state)
{
    (void)state;
    int64_t labels[] = {1, 2, 1};
    rer_files files = {.size = sizeof files,
                       .features = write_features("x.npy"),
                       .labels = write_npy("y.npy", "<i8", 0, "(3,)", labels, sizeof labels)};
    rer_dataset *a = open_data(&files, RER_HOG);
    files.labels = write_text("y.csv", "1\n2\n1\n");
    rer_dataset *b = open_data(&files, RER_HOG);
    assert_true(a->features_checksum == b->features_checksum);
    assert_true(a->labels_checksum == b->labels_checksum); /* the same labels in another file */
    files.labels = write_text("y.csv", "1\n2\n2\n");
    rer_dataset *c = open_data(&files, RER_HOG);
    assert_true(a->labels_checksum != c->labels_checksum);
    float x[] = {1, 2, 3, 4, 5, 7};
    files = (rer_files){.size = sizeof(rer_files), .features = write_npy("x2.npy", "<f4", 0, "(3, 2)", x, sizeof x)};
    rer_dataset *d = open_data(&files, RER_HOG);
    assert_true(a->features_checksum != d->features_checksum);
    rer_dataset_free(a), rer_dataset_free(b), rer_dataset_free(c), rer_dataset_free(d);
}

static void test_bad_data(void **state)
{
    (void)state;
    const char *x = write_features("x.npy");
    check_bad(&(rer_files){.size = sizeof(rer_files), .features = x, .labels = write_text("y.csv", "a\nb\n")},
              "x.npy has 3 rows", "y.csv has 2 labels", "");
    check_bad(&(rer_files){.size = sizeof(rer_files), .features = x, .ids = write_text("ids.txt", "a\n")},
              "x.npy has 3 rows", "ids.txt has 1 ids", "");
    check_bad(&(rer_files){.size = sizeof(rer_files), .features = x, .label_column = "y"}, "x.npy", "column 'y'", "");
    check_bad(&(rer_files){.size = sizeof(rer_files), .features = write_npy("r1.npy", "<f4", 0, "(2,)", "abcdefgh", 8)},
              "r1.npy", "(2,)", "swapped");
    check_bad(
        &(rer_files){.size = sizeof(rer_files), .features = write_npy("r3.npy", "<f4", 0, "(1, 2, 1)", "abcdefgh", 8)},
        "r3.npy", "(1, 2, 1)", "float32");
    check_bad(&(rer_files){.size = sizeof(rer_files),
                           .features = write_npy("r4.npy", "|u1", 0, "(1, 1, 1, 8)", "abcdefgh", 8)},
              "r4.npy", "(1, 1, 1, 8)", "channels");
    check_bad(
        &(rer_files){.size = sizeof(rer_files), .features = write_npy("s.npy", "|S8", 0, "(1, 1)", "abcdefgh", 8)},
        "s.npy", "texts", "numbers");
}

static void test_bad_usage(void **state)
{
    (void)state;
    rer_error error = {0};
    rer_dataset *data = NULL;
    rer_options options = rer_options_default();
    rer_files twice = {.size = sizeof twice, .features = "-", .labels = "-"};
    assert_int_equal(rer_dataset_open(&data, &twice, &options, &error), RER_BAD_USAGE);
    rer_files none = {.size = sizeof none};
    error = (rer_error){0};
    assert_int_equal(rer_dataset_open(&data, &none, &options, &error), RER_BAD_USAGE);
    rer_files names = {.size = sizeof names, .features = write_features("x.npy"), .class_names = "n.txt"};
    error = (rer_error){0};
    assert_int_equal(rer_dataset_open(&data, &names, &options, &error), RER_BAD_USAGE);
    assert_null(data);
    rer_dataset_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FILES_TEST(test_everything_together),
        FILES_TEST(test_label_columns),
        FILES_TEST(test_pictures),
        FILES_TEST(test_descriptor),
        FILES_TEST(test_memory),
        FILES_TEST(test_set_later),
        FILES_TEST(test_checksums),
        FILES_TEST(test_bad_data),
        FILES_TEST(test_bad_usage),
        FILES_TEST(test_relabelled_table),
        FILES_TEST(test_first_row_too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
