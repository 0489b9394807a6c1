/* The page of rer scale, and the charts that it shares with files of their own. */
#ifndef RER_SCALE_PAGE_H
#define RER_SCALE_PAGE_H

#include "report/frame.h"
#include "studies/scale/scaling.h"

void rer_scaling_put_chart(rer_writer *writer, const rer_scaling *scaling, rer_chart_putter *put);
void rer_scaling_put_error_chart(rer_writer *writer, const rer_scaling *scaling, rer_chart_putter *put);
rer_status rer_scaling_put_page(rer_writer *writer, const void *context); /* rer_scaling */

#endif
