/* Output files: whole or not at all, whatever fails. */
#include "core/output.h"
#include "result_fixture.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

static void write_text(rer_output *output, const char *text)
{
    assert_int_equal(rer_output_write(output, text, (int64_t)strlen(text), NULL), RER_OK);
}

static void expect_text(const char *folder, const char *name, const char *expected)
{
    char *text = fixture_read(folder, name);
    assert_string_equal(text, expected);
    free(text);
}

static void replaces_a_file_only_on_commit(void **state)
{
    (void)state;
    char path[600], *folder = fixture_folder();
    rer_output output = {0};
    fixture_save(folder, "a.txt", "old");
    assert_int_equal(rer_output_open(&output, fixture_path(path, folder, "a.txt"), NULL), RER_OK);
    write_text(&output, "new");
    assert_int_equal(rer_output_finish(&output, NULL), RER_OK);
    expect_text(folder, "a.txt", "old");
    assert_int_equal(fixture_count_files(folder), 2);
    assert_int_equal(rer_output_commit(&output, NULL), RER_OK);
    expect_text(folder, "a.txt", "new");
    assert_int_equal(fixture_count_files(folder), 1);
    rer_output_discard(&output); /* does nothing now */
    expect_text(folder, "a.txt", "new");
    fixture_remove(folder);
}

static void discards_without_a_trace(void **state)
{
    (void)state;
    char path[600], *folder = fixture_folder();
    rer_output output = {0};
    rer_output_discard(&output);
    assert_int_equal(rer_output_open(&output, fixture_path(path, folder, "a.txt"), NULL), RER_OK);
    write_text(&output, "new");
    rer_output_discard(&output);
    assert_int_equal(fixture_count_files(folder), 0);
    fixture_remove(folder);
}

static void gives_files_the_usual_mode(void **state)
{
    (void)state;
    char path[600], *folder = fixture_folder();
    rer_output output = {0};
    struct stat found;
    mode_t old = umask(027);
    assert_int_equal(rer_output_open(&output, fixture_path(path, folder, "a.txt"), NULL), RER_OK);
    assert_int_equal(rer_output_commit(&output, NULL), RER_OK);
    (void)umask(old);
    assert_int_equal(stat(path, &found), 0);
    assert_int_equal(found.st_mode & 0777, 0640);
    fixture_remove(folder);
}

static void follows_links(void **state)
{
    (void)state;
    char path[600], link[600], *folder = fixture_folder();
    rer_output output = {0};
    struct stat found;
    fixture_save(folder, "real.txt", "old");
    assert_int_equal(symlink(fixture_path(path, folder, "real.txt"), fixture_path(link, folder, "link.txt")), 0);
    assert_int_equal(rer_output_open(&output, link, NULL), RER_OK);
    write_text(&output, "new");
    assert_int_equal(rer_output_commit(&output, NULL), RER_OK);
    expect_text(folder, "real.txt", "new");
    assert_int_equal(lstat(link, &found), 0);
    assert_true(S_ISLNK(found.st_mode));
    fixture_remove(folder);
}

static void keeps_long_names(void **state)
{
    (void)state;
    char name[256], path[600], *folder = fixture_folder();
    rer_output output = {0};
    memset(name, 'n', 255);
    name[255] = 0;
    assert_int_equal(rer_output_open(&output, fixture_path(path, folder, name), NULL), RER_OK);
    assert_int_equal(rer_output_commit(&output, NULL), RER_OK);
    assert_int_equal(access(path, F_OK), 0);
    fixture_remove(folder);
}

static void expect_failure(const char *path)
{
    rer_error error = {0};
    rer_output output = {0};
    assert_int_equal(rer_output_open(&output, path, &error), RER_SYSTEM);
    assert_int_equal(error.status, RER_SYSTEM);
    assert_non_null(strstr(error.message, path));
    assert_null(output.stream);
}

/* Nothing that depends on permissions: the tests may run as root. */
static void names_paths_that_cannot_be(void **state)
{
    (void)state;
    char path[600], *folder = fixture_folder();
    fixture_save(folder, "file", "");
    expect_failure(fixture_path(path, folder, "file/below.txt"));
    expect_failure(fixture_path(path, folder, "missing/a.txt"));
    expect_failure("/proc/no-such-file.txt");
    expect_failure(folder);
    assert_int_equal(fixture_count_files(folder), 1);
    fixture_remove(folder);
}

static void full_disk_leaves_the_old_file(void **state)
{
    (void)state;
    char path[600], *folder = fixture_folder();
    struct rlimit old, small;
    rer_error error = {0};
    rer_output output = {0};
    static char bytes[1 << 20];
    fixture_save(folder, "a.txt", "old");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = (struct rlimit){.rlim_cur = 4096, .rlim_max = old.rlim_max};
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(rer_output_open(&output, fixture_path(path, folder, "a.txt"), NULL), RER_OK);
    rer_status status = rer_output_write(&output, bytes, sizeof bytes, &error);
    if (status == RER_OK)
        status = rer_output_commit(&output, &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(status, RER_SYSTEM);
    assert_non_null(strstr(error.message, "a.txt"));
    rer_output_discard(&output);
    expect_text(folder, "a.txt", "old");
    assert_int_equal(fixture_count_files(folder), 1);
    fixture_remove(folder);
}

static void *read_pipe(void *path)
{
    static char text[16];
    FILE *file = fopen(path, "rb");
    if (file != NULL) {
        (void)fread(text, 1, sizeof text - 1, file);
        (void)fclose(file);
    }
    return text;
}

static void writes_to_pipes_and_devices(void **state)
{
    (void)state;
    char path[600], *folder = fixture_folder();
    rer_output output = {0};
    pthread_t reader;
    void *text = NULL;
    struct stat found;
    assert_int_equal(mkfifo(fixture_path(path, folder, "pipe"), 0600), 0);
    assert_int_equal(pthread_create(&reader, NULL, read_pipe, path), 0);
    assert_int_equal(rer_output_open(&output, path, NULL), RER_OK);
    write_text(&output, "through");
    assert_int_equal(rer_output_commit(&output, NULL), RER_OK);
    assert_int_equal(pthread_join(reader, &text), 0);
    assert_string_equal(text, "through");
    assert_int_equal(rer_output_open(&output, "/dev/null", NULL), RER_OK);
    write_text(&output, "gone");
    assert_int_equal(rer_output_commit(&output, NULL), RER_OK);
    assert_int_equal(stat("/dev/null", &found), 0);
    assert_true(S_ISCHR(found.st_mode));
    fixture_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replaces_a_file_only_on_commit),
        cmocka_unit_test(discards_without_a_trace),
        cmocka_unit_test(gives_files_the_usual_mode),
        cmocka_unit_test(follows_links),
        cmocka_unit_test(keeps_long_names),
        cmocka_unit_test(names_paths_that_cannot_be),
        cmocka_unit_test(full_disk_leaves_the_old_file),
        cmocka_unit_test(writes_to_pipes_and_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
