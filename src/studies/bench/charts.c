/* Charts of a comparison, and the folder with all of its files. */
#include "studies/bench/charts.h"

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

static bool make_points(points *made, rer_writer *writer, const rer_bench *bench, int64_t n)
{
    *made = (points){.n = n};
    made->n_shown = choose_shown(made->shown, bench);
    const rer_room rooms[] = {RER_ROOM(made->x, made->n_shown * n), RER_ROOM(made->y, made->n_shown * n)};
    return rer_writer_ok(writer, rer_allocate_all(rooms, RER_COUNT(rooms), "a chart", writer->error));
}

static void free_points(points *made)
{
    RER_FREE_ALL(made->x, made->y);
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

bool rer_bench_has_noise(const rer_bench *bench, int32_t noise)
{
    return cells_of(bench, noise) > 0;
}

static void put_metric(rer_writer *writer, const rer_bench *bench, int32_t noise, int which)
{
    static const struct {
        rer_metric_id metric;
        const char *name;
    } shown[] = {[RER_CHART_AUROC] = {RER_AUROC, "AUROC"},
                 [RER_CHART_F1] = {RER_F1, "F1 of the flags"},
                 [RER_CHART_NCFD] = {RER_NCFD, "NCFD"}};
    points made;
    char title[100];
    bool is_made = make_points(&made, writer, bench, cells_of(bench, noise));
    for (int i = 0; is_made && i < made.n_shown; i++) {
        int64_t at = i * made.n;
        for (int c = 1; c < bench->n_cells; c++)
            if (bench->cells[c].kind == noise) {
                made.x[at] = bench->cells[c].rate;
                made.y[at++] = rer_bench_cell_mean(bench, c, made.shown[i], shown[which].metric);
            }
    }
    if (is_made) {
        (void)snprintf(title, sizeof title, "%s, %s noise", shown[which].name, rer_noise_name(noise));
        add_series(&made, bench, noise == RER_NOISE_HUMAN ? RER_POINTS : RER_LINE);
        rer_frame_chart(writer, &(rer_chart){.title = title,
                                             .x = {.title = "share of wrong labels", .percent = true},
                                             .y = {.title = shown[which].name},
                                             .series = made.series,
                                             .n_series = made.n_series});
    }
    free_points(&made);
}

static void put_calibration(rer_writer *writer, const rer_bench *bench, int32_t noise)
{
    static const double ends[2] = {0, 1};
    points made;
    char title[100];
    bool is_made = make_points(&made, writer, bench, RER_CALIBRATION_BINS);
    for (int i = 0; is_made && i < made.n_shown; i++) {
        const rer_calibration_bin *bins =
            bench->calibration + ((int64_t)noise * bench->n_contestants + made.shown[i]) * RER_CALIBRATION_BINS;
        for (int b = 0; b < RER_CALIBRATION_BINS; b++) {
            double count = bins[b].count > 0 ? (double)bins[b].count : NAN;
            made.x[i * made.n + b] = bins[b].probability / count;
            made.y[i * made.n + b] = bins[b].wrong / count;
        }
    }
    if (is_made) {
        (void)snprintf(title, sizeof title, "Calibration, %s noise", rer_noise_name(noise));
        add_series(&made, bench, RER_LINE);
        add_diagonal(&made, ends);
        rer_frame_chart(writer, &(rer_chart){.title = title,
                                             .width = 480,
                                             .height = 480,
                                             .x = {.title = "probability that a label is wrong", .high = 1},
                                             .y = {.title = "share that is wrong", .high = 1},
                                             .series = made.series,
                                             .n_series = made.n_series});
    }
    free_points(&made);
}

static void put_noise_rate(rer_writer *writer, const rer_bench *bench)
{
    points made;
    double ends[2] = {0, 0};
    bool is_made = make_points(&made, writer, bench, bench->n_cells - 1);
    for (int i = 0; is_made && i < made.n_shown; i++)
        for (int c = 1; c < bench->n_cells; c++) {
            int64_t at = i * made.n + c - 1;
            made.x[at] = rer_bench_cell_mean(bench, c, made.shown[i], RER_TRUE_NOISE_RATE);
            made.y[at] = rer_bench_cell_mean(bench, c, made.shown[i], RER_NOISE_RATE);
            ends[1] = fmax(ends[1], made.x[at]);
        }
    if (is_made) {
        add_series(&made, bench, RER_POINTS);
        add_diagonal(&made, ends);
        rer_frame_chart(writer, &(rer_chart){.title = "Estimated against true noise rate",
                                             .x = {.title = "planted, and what was found before", .percent = true},
                                             .y = {.title = "estimated", .percent = true},
                                             .series = made.series,
                                             .n_series = made.n_series});
    }
    free_points(&made);
}

void rer_bench_put_chart(rer_writer *writer, const void *what, int which)
{
    if (which == RER_CHART_NOISE_RATE)
        put_noise_rate(writer, what);
    else if (which % RER_NOISE_CHARTS == RER_CHART_CALIBRATION)
        put_calibration(writer, what, which / RER_NOISE_CHARTS);
    else
        put_metric(writer, what, which / RER_NOISE_CHARTS, which % RER_NOISE_CHARTS);
}

/* ---- the folder -------------------------------------------------------------------------- */

rer_status rer_bench_write(const rer_bench *bench, const char *folder, rer_error *error)
{
    static const char *const names[RER_NOISE_CHARTS] = {"auroc", "f1", "ncfd", "calibration"};
    rer_file files[4 + RER_NOISE_KINDS * RER_NOISE_CHARTS] = {{"bench.csv", rer_bench_put_csv, 0, 0},
                                                              {"bench.json", rer_bench_put_json, 0, 0},
                                                              {"bench.html", rer_bench_put_page, 0, 0}};
    char paths[RER_NOISE_KINDS * RER_NOISE_CHARTS][48];
    int count = 3;
    for (int which = 0; which < RER_NOISE_KINDS * RER_NOISE_CHARTS; which++) {
        int32_t noise = which / RER_NOISE_CHARTS;
        if (!rer_bench_has_noise(bench, noise))
            continue;
        (void)snprintf(paths[which], sizeof paths[which], "%s-%s.svg", names[which % RER_NOISE_CHARTS],
                       rer_noise_name(noise));
        files[count++] = (rer_file){paths[which], rer_bench_put_chart, which, 0};
    }
    if (bench->n_cells > 1)
        files[count++] = (rer_file){"noise-rate.svg", rer_bench_put_chart, RER_CHART_NOISE_RATE, 0};
    return rer_folder_write(folder, files, count, bench, 0, error);
}
