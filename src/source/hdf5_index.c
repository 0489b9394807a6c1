/* Where the chunks of an HDF5 data set are: the six kinds of index that the format knows. Files of the default
 * version have a B-tree for all of them; newer ones choose by how the data set may grow:
 *
 *     not at all, one chunk    the layout itself has the address
 *     not at all, no filters   all chunks one after another (implicit)
 *     not at all               fixed array
 *     along one axis           extensible array
 *     along several            B-tree of version 2
 *
 * Arrays number the chunks in C order of the largest shape, with the axis that grows in front. */
#include "source/hdf5.h"

typedef struct search {
    rer_h5 *h5;
    rer_h5_chunks *chunks;
    const rer_h5_set *set;
    int32_t axis[RER_RANK_MAX]; /* from the slowest to the fastest in the numbers of an array */
    int64_t most[RER_RANK_MAX]; /* chunks along each axis of the largest shape */
    uint64_t entry_bytes;       /* of one chunk in the index */
    bool is_filtered;           /* an entry has size and mask after the address */
} search;

/* ---- one chunk --------------------------------------------------------------------------- */

static bool is_at_edge(const search *s, const uint64_t *at)
{
    for (int32_t i = 0; i < s->chunks->rank; i++)
        if (((int64_t)at[i] + 1) * s->set->chunk[i] > s->set->array->shape[i])
            return true;
    return false;
}

/* Chunks outside of the shape are left over from a larger one. */
static void put(search *s, const uint64_t *at, uint64_t address, uint64_t size, uint64_t mask)
{
    rer_h5 *h5 = s->h5;
    int64_t number = 0, room = h5->bytes->size - h5->base;
    for (int32_t i = 0; i < s->chunks->rank; i++) {
        if (at[i] >= (uint64_t)s->chunks->count[i])
            return;
        number = number * s->chunks->count[i] + (int64_t)at[i];
    }
    if (address == RER_H5_NOWHERE || h5->status != RER_OK)
        return;
    if (s->set->filter_count == 0 || (s->set->plain_edges && is_at_edge(s, at))) {
        size = (uint64_t)s->chunks->bytes;
        mask = UINT32_MAX;
    }
    if (size < 1 || size > UINT32_MAX || size > (uint64_t)room || address > (uint64_t)room - size)
        rer_h5_fail(h5, "damaged or truncated: chunk %lld (from 0) should have %llu bytes at %llu, but there are %lld",
                    (long long)number, (unsigned long long)size, (unsigned long long)address, (long long)room);
    else
        s->chunks->list[number] =
            (rer_h5_chunk){.place = h5->base + (int64_t)address, .size = (uint32_t)size, .mask = (uint32_t)mask};
}

/* Address, and where chunks are filtered, size and mask. `more`: bytes that follow in the entry. */
static void read_entry(search *s, rer_h5_piece *entry, uint64_t more, uint64_t *address, uint64_t *size, uint64_t *mask)
{
    uint64_t fixed = (uint64_t)s->h5->address_size + (s->is_filtered ? 4 : 0) + more;
    uint64_t bytes = s->entry_bytes - fixed;
    if (s->entry_bytes < fixed || bytes > 8 || (bytes > 0) != s->is_filtered)
        rer_h5_fail(s->h5, "damaged: an index of chunks with entries of %llu bytes",
                    (unsigned long long)s->entry_bytes);
    if (s->h5->status != RER_OK)
        return;
    *address = rer_h5_address(s->h5, entry);
    *size = rer_h5_number(entry, (int64_t)bytes);
    *mask = s->is_filtered ? rer_h5_number(entry, 4) : 0;
}

