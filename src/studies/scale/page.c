/* scale.html: what more or fewer samples would do. */
#include "studies/scale/page.h"

/* "Doubling the data" or "100 more samples a class". */
static void name_collection(char *text, size_t size, const rer_scaling *scaling)
{
    char number[RER_CHART_TEXT];
    if (scaling->options.collect >= 0)
        (void)snprintf(text, size, "%s more sample%s a class", rer_fixed_text(number, scaling->options.collect, 0),
                       scaling->options.collect == 1 ? "" : "s");
    else
        (void)snprintf(text, size, "Doubling the data");
}

static void write_headline(char *text, size_t size, const rer_scaling *scaling)
{
    char subject[80], now[RER_CHART_TEXT], after[RER_CHART_TEXT];
    double error = scaling->points[scaling->count - 1].mean[RER_ERROR_RATE];
    rer_forecast forecast = rer_scaling_forecast(scaling, rer_scaling_collected(scaling));
    double then = forecast.value[RER_ERROR_RATE];
    name_collection(subject, sizeof subject, scaling);
    (void)rer_fixed_text(now, 100 * error, 2);
    (void)rer_fixed_text(after, 100 * then, 2);
    if (isnan(then))
        (void)snprintf(text, size, "%s %% lie nearest to another class; there are too few sizes for a law", now);
    else if (!rer_scaling_changes(scaling, &forecast))
        (void)snprintf(text, size, "%s would hardly change the error of %s %%", subject, now);
    else
        (void)snprintf(text, size, "%s would %s the error from %s %% to %s %%", subject,
                       then < error ? "lower" : "raise", now, after);
}

static const char *percent_text(char text[RER_CHART_TEXT], double share)
{
    char number[RER_CHART_TEXT];
    (void)snprintf(text, RER_CHART_TEXT, "%.20s %%", rer_fixed_text(number, 100 * share, 2));
    return text;
}

/* The error first; chi, which fewer know, after it. */
static void put_numbers(rer_writer *writer, const rer_scaling *scaling)
{
    const rer_scale_point *now = &scaling->points[scaling->count - 1];
    const rer_scale_law *error = &scaling->laws[RER_ERROR_RATE], *chi = &scaling->laws[RER_CHI];
    char a[RER_CHART_TEXT], b[RER_CHART_TEXT], text[120];
    rer_frame_numbers_start(writer);
    (void)snprintf(text, sizeof text, "samples that lie nearest to another class, at %s a class",
                   rer_fixed_text(b, now->n, now->n < 100 ? 1 : 0));
    rer_frame_number(writer, "Nearest-class error", percent_text(a, now->mean[RER_ERROR_RATE]), text);
    if (!isnan(error->limit)) {
        (void)snprintf(text, sizeof text, "95 %%: %s to %s", percent_text(a, error->limit_within.low),
                       percent_text(b, error->limit_within.high));
        rer_frame_number(writer, "With unlimited data", percent_text(a, error->limit),
                         isnan(error->limit_within.low) ? "the error, by the law below" : text);
    }
    rer_frame_number(writer, "χ now", rer_fixed_text(a, now->mean[RER_CHI], 4),
                     "the distance to the own class over that to the nearest other one");
    if (!isnan(chi->limit)) {
        (void)snprintf(text, sizeof text, "95 %%: %s to %s", rer_fixed_text(a, chi->limit_within.low, 4),
                       rer_fixed_text(b, chi->limit_within.high, 4));
        rer_frame_number(writer, "χ with unlimited data", rer_fixed_text(a, chi->limit, 4),
                         isnan(chi->limit_within.low) ? "by the law below" : text);
    }
    rer_frame_numbers_end(writer);
}

