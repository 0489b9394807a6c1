/* Heat maps: one rectangle for each cell with a value, the larger the darker. */
#include "report/chart_draw.h"

enum { NAME_MAX = 24, LETTER = 7, LABELLED_MAX = 60 };

typedef struct grid {
    rer_writer *writer;
    const rer_heatmap *map;
    double cell_width, cell_height;
    double left, top, right, bottom;
    double width, height; /* of the whole */
    double high;
} grid;

static double longest_name(const rer_axis *axis, int64_t count)
{
    int64_t most = 0;
    for (int64_t i = 0; axis->names != NULL && i < count && count <= LABELLED_MAX; i++)
        most = rer_max(most, rer_min(rer_text_length(axis->names[i]), NAME_MAX));
    return (double)most * LETTER;
}

static double largest(const rer_heatmap *map)
{
    double most = 0;
    for (int64_t i = 0; i < map->rows * map->columns; i++)
        most = isfinite(map->values[i]) ? fmax(most, map->values[i]) : most;
    return most;
}

static grid make_grid(rer_writer *writer, const rer_heatmap *map)
{
    grid g = {.writer = writer, .map = map};
    double names = longest_name(&map->x, map->columns);
    double side = fmax(4, fmin(46, 640.0 / (double)rer_max(map->columns, map->rows)));
    g.left = 12 + longest_name(&map->y, map->rows) + (map->y.title != NULL ? 20 : 0);
    g.top = 14 + (map->title != NULL ? 26 : 0) + (map->x.title != NULL ? 20 : 0) + (names > 0 ? 10 + names * .62 : 0);
    double below = 14;
    g.width = map->width > 0 ? map->width : g.left + side * (double)map->columns + 14 + names * .4;
    g.height = map->height > 0 ? map->height : g.top + side * (double)map->rows + below;
    double needed = map->title != NULL ? 28 + (double)rer_text_length(map->title) * 9 : 0;
    g.right = g.width - 14 - names * .4;
    g.width = fmax(g.width, needed);
    g.bottom = g.height - below;
    g.cell_width = (g.right - g.left) / (double)rer_max(map->columns, 1);
    g.cell_height = (g.bottom - g.top) / (double)rer_max(map->rows, 1);
    g.high = map->high > 0 ? map->high : largest(map);
    return g;
}

static void put_names(const grid *g)
{
    const rer_heatmap *map = g->map;
    for (int64_t i = 0; map->y.names != NULL && i < map->rows && map->rows <= LABELLED_MAX; i++)
        rer_put_label(g->writer, "y tick name end", g->left - 7, g->top + ((double)i + .5) * g->cell_height + 4,
                      map->y.names[i], NAME_MAX);
    for (int64_t i = 0; map->x.names != NULL && i < map->columns && map->columns <= LABELLED_MAX; i++) {
        rer_put_turned(g->writer, "x tick name", g->left + ((double)i + .5) * g->cell_width + 3, g->top - 8, -38,
                       map->x.names[i], NAME_MAX);
        rer_put(g->writer, "<title>");
        rer_put_html(g->writer, map->x.names[i]);
        rer_put(g->writer, "</title></text>\n");
    }
}

static void put_name(const grid *g, const rer_axis *axis, int64_t i)
{
    if (axis->names != NULL)
        rer_put_html(g->writer, axis->names[i]);
    else
        rer_put_integer(g->writer, i);
}

static const char *cell_text(char text[RER_CHART_TEXT], const rer_heatmap *map, double value)
{
    if (map->is_integer)
        return rer_tick_text(text, value, 1, false);
    if (map->percent && value < .0005)
        return strcpy(text, "< 0.1 %");
    return map->percent ? rer_tick_text(text, value, value < .0995 ? .001 : .01, true)
                        : rer_tick_text(text, value, .01, false);
}

static void put_cell(const grid *g, int64_t row, int64_t column, double value)
{
    char text[RER_CHART_TEXT];
    double x = g->left + (double)column * g->cell_width, y = g->top + (double)row * g->cell_height;
    double gap = g->cell_width > 12 ? 1 : 0;
    double strength = g->high > 0 ? fmin(1, fmax(0, value / g->high)) : 0;
    rer_put(g->writer, "<rect class=\"heat\"");
    rer_put_attribute(g->writer, "x", x + gap);
    rer_put_attribute(g->writer, "y", y + gap);
    rer_put_attribute(g->writer, "width", g->cell_width - 2 * gap);
    rer_put_attribute(g->writer, "height", g->cell_height - 2 * gap);
    rer_put_attribute(g->writer, "fill-opacity", fmax(strength, .01));
    rer_put(g->writer, "><title>");
    put_name(g, &g->map->y, row);
    rer_put(g->writer, " → ");
    put_name(g, &g->map->x, column);
    rer_puts(g->writer, ": ", cell_text(text, g->map, value), "</title></rect>\n");
    if (g->cell_width >= 30 && g->cell_height >= 16)
        rer_put_label(g->writer, "cell", x + g->cell_width / 2, y + g->cell_height / 2 + 4, text, RER_CHART_TEXT);
}

void rer_heatmap_put(rer_writer *writer, const rer_heatmap *map)
{
    grid g = make_grid(writer, map);
    rer_svg_start(writer, g.width, g.height, map->title, map->description);
    rer_put_label(writer, "title", 14, 22, map->title, 100);
    rer_put_label(writer, "x axis-title middle", (g.left + g.right) / 2, map->title != NULL ? 42 : 16, map->x.title,
                  90);
    if (map->y.title != NULL) {
        rer_put_turned(writer, "y axis-title middle", 14, (g.top + g.bottom) / 2, -90, map->y.title, 60);
        rer_put(writer, "</text>\n");
    }
    put_names(&g);
    rer_put(writer, "<path class=\"grid\" fill=\"none\" d=\"M");
    rer_put_pixel(writer, g.left);
    rer_put(writer, " ");
    rer_put_pixel(writer, g.top);
    rer_put(writer, "H");
    rer_put_pixel(writer, g.right);
    rer_put(writer, "V");
    rer_put_pixel(writer, g.bottom);
    rer_put(writer, "H");
    rer_put_pixel(writer, g.left);
    rer_put(writer, "Z\"/>\n");
    for (int64_t row = 0; row < map->rows; row++)
        for (int64_t column = 0; column < map->columns; column++) {
            double value = map->values[row * map->columns + column];
            if (isfinite(value) && value != 0)
                put_cell(&g, row, column, value);
        }
    rer_svg_end(writer);
}
