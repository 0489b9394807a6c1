/* The calls of HDF5 that we need, looked up when the first .h5 file is opened: linking the library would
 * load some 35 shared objects at every start of the program, whatever it then reads. */
#pragma once

#include <hdf5.h>

/* clang-format off */
#define RER_HDF5_CALLS(CALL) \
    CALL(H5open) CALL(H5Eget_auto2) CALL(H5Eset_auto2) CALL(H5Fopen) CALL(H5Fclose) \
    CALL(H5Gopen2) CALL(H5Gclose) CALL(H5Gget_info) CALL(H5Lget_name_by_idx) \
    CALL(H5Dopen2) CALL(H5Dclose) CALL(H5Dget_space) CALL(H5Dget_type) CALL(H5Dget_create_plist) \
    CALL(H5Dget_offset) CALL(H5Dget_storage_size) CALL(H5Dread) CALL(H5Dvlen_reclaim) \
    CALL(H5Pclose) CALL(H5Pget_layout) CALL(H5Pget_chunk) CALL(H5Pget_nfilters) CALL(H5Pget_external_count) \
    CALL(H5Sclose) CALL(H5Screate_simple) CALL(H5Sget_simple_extent_ndims) CALL(H5Sget_simple_extent_dims) \
    CALL(H5Sselect_hyperslab) \
    CALL(H5Tclose) CALL(H5Tget_class) CALL(H5Tget_size) CALL(H5Tget_order) CALL(H5Tget_sign) \
    CALL(H5Tget_precision) CALL(H5Tget_super) CALL(H5Tget_fields) CALL(H5Tis_variable_str)
/* clang-format on */

typedef struct rer_hdf5 {
#define CALL(name) __typeof__(&(name)) name;
    RER_HDF5_CALLS(CALL)
#undef CALL
} rer_hdf5;
