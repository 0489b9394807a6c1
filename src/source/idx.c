/* IDX, the format of MNIST: two zero bytes, a type, a rank, big-endian sizes, big-endian items. */
#include "source/formats.h"

static bool idx_dtype(unsigned char code, rer_dtype *dtype)
{
    switch (code) {
    case 0x08:
        *dtype = RER_U8;
        return true;
    case 0x09:
        *dtype = RER_I8;
        return true;
    case 0x0B:
        *dtype = RER_I16;
        return true;
    case 0x0C:
        *dtype = RER_I32;
        return true;
    case 0x0D:
        *dtype = RER_F32;
        return true;
    case 0x0E:
        *dtype = RER_F64;
        return true;
    default:
        return false;
    }
}

rer_status rer_idx_header(rer_array *array, const rer_bytes *bytes, rer_error *error)
{
    unsigned char head[4], size[4];
    RER_TRY(rer_bytes_read(bytes, 0, 4, head, array->name, error));
    if (!idx_dtype(head[2], &array->dtype))
        return rer_fail(error, RER_BAD_INPUT, "%s: IDX type 0x%02x is unknown; it must be 08, 09, 0b, 0c, 0d or 0e",
                        array->name, head[2]);
    if (head[3] < 1 || head[3] > RER_RANK_MAX)
        return rer_fail(error, RER_BAD_INPUT, "%s: IDX rank %d is not 1 to %d", array->name, head[3], RER_RANK_MAX);
    array->rank = head[3];
    for (int32_t i = 0; i < array->rank; i++) {
        RER_TRY(rer_bytes_read(bytes, 4 + 4 * i, 4, size, array->name, error));
        array->shape[i] = (int64_t)size[0] << 24 | size[1] << 16 | size[2] << 8 | size[3];
    }
    array->item_size = rer_dtype_size(array->dtype);
    array->big_endian = true;
    array->fortran = false;
    array->offset = 4 + 4 * array->rank;
    return rer_array_check(array, bytes->size - array->offset, error);
}
