/* What a person reads at the end: at most 25 lines, in plain words.
 *
 *     3  what was analyzed, what was found
 *    12  what a budget buys, the most suspicious samples  + an empty line
 *     4  hardest classes, most confused pairs     + an empty line
 *  9+1  subsets, where they were asked for
 *     2  notes
 *     2  where the files are, what to do next */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUSPECTS = 10, HARDEST = 3, PAIRS = 3, NOTES = 2, SUBSETS = 8, TEXT = 512 };

const char *class_name(const cli_job *job, int32_t c)
{
    const char *name = rer_result_class_name(job->result, c);
    return name == NULL ? "-" : name[0] == 0 ? "(empty)" : name;
}

static const char *plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

bool has_clusters(const cli_job *job)
{
    return !option_is(job->arguments, "clusters", "0");
}

static void print_size(const cli_job *job)
{
    const rer_summary *summary = rer_result_summary(job->result);
    char number[32];
    int64_t shape[3];
    say("%s sample%s, ", grouped(number, summary->n_samples), plural(summary->n_samples));
    say("%s %s, ", grouped(number, summary->n_classes), has_clusters(job) ? "clusters" : "classes");
    say("%s feature%s", grouped(number, summary->n_features), plural(summary->n_features));
    if (rer_dataset_is_pictures(job->data, shape))
        say(" of pictures");
    if (summary->n_unlabelled > 0 && summary->n_labelled > 0)
        say("; %s without a label", grouped(number, summary->n_unlabelled));
    if (summary->n_invalid > 0)
        say("; %s left out", grouped(number, summary->n_invalid));
    if (summary->n_outliers > 0)
        say("; %s resemble%s no %s clearly", grouped(number, summary->n_outliers), summary->n_outliers == 1 ? "s" : "",
            has_clusters(job) ? "cluster" : "class");
    say("\n");
}

/* So many of the judged labels are the share. */
static int64_t labels_of(const rer_summary *summary, double share)
{
    return isnan(share) ? 0 : llround(share * (double)summary->chi_all.n);
}

static const char *are(int64_t count)
{
    return count == 1 ? "is" : "are";
}

/* "7.5 %": one label of many is more than none, and one that is left is not all. */
static void say_share(double share)
{
    bool is_almost_none = share > 0 && share < .0005, is_almost_all = share >= .9995 && share < 1;
    say(is_almost_none ? "under 0.1 %%" : is_almost_all ? "over 99.9 %%" : "%.1f %%", 100 * share);
}

/* What --clusters made are no one's mistakes. */
static void say_clusters(const rer_summary *summary, int64_t doubtful)
{
    char number[32];
    if (doubtful == 0) {
        say("Hardly any sample lies between two clusters");
        return;
    }
    say("About %s sample%s may belong to another cluster (", grouped(number, doubtful), plural(doubtful));
    say_share(summary->noise_rate);
    say(")");
}

static void say_labels(const rer_summary *summary, int64_t wrong)
{
    char number[32];
    int64_t low = labels_of(summary, summary->noise_low), high = labels_of(summary, summary->noise_high);
    if (wrong == 0) {
        say("Hardly any label looks wrong");
        return;
    }
    if (low == high) { /* nothing is in doubt, or another detector knows no range */
        say("About %s label%s look%s wrong (", grouped(number, wrong), plural(wrong), wrong == 1 ? "s" : "");
    } else {
        if (low > 0)
            say("At least %s label%s %s wrong, perhaps up to ", grouped(number, low), plural(low), are(low));
        say(low > 0 ? "%s" : "Up to %s label%s may be wrong", grouped(number, high), plural(high));
        say(" (about %s, ", grouped(number, wrong));
    }
    say_share(summary->noise_rate);
    say(")");
}

static void print_findings(const cli_job *job)
{
    const rer_summary *summary = rer_result_summary(job->result);
    int64_t wrong = labels_of(summary, summary->noise_rate);
    paint(BOLD);
    (has_clusters(job) ? say_clusters : say_labels)(summary, wrong);
    say(".\n");
    paint(PLAIN);
    if (isnan(summary->chi))
        return;
    if (isnan(summary->difficulty))
        say("Difficulty unknown: ");
    else
        say("Difficulty %.3f of 1: ", summary->difficulty);
    say_share(summary->error_rate);
    say(" lie nearest to another %s (chi %.3f: own over other distance).\n", has_clusters(job) ? "cluster" : "class",
        summary->chi);
}

