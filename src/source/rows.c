/* What a data set tells about itself, and its rows as float. */
#include "source/dataset.h"
#include "source/texts.h"

#include <math.h>
#include <unistd.h>

int64_t rer_dataset_rows(const rer_dataset *data)
{
    return data->N;
}

int64_t rer_dataset_columns(const rer_dataset *data)
{
    return data->D;
}

int32_t rer_dataset_classes(const rer_dataset *data)
{
    return data->labels.C;
}

const char *rer_dataset_class_name(const rer_dataset *data, int32_t c)
{
    return c >= 0 && c < data->labels.C ? rer_text(&data->labels.names, c) : NULL;
}

const char *rer_dataset_id(const rer_dataset *data, int64_t row)
{
    return row >= 0 && row < data->ids.count ? rer_text(&data->ids, row) : NULL;
}

bool rer_dataset_is_pictures(const rer_dataset *data, int64_t shape[3])
{
    if (data->picture[0] == 0)
        return false;
    if (shape != NULL)
        memcpy(shape, data->picture, sizeof data->picture);
    return true;
}

static int64_t align(int64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* Scratch of pictures: rows [count], the same again to transpose from, and the descriptor's own. */
int64_t rer_dataset_scratch(const rer_dataset *data, int64_t count)
{
    int64_t rows = align(count * rer_array_row_bytes(&data->features));
    return data->hog ? 2 * rows + rer_hog_scratch(&data->plan) : rows;
}

bool rer_dataset_is_at_hand(const rer_dataset *data)
{
    const rer_array *array = &data->features;
    int64_t memory = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    if (array->on_card != NULL)
        return false;
    return array->data != NULL || (!array->fortran && data->N * rer_array_row_bytes(array) < memory / 2);
}

/* Rows [count, D] in their place to rows [count, D + 1], from the last on. */
static void to_units(const rer_units *units, float *x, int64_t count)
{
    const double most = 1e18; /* squares of it are far from overflow */
    int64_t D = units->D;
    for (int64_t i = count - 1; i >= 0; i--) {
        const float *from = x + i * D;
        float *to = x + i * (D + 1);
        to[D] = sqrtf((float)D);
        for (int64_t j = D - 1; j >= 0; j--) {
            double value = ((double)from[j] - units->mean[j]) * units->factor[j];
            to[j] = isfinite(from[j]) ? (float)fmin(fmax(value, -most), most) : from[j];
        }
    }
}

/* As they came. */
static rer_status read_rows(const rer_dataset *data, int64_t first, int64_t count, float *out, void *scratch,
                            rer_error *error)
{
    const rer_array *array = &data->features;
    if (rer_dataset_is_apart(data))
        return rer_fail(error, RER_BAD_USAGE,
                        "the rows lie elsewhere, in parts, and cannot be read here; only the analysis itself (by the "
                        "reconstructor centroid, without details) can do without");
    if (!data->hog)
        return rer_array_rows(array, first, count, out, scratch, error);
    int64_t rows = align(count * rer_array_row_bytes(array));
    const unsigned char *pictures = scratch;
    unsigned char *transposed = (unsigned char *)scratch + rows;
    rer_status status = RER_OK;
    if (array->data != NULL && !array->fortran && first >= 0 && count >= 0 && first <= data->N - count)
        pictures = array->data + first * rer_array_row_bytes(array); /* in memory as they are needed */
    else
        status = rer_array_raw_rows(array, first, count, scratch, transposed, error);
    if (status == RER_OK)
        rer_hog_describe(&data->plan, pictures, count, out, transposed + rows);
    return status;
}

rer_status rer_dataset_rows_read(const rer_dataset *data, int64_t first, int64_t count, float *out, void *scratch,
                                 rer_error *error)
{
    rer_status status = read_rows(data, first, count, out, scratch, error);
    if (status == RER_OK && data->units != NULL)
        to_units(data->units, out, count);
    return status;
}

rer_status rer_dataset_rows_pick(const rer_dataset *data, const int64_t *row, int64_t count, float *out, void *scratch,
                                 rer_error *error)
{
    rer_status status = RER_OK;
    if (data->features.on_card != NULL) {
        status = rer_array_fetch_rows(&data->features, row, count, out, error);
        if (status == RER_OK && data->units != NULL)
            to_units(data->units, out, count);
        return status;
    }
    for (int64_t i = 0; status == RER_OK && i < count; i++)
        status = rer_dataset_rows_read(data, row[i], 1, out + i * data->D, scratch, error);
    return status;
}
