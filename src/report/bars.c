/* A picture of a row that has none: a bar for each feature, or for neighbouring ones together.
 *
 * z = (x - mean) / spread over the rows shown; a bar of g features is sum z / sqrt(g), which has the same
 * spread as one alone. Three spreads fill the bar. */
#include "report/gallery.h"

typedef struct bar_chart {
    rer_gallery *gallery;
    const rer_run *run;
    double *mean, *scale; /* [D]; scale: 1 / spread; sums and sums of squares first */
} bar_chart;

/* Each row twice: once for mean and spread, in order, once for the bars. */
static rer_status read_row(const bar_chart *b, int64_t i, float *x, void *scratch, rer_error *error)
{
    return rer_dataset_rows_read(b->run->data, b->gallery->rows[i], 1, x, scratch, error);
}

static void add_row(bar_chart *b, const float *x)
{
    for (int64_t j = 0; j < b->run->D; j++) {
        b->mean[j] += (double)x[j];
        b->scale[j] += (double)x[j] * (double)x[j];
    }
}

static void finish_sums(bar_chart *b)
{
    double n = (double)b->gallery->n_rows;
    for (int64_t j = 0; j < b->run->D; j++) {
        double mean = b->mean[j] / n, variance = b->scale[j] / n - mean * mean;
        b->mean[j] = mean;
        b->scale[j] = variance > 1e-12 * mean * mean ? 1 / sqrt(variance) : 0; /* a constant has no bar */
    }
}

static void set_bars(const bar_chart *b, int64_t i, const float *x)
{
    int64_t D = b->run->D, n = b->gallery->n_bars;
    for (int64_t k = 0; k < n; k++) {
        int64_t first = k * D / n, last = (k + 1) * D / n;
        double sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t j = first; j < last; j++)
            sum += ((double)x[j] - b->mean[j]) * b->scale[j];
        double bar = sum / sqrt((double)(last - first)) / 3 * 100;
        b->gallery->bars[i * n + k] = (int8_t)lround(fmax(-100, fmin(100, isfinite(bar) ? bar : 0)));
    }
}

rer_status rer_gallery_bars(rer_gallery *gallery, const rer_run *run, rer_error *error)
{
    bar_chart b = {.gallery = gallery, .run = run};
    float *x = NULL;
    char *scratch = NULL;
    int64_t n = gallery->n_rows;
    gallery->n_bars = (int)rer_min(run->D, RER_BARS_MAX);
    const rer_room rooms[] = {RER_ROOM(gallery->bars, n * gallery->n_bars), RER_ROOM(b.mean, run->D),
                              RER_ROOM(b.scale, run->D), RER_ROOM(x, run->D),
                              RER_ROOM(scratch, rer_dataset_scratch(run->data, 1))};
    rer_status status = rer_allocate_all(rooms, RER_COUNT(rooms), "bars", error);
    for (int64_t i = 0; i < n && status == RER_OK; i++) {
        status = read_row(&b, i, x, scratch, error);
        if (status == RER_OK)
            add_row(&b, x);
    }
    if (status == RER_OK)
        finish_sums(&b);
    for (int64_t i = 0; i < n && status == RER_OK; i++) {
        status = read_row(&b, i, x, scratch, error);
        if (status == RER_OK)
            set_bars(&b, i, x);
    }
    RER_FREE_ALL(b.mean, b.scale, x, scratch);
    return status;
}
