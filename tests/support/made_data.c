/* Made data sets: see made_data.h. */
#include "made_data.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* splitmix64 */
double made_uniform(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return ((double)((z ^ (z >> 31)) >> 12) + .5) * 0x1p-52;
}

double made_normal(uint64_t *state)
{
    double radius = sqrt(-2 * log(made_uniform(state)));
    return radius * cos(6.283185307179586 * made_uniform(state));
}

void made_tailed(float *x, int64_t n, uint64_t seed, double tails)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)(made_normal(&seed) * exp(tails * made_normal(&seed)));
}

double made_product(const float *x, const float *y, int64_t n)
{
    double sum = 0;
    for (int64_t j = 0; j < n; j++)
        sum += (double)x[j] * (double)y[j];
    return sum;
}

/* Classes in turn, so that every block of rows has all of them, but for the odd ones. */
static int32_t class_of_row(const made_settings *settings, int64_t i)
{
    int64_t small = settings->class_size;
    if (i < settings->singletons)
        return (int32_t)i;
    i -= settings->singletons;
    int32_t even = settings->C - settings->singletons;
    if (small == 0)
        return settings->singletons + (int32_t)(i % even);
    if (i < small)
        return settings->C - 1;
    return settings->singletons + (int32_t)((i - small) % (even - 1));
}

static void give_labels(made_data *data, const made_settings *settings)
{
    int64_t fixed = settings->singletons + settings->class_size, last = data->N - settings->unlabelled;
    for (int64_t i = 0; i < data->N; i++)
        data->code[i] = i < last ? data->truth[i] : -1;
    for (int64_t m = 0; m < settings->mislabelled; m++) {
        int64_t i = fixed + (last - fixed) * m / settings->mislabelled;
        data->code[i] =
            settings->singletons + (data->code[i] + 1 - settings->singletons) % (data->C - settings->singletons);
    }
}

/* z [D] <- z times a fixed rotation-like mixing, so that no direction is along a feature. */
static void mix(double *z, int64_t D)
{
    for (int pass = 0; pass < 2; pass++)
        for (int64_t j = 0; j + 1 < D; j++) {
            double c = cos(.7 + .3 * (double)j), s = sin(.7 + .3 * (double)j), a = z[j], b = z[j + 1];
            z[j] = c * a - s * b;
            z[j + 1] = s * a + c * b;
        }
}

made_data made_data_make(const made_settings *settings)
{
    int64_t N = settings->N, D = settings->D;
    made_data data = {.N = N,
                      .D = D,
                      .C = settings->C,
                      .x = calloc((size_t)(N * D), sizeof(float)),
                      .code = calloc((size_t)N, sizeof(int32_t)),
                      .truth = calloc((size_t)N, sizeof(int32_t))};
    double *center = calloc((size_t)(settings->C * D), sizeof(double)), *z = calloc((size_t)D, sizeof(double));
    double separation = settings->separation > 0 ? settings->separation : 1;
    double condition = settings->condition > 0 ? settings->condition : 1;
    uint64_t state = settings->seed;
    assert_true(data.x != NULL && data.code != NULL && data.truth != NULL && center != NULL && z != NULL);
    for (int64_t i = 0; i < settings->C * D; i++)
        center[i] = separation * made_normal(&state);
    for (int64_t i = 0; i < N; i++) {
        int32_t c = data.truth[i] = class_of_row(settings, settings->duplicated ? i / 2 : i);
        for (int64_t j = 0; j < D; j++)
            z[j] = made_normal(&state) * pow(condition, -.5 * (double)j / (double)(D > 1 ? D - 1 : 1));
        mix(z, D);
        for (int64_t j = 0; j < D; j++)
            data.x[i * D + j] = (float)(settings->offset + center[c * D + j] + z[j]);
        if (settings->constant_feature)
            data.x[i * D] = (float)(settings->offset + 3);
        if (settings->duplicated && i % 2 == 1)
            memcpy(data.x + i * D, data.x + (i - 1) * D, (size_t)D * sizeof(float));
    }
    give_labels(&data, settings);
    free(center);
    free(z);
    return data;
}

void made_data_free(made_data *data)
{
    free(data->x);
    free(data->code);
    free(data->truth);
}

rer_dataset *made_data_wrap(const made_data *data)
{
    rer_view features = {.data = data->x, .dtype = RER_F32, .rank = 2, .shape = {data->N, data->D}};
    rer_view labels = {.data = data->code, .dtype = RER_I32, .rank = 1, .shape = {data->N}};
    rer_options options = rer_options_default();
    rer_error error = {0};
    rer_dataset *wrapped = NULL;
    if (rer_dataset_wrap(&wrapped, &features, &labels, &options, &error) != RER_OK)
        fail_msg("%s", error.message);
    assert_int_equal(rer_dataset_classes(wrapped), data->C);
    return wrapped;
}
