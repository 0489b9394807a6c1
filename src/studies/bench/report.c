/* bench.csv and bench.json of a comparison; the charts are in charts.c. */
#include "core/json.h"
#include "studies/bench/charts.h"

/* ---- bench.csv --------------------------------------------------------------------------- */

/* One line for each metric that is defined: tidy, so that any tool can group it. */
static void put_entry(rer_writer *writer, const rer_bench *bench, const rer_cell *cell, int trial, int k)
{
    const rer_entry *entry = rer_bench_entry(bench, trial, k);
    for (int metric = 0; metric < RER_METRICS; metric++) {
        if (isnan(entry->values[metric]))
            continue;
        rer_csv_text(writer, bench->contestants[k].name);
        rer_csv_text(writer, cell->noise);
        rer_csv_real(writer, cell->rate, 10);
        rer_csv_integer(writer, bench->seeds[trial]);
        rer_csv_text(writer, rer_metric_name((rer_metric_id)metric));
        rer_csv_real(writer, entry->values[metric], 10);
        rer_csv_real(writer, entry->seconds, 6);
        rer_csv_end(writer);
    }
}

void rer_bench_put_csv(rer_writer *writer, const void *what, int which)
{
    const rer_bench *bench = what;
    (void)which;
    rer_put(writer, "detector,noise,rate,seed,metric,value,seconds\n");
    for (int c = 0; c < bench->n_cells; c++)
        for (int t = 0; t < bench->cells[c].n_trials; t++)
            for (int k = 0; k < bench->n_contestants; k++)
                put_entry(writer, bench, &bench->cells[c], bench->cells[c].first_trial + t, k);
}

/* ---- bench.json -------------------------------------------------------------------------- */

/* Means over the trials, and how far the first detector is ahead of this one. */
static void put_detector(rer_json *json, const rer_bench *bench, int cell, int k)
{
    rer_bench_difference gap = {0};
    rer_json_object(json, bench->contestants[k].name);
    for (int metric = 0; metric < RER_METRICS; metric++) {
        double value = rer_bench_cell_mean(bench, cell, k, (rer_metric_id)metric);
        if (!isnan(value))
            rer_json_real(json, rer_metric_name((rer_metric_id)metric), value);
    }
    rer_json_real(json, "seconds", rer_bench_seconds(bench, cell, -1, k));
    if (k > 0 && cell > 0) {
        rer_writer *writer = json->writer;
        (void)rer_writer_ok(writer, rer_bench_difference_of(&gap, bench, cell, 0, k, writer->error));
        rer_json_object(json, "auroc_behind");
        rer_json_real(json, "mean", gap.mean);
        rer_json_real(json, "low", gap.low);
        rer_json_real(json, "high", gap.high);
        rer_json_end(json);
    }
    rer_json_end(json);
}

static void put_cell(rer_json *json, const rer_bench *bench, int index)
{
    const rer_cell *cell = &bench->cells[index];
    int winner = rer_bench_best(bench, index);
    rer_json_object(json, NULL);
    rer_json_text(json, "noise", cell->noise);
    rer_json_real(json, "rate", cell->rate);
    rer_json_integer(json, "trials", cell->n_trials);
    rer_json_text(json, "winner", winner >= 0 ? bench->contestants[winner].name : NULL);
    rer_json_object(json, "detectors");
    for (int k = 0; k < bench->n_contestants; k++)
        put_detector(json, bench, index, k);
    rer_json_end(json);
    rer_json_end(json);
}

void rer_bench_put_json(rer_writer *writer, const void *what, int which)
{
    const rer_bench *bench = what;
    rer_json json = {.writer = writer};
    (void)which;
    rer_json_object(&json, NULL);
    rer_json_text(&json, "version", rer_version());
    rer_json_integer(&json, "n_samples", bench->N);
    rer_json_integer(&json, "n_features", bench->D);
    rer_json_integer(&json, "n_classes", bench->C);
    rer_json_array(&json, "detectors");
    for (int k = 0; k < bench->n_contestants; k++)
        rer_json_text(&json, NULL, bench->contestants[k].name);
    rer_json_end(&json);
    rer_json_array(&json, "cells");
    for (int c = 0; c < bench->n_cells; c++)
        put_cell(&json, bench, c);
    rer_json_end(&json);
    rer_json_real(&json, "seconds", bench->seconds);
    rer_json_options(&json, "options", &bench->options, "bench");
    rer_json_end(&json);
}

rer_status rer_bench_json(const rer_bench *bench, char **json, rer_error *error)
{
    return rer_file_text(json, rer_bench_put_json, bench, error);
}
