/* JSON as it is written against Jansson's: the same bytes in a file, the same values from a page. */
#include "core/files.h"
#include "core/json.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const double reals[] = {0, -1, .1, 1e-5, 123456789012345678., 1e300, -2.5e-300, 1. / 3};
static const char *const texts[] = {
    "", "plain", "\"\\/", "\b\f\n\r\t\x01\x1F\x7F", "<&'>", "\xC3\xA4 \xE2\x80\xA8", "\xF0\x9F\x98\x80"};

static void put(rer_writer *writer, const void *what, int which)
{
    rer_json json = {.writer = writer, .style = *(const rer_json_style *)what};
    (void)which;
    rer_json_object(&json, NULL);
    rer_json_lines(&json);
    rer_json_array(&json, "reals");
    for (int i = 0; i < RER_COUNT(reals); i++)
        rer_json_real(&json, NULL, reals[i]);
    rer_json_real(&json, NULL, NAN);
    rer_json_real(&json, NULL, INFINITY);
    rer_json_end(&json);
    rer_json_texts(&json, "t\"s", (char *const *)texts, RER_COUNT(texts));
    rer_json_integer(&json, "integer", INT64_MIN);
    rer_json_bool(&json, "bool", true);
    rer_json_text(&json, "nothing", NULL);
    rer_json_object(&json, "empty");
    rer_json_end(&json);
    rer_json_array(&json, "empties");
    rer_json_array(&json, NULL);
    rer_json_end(&json);
    rer_json_object(&json, NULL);
    rer_json_end(&json);
    rer_json_end(&json);
    rer_json_end(&json);
}

static json_t *expected(void)
{
    json_t *list = json_array(), *strings = json_array();
    for (int i = 0; i < RER_COUNT(reals); i++)
        json_array_append_new(list, json_real(reals[i]));
    json_array_append_new(list, json_null());
    json_array_append_new(list, json_null());
    for (int i = 0; i < RER_COUNT(texts); i++)
        json_array_append_new(strings, json_string(texts[i]));
    return json_pack("{s:o, s:o, s:I, s:b, s:n, s:{}, s:[[], {}]}", "reals", list, "t\"s", strings, "integer",
                     (json_int_t)INT64_MIN, "bool", 1, "nothing", "empty", "empties");
}

static char *text_of(rer_json_style style)
{
    rer_error error = {0};
    char *text = NULL;
    assert_int_equal(rer_file_text(&text, put, &style, &error), RER_OK);
    return text;
}

static void check_same(rer_json_style style, size_t flags)
{
    json_t *root = expected();
    char *ours = text_of(style), *theirs = json_dumps(root, flags | JSON_REAL_PRECISION(15));
    assert_string_equal(ours, theirs);
    free(ours);
    free(theirs);
    json_decref(root);
}

static void test_file(void **state)
{
    (void)state;
    check_same(RER_JSON_FILE, JSON_INDENT(2));
}

/* Nothing in it that a page could take for markup; texts are the same when it is read. */
static void test_page(void **state)
{
    char *text = text_of(RER_JSON_PAGE);
    json_t *root = json_loads(text, 0, NULL);
    const json_t *list = json_object_get(root, "t\"s"), *numbers = json_object_get(root, "reals");
    (void)state;
    assert_non_null(root);
    assert_null(strpbrk(text, "<>&'"));
    assert_null(strstr(text, "\xE2\x80\xA8"));
    for (int i = 0; i < RER_COUNT(texts); i++)
        assert_string_equal(json_string_value(json_array_get(list, (size_t)i)), texts[i]);
    assert_true((float)json_number_value(json_array_get(numbers, 2)) == .1F);
    json_decref(root);
    free(text);
}

/* Bytes that are no UTF-8 are quoted, and read back. */
static void put_bytes(rer_writer *writer, const void *what, int which)
{
    rer_json json = {.writer = writer, .style = (rer_json_style)which};
    rer_json_array(&json, NULL);
    rer_json_text(&json, NULL, what);
    rer_json_end(&json);
}

static void test_malformed(void **state)
{
    rer_error error = {0};
    char *text = NULL;
    (void)state;
    assert_int_equal(rer_file_text(&text, put_bytes, "a\xFF\xC3", &error), RER_OK);
    json_t *root = json_loads(text, 0, NULL);
    assert_string_equal(json_string_value(json_array_get(root, 0)), "a\\xff\\xc3");
    json_decref(root);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_page),
        cmocka_unit_test(test_malformed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
