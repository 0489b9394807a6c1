/* Tables of numbers: separators, headers, label columns, and every way to be wrong. */
#include "files.h"
#include "open_table.h"
#include "source/array.h"

#include <math.h>
#include <stdio.h>

/* Reads a table and asserts its numbers [rows, columns] and labels (joined by |, or NULL). */
static void check(const char *path, const char *label_column, int rows, int columns, const float *expected,
                  const char *labels)
{
    rer_error error = {0};
    rer_array array = {0};
    rer_texts texts = {0};
    float *values = malloc((size_t)(rows * columns) * sizeof *values);
    char joined[500] = "";
    if (open_table(&array, labels != NULL ? &texts : NULL, path, label_column, &error) != RER_OK)
        fail_msg("%s", error.message);
    assert_int_equal(array.shape[0], rows);
    assert_int_equal(array.shape[1], columns);
    assert_int_equal(rer_array_rows(&array, 0, rows, values, NULL, &error), RER_OK);
    for (int i = 0; i < rows * columns; i++)
        assert_true(values[i] == expected[i] || (isnan(values[i]) && isnan(expected[i])));
    for (int64_t i = 0; i < texts.count; i++) {
        strcat(joined, i > 0 ? "|" : "");
        strcat(joined, texts.bytes + texts.offset[i]);
    }
    if (labels != NULL)
        assert_string_equal(joined, labels);
    rer_texts_free(&texts);
    rer_array_close(&array);
    free(values);
}

#define VALUES(...) ((const float[]){__VA_ARGS__})

static void test_headers(void **state)
{
    (void)state;
    check(write_text("x.csv", "1,2\n3,4\n"), NULL, 2, 2, VALUES(1, 2, 3, 4), NULL);
    check(write_text("x.csv", "a,b\n3,4\n"), NULL, 1, 2, VALUES(3, 4), NULL);
    check(write_text("x.csv", "0,1,2\n3,4,5\n"), NULL, 1, 3, VALUES(3, 4, 5), NULL); /* as pandas writes */
    check(write_text("x.csv", "0,1,3\n3,4,5"), NULL, 2, 3, VALUES(0, 1, 3, 3, 4, 5), NULL);
    check(write_text("x.csv", "v\n1\n2\n"), NULL, 2, 1, VALUES(1, 2), NULL);
}

static void test_separators_and_line_ends(void **state)
{
    (void)state;
    const float *four = VALUES(1, 2, 3, 4);
    check(write_text("x.tsv", "1\t2\n3\t4\n"), NULL, 2, 2, four, NULL);
    check(write_text("x.txt", "1.0e+00 2.0e+00\n3 4\n"), NULL, 2, 2, four, NULL); /* as np.savetxt writes */
    check(write_text("x.txt", "1,2\n3,4\n"), NULL, 2, 2, four, NULL);
    check(write_text("x.txt", "1\t2\n3\t4\n"), NULL, 2, 2, four, NULL);
    check(write_text("x.csv", "\xEF\xBB\xBF"
                              "1,2\r\n3,4\r\n"),
          NULL, 2, 2, four, NULL);
    check(write_text("x.csv", "1,2\r3,4"), NULL, 2, 2, four, NULL);
    check(write_text("x.csv", "\n1,2\n\n\n3,4\n\n"), NULL, 2, 2, four, NULL);
    check(write_text("x.csv", "\"1\",\"2\"\n 3 ,\t4\n"), NULL, 2, 2, four, NULL);
    check(write_gzip("x.csv.gz", "1,2\n3,4\n", 8), NULL, 2, 2, four, NULL);
    int saved = redirect_input(write_text("in", "1,2\n3,4\n"));
    check("-", NULL, 2, 2, four, NULL);
    restore_input(saved);
}

static void test_numbers(void **state)
{
    (void)state;
    check(write_text("x.csv", "-.5,+2.,1e-3,1E5\n0.1,123456789012345678901234567890,1e300,-1e-300\n"), NULL, 2, 4,
          VALUES(-.5F, 2, 1e-3F, 1e5F, .1F, 123456789012345678901234567890.F, INFINITY, -0.F), NULL);
    check(write_text("x.csv", "a,b\n,nan\nNaN,inf\n-inf,0.30000001192092896\n"), NULL, 3, 2,
          VALUES(NAN, NAN, NAN, INFINITY, -INFINITY, .3F), NULL);
    check(write_text("x.csv", "1\n\n2\n\n"), NULL, 3, 1, VALUES(1, NAN, 2), NULL);
}

