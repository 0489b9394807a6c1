/* The pages of rer scale and rer compare, and the charts that they share with files of their own. */
#ifndef RER_PAGES_H
#define RER_PAGES_H

#include "compare/comparison.h"
#include "report/frame.h"
#include "scaling.h"

void rer_scaling_put_chart(rer_writer *writer, const rer_scaling *scaling, rer_chart_putter *put);
void rer_scaling_put_error_chart(rer_writer *writer, const rer_scaling *scaling, rer_chart_putter *put);
rer_status rer_scaling_put_page(rer_writer *writer, const void *context); /* rer_scaling */

enum { RER_AGREEMENT_MAPS = 4 }; /* rank correlation of samples, of classes; nDCG of samples, of classes */
rer_status rer_comparison_put_map(rer_writer *writer, const rer_comparison *comparison, int kind,
                                  rer_heatmap_putter *put);
void rer_comparison_put_scatter(rer_writer *writer, const rer_comparison *comparison, rer_chart_putter *put);
void rer_comparison_put_sizes(rer_writer *writer, const rer_comparison *comparison, rer_chart_putter *put);
rer_status rer_comparison_put_page(rer_writer *writer, const void *context); /* rer_comparison */

#endif
