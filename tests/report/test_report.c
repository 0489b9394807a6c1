/* The four files: escaping, numbers that read back, all files or none. */
#include "report/report.h"
#include "result_fixture.h"

#include <limits.h>
#include <signal.h>
#include <sys/resource.h>

#define EVIL "</script><img src=x onerror=alert(1)>\"'&"

static void numbers_read_back(void **state)
{
    (void)state;
    char text[RER_NUMBER_MAX];
    for (uint32_t bits = 1; bits < 0x7F800000U - 9973U; bits += 9973U) {
        float value;
        memcpy(&value, &bits, sizeof value);
        int length = rer_format_number(text, value);
        assert_true(length > 0 && length < RER_NUMBER_MAX - 1 && (size_t)length == strlen(text));
        assert_true(strtof(text, NULL) == value);
    }
}

static void numbers_are_short(void **state)
{
    (void)state;
    const struct {
        float value;
        const char *text;
    } cases[] = {{0, "0"},          {1, "1"},          {1.3F, "1.3"},    {0.1F, "0.1"},    {-2.5F, "-2.5"},
                 {1e6F, "1000000"}, {0.001F, "0.001"}, {1e-7F, "1e-07"}, {1e12F, "1e+12"}, {99999.99F, "99999.99"}};
    char text[RER_NUMBER_MAX];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        (void)rer_format_number(text, cases[i].value);
        assert_string_equal(text, cases[i].text);
    }
}

static test_fixture small_fixture(void)
{
    test_fixture fixture = fixture_make(3, 3, 1);
    rer_result *result = fixture.result;
    fixture_rename(&fixture, 0, "a,b");
    fixture_rename(&fixture, 1, "say \"hi\"\nthere");
    for (int64_t i = 0; i < 3; i++) {
        result->own[i] = 0.5F;
        result->other[i] = 2;
        result->logit[i] = 0;
        result->flags[i] = i == 1 ? RER_FLAG_ISSUE : 0;
    }
    result->given[2] = -1;
    result->own[2] = NAN;
    return fixture;
}

static void csv_follows_rfc_4180(void **state)
{
    (void)state;
    test_fixture fixture = small_fixture();
    char *folder = fixture_folder();
    assert_int_equal(rer_result_write(fixture.result, &fixture.data, folder, NULL), RER_OK);
    char *samples = fixture_read(folder, "samples.csv"), *classes = fixture_read(folder, "classes.csv");
    assert_string_equal(
        samples, "index,given_label,predicted_label,rer,mistakenness,label_score,is_label_issue,"
                 "own_error,best_other_error,suggested_label,suggestion_probability,outlier_score,is_outlier,"
                 "nearest_rows\n"
                 "0,\"a,b\",\"a,b\",0.25,0.5,0.5,false,0.5,2,,,,false,\n"
                 "1,\"say \"\"hi\"\"\nthere\",\"say \"\"hi\"\"\nthere\",0.25,0.5,0.5,true,0.5,2,class 2,,,false,\n"
                 "2,,\"a,b\",,,,false,,2,\"a,b\",0.5,,false,\n");
    assert_string_equal(classes,
                        "label,n,chi,noise_rate,n_issues,most_confused_with,own_error\n"
                        "\"a,b\",1,,0.25,0,,0\n\"say \"\"hi\"\"\nthere\",1,,0.25,0,,0\nclass 2,1,,0.25,0,,0\n");
    free(samples);
    free(classes);
    fixture_remove(folder);
    fixture_free(&fixture);
}

static void csv_has_ids_where_given(void **state)
{
    (void)state;
    test_fixture fixture = small_fixture();
    char *folder = fixture_folder();
    fixture_set_id(&fixture, "img,1.png");
    assert_int_equal(rer_result_write(fixture.result, &fixture.data, folder, NULL), RER_OK);
    char *samples = fixture_read(folder, "samples.csv");
    assert_memory_equal(samples, "index,id,given_label,", 21);
    assert_non_null(strstr(samples, "\n0,\"img,1.png\",\"a,b\","));
    free(samples);
    fixture_remove(folder);
    fixture_free(&fixture);
}

