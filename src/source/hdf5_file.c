/* Structures of an HDF5 file: pieces of it with their checksums, the superblock, the messages of an object, and the
 * B-trees of version 1. */
#include "source/hdf5.h"

#include <stdarg.h>

#define BLOCKS_MAX 256 /* of one object's header */
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define SUMS_COUNT false /* a fuzzer would never get past a checksum */
#else
#define SUMS_COUNT true
#endif

void rer_h5_fail(rer_h5 *h5, const char *format, ...)
{
    char message[700];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(message, sizeof message, format, args);
    va_end(args);
    if (h5->status == RER_OK)
        h5->status = rer_fail(h5->error, RER_BAD_INPUT, "%s: %s", h5->name, message);
}

/* ---- pieces ------------------------------------------------------------------------------ */

uint64_t rer_h5_number(rer_h5_piece *piece, int64_t bytes)
{
    uint64_t value = 0;
    rer_h5_piece part = rer_h5_part(piece, (uint64_t)bytes);
    for (int64_t i = 0; i < part.size; i++)
        value |= (uint64_t)part.bytes[i] << 8 * i;
    return value;
}

uint64_t rer_h5_length(const rer_h5 *h5, rer_h5_piece *piece)
{
    return rer_h5_number(piece, h5->length_size);
}

uint64_t rer_h5_all_ones(int32_t bytes)
{
    return bytes < 8 ? ((uint64_t)1 << 8 * bytes) - 1 : UINT64_MAX;
}

uint64_t rer_h5_address(const rer_h5 *h5, rer_h5_piece *piece)
{
    uint64_t address = rer_h5_number(piece, h5->address_size);
    return address == rer_h5_all_ones(h5->address_size) ? RER_H5_NOWHERE : address;
}

rer_h5_piece rer_h5_part(rer_h5_piece *piece, uint64_t size)
{
    if (size == 0 || size > (uint64_t)(piece->size - piece->at)) {
        piece->is_short = piece->is_short || size > 0;
        piece->at = size > 0 ? piece->size : piece->at;
        return (rer_h5_piece){.is_short = size > 0};
    }
    rer_h5_piece part = {.bytes = piece->bytes + piece->at, .size = (int64_t)size};
    piece->at += (int64_t)size;
    return part;
}

void rer_h5_skip(rer_h5_piece *piece, uint64_t bytes)
{
    (void)rer_h5_part(piece, bytes);
}

void rer_h5_end(rer_h5 *h5, rer_h5_piece *piece)
{
    if (piece->is_short)
        rer_h5_fail(h5, "damaged: a structure of the HDF5 file is shorter than what it says to hold");
    free(piece->owned);
    *piece = (rer_h5_piece){0};
}

static uint32_t turn(uint32_t x, int bits)
{
    return x << bits | x >> (32 - bits);
}

/* Jenkins' lookup3, which HDF5 signs its newer structures with. */
static uint32_t checksum(const unsigned char *bytes, int64_t size)
{
    static const int mix[6] = {4, 6, 8, 16, 19, 4}, end[7] = {14, 11, 25, 16, 4, 14, 24};
    uint32_t x[3] = {0xDEADBEEFu + (uint32_t)size, 0xDEADBEEFu + (uint32_t)size, 0xDEADBEEFu + (uint32_t)size};
    for (int64_t at = 0; at < size; at += 12) {
        int64_t count = rer_min(12, size - at);
        for (int64_t i = 0; i < count; i++)
            x[i / 4] += (uint32_t)bytes[at + i] << 8 * (i % 4);
        for (int i = 0; i < 6 && at + 12 < size; i++) { /* a, b, c take turns */
            uint32_t *a = &x[i % 3], *b = &x[(i + 1) % 3], *c = &x[(i + 2) % 3];
            *a = (*a - *c) ^ turn(*c, mix[i]);
            *c += *b;
        }
    }
    for (int i = 0; i < 7 && size > 0; i++) {
        uint32_t *to = &x[(i + 2) % 3], from = x[(i + 1) % 3];
        *to = (*to ^ from) - turn(from, end[i]);
    }
    return x[2];
}

static void check_piece(rer_h5 *h5, rer_h5_piece *piece, uint64_t address, const char *signature, bool has_sum)
{
    if (piece->size < 4 * (signature != NULL) + 4 * has_sum) {
        piece->is_short = true;
        return;
    }
    if (signature != NULL && memcmp(piece->bytes, signature, 4) != 0)
        rer_h5_fail(h5, "damaged: at byte %llu there is no '%s'", (unsigned long long)address + (uint64_t)h5->base,
                    signature);
    piece->at = signature != NULL ? 4 : 0;
    if (!has_sum)
        return;
    piece->size -= 4;
    rer_h5_piece sum = {.bytes = piece->bytes + piece->size, .size = 4};
    if (SUMS_COUNT && checksum(piece->bytes, piece->size) != rer_h5_number(&sum, 4))
        rer_h5_fail(h5, "damaged: the checksum of the structure at byte %llu is wrong",
                    (unsigned long long)address + (uint64_t)h5->base);
}

