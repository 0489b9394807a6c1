/* The frame of every report: see frame.h. */
#include "report/frame.h"
#include "core/options.h"
#include "report/report.h"

extern const char rer_frame_css[], rer_frame_css_sha256[], rer_chart_css[], rer_chart_css_sha256[];
extern const char rer_frame_js[], rer_frame_js_sha256[];

/* ---- the page --------------------------------------------------------------------------------- */

static void put_hash(rer_writer *writer, const char *sha256)
{
    if (sha256 == NULL)
        return;
    rer_puts(writer, " 'sha256-", sha256, "'");
}

static void put_policy(rer_writer *writer, const rer_frame *frame)
{
    rer_put(writer, "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
                    "style-src");
    put_hash(writer, rer_frame_css_sha256);
    put_hash(writer, rer_chart_css_sha256);
    put_hash(writer, frame->style.sha256);
    rer_put(writer, "; script-src");
    put_hash(writer, rer_frame_js_sha256);
    for (int i = 0; i < RER_FRAME_SCRIPTS; i++)
        put_hash(writer, frame->scripts[i].sha256);
    rer_put(writer, "; base-uri 'none'; form-action 'none'\">\n");
}

static void put_element(rer_writer *writer, const char *name, const char *text)
{
    if (text == NULL)
        return;
    /* The text is our own, with its hash: as it is. */
    rer_puts(writer, "<", name, ">", text, "</", name, ">\n");
}

static void put_escaped(rer_writer *writer, const char *before, const char *text, const char *after)
{
    if (text == NULL)
        return;
    rer_put(writer, before);
    rer_put_html(writer, text);
    rer_put(writer, after);
}

