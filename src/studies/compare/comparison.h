/* What rer_compare leaves. */
#pragma once

#include "studies/compare/run_folder.h"
#include "core/notes.h"
#include "core/options.h"

#define RER_RUNS_MAX 64
#define RER_DISAGREEMENTS 50

struct rer_comparison {
    rer_comparison_kind mode;
    char *column;
    int count;
    rer_run_folder *folders; /* [count] */
    rer_compared_run *runs;  /* [count] */
    rer_agreement *pairs;    /* [n_pairs] */
    int n_pairs;
    rer_disagreement disagreements[RER_DISAGREEMENTS];
    int n_disagreements;
    rer_relabelling *relabellings; /* [count - 1] or NULL */
    rer_regression regression;
    rer_notes notes;
};

/* Sets runs[].model_error and the regression from a file. */
rer_status rer_comparison_read_rates(rer_comparison *comparison, const char *path, rer_error *error);