rer_h5_piece rer_h5_load(rer_h5 *h5, uint64_t address, uint64_t size, const char *signature, bool has_sum)
{
    rer_h5_piece piece = {0};
    uint64_t room = (uint64_t)(h5->bytes->size - h5->base);
    if (size > room || address > room - size)
        rer_h5_fail(h5, "damaged or truncated: it refers to %llu bytes at %llu, but has %llu", (unsigned long long)size,
                    (unsigned long long)address, (unsigned long long)room);
    else if ((int64_t)size > h5->budget)
        rer_h5_fail(h5, "damaged: its structures refer to each other in a circle");
    if (h5->status == RER_OK)
        h5->status = rer_allocate(&piece.owned, (int64_t)size, 1, "a structure of an HDF5 file", h5->error);
    if (h5->status == RER_OK)
        h5->status =
            rer_bytes_read(h5->bytes, h5->base + (int64_t)address, (int64_t)size, piece.owned, h5->name, h5->error);
    if (h5->status == RER_OK) {
        h5->budget -= (int64_t)size;
        piece.bytes = piece.owned;
        piece.size = (int64_t)size;
        check_piece(h5, &piece, address, signature, has_sum);
    }
    if (h5->status != RER_OK)
        piece.size = piece.at = 0; /* nothing of it is used */
    return piece;
}

/* ---- the superblock ---------------------------------------------------------------------- */

static bool find_signature(rer_h5 *h5)
{
    unsigned char head[8];
    for (int64_t at = 0; at <= h5->bytes->size - 8 && h5->status == RER_OK; at = rer_max(512, 2 * at)) {
        h5->status = rer_bytes_read(h5->bytes, at, 8, head, h5->name, h5->error);
        h5->base = at;
        if (h5->status == RER_OK && memcmp(head, "\x89HDF\r\n\x1a\n", 8) == 0)
            return true;
    }
    rer_h5_fail(h5, "is no HDF5 file: nowhere is there the mark that it begins with");
    return false;
}

static bool is_size(int32_t size)
{
    return size == 2 || size == 4 || size == 8;
}

static void check_superblock(rer_h5 *h5, uint64_t version, uint64_t flags)
{
    if (version > 3)
        rer_h5_fail(h5, "its superblock has version %llu; 0 to 3 are read", (unsigned long long)version);
    else if (!is_size(h5->address_size) || !is_size(h5->length_size))
        rer_h5_fail(h5, "damaged: addresses of %d and lengths of %d bytes", h5->address_size, h5->length_size);
    else if (version == 3 && (flags & 1) != 0)
        rer_h5_fail(h5, "is being written, or its writer did not close it (h5clear -s mends that)");
}

void rer_h5_start(rer_h5 *h5)
{
    if (!find_signature(h5))
        return;
    h5->budget = 4 * h5->bytes->size + (1 << 16);
    rer_h5_piece head = rer_h5_load(h5, 0, 16, NULL, false);
    rer_h5_skip(&head, 8);
    uint64_t version = rer_h5_number(&head, 1);
    rer_h5_skip(&head, version < 2 ? 4 : 0);
    h5->address_size = (int32_t)rer_h5_number(&head, 1);
    h5->length_size = (int32_t)rer_h5_number(&head, 1);
    uint64_t flags = rer_h5_number(&head, 1);
    rer_h5_end(h5, &head);
    check_superblock(h5, version, flags);
    uint64_t start = version >= 2 ? 12 : version == 1 ? 28 : 24, O = (uint64_t)h5->address_size;
    rer_h5_piece all = rer_h5_load(h5, 0, start + (version < 2 ? 6 : 4) * O + (version < 2 ? 0 : 4), NULL, version > 1);
    rer_h5_skip(&all, start);
    uint64_t base = rer_h5_address(h5, &all);
    rer_h5_skip(&all, O);
    uint64_t end = rer_h5_address(h5, &all) - base; /* both as they were when the file was written */
    rer_h5_skip(&all, version < 2 ? 2 * O : 0);
    h5->root = rer_h5_address(h5, &all);
    rer_h5_end(h5, &all);
    if (h5->status == RER_OK && end > (uint64_t)(h5->bytes->size - h5->base))
        rer_h5_fail(h5, "truncated: it should have %llu bytes but has %lld", (unsigned long long)end,
                    (long long)(h5->bytes->size - h5->base));
}

/* ---- objects ----------------------------------------------------------------------------- */

/* The header of an object: its first block, and those that it goes on in. */
typedef struct header {
    bool is_new, has_order; /* version 2; each message has a number of its creation */
    struct {
        uint64_t address, size;
    } blocks[BLOCKS_MAX]; /* still to be read */
    int count;
} header;

