/* The section on the whole data set: how chi is spread, what it says about a label, what the numbers mean,
 * how they were computed and how to repeat them. */
#include "report/page.h"
#include "stats/order.h"

enum { BINS = 70, STEPS = 36, STEP_ROWS = 5, SAMPLED_MAX = 40000 };

typedef struct scored {
    double chi, mistakenness;
} scored;

static int by_chi(const void *left, const void *right)
{
    double a = ((const scored *)left)->chi, b = ((const scored *)right)->chi;
    return (a > b) - (a < b);
}

/* Every k-th scored row, sorted by chi. */
static rer_status draw_rows(scored **rows, int64_t *count, const rer_result *result, rer_error *error)
{
    int64_t step = result->N / SAMPLED_MAX + 1;
    RER_TRY(rer_allocate(rows, result->N / step + 1, sizeof **rows, "scored rows", error));
    for (int64_t row = 0; row < result->N; row += step) {
        rer_sample sample = rer_sample_of(result, row);
        if (!isnan(sample.chi) && !isnan(sample.mistakenness))
            (*rows)[(*count)++] = (scored){sample.chi, sample.mistakenness};
    }
    if (*count > 0)
        qsort(*rows, (size_t)*count, sizeof **rows, by_chi);
    return RER_OK;
}

/* ---- charts ----------------------------------------------------------------------------------- */

static void count_bins(double *counts, const rer_result *result, double low, double high, bool flagged)
{
    for (int64_t row = 0; row < result->N; row++) {
        double chi = rer_chi_of(result, row);
        bool is_counted = result->given[row] >= 0 && (result->flags[row] & RER_FLAG_INVALID) == 0 && !isnan(chi);
        if (!is_counted || ((result->flags[row] & RER_FLAG_ISSUE) != 0) != flagged)
            continue;
        double place = floor((chi - low) / (high - low) * BINS);
        counts[place < 0 ? 0 : place >= BINS ? BINS - 1 : (int)place]++;
    }
}

/* Flagged samples on top of the others, in one picture. */
static void put_histogram(const rer_page *page, double low, double high)
{
    double edges[BINS + 1], all[BINS] = {0}, flagged[BINS] = {0};
    const rer_summary *summary = &page->result->summary;
    rer_histogram_count(NULL, 0, low, high, BINS, edges, all);
    count_bins(all, page->result, low, high, false);
    count_bins(flagged, page->result, low, high, true);
    for (int k = 0; k < BINS; k++)
        all[k] += flagged[k];
    rer_series series[] = {{.kind = RER_HISTOGRAM, .name = "all samples", .n = BINS, .x = edges, .y = all},
                           {.kind = RER_HISTOGRAM, .name = "flagged", .n = BINS, .x = edges, .y = flagged}};
    rer_reference references[] = {{.value = 1, .is_vertical = true, .label = "another class is as near"},
                                  {.value = summary->threshold, .is_vertical = true, .label = "threshold"}};
    rer_chart chart = {.title = "How χ is spread", .series = series, .n_series = 2, .references = references};
    chart.x = (rer_axis){.title = "χ: own error / best other error", .low = low, .high = high};
    chart.y = (rer_axis){.title = "samples"};
    chart.n_references = low < 1 && high > 1;
    if (summary->threshold_on_chi && summary->threshold > low && summary->threshold < high) {
        references[0] = references[1];
        chart.n_references = 1;
    }
    rer_frame_chart(page->writer, &chart);
}

/* The rows from `first` that fall into the same piece of chi: up to `end`, and on until there are enough. */
static int64_t piece_end(const scored *rows, int64_t first, int64_t count, double end)
{
    int64_t last = first;
    while (last < count && (rows[last].chi <= end || last - first < STEP_ROWS))
        last++;
    return last;
}

