/* Every allocation of the writers fails once: each time RER_SYSTEM with a message, nothing left in
 * the folder, no leak (which the build with AddressSanitizer sees). The linker leads our calls here
 * (--wrap); Jansson takes its memory from functions of ours. */
#include "failing_allocations.h"
#include "result_fixture.h"

#include <jansson.h>

static void *json_malloc(size_t size)
{
    return fails_now() ? NULL : malloc(size);
}

static void add_pictures(test_fixture *fixture, char *name)
{
    static unsigned char pixels[6 * 8 * 8];
    free(fixture->data.features.owned);
    fixture->data.features = (rer_array){
        .name = name, .dtype = RER_U8, .item_size = 1, .rank = 3, .shape = {6, 8, 8}, .data = pixels, .fd = -1};
    fixture->data.picture[0] = fixture->data.picture[1] = 8;
    fixture->data.picture[2] = 1;
    fixture->data.D = 64;
}

/* The same text for every row. */
static void add_texts(test_fixture *fixture, char *text)
{
    fixture->data.texts.kept =
        (rer_texts){.count = fixture->data.N, .offset = fixture_array(fixture->data.N, sizeof(int64_t)), .bytes = text};
}

static void fail_each_allocation(test_fixture *fixture)
{
    char deep[600], *folder = fixture_folder();
    fixture_path(deep, folder, "out");
    fixture->result->options.threads = 1;
    json_set_alloc_funcs(json_malloc, free);
    for (int64_t i = 0;; i++) {
        rer_error error = {0};
        has_failed = false;
        before_failure = i;
        rer_status status = rer_result_write(fixture->result, &fixture->data, deep, &error);
        before_failure = -1;
        if (!has_failed) {
            assert_int_equal(status, RER_OK);
            assert_true(i > 20);
            break;
        }
        assert_int_equal(status, RER_SYSTEM);
        assert_int_equal(error.status, RER_SYSTEM);
        assert_true(error.message[0] != 0);
        assert_int_equal(fixture_count_files(folder), 0);
    }
    fixture_remove(strdup(deep));
    fixture_remove(folder);
    fixture_free(fixture);
}

static void writes_all_or_nothing(void **state)
{
    (void)state;
    char name[] = "pictures", text[] = "what a row says";
    test_fixture fixture = fixture_make(6, 3, 1);
    add_pictures(&fixture, name);
    add_texts(&fixture, text);
    int64_t *offset = fixture.data.texts.kept.offset;
    fail_each_allocation(&fixture);
    free(offset);
}

/* With names of columns, of which the telling ones are found. */
static void writes_all_or_nothing_with_bars(void **state)
{
    (void)state;
    char name[] = "a";
    test_fixture fixture = fixture_make(40, 3, 1);
    int64_t *offset = fixture_array(fixture.data.D, sizeof *offset);
    fixture.data.columns = (rer_texts){.count = fixture.data.D, .offset = offset, .bytes = name};
    fail_each_allocation(&fixture);
    free(offset);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_all_or_nothing),
        cmocka_unit_test(writes_all_or_nothing_with_bars),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
