/* Draws a chart or a heat map that standard input describes in JSON (the members of rer_chart or
 * rer_heatmap by their names) to a file: draw_chart FILE.svg. Or, with -, prints it as a page would hold it. */
#include "core/files.h"
#include "report/chart.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

enum { SERIES_MAX = 10 };

static const char *text_of(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

static double number_of(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

static bool flag_of(const json_t *object, const char *name)
{
    return json_is_true(json_object_get(object, name));
}

/* [n] of a list, null as NaN; NULL where there is none. */
static double *numbers_of(const json_t *object, const char *name, int64_t *n)
{
    const json_t *list = json_object_get(object, name);
    double *values = NULL;
    if (!json_is_array(list) ||
        rer_allocate(&values, (int64_t)json_array_size(list), sizeof *values, "", NULL) != RER_OK)
        return NULL;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        values[i] = json_is_number(item) ? json_number_value(item) : NAN;
    }
    if (n != NULL)
        *n = (int64_t)json_array_size(list);
    return values;
}

static const char *const *texts_of(const json_t *object, const char *name, int64_t *n)
{
    const json_t *list = json_object_get(object, name);
    const char **values = NULL;
    if (!json_is_array(list) ||
        rer_allocate(&values, (int64_t)json_array_size(list), sizeof *values, "", NULL) != RER_OK)
        return NULL;
    for (size_t i = 0; i < json_array_size(list); i++)
        values[i] = json_string_value(json_array_get(list, i));
    if (n != NULL)
        *n = (int64_t)json_array_size(list);
    return values;
}

static rer_axis axis_of(const json_t *object)
{
    rer_axis axis = {
        .title = text_of(object, "title"), .low = number_of(object, "low"), .high = number_of(object, "high")};
    axis.log = flag_of(object, "log");
    axis.percent = flag_of(object, "percent");
    axis.names = texts_of(object, "names", &axis.n_names);
    return axis;
}

static rer_series series_of(const json_t *object)
{
    static const char *const kinds[] = {"line", "points", "bars", "histogram"};
    rer_series series = {.name = text_of(object, "name"), .dashed = flag_of(object, "dashed")};
    for (int k = 0; k < 4; k++)
        if (strcmp(text_of(object, "kind"), kinds[k]) == 0)
            series.kind = (rer_series_kind)k;
    series.color = (int)number_of(object, "color");
    series.x = numbers_of(object, "x", &series.n);
    series.y = numbers_of(object, "y", json_object_get(object, "y") != NULL ? &series.n : NULL);
    series.low = numbers_of(object, "low", NULL);
    series.high = numbers_of(object, "high", NULL);
    series.labels = texts_of(object, "labels", NULL);
    return series;
}

static void put_chart(rer_writer *writer, const void *what, int which)
{
    (void)which;
    rer_chart_put(writer, what);
}

static void put_heatmap(rer_writer *writer, const void *what, int which)
{
    (void)which;
    rer_heatmap_put(writer, what);
}

/* Into a file, or as a part of a page to stdout. */
static int draw(rer_putter *put, const void *what, const char *path)
{
    rer_error error = {0};
    rer_writer writer;
    char *text = NULL;
    rer_writer_start(&writer, NULL, &error);
    writer.in_page = true;
    put(&writer, what, 0);
    rer_status status = rer_writer_end_memory(&writer, &text);
    if (status == RER_OK && strcmp(path, "-") == 0)
        (void)fputs(text, stdout);
    else if (status == RER_OK)
        status = rer_file_write(path, put, what, 0, &error);
    free(text);
    if (status != RER_OK)
        (void)fprintf(stderr, "%s\n", error.message);
    return (int)status;
}

static int draw_heatmap(const json_t *root, const char *path)
{
    rer_heatmap map = {.title = text_of(root, "title"), .high = number_of(root, "high")};
    map.x = axis_of(json_object_get(root, "x"));
    map.y = axis_of(json_object_get(root, "y"));
    map.rows = (int64_t)number_of(root, "rows");
    map.columns = (int64_t)number_of(root, "columns");
    map.values = numbers_of(root, "values", NULL);
    map.percent = flag_of(root, "percent");
    return draw(put_heatmap, &map, path);
}

/* {"count": [values], "low": , "high": , "bins": } -> counts, one a line */
static int count_histogram(const json_t *root)
{
    double counts[1000];
    int64_t n = 0, bins = (int64_t)number_of(root, "bins");
    double *values = numbers_of(root, "count", &n);
    rer_histogram_count(values, n, number_of(root, "low"), number_of(root, "high"), bins, NULL, counts);
    for (int64_t k = 0; k < bins; k++)
        printf("%.0f\n", counts[k]);
    free(values);
    return 0;
}

int main(int argc, char **argv)
{
    static rer_series series[SERIES_MAX];
    static rer_reference references[SERIES_MAX];
    json_t *root = json_loadf(stdin, 0, NULL);
    if (argc != 2 || root == NULL)
        return 2;
    if (json_object_get(root, "count") != NULL)
        return count_histogram(root);
    if (json_object_get(root, "values") != NULL)
        return draw_heatmap(root, argv[1]);
    rer_chart chart = {.title = text_of(root, "title"), .series = series, .references = references};
    chart.width = number_of(root, "width");
    chart.height = number_of(root, "height");
    chart.x = axis_of(json_object_get(root, "x"));
    chart.y = axis_of(json_object_get(root, "y"));
    const json_t *list = json_object_get(root, "series");
    for (size_t i = 0; i < json_array_size(list); i++)
        series[chart.n_series++] = series_of(json_array_get(list, i));
    list = json_object_get(root, "references");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        references[chart.n_references++] =
            (rer_reference){number_of(item, "value"), flag_of(item, "is_vertical"), text_of(item, "label")};
    }
    return draw(put_chart, &chart, argv[1]);
}
