/* Numbers in order: see order.h. */
#include "stats/order.h"

static int by_float(const void *left, const void *right)
{
    float a = *(const float *)left, b = *(const float *)right;
    return (a > b) - (a < b);
}

static int by_double(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static int by_value(const void *left, const void *right)
{
    const rer_ranked *a = left, *b = right;
    if (a->value != b->value)
        return a->value < b->value ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

static void sort(void *items, int64_t n, size_t size, int (*compare)(const void *, const void *))
{
    if (n > 0) /* there may be no array then, which qsort must not be given */
        qsort(items, (size_t)n, size, compare);
}

void rer_sort_floats(float *values, int64_t n)
{
    sort(values, n, sizeof *values, by_float);
}

void rer_sort_doubles(double *values, int64_t n)
{
    sort(values, n, sizeof *values, by_double);
}

void rer_sort_ranked(rer_ranked *list, int64_t n)
{
    sort(list, n, sizeof *list, by_value);
}

double rer_percentile(const double *sorted, int64_t n, double share)
{
    double at = share * (double)(n - 1);
    int64_t low = (int64_t)at, high = rer_min(low + 1, n - 1);
    return sorted[low] + (at - (double)low) * (sorted[high] - sorted[low]);
}
