/* The answer at the top of report.html: a sentence on how many labels are wrong, what was done to find them, and the
 * numbers that people look for first. */
#include "report/page.h"

static void write_cluster_headline(char *text, size_t size, const rer_summary *summary)
{
    char doubtful[RER_CHART_TEXT], all[RER_CHART_TEXT];
    int64_t n = rer_page_wrong(summary);
    (void)rer_fixed_text(all, (double)summary->n_labelled, 0);
    if (n == 0)
        (void)snprintf(text, size, "%d clusters, apart from each other: hardly any of the %s samples lies between two",
                       summary->n_classes, all);
    else
        (void)snprintf(text, size, "%d clusters: about %s of the %s samples may belong to another one",
                       summary->n_classes, rer_fixed_text(doubtful, (double)n, 0), all);
}

/* One that was given has few digits, and all of them are shown; one that was computed is cut. */
const char *rer_threshold_text(char text[RER_CHART_TEXT], double threshold, double scale)
{
    enum { COMPUTED = 6, GIVEN = 12 };
    double shown = scale * threshold, digits = shown;
    int decimals = 0;
    for (; decimals < GIVEN && fabs(digits - round(digits)) > 1e-15 * fabs(digits); decimals++)
        digits = shown * pow(10, decimals + 1);
    return rer_fixed_text(text, shown, decimals < GIVEN ? decimals : COMPUTED);
}

/* Only what was done: a saved model has no rows to compare with, a classifier of the user's own has done so already. */
void rer_page_lead(char *text, size_t size, const rer_page *page)
{
    const rer_result *result = page->result;
    const rer_options *options = &result->options;
    const char *own = options->reconstructor == RER_PUBLISHED ? "" : ", its own one without the sample";
    bool looked = result->looks.count > 0, has_opinion = page->data->pred_probs.name != NULL;
    char detector[128];
    rer_option_text(options, "detector", detector, sizeof detector);
    if (page->data->clusters > 0)
        (void)snprintf(text, size,
                       "Each sample was compared with a model of every cluster%s. It is doubtful where another cluster "
                       "fits better.",
                       own);
    else if (result->model == NULL)
        (void)snprintf(text, size, "Each sample was compared with the saved model of every class. %s",
                       result->summary.n_labelled > 0 ? "A label is suspicious where another class fits better."
                                                      : "The class that fits best is suggested.");
    else if (rer_page_is_of_detector(page))
        (void)snprintf(text, size,
                       "Another detector, %s, judged the labels. For χ and errors each sample was compared with a "
                       "model of every class%s.",
                       detector, own);
    else
        (void)snprintf(
            text, size,
            "Each sample was compared with a model of every class%s%s%s. A label is suspicious where another "
            "class fits better%s.",
            own, looked ? ", and suspects with the samples next to them" : "",
            has_opinion ? ", and your probabilities were weighed with that" : "",
            has_opinion ? " or is more probable" : "");
}

void rer_page_headline(char *text, size_t size, const rer_page *page)
{
    const rer_summary *summary = &page->result->summary;
    char low[RER_CHART_TEXT], high[RER_CHART_TEXT], all[RER_CHART_TEXT];
    int64_t n = summary->n_labelled, least = rer_labels_of(summary, summary->noise_low);
    int64_t most = rer_labels_of(summary, summary->noise_high);
    (void)rer_fixed_text(low, (double)least, 0);
    (void)rer_fixed_text(high, (double)most, 0);
    (void)rer_fixed_text(all, (double)(n > 0 ? n : summary->n_samples), 0);
    if (page->data->clusters > 0)
        write_cluster_headline(text, size, summary);
    else if (n == 0)
        (void)snprintf(text, size, "%s row%s: %s a suggested one in %s", all,
                       summary->n_samples == 1 ? " without a label" : "s without labels",
                       summary->n_samples == 1 ? "it has" : "each has", rer_samples_name(page->result));
    else if (n == 1)
        (void)snprintf(text, size, "The only label %s wrong",
                       rer_page_wrong(summary) == 1 ? "looks"
                       : most == 1                  ? "may be"
                                                    : "does not look");
    else if (rer_page_wrong(summary) == 0)
        (void)snprintf(text, size, "Hardly any of the %s labels looks wrong", all);
    else if (least == most) { /* nothing is in doubt, or another detector's estimate has no range */
        (void)rer_fixed_text(low, (double)rer_page_wrong(summary), 0);
        (void)snprintf(text, size, "About %s of the %s labels look%s wrong", low, all,
                       rer_page_wrong(summary) == 1 ? "s" : "");
    } else if (least == 0)
        (void)snprintf(text, size, "Up to %s of the %s labels may be wrong", high, all);
    else
        (void)snprintf(text, size, "At least %s of the %s labels %s wrong, perhaps up to %s", low, all,
                       least == 1 ? "is" : "are", high);
}

static void start_number(rer_writer *writer, const char *title)
{
    rer_puts(writer, "<div><dt>", title, "</dt><dd>");
}

static void end_number(rer_writer *writer, const char *explanation)
{
    rer_puts(writer, "</dd><dd class=\"small\">", explanation, "</dd></div>\n");
}