/* "99.8%" */
static void describe_probability(char *out, size_t size, double p)
{
    if (p > .9995)
        (void)snprintf(out, size, ">99.9%%");
    else
        say_to(out, size, p < .0995 ? "%.2f%%" : "%.1f%%", 100 * p);
}

typedef struct suspect_line {
    char who[TEXT], given[TEXT], suggested[TEXT], wrong[16], why[2 * TEXT];
} suspect_line;

static void fill_line(suspect_line *line, const cli_job *job, int64_t row, int width, int id_width,
                      reason_length length)
{
    rer_sample sample = {.size = sizeof sample};
    (void)rer_result_sample(&sample, job->result, row, NULL);
    const char *id = rer_dataset_id(job->data, row);
    char number[32];
    (void)snprintf(number, sizeof number, "%lld", (long long)row);
    (void)clean_name(line->who, TEXT, id != NULL ? id : number, id != NULL ? id_width : 20);
    (void)clean_name(line->given, TEXT, class_name(job, sample.given), width);
    (void)clean_name(line->suggested, TEXT, class_name(job, sample.suggested), width);
    describe_probability(line->wrong, sizeof line->wrong, sample.mistakenness);
    describe_why(line->why, sizeof line->why, job, &sample, line->suggested, width, length);
}

static int widest(const suspect_line *lines, int64_t count, size_t member, const char *title)
{
    int width = text_width(title);
    for (int64_t i = 0; i < count; i++) {
        int columns = text_width((const char *)&lines[i] + member);
        width = columns > width ? columns : width;
    }
    return width;
}

/* As many digits as a threshold was given with, 15 at most: with fewer .999999 is 1, above which nothing lies. */
static int digits_of(double threshold)
{
    char text[40];
    int digits = 3;
    do
        (void)snprintf(text, sizeof text, "%.*g", digits, threshold);
    while (strtod(text, NULL) != threshold && digits++ < 15);
    return digits < 15 ? digits : 6;
}

/* Where to begin, and what that buys. Scores of other detectors are no promises. */
static void print_budgets(const cli_job *job)
{
    const rer_summary *summary = rer_result_summary(job->result);
    char number[32], wrong[32];
    bool promised = !isnan(summary->noise_low);
    int64_t first = 10, buys = llround(summary->expected_wrong);
    while (first * 10 <= summary->n_issues / 2)
        first *= 10;
    if (first > summary->chi_all.n)
        first = summary->chi_all.n;
    if (summary->n_issues > 0) {
        say("Start with the %s flagged", grouped(number, summary->n_issues));
        if (option_is(job->arguments, "budget", "auto") && isfinite(summary->threshold))
            say(" (%s over %.*g)", summary->threshold_on_chi ? "chi" : "mistakenness", digits_of(summary->threshold),
                summary->threshold);
        if (promised)
            say(has_clusters(job) ? ": about %s %s of another cluster" : ": about %s %s wrong", grouped(wrong, buys),
                are(buys));
    } else {
        bool all_right = promised && !has_clusters(job) && !summary->threshold_on_chi && summary->threshold <= .5;
        say(all_right ? "No single one is likelier wrong than right" : "None is flagged");
    }
    if (promised)
        say("; of the first %s about %s", grouped(number, first),
            grouped(wrong, llround(rer_result_expected_wrong(job->result, first))));
    say(".\n");
}

typedef struct suspect_table {
    suspect_line lines[SUSPECTS];
    int64_t rows[SUSPECTS], count;
    const char *title, *given_title, *wrong_title;
    int who, given, suggested, wrong;
} suspect_table;

/* Fills the lines with names of at most `width` columns, ids of at most `id_width`; returns the columns of the longest one. */
static int lay_out(suspect_table *table, const cli_job *job, int width, int id_width, reason_length length)
{
    for (int64_t i = 0; i < table->count; i++)
        fill_line(&table->lines[i], job, table->rows[i], width, id_width, length);
    table->who = widest(table->lines, table->count, offsetof(suspect_line, who), table->title);
    table->given = widest(table->lines, table->count, offsetof(suspect_line, given), table->given_title);
    table->suggested = widest(table->lines, table->count, offsetof(suspect_line, suggested), "suggested");
    table->wrong = widest(table->lines, table->count, offsetof(suspect_line, wrong), table->wrong_title);
    int why = widest(table->lines, table->count, offsetof(suspect_line, why), "why");
    return 2 + table->who + 2 + table->given + 2 + table->suggested + 2 + table->wrong + 2 + why;
}

/* Names as long as they are where that fits, then reasons in brief, then names shortened to what is left. Ids are to tell
 * the rows apart: the reasons give way to them. */
