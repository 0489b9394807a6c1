/* The tables of report.html: suspects, classes, confused pairs. */
#include "report/page.h"

#include <math.h>
#include <string.h>

#define SUSPECTS_MAX 100
#define CLASSES_MAX 200
#define PAIRS_MAX 50

static void put_label(const rer_page *page, int32_t c)
{
    const char *name = rer_result_class_name(page->result, c);
    if (name == NULL) {
        rer_put(page->writer, "–");
        return;
    }
    rer_put(page->writer, "<span class=\"label\"><bdi>"); /* bdi: right-to-left labels stay in their cell */
    rer_put_html(page->writer, name[0] != 0 ? name : "(empty)");
    rer_put(page->writer, "</bdi></span>");
}

static void put_reason(const rer_page *page, const rer_sample *sample)
{
    const char *other = rer_result_class_name(page->result, sample->suggested);
    bool other_is_nearer = sample->chi >= 1;
    double ratio = other_is_nearer ? sample->chi : 1 / sample->chi;
    if (isnan(ratio))
        return;
    rer_put_format(page->writer,
                   ratio < 1.995 ? "%.2f× closer to "
                   : ratio < 100 ? "%.1f× closer to "
                                 : "%.3g× closer to ",
                   ratio);
    rer_put(page->writer, other_is_nearer ? "‘<bdi>" : "its own class than to ‘<bdi>");
    rer_put_html(page->writer, other);
    rer_put(page->writer, other_is_nearer ? "</bdi>’ than to its own class" : "</bdi>’");
}

static rer_status put_suspect(const rer_page *page, int64_t row)
{
    rer_writer *writer = page->writer;
    rer_sample sample = rer_result_sample(page->result, row);
    rer_status status = RER_OK;
    rer_put(writer, "<tr>");
    if (page->thumbnails != NULL) {
        rer_put(writer, "<td>");
        status = rer_thumbnails_put(page->thumbnails, writer, row);
        rer_put(writer, "</td>");
    }
    rer_put_format(writer, "<td class=\"n\">%lld</td>", (long long)row);
    if (page->data->ids.count > 0) {
        rer_put(writer, "<td class=\"text\"><bdi>");
        rer_put_html(writer, rer_dataset_id(page->data, row));
        rer_put(writer, "</bdi></td>");
    }
    rer_put(writer, "<td>");
    put_label(page, sample.given);
    rer_put(writer, "</td><td>");
    put_label(page, sample.suggested);
    rer_put(writer, sample.is_issue ? "</td><td class=\"n flag\">" : "</td><td class=\"n\">");
    rer_put_percent(writer, sample.mistakenness);
    rer_put(writer, "</td><td class=\"why\">");
    put_reason(page, &sample);
    rer_put(writer, "</td></tr>\n");
    return status;
}

rer_status rer_page_suspects(const rer_page *page)
{
    int64_t rows[SUSPECTS_MAX];
    int64_t count = rer_result_suspects(page->result, SUSPECTS_MAX, rows);
    rer_status status = RER_OK;
    if (count == 0)
        return RER_OK;
    rer_put_format(page->writer, "<h2>The %lld most suspicious labels</h2>\n", (long long)count);
    rer_put(page->writer, "<p>Likely mistakes first; flagged ones in colour. All samples are in samples.csv.</p>\n"
                          "<div class=\"table\"><table>\n<thead><tr>");
    rer_put(page->writer, page->thumbnails != NULL ? "<th>picture</th>" : "");
    rer_put(page->writer, "<th class=\"n\">row</th>");
    rer_put(page->writer, page->data->ids.count > 0 ? "<th>id</th>" : "");
    rer_put(page->writer,
            "<th>given</th><th>suggested</th><th class=\"n\">wrong?</th><th>why</th></tr></thead>\n<tbody>\n");
    for (int64_t i = 0; i < count && status == RER_OK; i++)
        status = put_suspect(page, rows[i]);
    rer_put(page->writer, "</tbody></table></div>\n");
    return status;
}

typedef struct ranked_class {
    double chi;
    int32_t c;
} ranked_class;