/* A value on a line from 0 to 1, with words at both ends. */
static void put_scale(rer_writer *writer, double value)
{
    double at = 7 + 186 * fmax(0, fmin(1, value));
    rer_put(writer,
            "<svg class=\"scale\" viewBox=\"0 0 200 14\" aria-hidden=\"true\" preserveAspectRatio=\"none\">"
            "<path class=\"scale-line\" d=\"M3 7H197\"/><ellipse class=\"scale-mark\" cy=\"7\" rx=\"6\" ry=\"6\"");
    rer_put_attribute(writer, "cx", at);
    rer_put(writer, "/></svg><span class=\"ends\"><span>trivial</span><span>hopeless</span></span>");
}

static const char *difficulty_word(double difficulty)
{
    static const struct {
        double below;
        const char *word;
    } words[] = {{.02, "trivial"}, {.1, "easy"}, {.25, "moderate"}, {.5, "hard"}, {INFINITY, "very hard"}};
    int i = 0;
    while (difficulty >= words[i].below)
        i++;
    return words[i].word;
}

/* What of it is beyond doubt. */
static void put_range(rer_writer *writer, const rer_summary *summary)
{
    int64_t least = rer_labels_of(summary, summary->noise_low), most = rer_labels_of(summary, summary->noise_high);
    if (least == most) {
        rer_put(writer, least > 0 ? "; no doubt of them" : "");
        return;
    }
    rer_put(writer, "; ");
    rer_put_count(writer, least);
    rer_puts(writer, least == 1 ? " is" : " are", " beyond doubt, and overlap of classes may hide up to ");
    rer_put_count(writer, most);
}

static void put_wrong_labels(const rer_page *page)
{
    const rer_summary *summary = &page->result->summary;
    rer_writer *writer = page->writer;
    start_number(writer, rer_page_say(page, "Probably wrong labels", "Perhaps of another cluster"));
    rer_put_count(writer, rer_page_wrong(summary));
    rer_put(writer, "</dd><dd class=\"small\">");
    if (summary->noise_rate < .00005 && rer_page_wrong(summary) > 0)
        rer_put(writer, "under 0.01 %");
    else
        rer_put_percent(writer, summary->noise_rate);
    if (rer_page_is_of_detector(page))
        rer_put(writer, " of the labels, as the detector itself counts them");
    else
        rer_put(writer, rer_page_say(page, " of the labels, the sum of all probabilities",
                                     " of the samples, the sum of all probabilities"));
    if (page->data->clusters == 0 && !isnan(summary->noise_low) && !isnan(summary->noise_high) &&
        !rer_most_look_wrong(page->result))
        put_range(writer, summary);
    rer_put(writer, "</dd></div>\n");
}

/* What made them flagged ones. */
static void put_rule(const rer_page *page)
{
    const rer_summary *summary = &page->result->summary;
    bool is_of_detector = rer_page_is_of_detector(page);
    rer_writer *writer = page->writer;
    char text[RER_CHART_TEXT];
    if (page->result->options.budget >= 0)
        rer_put(writer, "as many as were asked for");
    else if (isnan(summary->threshold) && is_of_detector)
        rer_put(writer, "by the detector’s own rule");
    else if (!isfinite(summary->threshold))
        rer_put(writer, "no χ is above the threshold");
    else if (summary->threshold_on_chi)
        rer_puts(writer, "χ above ", rer_threshold_text(text, summary->threshold, 1));
    else if (is_of_detector)
        rer_puts(writer, "its score above ", rer_threshold_text(text, summary->threshold, 1));
    else
        rer_puts(writer, "probability above ", rer_threshold_text(text, summary->threshold, 100), " %");
}

static void put_flagged(const rer_page *page)
{
    const rer_summary *summary = &page->result->summary;
    rer_writer *writer = page->writer;
    start_number(writer, "Flagged for review");
    rer_put_count(writer, summary->n_issues);
    rer_put(writer, "</dd><dd class=\"small\">");
    put_rule(page);
    if (!isnan(summary->noise_low) && !isnan(summary->expected_wrong) && summary->n_issues > 0) { /* else no promise */
        rer_put(writer, "; about ");
        rer_put_count(writer, llround(summary->expected_wrong));
        rer_put(writer, rer_page_say(page, " of them wrong", " of them of another cluster"));
    }
    rer_put(writer, "</dd></div>\n");
}

void rer_page_numbers(const rer_page *page)
{
    const rer_summary *summary = &page->result->summary;
    rer_writer *writer = page->writer;
    if (summary->n_labelled == 0)
        return;
    rer_frame_numbers_start(writer);
    put_wrong_labels(page);
    put_flagged(page);
    start_number(writer, "Difficulty");
    rer_put_decimal(writer, summary->difficulty);
    if (!isnan(summary->difficulty)) {
        rer_puts(writer, " <span class=\"word\">", difficulty_word(summary->difficulty),
                 "</span></dd><dd class=\"small\">");
        put_scale(writer, summary->difficulty);
    }
    rer_put(writer, "</dd></div>\n");
    start_number(writer, rer_page_say(page, "Nearest-class error", "Nearest-cluster error"));
    rer_put_percent(writer, summary->error_rate);
    end_number(writer, rer_page_say(page, "labels whose nearest class is another one",
                                    "samples whose nearest cluster is another one"));
    rer_frame_numbers_end(writer);
}
