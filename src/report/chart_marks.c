/* The marks of a chart: lines and bands, points and whiskers, bars, histograms. */
#include "report/chart_draw.h"

enum { MARKED_MAX = 60 }; /* points of a line that get a mark each */

int rer_plot_color(const rer_chart *chart, int i)
{
    int color = chart->series[i].color;
    return color > 0 ? (color - 1) % RER_COLORS + 1 : i % RER_COLORS + 1;
}

/* class="mark cN more" */
void rer_plot_class(const rer_plot *p, const char *mark, int color, const char *more)
{
    rer_put(p->writer, " class=\"");
    rer_put(p->writer, mark);
    rer_put_format(p->writer, " c%d", color);
    rer_put(p->writer, more);
    rer_put(p->writer, "\"");
}

/* What is shown when a mark is pointed at: "name: x, y". */
static void put_tip(const rer_plot *p, const rer_series *series, int64_t i)
{
    const rer_axis *x = &p->chart->x, *y = &p->chart->y;
    char text[RER_CHART_TEXT];
    bool has_names = p->bars_across;
    const rer_axis *along = has_names ? y : x, *value_axis = has_names ? x : y;
    const double *places = has_names ? series->y : series->x, *values = has_names ? series->x : series->y;
    double place = places != NULL ? places[i] : (double)i;
    rer_put(p->writer, "<title>");
    if (series->name != NULL) {
        rer_put_html(p->writer, series->name);
        rer_put(p->writer, ": ");
    }
    if (series->labels != NULL) {
        rer_put_html(p->writer, series->labels[i]);
        rer_put(p->writer, ", ");
    }
    if (along->names == NULL)
        rer_put(p->writer, rer_value_text(text, place, along->percent));
    else if (place >= 0 && place < (double)along->n_names)
        rer_put_html(p->writer, along->names[(int64_t)place]);
    rer_puts(p->writer, ", ", rer_value_text(text, values != NULL ? values[i] : (double)i, value_axis->percent),
             "</title>");
}

void rer_plot_point(const rer_plot *p, double x, double y)
{
    rer_put_pixel(p->writer, x);
    rer_put(p->writer, " ");
    rer_put_pixel(p->writer, y);
}

static bool shows_xy(const rer_plot *p, double x, double y)
{
    return rer_axis_scale_shows(&p->x, x) && rer_axis_scale_shows(&p->y, y);
}

static void put_band(const rer_plot *p, const rer_series *series, int color)
{
    int64_t i = 0;
    while (i < series->n) { /* one closed path for each stretch without a gap */
        while (i < series->n &&
               !(shows_xy(p, series->x[i], series->low[i]) && rer_axis_scale_shows(&p->y, series->high[i])))
            i++;
        int64_t first = i;
        while (i < series->n && shows_xy(p, series->x[i], series->low[i]) &&
               rer_axis_scale_shows(&p->y, series->high[i]))
            i++;
        if (i - first < 2)
            continue;
        rer_put(p->writer, "<path");
        rer_plot_class(p, "band", color, "");
        rer_put(p->writer, " d=\"M");
        for (int64_t k = first; k < i; k++) {
            rer_put(p->writer, k > first ? "L" : "");
            rer_plot_point(p, rer_axis_scale_at(&p->x, series->x[k]), rer_axis_scale_at(&p->y, series->high[k]));
        }
        for (int64_t k = i - 1; k >= first; k--) {
            rer_put(p->writer, "L");
            rer_plot_point(p, rer_axis_scale_at(&p->x, series->x[k]), rer_axis_scale_at(&p->y, series->low[k]));
        }
        rer_put(p->writer, "Z\"/>\n");
    }
}

/* A filled shape around the place: the colours have one each. */
void rer_plot_shape(const rer_plot *p, int color, double x, double y, double r)
{
    static const char *const shapes[RER_COLORS] = {
        NULL, /* a circle */
        "-1 -1 1 -1 1 1 -1 1",
        "0 -1.25 1.15 .85 -1.15 .85",
        "0 -1.3 1.3 0 0 1.3 -1.3 0",
        "0 1.25 1.15 -.85 -1.15 -.85",
        "-.5 -1.2 .5 -1.2 .5 1.2 -.5 1.2",
        "-1.2 -.5 1.2 -.5 1.2 .5 -1.2 .5",
        "-.6 -1.2 .6 -1.2 1.2 0 .6 1.2 -.6 1.2 -1.2 0",
    };
    const char *shape = shapes[color - 1];
    if (shape == NULL) {
        rer_put(p->writer, "<circle");
        rer_plot_class(p, "dot", color, "");
        rer_put_attribute(p->writer, "cx", x);
        rer_put_attribute(p->writer, "cy", y);
        rer_put_attribute(p->writer, "r", r);
    } else {
        rer_put(p->writer, "<polygon");
        rer_plot_class(p, "dot", color, "");
        rer_puts(p->writer, " points=\"", shape, "\" transform=\"translate(");
        rer_plot_point(p, x, y);
        rer_put(p->writer, ") scale(");
        rer_put_pixel(p->writer, r);
        rer_put(p->writer, ")\"");
    }
}

