/* Small input files for tests: see files.h. */
#include "files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include <zip.h>
#include <zlib.h>

static char folder[64];

int files_setup(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/rer-test-XXXXXX");
    return mkdtemp(folder) != NULL ? 0 : -1;
}

int files_teardown(void **state)
{
    (void)state;
    DIR *open = opendir(folder);
    if (open == NULL)
        return -1;
    for (struct dirent *entry; (entry = readdir(open)) != NULL;)
        if (entry->d_name[0] != '.')
            (void)unlink(file_path(entry->d_name));
    (void)closedir(open);
    return rmdir(folder);
}

const char *file_path(const char *name)
{
    static char paths[8][512];
    static int next;
    char *path = paths[next++ % 8];
    (void)snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

const char *write_file(const char *name, const void *data, int64_t size)
{
    const char *path = file_path(name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, (size_t)size, file), size);
    assert_int_equal(fclose(file), 0);
    return path;
}

const char *write_text(const char *name, const char *text)
{
    return write_file(name, text, (int64_t)strlen(text));
}

const char *write_gzip(const char *name, const void *data, int64_t size)
{
    const char *path = file_path(name);
    gzFile file = gzopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(gzwrite(file, data, (unsigned)size), size);
    assert_int_equal(gzclose(file), Z_OK);
    return path;
}

const char *write_npy_header(const char *name, const char *header, const void *data, int64_t size)
{
    const char *path = file_path(name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    int length = (int)strlen(header), padded = (10 + length + 1 + 63) / 64 * 64 - 10;
    unsigned char start[10] = {
        0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)padded, (unsigned char)(padded >> 8)};
    assert_int_equal(fwrite(start, 1, 10, file), 10);
    (void)fprintf(file, "%s%*s\n", header, padded - length - 1, "");
    assert_int_equal(fwrite(data, 1, (size_t)size, file), size);
    assert_int_equal(fclose(file), 0);
    return path;
}

const char *write_npy(const char *name, const char *descr, int fortran, const char *shape, const void *data,
                      int64_t size)
{
    char header[300];
    (void)snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", descr,
                   fortran ? "True" : "False", shape);
    return write_npy_header(name, header, data, size);
}

unsigned char *read_whole(const char *path, int64_t *size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *size = ftell(file);
    rewind(file);
    unsigned char *data = malloc((size_t)*size + 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, (size_t)*size, file), *size);
    (void)fclose(file);
    return data;
}

static void add_member(zip_t *zip, const char *name, const char *path, int deflated)
{
    zip_source_t *source = zip_source_file(zip, path, 0, 0);
    assert_non_null(source);
    zip_int64_t index = zip_file_add(zip, name, source, 0);
    assert_true(index >= 0);
    assert_int_equal(zip_set_file_compression(zip, (zip_uint64_t)index, deflated ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0),
                     0);
}

const char *write_npz(const char *name, const char *a, const char *b, int deflated)
{
    const char *path = file_path(name);
    zip_t *zip = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, NULL);
    assert_non_null(zip);
    add_member(zip, "a.npy", a, deflated);
    if (b != NULL)
        add_member(zip, "b.npy", b, deflated);
    assert_int_equal(zip_close(zip), 0);
    return path;
}

int redirect_input(const char *path)
{
    int saved = dup(STDIN_FILENO), fd = open(path, O_RDONLY);
    assert_true(saved >= 0 && fd >= 0);
    assert_int_equal(dup2(fd, STDIN_FILENO), STDIN_FILENO);
    (void)close(fd);
    return saved;
}

void restore_input(int saved)
{
    assert_int_equal(dup2(saved, STDIN_FILENO), STDIN_FILENO);
    (void)close(saved);
}

void assert_bad_input(const rer_error *error, ...)
{
    va_list parts;
    if (error->status != RER_BAD_INPUT)
        fail_msg("status %d is not RER_BAD_INPUT: %s", (int)error->status, error->message);
    va_start(parts, error);
    for (const char *part; (part = va_arg(parts, const char *)) != NULL;)
        if (strstr(error->message, part) == NULL)
            fail_msg("'%s' is not in the message: %s", part, error->message);
    va_end(parts);
}