/* "3 fewer errors in 1,000 samples" */
static void say_change(char *text, size_t size, const rer_scaling *scaling, const rer_forecast *forecast)
{
    char number[RER_CHART_TEXT];
    double now = scaling->points[scaling->count - 1].mean[RER_ERROR_RATE];
    double fewer = 1000 * (now - forecast->value[RER_ERROR_RATE]);
    if (isnan(fewer))
        (void)snprintf(text, size, "–");
    else if (!rer_scaling_changes(scaling, forecast))
        (void)snprintf(text, size, "hardly any difference");
    else
        (void)snprintf(text, size, "%s %s error%s in 1,000 samples", rer_fixed_text(number, fabs(fewer), 0),
                       fewer > 0 ? "fewer" : "more", fabs(fewer) < 1.5 ? "" : "s");
}

static void put_forecast(rer_writer *writer, const rer_scaling *scaling, const char *change, double n)
{
    rer_forecast forecast = rer_scaling_forecast(scaling, n);
    char words[80];
    say_change(words, sizeof words, scaling, &forecast);
    rer_frame_row(writer);
    rer_frame_cell(writer, change);
    rer_frame_cell(writer, words);
    rer_frame_cell_number(writer, n, n < 100 ? 1 : 0, false);
    rer_frame_cell_percent(writer, forecast.value[RER_ERROR_RATE], false);
    rer_frame_cell_number(writer, forecast.value[RER_CHI], 4, false);
    if (scaling->options.accuracy >= 0)
        rer_frame_cell_percent(writer, forecast.accuracy, false);
}

static void put_forecasts(rer_writer *writer, const rer_scaling *scaling)
{
    static const rer_column columns[] = {
        {.title = "change"},
        {.title = "would mean"},
        {.title = "samples a class", .is_number = true},
        {.title = "nearest-class error", .is_number = true},
        {.title = "χ", .is_number = true},
        {.title = "accuracy of your model", .is_number = true, .help = "where --accuracy says what it is now"},
    };
    char subject[80], pruned[80], number[RER_CHART_TEXT];
    const rer_scale_point *now = &scaling->points[scaling->count - 1];
    bool has_model = scaling->options.accuracy >= 0;
    name_collection(subject, sizeof subject, scaling);
    (void)snprintf(pruned, sizeof pruned, "Leaving %s %% of it out", rer_fixed_text(number, scaling->options.prune, 0));
    rer_frame_section(writer, "changes", "What a change of the data would do",
                      has_model
                          ? "By the law, from what is measured now. The error of your model is taken to change by "
                            "the same factor as that of the nearest class."
                          : "By the law, from what is measured now. --accuracy adds what it would do to a model "
                            "of yours.");
    rer_frame_table_start(writer, "Forecasts", columns, has_model ? 6 : 5);
    rer_frame_row(writer);
    rer_frame_cell(writer, "Nothing");
    rer_frame_cell(writer, "as it is now");
    rer_frame_cell_number(writer, now->n, now->n < 100 ? 1 : 0, false);
    rer_frame_cell_percent(writer, now->mean[RER_ERROR_RATE], false);
    rer_frame_cell_number(writer, now->mean[RER_CHI], 4, false);
    if (has_model)
        rer_frame_cell_percent(writer, scaling->options.accuracy, false);
    put_forecast(writer, scaling, subject, rer_scaling_collected(scaling));
    put_forecast(writer, scaling, pruned, rer_scaling_pruned(scaling));
    rer_frame_table_end(writer);
}

static void put_points(rer_writer *writer, const rer_scaling *scaling)
{
    static const rer_column columns[] = {
        {.title = "samples a class", .is_number = true},
        {.title = "subsets", .is_number = true},
        {.title = "nearest-class error", .is_number = true},
        {.title = "χ", .is_number = true},
        {.title = "±", .is_number = true, .help = "standard deviation over the subsets"},
        {.title = "χ₀", .is_number = true, .help = "own error over the mean of the others"},
        {.title = "χ rand", .is_number = true, .help = "best error over the mean of the others"},
    };
    rer_frame_section(writer, "points", "What was measured",
                      "Each size with random subsets; the last row is all of it.");
    rer_frame_table_start(writer, "Points", columns, 7);
    for (int i = 0; i < scaling->count; i++) {
        const rer_scale_point *point = &scaling->points[i];
        rer_frame_row(writer);
        rer_frame_cell_number(writer, point->n, point->n == floor(point->n) ? 0 : 1, false);
        rer_frame_cell_count(writer, point->subsets);
        rer_frame_cell_percent(writer, point->mean[RER_ERROR_RATE], false);
        rer_frame_cell_number(writer, point->mean[RER_CHI], 4, false);
        rer_frame_cell_number(writer, point->deviation[RER_CHI], 4, false);
        rer_frame_cell_number(writer, point->mean[RER_CHI0], 4, false);
        rer_frame_cell_number(writer, point->mean[RER_CHI_RAND], 4, false);
    }
    rer_frame_table_end(writer);
}

