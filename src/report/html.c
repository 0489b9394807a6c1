/* report.html: the answer first, then the suspects for review, the classes, the data set. The static parts
 * are written here; the suspects and the table of classes are drawn by the scripts from the data that
 * page_data.c leaves in the page. One file without network: the policy allows its own style sheets and
 * scripts by their hashes, and pictures inside the file; everything that users wrote is escaped. */
#include "report/page.h"

extern const char rer_report_css[], rer_report_css_sha256[];
extern const char rer_report_js[], rer_report_js_sha256[], rer_decisions_js[], rer_decisions_js_sha256[];
extern const char rer_review_js[], rer_review_js_sha256[], rer_classes_js[], rer_classes_js_sha256[];
extern const char rer_review_html[], rer_classes_html[], rer_matrix_html[];

/* ---- the answer ------------------------------------------------------------------------------- */

static int64_t count_wrong(const rer_summary *summary)
{
    return rer_labels_of(summary, summary->noise_rate);
}

static void write_cluster_headline(char *text, size_t size, const rer_summary *summary)
{
    char doubtful[RER_CHART_TEXT], all[RER_CHART_TEXT];
    int64_t n = count_wrong(summary);
    (void)rer_fixed_text(all, (double)summary->n_labelled, 0);
    if (n == 0)
        (void)snprintf(text, size, "%d clusters, apart from each other: hardly any of the %s samples lies between two",
                       summary->n_classes, all);
    else
        (void)snprintf(text, size, "%d clusters: about %s of the %s samples may belong to another one",
                       summary->n_classes, rer_fixed_text(doubtful, (double)n, 0), all);
}