static void fit_table(suspect_table *table, const cli_job *job, int columns)
{
    enum { NAME = 40, READABLE = 16, LEAST = 7, TELLING = 20 };
    int least = strcmp(table->title, "id") == 0 ? READABLE : LEAST;
    for (int width = NAME; width >= READABLE; width--)
        if (lay_out(table, job, width, width, WHOLE) <= columns)
            return;
    for (int width = NAME; width >= least; width--)
        if (lay_out(table, job, width, width, BRIEF) <= columns)
            return;
    for (int width = NAME; width >= LEAST; width--)
        if (lay_out(table, job, width, width > TELLING ? width : TELLING, BARE) <= columns)
            return;
    (void)lay_out(table, job, LEAST, LEAST, BARE);
}

static void print_suspect(const suspect_table *table, const suspect_line *line)
{
    say("  %*s  ", table->who, line->who);
    paint(RED);
    print_padded(line->given, table->given + 2);
    paint(GREEN);
    print_padded(line->suggested, table->suggested + 2);
    paint(PLAIN);
    say("%*s  %s\n", table->wrong, line->wrong, line->why);
}

/* How many of the suspects are worth a line: the flagged, those that may be wrong, and a few in any case. */
static int64_t count_worth(const cli_job *job, const int64_t *rows, int64_t count)
{
    enum { FEW = 3 };
    for (; count > FEW; count--) {
        rer_sample sample = {.size = sizeof sample};
        (void)rer_result_sample(&sample, job->result, rows[count - 1], NULL);
        if (sample.is_issue || !(sample.mistakenness < .05))
            break;
    }
    return count;
}

static void print_suspects(const cli_job *job)
{
    suspect_table table = {0};
    table.count = count_worth(job, table.rows, rer_result_suspects(job->result, SUSPECTS, table.rows));
    if (table.count == 0)
        return;
    table.title = rer_dataset_id(job->data, table.rows[0]) != NULL ? "id" : "row";
    table.given_title = has_clusters(job) ? "cluster" : "given";
    table.wrong_title = has_clusters(job) ? "other" : "wrong";
    fit_table(&table, job, terminal_width(STDOUT_FILENO));
    print_budgets(job);
    paint(DIM);
    say("  %*s  ", table.who, table.title);
    print_padded(table.given_title, table.given + 2);
    print_padded("suggested", table.suggested + 2);
    say("%*s  why\n", table.wrong, table.wrong_title);
    paint(PLAIN);
    for (int64_t i = 0; i < table.count; i++)
        print_suspect(&table, &table.lines[i]);
}

/* The classes of largest chi among those with samples, hardest first. */
static int find_hardest(const cli_job *job, int32_t hardest[HARDEST])
{
    int count = 0;
    for (int32_t c = 0; c < rer_result_summary(job->result)->n_classes; c++) {
        const rer_class_summary *class = rer_result_class(job->result, c);
        int at = count;
        if (class == NULL || isnan(class->chi))
            continue;
        while (at > 0 && rer_result_class(job->result, hardest[at - 1])->chi < class->chi)
            at--;
        if (at >= HARDEST)
            continue;
        count += count < HARDEST;
        memmove(&hardest[at + 1], &hardest[at], sizeof hardest[0] * (size_t)(count - 1 - at));
        hardest[at] = c;
    }
    return count;
}

/* Once is chance. */
static bool is_often(const rer_pair *pair)
{
    return pair != NULL && pair->a_as_b + pair->b_as_a > 1;
}

static void print_classes(const cli_job *job)
{
    int32_t hardest[HARDEST];
    int n_hardest = find_hardest(job, hardest), n_pairs = 0, half_width = terminal_width(STDOUT_FILENO) / 2;
    int name = (half_width - 12) / 2; /* of a pair; " / " and the count take 12 */
    while (n_pairs < PAIRS && is_often(rer_result_pair(job->result, n_pairs)))
        n_pairs++;
    if (n_hardest == 0)
        return;
    say("\n  ");
    paint(DIM);
    const char *hardest_title = has_clusters(job) ? "least clear clusters" : "hardest classes";
    print_padded(hardest_title, n_pairs > 0 ? half_width - 2 : text_width(hardest_title));
    say("%s\n", n_pairs > 0 ? "most confused pairs" : "");
    paint(PLAIN);
    for (int i = 0; i < n_hardest || i < n_pairs; i++) {
        char half[2 * TEXT] = "", number[32], a[TEXT], b[TEXT];
        if (i < n_hardest) {
            const rer_class_summary *class = rer_result_class(job->result, hardest[i]);
            (void)clean_name(a, sizeof a, class_name(job, hardest[i]), half_width - 28);
            say_to(half, sizeof half, "%s: chi %.3f, %s flagged", a, class->chi, grouped(number, class->n_issues));
        }
        say("  ");
        print_padded(half, i < n_pairs ? half_width - 2 : text_width(half));
        if (i < n_pairs) {
            const rer_pair *pair = rer_result_pair(job->result, i);
            (void)clean_name(a, sizeof a, class_name(job, pair->a), name);
            (void)clean_name(b, sizeof b, class_name(job, pair->b), name);
            say("%s / %s: %s", a, b, grouped(number, pair->a_as_b + pair->b_as_a));
        }
        say("\n");
    }
}

