/* rer apply: decisions about labels -> corrected labels. */
#include "cli.h"

static void print_weights(const cli_arguments *arguments, const rer_apply_summary *summary)
{
    char number[32];
    say("Weights of %s labels written to %s: ", grouped(number, summary->n_rows), arguments->weights);
    if (!option_is(arguments, "auto", "off"))
        say("each label's score, 0 to 1\n");
    else
        say("0 for %s changed or dropped, 1 for the others\n",
            grouped(number, summary->n_changed + summary->n_dropped));
}

static void print_labels(const cli_arguments *arguments, const rer_apply_summary *summary)
{
    char changed[32], dropped[32], kept[32], rows[32];
    say("%s of %s labels changed", grouped(changed, summary->n_changed), grouped(rows, summary->n_rows));
    if (option_is(arguments, "auto", "off"))
        say(", %s dropped, %s kept after a look", grouped(dropped, summary->n_dropped), grouped(kept, summary->n_kept));
    say("; labels written to %s\n", arguments->out);
    if (summary->n_without_suggestion > 0)
        say("%s rows above %g stay as they are: they were not flagged, so they have no suggestion\n",
            grouped(rows, summary->n_without_suggestion), option_number(arguments, "auto"));
}

static int run(const cli_arguments *arguments)
{
    rer_error error = {0};
    rer_apply_summary summary = {.size = sizeof summary};
    rer_apply_files files = {.size = sizeof files,
                             .labels = arguments->files[0],
                             .decisions = arguments->files[1],
                             .label_column = arguments->label_column,
                             .class_names = arguments->class_names,
                             .out = arguments->out,
                             .weights = arguments->weights};
    if (rer_apply(&summary, &files, arguments->options, &error) != RER_OK)
        return report_failure(&error);
    if (!arguments->quiet)
        (arguments->out != NULL ? print_labels : print_weights)(arguments, &summary);
    return 0;
}

const cli_command apply_command = {
    .name = "apply",
    .usage = "y DECISIONS|RESULTS --out FILE|--weights FILE [--auto P] [options]",
    .purpose = "Corrects labels by the decisions of a review (its file or folder), or by all suggestions above P.",
    .examples = {"rer apply y.npy decisions.csv --out y_clean.npy",
                 "rer apply y.npy results --auto .9 --out y_clean.npy"},
    .files_min = 2,
    .files_max = 2,
    .accepted = "out weights auto class-names label-column quiet help color",
    .run = run,
};
