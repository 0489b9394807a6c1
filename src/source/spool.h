/* Bytes of an input: in place in a file that can be read at any offset, or decoded once (gzip,
 * standard input, compressed members) into memory or, past RER_SPOOL_MAX bytes, into an unlinked
 * temporary file. */
#pragma once

#include "source/array.h"

typedef struct rer_bytes {
    const unsigned char *data; /* in memory, or NULL: then in the file */
    unsigned char *owned;      /* freed on close */
    int fd;                    /* -1 where in memory */
    int64_t offset;            /* of the first byte in the file */
    int64_t size;
} rer_bytes;

#define RER_NO_BYTES ((rer_bytes){.fd = -1})

/* Opens a file; "-" (standard input), pipes and gzipped files are spooled. */
rer_status rer_bytes_open(rer_bytes *bytes, const char *path, rer_error *error);
/* The same for a plain file of `most` bytes at most, whatever stands under its name: no pipe is waited for. What is
 * gzipped may hold RER_SPOOL_MAX bytes. */
rer_status rer_bytes_open_plain(rer_bytes *bytes, const char *path, int64_t most, rer_error *error);
void rer_bytes_close(rer_bytes *bytes);
/* `count` bytes from `offset` on; `name` is for the message. */
rer_status rer_bytes_read(const rer_bytes *bytes, int64_t offset, int64_t count, void *out, const char *name,
                          rer_error *error);

/* Where decoded bytes are collected. */
typedef struct rer_spool {
    unsigned char *buffer; /* everything, or what the file does not have yet */
    int64_t used, capacity;
    int fd; /* -1 as long as all fits into memory */
    int64_t written;
} rer_spool;

#define RER_EMPTY_SPOOL ((rer_spool){.fd = -1})

rer_status rer_spool_write(rer_spool *spool, const void *data, int64_t count, rer_error *error);
/* Moves what was collected to `bytes` and empties the spool. */
rer_status rer_spool_finish(rer_spool *spool, rer_bytes *bytes, rer_error *error);
void rer_spool_drop(rer_spool *spool);