/* Median and the middle 80 % of mistakenness, over pieces of chi of the same width. */
static void put_probability(const rer_page *page, const scored *rows, int64_t count, double high)
{
    double x[STEPS], middle[STEPS], from[STEPS], to[STEPS], *piece = NULL; /* [count] */
    double low = rows[count / 3].chi;                                      /* below it, hardly a label is suspicious */
    int n = 0;
    rer_chart_widen(&low, &high);
    rer_status status = rer_allocate(&piece, count, sizeof *piece, "a piece of the samples", page->writer->error);
    bool is_made = rer_writer_ok(page->writer, status);
    for (int64_t first = count / 3, last = 0; is_made && n < STEPS && count - first >= STEP_ROWS; first = last) {
        double step = (high - low) / STEPS, passed = floor((rows[first].chi - low) / step);
        last = piece_end(rows, first, count, low + (passed + 1) * step);
        if (count - last < STEP_ROWS)
            last = count;
        for (int64_t i = first; i < last; i++)
            piece[i - first] = rows[i].mistakenness;
        int64_t size = last - first;
        rer_sort_doubles(piece, size);
        x[n] = rows[first + size / 2].chi;
        middle[n] = piece[size / 2];
        from[n] = piece[size / 10];
        to[n++] = piece[size - 1 - size / 10];
    }
    rer_series series = {.kind = RER_LINE, .n = n, .x = x, .y = middle, .low = from, .high = to};
    rer_chart chart = {.title = rer_page_say(page, "What χ says about a label", "What χ says about a sample"),
                       .series = &series,
                       .n_series = 1};
    chart.description = "Mistakenness against chi: median and middle 80 percent";
    chart.x = (rer_axis){.title = "χ", .low = low, .high = high};
    chart.y = (rer_axis){.title = "mistakenness: median, middle 80 %", .low = 0, .high = 1, .percent = true};
    if (n >= 3)
        rer_frame_chart(page->writer, &chart);
    free(piece);
}

static void put_charts(const rer_page *page)
{
    scored *rows = NULL;
    int64_t count = 0;
    rer_status status = draw_rows(&rows, &count, page->result, page->writer->error);
    if (rer_writer_ok(page->writer, status) && count >= 20) {
        double low = rows[count / 500].chi, high = rows[count - 1 - count / 1000].chi;
        rer_chart_widen(&low, &high);
        rer_frame_charts_start(page->writer);
        put_histogram(page, low, high);
        put_probability(page, rows, count, high);
        rer_frame_charts_end(page->writer);
    }
    free(rows);
}

/* ---- words ------------------------------------------------------------------------------------ */

static void put_meaning(rer_writer *writer, const char *name, const char *meaning)
{
    rer_puts(writer, "<dt>", name, "</dt><dd>", meaning, "</dd>\n");
}

static void put_label_meanings(rer_writer *writer, bool is_of_detector)
{
    if (!is_of_detector) {
        put_meaning(writer, "Probably wrong, likely wrong",
                    "How many labels are wrong, found or not: the mean of mistakenness is their share, in the data set "
                    "and in a class or group alike.");
        return;
    }
    put_meaning(writer, "Probably wrong",
                "How many labels are wrong, as the detector itself estimates: not the sum of its scores.");
    put_meaning(writer, "Likely wrong", "The mean mistakenness of a class or group, by the detector’s scores.");
}

static void put_meanings(const rer_page *page)
{
    rer_writer *writer = page->writer;
    rer_put(writer, "<h3>What the numbers mean</h3>\n<dl class=\"meanings\">\n");
    bool is_left_out = page->result->model != NULL && page->result->options.reconstructor != RER_PUBLISHED;
    put_meaning(
        writer, "Error",
        is_left_out
            ? "How far a sample lies from what a class looks like. Its own class is looked at without the sample."
            : "How far a sample lies from what a class looks like.");
    put_meaning(writer, "χ of a sample",
                "Its own class’s error over the best other class’s. Below 1 its own class fits best, above 1 another "
                "one does.");
    put_meaning(writer, "χ of the data set",
                "The mean over all samples: the nearer to 1, the harder the classes are to tell apart with these "
                "features.");
    put_meaning(
        writer, "Difficulty",
        "The nearest-class error over that of guessing: 0 is trivial, 1 is hopeless. Unlike χ it can be compared "
        "between features and data sets.");
    if (rer_page_is_of_detector(page))
        put_meaning(writer, "Mistakenness", "How suspicious the detector finds a label, from 0 to 1.");
    else
        put_meaning(
            writer, "Mistakenness",
            rer_page_say(page,
                         "The probability that a label is wrong, given the errors of all classes and how often "
                         "labels are wrong in this data set.",
                         "The probability that a sample belongs to another cluster than the one that it was put "
                         "into, given the errors of all clusters."));
    if (page->data->clusters == 0)
        put_label_meanings(writer, rer_page_is_of_detector(page));
    put_meaning(writer, rer_page_say(page, "Nearest-class error", "Nearest-cluster error"),
                rer_page_say(page,
                             "How often the class with the smallest error is not the given one. Wrong labels and "
                             "classes that overlap both count.",
                             "How often the cluster with the smallest error is not the sample’s own one."));
    rer_put(writer, "</dl>\n");
}