static int count_texts(const char *text, const char *wanted)
{
    int count = 0;
    for (; (text = strstr(text, wanted)) != NULL; text++)
        count++;
    return count;
}

/* Whatever users write may reach the page only escaped. */
static void html_escapes_everything(void **state)
{
    (void)state;
    test_fixture fixture = fixture_make(20, 3, 1);
    char *folder = fixture_folder(), name[] = EVIL, *notes[] = {name};
    fixture_rename(&fixture, 0, EVIL);
    fixture_rename(&fixture, 1, "\x01\x1b[31m control");
    fixture_set_id(&fixture, EVIL);
    fixture.data.features.name = name;
    fixture.result->notes = (rer_notes){.text = notes, .count = 1};
    assert_int_equal(rer_result_write(fixture.result, &fixture.data, folder, NULL), RER_OK);
    char *page = fixture_read(folder, "report.html");
    assert_non_null(strstr(page, "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;&quot;&#39;&amp;"));
    assert_non_null(
        strstr(page, "\"\\u003c/script\\u003e\\u003cimg src=x onerror=alert(1)\\u003e\\u0022\\u0027\\u0026\""));
    assert_null(strstr(page, "<img"));
    assert_int_equal(count_texts(page, "<script"), 6);
    assert_int_equal(count_texts(page, "</script"), 6);
    assert_null(strchr(page, 0x1b));
    assert_null(strstr(page, "{{"));
    assert_null(strstr(page, "https://"));
    assert_int_equal(count_texts(page, "http://"), 1); /* the name of SVG, in report.js */
    assert_non_null(
        strstr(page, "Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src 'sha256-"));
    free(page);
    fixture.result->notes = (rer_notes){0};
    fixture_remove(folder);
    fixture_free(&fixture);
}

static void html_shows_pictures(void **state)
{
    (void)state;
    test_fixture fixture = fixture_make(4, 2, 1);
    static unsigned char pixels[4 * 200 * 100 * 3];
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (unsigned char)(i * 7);
    char *folder = fixture_folder(), name[] = "pictures";
    free(fixture.data.features.owned);
    fixture.data.features = (rer_array){
        .name = name, .dtype = RER_U8, .item_size = 1, .rank = 4, .shape = {4, 200, 100, 3}, .data = pixels, .fd = -1};
    fixture.data.picture[0] = 200;
    fixture.data.picture[1] = 100;
    fixture.data.picture[2] = 3;
    fixture.data.D = 200 * 100 * 3;
    assert_int_equal(rer_result_write(fixture.result, &fixture.data, folder, NULL), RER_OK);
    char *page = fixture_read(folder, "report.html");
    assert_non_null(strstr(page, "\"pictures\":{\""));
    assert_int_equal(count_texts(page, "\":\"UklGR"), 4); /* RIFF, as a WebP file begins */
    free(page);
    fixture_remove(folder);
    fixture_free(&fixture);
}

static void makes_folders_and_leaves_no_temporaries(void **state)
{
    (void)state;
    test_fixture fixture = small_fixture();
    char deep[600], *folder = fixture_folder();
    assert_int_equal(rer_result_write(fixture.result, &fixture.data, fixture_path(deep, folder, "a/b/"), NULL), RER_OK);
    assert_int_equal(fixture_count_files(deep), 5);
    /* and again over the old files */
    assert_int_equal(rer_result_write(fixture.result, &fixture.data, deep, NULL), RER_OK);
    assert_int_equal(fixture_count_files(deep), 5);
    fixture_remove(strdup(deep));
    fixture_path(deep, folder, "a");
    assert_int_equal(rmdir(deep), 0);
    fixture_remove(folder);
    fixture_free(&fixture);
}

