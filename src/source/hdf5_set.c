/* What an HDF5 data set says of itself: shape, type, layout, filters. */
#include "source/hdf5.h"

/* ---- shape and type ---------------------------------------------------------------------- */

static int64_t as_size(uint64_t size)
{
    return size > INT64_MAX ? INT64_MAX : (int64_t)size;
}

static void read_space(rer_h5 *h5, rer_h5_set *set, rer_h5_piece *body)
{
    uint64_t version = rer_h5_number(body, 1), rank = rer_h5_number(body, 1), flags = rer_h5_number(body, 1);
    rer_h5_skip(body, version == 1 ? 5 : 1);
    if (version != 1 && version != 2)
        rer_h5_fail(h5, "damaged: a shape of version %llu", (unsigned long long)version);
    if (rank < 1 || rank > RER_RANK_MAX) {
        rer_h5_fail(h5, "has %llu axes; arrays of 1 to %d are read", (unsigned long long)rank, RER_RANK_MAX);
        return;
    }
    set->has_space = true;
    set->array->rank = (int32_t)rank;
    for (uint64_t i = 0; i < rank; i++)
        set->most[i] = set->array->shape[i] = as_size(rer_h5_length(h5, body));
    for (uint64_t i = 0; i < rank && (flags & 1) != 0; i++) {
        uint64_t most = rer_h5_length(h5, body);
        bool has_end = most != rer_h5_all_ones(h5->length_size);
        set->most[i] = has_end ? as_size(most) : INT64_MAX;
    }
}

static bool integer_type(rer_array *array, uint64_t bits, uint64_t size, rer_h5_piece *body)
{
    static const rer_dtype types[2][4] = {{RER_U8, RER_U16, RER_U32, RER_U64}, {RER_I8, RER_I16, RER_I32, RER_I64}};
    int power = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : size == 8 ? 3 : -1;
    uint64_t first_bit = rer_h5_number(body, 2), precision = rer_h5_number(body, 2);
    if (power < 0 || first_bit != 0 || precision != 8 * size)
        return false;
    array->big_endian = (bits & 1) != 0;
    array->dtype = types[(bits & 8) != 0][power];
    return true;
}

static bool float_type(rer_array *array, uint64_t bits, uint64_t size, rer_h5_piece *body)
{
    static const struct {
        rer_dtype dtype;
        uint64_t size, exponent, mantissa, bias;
    } types[] = {{RER_F16, 2, 5, 10, 15}, {RER_F32, 4, 8, 23, 127}, {RER_F64, 8, 11, 52, 1023}};
    uint64_t got[7];
    for (int i = 0; i < 7; i++) /* first bit, bits, exponent's place and size, mantissa's, bias */
        got[i] = rer_h5_number(body, i < 2 ? 2 : i < 6 ? 1 : 4);
    array->big_endian = (bits & 1) != 0;
    for (int i = 0; i < RER_COUNT(types); i++) {
        array->dtype = types[i].dtype;
        if (types[i].size == size)
            return got[0] == 0 && got[1] == 8 * size && got[2] == types[i].mantissa && got[3] == types[i].exponent &&
                   got[4] == 0 && got[5] == types[i].mantissa && got[6] == types[i].bias && (bits & 0x40) == 0 &&
                   (bits >> 4 & 3) == 2 && (bits >> 8 & 0xFF) == 8 * size - 1;
    }
    return false;
}

static void read_type(rer_h5 *h5, rer_h5_set *set, rer_h5_piece *body)
{
    enum { INTEGER = 0, FLOAT = 1, TEXT = 3, ENUM = 8, VARIABLE = 9 };
    static const char *const kinds[] = {"integers",   "floats",           "times",     "texts",
                                        "bit fields", "opaque items",     "compounds", "references",
                                        "enums",      "variable lengths", "arrays"};
    rer_array *array = set->array;
    uint64_t head = rer_h5_number(body, 1), kind = head & 15, bits = rer_h5_number(body, 3);
    uint64_t size = rer_h5_number(body, 4);
    bool known = false;
    set->has_type = true;
    array->item_size = (int32_t)rer_min((int64_t)size, INT32_MAX);
    if (kind == ENUM) { /* bool, as h5py writes it: the type that it is made of follows */
        uint64_t base = rer_h5_number(body, 1) & 15, base_bits = rer_h5_number(body, 3);
        known = base == INTEGER && rer_h5_number(body, 4) == size && integer_type(array, base_bits, size, body);
    } else if (kind == INTEGER) {
        known = integer_type(array, bits, size, body);
    } else if (kind == FLOAT) {
        known = float_type(array, bits, size, body);
    } else if (kind == TEXT || (kind == VARIABLE && (bits & 15) == 1)) {
        set->is_variable = kind == VARIABLE;
        array->dtype = RER_BYTES;
        known = size > 0 && size < INT32_MAX && (kind == TEXT || size == 8 + (uint64_t)h5->address_size);
    }
    if (!known)
        rer_h5_fail(h5,
                    "items of %llu bytes of HDF5's class %llu (%s) are not read; use float16, float32, float64, an "
                    "integer or texts",
                    (unsigned long long)size, (unsigned long long)kind,
                    kind < (uint64_t)RER_COUNT(kinds) ? kinds[kind] : "unknown");
}

