/* Opening files and keeping decoded bytes: see spool.h. */
#include "source/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define CHUNK (1 << 18)

/* ---- reading ----------------------------------------------------------------------------- */

void rer_bytes_close(rer_bytes *bytes)
{
    free(bytes->owned);
    if (bytes->fd >= 0)
        (void)close(bytes->fd);
    *bytes = RER_NO_BYTES;
}

rer_status rer_bytes_read(const rer_bytes *bytes, int64_t offset, int64_t count, void *out, const char *name,
                          rer_error *error)
{
    if (offset < 0 || count < 0 || offset > bytes->size - count)
        return rer_fail(error, RER_BAD_INPUT, "%s: truncated: bytes %lld to %lld are wanted but only %lld are there",
                        name, (long long)offset, (long long)offset + (long long)count, (long long)bytes->size);
    if (bytes->data != NULL) {
        memcpy(out, bytes->data + offset, (size_t)count);
        return RER_OK;
    }
    for (int64_t done = 0; done < count;) {
        ssize_t got = pread(bytes->fd, (char *)out + done, (size_t)rer_min(count - done, 1 << 30),
                            (off_t)(bytes->offset + offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return rer_fail_errno(error, "%s: cannot read", name);
        if (got == 0)
            return rer_fail(error, RER_BAD_INPUT, "%s: the file became shorter while it was read: it ends at byte %lld",
                            name, (long long)(bytes->offset + offset + done));
        done += got;
    }
    return RER_OK;
}

/* ---- spooling ---------------------------------------------------------------------------- */

void rer_spool_drop(rer_spool *spool)
{
    free(spool->buffer);
    if (spool->fd >= 0)
        (void)close(spool->fd);
    *spool = RER_EMPTY_SPOOL;
}

/* A file without a name: it vanishes with its descriptor, whatever happens to this process. */
static rer_status open_temporary(int *out, rer_error *error)
{
    char path[4096];
    const char *folder = getenv("TMPDIR");
    if (folder == NULL || *folder == 0)
        folder = "/var/tmp"; /* on a disk: /tmp is memory on many systems */
    int length = snprintf(path, sizeof path, "%s/rer-XXXXXX", folder);
    if (length < 0 || length >= (int)sizeof path)
        return rer_fail(error, RER_SYSTEM, "TMPDIR is longer than a path can be: %.80s...", folder);
    int fd = mkstemp(path);
    if (fd < 0) /* of whatever kind: no file of the user's is wrong */
        return rer_fail(error, RER_SYSTEM,
                        "%s: cannot make a temporary file there (set TMPDIR to a folder with room): %m", folder);
    (void)unlink(path);
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    *out = fd;
    return RER_OK;
}

static rer_status flush(rer_spool *spool, rer_error *error)
{
    if (spool->fd < 0 && open_temporary(&spool->fd, error) != RER_OK)
        return RER_SYSTEM;
    for (int64_t done = 0; done < spool->used;) {
        ssize_t put = pwrite(spool->fd, spool->buffer + done, (size_t)rer_min(spool->used - done, 1 << 30),
                             (off_t)spool->written);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return rer_fail_errno(error,
                                  "cannot write a temporary file after %lld bytes (set TMPDIR to a folder with "
                                  "room)",
                                  (long long)spool->written);
        done += put;
        spool->written += put;
    }
    spool->used = 0;
    return RER_OK;
}

rer_status rer_spool_write(rer_spool *spool, const void *data, int64_t count, rer_error *error)
{
    while (count > 0) {
        if (spool->used == RER_SPOOL_MAX && flush(spool, error) != RER_OK)
            return RER_SYSTEM;
        int64_t step = rer_min(count, RER_SPOOL_MAX - spool->used);
        RER_TRY(rer_grow(&spool->buffer, &spool->capacity, spool->used + step, 1, "decoded data", error));
        memcpy(spool->buffer + spool->used, data, (size_t)step);
        spool->used += step;
        data = (const char *)data + step;
        count -= step;
    }
    return RER_OK;
}

rer_status rer_spool_finish(rer_spool *spool, rer_bytes *bytes, rer_error *error)
{
    if (spool->fd < 0) {
        rer_status status = rer_grow(&spool->buffer, &spool->capacity, 1, 1, "decoded data", error); /* never NULL */
        if (status != RER_OK)
            return status;
        *bytes = (rer_bytes){.data = spool->buffer, .owned = spool->buffer, .fd = -1, .size = spool->used};
        *spool = RER_EMPTY_SPOOL;
        return RER_OK;
    }
    RER_TRY(flush(spool, error));
    *bytes = (rer_bytes){.fd = spool->fd, .size = spool->written};
    spool->fd = -1;
    rer_spool_drop(spool);
    return RER_OK;
}

/* ---- opening ----------------------------------------------------------------------------- */

/* Takes over a descriptor that cannot be read at an offset: everything until its end. */
static rer_status spool_stream(rer_bytes *bytes, int fd, const char *name, rer_error *error)
{
    rer_spool spool = RER_EMPTY_SPOOL;
    unsigned char *chunk = NULL;
    rer_status status = rer_allocate(&chunk, CHUNK, 1, "a read buffer", error);
    while (status == RER_OK) {
        ssize_t got = read(fd, chunk, CHUNK);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            status = rer_fail_errno(error, "%s: cannot read", name);
        else if (got == 0)
            break;
        else
            status = rer_spool_write(&spool, chunk, got, error);
    }
    RER_THEN(status, rer_spool_finish(&spool, bytes, error));
    rer_spool_drop(&spool);
    free(chunk);
    return status;
}

static rer_status check_kind(const struct stat *info, const char *path, int64_t most, rer_error *error)
{
    if (S_ISDIR(info->st_mode))
        return rer_fail(error, RER_BAD_INPUT, "%s: is a folder, not a file", path);
    if (!S_ISREG(info->st_mode) && most < INT64_MAX)
        return rer_fail(error, RER_BAD_INPUT, "%s: is no plain file", path);
    if (info->st_size > most)
        return rer_fail(error, RER_BAD_INPUT, "%s: %lld bytes are too many; %lld are read", path,
                        (long long)info->st_size, (long long)most);
    return RER_OK;
}

/* `most` below INT64_MAX: a plain file of so many bytes. */
static rer_status open_file(rer_bytes *bytes, const char *path, int64_t most, rer_error *error)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | (most < INT64_MAX ? O_NONBLOCK : 0));
    if (fd < 0)
        return rer_fail_errno(error, "%s: cannot open", path);
    rer_status status = fstat(fd, &info) == 0 ? check_kind(&info, path, most, error)
                                              : rer_fail_errno(error, "%s: cannot look at the file", path);
    if (status == RER_OK && S_ISREG(info.st_mode)) {
        *bytes = (rer_bytes){.fd = fd, .size = info.st_size};
        return RER_OK;
    }
    RER_THEN(status, spool_stream(bytes, fd, path, error));
    (void)close(fd);
    return status;
}