static rer_status write_with_limit(test_fixture *fixture, const char *folder, rlim_t bytes, rer_error *error)
{
    struct rlimit old, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = (struct rlimit){.rlim_cur = bytes, .rlim_max = old.rlim_max};
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    rer_status status = rer_result_write(fixture->result, &fixture->data, folder, error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    return status;
}

/* samples.csv and classes.csv fit, report.html does not. */
static void full_disk_leaves_nothing_new(void **state)
{
    (void)state;
    test_fixture fixture = small_fixture();
    rer_error error = {0};
    char deep[600], *folder = fixture_folder();
    assert_int_equal(write_with_limit(&fixture, fixture_path(deep, folder, "a/b"), 2000, &error), RER_SYSTEM);
    assert_non_null(strstr(error.message, "report.html"));
    assert_int_equal(fixture_count_files(folder), 0);
    assert_int_equal(rer_result_write(fixture.result, &fixture.data, folder, NULL), RER_OK);
    char *before = fixture_read(folder, "samples.csv");
    fixture.result->logit[0] = 3;
    error = (rer_error){0};
    assert_int_equal(write_with_limit(&fixture, folder, 2000, &error), RER_SYSTEM);
    assert_int_equal(fixture_count_files(folder), 5);
    char *samples = fixture_read(folder, "samples.csv");
    assert_string_equal(samples, before);
    free(samples);
    free(before);
    fixture_remove(folder);
    fixture_free(&fixture);
}

static void expect_refusal(test_fixture *fixture, const char *folder, rer_status expected, const char *word)
{
    rer_error error = {0};
    int before = fixture_count_files(folder);
    assert_int_equal(rer_result_write(fixture->result, &fixture->data, folder, &error), expected);
    assert_non_null(strstr(error.message, word));
    assert_int_equal(fixture_count_files(folder), before);
}

static void files_of_others_are_left_alone(void **state)
{
    (void)state;
    test_fixture fixture = small_fixture();
    rer_error error = {0};
    char path[600], *folder = fixture_folder();
    fixture_save(folder, "samples.csv", "old"); /* no manifest lists it */
    expect_refusal(&fixture, folder, RER_BAD_USAGE, "samples.csv");
    assert_int_equal(unlink(fixture_path(path, folder, "samples.csv")), 0);
    assert_int_equal(rer_result_write(fixture.result, &fixture.data, folder, NULL), RER_OK);
    assert_int_equal(rer_result_write(fixture.result, &fixture.data, folder, NULL), RER_OK);
    fixture_save(folder, "decisions.csv", "mine");
    expect_refusal(&fixture, folder, RER_BAD_USAGE, "decisions.csv");
    assert_int_equal(unlink(fixture_path(path, folder, "decisions.csv")), 0);
    assert_int_equal(unlink(fixture_path(path, folder, "classes.csv")), 0); /* ours by name, but a folder or a link */
    assert_int_equal(mkdir(path, 0777), 0);
    expect_refusal(&fixture, folder, RER_BAD_USAGE, "classes.csv");
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(symlink("/dev/null", path), 0);
    expect_refusal(&fixture, folder, RER_BAD_USAGE, "classes.csv");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rer_check_output(folder, "scale", &error), RER_BAD_USAGE);
    assert_non_null(strstr(error.message, "rer analyze"));
    fixture_save(folder, "manifest.json", "{");
    expect_refusal(&fixture, folder, RER_BAD_INPUT, "manifest.json");
    assert_int_equal(
        rer_result_write(fixture.result, &fixture.data, fixture_path(path, folder, "samples.csv/x"), &error),
        RER_SYSTEM);
    assert_non_null(strstr(error.message, "samples.csv/x: the folder cannot be made"));
    fixture_remove(folder);
    fixture_free(&fixture);
}