static void test_label_column(void **state)
{
    (void)state;
    const char *path = write_text("x.csv", "a,\"the, label\",b\n1,\"x \"\"y\"\"\nz\",2\n3,,4\n5,q,6\n");
    const float *expected = VALUES(1, 2, 3, 4, 5, 6);
    check(path, "the, label", 3, 2, expected, "x \"y\"\nz||q");
    check(path, "2", 3, 2, expected, "x \"y\"\nz||q");
    check(write_text("x.csv", "1,2,cat\n3,4,dog\n"), "3", 2, 2, VALUES(1, 2, 3, 4), "cat|dog");
    check(write_text("x.csv", "0,1,y\n3,4,dog\n"), "3", 1, 2, VALUES(3, 4), "dog");
    check(write_text("x.csv", "0,1,y\n3,4,dog\n"), "y", 1, 2, VALUES(3, 4), "dog");
    check(write_text("x.csv", "0,1,2\n3,4,7\n"), "2", 1, 2, VALUES(3, 4), "7"); /* a name goes before a number */
    check(write_text("x.csv", "8,9,2\n3,4,7\n"), "2", 2, 2, VALUES(8, 2, 3, 7), "9|4");
}

static void test_many_rows(void **state)
{
    (void)state;
    enum { rows = 20000 };
    char *text = malloc(rows * 32);
    float *expected = malloc(rows * 2 * sizeof *expected);
    int used = 0;
    for (int i = 0; i < rows; i++) {
        expected[2 * i] = (float)(i / 8.);
        expected[2 * i + 1] = (float)-i;
        used += sprintf(text + used, "%.3f,%d\n", i / 8., -i);
    }
    check(write_file("x.csv", text, used), NULL, rows, 2, expected, NULL);
    free(text);
    free(expected);
}

static void check_bad(const char *path, const char *label_column, const char *a, const char *b, const char *c)
{
    rer_error error = {0};
    rer_array array = {0};
    rer_texts texts = {0};
    (void)open_table(&array, label_column != NULL ? &texts : NULL, path, label_column, &error);
    assert_bad_input(&error, a, b, c, NULL);
    assert_null(array.name);
    assert_null(texts.bytes);
}

static void test_bad_tables(void **state)
{
    (void)state;
    check_bad(write_text("x.csv", "a,b\n1,2\n3\n"), NULL, "x.csv", "line 3", "1 cells");
    check_bad(write_text("x.csv", "a,b\n1,2\n3,4,5,6\n"), NULL, "x.csv", "line 3", "4 cells");
    check_bad(write_text("x.csv", "a,b\n1,2\n3,4x\n"), NULL, "x.csv", "line 3, column 'b'", "'4x'");
    check_bad(write_text("x.csv", "1,2\n3,0x10\n"), NULL, "x.csv", "line 2, column '2'", "'0x10'");
    check_bad(write_text("x.csv", "1,z\n3,4\n"), NULL, "x.csv", "line 1, column '2'", "'z'");
    check_bad(write_text("x.csv", "a\n\"1\n2\"\n"), NULL, "x.csv", "line 2, column 'a'", "1\\x0a2");
    check_bad(write_text("x.csv", "a,\"b\nc\"\n1,2\n3,x\n"), NULL, "x.csv", "line 4", "'x'"); /* as an editor counts */
    check_bad(write_text("x.csv", "a,b\n1,\"2\n"), NULL, "x.csv", "line 2", "never closed");
    check_bad(write_text("x.csv", "a,b\n1,2\"3\n"), NULL, "x.csv", "line 2", "quote");
    check_bad(write_text("x.csv", "a,b\n"), NULL, "x.csv", "header but no rows", "");
    check_bad(write_text("x.csv", "\n\n"), NULL, "x.csv", "no rows", "");
    check_bad(write_text("x.csv", ",a\n0,5\n1,6\n2,7\n"), NULL, "x.csv", "counts the rows", "index=False");
    check_bad(write_text("x.csv", "a,b\n1,2\n"), "c", "x.csv", "no column 'c'", "'a', 'b'");
    check_bad(write_text("x.csv", "a,b\n1,2\n"), "3", "x.csv", "no column '3'", "1 to 2");
    check_bad(write_text("x.csv", "1,2\n3,4\n"), "b", "x.csv", "no column 'b'", "no header");
    check_bad(write_text("x.csv", "a\n1\n"), "a", "x.csv", "no column of features", "'a'");
    check_bad(write_text("x.csv", "a,b\n1,caf\xE9\n"), "b", "x.csv", "line 2", "caf\\xe9");
    check_bad(write_file("x.csv", "a,b\n1,c\0d\n", 10), "b", "x.csv", "line 2", "zero byte");
}

