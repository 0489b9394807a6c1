#include "plain_channel.h"

#include "made_data.h"

#include <math.h>

double without(const double *p, int32_t n, int32_t k)
{
    double sum = 0;
    for (int32_t j = 0; j < n; j++)
        sum += j != k ? p[j] : 0;
    return sum;
}

static void soften(double *p, const double *z, double factor, int32_t n)
{
    double top = -INFINITY, sum = 0;
    for (int32_t k = 0; k < n; k++)
        top = fmax(top, factor * z[k]);
    for (int32_t k = 0; k < n; k++)
        sum += p[k] = exp(factor * z[k] - top);
    for (int32_t k = 0; k < n; k++)
        p[k] /= sum;
}

plain_parts plain(const plain_row *row)
{
    plain_parts parts = {.G = 0};
    double flow = 0, e = row->blur, v = row->likeness;
    int32_t c = row->code;
    soften(parts.p, row->z, 1, row->n);
    soften(parts.b, row->z, row->lambda, row->n);
    for (int32_t k = 0; k < row->n; k++) {
        flow += parts.p[k] * row->rate[k];
        if (k != c)
            parts.G += parts.p[k] / without(parts.p, row->n, k);
    }
    parts.q = e * parts.b[c] + (1 - e) * (v * parts.p[c] * parts.G + (1 - v) * flow);
    parts.right = parts.p[c] * (e * parts.b[c] + (1 - e) * (1 - v) * row->rate[c]);
    return parts;
}

plain_row draw_row(int32_t n, double spread, bool best, bool rates, uint64_t *seed)
{
    plain_row row = {.n = n,
                     .lambda = .02 + .48 * made_uniform(seed),
                     .blur = .01 + .3 * made_uniform(seed),
                     .likeness = .01 + .3 * made_uniform(seed)};
    int32_t top = 0, other;
    for (int32_t k = 0; k < n; k++) {
        row.z[k] = (double)(float)(5 + spread * made_normal(seed)); /* as the kernels get it */
        top = row.z[k] > row.z[top] ? k : top;
    }
    do
        other = (int32_t)(n * made_uniform(seed));
    while (other == top);
    row.code = best ? top : other;
    double uniform = .05 / (n - 1);
    for (int32_t k = 0; k < n; k++)
        row.rate[k] = (double)(float)(rates ? uniform + .3 * made_uniform(seed) * (made_uniform(seed) < .3) : uniform);
    row.rate[row.code] = (double)(float)(.6 + .3 * made_uniform(seed));
    return row;
}

void for_each_row(void (*check)(plain_row *row, const rer_kernels *kernels, bool with_rates))
{
    const rer_kernels *list[MOST_KERNELS];
    int count = list_kernels(list);
    uint64_t seed = 1;
    for (int table = 0; table < count; table++)
        for (int size = 0; size < SIZES; size++)
            for (int draw = 0; draw < DRAWS; draw++) {
                bool best = draw % 2 == 0, with_rates = draw % 4 < 2;
                plain_row row = draw_row(sizes[size],
                                         draw % 3 == 0   ? .5
                                         : draw % 3 == 1 ? 3
                                                         : 12,
                                         best, with_rates, &seed);
                check(&row, list[table], with_rates);
            }
}