static void folders_that_cannot_move_are_refused(void **state)
{
    (void)state;
    rer_error error = {0};
    char here[PATH_MAX], *folder = fixture_folder();
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(rer_check_output("/proc", "analyze", &error), RER_BAD_USAGE);
    assert_non_null(strstr(error.message, "mounted"));
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(rer_check_output(folder, "analyze", &error), RER_BAD_USAGE);
    assert_non_null(strstr(error.message, "working folder"));
    assert_int_equal(chdir(here), 0);
    assert_int_equal(rer_check_output(folder, "analyze", &error), RER_OK);
    fixture_remove(folder);
}

/* A link to the folder stays one, and the folder keeps its mode. */
static void links_and_modes_stay(void **state)
{
    (void)state;
    test_fixture fixture = small_fixture();
    struct stat found;
    char link[600], path[600], *folder = fixture_folder();
    assert_int_equal(mkdir(fixture_path(path, folder, "real"), 0777), 0);
    assert_int_equal(chmod(path, 02750), 0);
    assert_int_equal(symlink("real", fixture_path(link, folder, "link")), 0);
    assert_int_equal(rer_result_write(fixture.result, &fixture.data, link, NULL), RER_OK);
    assert_int_equal(lstat(link, &found), 0);
    assert_true(S_ISLNK(found.st_mode));
    assert_int_equal(stat(path, &found), 0);
    assert_int_equal(found.st_mode & 07777, 02750);
    assert_int_equal(fixture_count_files(path), 5);
    assert_int_equal(fixture_count_files(folder), 2);
    fixture_remove(strdup(path));
    fixture_remove(folder);
    fixture_free(&fixture);
}

/* Formulas of spreadsheets begin with an apostrophe, and so do texts that had one. */
static void safe_tables_hold_no_formulas(void **state)
{
    (void)state;
    static const char *const texts[][2] = {{"=1+1", ",'=1+1,"}, {"-a,b", ",\"'-a,b\","}, {"'a", ",''a,"},
                                           {"@a", ",'@a,"},     {"+a", ",'+a,"},         {"a=1", ",a=1,"}};
    for (int i = 0; i < RER_COUNT(texts); i++) {
        test_fixture fixture = small_fixture();
        char *folder = fixture_folder();
        fixture_rename(&fixture, 0, texts[i][0]);
        fixture.result->options.spreadsheet_safe = true;
        assert_int_equal(rer_result_write(fixture.result, &fixture.data, folder, NULL), RER_OK);
        char *samples = fixture_read(folder, "samples.csv");
        assert_non_null(strstr(samples, texts[i][1]));
        free(samples);
        fixture_remove(folder);
        fixture_free(&fixture);
    }
}

static void json_marks_what_is_missing(void **state)
{
    (void)state;
    test_fixture fixture = small_fixture();
    char *json = NULL, note[] = "cut in \xC3", *notes[] = {note};
    fixture.result->notes = (rer_notes){.text = notes, .count = 1};
    fixture.data.features_checksum = 0x1F;
    assert_int_equal(rer_result_json(fixture.result, &fixture.data, &json, NULL), RER_OK);
    assert_non_null(strstr(json, "\"chi0\": null"));
    assert_non_null(strstr(json, "\"labels\": null"));
    assert_non_null(strstr(json, "\"features\": \"000000000000001f\""));
    assert_non_null(strstr(json, "cut in \\\\xc3"));
    free(json);
    fixture.result->notes = (rer_notes){0};
    fixture_free(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_read_back),
        cmocka_unit_test(numbers_are_short),
        cmocka_unit_test(csv_follows_rfc_4180),
        cmocka_unit_test(csv_has_ids_where_given),
        cmocka_unit_test(html_escapes_everything),
        cmocka_unit_test(html_shows_pictures),
        cmocka_unit_test(makes_folders_and_leaves_no_temporaries),
        cmocka_unit_test(full_disk_leaves_nothing_new),
        cmocka_unit_test(files_of_others_are_left_alone),
        cmocka_unit_test(folders_that_cannot_move_are_refused),
        cmocka_unit_test(links_and_modes_stay),
        cmocka_unit_test(safe_tables_hold_no_formulas),
        cmocka_unit_test(json_marks_what_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
