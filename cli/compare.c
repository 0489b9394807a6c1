/* rer compare: runs side by side. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME_MAX_WIDTH = 40, SHOWN = 5, TEXT = 512 };

static const char *run_name(const rer_comparison *comparison, int index)
{
    return rer_comparison_run(comparison, index)->name;
}

/* Columns for each of `count` names, beside so many others. */
static int name_width(int count, int others)
{
    int width = (terminal_width(STDOUT_FILENO) - others) / count;
    return width > NAME_MAX_WIDTH ? NAME_MAX_WIDTH : width;
}

static void print_runs(const rer_comparison *comparison)
{
    const rer_compared_run *run;
    int width = name_width(1, 58);
    say("  %-*s  %9s  %7s  %6s  %10s  %6s  %6s\n", width, "run", "samples", "classes", "chi", "difficulty", "error",
        "noise");
    for (int i = 0; (run = rer_comparison_run(comparison, i)) != NULL; i++) {
        char samples[32], classes[32];
        say("  ");
        print_padded(run->name, width);
        say("  %9s  %7s  %6.4f  %10.4f  %6.4f  %6.4f\n", grouped(samples, run->n_samples),
            grouped(classes, run->n_classes), run->chi, run->difficulty, run->error_rate, run->noise_rate);
    }
}

static void print_pairs(const rer_comparison *comparison)
{
    const rer_agreement *pair;
    const rer_disagreement *found;
    int width = name_width(2, 46);
    say("\nThe same samples. How far the runs agree (1: the same order):\n");
    say("  %-*s  %-*s  %19s  %19s\n", width, "", width, "", "rank correlation", "nDCG");
    say("  %-*s  %-*s  %9s  %8s  %9s  %8s\n", width, "run", width, "run", "samples", "classes", "samples", "classes");
    for (int i = 0; (pair = rer_comparison_pair(comparison, i)) != NULL; i++) {
        say("  ");
        print_padded(run_name(comparison, pair->a), width);
        say("  ");
        print_padded(run_name(comparison, pair->b), width);
        say("  %9.4f  %8.4f  %9.4f  %8.4f\n", pair->spearman_samples, pair->spearman_classes, pair->ndcg_samples,
            pair->ndcg_classes);
    }
    for (int i = 0; i < SHOWN && (found = rer_comparison_disagreement(comparison, i)) != NULL; i++) {
        char high[TEXT], low[TEXT];
        if (i == 0)
            say("\nThey disagree most about (the share of samples that it stands above)\n");
        (void)clean_name(high, sizeof high, run_name(comparison, found->high_run), width);
        (void)clean_name(low, sizeof low, run_name(comparison, found->low_run), width);
        say("  row %lld: %.1f %% in %s, %.1f %% in %s\n", (long long)found->row, 100 * found->high, high,
            100 * found->low, low);
    }
}

static void print_relabellings(const rer_comparison *comparison)
{
    const rer_relabelling *change;
    const rer_compared_run *before = rer_comparison_run(comparison, 0);
    for (int i = 0; (change = rer_comparison_relabelling(comparison, i)) != NULL; i++) {
        const rer_compared_run *after = rer_comparison_run(comparison, i + 1);
        char number[32];
        say("\nFrom the labels of %s to those of %s:\n", before->name, after->name);
        say("  %s changed", grouped(number, change->n_changed));
        if (change->n_added > 0)
            say(", %s added", grouped(number, change->n_added));
        if (change->n_removed > 0)
            say(", %s removed", grouped(number, change->n_removed));
        if (change->n_changed > 0) {
            say("; of the changed ones %s were flagged before", grouped(number, change->n_flagged));
            say(" and %s are after, mean chi %.3f -> %.3f", grouped(number, change->n_still_flagged),
                change->chi_before, change->chi_after);
        }
        say("\n  chi %.4f -> %.4f, difficulty %.4f -> %.4f, noise rate %.4f -> %.4f\n", before->chi, after->chi,
            before->difficulty, after->difficulty, before->noise_rate, after->noise_rate);
    }
}

static void print_regression(const rer_comparison *comparison)
{
    const rer_regression *fit = rer_comparison_regression(comparison);
    const rer_compared_run *run;
    if (isnan(fit->slope))
        return;
    say("\nlog(error rate of the model) = %.3f chi %+.3f over %d data sets, Pearson %.3f (log difficulty: %.3f)\n",
        fit->slope, fit->intercept, fit->n, fit->pearson, fit->pearson_difficulty);
    for (int i = 0; (run = rer_comparison_run(comparison, i)) != NULL; i++) {
        if (isnan(run->model_error) || isnan(run->expected_error))
            continue;
        double ratio = run->model_error / run->expected_error;
        say("  ");
        print_padded(run->name, name_width(1, 66));
        say("  error %.2f %%, expected %.2f %%: %.2fx, %s\n", 100 * run->model_error, 100 * run->expected_error, ratio,
            ratio > 1.25 ? "there may be room for a better model"
            : ratio < .8 ? "better than its difficulty suggests"
                         : "about as its difficulty suggests");
    }
}

static rer_status print_outcome(const cli_arguments *arguments, const rer_comparison *comparison, rer_error *error)
{
    char *json = NULL;
    const char *note;
    if (arguments->json) {
        rer_status status = rer_comparison_json(comparison, &json, error);
        if (status != RER_OK)
            return status;
        say_lines(json);
        free(json);
    } else if (!arguments->quiet) {
        print_runs(comparison);
        if (rer_comparison_mode(comparison) == RER_COMPARE_SAMPLES)
            print_pairs(comparison);
        print_relabellings(comparison);
        print_regression(comparison);
        for (int i = 0; (note = rer_comparison_note(comparison, i)) != NULL; i++)
            say(i == 0 ? "\nNote: %s\n" : "Note: %s\n", note);
        if (arguments->out != NULL)
            say("\nWritten to %s: compare.html, compare.json, tables and charts\n", arguments->out);
    }
    return RER_OK;
}

static int run(const cli_arguments *arguments)
{
    rer_error error = {0};
    rer_comparison *comparison = NULL;
    rer_status status = rer_compare(&comparison, arguments->files, arguments->n_files, arguments->column,
                                    arguments->error_rates, arguments->options, &error);
    signals_defer(true);
    if (status == RER_OK && arguments->out != NULL)
        status = rer_comparison_write(comparison, arguments->out, &error);
    if (status == RER_OK)
        status = print_outcome(arguments, comparison, &error);
    rer_comparison_free(comparison);
    return status == RER_OK ? 0 : report_failure(&error);
}

const cli_command compare_command = {
    .name = "compare",
    .usage = "RUN RUN ... [--out DIR] [options]",
    .purpose = "Compares folders of rer analyze --out: the same samples, versions of labels, or data sets.",
    .examples = {"rer compare clip dino resnet --out agreement",
                 "rer compare cifar10 food101 dtd --error-rates sota.csv --out datasets"},
    .files_min = 2,
    .files_max = FILES_MAX,
    .results = "compare",
    .accepted = "out mode column error-rates json quiet spreadsheet-safe help color",
    .run = run,
};