static void check_texts(const char *path, const char *column, int64_t expected, const char *joined)
{
    rer_error error = {0};
    rer_texts texts = {0};
    rer_header header = {0};
    char got[500] = "";
    if (rer_texts_open(&texts, path, column, expected, &header, &error) != RER_OK)
        fail_msg("%s", error.message);
    for (int64_t i = 0; i < texts.count; i++) {
        strcat(got, i > 0 ? "|" : "");
        strcat(got, texts.bytes + texts.offset[i]);
    }
    assert_string_equal(got, joined);
    rer_texts_free(&texts);
}

static void test_columns_of_texts(void **state)
{
    (void)state;
    check_texts(write_text("y.csv", "label\na\nb\n"), "label", 2, "a|b");
    check_texts(write_text("y.csv", "label\na\nb\n"), NULL, 3, "label|a|b");
    check_texts(write_text("y.csv", "label\na\nb\n"), NULL, -1, "label|a|b");
    check_texts(write_text("y.csv", "a\n\nb\n\n\n"), NULL, 4, "a||b|");
    check_texts(write_text("y.csv", "a\n\nb\n\n\n"), NULL, 3, "a||b");
    check_texts(write_text("y.csv", "\"\"\na\n\nb\n"), NULL, 4, "|a||b");
    check_texts(write_text("y.csv", "\na,b\n"), "2", 1, "b");
    check_texts(write_text("y.txt", "\n\na\n\nb\n\n"), NULL, 5, "||a||b");
    check_texts(write_text("y.txt", "\n\n"), NULL, 2, "|");
    check_texts(write_text("y.csv", "id,label\n1,a\n2,\"b,c\"\n"), "label", 2, "a|b,c");
    check_texts(write_text("y.csv", "id,label\n1,a\n2,b\n"), "2", 3, "label|a|b");
    check_texts(write_text("y.tsv", "a,1\tb\nc\td\n"), "1", 2, "a,1|c");
    check_texts(write_text("y.txt", "a,1\n\"b\n"), NULL, 2, "a,1|\"b");
    check_texts(write_text("names", "a b\r\nc"), NULL, 2, "a b|c");
    int16_t numbers[] = {-3, 12};
    check_texts(write_npy("y.npy", "<i2", 0, "(2,)", numbers, 4), NULL, 2, "-3|12");
}

