/* What a folder of rer analyze --out holds, read back. */
#pragma once

#include "source/labels.h"
#include "source/texts.h"

typedef struct rer_run_folder {
    char *path, *name, *reconstructor; /* the name is the last part of the path */
    rer_compared_run run;              /* summary.json; NaN where a number is missing */
    bool is_safe;                      /* written with --spreadsheet-safe */
    char detector[32];
    /* samples.csv */
    int64_t N;
    double *value;        /* [N] of the column that is compared */
    double *chi_of;       /* [N] rer */
    double *mistakenness; /* [N] */
    bool *is_issue;       /* [N] */
    rer_texts given;      /* [N] labels, empty: none */
    rer_texts ids;        /* [N] or none */
    /* classes.csv */
    rer_texts classes; /* [C] */
    double *class_chi; /* [C] */
} rer_run_folder;

/* `column`: of samples.csv, to be compared ("rer"). */
rer_status rer_run_folder_read(rer_run_folder *run, const char *path, const char *column, rer_error *error);
void rer_run_folder_free(rer_run_folder *run);