/* `count` elements of an array from `first` on. */
static void put_elements(search *s, rer_h5_piece *elements, uint64_t first, uint64_t count)
{
    for (uint64_t i = first; i < first + count && s->h5->status == RER_OK; i++) {
        uint64_t at[RER_RANK_MAX] = {0}, rest = i, address = RER_H5_NOWHERE, size = 0, mask = 0;
        for (int32_t k = s->chunks->rank - 1; k >= 0; k--) {
            int32_t axis = s->axis[k];
            at[axis] = k > 0 ? rest % (uint64_t)s->most[axis] : rest;
            rest /= (uint64_t)s->most[axis];
        }
        rer_h5_piece entry = rer_h5_part(elements, s->entry_bytes);
        read_entry(s, &entry, 0, &address, &size, &mask);
        put(s, at, address, size, mask);
    }
}

/* ---- B-trees ----------------------------------------------------------------------------- */

static void put_key(rer_h5 *h5, void *context, rer_h5_piece *key, uint64_t address)
{
    search *s = context;
    uint64_t at[RER_RANK_MAX] = {0}, size = rer_h5_number(key, 4), mask = rer_h5_number(key, 4);
    for (int32_t i = 0; i < s->chunks->rank; i++) {
        uint64_t first = rer_h5_number(key, 8), step = (uint64_t)s->set->chunk[i];
        at[i] = first / step;
        if (first % step != 0)
            rer_h5_fail(h5, "damaged: a chunk begins at %llu, which is no multiple of %llu", (unsigned long long)first,
                        (unsigned long long)step);
    }
    put(s, at, address, size, mask);
}

static void read_tree(search *s)
{
    rer_h5_tree tree = {.kind = 1, .key_bytes = 8 + 8 * (s->chunks->rank + 1), .visit = put_key, .context = s};
    rer_h5_walk(s->h5, &tree, s->set->address);
}

static void put_record(search *s, rer_h5_piece *records)
{
    uint64_t at[RER_RANK_MAX] = {0}, address = RER_H5_NOWHERE, size = 0, mask = 0;
    rer_h5_piece record = rer_h5_part(records, s->entry_bytes);
    read_entry(s, &record, 8 * (uint64_t)s->chunks->rank, &address, &size, &mask);
    for (int32_t i = 0; i < s->chunks->rank; i++)
        at[i] = rer_h5_number(&record, 8);
    put(s, at, address, size, mask);
}

static int64_t bytes_for(uint64_t number)
{
    int64_t bytes = 1;
    while ((number >>= 8) > 0)
        bytes++;
    return bytes;
}

#define DEPTH_MAX 16
/* A node of the B-tree of version 2 with so many records; counts of the records below a child have total_bytes[]. */
static void read_node(search *s, uint64_t address, uint64_t count, int depth, int64_t count_bytes,
                      const int64_t *total_bytes)
{
    rer_h5 *h5 = s->h5;
    int64_t total = depth > 1 ? total_bytes[depth - 1] : 0;
    uint64_t pointer = (uint64_t)(h5->address_size + count_bytes + total);
    uint64_t children = depth > 0 ? (count + 1) * pointer : 0;
    rer_h5_piece node =
        rer_h5_load(h5, address, 10 + count * s->entry_bytes + children, depth > 0 ? "BTIN" : "BTLF", true);
    rer_h5_skip(&node, 2);
    for (uint64_t i = 0; i < count && h5->status == RER_OK; i++)
        put_record(s, &node);
    for (uint64_t i = 0; i <= count && depth > 0 && h5->status == RER_OK; i++) {
        uint64_t child = rer_h5_address(h5, &node), records = rer_h5_number(&node, count_bytes);
        rer_h5_skip(&node, (uint64_t)total);
        read_node(s, child, records, depth - 1, count_bytes, total_bytes);
    }
    rer_h5_end(h5, &node);
}

