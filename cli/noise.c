/* rer noise: a file of labels with some made wrong. */
#include "cli.h"

static void print_done(const cli_arguments *arguments, const rer_noise_summary *summary)
{
    char changed[32], labelled[32];
    say("%s of %s labels (%.2f %%, %d classes) changed and written to %s\n", grouped(changed, summary->n_changed),
        grouped(labelled, summary->n_labelled),
        summary->n_labelled > 0 ? 100 * (double)summary->n_changed / (double)summary->n_labelled : 0,
        summary->n_classes, arguments->out);
}

static int run(const cli_arguments *arguments)
{
    rer_error error = {0};
    rer_noise_summary summary = {.size = sizeof summary};
    progress_line line;
    rer_progress progress = {.report = progress_report, .context = &line};
    rer_files files = {.size = sizeof files,
                       .features = arguments->features,
                       .labels = arguments->files[0],
                       .label_column = arguments->label_column};
    signals_defer(true);
    progress_start(&line, NULL, arguments->quiet);
    rer_status status =
        rer_noise_file(arguments->out, &summary, &files, arguments->human, arguments->options, &progress, &error);
    progress_clear(&line);
    if (status != RER_OK) {
        signals_defer(false);
        return report_failure(&error);
    }
    if (!arguments->quiet)
        print_done(arguments, &summary);
    return 0;
}

const cli_command noise_command = {
    .name = "noise",
    .usage = "y --out FILE [--type KIND] [--rate R] [options]",
    .purpose = "Makes exactly round(R x N) labels wrong, to see what finds them; the file keeps its kind.",
    .examples = {"rer noise y.npy --type symmetric --rate .1 --seed 1 --out y_noisy.npy",
                 "rer noise y.npy --type human --human y2.npy --rate .1 --out y_noisy.npy"},
    .files_min = 1,
    .files_max = 1,
    .accepted = "out features human label-column type rate threads memory seed quiet help color",
    .run = run,
};