/* ---- layout and filters ------------------------------------------------------------------ */

static void read_chunk_shape(rer_h5_set *set, rer_h5_piece *body, uint64_t rank, int64_t bytes)
{
    set->chunk_rank = (int32_t)rank;
    for (uint64_t i = 0; i < rank; i++)
        if (i <= RER_RANK_MAX)
            set->chunk[i] = as_size(rer_h5_number(body, bytes));
}

/* From version 4 on it says how chunks are found; the parameters that their index repeats are left out. */
static void read_chunked_4(rer_h5 *h5, rer_h5_set *set, rer_h5_piece *body)
{
    static const uint64_t parameters[] = {0, 0, 0, 1, 5, 6};
    uint64_t flags = rer_h5_number(body, 1), rank = rer_h5_number(body, 1), bytes = rer_h5_number(body, 1);
    read_chunk_shape(set, body, rank, (int64_t)(bytes <= 8 ? bytes : 0));
    uint64_t index = rer_h5_number(body, 1);
    if (bytes > 8 || index < RER_H5_SINGLE || index > RER_H5_TREE_2) {
        rer_h5_fail(h5, "damaged: an index of chunks of type %llu", (unsigned long long)index);
        return;
    }
    set->index = (rer_h5_index)index;
    set->plain_edges = (flags & 1) != 0;
    rer_h5_skip(body, parameters[index]);
    if (set->index == RER_H5_SINGLE && (flags & 2) != 0) {
        set->single_size = rer_h5_length(h5, body);
        set->single_mask = (uint32_t)rer_h5_number(body, 4);
    }
    set->address = rer_h5_address(h5, body);
}

static void read_compact(rer_h5 *h5, rer_h5_set *set, rer_h5_piece data)
{
    if (h5->status == RER_OK && set->compact == NULL)
        h5->status = rer_allocate(&set->compact, data.size + 1, 1, "an HDF5 data set", h5->error);
    if (h5->status == RER_OK && data.size > 0)
        memcpy(set->compact, data.bytes, (size_t)data.size);
    set->stored = (uint64_t)data.size;
}

/* Versions 1 and 2: everything has a rank, and the address comes first. */
static void read_layout_1(rer_h5 *h5, rer_h5_set *set, rer_h5_piece *body)
{
    uint64_t rank = rer_h5_number(body, 1);
    set->layout = (rer_h5_layout)rer_h5_number(body, 1);
    rer_h5_skip(body, 5);
    if (set->layout != RER_H5_COMPACT)
        set->address = rer_h5_address(h5, body);
    read_chunk_shape(set, body, rank, 4);
    if (set->layout == RER_H5_COMPACT)
        read_compact(h5, set, rer_h5_part(body, rer_h5_number(body, 4)));
    set->stored = set->layout == RER_H5_CONTIGUOUS ? UINT64_MAX : set->stored; /* it does not say */
}

static void read_layout(rer_h5 *h5, rer_h5_set *set, rer_h5_piece *body)
{
    uint64_t version = rer_h5_number(body, 1);
    set->has_layout = true;
    if (version < 1 || version > 5) {
        rer_h5_fail(h5, "its layout has version %llu; 1 to 5 are read", (unsigned long long)version);
        return;
    }
    if (version < 3) {
        read_layout_1(h5, set, body);
        return;
    }
    set->layout = (rer_h5_layout)rer_h5_number(body, 1);
    if (set->layout == RER_H5_COMPACT) {
        read_compact(h5, set, rer_h5_part(body, rer_h5_number(body, 2)));
    } else if (set->layout == RER_H5_CONTIGUOUS) {
        set->address = rer_h5_address(h5, body);
        set->stored = rer_h5_length(h5, body);
    } else if (set->layout == RER_H5_CHUNKED && version >= 4) {
        read_chunked_4(h5, set, body);
    } else if (set->layout == RER_H5_CHUNKED) {
        uint64_t rank = rer_h5_number(body, 1);
        set->address = rer_h5_address(h5, body);
        read_chunk_shape(set, body, rank, 4);
    }
}

static void fail_filter(rer_h5 *h5, uint64_t id)
{
    static const struct {
        uint64_t id;
        const char *name;
    } known[] = {{4, " (szip)"},      {5, " (n-bit)"},   {6, " (scale-offset)"}, {32000, " (LZF)"},
                 {32001, " (Blosc)"}, {32004, " (LZ4)"}, {32015, " (Zstandard)"}};
    const char *name = "";
    for (int i = 0; i < RER_COUNT(known); i++)
        if (known[i].id == id)
            name = known[i].name;
    rer_h5_fail(h5, "its chunks went through filter %llu%s, which is not read; h5repack -f GZIP=4 makes a file that is",
                (unsigned long long)id, name);
}