static void read_tree_2(search *s)
{
    rer_h5 *h5 = s->h5;
    int64_t total_bytes[DEPTH_MAX + 1] = {0};
    rer_h5_piece head =
        rer_h5_load(h5, s->set->address, 22 + (uint64_t)h5->address_size + (uint64_t)h5->length_size, "BTHD", true);
    rer_h5_skip(&head, 1);
    uint64_t kind = rer_h5_number(&head, 1), node = rer_h5_number(&head, 4);
    s->entry_bytes = rer_h5_number(&head, 2);
    uint64_t depth = rer_h5_number(&head, 2);
    rer_h5_skip(&head, 2);
    uint64_t root = rer_h5_address(h5, &head), count = rer_h5_number(&head, 2);
    rer_h5_end(h5, &head);
    s->is_filtered = kind == 11;
    if ((kind != 10 && kind != 11) || s->entry_bytes < 8 || node < 64 || depth > DEPTH_MAX)
        rer_h5_fail(h5, "damaged: a B-tree of kind %llu and depth %llu for chunks", (unsigned long long)kind,
                    (unsigned long long)depth);
    if (h5->status != RER_OK || root == RER_H5_NOWHERE)
        return;
    /* How large the counts in a node are follows from how many records fit below it. */
    uint64_t most = (node - 10) / s->entry_bytes, below = most;
    int64_t count_bytes = bytes_for(most);
    for (int64_t d = 1; d <= (int64_t)depth; d++) {
        uint64_t pointer = (uint64_t)(h5->address_size + count_bytes + total_bytes[d - 1]);
        uint64_t records = (node - 10 - rer_min((int64_t)pointer, (int64_t)node - 10)) / (s->entry_bytes + pointer);
        below = (records + 1) * below + records; /* past 2^64 only in files that nobody has */
        total_bytes[d] = bytes_for(below);
    }
    read_node(s, root, count, (int)depth, count_bytes, total_bytes);
}

/* ---- arrays ------------------------------------------------------------------------------ */

static bool has_bit(const rer_h5_piece *bits, uint64_t i)
{
    return i / 8 < (uint64_t)bits->size && (bits->bytes[i / 8] & (0x80u >> i % 8)) != 0;
}

/* A block of elements, in one piece or, where there are more than 2^page_bits, in pages with a sum each. */
typedef struct array_block {
    const char *signature;
    uint64_t prefix;       /* bytes before the elements */
    uint64_t first, count; /* elements */
    uint64_t page_bits;
    const rer_h5_piece *written; /* bits of the pages that are; NULL: the block has them itself */
    uint64_t first_bit;          /* of the block's pages among them */
} array_block;

static void read_pages(search *s, const array_block *a, uint64_t address, const rer_h5_piece *written)
{
    uint64_t page = (uint64_t)1 << a->page_bits, page_bytes = page * s->entry_bytes + 4;
    for (uint64_t i = 0; i * page < a->count && s->h5->status == RER_OK; i++) {
        uint64_t elements = (uint64_t)rer_min((int64_t)page, (int64_t)(a->count - i * page));
        if (!has_bit(written, a->first_bit + i))
            continue;
        rer_h5_piece part = rer_h5_load(s->h5, address + i * page_bytes, elements * s->entry_bytes + 4, NULL, true);
        put_elements(s, &part, a->first + i * page, elements);
        rer_h5_end(s->h5, &part);
    }
}

static void read_block(search *s, const array_block *a, uint64_t address)
{
    rer_h5 *h5 = s->h5;
    if (address == RER_H5_NOWHERE)
        return;
    if (a->count > (uint64_t)h5->bytes->size || a->page_bits > 32)
        rer_h5_fail(h5, "damaged: an index of %llu chunks", (unsigned long long)a->count);
    uint64_t pages = h5->status == RER_OK ? (a->count - 1) >> a->page_bits : 0; /* 0: all in one piece */
    uint64_t marks = pages > 0 && a->written == NULL ? pages / 8 + 1 : 0;
    uint64_t elements = pages > 0 ? 0 : a->count * s->entry_bytes;
    rer_h5_piece block = rer_h5_load(h5, address, a->prefix + marks + elements + 4, a->signature, true);
    rer_h5_skip(&block, a->prefix - 4);
    rer_h5_piece own = rer_h5_part(&block, marks);
    if (pages > 0)
        read_pages(s, a, address + a->prefix + marks + 4, a->written != NULL ? a->written : &own);
    else
        put_elements(s, &block, a->first, a->count);
    rer_h5_end(h5, &block);
}