void rer_frame_start(rer_writer *writer, const rer_frame *frame)
{
    writer->in_page = true;
    rer_put(writer, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    put_policy(writer, frame);
    rer_put(writer, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                    "<meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"generator\" content=\"rer ");
    rer_put(writer, rer_version());
    put_escaped(writer, "\">\n<title>", frame->kind, "");
    put_escaped(writer, ": ", frame->name, "");
    rer_put(writer, "</title>\n");
    put_element(writer, "style", rer_frame_css);
    put_element(writer, "style", rer_chart_css);
    put_element(writer, "style", frame->style.text);
    rer_put(writer,
            "</head>\n<body>\n<a class=\"skip\" href=\"#main\">To the content</a>\n"
            "<nav id=\"contents\" aria-label=\"Contents\"></nav>\n<main id=\"main\">\n<header>\n<p class=\"kind\">");
    rer_put_html(writer, frame->kind);
    put_escaped(writer, " <span class=\"of\"><bdi>", frame->name, "</bdi></span>");
    put_escaped(writer, "</p>\n<h1>", frame->headline, "</h1>\n");
    put_escaped(writer, "<p class=\"lead\">", frame->lead, "</p>\n");
    rer_put(writer, "</header>\n");
}

void rer_frame_end(rer_writer *writer, const rer_frame *frame, const char *origin)
{
    rer_put(writer, "<footer>rer ");
    rer_put(writer, rer_version());
    put_escaped(writer, " · ", origin, "");
    rer_put(writer, "</footer>\n</main>\n");
    put_element(writer, "script", rer_frame_js);
    for (int i = 0; i < RER_FRAME_SCRIPTS; i++)
        put_element(writer, "script", frame->scripts[i].text);
    rer_put(writer, "</body>\n</html>\n");
}

/* ---- text ------------------------------------------------------------------------------------- */

void rer_frame_section(rer_writer *writer, const char *id, const char *title, const char *lead)
{
    rer_put(writer, "<h2 id=\"");
    rer_put(writer, id);
    put_escaped(writer, "\">", title, "</h2>\n");
    put_escaped(writer, "<p class=\"lead\">", lead, "</p>\n");
}

void rer_frame_paragraph(rer_writer *writer, const char *text)
{
    put_escaped(writer, "<p>", text, "</p>\n");
}

void rer_frame_note(rer_writer *writer, const char *text)
{
    put_escaped(writer, "<p class=\"note\">", text, "</p>\n");
}

void rer_frame_numbers_start(rer_writer *writer)
{
    rer_put(writer, "<dl class=\"numbers\">\n");
}

void rer_frame_number(rer_writer *writer, const char *title, const char *value, const char *explanation)
{
    put_escaped(writer, "<div><dt>", title, "</dt>");
    put_escaped(writer, "<dd>", value, "</dd>");
    put_escaped(writer, "<dd class=\"small\">", explanation, "</dd>");
    rer_put(writer, "</div>\n");
}

void rer_frame_numbers_end(rer_writer *writer)
{
    rer_put(writer, "</dl>\n");
}

void rer_frame_meanings(rer_writer *writer, const rer_column *columns, int n)
{
    rer_put(writer, "<dl class=\"meanings\">\n");
    for (int i = 0; i < n; i++)
        if (columns[i].help != NULL) {
            put_escaped(writer, "<dt>", columns[i].title, "</dt>");
            put_escaped(writer, "<dd>", columns[i].help, "</dd>\n");
        }
    rer_put(writer, "</dl>\n");
}

void rer_frame_facts_start(rer_writer *writer)
{
    rer_put(writer, "<dl class=\"facts\">\n");
}

void rer_frame_fact(rer_writer *writer, const char *name, const char *value)
{
    put_escaped(writer, "<div><dt>", name, "</dt>");
    put_escaped(writer, "<dd>", value, "</dd></div>\n");
}

void rer_frame_facts_end(rer_writer *writer)
{
    rer_put(writer, "</dl>\n");
}

/* Options of one reconstructor or detector are told where it is the one that ran. */
static bool is_for_run(const rer_option_info *info, const rer_options *options)
{
    char reconstructor[32] = "", detector[32] = "";
    const char *whom = info->only_for;
    rer_option_text(options, "reconstructor", reconstructor, sizeof reconstructor);
    rer_option_text(options, "detector", detector, sizeof detector);
    if (whom == NULL)
        return true;
    if (strncmp(whom, "rer ", 4) != 0)
        return strstr(whom, reconstructor) != NULL;
    whom = strchr(whom + 4, ' '); /* "rer analyze confident" */
    return whom == NULL || strcmp(whom + 1, detector) == 0;
}

bool rer_frame_option(const rer_options *options, const char *command, int i, char *text, int64_t size)
{
    rer_options defaults = rer_options_default();
    const rer_option_info *info = rer_options_info(i);
    char usual[128];
    if (options->reconstructor == RER_CENTROID && options->normalize == RER_WHITEN)
        defaults.normalize = RER_WHITEN; /* what auto became */
    rer_options_text(&defaults, i, usual, sizeof usual);
    rer_options_text(options, i, text, size);
    return rer_option_is_for(info, command) && is_for_run(info, options) && strcmp(text, usual) != 0;
}

void rer_frame_options(rer_writer *writer, const rer_options *options, const char *command)
{
    char text[128];
    int told = 0;
    for (int i = 0; i < rer_options_count(); i++) {
        if (!rer_frame_option(options, command, i, text, sizeof text))
            continue;
        if (told++ == 0)
            rer_frame_facts_start(writer);
        rer_frame_fact(writer, rer_options_info(i)->name, text);
    }
    if (told > 0)
        rer_frame_facts_end(writer);
    else
        rer_frame_paragraph(writer, "All options at their defaults.");
}

void rer_frame_end_study(rer_writer *writer, const rer_frame *frame, const rer_study *study)
{
    char origin[120], samples[RER_CHART_TEXT], seconds[RER_CHART_TEXT];
    (void)snprintf(origin, sizeof origin, "%s samples, %d classes, %lld features, %s s",
                   rer_fixed_text(samples, (double)study->N, 0), study->C, (long long)study->D,
                   rer_fixed_text(seconds, study->seconds, 1));
    rer_frame_section(writer, "repeat", "How to repeat this", study->repeat);
    rer_frame_options(writer, study->options, study->command);
    rer_frame_end(writer, frame, origin);
}

/* ---- charts ----------------------------------------------------------------------------------- */

void rer_frame_charts_start(rer_writer *writer)
{
    rer_put(writer, "<div class=\"charts\">\n");
}

void rer_frame_charts_end(rer_writer *writer)
{
    rer_put(writer, "</div>\n");
}

/* tabindex: a chart wider than the screen is scrolled by keyboard too. */
static void put_figure(rer_writer *writer, const char *tag)
{
    if (writer->in_page)
        rer_put(writer, tag);
}

static const char figure_start[] = "<figure tabindex=\"0\">\n", figure_end[] = "</figure>\n";

void rer_frame_chart(rer_writer *writer, const rer_chart *chart)
{
    put_figure(writer, figure_start);
    rer_chart_put(writer, chart);
    put_figure(writer, figure_end);
}

void rer_frame_heatmap(rer_writer *writer, const rer_heatmap *map)
{
    put_figure(writer, figure_start);
    rer_heatmap_put(writer, map);
    put_figure(writer, figure_end);
}

/* ---- tables ----------------------------------------------------------------------------------- */

void rer_frame_table_start(rer_writer *writer, const char *caption, const rer_column *columns, int n)
{
    rer_put(writer, "<div class=\"table\" tabindex=\"0\"><table class=\"sortable\">\n");
    put_escaped(writer, "<caption>", caption, "</caption>\n");
    rer_put(writer, "<thead><tr>");
    for (int i = 0; i < n; i++) {
        rer_put(writer, columns[i].is_number ? "<th scope=\"col\" class=\"n\"" : "<th scope=\"col\"");
        put_escaped(writer, " title=\"", columns[i].help, "\"");
        put_escaped(writer, ">", columns[i].title, "</th>");
    }
    rer_put(writer, "</tr></thead>\n<tbody>\n"); /* </tr> and </tbody> may be left out */
}

void rer_frame_row(rer_writer *writer)
{
    rer_put(writer, "<tr>");
}

void rer_frame_cell(rer_writer *writer, const char *text)
{
    rer_put(writer, "<td><bdi>");
    rer_put_html(writer, text);
    rer_put(writer, "</bdi></td>");
}

/* <td class="n" data-sort="0.5">; the number is what the table is sorted by. */
static void start_number(rer_writer *writer, double value, bool is_best)
{
    rer_put(writer, is_best ? "<td class=\"n best\" data-sort=\"" : "<td class=\"n\" data-sort=\"");
    rer_put_number(writer, value);
    rer_put(writer, "\">");
}

void rer_frame_cell_number(rer_writer *writer, double value, int decimals, bool is_best)
{
    char text[RER_CHART_TEXT];
    start_number(writer, value, is_best);
    rer_put(writer, rer_fixed_text(text, value, decimals));
    rer_put(writer, "</td>");
}

void rer_frame_cell_percent(rer_writer *writer, double share, bool is_best)
{
    start_number(writer, share, is_best);
    rer_put_percent(writer, share);
    rer_put(writer, "</td>");
}

void rer_frame_cell_count(rer_writer *writer, int64_t count)
{
    start_number(writer, (double)count, false);
    rer_put_count(writer, count);
    rer_put(writer, "</td>");
}

void rer_frame_cell_row(rer_writer *writer, int64_t row)
{
    start_number(writer, (double)row, false);
    rer_put_integer(writer, row);
    rer_put(writer, "</td>");
}

void rer_frame_table_end(rer_writer *writer)
{
    rer_put(writer, "</tbody></table></div>\n");
}