static void read_filters(rer_h5 *h5, rer_h5_set *set, rer_h5_piece *body)
{
    uint64_t version = rer_h5_number(body, 1), count = rer_h5_number(body, 1);
    rer_h5_skip(body, version == 1 ? 6 : 0);
    if (count > RER_H5_FILTERS_MAX)
        rer_h5_fail(h5, "damaged: %llu filters", (unsigned long long)count);
    for (uint64_t i = 0; i < count && h5->status == RER_OK; i++) {
        uint64_t id = rer_h5_number(body, 2), name = version == 1 || id >= 256 ? rer_h5_number(body, 2) : 0;
        rer_h5_skip(body, 2);
        uint64_t values = rer_h5_number(body, 2), padding = version == 1 ? 4 * (values % 2) : 0;
        rer_h5_skip(body, version == 1 ? (name + 7) / 8 * 8 : name);
        rer_h5_piece data = rer_h5_part(body, 4 * values);
        rer_h5_skip(body, padding);
        if (id < RER_H5_DEFLATE || id > RER_H5_FLETCHER)
            fail_filter(h5, id);
        set->filters[i].id = (int32_t)id;
        set->filters[i].item_size = id == RER_H5_SHUFFLE ? (uint32_t)rer_h5_number(&data, 4) : 0;
    }
    set->filter_count = (int32_t)count;
}

/* ---- all --------------------------------------------------------------------------------- */

static void visit_committed(rer_h5 *h5, void *context, int type, bool is_shared, rer_h5_piece *body)
{
    if (type == RER_H5_TYPE && !is_shared)
        read_type(h5, context, body);
}

/* A type that is kept as an object of its own. */
static void read_committed(rer_h5 *h5, rer_h5_set *set, rer_h5_piece *body)
{
    uint64_t version = rer_h5_number(body, 1), kind = rer_h5_number(body, 1);
    rer_h5_skip(body, version == 1 ? 6 : 0);
    if (version == 3 && kind == 1)
        rer_h5_fail(h5, "its type stands in a heap of shared messages, which is not read; h5repack the file");
    else
        rer_h5_messages(h5, rer_h5_address(h5, body), visit_committed, set);
}

static void visit(rer_h5 *h5, void *context, int type, bool is_shared, rer_h5_piece *body)
{
    rer_h5_set *set = context;
    if (type == RER_H5_TYPE && is_shared)
        read_committed(h5, set, body);
    else if (is_shared && (type == RER_H5_SPACE || type == RER_H5_FILTERS))
        rer_h5_fail(h5,
                    "its shape or filters stand in a heap of shared messages, which is not read; h5repack the file");
    else if (type == RER_H5_SPACE)
        read_space(h5, set, body);
    else if (type == RER_H5_TYPE)
        read_type(h5, set, body);
    else if (type == RER_H5_LAYOUT)
        read_layout(h5, set, body);
    else if (type == RER_H5_FILTERS)
        read_filters(h5, set, body);
    else if (type == RER_H5_EXTERNAL)
        set->is_external = true;
}

static void check_chunks(rer_h5 *h5, const rer_h5_set *set)
{
    bool is_right = set->chunk_rank == set->array->rank + 1 && set->chunk[set->array->rank] == set->array->item_size;
    for (int32_t i = 0; i < set->array->rank; i++)
        is_right = is_right && set->chunk[i] > 0;
    if (!is_right)
        rer_h5_fail(h5, "damaged: the shape of its chunks does not go with that of its data");
}

void rer_h5_describe(rer_h5 *h5, rer_h5_set *set, uint64_t address)
{
    set->address = RER_H5_NOWHERE;
    rer_h5_messages(h5, address, visit, set);
    if (!set->has_layout)
        rer_h5_fail(h5, "is a group, not a data set");
    if (!set->has_type || !set->has_space)
        rer_h5_fail(h5, "damaged: a data set without a type or a shape");
    if (set->is_external)
        rer_h5_fail(h5, "its data lie in other files, which are not read; h5repack brings them into this one");
    if (set->layout == RER_H5_VIRTUAL)
        rer_h5_fail(h5, "is a virtual data set, put together from others, and not read; save it as one of its own");
    if (set->layout > RER_H5_VIRTUAL)
        rer_h5_fail(h5, "damaged: a layout of class %d", (int)set->layout);
    if (h5->status == RER_OK)
        h5->status = rer_array_check(set->array, INT64_MAX, h5->error);
    if (set->layout != RER_H5_COMPACT && set->address == RER_H5_NOWHERE)
        rer_h5_fail(h5, "has a shape, but nothing was ever written to it");
    if (h5->status == RER_OK && set->layout == RER_H5_CHUNKED)
        check_chunks(h5, set);
}