/* Groups of --subsets, hardest first as far as they are shown. */
static void print_subsets(const cli_job *job)
{
    const rer_portion *group, *hardest[SUBSETS];
    char number[32];
    int count = 0, total = 0;
    for (; (group = rer_result_portion(job->result, RER_BY_SUBSET, total)) != NULL; total++) {
        int at = count;
        while (at > 0 && !(hardest[at - 1]->chi >= group->chi))
            at--;
        if (at == SUBSETS)
            continue;
        count += count < SUBSETS;
        memmove(&hardest[at + 1], &hardest[at], sizeof hardest[0] * (size_t)(count - 1 - at));
        hardest[at] = group;
    }
    if (total == 0)
        return;
    int columns = terminal_width(STDOUT_FILENO), width = columns - 59;
    width = width > 40 ? 40 : width;
    say("\n  %-*s  %9s  %25s  %8s  %7s\n", width, "subset", "samples", "chi (95 %)", "wrong", "flagged");
    for (int i = 0; i < count; i++) {
        say("  ");
        print_padded(hardest[i]->name, width);
        say("  %9s  %6.3f (%6.3f to %6.3f)", grouped(number, hardest[i]->n), hardest[i]->chi,
            hardest[i]->chi_within.low, hardest[i]->chi_within.high);
        say("  %6.1f %%  %7s\n", 100 * hardest[i]->noise_rate, grouped(number, hardest[i]->n_issues));
    }
    if (total > count)
        say("  %d more in subset_details.csv\n", total - count);
}

static void print_notes(const cli_job *job)
{
    int count = 0;
    char text[TEXT];
    while (rer_result_note(job->result, count) != NULL)
        count++;
    for (int i = 0; i < count && i < NOTES; i++) {
        if (i == NOTES - 1 && count > NOTES)
            (void)snprintf(text, sizeof text, "%d more in summary.json (--json prints it)", count - i);
        else
            (void)clean_text(text, sizeof text, rer_result_note(job->result, i), LINE_WIDTH - 6);
        say(i == 0 ? "\nNote: %s\n" : "Note: %s\n", text);
    }
    if (count == 0)
        say("\n");
}

static void print_files(const cli_arguments *arguments, bool has_labels)
{
    const char *out = arguments->out;
    const char *samples = option_is(arguments, "format", "npz") ? "samples.npz" : "samples.csv";
    if (out != NULL)
        say("Written to %s: report.html, %s, classes.csv, summary.json%s", out, samples,
            option_is_on(arguments, "details") || arguments->subsets != NULL ? ", details.json, ..." : "");
    if (arguments->save_model != NULL)
        say("%s%s", out != NULL ? "; " : "Written: ", arguments->save_model);
    if (arguments->errors != NULL)
        say("%s%s", out != NULL || arguments->save_model != NULL ? "; " : "Written: ", arguments->errors);
    if (out != NULL || arguments->save_model != NULL || arguments->errors != NULL)
        say("\n");
    if (out == NULL)
        say("Add --out DIR for a report and a table of all samples.\n");
    else if (has_labels)
        say("Look at report.html first; then check the samples that %s flags (is_label_issue).\n", samples);
    else
        say("Look at %s: suggested_label and suggestion_probability of every row.\n", samples);
}

void print_summary(const cli_job *job)
{
    bool has_labels = rer_result_summary(job->result)->n_labelled > 0;
    print_size(job);
    if (has_labels) {
        print_findings(job);
        print_suspects(job);
        print_classes(job);
        print_subsets(job);
    } else {
        say("No labels were given: every row gets a suggested one, with its probability.\n");
    }
    print_notes(job);
    print_files(job->arguments, has_labels);
}
