/* rer bench: plants noise, asks every detector on the same features, measures the answers.
 *
 * 1. The plan: plan.c.
 * 2. The features into memory, where they fit, so that they are read and described once.
 * 3. The trials: trials.c. */
#include "studies/bench/bench.h"

#include <unistd.h>

/* Whether the features as float take no more than a quarter of the machine's memory, or half of --memory. */
static bool fits_in_memory(const rer_dataset *data, const rer_options *options)
{
    int64_t bytes = 0, cap = (int64_t)sysconf(_SC_PHYS_PAGES) * (int64_t)sysconf(_SC_PAGESIZE) / 4;
    if (options->memory > 0)
        cap = options->memory / 2;
    return rer_product(data->N, data->D, &bytes) && rer_product(bytes, sizeof(float), &bytes) && bytes <= cap;
}

static rer_status load(rer_dataset **loaded, const rer_dataset *data, const rer_options *options,
                       const rer_progress *progress, rer_error *error)
{
    rer_pool *pool = NULL;
    rer_pool_settings settings = {.threads = options->threads, .memory = options->memory, .progress = progress};
    if (rer_dataset_is_loaded(data) || !fits_in_memory(data, options))
        return RER_OK;
    rer_status status = rer_pool_open(&pool, &settings, error);
    RER_THEN(status, rer_dataset_load(loaded, data, pool, error));
    rer_pool_close(pool);
    return status;
}

rer_status rer_bench_run(rer_bench **bench, const rer_dataset *data, const rer_bench_settings *given_settings,
                         const rer_options *given, const rer_progress *progress, rer_error *error)
{
    rer_bench_settings settings;
    rer_options options;
    rer_bench *made = NULL;
    rer_dataset *loaded = NULL;
    double start = rer_now();
    rer_error_clear(error);
    rer_status status = rer_options_take(&options, given, error);
    RER_THEN(status, rer_struct_take(&settings, sizeof settings, given_settings, "rer_bench_settings", error));
    RER_THEN(status, rer_dataset_check_labelled(data, error));
    RER_THEN(status, rer_bench_make(&made, data, &settings, &options, error));
    RER_THEN(status, load(&loaded, data, &options, progress, error));
    RER_THEN(status, rer_bench_run_trials(made, loaded != NULL ? loaded : data, &settings, progress, error));
    rer_dataset_free(loaded);
    if (status != RER_OK) {
        rer_bench_free(made);
        return status;
    }
    for (int i = 0; i < made->n_cells; i++) {
        rer_cell *cell = &made->cells[i];
        cell->face = (rer_bench_cell){.noise = cell->noise, .rate = cell->rate, .n_trials = cell->n_trials};
    }
    made->seconds = rer_now() - start;
    *bench = made;
    return RER_OK;
}
