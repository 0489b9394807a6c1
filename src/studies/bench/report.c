/* bench.csv and bench.json of a comparison; the charts are in charts.c. */
#include "studies/bench/charts.h"
#include "report/json_values.h"

#include <math.h>

/* ---- bench.csv --------------------------------------------------------------------------- */

/* One line for each metric that is defined: tidy, so that any tool can group it. */
static void put_entry(rer_writer *writer, const rer_bench *bench, const rer_cell *cell, int trial, int k)
{
    const rer_entry *entry = rer_bench_entry(bench, trial, k);
    for (int metric = 0; metric < RER_METRICS; metric++) {
        if (isnan(entry->values[metric]))
            continue;
        rer_put(writer, bench->contestants[k].name);
        rer_put(writer, ",");
        rer_put_cell(writer, cell->noise);
        rer_put_format(writer, ",%.10g,%lld,", cell->rate, (long long)bench->seeds[trial]);
        rer_put(writer, rer_metric_name((rer_metric_id)metric));
        rer_put_format(writer, ",%.10g,%.6g\n", entry->values[metric], entry->seconds);
    }
}

rer_status rer_bench_put_csv(rer_writer *writer, const void *context)
{
    const rer_bench *bench = context;
    rer_put(writer, "detector,noise,rate,seed,metric,value,seconds\n");
    for (int c = 0; c < bench->n_cells; c++)
        for (int t = 0; t < bench->cells[c].n_trials; t++)
            for (int k = 0; k < bench->n_contestants; k++)
                put_entry(writer, bench, &bench->cells[c], bench->cells[c].first_trial + t, k);
    return writer->status;
}

/* ---- bench.json -------------------------------------------------------------------------- */

/* Means over the trials, and how far the first detector is ahead of this one. */
static json_t *detector_object(const rer_bench *bench, int cell, int k)
{
    json_t *object = json_object();
    rer_bench_difference gap;
    for (int metric = 0; metric < RER_METRICS; metric++) {
        double value = rer_bench_cell_mean(bench, cell, k, (rer_metric_id)metric);
        if (!isnan(value))
            object = rer_json_add_real(object, rer_metric_name((rer_metric_id)metric), value);
    }
    object = rer_json_add_real(object, "seconds", rer_bench_seconds(bench, cell, -1, k));
    if (k == 0 || cell == 0)
        return object;
    if (rer_bench_difference_of(&gap, bench, cell, 0, k, NULL) != RER_OK) {
        json_decref(object);
        return NULL;
    }
    json_t *behind = rer_json_add_real(json_object(), "mean", gap.mean);
    behind = rer_json_add_real(behind, "low", gap.low);
    return rer_json_set(object, "auroc_behind", rer_json_add_real(behind, "high", gap.high));
}

static json_t *cell_object(const rer_bench *bench, int index)
{
    const rer_cell *cell = &bench->cells[index];
    json_t *object = rer_json_add_text(json_object(), "noise", cell->noise);
    json_t *detectors = json_object();
    int winner = -1;
    object = rer_json_add_real(object, "rate", cell->rate);
    object = rer_json_add_integer(object, "trials", cell->n_trials);
    for (int k = 0; k < bench->n_contestants; k++) {
        double auroc = rer_bench_cell_mean(bench, index, k, RER_AUROC);
        if (!isnan(auroc) && (winner < 0 || auroc > rer_bench_cell_mean(bench, index, winner, RER_AUROC)))
            winner = k;
        detectors = rer_json_set(detectors, bench->contestants[k].name, detector_object(bench, index, k));
    }
    object =
        rer_json_set(object, "winner", winner >= 0 ? rer_json_string(bench->contestants[winner].name) : json_null());
    return rer_json_set(object, "detectors", detectors);
}

rer_status rer_bench_json(const rer_bench *bench, char **json, rer_error *error)
{
    rer_error_clear(error);
    json_t *root = rer_json_add_text(json_object(), "version", rer_version());
    json_t *names = json_array(), *cells = json_array();
    for (int k = 0; k < bench->n_contestants; k++)
        names = rer_json_append(names, rer_json_string(bench->contestants[k].name));
    for (int c = 0; c < bench->n_cells; c++)
        cells = rer_json_append(cells, cell_object(bench, c));
    root = rer_json_add_integer(root, "n_samples", bench->N);
    root = rer_json_add_integer(root, "n_features", bench->D);
    root = rer_json_add_integer(root, "n_classes", bench->C);
    root = rer_json_set(root, "detectors", names);
    root = rer_json_set(root, "cells", cells);
    root = rer_json_add_real(root, "seconds", bench->seconds);
    root = rer_json_set(root, "options", rer_json_options(&bench->options, "bench"));
    return rer_json_text(json, root, "bench.json", error);
}

rer_status rer_bench_put_json(rer_writer *writer, const void *context)
{
    char *json = NULL;
    rer_status status = rer_bench_json(context, &json, writer->error);
    if (status != RER_OK)
        return status;
    rer_put(writer, json);
    rer_put(writer, "\n");
    free(json);
    return writer->status;
}
