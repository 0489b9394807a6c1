/* What the parts of the HDF5 reader share. It reads what programs write by default or on request: numbers and texts,
 * contiguous, compact or in chunks, deflated, shuffled, with checksums, of all versions of the format up to that of HDF5 2.0.
 * Everything is bounded: a structure lies within the file, all of them together are not read more often than a sound
 * file needs, and no memory is taken that the stored bytes cannot fill.
 *
 *     hdf5_file.c    structures of the file: pieces, the superblock, messages of an object
 *     hdf5_links.c   from a path to an object
 *     hdf5_set.c     what a data set says of itself
 *     hdf5_index.c   where its chunks are
 *     hdf5_chunks.c  the chunks, decoded in the order of rows
 *     hdf5_texts.c   texts of variable length
 *     hdf5.c         all of it, as a reader of arrays */
#pragma once

#include "source/formats.h"

#define RER_H5_NOWHERE UINT64_MAX /* the address of what was never written */

/* An opened file. The first failure is kept: nothing is read after it, and every piece is empty. */
typedef struct rer_h5 {
    const rer_bytes *bytes;
    const char *file, *name; /* without and with the path of the data set */
    int64_t base;            /* addresses count from here: behind a user block */
    uint64_t root;           /* address of the root group */
    int32_t address_size, length_size;
    int64_t budget; /* bytes of structures that may still be read: references in a circle end here */
    rer_error *error;
    rer_status status;
} rer_h5;

/* A structure in memory, read from front to back. Past its end there are zeros, which rer_h5_end finds out. */
typedef struct rer_h5_piece {
    const unsigned char *bytes;
    int64_t size, at;
    bool is_short;        /* more was wanted than is there */
    unsigned char *owned; /* NULL where it is a part of another piece */
} rer_h5_piece;

void rer_h5_start(rer_h5 *h5); /* reads the superblock */
void rer_h5_fail(rer_h5 *h5, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* `size` bytes at an address, to be ended. With a signature (4 letters, or NULL) that must stand there; with a sum,
 * the last four bytes are the checksum of all before them. */
rer_h5_piece rer_h5_load(rer_h5 *h5, uint64_t address, uint64_t size, const char *signature, bool has_sum);
void rer_h5_end(rer_h5 *h5, rer_h5_piece *piece);
rer_h5_piece rer_h5_part(rer_h5_piece *piece, uint64_t size); /* the next bytes, as a piece */
uint64_t rer_h5_number(rer_h5_piece *piece, int64_t bytes);   /* little endian */
uint64_t rer_h5_address(const rer_h5 *h5, rer_h5_piece *piece);
uint64_t rer_h5_all_ones(int32_t bytes); /* which means "none", or "without end" */
uint64_t rer_h5_length(const rer_h5 *h5, rer_h5_piece *piece);
void rer_h5_skip(rer_h5_piece *piece, uint64_t bytes);

/* Messages that an object's header is made of. */
enum {
    RER_H5_SPACE = 1,
    RER_H5_LINK_INFO = 2,
    RER_H5_TYPE = 3,
    RER_H5_LINK = 6,
    RER_H5_EXTERNAL = 7,
    RER_H5_LAYOUT = 8,
    RER_H5_FILTERS = 11,
    RER_H5_CONTINUATION = 16,
    RER_H5_SYMBOL_TABLE = 17
};
/* Called for each message; one that is shared has only the place of the real one in its body. */
typedef void rer_h5_visit(rer_h5 *h5, void *context, int type, bool is_shared, rer_h5_piece *body);
void rer_h5_messages(rer_h5 *h5, uint64_t address, rer_h5_visit *visit, void *context);

/* Called for each entry of a B-tree of version 1: its key, and what it leads to. */
typedef void rer_h5_visit_entry(rer_h5 *h5, void *context, rer_h5_piece *key, uint64_t child);
typedef struct rer_h5_tree {
    int kind; /* 0: links, 1: chunks */
    int64_t key_bytes;
    rer_h5_visit_entry *visit;
    void *context;
} rer_h5_tree;
void rer_h5_walk(rer_h5 *h5, const rer_h5_tree *tree, uint64_t address);

/* The address of the object at a path; without one, of the only object at the root. */
uint64_t rer_h5_find(rer_h5 *h5, const char *path);

typedef enum rer_h5_layout { RER_H5_COMPACT, RER_H5_CONTIGUOUS, RER_H5_CHUNKED, RER_H5_VIRTUAL } rer_h5_layout;
typedef enum rer_h5_index {
    RER_H5_TREE,
    RER_H5_SINGLE,
    RER_H5_IMPLICIT,
    RER_H5_FIXED_ARRAY,
    RER_H5_EXTENSIBLE_ARRAY,
    RER_H5_TREE_2
} rer_h5_index;
enum { RER_H5_DEFLATE = 1, RER_H5_SHUFFLE = 2, RER_H5_FLETCHER = 3, RER_H5_FILTERS_MAX = 8 };

/* What the messages of a data set say. Type and shape go to the array. */
typedef struct rer_h5_set {
    rer_array *array;
    bool is_variable;           /* items are references to texts in a heap */
    bool is_external;           /* its data lie in other files */
    int64_t most[RER_RANK_MAX]; /* how far each axis may grow; INT64_MAX: without end */
    bool has_type, has_space, has_layout;
    rer_h5_layout layout;
    unsigned char *compact;   /* owned; the data themselves */
    uint64_t address, stored; /* of the data or of the index of chunks; the bytes of contiguous data */
    int32_t chunk_rank;       /* with the item's bytes as the last axis */
    int64_t chunk[RER_RANK_MAX + 1];
    rer_h5_index index;
    bool plain_edges;     /* chunks that reach over the edge are not filtered */
    uint64_t single_size; /* of a single filtered chunk */
    uint32_t single_mask;
    int32_t filter_count;
    struct {
        int32_t id;
        uint32_t item_size; /* for shuffling */
    } filters[RER_H5_FILTERS_MAX];
} rer_h5_set;

void rer_h5_describe(rer_h5 *h5, rer_h5_set *set, uint64_t address); /* and checks what it says */

/* A chunk as it is stored; size 0: it is not. */
typedef struct rer_h5_chunk {
    int64_t place; /* in the file */
    uint32_t size, mask;
} rer_h5_chunk;

/* The chunks of a data set, in C order of their places in it. */
typedef struct rer_h5_chunks {
    const rer_h5_set *set;
    int32_t rank;
    int64_t count[RER_RANK_MAX]; /* along each axis */
    int64_t total;
    int64_t bytes;      /* of one, decoded */
    rer_h5_chunk *list; /* [total] */
} rer_h5_chunks;

void rer_h5_find_chunks(rer_h5 *h5, rer_h5_chunks *chunks); /* fills the list */
/* All rows of a data set in chunks. */
void rer_h5_decode(rer_h5 *h5, const rer_h5_set *set, rer_bytes *data);

/* Replaces an array of references, whose items begin at `offset`, by the texts that they lead to. */
void rer_h5_texts(rer_h5 *h5, rer_array *array, const rer_bytes *items, int64_t offset, rer_bytes *data);
