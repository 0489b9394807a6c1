/* Data sets of HDF5 files. A contiguous one is read in place like any other file; chunks (compressed or
 * not) and texts of variable length are decoded once.
 *
 * HDF5 is not safe to call from two threads and prints its errors: all calls are made under one lock,
 * with the printing off. Nothing of it is left open when rer_hdf5_open returns. */
#include "source/formats.h"

#ifndef RER_HAVE_HDF5

rer_status rer_hdf5_open(rer_array *array, rer_bytes *data, rer_input *input, rer_error *error)
{
    (void)array;
    (void)data;
    return rer_fail(error, RER_BAD_INPUT,
                    "%s: this rer was built without HDF5; save the array as .npy, or build with "
                    "HDF5",
                    input->name);
}

#else

#include "source/hdf5_calls.h"
#include "source/texts.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_ONLY 0u       /* H5F_ACC_RDONLY is a macro that calls the library */
#define BLOCK (4 << 20)    /* bytes read at a time, or one row of chunks */
#define TEXT_BLOCK 4096    /* texts read at a time */
#define TEXT_MAX (1 << 16) /* bytes of one text of variable length */
#define DEFLATE_MAX 1100   /* what a compressed byte can become, and a little more */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static rer_hdf5 calls; /* under the lock; H5open is NULL until the library is there */

typedef struct handles {
    hid_t file, dataset, space, type, plist;
} handles;

/* ---- the library ------------------------------------------------------------------------- */