static void add_block(rer_h5 *h5, header *h, rer_h5_piece *body)
{
    if (h->count == BLOCKS_MAX) {
        rer_h5_fail(h5, "damaged: the header of an object has more than %d blocks", BLOCKS_MAX);
        return;
    }
    h->blocks[h->count].address = rer_h5_address(h5, body);
    h->blocks[h->count++].size = rer_h5_length(h5, body);
}

static void read_messages(rer_h5 *h5, header *h, rer_h5_piece *block, rer_h5_visit *visit, void *context)
{
    int64_t head = !h->is_new ? 8 : h->has_order ? 6 : 4;
    while (h5->status == RER_OK && block->size - block->at >= head) {
        int type = (int)rer_h5_number(block, h->is_new ? 1 : 2);
        uint64_t size = rer_h5_number(block, 2), flags = rer_h5_number(block, 1);
        rer_h5_skip(block, (uint64_t)head - (h->is_new ? 4 : 5));
        rer_h5_piece body = rer_h5_part(block, size);
        if (type == RER_H5_CONTINUATION)
            add_block(h5, h, &body);
        else
            visit(h5, context, type, (flags & 2) != 0, &body);
        rer_h5_end(h5, &body);
    }
    rer_h5_end(h5, block);
}

/* The first block, from its first message on. */
static rer_h5_piece open_header(rer_h5 *h5, header *h, uint64_t address)
{
    rer_h5_piece head = rer_h5_load(h5, address, 16, NULL, false);
    h->is_new = head.size > 0 && memcmp(head.bytes, "OHDR", 4) == 0;
    if (!h->is_new) {
        uint64_t version = rer_h5_number(&head, 1);
        rer_h5_skip(&head, 7);
        uint64_t size = rer_h5_number(&head, 4);
        rer_h5_end(h5, &head);
        if (version != 1)
            rer_h5_fail(h5, "damaged: at byte %llu there is no object", (unsigned long long)address);
        return rer_h5_load(h5, address + 16, size, NULL, false);
    }
    rer_h5_skip(&head, 5);
    uint64_t flags = rer_h5_number(&head, 1), start = 6 + (flags & 32 ? 16u : 0u) + (flags & 16 ? 4u : 0u);
    uint64_t size_bytes = (uint64_t)1 << (flags & 3);
    rer_h5_end(h5, &head);
    head = rer_h5_load(h5, address + start, size_bytes, NULL, false);
    uint64_t size = rer_h5_number(&head, (int64_t)size_bytes);
    rer_h5_end(h5, &head);
    start += size_bytes;
    h->has_order = (flags & 4) != 0;
    if (size > (uint64_t)h5->bytes->size)
        size = (uint64_t)h5->bytes->size; /* the load fails, without an overflow */
    head = rer_h5_load(h5, address, start + size + 4, "OHDR", true);
    rer_h5_skip(&head, start - 4);
    return head;
}

void rer_h5_messages(rer_h5 *h5, uint64_t address, rer_h5_visit *visit, void *context)
{
    header h = {0};
    rer_h5_piece block = open_header(h5, &h, address);
    read_messages(h5, &h, &block, visit, context);
    for (int i = 0; i < h.count && h5->status == RER_OK; i++) {
        block = rer_h5_load(h5, h.blocks[i].address, h.blocks[i].size, h.is_new ? "OCHK" : NULL, h.is_new);
        read_messages(h5, &h, &block, visit, context);
    }
}

/* ---- B-trees of version 1 ---------------------------------------------------------------- */

/* level < 0: any, of the root */
static void walk_node(rer_h5 *h5, const rer_h5_tree *tree, uint64_t address, int level)
{
    uint64_t head_bytes = 8 + 2 * (uint64_t)h5->address_size;
    rer_h5_piece head = rer_h5_load(h5, address, head_bytes, "TREE", false);
    int kind = (int)rer_h5_number(&head, 1), own = (int)rer_h5_number(&head, 1);
    uint64_t count = rer_h5_number(&head, 2);
    rer_h5_end(h5, &head);
    if (kind != tree->kind || (level >= 0 && own != level))
        rer_h5_fail(h5, "damaged: a B-tree has a node of kind %d and level %d where kind %d is due", kind, own,
                    tree->kind);
    uint64_t entry_bytes = (uint64_t)(tree->key_bytes + h5->address_size);
    rer_h5_piece entries = rer_h5_load(h5, address + head_bytes, count * entry_bytes, NULL, false);
    for (uint64_t i = 0; i < count && h5->status == RER_OK; i++) {
        rer_h5_piece key = rer_h5_part(&entries, (uint64_t)tree->key_bytes);
        uint64_t child = rer_h5_address(h5, &entries);
        if (own > 0)
            walk_node(h5, tree, child, own - 1);
        else
            tree->visit(h5, tree->context, &key, child);
    }
    rer_h5_end(h5, &entries);
}

void rer_h5_walk(rer_h5 *h5, const rer_h5_tree *tree, uint64_t address)
{
    walk_node(h5, tree, address, -1);
}
