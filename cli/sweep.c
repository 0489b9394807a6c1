/* rer sweep: the same analysis for several values of one option. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES_MAX = 100 };

/* --over NAME=V,V,... taken apart; the texts live in `words`. */
typedef struct sweep_values {
    char *words;
    const char *name;
    const char *value[VALUES_MAX];
    int count;
} sweep_values;

static rer_status read_values(sweep_values *values, const cli_arguments *arguments, rer_error *error)
{
    rer_options *checked = NULL;
    const char *over = arguments->over;
    if (over == NULL || strchr(over, '=') == NULL)
        return fail(error, RER_BAD_USAGE,
                    "--over NAME=V,V,... says what to vary, for instance --over neighbors=5,10,20");
    values->words = strdup(over);
    if (values->words == NULL)
        return fail(error, RER_SYSTEM, "out of memory");
    rer_status status = rer_options_copy(&checked, arguments->options, error);
    char *rest = strchr(values->words, '=');
    *rest++ = 0;
    values->name = values->words;
    for (char *word = strsep(&rest, ","); status == RER_OK && word != NULL; word = strsep(&rest, ",")) {
        if (values->count == VALUES_MAX)
            status = fail(error, RER_BAD_USAGE, "--over %s: at most %d values", values->name, VALUES_MAX);
        else
            status = rer_options_set(checked, values->name, word, error);
        if (status == RER_OK)
            values->value[values->count++] = word;
    }
    rer_options_free(checked);
    return status;
}

static const char header[] = "option,value,chi,chi0,chi_rand,noise_rate,error_rate,n_issues,seconds\n";

/* What is no number is an empty cell. */
static void write_row(FILE *out, const char *name, const char *value, const rer_summary *summary)
{
    const double numbers[] = {summary->chi, summary->chi0, summary->chi_rand, summary->noise_rate, summary->error_rate};
    fprintf(out, "%s,%s", name, value);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (isfinite(numbers[i]))
            fprintf(out, ",%.9g", numbers[i]);
        else
            fputc(',', out);
    fprintf(out, ",%lld,%.6g\n", (long long)summary->n_issues, summary->seconds.total);
}

static void print_row(const char *value, const rer_summary *summary)
{
    say("  %10s  %6.4f  %6.4f  %8.4f  %6.4f  %6.4f  %7lld  %7.2f\n", value, summary->chi, summary->chi0,
        summary->chi_rand, summary->noise_rate, summary->error_rate, (long long)summary->n_issues,
        summary->seconds.total);
    (void)flush_output();
}

/* One value: analyze, and a line for people and for the file. */
static rer_status run_value(const cli_arguments *arguments, const rer_dataset *data, const sweep_values *values, int i,
                            FILE *out, rer_error *error)
{
    progress_line line;
    rer_progress progress = {.report = progress_report, .context = &line};
    rer_options *options = NULL;
    rer_result *result = NULL;
    rer_status status = rer_options_copy(&options, arguments->options, error);
    if (status == RER_OK)
        status = rer_options_set(options, values->name, values->value[i], error);
    double before = share_before(), each = (1 - before) / values->count;
    progress_start(&line, data, arguments->quiet);
    progress_share(&line, before + i * each, each);
    if (status == RER_OK)
        status = rer_analyze(&result, data, options, NULL, &progress, error);
    progress_clear(&line);
    if (status == RER_OK)
        write_row(out, values->name, values->value[i], rer_result_summary(result));
    if (status == RER_OK && !arguments->quiet)
        print_row(values->value[i], rer_result_summary(result));
    rer_result_free(result);
    rer_options_free(options);
    return status;
}

static rer_status run_values(const cli_arguments *arguments, const rer_dataset *data, const sweep_values *values,
                             FILE *out, rer_error *error)
{
    rer_status status = RER_OK;
    fputs(header, out);
    if (!arguments->quiet)
        say("  %10s  %6s  %6s  %8s  %6s  %6s  %7s  %7s\n", values->name, "chi", "chi0", "chi_rand", "noise", "error",
            "flagged", "seconds");
    for (int i = 0; i < values->count && status == RER_OK; i++)
        status = run_value(arguments, data, values, i, out, error);
    return status;
}

static rer_status sweep(const cli_arguments *arguments, rer_dataset **data, sweep_values *values, rer_error *error)
{
    char *text = NULL;
    size_t length = 0;
    rer_status status = read_values(values, arguments, error);
    if (status == RER_OK)
        status = open_labelled_data(data, arguments, error);
    if (status != RER_OK)
        return status;
    FILE *out = open_memstream(&text, &length);
    if (out == NULL)
        return fail(error, RER_SYSTEM, "out of memory");
    status = run_values(arguments, *data, values, out, error);
    bool is_whole = fclose(out) == 0;
    if (status == RER_OK && !is_whole)
        status = fail(error, RER_SYSTEM, "out of memory: %s", arguments->over);
    if (status == RER_OK && arguments->out != NULL)
        status = rer_save_text(arguments->out, text, error);
    free(text);
    return status;
}

static int run(const cli_arguments *arguments)
{
    rer_error error = {0};
    rer_dataset *data = NULL;
    sweep_values values = {0};
    signals_defer(true);
    rer_status status = sweep(arguments, &data, &values, &error);
    signals_defer(false);
    rer_dataset_free(data);
    free(values.words);
    return status == RER_OK ? 0 : report_failure(&error);
}

const cli_command sweep_command = {
    .name = "sweep",
    .usage = "X [y] --over NAME=V,V,... [--out FILE.csv] [options]",
    .purpose = "Repeats rer analyze for several values of one option, to see what depends on it.",
    .examples = {"rer sweep X.npy y.npy --over shrinkage=.02,.1,.5 --out sweep.csv",
                 "rer sweep X.npy y.npy --reconstructor autoencoder --over neighbors=5,10,20,40,80"},
    .files_min = 1,
    .files_max = 2,
    .refused = "save-model errors ids images texts class-names json spreadsheet-safe",
    .analyses = 5,
    .run = run,
};
