/* Which columns of a table tell a row's two classes apart: see gallery.h.
 *
 * A column j says  |x_j - given_j|^2 - |x_j - suggested_j|^2  over spread_j^2: how much nearer x is to one class's
 * median than to the other's. The largest either way are told. */
#include "report/gallery.h"
#include "stats/order.h"

rer_status rer_typical_find(rer_typical *typical, const float *x, const int64_t *count, int64_t n, int64_t K, int64_t D,
                            rer_error *error)
{
    rer_typical made = {.D = D};
    double *column = NULL; /* [K] */
    const rer_room rooms[] = {RER_ROOM(made.middle, n * D), RER_ROOM(made.spread, D), RER_ROOM(column, K)};
    RER_TRY(rer_allocate_all(rooms, RER_COUNT(rooms), "what is typical of classes", error));
    for (int64_t i = 0; i < n * D; i++) {
        int64_t class = i / D, j = i % D, size = count[class];
        for (int64_t k = 0; k < size; k++)
            column[k] = (double)x[(class * K + k) * D + j];
        if (size == 0)
            continue;
        rer_sort_doubles(column, size);
        made.middle[i] = (float)column[size / 2];
        made.spread[j] += (float)((column[size - 1 - size / 4] - column[size / 4]) / 2 / (double)n);
    }
    free(column);
    *typical = made;
    return RER_OK;
}

void rer_typical_free(rer_typical *typical)
{
    RER_FREE_ALL(typical->middle, typical->spread);
    *typical = (rer_typical){0};
}

static double nearer_to_suggested(const rer_typical *typical, const float *x, const float *given,
                                  const float *suggested, int64_t j)
{
    double spread = (double)typical->spread[j], from = (double)(x[j] - given[j]), to = (double)(x[j] - suggested[j]);
    double says = (from * from - to * to) / (spread * spread);
    return isfinite(says) ? says : 0; /* a constant says nothing */
}

void rer_typical_tell(rer_telling *out, const rer_typical *typical, const float *x, int64_t given, int64_t suggested)
{
    const float *one = typical->middle + given * typical->D, *other = typical->middle + suggested * typical->D;
    double says[RER_TELLING];
    int found = 0;
    for (int64_t j = 0; j < typical->D; j++) {
        double now = fabs(nearer_to_suggested(typical, x, one, other, j));
        if (now == 0 || (found == RER_TELLING && !(now > says[found - 1])))
            continue;
        int at = found < RER_TELLING ? found++ : RER_TELLING - 1;
        for (; at > 0 && says[at - 1] < now; at--) {
            says[at] = says[at - 1];
            out[at] = out[at - 1];
        }
        says[at] = now;
        out[at] = (rer_telling){(int32_t)j, x[j], one[j], other[j]};
    }
}
