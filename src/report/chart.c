/* Charts with two axes: see chart.h.
 *
 * 1. The range of each axis, from the data where it is not given, widened to round numbers.
 * 2. The layout: title, legend and labels take their room, the rest is the plot.
 * 3. Grid and ticks, then bands and bars, lines, points, reference lines, legend. */
#include "report/chart_draw.h"

enum {
    LETTER = 7,       /* width of a letter of 12 pixels, about */
    LINE_HEIGHT = 18, /* of labels and legend */
    NAMES_SHOWN = 60, /* categories that get a label each */
};

/* ---- ranges ----------------------------------------------------------------------------------- */

typedef struct extent {
    double low, high;
    bool log;
} extent;

static void take(extent *range, double value)
{
    if (!isfinite(value) || (range->log && value <= 0))
        return;
    range->low = fmin(range->low, value);
    range->high = fmax(range->high, value);
}

static void take_all(extent *range, const double *values, int64_t n)
{
    for (int64_t i = 0; values != NULL && i < n; i++)
        take(range, values[i]);
}

/* Whether low and high of the series go along this axis. */
static bool has_spread_on(const rer_plot *p, const rer_series *series, bool is_x)
{
    bool across = p->bars_across && series->kind != RER_LINE;
    return is_x == across;
}

static void take_series(extent *range, const rer_plot *p, const rer_series *series, bool is_x)
{
    bool has_edges = series->kind == RER_HISTOGRAM && is_x;
    take_all(range, is_x ? series->x : series->y, series->n + has_edges);
    if (has_spread_on(p, series, is_x)) {
        take_all(range, series->low, series->n);
        take_all(range, series->high, series->n);
    }
    bool is_height = (series->kind == RER_BARS && is_x == p->bars_across) || (series->kind == RER_HISTOGRAM && !is_x);
    if (is_height)
        take(range, 0);
}

static void set_scale(rer_plot *p, rer_axis_scale *scale, const rer_axis *axis, bool is_x)
{
    int wanted = is_x ? 6 : 5;
    extent range = {.low = INFINITY, .high = -INFINITY, .log = axis->log};
    *scale = (rer_axis_scale){.log = axis->log};
    if (axis->names != NULL) {
        range.low = -.5;
        range.high = (double)axis->n_names - .5;
    } else if (axis->low < axis->high) {
        range.low = axis->low;
        range.high = axis->high;
    } else {
        bool is_exact = false; /* a histogram fills its axis from edge to edge */
        for (int i = 0; i < p->chart->n_series; i++) {
            take_series(&range, p, &p->chart->series[i], is_x);
            is_exact |= is_x && p->chart->series[i].kind == RER_HISTOGRAM;
        }
        for (int i = 0; i < p->chart->n_references; i++)
            if (p->chart->references[i].is_vertical == is_x)
                take(&range, p->chart->references[i].value);
        if (range.low > range.high)
            range.low = range.high = axis->log ? 1 : 0;
        if (!is_exact || range.low == range.high)
            rer_ticks_widen(&range.low, &range.high, axis->log, wanted);
    }
    if (axis->names == NULL)
        p->n_ticks[is_x ? 0 : 1] = rer_ticks(range.low, range.high, axis->log, wanted, p->ticks[is_x ? 0 : 1]);
    scale->low = axis->log ? log10(range.low) : range.low;
    scale->high = axis->log ? log10(range.high) : range.high;
}

/* ---- layout ----------------------------------------------------------------------------------- */

static double tick_step(const rer_plot *p, bool is_x, int i)
{
    const double *ticks = p->ticks[is_x ? 0 : 1];
    bool log = is_x ? p->chart->x.log : p->chart->y.log;
    if (log) { /* each has the digits that it needs itself */
        double unit = pow(10, floor(log10(ticks[i]) + 1e-9));
        return unit;
    }
    return p->n_ticks[is_x ? 0 : 1] > 1 ? ticks[1] - ticks[0] : fabs(ticks[0]);
}

static const char *tick_text(char text[RER_CHART_TEXT], const rer_plot *p, bool is_x, int i)
{
    const rer_axis *axis = is_x ? &p->chart->x : &p->chart->y;
    return rer_tick_text(text, p->ticks[is_x ? 0 : 1][i], tick_step(p, is_x, i), axis->percent);
}

static double longest_name(const rer_axis *axis)
{
    int64_t most = 1;
    for (int64_t i = 0; i < axis->n_names && axis->n_names <= NAMES_SHOWN; i++)
        most = rer_max(most, rer_min(rer_text_length(axis->names[i]), RER_NAME_MAX));
    return (double)most * LETTER;
}

static double y_labels_width(const rer_plot *p)
{
    char text[RER_CHART_TEXT];
    double width = LETTER;
    if (p->chart->y.names != NULL)
        return longest_name(&p->chart->y);
    for (int i = 0; i < p->n_ticks[1]; i++)
        width = fmax(width, (double)rer_text_length(tick_text(text, p, false, i)) * LETTER);
    return width;
}