/* What a class is described by, and how a sample is kept from describing itself. */
static const char *describe_models(int32_t reconstructor)
{
    switch (reconstructor) {
    case RER_SUBSPACE:
        return "Each class is described by its mean and the main directions in which its samples differ, fitted "
               "without the samples that it then judges.";
    case RER_AUTOENCODER:
        return "Each class is described by a small network that learns to restore its samples, trained without the "
               "samples that it then judges.";
    case RER_PUBLISHED:
        return "Each class is described as the paper’s released code did it: by one constant vector.";
    default:
        return "Each class is described by its mean. Every sample is left out of the mean of its own class, and of the "
               "metric, before it is judged.";
    }
}

static const char *describe_normalisation(int32_t normalize)
{
    switch (normalize) {
    case RER_MINMAX:
        return "Each feature is scaled to 0..1 (minmax).";
    case RER_UNIT:
        return "Rows are scaled to unit length (unit).";
    case RER_NONE:
        return "Features are used as given (none).";
    default:
        return "Rows are scaled to unit length, measurements in units of their own standardised before, and directions "
               "in which samples of one class differ anyway count little (whiten).";
    }
}

static const char *describe_probability(const rer_page *page)
{
    const rer_options *options = &page->result->options;
    if (options->detector != RER_DETECT_RER)
        return "Probabilities and flags are those of another detector: see how to repeat this.";
    if (options->probability == RER_DENSITY || options->reconstructor == RER_PUBLISHED)
        return "From how χ is spread follow the noise rate and the probability that a label is wrong.";
    if (page->data->pred_probs.name != NULL)
        return "From the errors of all samples and your own probabilities follow how often each class is labelled as "
               "another one, and with that the probability that a label is wrong.";
    return rer_page_say(
        page,
        "From the errors of all samples follow how often each class is labelled as another one, and with "
        "that the probability that a label is wrong.",
        "From the errors of all samples follows how likely a sample is to belong to another cluster.");
}

static void put_method(const rer_page *page)
{
    const rer_options *options = &page->result->options;
    rer_writer *writer = page->writer;
    const char *steps[] = {describe_normalisation(options->normalize), describe_models(options->reconstructor),
                           "The errors of all classes on a sample give its χ, and over all samples difficulty and "
                           "nearest-class error.",
                           describe_probability(page)};
    rer_put(writer, "<h3>How they were computed</h3>\n<ol class=\"steps\">\n");
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        rer_puts(writer, "<li>", steps[i], "</li>\n");
    }
    rer_put(writer, "</ol>\n");
}

/* Filled by the script. Where classes overlap, the last of all margins are marked whatever they are, so their number
 * says little. */
static void put_outliers(const rer_page *page)
{
    rer_writer *writer = page->writer;
    int64_t n = page->result->summary.n_outliers;
    if (page->gallery.n_outliers == 0)
        return;
    rer_put(writer, "<h3>Samples that resemble no class</h3>\n<p class=\"muted\">");
    rer_put(writer, n == 1 ? "One sample is" : n > page->gallery.n_outliers ? "The clearest of " : "");
    if (n > 1)
        rer_put_count(writer, n);
    rer_put(writer, n == 1 ? "" : n > page->gallery.n_outliers ? " samples that are" : " samples are");
    rer_put(writer, " far from every class, or about as far from all of them: perhaps another kind of thing, a broken "
                    "file, or just an odd example. Look whether any class suits; drop what does not belong.");
    if ((double)n > .02 * (double)page->result->N)
        rer_put(writer, " Where classes overlap, good samples are among them: the order says more than the number.");
    if (n > page->gallery.n_outliers)
        rer_puts(writer, " All are in ", rer_samples_name(page->result), " (is_outlier).");
    rer_put(writer, "</p>\n<div id=\"outliers\" class=\"strip\"></div>\n");
}

static void put_fact_number(rer_writer *writer, const char *name, double value, int decimals)
{
    char text[RER_CHART_TEXT];
    if (!isnan(value))
        rer_frame_fact(writer, name, rer_fixed_text(text, value, decimals));
}

