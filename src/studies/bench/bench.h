/* A comparison of detectors: what was planted, what each said, and what that is worth.
 *
 * A cell is one kind of noise at one rate; a trial is one set of labels of a cell (one seed). Cell 0 has
 * the labels as they are: it says what each detector takes for noise before any is planted. */
#pragma once

#include "studies/bench/contestants.h"
#include "studies/bench/metrics.h"

#define RER_BENCH_AS_IS (-1) /* kind of cell 0, besides those of rer_noise_kind */
#define RER_NOISE_KINDS 4

typedef struct rer_cell {
    int32_t kind; /* rer_noise_kind */
    char *noise;  /* "symmetric", "human:NAME", "none" */
    double rate;  /* asked for; of human noise what it is */
    int human;    /* which of the files */
    int first_trial, n_trials;
    rer_bench_cell face; /* the same for callers */
} rer_cell;

typedef struct rer_entry { /* one detector in one trial */
    double values[RER_METRICS];
    double seconds;
} rer_entry;

struct rer_bench {
    rer_options options;
    char *name; /* of the features' file; NULL: from memory */
    int64_t N, D;
    int32_t C;
    rer_contestant *contestants; /* [n_contestants] */
    int n_contestants;
    rer_cell *cells; /* [n_cells] */
    int n_cells;
    int64_t *seeds; /* [n_trials] */
    int n_trials;
    rer_entry *entries;               /* [n_trials, n_contestants] */
    double *replicates;               /* [n_cells, n_contestants, bootstrap] mean AUROC of the trials */
    rer_calibration_bin *calibration; /* [RER_NOISE_KINDS, n_contestants, RER_CALIBRATION_BINS] sums */
    double seconds;
};

static inline const rer_entry *rer_bench_entry(const rer_bench *bench, int trial, int contestant)
{
    return &bench->entries[trial * bench->n_contestants + contestant];
}

const char *rer_noise_name(int32_t kind); /* of a rer_noise_kind; else "none" */

/* Room for everything, nothing measured yet. */
rer_status rer_bench_make(rer_bench **bench, const rer_dataset *data, const rer_bench_settings *settings,
                          const rer_options *options, rer_error *error);
/* Seconds that all trials will take, about. */
rer_status rer_bench_guess(double *seconds, const rer_bench *bench, rer_pool *pool, rer_error *error);
rer_status rer_bench_run_trials(rer_bench *bench, const rer_dataset *data, const rer_bench_settings *settings,
                                const rer_progress *progress, rer_error *error);

/* Mean over the trials of a cell that have the metric, NaN where none has. */
double rer_bench_cell_mean(const rer_bench *bench, int cell, int contestant, rer_metric_id metric);
/* rer_bench_gap, where the cell and both detectors are there. */
rer_status rer_bench_difference_of(rer_bench_difference *gap, const rer_bench *bench, int cell, int detector, int other,
                                   rer_error *error);
/* Mean of the cells with planted or human noise. */
double rer_bench_mean(const rer_bench *bench, int contestant, rer_metric_id metric);

/* Adds AUROC / n_trials of the resampled rows to replicates [n_contestants, bootstrap]; the same rows are drawn
 * for every detector and trial. rankings [n_contestants], wrong [n]. */
rer_status rer_bench_resample(double *replicates, const rer_ranking *rankings, int n_contestants, const bool *wrong,
                              int64_t n, int n_trials, const rer_options *options, rer_pool *pool, rer_error *error);
