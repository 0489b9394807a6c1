/* The files of an analysis: samples.csv, classes.csv, summary.json, report.html. */
#ifndef RER_REPORT_H
#define RER_REPORT_H

#include "report/writer.h"
#include "run/result.h"
#include "source/dataset.h"

/* What all files of a result are written from. */
typedef struct rer_result_files {
    rer_result *result;
    const rer_dataset *data;
    double start; /* of the writing */
} rer_result_files;

/* duplicates.csv; the context is a rer_result_files. */
rer_status rer_write_duplicates(rer_writer *writer, const void *context);

/* The files of the details; the context is a rer_result_files. */
rer_status rer_write_class_details(rer_writer *writer, const void *context);
rer_status rer_write_subset_details(rer_writer *writer, const void *context);
rer_status rer_write_transitions(rer_writer *writer, const void *context);
rer_status rer_write_pair_details(rer_writer *writer, const void *context);
rer_status rer_write_extremes(rer_writer *writer, const void *context);
rer_status rer_write_details_json(rer_writer *writer, const void *context);
/* Histograms of the class of smallest, of median and of largest chi, as the paper's first figure. */
rer_status rer_write_easiest(rer_writer *writer, const void *context);
rer_status rer_write_median(rer_writer *writer, const void *context);
rer_status rer_write_hardest(rer_writer *writer, const void *context);

/* Each writes one whole file; failures stick to the writer unless they are returned. */
rer_status rer_write_samples(rer_writer *writer, const rer_result *result, const rer_dataset *data);
rer_status rer_write_classes(rer_writer *writer, const rer_result *result, const rer_dataset *data);
rer_status rer_write_json(rer_writer *writer, const rer_result *result, const rer_dataset *data);
rer_status rer_write_html(rer_writer *writer, const rer_result *result, const rer_dataset *data);

/* The present value of the option called `name`, "" where there is none. */
void rer_option_text(const rer_options *options, const char *name, char *text, int64_t size);

#endif
