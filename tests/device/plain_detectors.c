/* What detectors have a device do, in plain loops. */
#include "plain_device.h"

#include <math.h>
#include <stdlib.h>

/* ---- neighbours -------------------------------------------------------------------------- */

/* Element j of a row of unit length, as a float. */
static double unit_at(const plain_device *device, int64_t row, double scale, int64_t j)
{
    return device->kept.code[row] < -1 ? 0 : (double)(float)(scale * (double)device->kept.x[row * device->shape.D + j]);
}

static double unit_scale(const plain_device *device, int64_t row)
{
    double square = 0;
    for (int64_t j = 0; j < device->shape.D; j++)
        square += unit_at(device, row, 1, j) * unit_at(device, row, 1, j);
    return square > 0 ? 1 / sqrt(square) : 1;
}

bool plain_neighbors_begin(void *handle, const uint8_t *among)
{
    plain_device *device = handle;
    int64_t N = device->shape.N;
    if (device->kept.x == NULL || device->shape.D < 2 || N > PLAIN_ROWS_MOST)
        return false;
    device->among = plain_zeroed(N, 1);
    memcpy(device->among, among, (size_t)N);
    device->group = plain_zeroed(N, sizeof *device->group);
    device->unit = plain_zeroed(N, sizeof *device->unit);
    for (int32_t row = 0; row < N; row++) {
        device->group[row] = row;
        device->unit[row] = unit_scale(device, row);
    }
    return true;
}

void plain_neighbors_find(void *handle, const int64_t *rows, int64_t count, rer_neighbor *list)
{
    const plain_device *device = handle;
    int64_t D = device->shape.D, N = device->shape.N;
    double *x = plain_zeroed(N * D, sizeof *x), *square = plain_zeroed(N, sizeof *square);
    for (int64_t i = 0; i < N * D; i++) {
        x[i] = unit_at(device, i / D, device->unit[i / D], i % D);
        square[i / D] += x[i] * x[i];
    }
    for (int64_t i = 0; i < count * RER_DEVICE_LISTED; i++)
        list[i] = (rer_neighbor){INFINITY, -1};
    for (int64_t i = 0; i < count; i++) {
        int64_t used = 0, row = rows[i];
        for (int64_t other = 0; other < N; other++) {
            if (other == row || device->among[other] == 0)
                continue;
            double product = 0;
            for (int64_t j = 0; j < D; j++)
                product += x[row * D + j] * x[other * D + j];
            rer_neighbor next = {(float)fmax(square[row] - 2 * product + square[other], 0), (int32_t)other};
            used = rer_keep_nearest(list + i * RER_DEVICE_LISTED, used, RER_DEVICE_LISTED, next);
        }
    }
    free(x);
    free(square);
}

void plain_neighbors_end(void *handle)
{
    plain_device *device = handle;
    free(device->among);
    free(device->group);
    free(device->unit);
    device->among = NULL;
    device->group = NULL;
    device->unit = NULL;
}

/* ---- copies ------------------------------------------------------------------------------ */

static int32_t first_of(const plain_device *device, int32_t row)
{
    while (device->group[row] != row)
        row = device->group[row];
    return row;
}

static double squared_distance(const plain_device *device, int64_t a, int64_t b)
{
    int64_t D = device->shape.D;
    const float *x = device->kept.x + a * D, *y = device->kept.x + b * D;
    double by = device->unit[a], other = device->unit[b], square = 0;
    for (int64_t j = 0; j < D; j++) {
        double apart = by * (double)x[j] - other * (double)y[j];
        square += apart * apart;
    }
    return square;
}

void plain_copies_join(void *handle, double limit, int64_t first, int64_t count)
{
    plain_device *device = handle;
    for (int64_t a = first; a < first + count; a++)
        for (int64_t b = a + 1; device->among[a] != 0 && b < device->shape.N; b++) {
            if (device->among[b] == 0 || squared_distance(device, a, b) > limit)
                continue;
            int32_t here = first_of(device, (int32_t)a), there = first_of(device, (int32_t)b);
            device->group[here > there ? here : there] = here > there ? there : here;
        }
}

