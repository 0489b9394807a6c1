/* Prints, for each row of a data set, its place in the random order of its class that folds and
 * subsets are cut from (fit/folds.h); -1: no label.
 *     list_order features labels seed */
#include "fit/folds.h"

#include <stdio.h>

int main(int count, char **arguments)
{
    rer_error error = {0};
    rer_dataset *data = NULL;
    rer_options options = rer_options_default();
    rer_fold_plan plan = {0};
    if (count != 4 || rer_options_set(&options, "seed", arguments[3], &error) != RER_OK)
        return 2;
    rer_files files = {.size = sizeof files, .features = arguments[1], .labels = arguments[2]};
    if (rer_dataset_open(&data, &files, &options, &error) != RER_OK) {
        (void)fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    rer_run run = {0};
    int64_t *place = NULL;
    if (rer_allocate(&place, data->N, sizeof *place, "places", &error) != RER_OK ||
        rer_run_start(&run, data, data->labels.codes, data->labels.C, &options, NULL, &error) != RER_OK ||
        rer_fold_plan_make(&plan, &run, &error) != RER_OK)
        return 1;
    for (int64_t row = 0; row < data->N; row++)
        place[row] = -1;
    for (int32_t c = 0; c < run.C; c++)
        for (int64_t i = 0; i < rer_class_size(&plan.classes, c); i++)
            place[plan.classes.rows[plan.classes.start[c] + i]] = i;
    for (int64_t row = 0; row < data->N; row++)
        (void)printf("%lld\n", (long long)place[row]);
    free(place);
    rer_fold_plan_free(&plan);
    rer_run_end(&run);
    rer_dataset_free(data);
    return 0;
}
