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
        (void)snprintf(text, size, "%s rows without labels: each has a suggested one in %s", all,
                       rer_samples_name(page->result));
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
    rer_put(writer, rer_page_say(page, " of the labels, the sum of all probabilities",
                                 " of the samples, the sum of all probabilities"));
    if (page->data->clusters == 0 && !isnan(summary->noise_low) && !isnan(summary->noise_high))
        put_range(writer, summary);
    rer_put(writer, "</dd></div>\n");
}

static void put_flagged(const rer_page *page)
{
    const rer_summary *summary = &page->result->summary;
    rer_writer *writer = page->writer;
    start_number(writer, "Flagged for review");
    rer_put_count(writer, summary->n_issues);
    rer_put(writer, "</dd><dd class=\"small\">");
    if (isnan(summary->threshold))
        rer_put(writer, "as many as were asked for");
    else if (!isfinite(summary->threshold))
        rer_put(writer, "no χ is above the threshold");
    else
        rer_put(writer, summary->threshold_on_chi ? "χ above " : "probability above ");
    if (isfinite(summary->threshold) && summary->threshold_on_chi)
        rer_put_decimal(writer, summary->threshold);
    else if (isfinite(summary->threshold))
        rer_put_percent(writer, summary->threshold);
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
