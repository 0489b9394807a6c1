/* A view of the data set whose rows are read in units. */
#include "run/units.h"

#include <math.h>

rer_status rer_units_make(rer_units **units, int64_t D, rer_error *error)
{
    rer_units *made = NULL;
    RER_TRY(rer_allocate(&made, 1, sizeof *made, "units of the features", error));
    made->D = D;
    rer_room rooms[] = {RER_ROOM(made->mean, D), RER_ROOM(made->factor, D)};
    rer_status status = rer_allocate_all(rooms, RER_COUNT(rooms), "units of the features", error);
    if (status == RER_OK)
        *units = made;
    else
        rer_units_free(made);
    return status;
}

void rer_units_free(rer_units *units)
{
    if (units != NULL)
        RER_FREE_ALL(units->mean, units->factor);
    free(units);
}

void rer_units_put(rer_tensors *tensors, const rer_units *units)
{
    if (units == NULL)
        return;
    rer_tensors_add(tensors, "units.mean", RER_F64, RER_SHAPE(units->D), units->mean);
    rer_tensors_add(tensors, "units.factor", RER_F64, RER_SHAPE(units->D), units->factor);
}

rer_status rer_units_get(rer_units **units, rer_tensors *tensors, int64_t D, rer_error *error)
{
    rer_units *made = NULL;
    *units = NULL;
    if (!rer_tensors_has(tensors, "units.mean"))
        return RER_OK;
    RER_TRY(rer_allocate(&made, 1, sizeof *made, "units of the features", error));
    made->D = D;
    made->mean = rer_tensors_copy(tensors, "units.mean", RER_F64, RER_SHAPE(D));
    made->factor = rer_tensors_copy(tensors, "units.factor", RER_F64, RER_SHAPE(D));
    for (int64_t j = 0; made->mean != NULL && made->factor != NULL && j < D; j++)
        if (!isfinite(made->mean[j]) || !(made->factor[j] > 0) || isinf(made->factor[j]))
            rer_tensors_fail(tensors, "units.mean or units.factor of feature %lld is no usable number", (long long)j);
    *units = made;
    return RER_OK;
}

rer_status rer_units_enter(rer_run *run, const rer_units *units, rer_error *error)
{
    rer_dataset *view = NULL;
    RER_TRY(rer_allocate(&view, 1, sizeof *view, "the data set", error));
    *view = *run->data;
    view->units = units;
    view->D = units->D + 1;
    view->features.owned = NULL; /* of the data set that it shows */
    run->data = run->view = view;
    run->D = run->columns = view->D;
    return RER_OK;
}

rer_run rer_units_leave(const rer_run *run)
{
    rer_run left = *run;
    if (run->data->units == NULL)
        return left;
    left.data = run->as_came;
    left.D = left.columns = run->as_came->D;
    left.passes = NULL; /* a card has rows in units */
    return left;
}
