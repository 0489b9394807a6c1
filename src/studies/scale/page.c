/* scale.html: what more or fewer samples would do. */
#include "studies/scale/page.h"

/* "Doubling the data" or "100 more samples a class". */
static void name_collection(char *text, size_t size, const rer_scaling *scaling)
{
    char number[RER_CHART_TEXT];
    if (scaling->options.collect >= 0)
        (void)snprintf(text, size, "%s more samples a class", rer_fixed_text(number, scaling->options.collect, 0));
    else
        (void)snprintf(text, size, "Doubling the data");
}

static void write_headline(char *text, size_t size, const rer_scaling *scaling)
{
    char subject[80], now[RER_CHART_TEXT], after[RER_CHART_TEXT];
    double error = scaling->points[scaling->count - 1].mean[RER_ERROR_RATE];
    double then = rer_scaling_forecast(scaling, rer_scaling_collected(scaling)).value[RER_ERROR_RATE];
    name_collection(subject, sizeof subject, scaling);
    (void)rer_fixed_text(now, 100 * error, 2);
    (void)rer_fixed_text(after, 100 * then, 2);
    if (isnan(then))
        (void)snprintf(text, size, "%s %% lie nearest to another class; there are too few sizes for a law", now);
    else if (fabs(then - error) < .0005)
        (void)snprintf(text, size, "%s would hardly change the error of %s %%", subject, now);
    else
        (void)snprintf(text, size, "%s would %s the error from %s %% to %s %%", subject,
                       then < error ? "lower" : "raise", now, after);
}

static void put_numbers(rer_writer *writer, const rer_scaling *scaling)
{
    const rer_scale_point *now = &scaling->points[scaling->count - 1];
    const rer_scale_law *law = &scaling->laws[RER_CHI];
    char a[RER_CHART_TEXT], b[RER_CHART_TEXT], text[120];
    rer_frame_numbers_start(writer);
    (void)snprintf(text, sizeof text, "%s %%", rer_fixed_text(a, 100 * now->mean[RER_ERROR_RATE], 2));
    rer_frame_number(writer, "Nearest-class error", text, "samples that lie nearest to another class");
    (void)snprintf(text, sizeof text, "%s samples a class, the mean", rer_fixed_text(b, now->n, now->n < 100 ? 1 : 0));
    rer_frame_number(writer, "χ now", rer_fixed_text(a, now->mean[RER_CHI], 4), text);
    if (!isnan(law->limit)) {
        double share = now->mean[RER_CHI] - law->limit;
        (void)snprintf(text, sizeof text, "95 %%: %s to %s", rer_fixed_text(a, law->limit_within.low, 4),
                       rer_fixed_text(b, law->limit_within.high, 4));
        rer_frame_number(writer, "χ with unlimited data", rer_fixed_text(a, law->limit, 4),
                         isnan(law->limit_within.low) ? "by the law below" : text);
        rer_frame_number(writer, "Due to sample size", rer_fixed_text(b, share, 4),
                         "the part of χ that more data would take away");
    }
    rer_frame_numbers_end(writer);
}

static void put_forecast(rer_writer *writer, const rer_scaling *scaling, const char *change, double n)
{
    rer_forecast forecast = rer_scaling_forecast(scaling, n);
    rer_frame_row(writer);
    rer_frame_cell(writer, change);
    rer_frame_cell_number(writer, n, n < 100 ? 1 : 0, false);
    rer_frame_cell_number(writer, forecast.value[RER_CHI], 4, false);
    rer_frame_cell_percent(writer, forecast.value[RER_ERROR_RATE], false);
    if (scaling->options.accuracy >= 0)
        rer_frame_cell_percent(writer, forecast.accuracy, false);
}

static void put_forecasts(rer_writer *writer, const rer_scaling *scaling)
{
    static const rer_column columns[] = {
        {.title = "change"},
        {.title = "samples a class", .is_number = true},
        {.title = "χ", .is_number = true},
        {.title = "nearest-class error", .is_number = true},
        {.title = "accuracy of your model", .is_number = true, .help = "where --accuracy says what it is now"},
    };
    char subject[80], pruned[80], number[RER_CHART_TEXT];
    const rer_scale_point *now = &scaling->points[scaling->count - 1];
    bool has_model = scaling->options.accuracy >= 0;
    name_collection(subject, sizeof subject, scaling);
    (void)snprintf(pruned, sizeof pruned, "Pruning %s %%", rer_fixed_text(number, scaling->options.prune, 0));
    rer_frame_section(writer, "changes", "What a change of the data would do",
                      has_model
                          ? "By the law, from what is measured now. The error of your model is taken to change by "
                            "the same factor as that of the nearest class."
                          : "By the law, from what is measured now. --accuracy adds what it would do to a model "
                            "of yours.");
    rer_frame_table_start(writer, "Forecasts", columns, has_model ? 5 : 4);
    rer_frame_row(writer);
    rer_frame_cell(writer, "Now");
    rer_frame_cell_number(writer, now->n, now->n < 100 ? 1 : 0, false);
    rer_frame_cell_number(writer, now->mean[RER_CHI], 4, false);
    rer_frame_cell_percent(writer, now->mean[RER_ERROR_RATE], false);
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
        {.title = "χ", .is_number = true},
        {.title = "±", .is_number = true, .help = "standard deviation over the subsets"},
        {.title = "χ₀", .is_number = true, .help = "own error over the mean of the others"},
        {.title = "χ rand", .is_number = true, .help = "best error over the mean of the others"},
        {.title = "nearest-class error", .is_number = true},
    };
    rer_frame_section(writer, "points", "What was measured",
                      "Each size with random subsets; the last row is all of it.");
    rer_frame_table_start(writer, "Points", columns, 7);
    for (int i = 0; i < scaling->count; i++) {
        const rer_scale_point *point = &scaling->points[i];
        rer_frame_row(writer);
        rer_frame_cell_number(writer, point->n, point->n == floor(point->n) ? 0 : 1, false);
        rer_frame_cell_count(writer, point->subsets);
        rer_frame_cell_number(writer, point->mean[RER_CHI], 4, false);
        rer_frame_cell_number(writer, point->deviation[RER_CHI], 4, false);
        rer_frame_cell_number(writer, point->mean[RER_CHI0], 4, false);
        rer_frame_cell_number(writer, point->mean[RER_CHI_RAND], 4, false);
        rer_frame_cell_percent(writer, point->mean[RER_ERROR_RATE], false);
    }
    rer_frame_table_end(writer);
}

static void put_laws(rer_writer *writer, const rer_scaling *scaling)
{
    static const char *const names[RER_MEASURES] = {"χ", "χ₀", "χ rand", "nearest-class error"};
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
    for (int m = 0; m < RER_MEASURES; m++) {
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
    rer_scaling_put_chart(writer, scaling, RER_SCALE_CHART);
    rer_scaling_put_chart(writer, scaling, RER_SCALE_ERROR_CHART);
    rer_frame_charts_end(writer);
    put_forecasts(writer, scaling);
    put_points(writer, scaling);
    put_laws(writer, scaling);
    rer_study study = {"scale",    "Options of the run.", &scaling->options, scaling->N, scaling->D,
                       scaling->C, scaling->seconds};
    rer_frame_end_study(writer, &frame, &study);
}
