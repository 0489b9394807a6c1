/* Charts of a comparison, and the folder with all of its files. */
#include "studies/bench/charts.h"
#include "report/folder.h"

#include <math.h>
#include <stdio.h>

/* The first detector and the best others, as many as can be told apart; returns how many. */
static int choose_shown(int shown[RER_COLORS], const rer_bench *bench)
{
    int count = 1;
    shown[0] = 0;
    while (count < RER_COLORS && count < bench->n_contestants) {
        int best = -1;
        for (int k = 1; k < bench->n_contestants; k++) {
            bool is_taken = false;
            for (int i = 1; i < count; i++)
                is_taken = is_taken || shown[i] == k;
            if (!is_taken && (best < 0 || rer_bench_mean(bench, k, RER_AUROC) > rer_bench_mean(bench, best, RER_AUROC)))
                best = k;
        }
        shown[count++] = best;
    }
    return count;
}

/* The numbers behind a chart: for each shown detector n points. */
typedef struct points {
    int shown[RER_COLORS], n_shown;
    int64_t n;
    double *x, *y; /* [n_shown, n] */
    rer_series series[RER_COLORS + 1];
    int n_series;
} points;

static rer_status make_points(points *made, const rer_bench *bench, int64_t n, rer_error *error)
{
    *made = (points){.n = n};
    made->n_shown = choose_shown(made->shown, bench);
    rer_status status = rer_allocate(&made->x, made->n_shown * n, sizeof(double), "a chart", error);
    if (status == RER_OK)
        status = rer_allocate(&made->y, made->n_shown * n, sizeof(double), "a chart", error);
    return status;
}

static void free_points(points *made)
{
    free(made->x);
    free(made->y);
}

/* Points that are not there are left out, and detectors that have none. */
static void add_series(points *made, const rer_bench *bench, rer_series_kind kind)
{
    for (int i = 0; i < made->n_shown; i++) {
        double *x = made->x + i * made->n, *y = made->y + i * made->n;
        int64_t n = 0;
        for (int64_t j = 0; j < made->n; j++)
            if (!isnan(x[j]) && !isnan(y[j])) {
                x[n] = x[j];
                y[n++] = y[j];
            }
        if (n > 0)
            made->series[made->n_series++] = (rer_series){
                .kind = kind, .name = bench->contestants[made->shown[i]].name, .n = n, .x = x, .y = y, .color = i + 1};
    }
}

/* The line that a perfect detector would be on. */
static void add_diagonal(points *made, const double ends[2])
{
    made->series[made->n_series++] = (rer_series){.kind = RER_LINE, .n = 2, .x = ends, .y = ends, .dashed = true};
}

static int64_t cells_of(const rer_bench *bench, int32_t noise)
{
    int64_t n = 0;
    for (int c = 1; c < bench->n_cells; c++)
        n += bench->cells[c].kind == noise;
    return n;
}

static rer_status put_metric(rer_writer *writer, const rer_bench_chart *chart)
{
    const rer_bench *bench = chart->bench;
    points made = {0};
    char title[100];
    static const struct {
        rer_metric_id metric;
        const char *text;
    } titles[] = {{RER_AUROC, "AUROC"}, {RER_F1, "F1 of the flags"}, {RER_NCFD, "NCFD"}};
    const char *name = rer_metric_name(chart->metric);
    rer_status status = make_points(&made, bench, cells_of(bench, chart->noise), writer->error);
    for (int i = 0; status == RER_OK && i < made.n_shown; i++) {
        int64_t at = i * made.n;
        for (int c = 1; c < bench->n_cells; c++)
            if (bench->cells[c].kind == chart->noise) {
                made.x[at] = bench->cells[c].rate;
                made.y[at++] = rer_bench_cell_mean(bench, c, made.shown[i], chart->metric);
            }
    }
    if (status == RER_OK) {
        for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
            if (titles[i].metric == chart->metric)
                name = titles[i].text;
        (void)snprintf(title, sizeof title, "%s, %s noise", name, rer_noise_name(chart->noise));
        add_series(&made, bench, chart->noise == RER_NOISE_HUMAN ? RER_POINTS : RER_LINE);
        chart->put(writer, &(rer_chart){.title = title,
                                        .x = {.title = "share of wrong labels", .percent = true},
                                        .y = {.title = name},
                                        .series = made.series,
                                        .n_series = made.n_series});
    }
    free_points(&made);
    return status == RER_OK ? writer->status : status;
}

