/* Every allocation of the readers fails once: each time RER_SYSTEM with a message, no output, no leak (which
 * the build with AddressSanitizer sees). The linker leads our calls here (--wrap). */
#include "failing_allocations.h"
#include "files.h"
#include "source/dataset.h"

#include <stdio.h>

/* Opens the files with the first, second, third... allocation failing until none does. */
static void fail_each(const rer_files *files)
{
    rer_options options = rer_options_default();
    for (int64_t i = 0;; i++) {
        rer_error error = {0};
        rer_dataset *data = NULL;
        has_failed = false;
        before_failure = i;
        rer_status status = rer_dataset_open(&data, files, &options, &error);
        before_failure = -1;
        if (!has_failed) {
            if (status != RER_OK)
                fail_msg("%s", error.message);
            assert_true(i > 5);
            rer_dataset_free(data);
            return;
        }
        assert_int_equal(status, RER_SYSTEM);
        assert_non_null(strstr(error.message, "memory"));
        assert_null(data);
    }
}

static void test_arrays(void **state)
{
    (void)state;
    uint8_t pixels[2 * 8 * 8] = {0};
    const char *x = write_npy("x.npy", "|u1", 0, "(2, 8, 8)", pixels, sizeof pixels);
    const char *y = write_npy("y.npy", "|S2", 0, "(2,)", "abcd", 4);
    int64_t size = 0;
    unsigned char *whole = read_whole(x, &size);
    fail_each(&(rer_files){.size = sizeof(rer_files), .features = x, .labels = y});
    fail_each(&(rer_files){.size = sizeof(rer_files), .features = write_gzip("x.npy.gz", whole, size), .labels = y});
    free(whole);
    for (int deflated = 0; deflated < 2; deflated++)
        fail_each(
            &(rer_files){.size = sizeof(rer_files), .features = write_npz("x.npz", x, NULL, deflated), .labels = y});
    int32_t numbers[] = {3, 4};
    fail_each(&(rer_files){
        .size = sizeof(rer_files), .features = x, .labels = write_npy("n.npy", "<i4", 0, "(2, 1)", numbers, 8)});
}

static void test_tables(void **state)
{
    (void)state;
    const char *x = write_text("x.csv", "a,y,b\n1,p,2\n3,q,4\n");
    fail_each(&(rer_files){.size = sizeof(rer_files), .features = x, .label_column = "y"});
    fail_each(&(rer_files){.size = sizeof(rer_files),
                           .features = write_text("z.csv", "1,2\n3,4\n"),
                           .labels = write_text("y.txt", "one\ntwo\n"),
                           .ids = write_text("ids.txt", "r0\nr1\n"),
                           .class_names = write_text("names.txt", "One\nTwo\n")});
}

static void test_hdf5(void **state)
{
    (void)state;
    fail_each(
        &(rer_files){.size = sizeof(rer_files), .features = SEEDS "/extensible_packed", .labels = SEEDS "/texts:/w"});
    fail_each(&(rer_files){
        .size = sizeof(rer_files), .features = SEEDS "/old_packed", .labels = SEEDS "/old_texts:deep/numbers"});
}

int main(void)
{
    const struct CMUnitTest tests[] = {FILES_TEST(test_arrays), FILES_TEST(test_tables), FILES_TEST(test_hdf5)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
