/* The chunks of an HDF5 data set, decoded in the order of rows: one row of chunks at a time is put together in
 * memory and goes to the spool. */
#include "source/hdf5.h"

#include <zlib.h>

#define DEFLATE_MAX 1100 /* what a compressed byte can become, and a little more */

/* ---- filters ----------------------------------------------------------------------------- */

/* A chunk on its way through the filters. */
typedef struct decoding {
    unsigned char *from, *to; /* [room]; they change places */
    int64_t size, room;
} decoding;

static bool inflate_chunk(rer_h5 *h5, decoding *d)
{
    uLongf made = (uLongf)d->room;
    int code = uncompress(d->to, &made, d->from, (uLong)d->size);
    if (code == Z_MEM_ERROR && h5->status == RER_OK)
        h5->status = rer_fail(h5->error, RER_SYSTEM, "out of memory: %s needs a window to be uncompressed", h5->name);
    d->size = (int64_t)made;
    return code == Z_OK;
}

/* The first bytes of all items, then the second ones, ... -> item by item. */
static bool unshuffle_chunk(decoding *d, int64_t item)
{
    if (item < 1 || item > d->size)
        return false;
    int64_t count = d->size / item, rest = d->size - count * item;
    for (int64_t b = 0; b < item; b++)
        for (int64_t i = 0; i < count; i++)
            d->to[i * item + b] = d->from[b * count + i];
    if (rest > 0)
        memcpy(d->to + count * item, d->from + count * item, (size_t)rest);
    return true;
}

static uint32_t fletcher(const unsigned char *bytes, int64_t size)
{
    uint64_t low = 0, high = 0;
    for (int64_t i = 0; i < size; i += 2) {
        low = (low + ((uint64_t)bytes[i] << 8) + (i + 1 < size ? bytes[i + 1] : 0)) % 65535;
        high = (high + low) % 65535;
    }
    return (uint32_t)(high << 16 | low);
}

/* 0 and 65535 are the same in this sum. */
static bool same_sum(uint32_t a, uint32_t b)
{
    return a % 65536 % 65535 == b % 65536 % 65535 && (a >> 16) % 65535 == (b >> 16) % 65535;
}

/* Versions before 1.6.3 wrote the sum with its bytes swapped in pairs. */
static bool check_sum(decoding *d)
{
    if (d->size < 4)
        return false;
    d->size -= 4;
    rer_h5_piece stored = {.bytes = d->from + d->size, .size = 4};
    uint32_t wanted = (uint32_t)rer_h5_number(&stored, 4), sum = fletcher(d->from, d->size);
    uint32_t swapped = (wanted & 0xFF00FF00u) >> 8 | (wanted & 0x00FF00FFu) << 8;
    memcpy(d->to, d->from, (size_t)d->size);
    return same_sum(sum, wanted) || same_sum(sum, swapped);
}

/* Filters are undone from the last to the first; a bit of the mask says that one was left out. */
static void undo_filters(rer_h5 *h5, const rer_h5_set *set, decoding *d, uint32_t mask, int64_t number)
{
    static const char *const names[] = {"", "inflated", "unshuffled", "the bytes that its checksum is for"};
    for (int32_t i = set->filter_count - 1; i >= 0 && h5->status == RER_OK; i--) {
        int32_t id = set->filters[i].id;
        if ((mask >> i & 1) != 0)
            continue;
        bool done = id == RER_H5_DEFLATE   ? inflate_chunk(h5, d)
                    : id == RER_H5_SHUFFLE ? unshuffle_chunk(d, set->filters[i].item_size)
                                           : check_sum(d);
        if (!done)
            rer_h5_fail(h5, "damaged: chunk %lld (from 0) cannot be %s", (long long)number, names[id]);
        unsigned char *made = d->to;
        d->to = d->from;
        d->from = made;
    }
}

/* ---- one row of chunks ------------------------------------------------------------------- */

typedef struct band {
    const rer_h5_chunks *chunks;
    int64_t item;
    int64_t chunk_step[RER_RANK_MAX], array_step[RER_RANK_MAX]; /* bytes from one index of an axis to the next */
    unsigned char *rows;                                        /* [min(chunk[0], shape[0]), row_bytes] */
    decoding d;
} band;

/* `count` items along each axis, run by run of the last one. */
static void copy_box(const band *b, const int64_t *count, int64_t run, const unsigned char *from, unsigned char *to)
{
    int64_t runs = 1;
    for (int32_t i = 0; i < RER_RANK_MAX; i++)
        runs *= count[i];
    for (int64_t k = 0; k < runs; k++) {
        int64_t from_at = 0, to_at = 0, rest = k;
        for (int32_t i = RER_RANK_MAX - 1; i >= 0; i--) {
            from_at += rest % count[i] * b->chunk_step[i];
            to_at += rest % count[i] * b->array_step[i];
            rest /= count[i];
        }
        memcpy(to + to_at, from + from_at, (size_t)(run * b->item));
    }
}

/* Chunk `number` to its place among the rows, without what reaches over the edge. */
static void place_chunk(const band *b, int64_t number)
{
    const rer_h5_set *set = b->chunks->set;
    int64_t count[RER_RANK_MAX] = {1, 1, 1, 1}, rest = number;
    unsigned char *to = b->rows;
    for (int32_t i = b->chunks->rank - 1; i >= 0; i--) {
        int64_t first = rest % b->chunks->count[i] * set->chunk[i];
        count[i] = rer_min(set->chunk[i], set->array->shape[i] - first);
        to += i > 0 ? first * b->array_step[i] : 0;
        rest /= b->chunks->count[i];
    }
    int64_t run = count[b->chunks->rank - 1];
    count[b->chunks->rank - 1] = 1;
    copy_box(b, count, run, b->d.from, to);
}

