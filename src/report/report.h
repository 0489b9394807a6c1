/* The files of an analysis: samples.csv or samples.npz, classes.csv, summary.json, report.html, and those of the details. */
#pragma once

#include "core/files.h"
#include "run/result.h"
#include "source/dataset.h"

/* What all files of a result are put from. */
typedef struct rer_result_files {
    const rer_result *result;
    const rer_dataset *data;
    rer_seconds *seconds;              /* of the result, which the writing is added to; NULL: none */
    double start;                      /* of the writing */
    const char *place;                 /* where a report goes, its folder or its file; NULL: unknown */
    bool is_file;                      /* ... which of the two */
    const struct rer_gallery *gallery; /* what a report shows of rows; NULL: made there */
} rer_result_files;

/* Each puts one whole file of a rer_result_files. */
rer_putter rer_put_samples, rer_put_samples_npz, rer_put_classes, rer_put_duplicates;
rer_putter rer_put_summary; /* last: it holds the time that the others took */
rer_putter rer_put_report;

/* details.c; which: the rer_portion_kind. */
rer_putter rer_put_portions;
rer_putter rer_put_transitions, rer_put_pair_details, rer_put_extremes, rer_put_details_json;
/* Histograms of the class of smallest, of median and of largest chi (0, 1, 2), as the paper's first figure. */
rer_putter rer_put_distribution;

/* All files in a folder under a temporary name; rer_output_commit is left. progress, or NULL: of the pictures. */
rer_status rer_result_stage(rer_output *output, rer_result *result, const rer_dataset *data, const char *path,
                            const rer_progress *progress, rer_error *error);

/* The present value of the option called `name`, "" where there is none. */
void rer_option_text(const rer_options *options, const char *name, char *text, int64_t size);