/* Hardest first; classes without a chi (one sample) last. */
static int compare_hardness(const void *left, const void *right)
{
    const ranked_class *a = left, *b = right;
    double chi_a = isnan(a->chi) ? -1 : a->chi, chi_b = isnan(b->chi) ? -1 : b->chi;
    return chi_a != chi_b ? (chi_a < chi_b ? 1 : -1) : (a->c > b->c) - (a->c < b->c);
}

static void put_class(const rer_page *page, int32_t c)
{
    const rer_class_summary *class = &page->result->classes[c];
    rer_writer *writer = page->writer;
    rer_put(writer, "<tr><td>");
    put_label(page, c);
    rer_put(writer, "</td><td class=\"n\">");
    rer_put_count(writer, class->n);
    rer_put(writer, "</td><td class=\"n\">");
    rer_put_decimal(writer, class->chi);
    rer_put(writer, "</td><td class=\"n\">");
    rer_put_percent(writer, class->noise_rate);
    rer_put(writer, "</td><td class=\"n\">");
    rer_put_count(writer, class->n_issues);
    rer_put(writer, "</td><td>");
    put_label(page, class->most_confused_with);
    rer_put(writer, "</td></tr>\n");
}

static void put_class_table(const rer_page *page, const ranked_class *ranked, int64_t shown)
{
    rer_writer *writer = page->writer;
    rer_put(writer, "<h2>Classes, hardest first</h2>\n<p>χ is the error of a class’s own model over that of the best "
                    "other one: near 1 the class cannot be told apart.");
    if (shown < page->result->C) {
        rer_put_format(writer, " The %lld hardest of ", (long long)shown);
        rer_put_count(writer, page->result->C);
        rer_put(writer, " are shown; all are in classes.csv.");
    }
    rer_put(writer, "</p>\n<div class=\"table\"><table>\n<thead><tr><th>class</th><th class=\"n\">samples</th>"
                    "<th class=\"n\">χ</th><th class=\"n\">probably wrong</th><th class=\"n\">flagged</th>"
                    "<th>most confused with</th></tr></thead>\n<tbody>\n");
    for (int64_t i = 0; i < shown; i++)
        put_class(page, ranked[i].c);
    rer_put(writer, "</tbody></table></div>\n");
}

rer_status rer_page_classes(const rer_page *page)
{
    int32_t C = page->result->C;
    ranked_class *ranked = NULL;
    if (page->result->summary.n_labelled == 0)
        return RER_OK;
    rer_status status = rer_allocate(&ranked, C, sizeof *ranked, "the order of the classes", page->writer->error);
    if (status != RER_OK)
        return status;
    for (int32_t c = 0; c < C; c++)
        ranked[c] = (ranked_class){page->result->classes[c].chi, c};
    qsort(ranked, (size_t)C, sizeof *ranked, compare_hardness);
    put_class_table(page, ranked, rer_min(C, CLASSES_MAX));
    free(ranked);
    return RER_OK;
}

rer_status rer_page_pairs(const rer_page *page)
{
    rer_pair pairs[PAIRS_MAX];
    int64_t count = rer_result_pairs(page->result, PAIRS_MAX, pairs);
    rer_writer *writer = page->writer;
    if (count == 0)
        return RER_OK;
    rer_put(writer,
            "<h2>Most confused pairs</h2>\n<p>Samples of one class that are nearest to the other.</p>\n"
            "<div class=\"table\"><table>\n<thead><tr><th>class A</th><th>class B</th><th class=\"n\">A nearest "
            "to B</th><th class=\"n\">B nearest to A</th></tr></thead>\n<tbody>\n");
    for (int64_t i = 0; i < count; i++) {
        rer_put(writer, "<tr><td>");
        put_label(page, pairs[i].a);
        rer_put(writer, "</td><td>");
        put_label(page, pairs[i].b);
        rer_put(writer, "</td><td class=\"n\">");
        rer_put_count(writer, pairs[i].a_as_b);
        rer_put(writer, "</td><td class=\"n\">");
        rer_put_count(writer, pairs[i].b_as_a);
        rer_put(writer, "</td></tr>\n");
    }
    rer_put(writer, "</tbody></table></div>\n");
    return RER_OK;
}
