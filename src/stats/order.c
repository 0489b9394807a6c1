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

#define DIGIT 11 /* bits */

void rer_sort_keys(uint64_t *keys, int64_t n, uint64_t most, uint64_t *work)
{
    for (int shift = 0; shift < 64 && most >> shift > 0; shift += DIGIT) {
        int64_t place[1 << DIGIT] = {0}, before = 0;
        uint64_t digit = (1 << DIGIT) - 1;
        for (int64_t i = 0; i < n; i++)
            place[keys[i] >> shift & digit]++;
        for (uint64_t d = 0; d <= digit; d++) {
            int64_t count = place[d];
            place[d] = before;
            before += count;
        }
        for (int64_t i = 0; i < n; i++)
            work[place[keys[i] >> shift & digit]++] = keys[i];
        memcpy(keys, work, (size_t)n * sizeof *keys);
    }
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

float rer_weighted_percentile(const float *values, const float *weights, int64_t n, double share, rer_ranked *work)
{
    double all = 0, above = 0;
    for (int64_t i = 0; i < n; i++) {
        work[i] = (rer_ranked){.value = (double)values[i], .place = i};
        all += (double)weights[i];
    }
    rer_sort_ranked(work, n);
    int64_t at = n - 1;
    for (; at > 0; at--) {
        double with = above + (double)weights[work[at].place];
        if (at < n - 1 && with > (1 - share) * all)
            break;
        above = with;
    }
    return values[work[at].place];
}
