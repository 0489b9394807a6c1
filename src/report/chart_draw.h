/* What the files that draw charts share. */
#pragma once

#include "report/chart.h"

typedef struct rer_axis_scale { /* value -> pixel */
    double low, high;           /* log10 of the ends where `log` */
    double from, to;            /* pixels */
    bool log;
} rer_axis_scale;

#define RER_TICKS_MAX 16
/* Whether the value has a place: a number, and above 0 on a log axis. */
bool rer_axis_scale_shows(const rer_axis_scale *scale, double value);
double rer_axis_scale_at(const rer_axis_scale *scale, double value);
/* Round numbers in low..high, about `wanted` of them; returns how many. */
int rer_ticks(double low, double high, bool log, int wanted, double *ticks);
/* Widens low..high to round numbers, about `wanted` steps apart. */
void rer_ticks_widen(double *low, double *high, bool log, int wanted);

/* "12,500", "0.25", "1.5M", "10 %": as many digits as a step needs. Independent of the locale. */
const char *rer_tick_text(char text[RER_CHART_TEXT], double value, double step, bool percent);
/* Four digits, for what is shown when pointed at. */
const char *rer_value_text(char text[RER_CHART_TEXT], double value, bool percent);

void rer_put_pixel(rer_writer *writer, double value); /* two decimals at most */
int64_t rer_text_length(const char *text);            /* characters */
/* <text class="..." x="" y="">...</text> of at most `most` characters, the whole text when pointed at. */
void rer_put_label(rer_writer *writer, const char *class, double x, double y, const char *text, int64_t most);
/* The start of a text that is turned around its place; the caller puts what else is in it, and </text>. */
void rer_put_turned(rer_writer *writer, const char *class, double x, double y, int degrees, const char *text,
                    int64_t most);
/* <svg ...>, outside of pages with what makes a file of its own, and its end. */
void rer_svg_start(rer_writer *writer, double width, double height, const char *title, const char *description);
void rer_svg_end(rer_writer *writer);

/* ---- a chart with two axes: chart.c, its marks: chart_marks.c --------------------------------- */

enum { RER_NAME_MAX = 28, RER_LEGEND_MAX = 60 }; /* characters of a category, of a series in the legend */

typedef struct rer_plot {
    rer_writer *writer;
    const rer_chart *chart;
    rer_axis_scale x, y;
    double width, height;            /* of the whole */
    double left, right, top, bottom; /* of the plot */
    double ticks[2][RER_TICKS_MAX];
    int n_ticks[2];
    int n_bars;       /* series of bars, which share the room of a category */
    bool bars_across; /* along x */
    bool slanted;     /* names of x */
} rer_plot;

void rer_plot_series(const rer_plot *p, int i, int turn); /* bars: the `turn`th of p->n_bars side by side */
int rer_plot_color(const rer_chart *chart, int i);        /* 1 to RER_COLORS */
/* Elements left open for a <title>: "<rect ...>" between two corners, "<circle ..." or "<polygon ...". */
void rer_plot_rectangle(const rer_plot *p, int color, double x1, double y1, double x2, double y2);
void rer_plot_shape(const rer_plot *p, int color, double x, double y, double r);
void rer_plot_class(const rer_plot *p, const char *mark, int color, const char *more); /* class="mark cN more" */
void rer_plot_point(const rer_plot *p, double x, double y);                            /* "x y" */