static double legend_width(const rer_series *series)
{
    return 30 + (double)rer_min(rer_text_length(series->name), RER_LEGEND_MAX) * LETTER + 14;
}

static bool has_legend(const rer_chart *chart)
{
    int named = 0;
    for (int i = 0; i < chart->n_series; i++)
        named += chart->series[i].name != NULL;
    return named > 1;
}

/* Moves on to the place of a series in the legend; returns the rows so far. */
static int legend_place(const rer_plot *p, const rer_series *series, double *x, int row)
{
    if (*x > p->left && *x + legend_width(series) > p->width) {
        *x = p->left;
        row++;
    }
    return row;
}

static int legend_rows(const rer_plot *p)
{
    double x = p->left;
    int row = 0;
    if (!has_legend(p->chart))
        return 0;
    for (int i = 0; i < p->chart->n_series; i++) {
        if (p->chart->series[i].name == NULL)
            continue;
        row = legend_place(p, &p->chart->series[i], &x, row);
        x += legend_width(&p->chart->series[i]);
    }
    return row + 1;
}

static rer_plot make_plot(rer_writer *writer, const rer_chart *chart)
{
    rer_plot p = {.writer = writer, .chart = chart};
    p.width = chart->width > 0 ? chart->width : 640;
    p.height = chart->height > 0 ? chart->height : 360;
    p.bars_across = chart->y.names != NULL;
    for (int i = 0; i < chart->n_series; i++)
        p.n_bars += chart->series[i].kind == RER_BARS;
    set_scale(&p, &p.x, &chart->x, true);
    set_scale(&p, &p.y, &chart->y, false);
    p.left = y_labels_width(&p) + 12 + (chart->y.title != NULL ? LINE_HEIGHT : 0);
    p.right = p.width - 14;
    if (p.n_ticks[0] > 0) { /* the label of the last tick may stand out */
        char text[RER_CHART_TEXT];
        p.right = fmin(p.right,
                       p.width - 4 - (double)rer_text_length(tick_text(text, &p, true, p.n_ticks[0] - 1)) * LETTER / 2);
    }
    double names = chart->x.names != NULL ? longest_name(&chart->x) : 0;
    p.slanted = names > 0 && names > (p.right - p.left) / (double)rer_max(chart->x.n_names, 1) - 6;
    p.top = 14 + (chart->title != NULL ? 26 : 0) + (double)legend_rows(&p) * LINE_HEIGHT + 4;
    p.bottom = p.height - 26 - (p.slanted ? names * .62 : 0) - (chart->x.title != NULL ? LINE_HEIGHT : 0);
    p.x.from = p.left;
    p.x.to = p.right;
    p.y.from = p.bars_across ? p.top : p.bottom; /* the first category is on top */
    p.y.to = p.bars_across ? p.bottom : p.top;
    return p;
}

/* ---- grid and ticks --------------------------------------------------------------------------- */

static void put_line(const rer_plot *p, const char *class, double x1, double y1, double x2, double y2)
{
    rer_puts(p->writer, "<line class=\"", class, "\"");
    rer_put_attribute(p->writer, "x1", x1);
    rer_put_attribute(p->writer, "y1", y1);
    rer_put_attribute(p->writer, "x2", x2);
    rer_put_attribute(p->writer, "y2", y2);
    rer_put(p->writer, "/>\n");
}

static void put_x_ticks(const rer_plot *p)
{
    char text[RER_CHART_TEXT];
    for (int i = 0; i < p->n_ticks[0]; i++) {
        double x = rer_axis_scale_at(&p->x, p->ticks[0][i]);
        put_line(p, p->bars_across ? "grid" : "axis", x, p->bars_across ? p->top : p->bottom, x,
                 p->bottom + (p->bars_across ? 0 : 4));
        rer_put_label(p->writer, "x tick middle", x, p->bottom + 17, tick_text(text, p, true, i), RER_NAME_MAX);
    }
}

static void put_y_ticks(const rer_plot *p)
{
    char text[RER_CHART_TEXT];
    for (int i = 0; i < p->n_ticks[1]; i++) {
        double y = rer_axis_scale_at(&p->y, p->ticks[1][i]);
        put_line(p, "grid", p->left, y, p->right, y);
        rer_put_label(p->writer, "y tick end", p->left - 7, y + 4, tick_text(text, p, false, i), RER_NAME_MAX);
    }
}

static void put_slanted(const rer_plot *p, double x, const char *name)
{
    rer_put_turned(p->writer, "x tick name end", x + 4, p->bottom + 14, -38, name, RER_NAME_MAX);
    rer_put(p->writer, "<title>");
    rer_put_html(p->writer, name);
    rer_put(p->writer, "</title></text>\n");
}

