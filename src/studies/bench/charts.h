/* Files of a comparison: what each writes. */
#ifndef RER_BENCH_CHARTS_H
#define RER_BENCH_CHARTS_H

#include "studies/bench/bench.h"
#include "report/chart.h"

/* context: rer_bench */
rer_status rer_bench_put_csv(rer_writer *writer, const void *context);
rer_status rer_bench_put_json(rer_writer *writer, const void *context);
rer_status rer_bench_put_page(rer_writer *writer, const void *context);

typedef enum rer_bench_chart_kind {
    RER_CHART_METRIC,      /* against the rate, one kind of noise */
    RER_CHART_CALIBRATION, /* share of wrong labels against probability, one kind of noise */
    RER_CHART_NOISE_RATE,  /* estimated against true, all cells */
} rer_bench_chart_kind;

typedef struct rer_bench_chart {
    const rer_bench *bench;
    rer_bench_chart_kind kind;
    int32_t noise; /* rer_noise_kind */
    rer_metric_id metric;
    rer_chart_putter *put; /* into a file of its own, or into a page */
} rer_bench_chart;

/* context: rer_bench_chart */
rer_status rer_bench_put_chart(rer_writer *writer, const void *context);

#endif
