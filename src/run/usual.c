/* Made, freed. */
#include "run/usual.h"

void rer_usual_free(rer_usual *usual)
{
    if (usual != NULL)
        RER_FREE_ALL(usual->center, usual->spread, usual->removed);
    free(usual);
}
