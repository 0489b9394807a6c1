/* report.html: the parts that html.c puts together. Failures stick to the writer. */
#pragma once

#include "report/frame.h"
#include "report/gallery.h"
#include "report/report.h"

typedef struct rer_page {
    rer_writer *writer;
    const rer_result *result;
    const rer_dataset *data;
    const rer_result_files *files;
    rer_gallery gallery;
} rer_page;

/* page_answer.c: how many labels are wrong, as a sentence and in numbers. */
void rer_page_headline(char *text, size_t size, const rer_page *page);
void rer_page_lead(char *text, size_t size, const rer_page *page);
/* The threshold times `scale` (100: percent), in as many digits as tell it from its neighbours. */
const char *rer_threshold_text(char text[RER_CHART_TEXT], double threshold, double scale);
void rer_page_numbers(const rer_page *page);
/* page_data.c: everything that the page's script shows, as JSON inside the page. */
void rer_page_data(const rer_page *page);
/* page_dataset.c: the section on the whole data set: charts, meanings, how to repeat the run. */
void rer_page_dataset(const rer_page *page);
/* page_classes.c: the matrix of a data set with few classes; larger ones are drawn by the script. */
void rer_page_matrix(const rer_page *page);
/* Pairs and groups in detail, where rer_result_detail was asked for them. */
void rer_page_details(const rer_page *page);

/* Labels that k-means made are no one's mistakes: the words for them instead. */
static inline const char *rer_page_say(const rer_page *page, const char *labels, const char *clusters)
{
    return page->data->clusters > 0 ? clusters : labels;
}

/* Mistakenness is the score of another detector, which has its own count of wrong labels and may have its own flags. */
static inline bool rer_page_is_of_detector(const rer_page *page)
{
    return page->result->model != NULL && page->result->options.detector != RER_DETECT_RER;
}

static inline int64_t rer_page_wrong(const rer_summary *summary)
{
    return rer_labels_of(summary, summary->noise_rate);
}

/* ---- numbers of classes: class_numbers.c ------------------------------------------------------ */

enum { RER_ERROR_BINS = 20 };

/* Histograms of own and best other error over classes [n]: counts [n, 2, RER_ERROR_BINS] of bins of equal
 * width from low [n] to high [n], the largest error or three standard deviations above the mean; larger ones are
 * in the last bin. */
typedef struct rer_class_errors {
    double *low, *high; /* NaN for a class without errors */
    double *moments;    /* [n, 3] number, sum and sum of squares of both errors */
    int64_t *counts;
} rer_class_errors;

rer_status rer_class_errors_count(rer_class_errors *errors, const rer_result *result, const int32_t *classes, int32_t n,
                                  rer_error *error);
void rer_class_errors_free(rer_class_errors *errors);

/* order [n]: places in `classes` such that classes that are often confused stand together; block [n]: the
 * number of the group that order[i] belongs to, groups from 0 on one after the other. */
rer_status rer_class_order(int32_t *order, int32_t *block, const rer_result *result, const int32_t *classes, int32_t n,
                           rer_error *error);