static void write_headline(char *text, size_t size, const rer_page *page)
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
    else if (count_wrong(summary) == 0)
        (void)snprintf(text, size, "Hardly any of the %s labels looks wrong", all);
    else if (least == most) { /* nothing is in doubt, or another detector's estimate has no range */
        (void)rer_fixed_text(low, (double)count_wrong(summary), 0);
        (void)snprintf(text, size, "About %s of the %s labels look%s wrong", low, all,
                       count_wrong(summary) == 1 ? "s" : "");
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
    rer_put_count(writer, count_wrong(summary));
    rer_put(writer, "</dd><dd class=\"small\">");
    if (summary->noise_rate < .00005 && count_wrong(summary) > 0)
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

static void put_numbers(const rer_page *page)
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

static void put_notes(const rer_page *page)
{
    const rer_thumbnails *thumbnails = &page->gallery.thumbnails;
    char text[600];
    for (int i = 0; i < page->result->notes.count; i++)
        rer_frame_note(page->writer, page->result->notes.text[i]);
    if (thumbnails->n_failed > 0) {
        (void)snprintf(text, sizeof text, "%lld of %lld pictures could not be read; the first: %s",
                       (long long)thumbnails->n_failed, (long long)thumbnails->count, thumbnails->message);
        rer_frame_note(page->writer, text);
    }
    if (thumbnails->n_left > 0) {
        (void)snprintf(text, sizeof text, "%lld pictures were left out to keep this page small",
                       (long long)thumbnails->n_left);
        rer_frame_note(page->writer, text);
    }
}

/* A command that works as it stands, where the labels and decisions.csv are. */
static void put_apply(const rer_page *page)
{
    const rer_dataset *data = page->data;
    bool is_ours = (data->clusters > 0 || data->has_folder_labels) && /* in no file but ours */
                   page->result->options.format == RER_FORMAT_CSV;
    const char *labels = is_ours ? "samples.csv:given_label" : data->labels.source;
    rer_writer *writer = page->writer;
    char *word = NULL;
    labels = labels != NULL ? labels : "y.npy";
    bool is_table = strstr(labels, ".csv") != NULL || strstr(labels, ".tsv") != NULL || strstr(labels, ".txt") != NULL;
    rer_put(writer,
            is_ours ? ", in the folder of this page: <code id=\"apply\">rer apply" : ": <code id=\"apply\">rer apply");
    if (rer_writer_ok(writer, rer_shell_word(&word, labels, writer->error)))
        rer_put_html(writer, word);
    rer_puts(writer, " decisions.csv --out y_clean", is_table ? ".csv" : ".npy", "</code>");
    free(word);
}

/* What to do with the answer, in three steps. */
static void put_next(const rer_page *page)
{
    const rer_summary *summary = &page->result->summary;
    rer_writer *writer = page->writer;
    if (page->gallery.n_suspects == 0)
        return;
    rer_puts(writer, "<div class=\"next\"><h2>What to do next</h2>\n<ol>\n<li>Look at the ",
             rer_page_say(page,
                          "suspects below, the likeliest first. <kbd>k</kbd> keeps a label, <kbd>f</kbd> fixes it",
                          "samples below, the least clear first. <kbd>k</kbd> keeps one in its cluster, <kbd>f</kbd> "
                          "moves it to the other"),
             ", <kbd>d</kbd> drops the sample.");
    if (page->result->options.budget < 0 && 2 * summary->n_issues < count_wrong(summary)) {
        int64_t twice = 2 * rer_max(summary->n_issues, 50);
        rer_put(writer, " These are the clearest: the first ");
        rer_put_count(writer, twice);
        rer_put(writer, " (<code>--budget ");
        rer_put_integer(writer, twice);
        rer_put(writer, "</code>) would hold about ");
        rer_put_count(writer, llround(rer_result_expected_wrong(page->result, twice)));
        rer_put(writer, " wrong ones.");
    }
    rer_put(writer, "</li>\n<li>Export your decisions.</li>\n<li>Apply them");
    put_apply(page);
    rer_put(writer, "</li>\n</ol></div>\n");
}

/* ---- sections --------------------------------------------------------------------------------- */

static void put_suspects(const rer_page *page)
{
    rer_writer *writer = page->writer;
    const rer_summary *summary = &page->result->summary;
    if (page->gallery.n_suspects == 0)
        return;
    int64_t ranked = page->gallery.n_ranked, more = page->gallery.n_suspects - ranked;
    rer_puts(writer, "<h2 id=\"suspects\" data-short=\"Suspects\">",
             rer_page_say(page, "Labels to look at", "Samples between clusters"), "</h2>\n<p class=\"lead\">The ");
    rer_put_count(writer, ranked);
    rer_put(writer, rer_page_say(page, " most suspicious labels, the likeliest mistakes first",
                                 " samples that most likely belong to another cluster, the likeliest first"));
    if (more > 0) {
        rer_put(writer, ", then ");
        rer_put_count(writer, more);
        rer_put(writer, more == 1 ? " sample that is a copy with another label or fits no class"
                                  : " samples that are copies with different labels or fit no class");
    }
    rer_put(writer, ".");
    if (summary->n_issues > ranked) {
        rer_put(writer, " <b>");
        rer_put_count(writer, summary->n_issues - ranked);
        rer_puts(writer, " more are flagged</b>: ", rer_samples_name(page->result), " has them (is_label_issue).");
    } else if (ranked < summary->n_labelled && !page->gallery.is_all_worth) {
        rer_puts(writer, " All samples are in ", rer_samples_name(page->result), ".");
    } else if (ranked < summary->n_labelled) {
        rer_put(writer,
                page->gallery.is_any_worth
                    ? rer_page_say(page, " After them fewer than one label in 20 is wrong: a good place to stop.",
                                   " After them fewer than one in 20 does: a good place to stop.")
                    : " None of them is likely to be: they only show the least clear ones.");
    }
    rer_put(writer, "</p>\n");
    rer_put(writer, rer_review_html);
}

static void put_classes(const rer_page *page)
{
    if (page->gallery.n_classes == 0 || page->result->summary.n_labelled == 0)
        return;
    rer_frame_section(
        page->writer, "classes", rer_page_say(page, "Classes", "Clusters"),
        rer_page_say(page,
                     "Those that need work first. χ (chi): how far samples lie from their own class, over how "
                     "far from the nearest other one; near 1 or above the two can hardly be told apart.",
                     "χ (chi): how far samples lie from their own cluster, over how far from the nearest "
                     "other one; near 1 or above the two can hardly be told apart."));
    if (page->gallery.n_classes < page->result->C) {
        char text[100];
        (void)snprintf(text, sizeof text, "The %d hardest of %d classes; all are in classes.csv.",
                       page->gallery.n_classes, page->result->C);
        rer_frame_paragraph(page->writer, text);
    }
    rer_puts(page->writer, rer_classes_html, "<div class=\"confusions\">\n", rer_matrix_html);
    rer_page_matrix(page);
    rer_put(page->writer, "<div id=\"pairs\" class=\"pairs\" hidden><h4>The most confused pairs</h4>"
                          "<p class=\"muted\">Samples of one that are nearest to the other. A pair with suspects can "
                          "be pressed to see them.</p></div>\n</div>\n");
    rer_page_details(page);
}

static void put_page(const rer_page *page)
{
    rer_writer *writer = page->writer;
    char headline[200], origin[120];
    const char *name = page->data->features.name;
    rer_frame frame = {.kind = rer_page_say(page, "Label report", "Cluster report"),
                       .name = name != NULL ? name : "data in memory",
                       .headline = headline,
                       .lead = rer_page_say(
                           page,
                           "Each sample was compared with a model of every class, its own one without the sample, and "
                           "suspects with the samples next to them. A label is suspicious where another class fits "
                           "better.",
                           "Each sample was compared with a model of every cluster, its own one without the sample. It "
                           "is doubtful where another cluster fits better."),
                       .style = {rer_report_css, rer_report_css_sha256},
                       .scripts = {{rer_report_js, rer_report_js_sha256},
                                   {rer_decisions_js, rer_decisions_js_sha256},
                                   {rer_review_js, rer_review_js_sha256},
                                   {rer_classes_js, rer_classes_js_sha256}}};
    write_headline(headline, sizeof headline, page);
    (void)snprintf(origin, sizeof origin, "checksum of the features %016llx, of the labels %016llx",
                   (unsigned long long)page->data->features_checksum, (unsigned long long)page->data->labels_checksum);
    rer_frame_start(writer, &frame);
    put_numbers(page);
    put_notes(page);
    put_next(page);
    put_suspects(page);
    put_classes(page);
    rer_page_dataset(page);
    rer_page_data(page);
    rer_frame_end(writer, &frame, origin);
}

void rer_put_report(rer_writer *writer, const void *what, int which)
{
    const rer_result_files *files = what;
    rer_page page = {.writer = writer, .result = files->result, .data = files->data, .files = files};
    rer_gallery made = {0};
    (void)which;
    if (files->gallery == NULL &&
        !rer_writer_ok(writer, rer_gallery_make(&made, page.result, page.data, NULL, writer->error)))
        return;
    page.gallery = files->gallery != NULL ? *files->gallery : made;
    put_page(&page);
    rer_gallery_free(&made);
}