void plain_copies_take(void *handle, int32_t *group)
{
    const plain_device *device = handle;
    for (int32_t row = 0; row < device->shape.N; row++)
        group[row] = first_of(device, row);
}

/* ---- logistic regression ----------------------------------------------------------------- */

bool plain_logistic_begin(void *handle, const rer_device_logistic *of)
{
    plain_device *device = handle;
    int64_t rows = of->start[of->folds], D = device->shape.D;
    if (device->kept.x == NULL || device->shape.N > PLAIN_ROWS_MOST)
        return false;
    double *mean = plain_zeroed(D, sizeof *mean);
    int64_t *start = plain_zeroed(of->folds + 1, sizeof *start), *row = plain_zeroed(rows, sizeof *row);
    int32_t *label = plain_zeroed(rows, sizeof *label);
    memcpy(mean, of->mean, (size_t)D * sizeof *mean);
    memcpy(start, of->start, (size_t)(of->folds + 1) * sizeof *start);
    memcpy(row, of->row, (size_t)rows * sizeof *row);
    memcpy(label, of->label, (size_t)rows * sizeof *label);
    device->logistic = (rer_device_logistic){of->folds, of->unit, mean, start, row, label};
    return true;
}

/* Row i of a fold for regression a. */
static void add_row(const plain_device *device, const rer_device_softmax *at, int32_t a, int64_t i, double *x,
                    double *p)
{
    const rer_device_logistic *of = &device->logistic;
    int64_t C = device->shape.C, D = device->shape.D, row = of->row[i];
    double scale = of->unit && D > 1 ? unit_scale(device, row) : 1, top = -INFINITY, sum = 0;
    for (int64_t j = 0; j < D; j++)
        x[j] = scale * (double)device->kept.x[row * D + j] - of->mean[j];
    for (int64_t k = 0; k < C; k++) {
        p[k] = (double)at->bias[a * C + k];
        for (int64_t j = 0; j < D; j++)
            p[k] += (double)at->w[(a * C + k) * D + j] * x[j];
        top = fmax(top, p[k]);
    }
    for (int64_t k = 0; k < C; k++)
        sum += exp(p[k] - top);
    at->loss[a] += log(sum) + top - p[of->label[i]];
    for (int64_t k = 0; k < C; k++) {
        double residual = exp(p[k] - top) / sum - (k == of->label[i]);
        at->missing[a] -= k == of->label[i] ? residual : 0;
        at->bias_sum[a * C + k] += residual;
        for (int64_t j = 0; j < D; j++)
            at->sum[(a * C + k) * D + j] += residual * x[j];
    }
}

void plain_logistic_sums(void *handle, const rer_device_softmax *at)
{
    const plain_device *device = handle;
    const rer_device_logistic *of = &device->logistic;
    int64_t C = device->shape.C, D = device->shape.D;
    double *x = plain_zeroed(D + C, sizeof *x);
    for (int32_t a = 0; a < at->count; a++) {
        memset(at->sum + a * C * D, 0, (size_t)(C * D) * sizeof(double));
        memset(at->bias_sum + a * C, 0, (size_t)C * sizeof(double));
        at->loss[a] = at->missing[a] = 0;
        for (int32_t fold = 0; fold < of->folds; fold++)
            for (int64_t i = of->start[fold]; fold != at->fold[a] && i < of->start[fold + 1]; i++)
                add_row(device, at, a, i, x, x + D);
    }
    free(x);
}

void plain_logistic_end(void *handle)
{
    plain_device *device = handle;
    const void *all[] = {device->logistic.mean, device->logistic.start, device->logistic.row, device->logistic.label};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free((void *)(uintptr_t)all[i]);
    device->logistic = (rer_device_logistic){0};
}
