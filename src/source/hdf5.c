/* Data sets of HDF5 files. */
#include "source/formats.h"

rer_status rer_hdf5_open(rer_array *array, rer_bytes *data, rer_input *input, rer_error *error)
{
    (void)array;
    (void)data;
    return rer_fail(error, RER_BAD_INPUT, "%s: HDF5 files are not read yet", input->name);
}
