/* What scoring looks up: products between class means and directions, made in double. */
#include "fit/subspace/subspace.h"

rer_status rer_subspace_set_reference(rer_subspace *subspace, rer_error *error)
{
    const rer_centroid *centroid = rer_centroid_of(subspace->metric);
    int64_t C = subspace->C, D = subspace->D;
    if (!rer_backend_enter())
        return rer_fail(error, RER_SYSTEM, "out of memory: buffers for the metric");
    RER_TRY(rer_allocate(&subspace->reference, C + 1, D * (int64_t)sizeof(double), "class means", error));
    for (int64_t c = 0; c < C; c++)
        for (int64_t j = 0; j < D; j++)
            subspace->reference[c * D + j] = centroid->mean[c * D + j] - centroid->grand[j];
    if (centroid->root != NULL)
        rer_multiply_triangle_f64(subspace->reference, centroid->root, C, D);
    return RER_OK;
}

void rer_subspace_clear_tables(rer_subspace *subspace)
{
    if (subspace->center_real != subspace->center)
        free(subspace->center_real);
    RER_FREE_ALL(subspace->center_norm, subspace->lift, subspace->pair_norm, subspace->pair_shift);
    subspace->center_real = subspace->center_norm = subspace->lift = NULL;
    subspace->pair_norm = subspace->pair_shift = NULL;
}

/* to[at..], in the precision of scoring, from double. */
static void put_reals(const rer_subspace *subspace, void *to, int64_t at, const double *values, int64_t count)
{
    const rer_real *real = rer_subspace_real(subspace);
    real->from_double(rer_real_at(real, to, at), values, count);
}

/* out [C, D]: direction j of all classes, in double. */
static void get_directions(const rer_subspace *subspace, int64_t j, double *out)
{
    const rer_real *real = rer_subspace_real(subspace);
    int64_t count = subspace->C * subspace->D;
    for (int64_t i = 0; i < count; i++)
        out[i] = real->get(subspace->basis, j * count + i);
}

static double dot(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static rer_status allocate_tables(rer_subspace *subspace, bool pairs, rer_error *error)
{
    int64_t C = subspace->C, rank = subspace->rank, real = (int64_t)rer_subspace_real(subspace)->size;
    bool in_double = rer_centroid_of(subspace->metric)->in_double;
    rer_room rooms[] = {RER_ROOM_OF(subspace->center_norm, C, real, false),
                        RER_ROOM_OF(subspace->lift, rank * C, real, false),
                        RER_ROOM_OF(subspace->pair_norm, (C + 1) * C, real, false),
                        RER_ROOM_OF(subspace->pair_shift, rank * (C + 1), C * real, false)};
    RER_TRY(rer_allocate_all(rooms, pairs ? 4 : 2, "tables of the subspaces", error));
    if (!in_double)
        return rer_allocate(&subspace->center_real, C, subspace->D * real, "class means", error);
    subspace->center_real = subspace->center;
    return RER_OK;
}

/* center_norm and pair_norm; product [C + 1, C] and norm [C] are work space. */
static void fill_norms(rer_subspace *subspace, double *product, double *norm)
{
    int64_t C = subspace->C, D = subspace->D;
    for (int64_t k = 0; k < C; k++)
        norm[k] = dot(subspace->center + k * D, subspace->center + k * D, D);
    put_reals(subspace, subspace->center_norm, 0, norm, C);
    if (product == NULL) /* pairs are not kept */
        return;
    rer_multiply_f64(product, C, subspace->reference, subspace->center, C + 1, C, D);
    for (int64_t c = 0; c <= C; c++) {
        double own = dot(subspace->reference + c * D, subspace->reference + c * D, D);
        for (int64_t k = 0; k < C; k++) {
            double square = own + norm[k] - 2 * product[c * C + k];
            product[c * C + k] = square > 0 ? square : 0;
        }
    }
    put_reals(subspace, subspace->pair_norm, 0, product, (C + 1) * C);
}

/* lift and pair_shift of direction j; directions [C, D], product and lift as above. */
static void fill_direction(rer_subspace *subspace, int64_t j, double *directions, double *product, double *lift)
{
    int64_t C = subspace->C, D = subspace->D;
    get_directions(subspace, j, directions);
    for (int64_t k = 0; k < C; k++)
        lift[k] = dot(directions + k * D, subspace->center + k * D, D);
    put_reals(subspace, subspace->lift, j * C, lift, C);
    if (product == NULL)
        return;
    rer_multiply_f64(product, C, subspace->reference, directions, C + 1, C, D);
    for (int64_t c = 0; c <= C; c++)
        for (int64_t k = 0; k < C; k++)
            product[c * C + k] -= lift[k];
    put_reals(subspace, subspace->pair_shift, j * (C + 1) * C, product, (C + 1) * C);
}

rer_status rer_subspace_finish(rer_subspace *subspace, rer_error *error)
{
    int64_t C = subspace->C, D = subspace->D, rank = subspace->rank, values = 0;
    bool pairs = rer_product((rank + 1) * (C + 1), C, &values) && values <= RER_SUBSPACE_TABLE_MAX;
    double *directions = NULL, *product = NULL, *row = NULL;
    if (!rer_backend_enter())
        return rer_fail(error, RER_SYSTEM, "out of memory: buffers for the metric");
    rer_room rooms[] = {RER_ROOM(directions, C * D), RER_ROOM(row, C), RER_ROOM(product, (C + 1) * C)};
    rer_status status = allocate_tables(subspace, pairs, error);
    RER_THEN(status,
             rer_allocate_all(rooms, pairs ? RER_COUNT(rooms) : RER_COUNT(rooms) - 1, "projected means", error));
    if (status == RER_OK) {
        if (subspace->center_real != subspace->center)
            put_reals(subspace, subspace->center_real, 0, subspace->center, C * D);
        fill_norms(subspace, product, row);
        for (int64_t j = 0; j < rank; j++)
            fill_direction(subspace, j, directions, product, row);
    } else {
        rer_subspace_clear_tables(subspace);
    }
    RER_FREE_ALL(directions, product, row);
    return status;
}
