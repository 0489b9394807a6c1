/* Every allocation of the readers fails once: each time RER_SYSTEM with a message, no output, no leak (which
 * the build with AddressSanitizer sees). The linker leads our calls here (--wrap). */
#include "failing_allocations.h"
#include "files.h"
#include "source/dataset.h"

#include <png.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

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

/* ---- folders of pictures ---------------------------------------------------------------------- */

/* One grey pixel, which a camera has turned. */
static void write_picture(const char *name)
{
    static const uint8_t turned[] = "eXIfMM\0*\0\0\0\10\0\1\1\22\0\3\0\0\0\1\0\6\0\0\0\0\0\0";
    enum { EXIF = sizeof turned - 1 - 4 };
    uint8_t file[512] = {0};
    png_image image = {.version = PNG_IMAGE_VERSION, .width = 1, .height = 1, .format = PNG_FORMAT_GRAY};
    png_alloc_size_t size = sizeof file - EXIF - 12;
    assert_true(png_image_write_to_memory(&image, file, &size, 0, (const uint8_t[]){90}, 0, NULL) != 0);
    uint8_t chunk[EXIF + 12] = {0, 0, 0, EXIF};
    memcpy(chunk + 4, turned, EXIF + 4);
    uint32_t sum = (uint32_t)crc32(0, turned, EXIF + 4);
    for (int i = 0; i < 4; i++)
        chunk[EXIF + 8 + i] = (uint8_t)(sum >> (24 - 8 * i));
    memmove(file + 33 + sizeof chunk, file + 33, size - 33); /* behind the first chunk */
    memcpy(file + 33, chunk, sizeof chunk);
    (void)write_file(name, file, (int64_t)(size + sizeof chunk));
}

static void make_photos(void)
{
    assert_int_equal(mkdir(file_path("photos"), 0777), 0);
    assert_int_equal(mkdir(file_path("photos/a"), 0777), 0);
    assert_int_equal(mkdir(file_path("photos/b"), 0777), 0);
    write_picture("photos/a/1.png");
    write_picture("photos/b/2.png");
    (void)write_text("photos/b/none.png", "no picture");
}

static void remove_photos(void)
{
    static const char *const names[] = {"photos/a/1.png", "photos/b/2.png", "photos/b/none.png",
                                        "photos/a",       "photos/b",       "photos"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(remove(file_path(names[i])), 0);
}

static void test_photos(void **state)
{
    (void)state;
    make_photos();
    fail_each(&(rer_files){.size = sizeof(rer_files), .features = file_path("photos")});
    remove_photos();
}

static void test_embed(void **state)
{
    (void)state;
    rer_options options = rer_options_default();
    options.threads = 1;
    make_photos();
    bool done = false;
    for (int64_t i = 0; !done; i++) {
        rer_error error = {0};
        rer_embed_files files = {.size = sizeof files, .input = file_path("photos"), .out = file_path("X.npy")};
        rer_embed_summary summary = {.size = sizeof summary};
        has_failed = false;
        before_failure = i;
        rer_status status = rer_embed(&summary, &files, &options, NULL, &error);
        before_failure = -1;
        done = !has_failed;
        assert_int_equal(status, done ? RER_OK : RER_SYSTEM);
        assert_true(done ? summary.n_rows == 2 && summary.n_skipped == 1 : strstr(error.message, "memory") != NULL);
        assert_true(done || access(files.out, F_OK) != 0);
    }
    remove_photos();
}

int main(void)
{
    const struct CMUnitTest tests[] = {FILES_TEST(test_arrays), FILES_TEST(test_tables), FILES_TEST(test_hdf5),
                                       FILES_TEST(test_photos), FILES_TEST(test_embed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
