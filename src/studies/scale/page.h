/* The page of rer scale, and the charts that it shares with files of their own. */
#pragma once

#include "core/files.h"
#include "report/frame.h"
#include "studies/scale/scaling.h"

enum { RER_SCALE_CHART, RER_SCALE_ERROR_CHART };

/* Of a rer_scaling. */
rer_putter rer_scaling_put_chart, rer_scaling_put_page;
