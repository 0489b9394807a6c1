/* The page of rer compare, and the charts that it shares with files of their own. */
#ifndef RER_COMPARE_PAGE_H
#define RER_COMPARE_PAGE_H

#include "report/frame.h"
#include "studies/compare/comparison.h"

enum { RER_AGREEMENT_MAPS = 4 }; /* rank correlation of samples, of classes; nDCG of samples, of classes */
rer_status rer_comparison_put_map(rer_writer *writer, const rer_comparison *comparison, int kind,
                                  rer_heatmap_putter *put);
void rer_comparison_put_scatter(rer_writer *writer, const rer_comparison *comparison, rer_chart_putter *put);
void rer_comparison_put_sizes(rer_writer *writer, const rer_comparison *comparison, rer_chart_putter *put);
rer_status rer_comparison_put_page(rer_writer *writer, const void *context); /* rer_comparison */

#endif