static rer_status load_library(const char *name, rer_error *error)
{
    rer_hdf5 loaded;
    if (calls.H5open != NULL)
        return RER_OK;
    void *library = dlopen(RER_HDF5_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return rer_fail(error, RER_SYSTEM, "%s: the HDF5 library cannot be loaded: %s", name, dlerror());
#define CALL(call)                                                                                                     \
    *(void **)&loaded.call = dlsym(library, #call);                                                                    \
    if (loaded.call == NULL)                                                                                           \
        return rer_fail(error, RER_SYSTEM, "%s: %s has no %s: another version of HDF5?", name, RER_HDF5_LIBRARY, #call);
    RER_HDF5_CALLS(CALL)
#undef CALL
    if (loaded.H5open() < 0)
        return rer_fail(error, RER_SYSTEM, "%s: the HDF5 library does not start", name);
    calls = loaded; /* never unloaded: it has an exit handler */
    return RER_OK;
}

static void close_handles(const handles *h)
{
    if (h->plist >= 0)
        (void)calls.H5Pclose(h->plist);
    if (h->type >= 0)
        (void)calls.H5Tclose(h->type);
    if (h->space >= 0)
        (void)calls.H5Sclose(h->space);
    if (h->dataset >= 0)
        (void)calls.H5Dclose(h->dataset);
    if (h->file >= 0)
        (void)calls.H5Fclose(h->file);
}

/* ---- finding the data set ---------------------------------------------------------------- */

/* Links in the root group, at most 100. */
static rer_status root_names(rer_texts *names, hid_t file, rer_error *error)
{
    rer_texts_builder builder = {0};
    H5G_info_t info = {0};
    char name[256];
    rer_status status = RER_OK;
    hid_t root = calls.H5Gopen2(file, "/", H5P_DEFAULT);
    if (root >= 0 && calls.H5Gget_info(root, &info) < 0)
        info.nlinks = 0;
    for (hsize_t i = 0; i < info.nlinks && i < 100 && status == RER_OK; i++)
        if (calls.H5Lget_name_by_idx(root, ".", H5_INDEX_NAME, H5_ITER_INC, i, name, sizeof name, H5P_DEFAULT) >= 0)
            status = rer_texts_add(&builder, name, (int64_t)strlen(name), error);
    if (root >= 0)
        (void)calls.H5Gclose(root);
    *names = builder.texts;
    return status;
}

static rer_status open_dataset(handles *h, const rer_input *input, rer_error *error)
{
    rer_texts names = {0};
    char list[500], quoted[100];
    const char *wanted = input->member != NULL && input->member[0] != 0 ? input->member : NULL;
    rer_status status = root_names(&names, h->file, error);
    if (status != RER_OK)
        goto done;
    if (wanted == NULL && names.count == 1)
        wanted = rer_text(&names, 0);
    if (wanted == NULL) {
        status = rer_fail(error, RER_BAD_INPUT, "%s: holds %lld data sets or groups; name one as %s:/PATH, of %s",
                          input->name, (long long)names.count, input->file, rer_texts_list(&names, list, sizeof list));
        goto done;
    }
    h->dataset = calls.H5Dopen2(h->file, wanted, H5P_DEFAULT);
    if (h->dataset < 0)
        status = rer_fail(error, RER_BAD_INPUT, "%s: has no data set '%s'; at its root there are %s", input->file,
                          rer_quote(quoted, sizeof quoted, wanted, (int64_t)strlen(wanted)),
                          rer_texts_list(&names, list, sizeof list));
done:
    rer_texts_free(&names);
    return status;
}

/* HDF5 opens by name: the file itself where it is in place (links to other files are relative to it), else
 * a copy of what was spooled. */
static rer_status open_file(handles *h, rer_input *input, rer_error *error)
{
    char temporary[RER_TEMPORARY_PATH];
    struct stat named, opened;
    bool in_place = input->bytes.fd >= 0 && stat(input->file, &named) == 0 && fstat(input->bytes.fd, &opened) == 0 &&
                    named.st_ino == opened.st_ino && named.st_dev == opened.st_dev;
    rer_status status = in_place ? RER_OK : rer_bytes_to_named_file(&input->bytes, temporary, input->name, error);
    if (status != RER_OK)
        return status;
    h->file = calls.H5Fopen(in_place ? input->file : temporary, READ_ONLY, H5P_DEFAULT);
    if (!in_place)
        (void)unlink(temporary);
    return h->file >= 0 ? RER_OK
                        : rer_fail(error, RER_BAD_INPUT,
                                   "%s: HDF5 cannot open it: a damaged or truncated file, or "
                                   "one that is being written",
                                   input->name);
}

/* ---- its type and shape ------------------------------------------------------------------ */

static bool integer_type(rer_array *array, hid_t type, int64_t size)
{
    static const rer_dtype types[2][4] = {{RER_U8, RER_U16, RER_U32, RER_U64}, {RER_I8, RER_I16, RER_I32, RER_I64}};
    int power = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : size == 8 ? 3 : -1;
    if (power < 0 || (int64_t)calls.H5Tget_precision(type) != 8 * size)
        return false;
    array->dtype = types[calls.H5Tget_sign(type) == H5T_SGN_NONE ? 0 : 1][power];
    return true;
}

static bool float_type(rer_array *array, hid_t type, int64_t size)
{
    size_t sign = 0, exponent = 0, exponent_size = 0, mantissa = 0, mantissa_size = 0;
    if (calls.H5Tget_fields(type, &sign, &exponent, &exponent_size, &mantissa, &mantissa_size) < 0)
        return false;
    array->dtype = size == 2 ? RER_F16 : size == 4 ? RER_F32 : RER_F64;
    return mantissa == 0 && exponent == mantissa_size && sign == exponent + exponent_size &&
           ((size == 2 && exponent_size == 5 && mantissa_size == 10) ||
            (size == 4 && exponent_size == 8 && mantissa_size == 23) ||
            (size == 8 && exponent_size == 11 && mantissa_size == 52));
}

static rer_status read_type(rer_array *array, hid_t type, bool *is_variable, rer_error *error)
{
    H5T_class_t kind = calls.H5Tget_class(type);
    int64_t size = (int64_t)calls.H5Tget_size(type);
    bool known = false;
    array->big_endian = calls.H5Tget_order(type) == H5T_ORDER_BE;
    array->item_size = (int32_t)rer_min(size, INT32_MAX);
    *is_variable = kind == H5T_STRING && calls.H5Tis_variable_str(type) > 0;
    if (kind == H5T_ENUM) { /* bool, as h5py writes it */
        hid_t base = calls.H5Tget_super(type);
        known = base >= 0 && integer_type(array, base, size);
        if (base >= 0)
            (void)calls.H5Tclose(base);
    } else if (kind == H5T_INTEGER) {
        known = integer_type(array, type, size);
    } else if (kind == H5T_FLOAT) {
        known = float_type(array, type, size);
    } else if (kind == H5T_STRING) {
        array->dtype = RER_BYTES;
        known = size > 0 && size < INT32_MAX;
    }
    if (known)
        return RER_OK;
    return rer_fail(error, RER_BAD_INPUT,
                    "%s: items of %lld bytes of HDF5 class %d are not read; use float16, float32, "
                    "float64, an integer or texts",
                    array->name, (long long)size, (int)kind);
}

static rer_status read_shape(rer_array *array, hid_t space, rer_error *error)
{
    hsize_t dims[RER_RANK_MAX] = {0};
    int rank = calls.H5Sget_simple_extent_ndims(space);
    if (rank < 1 || rank > RER_RANK_MAX)
        return rer_fail(error, RER_BAD_INPUT, "%s: has %d axes; arrays of 1 to %d are read", array->name, rank,
                        RER_RANK_MAX);
    if (calls.H5Sget_simple_extent_dims(space, dims, NULL) < 0)
        return rer_fail(error, RER_BAD_INPUT, "%s: damaged: its shape cannot be read", array->name);
    array->rank = rank;
    for (int i = 0; i < rank; i++)
        array->shape[i] = dims[i] > INT64_MAX ? INT64_MAX : (int64_t)dims[i];
    return rer_array_check(array, INT64_MAX, error);
}

/* ---- its data ---------------------------------------------------------------------------- */

/* Where the items stand in the file as they are, or -1. */
static int64_t place_in_file(const handles *h, const rer_array *array)
{
    int64_t bytes = array->shape[0] * rer_array_row_bytes(array);
    if (calls.H5Pget_layout(h->plist) != H5D_CONTIGUOUS || calls.H5Pget_nfilters(h->plist) != 0 ||
        calls.H5Pget_external_count(h->plist) != 0 || calls.H5Dget_storage_size(h->dataset) != (hsize_t)bytes)
        return -1;
    haddr_t place = calls.H5Dget_offset(h->dataset);
    return place == HADDR_UNDEF || place > INT64_MAX ? -1 : (int64_t)place;
}

/* Rows first..first+count-1 into `out`; *memory: their shape there, to be closed. */
static rer_status read_rows(const handles *h, const rer_array *array, int64_t first, int64_t count, void *out,
                            hid_t *memory, rer_error *error)
{
    hsize_t start[RER_RANK_MAX] = {(hsize_t)first}, size[RER_RANK_MAX] = {(hsize_t)count};
    for (int32_t i = 1; i < array->rank; i++)
        size[i] = (hsize_t)array->shape[i];
    *memory = calls.H5Screate_simple(array->rank, size, NULL);
    if (*memory >= 0 && calls.H5Sselect_hyperslab(h->space, H5S_SELECT_SET, start, NULL, size, NULL) >= 0 &&
        calls.H5Dread(h->dataset, h->type, *memory, h->space, H5P_DEFAULT, out) >= 0)
        return RER_OK;
    return rer_fail(error, RER_BAD_INPUT,
                    "%s: HDF5 cannot read rows %lld to %lld (from 0): damaged data, or a filter "
                    "that is not installed",
                    array->name, (long long)first, (long long)(first + count - 1));
}

/* A multiple of the chunks' rows, so that none is uncompressed twice. */
static int64_t rows_at_a_time(const handles *h, const rer_array *array)
{
    hsize_t chunk[RER_RANK_MAX] = {1};
    int64_t rows = rer_max(1, BLOCK / rer_array_row_bytes(array));
    if (calls.H5Pget_layout(h->plist) == H5D_CHUNKED && calls.H5Pget_chunk(h->plist, array->rank, chunk) > 0 &&
        chunk[0] > 0 && chunk[0] < INT32_MAX)
        rows = (rows + (int64_t)chunk[0] - 1) / (int64_t)chunk[0] * (int64_t)chunk[0];
    return rer_min(rows, array->shape[0]);
}

static rer_status spool_numbers(rer_bytes *data, const handles *h, const rer_array *array, rer_error *error)
{
    rer_spool spool = RER_EMPTY_SPOOL;
    char *block = NULL;
    int64_t row_bytes = rer_array_row_bytes(array), bytes = array->shape[0] * row_bytes;
    int64_t stored = (int64_t)calls.H5Dget_storage_size(h->dataset), rows = rows_at_a_time(h, array);
    if (bytes > RER_SPOOL_MAX && bytes / DEFLATE_MAX > stored)
        return rer_fail(error, RER_BAD_INPUT,
                        "%s: its shape needs %lld bytes but only %lld are stored, even if "
                        "compressed: a damaged or unfinished file",
                        array->name, (long long)bytes, (long long)stored);
    rer_status status = rer_allocate(&block, rows, row_bytes, "a block of an HDF5 data set", error);
    for (int64_t first = 0; first < array->shape[0] && status == RER_OK; first += rows) {
        hid_t memory = -1;
        int64_t count = rer_min(rows, array->shape[0] - first);
        status = read_rows(h, array, first, count, block, &memory, error);
        if (memory >= 0)
            (void)calls.H5Sclose(memory);
        if (status == RER_OK)
            status = rer_spool_write(&spool, block, count * row_bytes, error);
    }
    if (status == RER_OK)
        status = rer_spool_finish(&spool, data, error);
    rer_spool_drop(&spool);
    free(block);
    return status;
}

/* One pass over texts of variable length: their longest length, or (with a spool) the texts filled up to
 * `width` with zeros. */
static rer_status pass_texts(const handles *h, const rer_array *array, int64_t *width, rer_spool *spool,
                             rer_error *error)
{
    static const char zeros[TEXT_MAX] = {0};
    rer_status status = RER_OK;
    for (int64_t first = 0; first < array->shape[0] && status == RER_OK; first += TEXT_BLOCK) {
        char *texts[TEXT_BLOCK] = {0};
        hid_t memory = -1;
        int64_t count = rer_min(TEXT_BLOCK, array->shape[0] - first);
        status = read_rows(h, array, first, count, texts, &memory, error);
        for (int64_t i = 0; i < count && status == RER_OK; i++) {
            int64_t length = texts[i] != NULL ? (int64_t)strlen(texts[i]) : 0;
            if (length > TEXT_MAX)
                status = rer_fail(error, RER_BAD_INPUT, "%s: row %lld (from 0): a text of %lld bytes is longer than %d",
                                  array->name, (long long)(first + i), (long long)length, TEXT_MAX);
            else if (spool == NULL)
                *width = rer_max(*width, length);
            else
                status = rer_spool_write(spool, texts[i], rer_min(length, *width), error);
            if (status == RER_OK && spool != NULL)
                status = rer_spool_write(spool, zeros, rer_max(0, *width - length), error);
        }
        if (memory >= 0) {
            (void)calls.H5Dvlen_reclaim(h->type, memory, H5P_DEFAULT, texts);
            (void)calls.H5Sclose(memory);
        }
    }
    return status;
}

static rer_status spool_texts(rer_array *array, rer_bytes *data, const handles *h, rer_error *error)
{
    rer_spool spool = RER_EMPTY_SPOOL;
    int64_t width = 1;
    rer_status status = rer_array_check_column(array, "text", error);
    if (status == RER_OK)
        status = pass_texts(h, array, &width, NULL, error);
    array->item_size = (int32_t)width;
    if (status == RER_OK)
        status = rer_array_check(array, INT64_MAX, error);
    if (status == RER_OK)
        status = pass_texts(h, array, &width, &spool, error);
    if (status == RER_OK)
        status = rer_spool_finish(&spool, data, error);
    rer_spool_drop(&spool);
    return status;
}

static rer_status read_dataset(rer_array *array, rer_bytes *data, handles *h, rer_input *input, rer_error *error)
{
    bool is_variable = false;
    rer_status status = open_file(h, input, error);
    if (status == RER_OK)
        status = open_dataset(h, input, error);
    if (status != RER_OK)
        return status;
    h->space = calls.H5Dget_space(h->dataset);
    h->type = calls.H5Dget_type(h->dataset);
    h->plist = calls.H5Dget_create_plist(h->dataset);
    if (h->space < 0 || h->type < 0 || h->plist < 0)
        return rer_fail(error, RER_BAD_INPUT, "%s: damaged: HDF5 cannot describe the data set", array->name);
    status = read_type(array, h->type, &is_variable, error);
    if (status == RER_OK)
        status = read_shape(array, h->space, error);
    if (status != RER_OK)
        return status;
    if (is_variable)
        return spool_texts(array, data, h, error);
    int64_t place = place_in_file(h, array);
    if (place < 0)
        return spool_numbers(data, h, array, error);
    status = rer_array_check(array, input->bytes.size - place, error);
    if (status == RER_OK) {
        array->offset = place;
        *data = input->bytes;
        input->bytes = RER_NO_BYTES;
    }
    return status;
}

rer_status rer_hdf5_open(rer_array *array, rer_bytes *data, rer_input *input, rer_error *error)
{
    handles h = {-1, -1, -1, -1, -1};
    H5E_auto2_t print = NULL;
    void *print_context = NULL;
    (void)pthread_mutex_lock(&lock);
    rer_status status = load_library(input->name, error);
    if (status == RER_OK) {
        (void)calls.H5Eget_auto2(H5E_DEFAULT, &print, &print_context);
        (void)calls.H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
        status = read_dataset(array, data, &h, input, error);
        close_handles(&h);
        (void)calls.H5Eset_auto2(H5E_DEFAULT, print, print_context);
    }
    (void)pthread_mutex_unlock(&lock);
    return status;
}

#endif
