/* bench.html: which detector finds planted mistakes best. */
#include "studies/bench/charts.h"

int rer_bench_best(const rer_bench *bench, int cell)
{
    int best = -1;
    double highest = -1;
    for (int k = 0; k < bench->n_contestants; k++) {
        double auroc = cell < 0 ? rer_bench_mean(bench, k, RER_AUROC) : rer_bench_cell_mean(bench, cell, k, RER_AUROC);
        if (auroc > highest) {
            highest = auroc;
            best = k;
        }
    }
    return best;
}

/* The best detector of a cell but for one, or -1. */
static int best_other(const rer_bench *bench, int cell, int than)
{
    int best = -1;
    for (int k = 0; k < bench->n_contestants; k++)
        if (k != than && (best < 0 || rer_bench_cell_mean(bench, cell, k, RER_AUROC) >
                                          rer_bench_cell_mean(bench, cell, best, RER_AUROC)))
            best = k;
    return best;
}

static rer_bench_difference gap_of(rer_writer *writer, const rer_bench *bench, int cell, int detector, int other)
{
    rer_bench_difference gap = {.mean = NAN, .low = NAN, .high = NAN};
    if (other >= 0)
        (void)rer_writer_ok(writer, rer_bench_difference_of(&gap, bench, cell, detector, other, writer->error));
    return gap;
}

/* Ahead is only who is beyond chance: the paired interval excludes zero. */
static void write_headline(char *text, size_t size, rer_writer *writer, const rer_bench *bench)
{
    char auroc[RER_CHART_TEXT];
    int best = rer_bench_best(bench, -1), ahead = 0;
    for (int c = 1; best >= 0 && c < bench->n_cells; c++)
        ahead += gap_of(writer, bench, c, best, best_other(bench, c, best)).low > 0;
    if (best < 0)
        (void)snprintf(text, size, "Nothing was planted: this is what each detector says of the labels as they are");
    else
        (void)snprintf(
            text, size,
            "%s has the largest mean AUROC, %s; ahead of all others beyond chance in %d of %d kinds of noise",
            bench->contestants[best].name, rer_fixed_text(auroc, rer_bench_mean(bench, best, RER_AUROC), 3), ahead,
            bench->n_cells - 1);
}

/* Mean over all cells, and which is best: the largest, or the smallest. */
static void put_means(rer_writer *writer, const rer_bench *bench)
{
    static const rer_column columns[] = {
        {.title = "detector"},
        {.title = "AUROC",
         .is_number = true,
         .help = "How often a wrong label stands above a right one: 1 is always, 0.5 is chance."},
        {.title = "average precision",
         .is_number = true,
         .help =
             "Going down its list, the mean share of wrong labels up to each wrong one: 1 is no right one between."},
        {.title = "F1",
         .is_number = true,
         .help = "Of what it flags: the balance of how many are wrong and how many of the wrong ones it has."},
        {.title = "best F1", .is_number = true, .help = "The same at the threshold that would suit it best."},
        {.title = "ECE",
         .is_number = true,
         .help = "How far its probabilities are from the share that is wrong; smaller is better."},
        {.title = "NCFD",
         .is_number = true,
         .help = "How much of what F1 lacks is made good where each label counts by its probability."},
        {.title = "noise rate ±",
         .is_number = true,
         .help = "How far its estimate of all wrong labels is from what was planted; smaller is better."},
        {.title = "seconds", .is_number = true, .help = "For one set of labels, on this machine."},
    };
    static const struct {
        rer_metric_id metric;
        bool is_error;
    } shown[] = {
        {RER_AUROC, false}, {RER_AVERAGE_PRECISION, false}, {RER_F1, false}, {RER_BEST_F1, false}, {RER_ECE, true},
        {RER_NCFD, false},  {RER_NOISE_RATE_ERROR, true}};
    enum { N_SHOWN = sizeof shown / sizeof shown[0] };
    rer_frame_section(writer, "detectors", "Detectors side by side", "Means over all kinds and rates of noise.");
    rer_frame_table_start(writer, "Detectors", columns, N_SHOWN + 2);
    for (int k = 0; k < bench->n_contestants; k++) {
        double seconds = 0;
        rer_frame_row(writer);
        rer_frame_cell(writer, bench->contestants[k].name);
        for (int m = 0; m < N_SHOWN; m++) {
            double value = rer_bench_mean(bench, k, shown[m].metric);
            bool is_best = !isnan(value);
            for (int other = 0; other < bench->n_contestants; other++) {
                double rival = rer_bench_mean(bench, other, shown[m].metric);
                is_best = is_best && !(shown[m].is_error ? rival < value : rival > value);
            }
            rer_frame_cell_number(writer, value, 4, is_best);
        }
        for (int c = 0; c < bench->n_cells; c++)
            seconds += rer_bench_seconds(bench, c, -1, k) / bench->n_cells;
        rer_frame_cell_number(writer, seconds, 2, false);
    }
    rer_frame_table_end(writer);
    rer_frame_meanings(writer, columns, N_SHOWN + 2);
}

