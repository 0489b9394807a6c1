/* report.html: report.html's template with each {{name}} replaced by what the function of that
 * name writes. One file without scripts or network: the Content-Security-Policy allows the style
 * sheet (by its hash) and pictures inside the file, and everything that users wrote is escaped. */
#include "report/page.h"

#include <math.h>
#include <string.h>

extern const char rer_report_html[], rer_report_css[], rer_report_css_sha256[];

static rer_status put_style_hash(const rer_page *page)
{
    rer_put(page->writer, rer_report_css_sha256);
    return RER_OK;
}

static rer_status put_style(const rer_page *page)
{
    rer_put(page->writer, rer_report_css);
    return RER_OK;
}

static rer_status put_version(const rer_page *page)
{
    rer_put(page->writer, rer_version());
    return RER_OK;
}

static rer_status put_name(const rer_page *page)
{
    const char *name = page->data->features.name;
    rer_put_html(page->writer, name != NULL ? name : "data in memory");
    return RER_OK;
}

static rer_status put_headline(const rer_page *page)
{
    const rer_summary *summary = &page->result->summary;
    rer_writer *writer = page->writer;
    if (summary->n_labelled == 0) {
        rer_put_count(writer, summary->n_samples);
        rer_put(writer, " rows without labels: each has a suggested one in samples.csv");
        return RER_OK;
    }
    int64_t wrong = isnan(summary->noise_rate) ? 0 : llround(summary->noise_rate * (double)summary->n_labelled);
    rer_put(writer, wrong == 0 ? "Hardly any of the " : "About ");
    if (wrong > 0) {
        rer_put_count(writer, wrong);
        rer_put(writer, " of the ");
    }
    rer_put_count(writer, summary->n_labelled);
    rer_put(writer, " labels look wrong");
    if (wrong > 0) {
        rer_put(writer, " (");
        rer_put_percent(writer, summary->noise_rate);
        rer_put(writer, ")");
    }
    return RER_OK;
}

static rer_status put_explanation(const rer_page *page)
{
    rer_put(page->writer,
            "Each sample is compared with a model of every class, its own one fitted without it. A label is "
            "suspicious where another class fits the sample better than its own.");
    return RER_OK;
}

static void start_number(rer_writer *writer, const char *title)
{
    rer_put(writer, "<div><dt>");
    rer_put(writer, title);
    rer_put(writer, "</dt><dd>");
}

static void end_number(rer_writer *writer, const char *explanation)
{
    rer_put(writer, "<small>");
    rer_put(writer, explanation);
    rer_put(writer, "</small></dd></div>\n");
}

static void put_count_number(rer_writer *writer, const char *title, int64_t value, const char *explanation)
{
    start_number(writer, title);
    rer_put_count(writer, value);
    end_number(writer, explanation);
}

static rer_status put_numbers(const rer_page *page)
{
    const rer_summary *summary = &page->result->summary;
    rer_writer *writer = page->writer;
    rer_put(writer, "<dl class=\"numbers\">\n");
    put_count_number(writer, "Samples", summary->n_samples, "rows of the input");
    put_count_number(writer, "Classes", summary->n_classes, "different labels");
    put_count_number(writer, "Features", summary->n_features,
                     page->data->hog ? "of the built-in picture descriptor" : "columns of the input");
    put_count_number(writer, "Flagged", summary->n_issues, "look at these first");
    start_number(writer, "Difficulty χ");
    rer_put_decimal(writer, summary->chi);
    end_number(writer, "own error / best other; 1 is hopeless");
    start_number(writer, "Nearest-class error");
    rer_put_percent(writer, summary->error_rate);
    end_number(writer, "labels that are not the nearest class");
    if (summary->n_unlabelled > 0)
        put_count_number(writer, "Without label", summary->n_unlabelled, "suggestions are in samples.csv");
    if (summary->n_invalid > 0)
        put_count_number(writer, "Left out", summary->n_invalid, "rows with NaN or infinite values");
    rer_put(writer, "</dl>\n");
    return RER_OK;
}

static rer_status put_notes(const rer_page *page)
{
    if (page->result->n_notes == 0)
        return RER_OK;
    rer_put(page->writer, "<ul class=\"notes\">\n");
    for (int i = 0; i < page->result->n_notes; i++) {
        rer_put(page->writer, "<li>");
        rer_put_html(page->writer, page->result->notes[i]);
        rer_put(page->writer, "</li>\n");
    }
    rer_put(page->writer, "</ul>\n");
    return RER_OK;
}

static rer_status put_options(const rer_page *page)
{
    rer_put(page->writer, "<dl class=\"options\">\n");
    for (int i = 0; i < rer_options_count(); i++) {
        char text[128];
        if (!rer_option_is_for(rer_options_info(i), "analyze"))
            continue;
        rer_options_get(&page->result->options, i, text, sizeof text);
        rer_put(page->writer, "<div><dt>");
        rer_put_html(page->writer, rer_options_info(i)->name);
        rer_put(page->writer, "</dt><dd>");
        rer_put_html(page->writer, text);
        rer_put(page->writer, "</dd></div>\n");
    }
    rer_put(page->writer, "</dl>\n");
    return RER_OK;
}

static rer_status put_origin(const rer_page *page)
{
    rer_put_format(page->writer, "rer %s · checksum of the features %016llx", rer_version(),
                   (unsigned long long)page->data->features_checksum);
    if (page->data->labels.codes != NULL)
        rer_put_format(page->writer, ", of the labels %016llx", (unsigned long long)page->data->labels_checksum);
    return RER_OK;
}

static const struct {
    const char *name;
    rer_status (*put)(const rer_page *page);
} parts[] = {
    {"style_hash", put_style_hash},  {"style", put_style},
    {"version", put_version},        {"name", put_name},
    {"headline", put_headline},      {"explanation", put_explanation},
    {"numbers", put_numbers},        {"notes", put_notes},
    {"suspects", rer_page_suspects}, {"classes", rer_page_classes},
    {"pairs", rer_page_pairs},       {"options", put_options},
    {"origin", put_origin},
};

static rer_status put_part(const rer_page *page, const char *name, int64_t length)
{
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if ((int64_t)strlen(parts[i].name) == length && memcmp(parts[i].name, name, (size_t)length) == 0)
            return parts[i].put(page);
    return rer_fail(page->writer->error, RER_SYSTEM, "the page's template names an unknown part {{%.*s}}", (int)length,
                    name);
}

static rer_status put_template(const rer_page *page, const char *text)
{
    rer_status status = RER_OK;
    for (const char *mark; status == RER_OK && (mark = strstr(text, "{{")) != NULL;) {
        const char *end = strstr(mark, "}}");
        if (end == NULL)
            break;
        rer_put_bytes(page->writer, text, mark - text);
        status = put_part(page, mark + 2, end - mark - 2);
        text = end + 2;
    }
    rer_put(page->writer, text);
    return status;
}

rer_status rer_write_html(rer_writer *writer, const rer_result *result, const rer_dataset *data)
{
    rer_page page = {.writer = writer, .result = result, .data = data};
    rer_status status = rer_thumbnails_start(&page.thumbnails, data, writer->error);
    if (status == RER_OK)
        status = put_template(&page, rer_report_html);
    rer_thumbnails_free(page.thumbnails);
    return status == RER_OK ? writer->status : status;
}