static void read_fixed_array(search *s)
{
    rer_h5 *h5 = s->h5;
    uint64_t O = (uint64_t)h5->address_size;
    rer_h5_piece head = rer_h5_load(h5, s->set->address, 12 + (uint64_t)h5->length_size + O, "FAHD", true);
    rer_h5_skip(&head, 1);
    s->is_filtered = rer_h5_number(&head, 1) == 1;
    s->entry_bytes = rer_h5_number(&head, 1);
    uint64_t page_bits = rer_h5_number(&head, 1), count = rer_h5_length(h5, &head);
    uint64_t data = rer_h5_address(h5, &head);
    rer_h5_end(h5, &head);
    read_block(s, &(array_block){.signature = "FADB", .prefix = 6 + O, .count = count, .page_bits = page_bits}, data);
}

/* An extensible array: some elements in its index block, then data blocks that double in number and size in turn.
 * Those of the first super blocks hang on the index block itself. */
typedef struct extensible {
    uint64_t bits;         /* of the largest number of elements */
    uint64_t in_index;     /* elements in the index block */
    uint64_t block_min;    /* elements of the smallest data block */
    uint64_t pointers_min; /* data blocks of the smallest super block */
    array_block next;      /* what comes next */
} extensible;

static void read_data_blocks(search *s, extensible *e, rer_h5_piece *addresses, uint64_t blocks)
{
    for (uint64_t i = 0; i < blocks && s->h5->status == RER_OK; i++) {
        read_block(s, &e->next, rer_h5_address(s->h5, addresses));
        e->next.first += e->next.count;
        e->next.first_bit += e->next.count >> e->next.page_bits;
    }
}

static void read_super_block(search *s, extensible *e, uint64_t address, uint64_t blocks)
{
    rer_h5 *h5 = s->h5;
    array_block *next = &e->next;
    uint64_t pages = next->count >> next->page_bits;
    uint64_t marks = next->count > (uint64_t)1 << next->page_bits ? blocks * ((pages + 7) / 8) : 0;
    if (address == RER_H5_NOWHERE) {
        next->first += blocks * next->count;
        return;
    }
    rer_h5_piece block =
        rer_h5_load(h5, address, next->prefix + marks + blocks * (uint64_t)h5->address_size + 4, "EASB", true);
    rer_h5_skip(&block, next->prefix - 4);
    rer_h5_piece written = rer_h5_part(&block, marks);
    next->written = &written;
    next->first_bit = 0;
    read_data_blocks(s, e, &block, blocks);
    next->written = NULL;
    rer_h5_end(h5, &block);
}

static uint64_t power_of(uint64_t number)
{
    uint64_t power = 0;
    while (number >>= 1)
        power++;
    return power;
}

static void read_index_block(search *s, extensible *e, uint64_t address)
{
    rer_h5 *h5 = s->h5;
    uint64_t O = (uint64_t)h5->address_size, direct = 2 * power_of(e->pointers_min);
    uint64_t supers = 1 + e->bits - power_of(e->block_min); /* of all sizes */
    uint64_t pointers = 2 * (e->pointers_min - 1) + supers - (uint64_t)rer_min((int64_t)direct, (int64_t)supers);
    rer_h5_piece block = rer_h5_load(h5, address, 10 + O + e->in_index * s->entry_bytes + pointers * O, "EAIB", true);
    rer_h5_skip(&block, 2 + O);
    put_elements(s, &block, 0, e->in_index);
    e->next.first = e->in_index;
    for (uint64_t u = 0; u < supers && h5->status == RER_OK; u++) {
        uint64_t blocks = (uint64_t)1 << u / 2;
        e->next.count = e->block_min << (u + 1) / 2;
        if (u < direct)
            read_data_blocks(s, e, &block, blocks);
        else
            read_super_block(s, e, rer_h5_address(h5, &block), blocks);
    }
    rer_h5_end(h5, &block);
}

