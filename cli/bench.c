/* rer bench: noise planted in the labels, and every detector on the same features. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- human labels ------------------------------------------------------------------------ */

/* "labels/worse.npy" -> "worse"; the caller's buffer. */
static const char *stem(char *buffer, size_t size, const char *path)
{
    const char *slash = strrchr(path, '/');
    (void)snprintf(buffer, size, "%s", slash != NULL && slash[1] != 0 ? slash + 1 : path);
    char *dot = strrchr(buffer, '.');
    if (dot != NULL && dot != buffer)
        *dot = 0;
    return buffer;
}

typedef struct human_labels {
    rer_bench_labels labels[LIST_MAX];
    char names[LIST_MAX][100];
    int32_t *codes; /* [count, N] */
    int count;
} human_labels;

static rer_status read_humans(human_labels *humans, const cli_arguments *arguments, const rer_dataset *data,
                              rer_error *error)
{
    const cli_list *files = &arguments->humans;
    size_t N = (size_t)rer_dataset_rows(data);
    rer_status status = RER_OK;
    humans->codes = files->count > 0 ? calloc((size_t)files->count * N, sizeof *humans->codes) : NULL;
    if (files->count > 0 && humans->codes == NULL)
        return fail(error, RER_SYSTEM, "out of memory: %d files of labels", files->count);
    for (int i = 0; status == RER_OK && i < files->count; i++) {
        int32_t *codes = humans->codes + (size_t)i * N;
        humans->labels[i] =
            (rer_bench_labels){.name = stem(humans->names[i], sizeof humans->names[i], files->item[i]), .codes = codes};
        status = rer_dataset_read_labels(codes, data, files->item[i], error);
    }
    humans->count = files->count;
    return status;
}

/* ---- what people see --------------------------------------------------------------------- */

/* The one with the highest mean AUROC in a cell, among all but `without`; -1: none. */
enum { NOISE_MAX = 16, OTHER_COLUMNS = 54, MEAN_COLUMNS = 11, METRIC_COLUMNS = 8 };

static int best_detector(const rer_bench *bench, int cell, int without)
{
    int best = -1;
    double highest = -1;
    for (int d = 0; d < rer_bench_detectors(bench); d++) {
        double auroc = rer_bench_value(bench, cell, -1, d, "auroc");
        if (d != without && auroc > highest) {
            highest = auroc;
            best = d;
        }
    }
    return best;
}

typedef const char *name_of(const rer_bench *bench, int index);

static const char *noise_name(const rer_bench *bench, int cell)
{
    return rer_bench_cell_at(bench, cell)->noise;
}

/* The columns of the widest of `count` names, at most `most`. */
static int name_width(const rer_bench *bench, name_of *name, int first, int count, int most)
{
    int width = 10;
    for (int i = first; i < count; i++) {
        int columns = text_width(name(bench, i));
        width = columns > width ? columns : width;
    }
    return width < most ? width : most;
}

static int noise_width(const rer_bench *bench)
{
    return name_width(bench, noise_name, 1, rer_bench_cells(bench), NOISE_MAX);
}

/* Of a detector's name, where others have taken so many columns. */
static int detector_width(const rer_bench *bench, int taken)
{
    return name_width(bench, rer_bench_detector, 0, rer_bench_detectors(bench), terminal_width(STDOUT_FILENO) - taken);
}

/* So few labels at so small a rate that none was made wrong, or a file of the same labels: there is nothing to find. */
static bool is_planted(const rer_bench *bench, int cell)
{
    return rer_bench_value(bench, cell, -1, 0, "wrong") > 0;
}

/* Ahead or behind only where chance does not explain it. */
static const char *verdict_of(const rer_bench_difference *gap)
{
    return gap->low > 0 ? "ahead" : gap->high < 0 ? "behind" : "even";
}

static rer_status print_cell(const rer_bench *bench, int cell, rer_error *error)
{
    const rer_bench_cell *info = rer_bench_cell_at(bench, cell);
    rer_bench_difference gap = {.mean = NAN, .low = NAN, .high = NAN};
    int other = best_detector(bench, cell, 0), decimals = info->rate > 0 && info->rate < .0005 ? 2 : 1;
    char difference[40] = "";
    rer_status status = other >= 0 ? rer_bench_gap(&gap, bench, cell, 0, other, error) : RER_OK;
    if (status != RER_OK)
        return status;
    if (!isnan(gap.low))
        say_to(difference, sizeof difference, "%+.3f (%+.3f to %+.3f)", gap.mean, gap.low, gap.high);
    else if (!isnan(gap.mean))
        say_to(difference, sizeof difference, "%+.3f", gap.mean);
    say("  ");
    print_padded(info->noise, noise_width(bench));
    if (!is_planted(bench, cell)) {
        say(" %5.*f %%       -  nothing was planted\n", decimals, 100 * info->rate);
        return RER_OK;
    }
    say(" %5.*f %%  %6.4f  ", decimals, 100 * info->rate, rer_bench_value(bench, cell, -1, 0, "auroc"));
    print_padded(other >= 0 ? rer_bench_detector(bench, other) : "",
                 detector_width(bench, OTHER_COLUMNS + noise_width(bench)));
    say("  %-25s %s\n", difference, isnan(gap.low) ? "" : verdict_of(&gap));
    return RER_OK;
}

static double mean_of_cells(const rer_bench *bench, int detector, const char *metric)
{
    double sum = 0;
    int n = 0;
    for (int cell = 1; cell < rer_bench_cells(bench); cell++) {
        double value = rer_bench_value(bench, cell, -1, detector, metric);
        sum += isnan(value) ? 0 : value;
        n += !isnan(value);
    }
    return n > 0 ? sum / n : NAN;
}

