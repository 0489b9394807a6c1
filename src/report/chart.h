/* Charts as SVG: lines with bands, points with whiskers, bars, histograms, heat maps.
 *
 *     double n[] = {20, 40, 80}, chi[] = {.71, .64, .60}, low[] = {.69, .63, .59}, high[] = {.73, .65, .61};
 *     rer_series series[] = {
 *         {.kind = RER_LINE, .name = "measured", .n = 3, .x = n, .y = chi, .low = low, .high = high},
 *     };
 *     rer_reference references[] = {{.value = .58, .label = "limit"}};
 *     rer_chart chart = {
 *         .title = "Difficulty against sample size",
 *         .x = {.title = "samples of a class", .log = true},
 *         .y = {.title = "chi"},
 *         .series = series, .n_series = 1, .references = references, .n_references = 1,
 *     };
 *     rer_chart_put(writer, &chart); // in a page: <svg class="chart" ...>; else a file with the style inside
 *
 * Inside a page the colours come from the classes of chart.css (the frame of frame.h has it), so that
 * light, dark and print follow the page. All texts are escaped here; give them as the user wrote them.
 * Series are told apart by the shape of their points and by dashes too, not by colour alone. A number
 * that cannot be shown (NaN, infinite, not above 0 on a log axis, outside the range that was given) is left
 * out: a line breaks there. */
#pragma once

#include "core/writer.h"

typedef struct rer_axis {
    const char *title;
    double low, high;         /* the same (0 and 0): from the data, widened to round numbers */
    bool log;                 /* decades instead of equal steps */
    bool percent;             /* 0.1 is shown as 10 % */
    const char *const *names; /* [n_names]: categories at 0, 1, ... instead of numbers; on y from the top */
    int64_t n_names;
} rer_axis;

typedef enum rer_series_kind {
    RER_LINE,      /* x, y [n]; low, high [n]: a band; up to 60 points get a mark each */
    RER_POINTS,    /* x, y [n]; low, high [n]: whiskers; labels [n]: a text beside each */
    RER_BARS,      /* from 0 up to y[i] above the category x[i] of an axis with names (x NULL: 0, 1, ...);
                      where the y axis has the names, across from 0 to x[i] (y NULL: 0, 1, ...);
                      several series stand side by side; low, high: whiskers along the bar */
    RER_HISTOGRAM, /* edges x [n + 1], heights y [n] */
} rer_series_kind;

typedef struct rer_series {
    rer_series_kind kind;
    const char *name; /* in the legend; NULL: not there */
    int64_t n;
    const double *x, *y;
    const double *low, *high;  /* NULL: none */
    const char *const *labels; /* NULL: none */
    int color;                 /* 0: by its place among the series; else 1 to RER_COLORS */
    bool dashed;               /* a line in the background: thin, no marks */
} rer_series;

#define RER_COLORS 8

typedef struct rer_reference { /* a straight line with its label, across the whole chart */
    double value;
    bool is_vertical; /* at x = value, else at y = value */
    const char *label;
} rer_reference;

typedef struct rer_chart {
    const char *title;       /* drawn above; NULL: none */
    const char *description; /* for those who cannot see it; NULL: the title */
    double width, height;    /* 0: 640 x 360; charts scale with the page */
    rer_axis x, y;
    const rer_series *series; /* [n_series] */
    int n_series;
    const rer_reference *references; /* [n_references] */
    int n_references;
} rer_chart;

typedef struct rer_heatmap {
    const char *title, *description;
    double width, height;  /* 0: by the number of cells */
    rer_axis x, y;         /* names (or NULL) and titles; row 0 is on top */
    int64_t rows, columns; /* drawn cell by cell: at most some 10,000 */
    const double *values;  /* [rows, columns]; NaN and 0 leave the cell empty */
    double high;           /* of the darkest; 0: the largest value. 0 is the lightest */
    bool percent;          /* of the numbers in the cells, shown where there is room */
    bool is_integer;       /* likewise */
} rer_heatmap;

/* Into a page, where the writer is in one, else as the whole text of a .svg file. */
void rer_chart_put(rer_writer *writer, const rer_chart *chart);
void rer_heatmap_put(rer_writer *writer, const rer_heatmap *map);

/* counts [bins] of the values in bins of equal width from low to high; those outside go to the first or
 * last bin, NaN to none. edges [bins + 1] may be NULL. */
void rer_histogram_count(const double *values, int64_t n, double low, double high, int64_t bins, double *edges,
                         double *counts);

/* name="value" of an attribute in pixels, with a space before it. */
void rer_put_attribute(rer_writer *writer, const char *name, double value);
/* Widens low..high to the round numbers that an axis of its own would end at. */
void rer_chart_widen(double *low, double *high);

#define RER_CHART_TEXT 48
/* A number with a fixed count of decimals and commas between thousands, a dash for NaN; the same in
 * every locale. */
const char *rer_fixed_text(char text[RER_CHART_TEXT], double value, int decimals);
