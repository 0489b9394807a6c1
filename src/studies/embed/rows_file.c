/* Rows as they are made: see rows_file.h. A head of HEAD_BYTES, then the rows; what a crash left of a row is cut off. */
#include "studies/embed/rows_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct head {
    char magic[16];
    uint64_t checksum;
    int64_t columns, item_size;
    char unused[24];
} head;

static const char magic[16] = "rer rows 1";
enum { HEAD_BYTES = 64 };
_Static_assert(sizeof(head) == HEAD_BYTES, "the head of a file of rows");

/* Nearest float16, the even one of two; too large becomes infinite. */
static uint16_t to_half(float value)
{
    uint32_t bits, sign, kept;
    memcpy(&bits, &value, sizeof bits);
    sign = bits >> 16 & 0x8000;
    bits &= 0x7FFFFFFF;
    if (bits > 0x7F800000) /* NaN */
        return (uint16_t)(sign | 0x7E00);
    if (bits >= 0x477FF000) /* rounds to 65536 or more */
        return (uint16_t)(sign | 0x7C00);
    if (bits < 0x38800000) /* subnormal there: a multiple of 2^-24 */
        return (uint16_t)(sign | (uint32_t)lrintf(ldexpf(fabsf(value), 24)));
    kept = bits - 0x38000000;
    return (uint16_t)(sign | (kept + 0xFFF + (kept >> 13 & 1)) >> 13);
}

static int64_t item_bytes(const rer_rows_file *file)
{
    return file->is_half ? (int64_t)sizeof(uint16_t) : (int64_t)sizeof(float);
}

int64_t rer_rows_file_row_bytes(const rer_rows_file *file)
{
    return file->columns * item_bytes(file);
}

static rer_status write_all(const rer_rows_file *file, const void *bytes, int64_t count, int64_t at, rer_error *error)
{
    for (int64_t done = 0; done < count;) {
        ssize_t put = pwrite(file->fd, (const char *)bytes + done, (size_t)(count - done), (off_t)(at + done));
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return rer_fail_errno(error, "%s: cannot write after %lld rows, which are kept", file->path,
                                  (long long)file->rows);
        done += put;
    }
    return RER_OK;
}

static rer_status read_all(const rer_rows_file *file, void *bytes, int64_t count, int64_t at, rer_error *error)
{
    ssize_t got = pread(file->fd, bytes, (size_t)count, (off_t)at);
    if (got < 0)
        return rer_fail_errno(error, "%s: cannot read", file->path);
    if (got != count)
        return rer_fail(error, RER_BAD_INPUT, "%s: became shorter while it was read", file->path);
    return RER_OK;
}

/* The file is there: is it ours? */
static rer_status check_head(rer_rows_file *file, const head *wanted, int64_t size, rer_error *error)
{
    head found;
    RER_TRY(read_all(file, &found, HEAD_BYTES, 0, error));
    if (memcmp(found.magic, magic, sizeof magic) != 0)
        return rer_fail(error, RER_BAD_INPUT, "%s: is in the way, and nothing that rer embed has made; move it",
                        file->path);
    if (memcmp(&found, wanted, sizeof found) != 0)
        return rer_fail(error, RER_BAD_INPUT,
                        "%s: holds rows that were made otherwise (another model, other settings or other pictures); "
                        "repeat that command, or remove the file to start anew",
                        file->path);
    file->rows = (size - HEAD_BYTES) / rer_rows_file_row_bytes(file);
    return rer_rows_file_cut(file, file->rows, error);
}

static rer_status open_file(rer_rows_file *file, const head *wanted, rer_error *error)
{
    struct stat found;
    file->fd = open(file->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file->fd < 0 || fstat(file->fd, &found) != 0)
        return rer_fail_errno(error, "%s: cannot open", file->path);
    if (!S_ISREG(found.st_mode))
        return rer_fail(error, RER_BAD_INPUT, "%s: is in the way, and no plain file; move it", file->path);
    if (flock(file->fd, LOCK_EX | LOCK_NB) != 0)
        return rer_fail(error, RER_BAD_INPUT, "%s: another rer embed is writing it; wait for that one", file->path);
    return found.st_size >= HEAD_BYTES ? check_head(file, wanted, found.st_size, error)
                                       : write_all(file, wanted, HEAD_BYTES, 0, error);
}

rer_status rer_rows_file_open(rer_rows_file *file, const char *out, int64_t columns, bool is_half, uint64_t checksum,
                              rer_error *error)
{
    rer_rows_file opened = {.fd = -1, .columns = columns, .is_half = is_half};
    size_t size = strlen(out) + sizeof ".part";
    head wanted = {.checksum = checksum, .columns = columns, .item_size = item_bytes(&opened)};
    memcpy(wanted.magic, magic, sizeof magic);
    RER_TRY(rer_allocate(&opened.path, (int64_t)size, 1, "a file name", error));
    (void)snprintf(opened.path, size, "%s.part", out);
    rer_status status = open_file(&opened, &wanted, error);
    if (status == RER_OK)
        *file = opened;
    else
        rer_rows_file_close(&opened);
    return status;
}

rer_status rer_rows_file_cut(rer_rows_file *file, int64_t rows, rer_error *error)
{
    file->rows = rows;
    if (ftruncate(file->fd, (off_t)(HEAD_BYTES + rows * rer_rows_file_row_bytes(file))) != 0)
        return rer_fail_errno(error, "%s: cannot be cut", file->path);
    return RER_OK;
}

rer_status rer_rows_file_add(rer_rows_file *file, const float *rows, int64_t count, rer_error *error)
{
    uint16_t *halves = NULL;
    int64_t at = HEAD_BYTES + file->rows * rer_rows_file_row_bytes(file), values = count * file->columns;
    rer_status status = RER_OK;
    if (file->is_half)
        status = rer_allocate(&halves, values, sizeof *halves, "rows as float16", error);
    for (int64_t i = 0; file->is_half && i < values && status == RER_OK; i++)
        halves[i] = to_half(rows[i]);
    RER_THEN(status, write_all(file, file->is_half ? (const void *)halves : rows, count * rer_rows_file_row_bytes(file),
                               at, error));
    if (status == RER_OK)
        file->rows += count;
    free(halves);
    return status;
}

rer_status rer_rows_file_read(const rer_rows_file *file, int64_t row, void *out, bool *is_there, rer_error *error)
{
    int64_t bytes = rer_rows_file_row_bytes(file);
    uint16_t half;
    float whole;
    RER_TRY(read_all(file, out, bytes, HEAD_BYTES + row * bytes, error));
    memcpy(&half, out, sizeof half);
    memcpy(&whole, out, file->is_half ? 0 : sizeof whole);
    *is_there = file->is_half ? (half & 0x7FFF) <= 0x7C00 : whole == whole;
    return RER_OK;
}

void rer_rows_file_close(rer_rows_file *file)
{
    free(file->path);
    if (file->fd >= 0)
        (void)close(file->fd);
    *file = RER_NO_ROWS_FILE;
}

rer_status rer_rows_file_remove(rer_rows_file *file, rer_error *error)
{
    rer_status status = RER_OK;
    if (unlink(file->path) != 0)
        status = rer_fail_errno(error, "%s: cannot be removed", file->path);
    rer_rows_file_close(file);
    return status;
}
