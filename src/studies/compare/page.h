/* The page of rer compare, and the charts that it shares with files of their own. */
#pragma once

#include "core/files.h"
#include "report/frame.h"
#include "studies/compare/comparison.h"

enum { RER_AGREEMENT_MAPS = 4 }; /* rank correlation of samples, of classes; nDCG of samples, of classes */
enum { RER_COMPARE_RATES, RER_COMPARE_SIZES };

/* Of a rer_comparison. */
rer_putter rer_comparison_put_map, rer_comparison_put_chart, rer_comparison_put_page;