static void put_laws(rer_writer *writer, const rer_scaling *scaling)
{
    static const char *const names[RER_MEASURES] = {"χ", "χ₀", "χ rand", "nearest-class error"};
    static const int order[RER_MEASURES] = {RER_ERROR_RATE, RER_CHI, RER_CHI0, RER_CHI_RAND};
    static const rer_column columns[] = {
        {.title = "of"},
        {.title = "limit", .is_number = true},
        {.title = "95 % from", .is_number = true},
        {.title = "to", .is_number = true},
        {.title = "due to sample size", .is_number = true, .help = "now, less the limit"},
        {.title = "γ₀", .is_number = true},
        {.title = "γ₁", .is_number = true},
        {.title = "γ₂", .is_number = true},
        {.title = "R²", .is_number = true},
    };
    rer_frame_section(writer, "law", "The law", "y(n) = (limit n^γ₀ + γ₁) / (n^γ₀ + γ₂), n samples a class.");
    rer_frame_table_start(writer, "Laws", columns, 9);
    for (int i = 0; i < RER_MEASURES; i++) {
        int m = order[i];
        const rer_scale_law *law = &scaling->laws[m];
        rer_frame_row(writer);
        rer_frame_cell(writer, names[m]);
        rer_frame_cell_number(writer, law->limit, 4, false);
        rer_frame_cell_number(writer, law->limit_within.low, 4, false);
        rer_frame_cell_number(writer, law->limit_within.high, 4, false);
        rer_frame_cell_number(writer, scaling->points[scaling->count - 1].mean[m] - law->limit, 4, false);
        rer_frame_cell_number(writer, law->gamma0, 3, false);
        rer_frame_cell_number(writer, law->gamma1, 3, false);
        rer_frame_cell_number(writer, law->gamma2, 3, false);
        rer_frame_cell_number(writer, law->r2, 4, false);
    }
    rer_frame_table_end(writer);
}

void rer_scaling_put_page(rer_writer *writer, const void *what, int which)
{
    const rer_scaling *scaling = what;
    char headline[300];
    rer_frame frame = {
        .kind = "Sample size",
        .name = scaling->name,
        .headline = headline,
        .lead = "Classes were modelled by random subsets of growing size, and all samples scored by each, left out of "
                "their own class. A law through the means says what other sizes would give.",
    };
    (void)which;
    write_headline(headline, sizeof headline, scaling);
    rer_frame_start(writer, &frame);
    put_numbers(writer, scaling);
    for (int i = 0; i < scaling->notes.count; i++)
        rer_frame_note(writer, scaling->notes.text[i]);
    rer_frame_section(writer, "curve", "What more samples do",
                      "Points: measured, with the standard deviation over subsets. Dashed: the law, four times as far "
                      "as there is data.");
    rer_frame_charts_start(writer);
    rer_scaling_put_chart(writer, scaling, RER_SCALE_ERROR_CHART);
    rer_scaling_put_chart(writer, scaling, RER_SCALE_CHART);
    rer_frame_charts_end(writer);
    put_forecasts(writer, scaling);
    put_points(writer, scaling);
    put_laws(writer, scaling);
    rer_study study = {"scale",           "Options that are not at their defaults.",
                       &scaling->options, scaling->N,
                       scaling->D,        scaling->C,
                       scaling->seconds};
    rer_frame_end_study(writer, &frame, &study);
}
