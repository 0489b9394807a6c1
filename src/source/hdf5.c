/* Data sets of HDF5 files as arrays. A contiguous one is read in place like any other file; chunks and texts of
 * variable length are decoded once. The reader is our own: it needs no library, runs on any number of threads, and
 * a file that somebody has tampered with can neither lead it outside of the file nor make it take memory or time. */
#include "source/hdf5.h"

/* Where the items stand in the input as they are; -1: they are in `data`. */
static int64_t read_items(rer_h5 *h5, rer_h5_set *set, rer_bytes *data)
{
    const rer_array *array = set->array;
    int64_t bytes = array->shape[0] * rer_array_row_bytes(array);
    if (set->layout == RER_H5_CHUNKED) {
        rer_h5_decode(h5, set, data);
        return -1;
    }
    if (set->stored < (uint64_t)bytes)
        rer_h5_fail(h5, "damaged: its shape needs %lld bytes, but only %llu are stored", (long long)bytes,
                    (unsigned long long)set->stored);
    if (h5->status != RER_OK)
        return -1;
    if (set->layout == RER_H5_COMPACT) {
        *data = (rer_bytes){.data = set->compact, .owned = set->compact, .fd = -1, .size = bytes};
        set->compact = NULL;
        return -1;
    }
    int64_t room = h5->bytes->size - h5->base;
    int64_t place = h5->base + (set->address < (uint64_t)room ? (int64_t)set->address : room);
    h5->status = rer_array_check(array, h5->bytes->size - place, h5->error);
    return place;
}

/* The array's data: in place, decoded, or as texts. */
static void read_set(rer_h5 *h5, rer_h5_set *set, rer_bytes *data, rer_input *input)
{
    rer_bytes items = RER_NO_BYTES;
    int64_t place = read_items(h5, set, &items);
    if (h5->status == RER_OK && set->is_variable) {
        rer_h5_texts(h5, set->array, place < 0 ? &items : &input->bytes, rer_max(place, 0), data);
        rer_bytes_close(&items);
    } else if (h5->status == RER_OK && place >= 0) {
        set->array->offset = place;
        *data = input->bytes;
        input->bytes = RER_NO_BYTES;
    } else {
        *data = items;
    }
}

rer_status rer_hdf5_open(rer_array *array, rer_bytes *data, rer_input *input, rer_error *error)
{
    rer_h5 h5 = {.bytes = &input->bytes, .file = input->file, .name = input->name, .error = error};
    rer_h5_set set = {.array = array};
    rer_h5_start(&h5);
    if (h5.status == RER_OK) {
        uint64_t address = rer_h5_find(&h5, input->member);
        if (h5.status == RER_OK)
            rer_h5_describe(&h5, &set, address);
        if (h5.status == RER_OK)
            read_set(&h5, &set, data, input);
    }
    free(set.compact);
    return h5.status;
}
