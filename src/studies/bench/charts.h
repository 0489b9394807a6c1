/* Files of a comparison: what each writes. */
#pragma once

#include "core/files.h"
#include "report/frame.h"
#include "studies/bench/bench.h"

/* Charts of each kind of noise: three metrics against its rate; share of wrong labels against probability. */
enum { RER_CHART_AUROC, RER_CHART_F1, RER_CHART_NCFD, RER_CHART_CALIBRATION, RER_NOISE_CHARTS };

/* Of a rer_bench. Charts: noise * RER_NOISE_CHARTS + chart, or RER_CHART_NOISE_RATE: estimated against true. */
enum { RER_CHART_NOISE_RATE = -1 };
rer_putter rer_bench_put_csv, rer_bench_put_json, rer_bench_put_page, rer_bench_put_chart;

bool rer_bench_has_noise(const rer_bench *bench, int32_t noise); /* rer_noise_kind */
/* The detector with the largest mean AUROC of a cell (-1: of all with noise), or -1. */
int rer_bench_best(const rer_bench *bench, int cell);
