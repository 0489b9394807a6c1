/* A zip, all sizes and places in 64 bits (APPNOTE 4.3, 4.5.3): for each file a head and its bytes, then the list of all
 * files and where that lies. */
#include "core/npz.h"

#include <zlib.h>

enum { VERSION = 45, DAY = 0x21 /* 1 January 1980: the same bytes each time */ };
#define SEE_64 0xFFFFFFFFu /* in the place of a number that has 64 bits elsewhere */

typedef struct zip_entry {
    char name[64];
    uint32_t crc32;
    int64_t size, place;
} zip_entry;

static void put_little(rer_writer *writer, uint64_t value, int bytes)
{
    char out[8];
    for (int i = 0; i < bytes; i++)
        out[i] = (char)(value >> 8 * i);
    rer_put_bytes(writer, out, bytes);
}

/* Numbers [count], each of so many bytes. */
typedef struct zip_field {
    uint64_t value;
    int bytes;
} zip_field;

static int64_t put_fields(rer_writer *writer, const zip_field *fields, int count)
{
    int64_t bytes = 0;
    for (int i = 0; i < count; i++) {
        put_little(writer, fields[i].value, fields[i].bytes);
        bytes += fields[i].bytes;
    }
    return bytes;
}

static int64_t put_head(rer_writer *writer, const zip_entry *entry)
{
    uint64_t length = strlen(entry->name), size = (uint64_t)entry->size;
    const zip_field head[] = {{0x04034B50, 4},   {VERSION, 2}, {0, 2},      {0, 2},      {0, 2}, {DAY, 2},
                              {entry->crc32, 4}, {SEE_64, 4},  {SEE_64, 4}, {length, 2}, {20, 2}};
    const zip_field sizes[] = {{1, 2}, {16, 2}, {size, 8}, {size, 8}};
    int64_t bytes = put_fields(writer, head, RER_COUNT(head));
    rer_put(writer, entry->name);
    return bytes + (int64_t)length + put_fields(writer, sizes, RER_COUNT(sizes));
}

static int64_t put_listed(rer_writer *writer, const zip_entry *entry)
{
    uint64_t length = strlen(entry->name), size = (uint64_t)entry->size;
    const zip_field head[] = {
        {0x02014B50, 4}, {VERSION, 2}, {VERSION, 2}, {0, 2}, {0, 2}, {0, 2}, {DAY, 2}, {entry->crc32, 4}, {SEE_64, 4},
        {SEE_64, 4},     {length, 2},  {28, 2},      {0, 2}, {0, 2}, {0, 2}, {0, 4},   {SEE_64, 4}};
    const zip_field sizes[] = {{1, 2}, {24, 2}, {size, 8}, {size, 8}, {(uint64_t)entry->place, 8}};
    int64_t bytes = put_fields(writer, head, RER_COUNT(head));
    rer_put(writer, entry->name);
    return bytes + (int64_t)length + put_fields(writer, sizes, RER_COUNT(sizes));
}

static void put_end(rer_writer *writer, int count, int64_t list, int64_t list_bytes)
{
    uint64_t n = (uint64_t)count, bytes = (uint64_t)list_bytes, place = (uint64_t)list;
    const zip_field end[] = {{0x06064B50, 4},
                             {44, 8},
                             {VERSION, 2},
                             {VERSION, 2},
                             {0, 4},
                             {0, 4},
                             {n, 8},
                             {n, 8},
                             {bytes, 8},
                             {place, 8},
                             {0x07064B50, 4},
                             {0, 4},
                             {place + bytes, 8},
                             {1, 4},
                             {0x06054B50, 4},
                             {0, 2},
                             {0, 2},
                             {0xFFFF, 2},
                             {0xFFFF, 2},
                             {SEE_64, 4},
                             {SEE_64, 4},
                             {0, 2}};
    (void)put_fields(writer, end, RER_COUNT(end));
}

static uint32_t sum_bytes(uint32_t sum, const void *data, int64_t bytes)
{
    enum { AT_ONCE = 1 << 30 };
    for (int64_t at = 0; at < bytes; at += AT_ONCE)
        sum = (uint32_t)crc32(sum, (const Bytef *)data + at, (uInt)rer_min(AT_ONCE, bytes - at));
    return sum;
}

/* Returns the bytes that it takes. */
static int64_t put_array(rer_writer *writer, zip_entry *entry, const rer_npz_array *array)
{
    const char order = array->size == 1 ? '|' : __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? '>' : '<';
    int64_t width = array->kind == 'U' ? array->size / 4 : array->size, bytes = array->size;
    char descr[32], header[RER_NPY_HEADER];
    for (int32_t i = 0; i < array->rank; i++)
        bytes *= array->shape[i];
    (void)snprintf(descr, sizeof descr, "%c%c%lld", order, array->kind, (long long)width);
    rer_npy_head(header, descr, false, array->rank, array->shape);
    (void)snprintf(entry->name, sizeof entry->name, "%.50s.npy", array->name);
    entry->size = (int64_t)sizeof header + bytes;
    entry->crc32 = sum_bytes(sum_bytes(0, header, sizeof header), array->data, bytes);
    int64_t head = put_head(writer, entry);
    rer_put_bytes(writer, header, sizeof header);
    rer_put_bytes(writer, array->data, bytes);
    return head + entry->size;
}

void rer_put_npz(rer_writer *writer, const rer_npz_array *arrays, int count)
{
    zip_entry entries[RER_NPZ_MOST];
    int64_t place = 0, list = 0;
    for (int i = 0; i < count; i++) {
        entries[i].place = place;
        place += put_array(writer, &entries[i], &arrays[i]);
    }
    for (int i = 0; i < count; i++)
        list += put_listed(writer, &entries[i]);
    put_end(writer, count, place, list);
}
