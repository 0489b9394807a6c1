/* Freed, saved, loaded. */
#include "run/usual.h"

#include <math.h>

void rer_usual_free(rer_usual *usual)
{
    if (usual != NULL)
        RER_FREE_ALL(usual->center, usual->spread, usual->removed);
    free(usual);
}

void rer_usual_put(rer_tensors *tensors, const rer_usual *usual)
{
    rer_tensors_set_number(tensors, "usual", usual != NULL);
    if (usual == NULL)
        return;
    rer_tensors_add(tensors, "usual.center", RER_F64, RER_SHAPE(usual->C), usual->center);
    rer_tensors_add(tensors, "usual.spread", RER_F64, RER_SHAPE(usual->C), usual->spread);
    rer_tensors_add(tensors, "usual.removed", RER_F32, RER_SHAPE(usual->n_removed), usual->removed);
    rer_tensors_set_number(tensors, "usual.tail", usual->tail);
}

/* Numbers that rows can be judged by. */
static bool are_usable(const rer_usual *usual)
{
    bool usable = isfinite(usual->tail);
    for (int32_t c = 0; c < usual->C; c++)
        usable &= isfinite(usual->center[c]) && usual->spread[c] > 0 && isfinite(usual->spread[c]);
    for (int64_t i = 0; i < usual->n_removed; i++)
        usable &= isfinite(usual->removed[i]) && (i == 0 || usual->removed[i - 1] <= usual->removed[i]);
    return usable;
}

rer_status rer_usual_get(rer_usual **usual, rer_tensors *tensors, int32_t C, rer_error *error)
{
    int64_t shape[RER_TENSOR_RANK_MAX];
    rer_usual *made = NULL;
    *usual = NULL;
    if (rer_tensors_number(tensors, "usual") == 0)
        return RER_OK;
    RER_TRY(rer_allocate(&made, 1, sizeof *made, "what is usual", error));
    made->C = C;
    made->tail = rer_tensors_number(tensors, "usual.tail");
    made->center = rer_tensors_copy(tensors, "usual.center", RER_F64, RER_SHAPE(C));
    made->spread = rer_tensors_copy(tensors, "usual.spread", RER_F64, RER_SHAPE(C));
    (void)rer_tensors_shape(tensors, "usual.removed", shape);
    made->n_removed = shape[0];
    made->removed = rer_tensors_copy(tensors, "usual.removed", RER_F32, RER_SHAPE(shape[0]));
    if (rer_tensors_status(tensors, NULL) == RER_OK && !are_usable(made))
        rer_tensors_fail(tensors, "usual.center, usual.spread, usual.tail or usual.removed are out of range");
    *usual = made;
    return RER_OK;
}
