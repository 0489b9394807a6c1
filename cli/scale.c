/* rer scale: how difficulty depends on the number of samples. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void print_points(const rer_scaling *scaling)
{
    const rer_scale_point *point;
    say("  %10s  %9s  %18s  %8s  %8s\n", "n a class", "error", "chi", "chi0", "chi_rand");
    for (int i = 0; (point = rer_scaling_point(scaling, i)) != NULL; i++) {
        char spread[24] = "";
        if (!isnan(point->deviation[RER_CHI]))
            say_to(spread, sizeof spread, " +- %.4f", point->deviation[RER_CHI]);
        say("  %10.6g  %7.2f %%  %8.4f%-10s  %8.4f  %8.4f\n", point->n, 100 * point->mean[RER_ERROR_RATE],
            point->mean[RER_CHI], spread, point->mean[RER_CHI0], point->mean[RER_CHI_RAND]);
    }
}

static void print_law(const rer_scaling *scaling)
{
    const rer_scale_law *law = rer_scaling_law(scaling, RER_CHI);
    const rer_scale_point *now = rer_scaling_point(scaling, rer_scaling_count(scaling) - 1);
    if (isnan(law->limit))
        return;
    say("\nWith unlimited data chi would be %.4f", law->limit);
    if (!isnan(law->limit_within.low))
        say(" (95 %%: %.4f to %.4f)", law->limit_within.low, law->limit_within.high);
    say("; it is %.4f now.\n", now->mean[RER_CHI]);
    say("(chi: the distance to the own class over that to the best other one, near 1 where they can hardly be "
        "told.)\n");
    say("chi(n) = (%.4f n^%.3f + %.4g) / (n^%.3f + %.4g), R2 %.4f\n", law->limit, law->gamma0, law->gamma1, law->gamma0,
        law->gamma2, law->r2);
}

/* The error first: that is what people pay for. */
static void print_change(const rer_scaling *scaling, double n, const char *subject)
{
    const rer_scale_point *now = rer_scaling_point(scaling, rer_scaling_count(scaling) - 1);
    rer_forecast forecast = rer_scaling_forecast(scaling, n);
    double error = now->mean[RER_ERROR_RATE], after = forecast.value[RER_ERROR_RATE];
    double fewer = 1000 * (error - after);
    if (isnan(after) || isnan(forecast.value[RER_CHI]))
        return;
    if (!rer_scaling_changes(scaling, &forecast))
        say("%s would hardly change the error of %.2f %%", subject, 100 * error);
    else
        say("%s would %s the error from %.2f to %.2f %%, %.*f mistakes %s in 1,000", subject,
            fewer > 0 ? "lower" : "raise", 100 * error, 100 * after, fabs(fewer) < 9.95 ? 1 : 0, fabs(fewer),
            fewer > 0 ? "fewer" : "more");
    say(" (chi %.4f -> %.4f)", now->mean[RER_CHI], forecast.value[RER_CHI]);
    if (!isnan(forecast.accuracy))
        say("; accuracy would become about %.2f %%", 100 * forecast.accuracy);
    say(".\n");
}

static void print_changes(const cli_arguments *arguments, const rer_scaling *scaling)
{
    char subject[80] = "Doubling the data";
    if (isnan(rer_scaling_law(scaling, RER_ERROR_RATE)->limit)) {
        say("There are too few sizes for a law.\n");
        return;
    }
    double collect = option_number(arguments, "collect");
    if (!isnan(collect))
        say_to(subject, sizeof subject, "%.10g more sample%s a class", collect, collect == 1 ? "" : "s");
    print_change(scaling, rer_scaling_collected(scaling), subject);
    say_to(subject, sizeof subject, "Pruning %.4g %%", option_number(arguments, "prune"));
    print_change(scaling, rer_scaling_pruned(scaling), subject);
    if (!isnan(option_number(arguments, "accuracy")))
        say("(The error of your model is taken to change by the same factor as that of the nearest class.)\n");
}

static rer_status print_outcome(const cli_arguments *arguments, const rer_scaling *scaling, rer_error *error)
{
    char *json = NULL;
    const char *note;
    if (arguments->json) {
        rer_status status = rer_scaling_json(scaling, &json, error);
        if (status != RER_OK)
            return status;
        say_lines(json);
        free(json);
    } else if (!arguments->quiet) {
        print_points(scaling);
        say("The error is the share of samples that lie nearest to another class than their own.\n\n");
        print_changes(arguments, scaling);
        print_law(scaling);
        for (int i = 0; (note = rer_scaling_note(scaling, i)) != NULL; i++)
            say(i == 0 ? "\nNote: %s\n" : "Note: %s\n", note);
        if (arguments->out != NULL)
            say("\nWritten to %s: scale.html, scale.svg, scale_error.svg, scale.csv, scale.json\n", arguments->out);
    }
    return RER_OK;
}

static rer_status scale(const cli_arguments *arguments, rer_dataset **data, rer_scaling **scaling, rer_error *error)
{
    progress_line line;
    rer_progress progress = {.report = progress_report, .context = &line};
    rer_status status = open_labelled_data(data, arguments, error);
    if (status != RER_OK)
        return status;
    signals_defer(true);
    double before = share_before();
    progress_start(&line, *data, arguments->quiet);
    progress_share(&line, before, 1 - before);
    status = rer_scale(scaling, *data, arguments->options, &progress, error);
    progress_clear(&line);
    if (status == RER_OK && signals_received() != 0)
        status = fail(error, RER_CANCELLED, "interrupted");
    if (status == RER_OK && arguments->out != NULL)
        status = rer_scaling_write(*scaling, arguments->out, error);
    if (status == RER_OK)
        return print_outcome(arguments, *scaling, error);
    signals_defer(false);
    return status;
}

static int run(const cli_arguments *arguments)
{
    rer_error error = {0};
    rer_dataset *data = NULL;
    rer_scaling *scaling = NULL;
    rer_status status = scale(arguments, &data, &scaling, &error);
    rer_scaling_free(scaling);
    rer_dataset_free(data);
    return status == RER_OK ? 0 : report_failure(&error);
}

const cli_command scale_command = {
    .name = "scale",
    .usage = "X [y] [--out DIR] [options]",
    .purpose = "Measures how difficulty depends on the number of samples, and what more or fewer would do.",
    .examples = {"rer scale X.npy y.npy --out scaling", "rer scale X.npy y.npy --accuracy .93 --collect 500"},
    .files_min = 1,
    .files_max = 2,
    .results = "scale",
    .refused = "save-model errors ids images texts class-names over threshold budget spreadsheet-safe",
    .analyses = 1.5,
    .run = run,
};
