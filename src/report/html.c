/* report.html: the answer first, then the suspects for review, the classes, the data set. The static parts
 * are written here; the suspects and the table of classes are drawn by the scripts from the data that
 * page_data.c leaves in the page. One file without network: the policy allows its own style sheets and
 * scripts by their hashes, and pictures inside the file; everything that users wrote is escaped. */
#include "report/page.h"

extern const char rer_report_css[], rer_report_css_sha256[];
extern const char rer_report_js[], rer_report_js_sha256[], rer_decisions_js[], rer_decisions_js_sha256[];
extern const char rer_review_js[], rer_review_js_sha256[], rer_classes_js[], rer_classes_js_sha256[];
extern const char rer_review_html[], rer_classes_html[], rer_matrix_html[];

/* ---- what comes after the answer --------------------------------------------------------------- */

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

/* How many labels to look at, where the flagged are the lesser part of the wrong ones; 0: nothing more is to be gained.
 * What the page calls a good place to stop holds here too. */
static int64_t worth_looking(const rer_page *page)
{
    const rer_summary *summary = &page->result->summary;
    const rer_gallery *gallery = &page->gallery;
    int64_t count = 2 * rer_max(summary->n_issues, 50);
    if (gallery->is_all_worth)
        count = rer_min(count, gallery->n_ranked);
    bool is_promised = !isnan(summary->noise_low); /* scores of other detectors promise nothing */
    if (!is_promised || page->result->options.budget >= 0 || count >= summary->chi_all.n ||
        2 * summary->n_issues >= rer_page_wrong(summary))
        return 0;
    double more = rer_result_expected_wrong(page->result, count) - summary->expected_wrong;
    return more >= fmax(1, RER_WORTH_A_LOOK * (double)(count - summary->n_issues)) ? count : 0;
}

static void put_advice(const rer_page *page)
{
    rer_writer *writer = page->writer;
    int64_t count = worth_looking(page);
    if (count == 0)
        return;
    int64_t wrong = llround(rer_result_expected_wrong(page->result, count));
    rer_put(writer, " These are the clearest: the first ");
    rer_put_count(writer, count);
    rer_put(writer, " (<code>--budget ");
    rer_put_integer(writer, count);
    rer_put(writer, "</code>) would hold about ");
    rer_put_count(writer, wrong);
    rer_puts(writer, rer_page_say(page, " wrong one", " of another cluster"),
             page->data->clusters == 0 && wrong != 1 ? "s." : ".");
}

/* What to do with the answer, in three steps. */
static void put_next(const rer_page *page)
{
    rer_writer *writer = page->writer;
    if (page->gallery.n_suspects == 0)
        return;
    rer_puts(writer, "<div class=\"next\"><h2>What to do next</h2>\n<ol>\n<li>Look at the ",
             rer_page_say(page,
                          "suspects below, the likeliest first. <kbd>k</kbd> keeps a label, <kbd>f</kbd> fixes it",
                          "samples below, the least clear first. <kbd>k</kbd> keeps one in its cluster, <kbd>f</kbd> "
                          "moves it to the other"),
             ", <kbd>d</kbd> drops the sample.");
    put_advice(page);
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
    if (ranked == 1)
        rer_put(writer,
                rer_page_say(page, "most suspicious label", "sample that most likely belongs to another cluster"));
    else {
        rer_put_count(writer, ranked);
        rer_put(writer, rer_page_say(page, " most suspicious labels, the likeliest mistakes first",
                                     " samples that most likely belong to another cluster, the likeliest first"));
    }
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
        rer_put(
            writer,
            page->gallery.is_any_worth
                ? rer_page_say(page, " After them fewer than one label in 20 is wrong: a good place to stop.",
                               " After them fewer than one in 20 does: a good place to stop.")
                : rer_page_say(page, " Hardly any of these labels is wrong: they are the least clear of all.",
                               " Hardly any of these belongs to another cluster: they are the least clear of all."));
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
    char headline[200], lead[400], origin[120];
    const char *name = page->data->features.name;
    rer_frame frame = {.kind = rer_page_say(page, "Label report", "Cluster report"),
                       .name = name != NULL ? name : "data in memory",
                       .headline = headline,
                       .lead = lead,
                       .style = {rer_report_css, rer_report_css_sha256},
                       .scripts = {{rer_report_js, rer_report_js_sha256},
                                   {rer_decisions_js, rer_decisions_js_sha256},
                                   {rer_review_js, rer_review_js_sha256},
                                   {rer_classes_js, rer_classes_js_sha256}}};
    rer_page_headline(headline, sizeof headline, page);
    rer_page_lead(lead, sizeof lead, page);
    (void)snprintf(origin, sizeof origin, "checksum of the features %016llx, of the labels %016llx",
                   (unsigned long long)page->data->features_checksum, (unsigned long long)page->data->labels_checksum);
    rer_frame_start(writer, &frame);
    rer_page_numbers(page);
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
