/* An array somewhere: in memory, in a file at an offset, or on a card. Every reader ends in one of these:
 * formats that cannot be read in place (gz, csv, compressed members) are decoded once into
 * memory or, past RER_SPOOL_MAX bytes, into an unlinked temporary file. */
#pragma once

#include "core/core.h"

#define RER_RANK_MAX 4
#define RER_SPOOL_MAX (64 << 20)

typedef struct rer_array {
    char *name; /* as the user wrote it, for messages */
    rer_dtype dtype;
    int32_t item_size; /* bytes */
    bool big_endian, fortran;
    int32_t rank; /* 1 to RER_RANK_MAX */
    int64_t shape[RER_RANK_MAX];
    const unsigned char *data;              /* in memory, or NULL: then in the file */
    unsigned char *owned;                   /* freed on close */
    int fd;                                 /* -1 where in memory */
    int64_t offset;                         /* of the first item in the file */
    const struct rer_device_plugin *plugin; /* who reads what lies on ... */
    const unsigned char *on_card;           /* ... a card, and where; NULL: it does not */
    int32_t card;
} rer_array;

/* Texts [count]: text i is bytes[offset[i]] up to its zero. */
typedef struct rer_texts {
    int64_t count;
    int64_t *offset; /* [count] */
    char *bytes;
} rer_texts;

void rer_array_close(rer_array *array); /* accepts a zeroed array whose fd is 0 and name NULL */
void rer_texts_free(rer_texts *texts);

/* Opens any array that is no table: .npy, .npz:name, .h5:/path, IDX, and any of them gzipped or
 * "-" (spooled); by content where the name does not say. */
rer_status rer_array_open(rer_array *array, const char *path, rer_error *error);
bool rer_path_is_table(const char *path); /* .csv .tsv .txt, also with .gz */
bool rer_path_ends(const char *path, const char *ending);

int64_t rer_array_columns(const rer_array *array); /* product of shape[1..]; 1 for rank 1 */
int64_t rer_array_row_bytes(const rer_array *array);

/* `bytes` bytes from `offset` on (of the array's data); a file that ends early is RER_BAD_INPUT. */
rer_status rer_array_read(const rer_array *array, int64_t offset, int64_t bytes, void *out, rer_error *error);
/* Rows first..first+count-1 as float [count, columns]. `scratch` holds count * row_bytes bytes.
 * Numeric dtypes only. Safe to call from several threads. */
rer_status rer_array_rows(const rer_array *array, int64_t first, int64_t count, float *out, void *scratch,
                          rer_error *error);
/* Rows [count] of an array on a card. */
rer_status rer_array_fetch_rows(const rer_array *array, const int64_t *row, int64_t count, float *out,
                                rer_error *error);
/* Rows first..first+count-1 as they are stored, in C order and native byte order. */
rer_status rer_array_raw_rows(const rer_array *array, int64_t first, int64_t count, void *out, void *scratch,
                              rer_error *error);

/* A first row that was taken for a header though nobody named its column: the user is told. */
typedef struct rer_header {
    char text[60]; /* visible; empty where no row was taken for one */
} rer_header;

/* One text a row, from any array of integers or texts or a one-column table (or `column` of it).
 * Where a table has one row more than `expected` (< 0: any number) its first row is taken for a header if it differs
 * from all others as a header does, and `header` has it; header NULL: it is not. Invalid UTF-8 is an error. */
rer_status rer_texts_open(rer_texts *texts, const char *path, const char *column, int64_t expected, rer_header *header,
                          rer_error *error);
