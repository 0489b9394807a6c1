/* Texts of variable length: the data set holds references (length, address of a collection, number of an object in
 * it), the texts stand in the collections of the global heap.
 *
 * 1. The collections that the references name are read once each: a directory of all their objects.
 * 2. Each text is found in the directory; all are filled up with zeros to the longest. */
#include "source/hdf5.h"
#include "source/texts.h"

#define TEXT_MAX (1 << 16) /* bytes of one text */
#define SPREAD_MAX 256     /* bytes of texts of one length for each byte of the file */

typedef struct object {
    uint64_t collection, number;
    int64_t place, size; /* in the file */
} object;

typedef struct directory {
    object *list; /* [count], sorted */
    int64_t count, capacity;
} directory;

static int by_address(const void *a, const void *b)
{
    const object *x = a, *y = b;
    if (x->collection != y->collection)
        return x->collection < y->collection ? -1 : 1;
    return x->number == y->number ? 0 : x->number < y->number ? -1 : 1;
}

static void add_object(rer_h5 *h5, directory *d, object added)
{
    if (h5->status == RER_OK)
        h5->status = rer_grow(&d->list, &d->capacity, d->count + 1, sizeof *d->list, "texts of a heap", h5->error);
    if (h5->status == RER_OK)
        d->list[d->count++] = added;
}

/* Object 0 is the space that is left. */
static void read_collection(rer_h5 *h5, directory *d, uint64_t address)
{
    uint64_t L = (uint64_t)h5->length_size;
    rer_h5_piece head = rer_h5_load(h5, address, 8 + L, "GCOL", false);
    rer_h5_skip(&head, 4);
    uint64_t size = rer_h5_length(h5, &head);
    rer_h5_end(h5, &head);
    rer_h5_piece all = rer_h5_load(h5, address, size, "GCOL", false);
    rer_h5_skip(&all, 4 + L);
    while (h5->status == RER_OK && all.size - all.at >= 8 + (int64_t)L) {
        object found = {.collection = address, .number = rer_h5_number(&all, 2)};
        rer_h5_skip(&all, 6);
        uint64_t bytes = rer_h5_length(h5, &all), left = (uint64_t)(all.size - all.at);
        found.place = h5->base + (int64_t)address + all.at;
        found.size = (int64_t)(bytes < left ? bytes : left);
        if (found.number == 0)
            break;
        if (bytes > left)
            all.is_short = true;
        add_object(h5, d, found);
        rer_h5_skip(&all, bytes < left ? (uint64_t)rer_min((int64_t)(bytes + 7) / 8 * 8, (int64_t)left) : left);
    }
    rer_h5_end(h5, &all);
}

/* ---- references -------------------------------------------------------------------------- */

typedef struct reference {
    uint64_t length, collection, number;
} reference;

typedef struct references {
    const rer_bytes *items;
    int64_t offset, count;
} references;

static reference read_reference(rer_h5 *h5, const references *all, int64_t row)
{
    unsigned char bytes[16];
    rer_h5_piece item = {.bytes = bytes, .size = 8 + h5->address_size};
    if (h5->status == RER_OK)
        h5->status = rer_bytes_read(all->items, all->offset + row * item.size, item.size, bytes, h5->name, h5->error);
    if (h5->status != RER_OK)
        return (reference){0};
    reference read = {.length = rer_h5_number(&item, 4)};
    read.collection = rer_h5_address(h5, &item);
    read.number = rer_h5_number(&item, 4);
    return read;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x == y ? 0 : x < y ? -1 : 1;
}

/* The objects of all collections that the references name. */
static void read_directory(rer_h5 *h5, directory *d, const references *all)
{
    uint64_t *collections = NULL; /* [N] */
    if (h5->status == RER_OK)
        h5->status = rer_allocate(&collections, all->count, sizeof *collections, "references to texts", h5->error);
    int64_t used = 0;
    for (int64_t row = 0; row < all->count && h5->status == RER_OK; row++) {
        reference r = read_reference(h5, all, row);
        if (r.length > 0 && (used == 0 || collections[used - 1] != r.collection))
            collections[used++] = r.collection;
    }
    if (used > 0)
        qsort(collections, (size_t)used, sizeof *collections, by_value);
    for (int64_t i = 0; i < used && h5->status == RER_OK; i++)
        if (i == 0 || collections[i] != collections[i - 1])
            read_collection(h5, d, collections[i]);
    if (d->count > 0)
        qsort(d->list, (size_t)d->count, sizeof *d->list, by_address);
    free(collections);
}

/* The text of a row, where it stands in the file; size 0: it is empty. */
static object text_of(rer_h5 *h5, const directory *d, const references *all, int64_t row)
{
    reference r = read_reference(h5, all, row);
    object wanted = {.collection = r.collection, .number = r.number};
    const object *found = NULL;
    if (r.length == 0)
        return wanted;
    if (d->count > 0)
        found = bsearch(&wanted, d->list, (size_t)d->count, sizeof wanted, by_address);
    if (found == NULL || r.length > (uint64_t)found->size) {
        rer_h5_fail(h5, "damaged: row %lld (from 0): its text is not in the heap", (long long)row);
        return wanted;
    }
    if (r.length > TEXT_MAX)
        rer_h5_fail(h5, "row %lld (from 0): a text of %llu bytes is longer than %d", (long long)row,
                    (unsigned long long)r.length, TEXT_MAX);
    if (h5->status != RER_OK)
        return wanted;
    return (object){.place = found->place, .size = (int64_t)r.length};
}

/* ---- all --------------------------------------------------------------------------------- */

static int64_t longest_text(rer_h5 *h5, const directory *d, const references *all)
{
    int64_t width = 1, bytes = 0;
    for (int64_t row = 0; row < all->count && h5->status == RER_OK; row++)
        width = rer_max(width, text_of(h5, d, all, row).size);
    if (!rer_product(width, all->count, &bytes) || bytes / SPREAD_MAX > h5->bytes->size + RER_SPOOL_MAX / SPREAD_MAX)
        rer_h5_fail(h5, "%lld texts, one of them of %lld bytes, are too many to be made of one length",
                    (long long)all->count, (long long)width);
    return width;
}

static void write_texts(rer_h5 *h5, rer_spool *spool, const directory *d, const references *all, int64_t width)
{
    char *text = NULL;
    if (h5->status == RER_OK)
        h5->status = rer_allocate(&text, width, 1, "a text", h5->error);
    for (int64_t row = 0; row < all->count && h5->status == RER_OK; row++) {
        object found = text_of(h5, d, all, row);
        memset(text, 0, (size_t)width);
        if (h5->status == RER_OK && found.size > 0)
            h5->status = rer_bytes_read(h5->bytes, found.place, found.size, text, h5->name, h5->error);
        if (h5->status == RER_OK)
            h5->status = rer_spool_write(spool, text, width, h5->error);
    }
    free(text);
}

void rer_h5_texts(rer_h5 *h5, rer_array *array, const rer_bytes *items, int64_t offset, rer_bytes *data)
{
    references all = {.items = items, .offset = offset, .count = array->shape[0]};
    rer_spool spool = RER_EMPTY_SPOOL;
    directory d = {0};
    if (h5->status == RER_OK)
        h5->status = rer_array_check_column(array, "text", h5->error);
    read_directory(h5, &d, &all);
    int64_t width = longest_text(h5, &d, &all);
    array->item_size = (int32_t)width;
    write_texts(h5, &spool, &d, &all, width);
    if (h5->status == RER_OK)
        h5->status = rer_spool_finish(&spool, data, h5->error);
    rer_spool_drop(&spool);
    free(d.list);
}
