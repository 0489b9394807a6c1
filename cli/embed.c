/* rer embed: a folder of pictures, or a file of texts -> features. */
#include "cli.h"

#include <string.h>

typedef struct embed_progress {
    progress_line line;
    rer_embed_summary summary;
} embed_progress;

static bool report(void *context, const char *stage, double fraction)
{
    embed_progress *progress = context;
    if (progress->line.samples == 0) /* the first report: what an earlier run had done */
        progress->line.begun = fraction;
    progress->line.samples = progress->summary.n_pictures;
    return progress_report(&progress->line, stage, fraction);
}

static void print_embedded(const cli_arguments *arguments, const rer_embed_summary *summary)
{
    char number[32], columns[32];
    say("%s %s, %s features of each", grouped(number, summary->n_rows),
        is_folder(arguments->files[0]) ? "pictures" : "texts", grouped(columns, summary->n_columns));
    if (summary->n_before > 0)
        say(" (%s were there already)", grouped(number, summary->n_before));
    say(", %.1f s; written to %s\n", summary->seconds, arguments->out);
    if (summary->n_skipped > 0)
        say("%s files could not be read and are left out: the list that ends in _skipped.csv says why\n",
            grouped(number, summary->n_skipped));
}

static rer_status check(const cli_arguments *arguments, rer_error *error)
{
    if (arguments->out == NULL)
        return fail(error, RER_BAD_USAGE, "no output is named: rer embed %s --out X.npy", arguments->files[0]);
    if (arguments->descriptor != NULL && strcmp(arguments->descriptor, "hog") != 0)
        return fail(error, RER_BAD_USAGE, "--descriptor %s: there is none but hog", arguments->descriptor);
    if (arguments->descriptor != NULL && arguments->model != NULL)
        return fail(error, RER_BAD_USAGE, "--descriptor and --model: drop one of the two");
    return RER_OK;
}

static int run(const cli_arguments *arguments)
{
    rer_error error = {0};
    embed_progress shown = {.summary = {.size = sizeof shown.summary}};
    rer_progress progress = {.report = report, .context = &shown};
    rer_embed_files files = {.size = sizeof files,
                             .input = arguments->files[0],
                             .out = arguments->out,
                             .model = arguments->model,
                             .output = arguments->output,
                             .mean = arguments->mean,
                             .std = arguments->std,
                             .classes = arguments->classes,
                             .class_template = arguments->class_template};
    rer_status status = check(arguments, &error);
    if (status == RER_OK) {
        progress_start(&shown.line, NULL, arguments->quiet);
        signals_defer(true);
        status = rer_embed(&shown.summary, &files, arguments->options, &progress, &error);
        if (status != RER_OK)
            signals_defer(false);
        progress_clear(&shown.line);
    }
    if (status != RER_OK && signals_received() != 0) {
        complain("interrupted; the rows that were made are in %s.part, and the same command goes on there",
                 arguments->out);
        return 128 + signals_received();
    }
    if (status != RER_OK)
        return report_failure(&error);
    if (!arguments->quiet)
        print_embedded(arguments, &shown.summary);
    return 0;
}

static const char *const beside[] = {"_ids.csv", "_labels.csv", "_skipped.csv", "_classes.npy", NULL};

const cli_command embed_command = {
    .name = "embed",
    .usage = "PHOTOS|TEXTS [--model DIR] --out X.npy [options]",
    .purpose = "Features of a folder of pictures, or of a file of texts; goes on where it was stopped.",
    .examples = {"rer embed photos/ --model dinov2/ --out X.npy",
                 "rer analyze X.npy X_labels.csv:label --ids X_ids.csv --images photos/"},
    .files_min = 1,
    .files_max = 1,
    .beside = beside,
    .accepted = "out model preset size crop interpolation mean std output descriptor dtype classes template "
                "strict threads memory spreadsheet-safe quiet color help",
    .run = run,
};