/* As many measures as fit; bench.csv has all. */
static void print_means(const rer_bench *bench, const char *title)
{
    static const struct {
        const char *name, *title;
    } metrics[] = {
        {"auroc", "AUROC"}, {"average_precision", "AP"},   {"f1", "F1"}, {"best_f1", "max F1"}, {"ece", "ECE"},
        {"ncfd", "NCFD"},   {"noise_rate_error", "rate+-"}};
    int width = detector_width(bench, MEAN_COLUMNS + METRIC_COLUMNS);
    int shown = (terminal_width(STDOUT_FILENO) - MEAN_COLUMNS - width) / METRIC_COLUMNS;
    shown = shown < (int)(sizeof metrics / sizeof *metrics) ? shown : (int)(sizeof metrics / sizeof *metrics);
    say("\n%s\n  %-*s", title, width, "");
    for (int m = 0; m < shown; m++)
        say("  %6s", metrics[m].title);
    say("  %7s\n", "seconds");
    for (int d = 0; d < rer_bench_detectors(bench); d++) {
        double seconds = 0;
        say("  ");
        print_padded(rer_bench_detector(bench, d), width);
        for (int m = 0; m < shown; m++)
            say("  %6.3f", mean_of_cells(bench, d, metrics[m].name));
        for (int cell = 0; cell < rer_bench_cells(bench); cell++)
            seconds += rer_bench_seconds(bench, cell, -1, d) / rer_bench_cells(bench);
        say("  %7.2f\n", seconds);
    }
}

static rer_status print_table(const rer_bench *bench, rer_error *error)
{
    rer_status status = RER_OK;
    int planted = 0;
    for (int cell = 1; cell < rer_bench_cells(bench); cell++)
        planted += is_planted(bench, cell);
    if (planted == 0) {
        say("Nothing was planted: no label is wrong that a detector could find.\n");
        if (rer_bench_cells(bench) > 1)
            print_means(bench, "Measures that need no wrong label:");
        return RER_OK;
    }
    say("How well mistakes rank before right labels (AUROC, 1: always), beside the best other:\n");
    say("  %-*s %7s  %-6s  %-*s  %s\n", noise_width(bench), "noise", "rate", rer_bench_detector(bench, 0),
        detector_width(bench, OTHER_COLUMNS + noise_width(bench)), "best other", "difference (95 %)");
    for (int cell = 1; status == RER_OK && cell < rer_bench_cells(bench); cell++)
        status = print_cell(bench, cell, error);
    if (status == RER_OK)
        print_means(bench, "Mean over these kinds of noise:");
    return status;
}

static rer_status print_outcome(const cli_arguments *arguments, const rer_bench *bench, rer_error *error)
{
    char *json = NULL;
    rer_status status = RER_OK;
    if (arguments->json) {
        status = rer_bench_json(bench, &json, error);
        if (status == RER_OK)
            say_lines(json);
        free(json);
    } else if (!arguments->quiet) {
        status = print_table(bench, error);
        if (arguments->out != NULL)
            say("\nWritten to %s: bench.html, bench.csv, bench.json and charts\n", arguments->out);
    }
    return status;
}

/* ---- the whole --------------------------------------------------------------------------- */

static rer_status compare(const cli_arguments *arguments, rer_dataset **data, human_labels *humans, rer_bench **bench,
                          rer_error *error)
{
    progress_line line;
    rer_progress progress = {.report = progress_report, .context = &line};
    rer_status status = open_labelled_data(data, arguments, error);
    if (status == RER_OK)
        status = read_humans(humans, arguments, *data, error);
    if (status != RER_OK)
        return status;
    rer_bench_settings settings = {
        .size = sizeof settings, .detectors = arguments->detectors, .human = humans->labels, .n_human = humans->count};
    signals_defer(true);
    double before = share_before();
    progress_start(&line, *data, arguments->quiet);
    progress_share(&line, before, 1 - before);
    status = rer_bench_run(bench, *data, &settings, arguments->options, &progress, error);
    progress_clear(&line);
    if (status == RER_OK && signals_received() != 0)
        status = fail(error, RER_CANCELLED, "interrupted");
    if (status == RER_OK && arguments->out != NULL)
        status = rer_bench_write(*bench, arguments->out, error);
    if (status == RER_OK)
        return print_outcome(arguments, *bench, error);
    signals_defer(false);
    return status;
}

static int run(const cli_arguments *arguments)
{
    rer_error error = {0};
    rer_dataset *data = NULL;
    rer_bench *bench = NULL;
    human_labels *humans = calloc(1, sizeof *humans);
    rer_status status =
        humans == NULL ? fail(&error, RER_SYSTEM, "out of memory") : compare(arguments, &data, humans, &bench, &error);
    rer_bench_free(bench);
    rer_dataset_free(data);
    if (humans != NULL)
        free(humans->codes);
    free(humans);
    return status == RER_OK ? 0 : report_failure(&error);
}

const cli_command bench_command = {
    .name = "bench",
    .usage = "X [y] [--out DIR] [--noise KIND,...] [--rates R,...] [--human FILE...] [options]",
    .purpose = "Plants wrong labels in y, which should be right, and compares detectors on the same features.",
    .examples = {"rer bench X.npy y.npy --out comparison",
                 "rer bench X.npy y.npy --noise none --human y1.npy y2.npy --detectors rer,chi,knn"},
    .files_min = 1,
    .files_max = 2,
    .results = "bench",
    .accepted = "out noise rates seeds human detectors seed bootstrap features label-column threads memory "
                "json quiet help drop-invalid class-embeddings color",
    .analyses = 100,
    .run = run,
};