static void put_cell_row(rer_writer *writer, const rer_bench *bench, int c)
{
    int other = best_other(bench, c, 0);
    rer_bench_difference gap = gap_of(writer, bench, c, 0, other);
    rer_frame_row(writer);
    rer_frame_cell(writer, bench->cells[c].noise);
    rer_frame_cell_percent(writer, bench->cells[c].rate, false);
    rer_frame_cell_number(writer, rer_bench_cell_mean(bench, c, 0, RER_AUROC), 4, gap.low > 0);
    rer_frame_cell(writer, other >= 0 ? bench->contestants[other].name : "–");
    rer_frame_cell_number(writer, other >= 0 ? rer_bench_cell_mean(bench, c, other, RER_AUROC) : NAN, 4, gap.high < 0);
    rer_frame_cell_number(writer, gap.mean, 4, false);
    rer_frame_cell_number(writer, gap.low, 4, false);
    rer_frame_cell_number(writer, gap.high, 4, false);
}

static void put_cells(rer_writer *writer, const rer_bench *bench)
{
    rer_column columns[] = {
        {.title = "noise"},
        {.title = "rate", .is_number = true},
        {.title = bench->contestants[0].name, .is_number = true, .help = "AUROC"},
        {.title = "best other"},
        {.title = "its AUROC", .is_number = true},
        {.title = "difference", .is_number = true},
        {.title = "at least", .is_number = true, .help = "95 % interval, paired bootstrap over the samples"},
        {.title = "at most", .is_number = true, .help = "95 % interval, paired bootstrap over the samples"},
    };
    rer_frame_section(writer, "noise", "Noise by noise",
                      "AUROC of the first detector and of the best other one, in bold where it is ahead beyond chance: "
                      "the interval of the difference has no zero in it.");
    rer_frame_table_start(writer, "AUROC by kind and rate of noise", columns, 8);
    for (int c = 1; c < bench->n_cells; c++)
        put_cell_row(writer, bench, c);
    rer_frame_table_end(writer);
}

static void put_charts(rer_writer *writer, const rer_bench *bench)
{
    static const int each[] = {RER_CHART_AUROC, RER_CHART_F1, RER_CHART_CALIBRATION};
    rer_frame_section(
        writer, "charts", "Against the share of wrong labels",
        "The first detector and the best others. Calibration: on the diagonal a probability is what it says.");
    rer_frame_charts_start(writer);
    for (int i = 0; i < RER_COUNT(each); i++)
        for (int32_t noise = 0; noise < RER_NOISE_KINDS; noise++)
            if (rer_bench_has_noise(bench, noise))
                rer_bench_put_chart(writer, bench, noise * RER_NOISE_CHARTS + each[i]);
    rer_bench_put_chart(writer, bench, RER_CHART_NOISE_RATE);
    rer_frame_charts_end(writer);
}

void rer_bench_put_page(rer_writer *writer, const void *what, int which)
{
    const rer_bench *bench = what;
    char headline[300];
    rer_frame frame = {
        .kind = "Benchmark of detectors",
        .name = bench->name,
        .headline = headline,
        .lead =
            "Wrong labels were planted in the data set, whose own labels count as right, and every detector was asked "
            "on the same features.",
    };
    (void)which;
    write_headline(headline, sizeof headline, writer, bench);
    rer_frame_start(writer, &frame);
    if (bench->n_cells > 1) {
        put_means(writer, bench);
        put_charts(writer, bench);
        put_cells(writer, bench);
    }
    rer_study study = {"bench",         "Options that are not at their defaults; all numbers are in bench.csv.",
                       &bench->options, bench->N,
                       bench->D,        bench->C,
                       bench->seconds};
    rer_frame_end_study(writer, &frame, &study);
}