static rer_status put_calibration(rer_writer *writer, const rer_bench_chart *chart)
{
    static const double ends[2] = {0, 1};
    const rer_bench *bench = chart->bench;
    points made = {0};
    char title[100];
    rer_status status = make_points(&made, bench, RER_CALIBRATION_BINS, writer->error);
    for (int i = 0; status == RER_OK && i < made.n_shown; i++) {
        const rer_calibration_bin *bins =
            bench->calibration + ((int64_t)chart->noise * bench->n_contestants + made.shown[i]) * RER_CALIBRATION_BINS;
        for (int b = 0; b < RER_CALIBRATION_BINS; b++) {
            double count = bins[b].count > 0 ? (double)bins[b].count : NAN;
            made.x[i * made.n + b] = bins[b].probability / count;
            made.y[i * made.n + b] = bins[b].wrong / count;
        }
    }
    if (status == RER_OK) {
        (void)snprintf(title, sizeof title, "Calibration, %s noise", rer_noise_name(chart->noise));
        add_series(&made, bench, RER_LINE);
        add_diagonal(&made, ends);
        chart->put(writer, &(rer_chart){.title = title,
                                        .width = 480,
                                        .height = 480,
                                        .x = {.title = "probability that a label is wrong", .high = 1},
                                        .y = {.title = "share that is wrong", .high = 1},
                                        .series = made.series,
                                        .n_series = made.n_series});
    }
    free_points(&made);
    return status == RER_OK ? writer->status : status;
}

static rer_status put_noise_rate(rer_writer *writer, const rer_bench_chart *chart)
{
    const rer_bench *bench = chart->bench;
    points made = {0};
    double ends[2] = {0, 0};
    rer_status status = make_points(&made, bench, bench->n_cells - 1, writer->error);
    for (int i = 0; status == RER_OK && i < made.n_shown; i++)
        for (int c = 1; c < bench->n_cells; c++) {
            int64_t at = i * made.n + c - 1;
            made.x[at] = rer_bench_cell_mean(bench, c, made.shown[i], RER_TRUE_NOISE_RATE);
            made.y[at] = rer_bench_cell_mean(bench, c, made.shown[i], RER_NOISE_RATE);
            ends[1] = fmax(ends[1], made.x[at]);
        }
    if (status == RER_OK) {
        add_series(&made, bench, RER_POINTS);
        add_diagonal(&made, ends);
        chart->put(writer, &(rer_chart){.title = "Estimated against true noise rate",
                                        .x = {.title = "planted, and what was found before", .percent = true},
                                        .y = {.title = "estimated", .percent = true},
                                        .series = made.series,
                                        .n_series = made.n_series});
    }
    free_points(&made);
    return status == RER_OK ? writer->status : status;
}

rer_status rer_bench_put_chart(rer_writer *writer, const void *context)
{
    const rer_bench_chart *chart = context;
    switch (chart->kind) {
    case RER_CHART_METRIC:
        return put_metric(writer, chart);
    case RER_CHART_CALIBRATION:
        return put_calibration(writer, chart);
    case RER_CHART_NOISE_RATE:
        return put_noise_rate(writer, chart);
    }
    return RER_BAD_USAGE;
}

/* ---- the folder -------------------------------------------------------------------------- */

enum { CHARTS_PER_KIND = 4, FILES_MOST = 4 + RER_NOISE_KINDS * CHARTS_PER_KIND };

rer_status rer_bench_write(const rer_bench *bench, const char *folder, rer_error *error)
{
    static const struct {
        const char *name;
        rer_bench_chart_kind kind;
        rer_metric_id metric;
    } per_kind[CHARTS_PER_KIND] = {{"auroc", RER_CHART_METRIC, RER_AUROC},
                                   {"f1", RER_CHART_METRIC, RER_F1},
                                   {"ncfd", RER_CHART_METRIC, RER_NCFD},
                                   {"calibration", RER_CHART_CALIBRATION, RER_ECE}};
    rer_folder_file files[FILES_MOST] = {
        {"bench.csv", rer_bench_put_csv}, {"bench.json", rer_bench_put_json}, {"bench.html", rer_bench_put_page}};
    const void *contexts[FILES_MOST] = {bench, bench, bench};
    rer_bench_chart charts[FILES_MOST];
    char names[FILES_MOST][48];
    int count = 3;
    rer_error_clear(error);
    for (int32_t noise = 0; noise < RER_NOISE_KINDS; noise++)
        for (int i = 0; i < CHARTS_PER_KIND && cells_of(bench, noise) > 0; i++, count++) {
            charts[count] = (rer_bench_chart){bench, per_kind[i].kind, noise, per_kind[i].metric, rer_chart_put_alone};
            (void)snprintf(names[count], sizeof names[count], "%s-%s.svg", per_kind[i].name, rer_noise_name(noise));
            files[count] = (rer_folder_file){names[count], rer_bench_put_chart};
            contexts[count] = &charts[count];
        }
    if (bench->n_cells > 1) {
        charts[count] = (rer_bench_chart){bench, RER_CHART_NOISE_RATE, 0, RER_NOISE_RATE, rer_chart_put_alone};
        files[count] = (rer_folder_file){"noise-rate.svg", rer_bench_put_chart};
        contexts[count] = &charts[count];
        count++;
    }
    return rer_folder_write_each(folder, files, count, contexts, error);
}