static void put_dots(const rer_plot *p, const rer_series *series, int color, double r)
{
    for (int64_t i = 0; i < series->n; i++) {
        double x = series->x != NULL ? series->x[i] : (double)i, y = series->y != NULL ? series->y[i] : (double)i;
        if (!shows_xy(p, x, y))
            continue;
        double at_x = rer_axis_scale_at(&p->x, x), at_y = rer_axis_scale_at(&p->y, y);
        rer_plot_shape(p, color, at_x, at_y, r);
        rer_put(p->writer, ">");
        put_tip(p, series, i);
        rer_put(p->writer, color == 1 ? "</circle>\n" : "</polygon>\n");
        if (series->labels != NULL)
            rer_put_label(p->writer, at_x > p->right - 70 ? "name halo end" : "name halo",
                          at_x > p->right - 70 ? at_x - 8 : at_x + 8, at_y + 4, series->labels[i], RER_NAME_MAX);
    }
}

/* Whether nobody could tell two lines apart. */
static bool lines_coincide(const rer_plot *p, const rer_series *a, const rer_series *b)
{
    if (a->kind != RER_LINE || b->kind != RER_LINE || a->dashed || b->dashed || a->n != b->n)
        return false;
    for (int64_t i = 0; i < a->n; i++) {
        double x = rer_axis_scale_at(&p->x, a->x[i]) - rer_axis_scale_at(&p->x, b->x[i]);
        double y = rer_axis_scale_at(&p->y, a->y[i]) - rer_axis_scale_at(&p->y, b->y[i]);
        if (fabs(x) > 1.5 || fabs(y) > 1.5) /* NaN: a gap in either */
            return false;
    }
    return true;
}

/* Lines that coincide share their way dash by dash, and the first have the larger marks: all can be seen. */
static void put_curve(const rer_plot *p, const rer_series *series, int color)
{
    enum { DASH = 9 };
    bool drawing = false;
    int all = 0, place = 0;
    for (int i = 0; i < p->chart->n_series; i++) {
        place = &p->chart->series[i] == series ? all : place;
        all += lines_coincide(p, series, &p->chart->series[i]);
    }
    rer_put(p->writer, "<path");
    rer_plot_class(p, "line", color, series->dashed ? " dashed" : "");
    if (all > 1) {
        rer_put(p->writer, " stroke-dasharray=\"");
        rer_put_integer(p->writer, DASH);
        rer_put(p->writer, " ");
        rer_put_integer(p->writer, (int64_t)DASH * (all - 1));
        rer_put(p->writer, "\"");
        rer_put_attribute(p->writer, "stroke-dashoffset", -(double)DASH * place);
    }
    rer_put(p->writer, " d=\"");
    for (int64_t i = 0; i < series->n; i++) {
        bool shows = shows_xy(p, series->x[i], series->y[i]);
        if (shows) {
            rer_put(p->writer, drawing ? "L" : "M");
            rer_plot_point(p, rer_axis_scale_at(&p->x, series->x[i]), rer_axis_scale_at(&p->y, series->y[i]));
        }
        drawing = shows;
    }
    rer_put(p->writer, "\"/>\n");
    if (!series->dashed && series->n <= MARKED_MAX)
        put_dots(p, series, color, 3.2 + 1.6 * (all > 1 ? all - 1 - place : 0));
}

/* From low to high along one axis at the place `at` (a pixel) of the other. */
static void put_whisker(const rer_plot *p, double low, double high, double at, bool across, int color)
{
    const rer_axis_scale *scale = across ? &p->x : &p->y;
    if (!rer_axis_scale_shows(scale, low) || !rer_axis_scale_shows(scale, high))
        return;
    double from = rer_axis_scale_at(scale, low), to = rer_axis_scale_at(scale, high), ends[2] = {from, to};
    rer_put(p->writer, "<path");
    rer_plot_class(p, "whisker", color, "");
    rer_put(p->writer, " d=\"M");
    rer_plot_point(p, across ? from : at, across ? at : from);
    rer_put(p->writer, "L");
    rer_plot_point(p, across ? to : at, across ? at : to);
    for (int i = 0; i < 2; i++) {
        rer_put(p->writer, "M");
        rer_plot_point(p, across ? ends[i] : at - 4, across ? at - 4 : ends[i]);
        rer_put(p->writer, "L");
        rer_plot_point(p, across ? ends[i] : at + 4, across ? at + 4 : ends[i]);
    }
    rer_put(p->writer, "\"/>\n");
}

