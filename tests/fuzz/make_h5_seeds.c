/* Makes the HDF5 seeds: make_h5_seeds FOLDER
 *
 * Texts of variable length are left out: HDF5 1.10 itself loops or reads astray on a damaged heap of texts
 * (H5HG_read), before any of our code sees them. */
#include <hdf5.h>
#include <stdio.h>

static void put(hid_t file, hid_t type, hid_t space, hid_t plist, hid_t memory, const void *data)
{
    hid_t dataset = H5Dcreate2(file, "x", type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    (void)H5Dwrite(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
    (void)H5Dclose(dataset);
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"contiguous", "chunked", "packed"};
    float x[12] = {1, 2, 3};
    hsize_t shape[] = {3, 4}, chunk[] = {2, 3};
    for (int i = 0; i < 3 && argc == 2; i++) {
        char path[512];
        (void)snprintf(path, sizeof path, "%s/%s", argv[1], names[i]);
        hid_t access = H5Pcreate(H5P_FILE_ACCESS), plist = H5Pcreate(H5P_DATASET_CREATE);
        (void)H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST); /* the smallest files */
        hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
        hid_t space = H5Screate_simple(2, shape, NULL);
        if (i > 0)
            (void)H5Pset_chunk(plist, 2, chunk);
        if (i == 2)
            (void)H5Pset_deflate(plist, 6);
        put(file, H5T_IEEE_F32LE, space, plist, H5T_NATIVE_FLOAT, x);
        (void)H5Sclose(space), (void)H5Pclose(plist), (void)H5Pclose(access);
        (void)H5Fclose(file);
    }
    return argc == 2 ? 0 : 2;
}