static bool is_power(uint64_t number)
{
    return number > 0 && (number & (number - 1)) == 0;
}

static void read_extensible_array(search *s)
{
    rer_h5 *h5 = s->h5;
    extensible e = {0};
    uint64_t O = (uint64_t)h5->address_size, L = (uint64_t)h5->length_size;
    rer_h5_piece head = rer_h5_load(h5, s->set->address, 16 + 6 * L + O, "EAHD", true);
    rer_h5_skip(&head, 1);
    s->is_filtered = rer_h5_number(&head, 1) == 1;
    s->entry_bytes = rer_h5_number(&head, 1);
    e.bits = rer_h5_number(&head, 1);
    e.in_index = rer_h5_number(&head, 1);
    e.block_min = rer_h5_number(&head, 1);
    e.pointers_min = rer_h5_number(&head, 1);
    e.next = (array_block){.signature = "EADB", .prefix = 6 + O + (e.bits + 7) / 8};
    e.next.page_bits = rer_h5_number(&head, 1);
    rer_h5_skip(&head, 6 * L);
    uint64_t address = rer_h5_address(h5, &head);
    rer_h5_end(h5, &head);
    if (!is_power(e.block_min) || !is_power(e.pointers_min) || e.bits > 48 || e.bits < 8 || e.next.page_bits > 32)
        rer_h5_fail(h5, "damaged: an extensible array of chunks with impossible sizes");
    if (h5->status == RER_OK && address != RER_H5_NOWHERE)
        read_index_block(s, &e, address);
}

/* ---- any --------------------------------------------------------------------------------- */

static void put_single(search *s)
{
    uint64_t at[RER_RANK_MAX] = {0};
    put(s, at, s->set->address, s->set->single_size, s->set->single_mask);
}

/* Chunk by chunk of the present shape: how far the largest one reaches costs nothing. */
static void put_implicit(search *s)
{
    const rer_h5_chunks *chunks = s->chunks;
    for (int64_t number = 0; number < chunks->total && s->h5->status == RER_OK; number++) {
        uint64_t at[RER_RANK_MAX] = {0}, rest = (uint64_t)number, place = 0;
        for (int32_t i = chunks->rank - 1; i >= 0; i--) {
            at[i] = rest % (uint64_t)chunks->count[i];
            rest /= (uint64_t)chunks->count[i];
        }
        for (int32_t i = 0; i < chunks->rank; i++)
            place = place * (uint64_t)s->most[i] + at[i];
        put(s, at, s->set->address + place * (uint64_t)chunks->bytes, 0, 0);
    }
}

void rer_h5_find_chunks(rer_h5 *h5, rer_h5_chunks *chunks)
{
    static void (*const readers[])(search *) = {
        read_tree, put_single, put_implicit, read_fixed_array, read_extensible_array, read_tree_2};
    search s = {.h5 = h5, .chunks = chunks, .set = chunks->set};
    int32_t used = 0;
    for (int32_t i = 0; i < chunks->rank; i++) {
        s.most[i] = rer_max(1, (s.set->most[i] - 1) / s.set->chunk[i] + 1);
        if (s.set->most[i] == INT64_MAX && used == 0)
            s.axis[used++] = i; /* the one that grows */
    }
    for (int32_t i = 0; i < chunks->rank; i++)
        if (used == 0 || i != s.axis[0] || s.set->most[i] != INT64_MAX)
            s.axis[used++] = i;
    readers[s.set->index](&s);
}
