/* Named arrays in one .npz, as numpy.savez writes them: a zip of .npy files, stored as they are. */
#pragma once

#include "core/writer.h"

typedef struct rer_npz_array {
    const char *name;
    char kind;    /* as numpy has it: 'f', 'i', 'b' or 'U' */
    int64_t size; /* bytes of an item */
    int32_t rank;
    int64_t shape[2];
    const void *data; /* [shape], rows one after the other */
} rer_npz_array;

enum { RER_NPZ_MOST = 32 };

/* RER_NPZ_MOST arrays at most. */
void rer_put_npz(rer_writer *writer, const rer_npz_array *arrays, int count);