/* One step of inflate; at the end of a gzip member the next one follows or the file ends. */
static rer_status inflate_chunk(z_stream *stream, unsigned char *plain, rer_spool *spool, bool *ended, int64_t most,
                                const char *name, rer_error *error)
{
    do {
        stream->next_out = plain;
        stream->avail_out = CHUNK;
        if (*ended && stream->avail_in > 0) {
            if (*stream->next_in == 0) { /* padding after the last member, as on tapes */
                stream->avail_in = 0;
                break;
            }
            (void)inflateReset(stream);
            *ended = false;
        }
        int code = inflate(stream, Z_NO_FLUSH);
        if (code == Z_MEM_ERROR)
            return rer_fail(error, RER_SYSTEM, "out of memory: %s needs a window to be uncompressed", name);
        if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
            return rer_fail(error, RER_BAD_INPUT, "%s: damaged gzip data after %lld bytes (%s)", name,
                            (long long)stream->total_in, stream->msg != NULL ? stream->msg : "wrong header");
        *ended = code == Z_STREAM_END;
        if (spool->written + spool->used > most - (CHUNK - (int64_t)stream->avail_out))
            return rer_fail(error, RER_BAD_INPUT, "%s: holds more than %lld bytes when uncompressed", name,
                            (long long)most);
        rer_status status = rer_spool_write(spool, plain, CHUNK - (int64_t)stream->avail_out, error);
        if (status != RER_OK)
            return status;
    } while (stream->avail_in > 0 || stream->avail_out == 0);
    return RER_OK;
}

/* Replaces gzipped bytes by what they hold, `most` bytes. */
static rer_status gunzip(rer_bytes *bytes, const char *name, int64_t most, rer_error *error)
{
    z_stream stream = {0};
    rer_spool spool = RER_EMPTY_SPOOL;
    rer_bytes plain = RER_NO_BYTES;
    unsigned char *chunk = NULL;
    bool ended = false;
    if (inflateInit2(&stream, 15 + 16) != Z_OK)
        return rer_fail(error, RER_SYSTEM, "out of memory: %s needs a window to be uncompressed", name);
    rer_status status = rer_allocate(&chunk, 2 * (int64_t)CHUNK, 1, "a buffer for gzip", error);
    for (int64_t at = 0; status == RER_OK && at < bytes->size; at += CHUNK) {
        int64_t count = rer_min(CHUNK, bytes->size - at);
        status = rer_bytes_read(bytes, at, count, chunk, name, error);
        stream.next_in = chunk;
        stream.avail_in = (uInt)count;
        RER_THEN(status, inflate_chunk(&stream, chunk + CHUNK, &spool, &ended, most, name, error));
    }
    if (status == RER_OK && !ended)
        status = rer_fail(error, RER_BAD_INPUT, "%s: truncated: its gzip data stop after %lld bytes", name,
                          (long long)bytes->size);
    RER_THEN(status, rer_spool_finish(&spool, &plain, error));
    if (status == RER_OK) {
        rer_bytes_close(bytes);
        *bytes = plain;
    }
    (void)inflateEnd(&stream);
    rer_spool_drop(&spool);
    free(chunk);
    return status;
}

rer_status rer_bytes_open_plain(rer_bytes *bytes, const char *path, int64_t most, rer_error *error)
{
    rer_bytes opened = RER_NO_BYTES;
    unsigned char magic[2] = {0};
    bool is_plain = most < INT64_MAX, is_input = !is_plain && strcmp(path, "-") == 0;
    const char *name = is_input ? "standard input" : path;
    rer_status status =
        is_input ? spool_stream(&opened, STDIN_FILENO, name, error) : open_file(&opened, path, most, error);
    if (status == RER_OK && opened.size >= 2)
        status = rer_bytes_read(&opened, 0, 2, magic, name, error);
    if (status == RER_OK && magic[0] == 0x1F && magic[1] == 0x8B)
        status = gunzip(&opened, name, is_plain ? RER_SPOOL_MAX : INT64_MAX, error);
    if (status == RER_OK && opened.size == 0)
        status = rer_fail(error, RER_BAD_INPUT, "%s: is empty", name);
    if (status == RER_OK)
        *bytes = opened;
    else
        rer_bytes_close(&opened);
    return status;
}

rer_status rer_bytes_open(rer_bytes *bytes, const char *path, rer_error *error)
{
    return rer_bytes_open_plain(bytes, path, INT64_MAX, error); /* no limit: of any kind */
}