static void put_whiskers(const rer_plot *p, const rer_series *series, int color)
{
    bool across = p->bars_across;
    const rer_axis_scale *scale = across ? &p->y : &p->x;
    const double *places = across ? series->y : series->x;
    for (int64_t i = 0; i < series->n; i++) {
        double place = places != NULL ? places[i] : (double)i;
        if (rer_axis_scale_shows(scale, place))
            put_whisker(p, series->low[i], series->high[i], rer_axis_scale_at(scale, place), across, color);
    }
}

void rer_plot_rectangle(const rer_plot *p, int color, double x1, double y1, double x2, double y2)
{
    rer_put(p->writer, "<rect");
    rer_plot_class(p, "bar", color, "");
    rer_put_attribute(p->writer, "x", fmin(x1, x2));
    rer_put_attribute(p->writer, "y", fmin(y1, y2));
    rer_put_attribute(p->writer, "width", fabs(x2 - x1));
    rer_put_attribute(p->writer, "height", fabs(y2 - y1));
    rer_put(p->writer, ">");
}

/* Where a bar begins: at 0, or at the end of the axis on a log scale or without 0. */
static double base_of(const rer_axis_scale *scale)
{
    if (scale->log)
        return scale->from;
    return rer_axis_scale_at(scale, fmax(scale->low, fmin(scale->high, 0)));
}

/* `turn` of p->n_bars series side by side. */
static void put_bars(const rer_plot *p, const rer_series *series, int color, int turn)
{
    bool across = p->bars_across;
    const rer_axis_scale *along = across ? &p->y : &p->x, *scale = across ? &p->x : &p->y;
    const double *places = across ? series->y : series->x, *values = across ? series->x : series->y;
    double band = fabs(rer_axis_scale_at(along, 1) - rer_axis_scale_at(along, 0)) * .76;
    double each = band / p->n_bars, thick = fmin(each * (p->n_bars > 1 ? .92 : 1), 46), base = base_of(scale);
    for (int64_t i = 0; i < series->n; i++) {
        if (!rer_axis_scale_shows(scale, values[i]))
            continue;
        double at = rer_axis_scale_at(along, places != NULL ? places[i] : (double)i);
        double middle = at - band / 2 + (turn + .5) * each, end = rer_axis_scale_at(scale, values[i]);
        double from = middle - thick / 2, to = middle + thick / 2;
        rer_plot_rectangle(p, color, across ? base : from, across ? from : base, across ? end : to, across ? to : end);
        put_tip(p, series, i);
        rer_put(p->writer, "</rect>\n");
        if (series->low != NULL)
            put_whisker(p, series->low[i], series->high[i], middle, across, RER_COLORS);
    }
}

static void put_histogram(const rer_plot *p, const rer_series *series, int color)
{
    char low[RER_CHART_TEXT], high[RER_CHART_TEXT], height[RER_CHART_TEXT];
    double base = base_of(&p->y);
    for (int64_t i = 0; i < series->n; i++) {
        if (!shows_xy(p, series->x[i], series->y[i]) || !rer_axis_scale_shows(&p->x, series->x[i + 1]) ||
            series->y[i] == 0)
            continue;
        double from = rer_axis_scale_at(&p->x, series->x[i]), to = rer_axis_scale_at(&p->x, series->x[i + 1]);
        double gap = fmin(1, (to - from) / 8);
        rer_plot_rectangle(p, color, from + gap / 2, base, to - gap / 2, rer_axis_scale_at(&p->y, series->y[i]));
        rer_puts(p->writer, "<title>", rer_value_text(low, series->x[i], p->chart->x.percent), " – ",
                 rer_value_text(high, series->x[i + 1], p->chart->x.percent), ": ",
                 rer_value_text(height, series->y[i], p->chart->y.percent), "</title></rect>\n");
    }
}

void rer_plot_series(const rer_plot *p, int i, int turn)
{
    const rer_series *series = &p->chart->series[i];
    int color = rer_plot_color(p->chart, i);
    switch (series->kind) {
    case RER_LINE:
        if (series->low != NULL && series->high != NULL)
            put_band(p, series, color);
        put_curve(p, series, color);
        break;
    case RER_POINTS:
        if (series->low != NULL && series->high != NULL)
            put_whiskers(p, series, color);
        put_dots(p, series, color, 4);
        break;
    case RER_BARS:
        put_bars(p, series, color, turn);
        break;
    case RER_HISTOGRAM:
        put_histogram(p, series, color);
        break;
    }
}