static void put_names(const rer_plot *p)
{
    const rer_axis *x = &p->chart->x, *y = &p->chart->y;
    for (int64_t i = 0; x->names != NULL && i < x->n_names && x->n_names <= NAMES_SHOWN; i++) {
        double at = rer_axis_scale_at(&p->x, (double)i);
        if (p->slanted)
            put_slanted(p, at, x->names[i]);
        else
            rer_put_label(p->writer, "x tick name middle", at, p->bottom + 17, x->names[i], RER_NAME_MAX);
    }
    for (int64_t i = 0; y->names != NULL && i < y->n_names && y->n_names <= NAMES_SHOWN; i++)
        rer_put_label(p->writer, "y tick name end", p->left - 7, rer_axis_scale_at(&p->y, (double)i) + 4, y->names[i],
                      RER_NAME_MAX);
}

static void put_axes(const rer_plot *p)
{
    const rer_chart *chart = p->chart;
    rer_writer *writer = p->writer;
    rer_put_label(writer, "title", p->left > 60 ? 14 : p->left, 22, chart->title, 100);
    put_y_ticks(p);
    put_x_ticks(p);
    put_names(p);
    if (p->bars_across)
        put_line(p, "axis", p->left, p->top, p->left, p->bottom);
    else
        put_line(p, "axis", p->left, p->bottom, p->right, p->bottom);
    rer_put_label(writer, "x axis-title middle", (p->left + p->right) / 2, p->height - 8, chart->x.title, 90);
    if (chart->y.title == NULL)
        return;
    rer_put_turned(writer, "y axis-title middle", 14, (p->top + p->bottom) / 2, -90, chart->y.title, 60);
    rer_put(writer, "</text>\n");
}

/* ---- references and legend --------------------------------------------------------------------- */

static void put_references(const rer_plot *p)
{
    for (int i = 0; i < p->chart->n_references; i++) {
        const rer_reference *reference = &p->chart->references[i];
        const rer_axis_scale *scale = reference->is_vertical ? &p->x : &p->y;
        if (!rer_axis_scale_shows(scale, reference->value))
            continue;
        double at = rer_axis_scale_at(scale, reference->value);
        if (reference->is_vertical) {
            bool is_right = at > (p->left + 2 * p->right) / 3;
            put_line(p, "reference", at, p->top, at, p->bottom);
            rer_put_label(p->writer, is_right ? "name halo end" : "name halo", at + (is_right ? -6 : 6), p->top + 11,
                          reference->label, RER_LEGEND_MAX);
        } else {
            put_line(p, "reference", p->left, at, p->right, at);
            rer_put_label(p->writer, "name halo end", p->right - 4, at - 5, reference->label, RER_LEGEND_MAX);
        }
    }
}

static void put_legend(const rer_plot *p)
{
    double x = p->left;
    int row = 0;
    for (int i = 0; has_legend(p->chart) && i < p->chart->n_series; i++) {
        const rer_series *series = &p->chart->series[i];
        if (series->name == NULL)
            continue;
        int color = rer_plot_color(p->chart, i);
        row = legend_place(p, series, &x, row);
        double y = 10 + (p->chart->title != NULL ? 26 : 0) + row * LINE_HEIGHT;
        if (series->kind == RER_LINE) {
            rer_put(p->writer, "<path");
            rer_plot_class(p, "line", color, series->dashed ? " dashed" : "");
            rer_put(p->writer, " d=\"M");
            rer_plot_point(p, x, y);
            rer_put(p->writer, "h22\"/>\n");
        }
        if (series->kind == RER_BARS || series->kind == RER_HISTOGRAM) {
            rer_plot_rectangle(p, color, x + 5, y - 6, x + 17, y + 6);
            rer_put(p->writer, "</rect>\n");
        } else if (!series->dashed) {
            rer_plot_shape(p, color, x + 11, y, 4);
            rer_put(p->writer, "/>\n");
        }
        rer_put_label(p->writer, "name legend", x + 28, y + 4, series->name, RER_LEGEND_MAX);
        x += legend_width(series);
    }
}

void rer_chart_put(rer_writer *writer, const rer_chart *chart)
{
    rer_plot p = make_plot(writer, chart);
    rer_svg_start(writer, p.width, p.height, chart->title, chart->description);
    put_axes(&p);
    for (int i = 0, turn = 0; i < chart->n_series; i++)
        rer_plot_series(&p, i, chart->series[i].kind == RER_BARS ? turn++ : 0);
    put_references(&p);
    put_legend(&p);
    rer_svg_end(writer);
}

void rer_histogram_count(const double *values, int64_t n, double low, double high, int64_t bins, double *edges,
                         double *counts)
{
    for (int64_t k = 0; edges != NULL && k <= bins; k++)
        edges[k] = low + (high - low) * (double)k / (double)bins;
    memset(counts, 0, (size_t)bins * sizeof *counts);
    for (int64_t i = 0; i < n; i++) {
        if (isnan(values[i]))
            continue;
        double place = floor((values[i] - low) / (high - low) * (double)bins);
        counts[place < 0 ? 0 : place >= (double)bins ? bins - 1 : (int64_t)place]++;
    }
}