/* One name too many: the first is a header where it is a word and no other is one, and nobody has to say so. */
static void test_implied_headers(void **state)
{
    (void)state;
    static const struct {
        const char *text, *column;
        const char *header; /* "": none */
    } cases[] = {
        {"id\na/1.png\nb/2.png\n", NULL, "id"},
        {"file_name\n17\n18\n", NULL, "file_name"},
        {"Stra\xC3\x9F"
         "e\nMain St. 1\nMain St. 2\n",
         NULL,
         "Stra\xC3\x9F"
         "e"},
        {"id,y\n7,a\n8,b\n", "1", "id"},
        {"r0\nr1\nr2\n", NULL, ""},        /* one of them */
        {"ann\nbob\ncarl\n", NULL, ""},    /* likewise */
        {"id\nbob\nr2\n", NULL, ""},       /* another word */
        {"17\n18\n19\n", NULL, ""},        /* a number */
        {"nan\n18\n19\n", NULL, ""},       /* another one */
        {"\"\"\nr1\nr2\n", NULL, ""},      /* nothing at all */
        {"file name\nr1\nr2\n", NULL, ""}, /* two words */
        {"id\nr1\nr2\n", "id", ""},        /* asked for */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rer_error error = {0};
        rer_texts texts = {0}, named = {0};
        rer_header header = {0};
        bool is_left_out = cases[i].header[0] != 0 || (cases[i].column != NULL && cases[i].column[0] == 'i');
        const char *path = write_text("ids.csv", cases[i].text);
        assert_int_equal(rer_texts_open(&texts, path, cases[i].column, 2, &header, &error), RER_OK);
        assert_int_equal(texts.count, is_left_out ? 2 : 3);
        assert_string_equal(header.text, cases[i].header);
        rer_texts_free(&texts);
        assert_int_equal(rer_texts_open(&named, path, cases[i].column, 2, NULL, &error), RER_OK);
        assert_int_equal(named.count, header.text[0] == 0 && is_left_out ? 2 : 3); /* who cannot be told gets all */
        rer_texts_free(&named);
    }
}

static void test_bad_columns_of_texts(void **state)
{
    (void)state;
    rer_error error = {0};
    rer_texts texts = {0};
    (void)rer_texts_open(&texts, write_text("y.csv", "id,label\n1,a\n"), NULL, 1, NULL, &error);
    assert_bad_input(&error, "y.csv", "2 columns", "'id', 'label'", NULL);
    error = (rer_error){0};
    (void)rer_texts_open(&texts, write_text("y.csv", "id,label\n1,a\n"), "x", 1, NULL, &error);
    assert_bad_input(&error, "y.csv", "no column 'x'", "'id', 'label'", NULL);
    error = (rer_error){0};
    (void)rer_texts_open(&texts, write_text("y.csv", "\na\nb\n"), NULL, 3, NULL, &error);
    assert_bad_input(&error, "y.csv", "begins with a blank line", "\"\"", NULL);
    error = (rer_error){0};
    (void)rer_texts_open(&texts, write_text("y.txt", "ok\n\xC0\xAF\n"), NULL, 2, NULL, &error);
    assert_bad_input(&error, "y.txt", "line 2", "\\xc0\\xaf", NULL);
    assert_null(texts.bytes);
}

typedef struct told {
    double done;
    int reports, stop_at;
} told;

static bool tell(void *context, const char *stage, double done)
{
    told *t = context;
    assert_string_equal(stage, "reading");
    assert_true(done > t->done && done <= 1);
    t->done = done;
    return ++t->reports == t->stop_at;
}

/* By bytes: it rises to 1, and who is told can stop it. */
static void test_progress(void **state)
{
    (void)state;
    const char *path = "long.csv";
    told seen = {.stop_at = 0}, stops = {.stop_at = 2};
    rer_progress progress = {.report = tell, .context = &seen}, stopping = {.report = tell, .context = &stops};
    rer_files files = {.size = sizeof files, .features = path, .progress = &progress};
    rer_dataset *data = NULL;
    rer_error error = {0};
    FILE *file = fopen(path, "w");
    for (int i = 0; i < 40000; i++)
        fprintf(file, "%d,%d.5\n", i, i);
    fclose(file);
    assert_int_equal(rer_dataset_open(&data, &files, NULL, &error), RER_OK);
    assert_true(seen.reports > 3 && seen.done == 1);
    rer_dataset_free(data);
    files.progress = &stopping;
    data = NULL;
    assert_int_equal(rer_dataset_open(&data, &files, NULL, &error), RER_CANCELLED);
    assert_true(data == NULL && stops.reports == 2);
    remove(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FILES_TEST(test_headers),          FILES_TEST(test_implied_headers),
        FILES_TEST(test_progress),         FILES_TEST(test_separators_and_line_ends),
        FILES_TEST(test_numbers),          FILES_TEST(test_label_column),
        FILES_TEST(test_many_rows),        FILES_TEST(test_bad_tables),
        FILES_TEST(test_columns_of_texts), FILES_TEST(test_bad_columns_of_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