static void read_chunk(rer_h5 *h5, band *b, int64_t number)
{
    const rer_h5_chunk *chunk = &b->chunks->list[number];
    b->d.size = chunk->size;
    if (h5->status == RER_OK)
        h5->status = rer_bytes_read(h5->bytes, chunk->place, chunk->size, b->d.from, h5->name, h5->error);
    undo_filters(h5, b->chunks->set, &b->d, chunk->mask, number);
    if (b->d.size != b->chunks->bytes)
        rer_h5_fail(h5, "damaged: chunk %lld (from 0) has %lld bytes where its shape needs %lld", (long long)number,
                    (long long)b->d.size, (long long)b->chunks->bytes);
    if (h5->status == RER_OK)
        place_chunk(b, number);
}

/* ---- all --------------------------------------------------------------------------------- */

/* Whether all chunks are there, and can hold what they should; returns the bytes of the largest as it is stored. */
static int64_t check_stored(rer_h5 *h5, const rer_h5_chunks *chunks)
{
    int64_t largest = 0, sum = 0;
    for (int64_t i = 0; i < chunks->total && h5->status == RER_OK; i++) {
        int64_t size = chunks->list[i].size;
        largest = rer_max(largest, size);
        sum += size;
        if (size == 0)
            rer_h5_fail(h5, "chunk %lld (from 0) of %lld was never written: an unfinished or damaged file",
                        (long long)i, (long long)chunks->total);
        else if (chunks->bytes / DEFLATE_MAX > size)
            rer_h5_fail(h5, "damaged: chunk %lld (from 0) should have %lld bytes, but only %lld are stored",
                        (long long)i, (long long)chunks->bytes, (long long)size);
        else if (sum > h5->bytes->size)
            rer_h5_fail(h5, "damaged: its chunks lie on each other");
    }
    return largest;
}

static void count_chunks(rer_h5 *h5, rer_h5_chunks *chunks)
{
    const rer_h5_set *set = chunks->set;
    bool fits = true;
    chunks->rank = set->array->rank;
    chunks->total = 1;
    chunks->bytes = set->array->item_size;
    for (int32_t i = 0; i < chunks->rank; i++) {
        chunks->count[i] = (set->array->shape[i] - 1) / set->chunk[i] + 1;
        fits = fits && rer_product(chunks->total, chunks->count[i], &chunks->total) &&
               rer_product(chunks->bytes, set->chunk[i], &chunks->bytes);
    }
    if (!fits || chunks->bytes > UINT32_MAX || chunks->total > h5->bytes->size / 4)
        rer_h5_fail(h5, "damaged or unfinished: more chunks, or larger ones, than a file of %lld bytes can have",
                    (long long)h5->bytes->size);
    if (h5->status == RER_OK)
        h5->status = rer_allocate(&chunks->list, chunks->total, sizeof *chunks->list, "places of chunks", h5->error);
}

static void start_band(rer_h5 *h5, band *b, int64_t largest)
{
    const rer_h5_set *set = b->chunks->set;
    b->item = set->array->item_size;
    for (int32_t i = b->chunks->rank - 1; i >= 0; i--) {
        bool last = i == b->chunks->rank - 1;
        b->chunk_step[i] = last ? b->item : b->chunk_step[i + 1] * set->chunk[i + 1];
        b->array_step[i] = last ? b->item : b->array_step[i + 1] * set->array->shape[i + 1];
    }
    b->d.room = rer_max(largest, b->chunks->bytes) + 4 * RER_H5_FILTERS_MAX;
    rer_room rooms[] = {RER_ROOM(b->d.from, b->d.room), RER_ROOM(b->d.to, b->d.room),
                        RER_ROOM_OF(b->rows, rer_min(set->chunk[0], set->array->shape[0]), b->array_step[0], false)};
    if (h5->status == RER_OK)
        h5->status = rer_allocate_all(rooms, RER_COUNT(rooms), "chunks of an HDF5 data set", h5->error);
}

void rer_h5_decode(rer_h5 *h5, const rer_h5_set *set, rer_bytes *data)
{
    rer_spool spool = RER_EMPTY_SPOOL;
    rer_h5_chunks chunks = {.set = set};
    band b = {.chunks = &chunks};
    count_chunks(h5, &chunks);
    if (h5->status == RER_OK)
        rer_h5_find_chunks(h5, &chunks);
    start_band(h5, &b, check_stored(h5, &chunks));
    for (int64_t number = 0, row = 0; number < chunks.total && h5->status == RER_OK; row += set->chunk[0]) {
        for (int64_t end = number + chunks.total / chunks.count[0]; number < end && h5->status == RER_OK; number++)
            read_chunk(h5, &b, number);
        int64_t rows = rer_min(set->chunk[0], set->array->shape[0] - row);
        if (h5->status == RER_OK)
            h5->status = rer_spool_write(&spool, b.rows, rows * b.array_step[0], h5->error);
    }
    if (h5->status == RER_OK)
        h5->status = rer_spool_finish(&spool, data, h5->error);
    rer_spool_drop(&spool);
    free(b.rows);
    free(b.d.from);
    free(b.d.to);
    free(chunks.list);
}