static void put_facts(const rer_page *page)
{
    const rer_summary *summary = &page->result->summary;
    char text[RER_CHART_TEXT];
    rer_writer *writer = page->writer;
    rer_put(writer, "<h3>In numbers</h3>\n");
    rer_frame_facts_start(writer);
    put_fact_number(writer, "samples", (double)summary->n_samples, 0);
    put_fact_number(writer, "classes", summary->n_classes, 0);
    put_fact_number(writer, "features", (double)summary->n_features, 0);
    put_fact_number(writer, "without a label", (double)summary->n_unlabelled, 0);
    put_fact_number(writer, "left out", (double)summary->n_invalid, 0);
    put_fact_number(writer, "marked as outliers", (double)summary->n_outliers, 0);
    put_fact_number(writer, "χ", summary->chi, 4);
    put_fact_number(writer, "χ₀ (own / rest)", summary->chi0, 4);
    put_fact_number(writer, "χ rand (best / rest)", summary->chi_rand, 4);
    put_fact_number(writer, "difficulty", summary->difficulty, 4);
    put_fact_number(writer, "noise rate", summary->noise_rate, 4);
    put_fact_number(writer, "noise rate, at least", summary->noise_low, 4);
    put_fact_number(writer, "noise rate, at most", summary->noise_high, 4);
    put_fact_number(writer, "nearest-class error", summary->error_rate, 4);
    if (isfinite(summary->threshold))
        rer_frame_fact(writer, summary->threshold_on_chi ? "threshold (χ)" : "threshold (mistakenness)",
                       rer_threshold_text(text, summary->threshold, 1));
    put_fact_number(writer, "shrinkage", summary->shrinkage, 4);
    put_fact_number(writer, "temperature", summary->temperature, 4);
    put_fact_number(writer, "rank", summary->rank, 0);
    put_fact_number(writer, "mean own error", summary->own_error, 4);
    put_fact_number(writer, "mean best error", summary->best_error, 4);
    put_fact_number(writer, "entropy of given → nearest", summary->transition_entropy, 4);
    put_fact_number(writer, "seconds", summary->seconds.total, 2);
    rer_frame_facts_end(writer);
}

/* The command with every option that is not at its default. */
static void put_command(const rer_page *page)
{
    bool is_analysis = page->result->model != NULL;
    rer_writer *writer = page->writer;
    rer_put(writer, is_analysis ? "<pre><code>rer analyze" : "<pre><code>rer score MODEL");
    rer_put_html(writer, page->data->inputs);
    for (int i = 0; is_analysis && i < rer_options_count(); i++) {
        const rer_option_info *info = rer_options_info(i);
        char text[128];
        if (!rer_frame_option(&page->result->options, "analyze", i, text, sizeof text))
            continue;
        rer_put(writer, " --");
        rer_put_html(writer, info->name);
        rer_put(writer, info->is_flag ? "" : " ");
        rer_put_html(writer, info->is_flag ? "" : text);
    }
    rer_put(writer, " --out results</code></pre>\n");
}

static void put_versions(const rer_page *page)
{
    char text[40];
    rer_frame_facts_start(page->writer);
    rer_frame_fact(page->writer, "rer", rer_version());
    (void)snprintf(text, sizeof text, "%016llx", (unsigned long long)page->data->features_checksum);
    rer_frame_fact(page->writer, "checksum of the features", text);
    (void)snprintf(text, sizeof text, "%016llx", (unsigned long long)page->data->labels_checksum);
    rer_frame_fact(page->writer, "checksum of the labels", text);
    rer_frame_facts_end(page->writer);
}

void rer_page_dataset(const rer_page *page)
{
    rer_writer *writer = page->writer;
    rer_frame_section(writer, "dataset", "The data set",
                      rer_page_say(page, "How hard it is as a whole, and where its labels stand.",
                                   "How well the clusters can be told apart as a whole."));
    if (page->result->summary.n_labelled > 0)
        put_charts(page);
    put_outliers(page);
    put_meanings(page);
    if (page->result->model != NULL)
        put_method(page);
    put_facts(page);
    rer_frame_section(writer, "repeat", "How to repeat this",
                      "The same version, inputs and options give the same numbers, at any number of threads.");
    if (page->data->inputs != NULL)
        put_command(page);
    else /* from memory */
        rer_frame_options(writer, &page->result->options, page->result->model != NULL ? "analyze" : "score");
    put_versions(page);
}
