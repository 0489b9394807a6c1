/* Everything that the scripts show, as one JSON value inside report.html. Rows are named by their number;
 * classes by their place in "classes". */
#include "report/page.h"
#include "core/json.h"
#include "source/texts.h"

#include <limits.h>
#include <unistd.h>

enum { PAIRS_MAX = 20000, CHOICES_MAX = 20000 };

/* How a class is written in the file of labels. */
static const char *label_value(const rer_page *page, int32_t c)
{
    const rer_labels *labels = &page->data->labels;
    bool is_own = page->result->model != NULL && labels->C == page->result->C; /* no result of rer score */
    return is_own ? rer_labels_value(labels, c) : page->result->names[c];
}

static void put_rows(rer_json *json, const int64_t *rows, int64_t count)
{
    rer_json_array(json, NULL);
    for (int64_t i = 0; i < count && rows[i] >= 0; i++)
        rer_json_integer(json, NULL, rows[i]);
    rer_json_end(json);
}

/* ---- classes ---------------------------------------------------------------------------------- */

/* Which classes the page names, and where: those in the table, those of suspects and, as far as they fit,
 * all others that a person may choose. */
typedef struct listed {
    int32_t *place; /* [C], -1: not named */
    int32_t *class; /* [count] */
    int32_t count;
} listed;

static void list_class(listed *list, int32_t c)
{
    if (c < 0 || list->place[c] >= 0)
        return;
    list->place[c] = list->count;
    list->class[list->count++] = c;
}

/* What the row may be, as far as it fits. */
static void list_likely(listed *list, const rer_result *result, int64_t row)
{
    int32_t classes[RER_LIKELY];
    double probabilities[RER_LIKELY];
    int32_t count = rer_result_likely(result, row, classes, probabilities);
    for (int32_t i = 0; i < count && list->count < CHOICES_MAX; i++)
        list_class(list, classes[i]);
}

static bool make_list(listed *list, const rer_page *page)
{
    const rer_result *result = page->result;
    const rer_gallery *gallery = &page->gallery;
    const rer_room rooms[] = {RER_ROOM(list->place, result->C), RER_ROOM(list->class, result->C)};
    rer_writer *writer = page->writer;
    if (!rer_writer_ok(writer, rer_allocate_all(rooms, RER_COUNT(rooms), "classes", writer->error)))
        return false;
    for (int32_t c = 0; c < result->C; c++)
        list->place[c] = -1;
    for (int32_t i = 0; i < gallery->n_classes; i++)
        list_class(list, gallery->classes[i]);
    for (int32_t i = 0; i < gallery->n_classes; i++)
        list_class(list, result->classes[gallery->classes[i]].most_confused_with);
    for (int64_t i = 0; i < gallery->n_suspects; i++) {
        list_class(list, result->given[gallery->suspects[i]]);
        list_class(list, rer_suggested(result, gallery->suspects[i]));
        list_class(list, rer_result_favoured(result, page->data, gallery->suspects[i]));
    }
    for (int64_t i = 0; i < gallery->n_suspects; i++)
        list_likely(list, result, gallery->suspects[i]);
    for (int64_t i = 0; i < gallery->n_outliers; i++)
        list_class(list, result->given[gallery->outliers[i]]);
    for (int32_t c = 0; c < result->C && list->count < CHOICES_MAX; c++)
        list_class(list, c);
    return true;
}

/* Their names, and where it is written otherwise, how the file of labels has them. */
static void put_names(rer_json *json, const rer_page *page, const listed *list)
{
    bool same = true;
    rer_json_array(json, "classes");
    for (int32_t i = 0; i < list->count; i++) {
        const char *name = page->result->names[list->class[i]];
        same = same && strcmp(name, label_value(page, list->class[i])) == 0;
        rer_json_text(json, NULL, name);
    }
    rer_json_end(json);
    if (same) {
        rer_json_text(json, "values", NULL);
        return;
    }
    rer_json_array(json, "values");
    for (int32_t i = 0; i < list->count; i++)
        rer_json_text(json, NULL, label_value(page, list->class[i]));
    rer_json_end(json);
}

/* The heights of a histogram, 0 to z, relative to the largest of both. */
static void put_heights(rer_json *json, const int64_t *counts)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    char heights[2 * RER_ERROR_BINS + 1] = "";
    int64_t most = 1;
    for (int k = 0; k < 2 * RER_ERROR_BINS; k++)
        most = rer_max(most, counts[k]);
    for (int k = 0; k < 2 * RER_ERROR_BINS; k++)
        heights[k] = digits[(35 * counts[k] + most - 1) / most]; /* one sample is seen too */
    rer_json_text(json, NULL, heights);
}

/* For each class of the table, in the order of "classes": samples, chi, noise rate, flagged, most confused
 * with, range and heights of its errors, easiest and hardest rows. */
static void put_table(rer_json *json, const rer_page *page, const listed *list)
{
    const rer_gallery *gallery = &page->gallery;
    rer_class_errors errors = {0};
    rer_status status =
        rer_class_errors_count(&errors, page->result, gallery->classes, gallery->n_classes, json->writer->error);
    bool is_made = rer_writer_ok(json->writer, status);
    rer_json_array(json, "table");
    rer_json_lines(json);
    for (int32_t i = 0; is_made && i < gallery->n_classes; i++) {
        const rer_class_summary *class = &page->result->classes[gallery->classes[i]];
        const int64_t *samples = gallery->samples + (int64_t)i * 2 * RER_CLASS_SAMPLES;
        rer_json_array(json, NULL);
        rer_json_integer(json, NULL, class->n);
        rer_json_real(json, NULL, class->chi);
        rer_json_real(json, NULL, class->noise_rate);
        rer_json_integer(json, NULL, class->n_issues);
        rer_json_integer(json, NULL, class->most_confused_with >= 0 ? list->place[class->most_confused_with] : -1);
        rer_json_real(json, NULL, errors.low[i]);
        rer_json_real(json, NULL, errors.high[i]);
        put_heights(json, errors.counts + (int64_t)i * 2 * RER_ERROR_BINS);
        put_rows(json, samples, RER_CLASS_SAMPLES);
        put_rows(json, samples + RER_CLASS_SAMPLES, RER_CLASS_SAMPLES);
        rer_json_end(json);
    }
    rer_json_end(json);
    rer_class_errors_free(&errors);
}

static void put_integers(rer_json *json, const char *name, const int32_t *values, int32_t n)
{
    rer_json_array(json, name);
    for (int32_t i = 0; i < n; i++)
        rer_json_integer(json, NULL, values[i]);
    rer_json_end(json);
}

/* a, b, samples of a nearest to b, of b nearest to a; classes of the table, by their places. */
static void put_pairs(rer_json *json, const rer_page *page, const listed *list)
{
    const rer_result *result = page->result;
    int64_t put = 0;
    rer_json_array(json, "pairs");
    for (int64_t i = 0; i < result->n_pairs && put < PAIRS_MAX; i++) {
        const rer_pair *pair = &result->pairs[i];
        int32_t a = list->place[pair->a], b = list->place[pair->b];
        if (a < 0 || b < 0 || a >= page->gallery.n_classes || b >= page->gallery.n_classes)
            continue;
        put_rows(json, (const int64_t[]){a, b, pair->a_as_b, pair->b_as_a}, 4);
        put++;
    }
    rer_json_end(json);
}

/* The matrix: an order to draw the classes in, its blocks, the pairs. */
static void put_matrix(rer_json *json, const rer_page *page, const listed *list)
{
    rer_writer *writer = json->writer;
    int32_t n = page->gallery.n_classes, *order = NULL, *block = NULL;
    const rer_room rooms[] = {RER_ROOM(order, n), RER_ROOM(block, n)};
    rer_status status = rer_allocate_all(rooms, RER_COUNT(rooms), "classes", writer->error);
    RER_THEN(status, rer_class_order(order, block, page->result, page->gallery.classes, n, writer->error));
    if (rer_writer_ok(writer, status)) {
        put_integers(json, "order", order, n);
        put_integers(json, "blocks", block, n);
        put_pairs(json, page, list);
    }
    RER_FREE_ALL(order, block);
}

/* ---- rows ------------------------------------------------------------------------------------- */

/* The labels of the rows next to it, as far as they are known. */
static void put_nearest(rer_json *json, const rer_page *page, const listed *list, int64_t row)
{
    int64_t rows[RER_NEAR_ROWS];
    int32_t count = rer_result_near(page->result, row, rows);
    rer_json_array(json, NULL);
    for (int32_t i = 0; i < count; i++) {
        int32_t given = page->result->given[rows[i]];
        if (given >= 0 && list->place[given] >= 0)
            rer_json_integer(json, NULL, list->place[given]);
    }
    rer_json_end(json);
}

/* [class, probability] of what the row may be, the likeliest first. */
static void put_likely(rer_json *json, const rer_page *page, const listed *list, int64_t row)
{
    int32_t classes[RER_LIKELY];
    double probabilities[RER_LIKELY];
    int32_t count = rer_result_likely(page->result, row, classes, probabilities);
    rer_json_array(json, NULL);
    for (int32_t i = 0; i < count; i++) {
        if (list->place[classes[i]] < 0)
            continue;
        rer_json_array(json, NULL);
        rer_json_integer(json, NULL, list->place[classes[i]]);
        rer_json_real(json, NULL, probabilities[i]);
        rer_json_end(json);
    }
    rer_json_end(json);
}

/* [column, its value, what is typical of the given and of the suggested class] */
static void put_telling(rer_json *json, const rer_gallery *gallery, int64_t i)
{
    const rer_telling *telling = gallery->telling != NULL ? gallery->telling + i * RER_TELLING : NULL;
    rer_json_array(json, NULL);
    for (int k = 0; telling != NULL && k < RER_TELLING && telling[k].column >= 0; k++) {
        rer_json_array(json, NULL);
        rer_json_integer(json, NULL, telling[k].column);
        rer_json_real(json, NULL, (double)telling[k].own);
        rer_json_real(json, NULL, (double)telling[k].given);
        rer_json_real(json, NULL, (double)telling[k].suggested);
        rer_json_end(json);
    }
    rer_json_end(json);
}

static void put_columns(rer_json *json, const rer_page *page)
{
    const rer_texts *names = &page->data->columns;
    rer_json_array(json, "columns");
    for (int64_t j = 0; page->gallery.telling != NULL && j < names->count; j++)
        rer_json_text(json, NULL, rer_text(names, j));
    rer_json_end(json);
}

/* Each in the order in which decisions.js reads it. */
static void put_suspects(rer_json *json, const rer_page *page, const listed *list)
{
    const rer_gallery *gallery = &page->gallery;
    rer_json_array(json, "suspects");
    rer_json_lines(json);
    for (int64_t i = 0; i < gallery->n_suspects; i++) {
        rer_sample sample = rer_sample_of(page->result, gallery->suspects[i]);
        const int64_t *examples = gallery->examples + i * 2 * RER_EXAMPLES;
        rer_json_array(json, NULL);
        rer_json_integer(json, NULL, sample.row);
        rer_json_integer(json, NULL, list->place[sample.given]);
        rer_json_integer(json, NULL, sample.suggested >= 0 ? list->place[sample.suggested] : -1);
        rer_json_real(json, NULL, sample.mistakenness);
        rer_json_real(json, NULL, sample.chi);
        rer_json_integer(json, NULL,
                         (sample.is_issue ? 1 : 0) + (sample.is_outlier ? 2 : 0) + (i < gallery->n_ranked ? 4 : 0));
        put_rows(json, examples, RER_EXAMPLES);
        put_rows(json, examples + RER_EXAMPLES, RER_EXAMPLES);
        rer_json_integer(json, NULL, sample.near);
        rer_json_integer(json, NULL, sample.near_suggested);
        rer_json_real(json, NULL, sample.nearness);
        bool in_conflict = sample.duplicates >= 0 && sample.duplicates < page->result->summary.n_duplicate_conflicts;
        rer_json_integer(json, NULL, in_conflict ? sample.duplicates : -1);
        put_nearest(json, page, list, sample.row);
        put_rows(json, gallery->neighbours + i * RER_NEIGHBOURS, RER_NEIGHBOURS);
        put_telling(json, gallery, i);
        put_likely(json, page, list, sample.row);
        int32_t favoured = rer_result_favoured(page->result, page->data, sample.row);
        rer_json_integer(json, NULL, favoured >= 0 ? list->place[favoured] : -1);
        rer_json_end(json);
    }
    rer_json_end(json);
}

/* [row, given class or -1] */
static void put_outliers(rer_json *json, const rer_page *page, const listed *list)
{
    const rer_gallery *gallery = &page->gallery;
    rer_json_array(json, "outliers");
    for (int64_t i = 0; i < gallery->n_outliers; i++) {
        int32_t given = page->result->given[gallery->outliers[i]];
        rer_json_array(json, NULL);
        rer_json_integer(json, NULL, gallery->outliers[i]);
        rer_json_integer(json, NULL, given >= 0 ? list->place[given] : -1);
        rer_json_end(json);
    }
    rer_json_end(json);
}

/* One value for each row shown, by its number. */
typedef void row_putter(rer_json *json, const char *row, const rer_page *page, int64_t i);

static void put_by_row(rer_json *json, const char *name, const rer_page *page, bool is_there, row_putter *put)
{
    if (!is_there) {
        rer_json_text(json, name, NULL);
        return;
    }
    rer_json_object(json, name);
    rer_json_lines(json);
    for (int64_t i = 0; i < page->gallery.n_rows; i++) {
        char row[24];
        (void)snprintf(row, sizeof row, "%lld", (long long)page->gallery.rows[i]);
        put(json, row, page, i);
    }
    rer_json_end(json);
}

static void put_picture(rer_json *json, const char *row, const rer_page *page, int64_t i)
{
    const rer_thumbnails *thumbnails = &page->gallery.thumbnails;
    if (thumbnails->bytes[i] == NULL)
        return;
    rer_json_name(json, row);
    rer_put(json->writer, "\"");
    rer_put_base64(json->writer, thumbnails->bytes[i], thumbnails->size[i]);
    rer_put(json->writer, "\"");
}

static void put_id(rer_json *json, const char *row, const rer_page *page, int64_t i)
{
    rer_json_text(json, row, rer_dataset_id(page->data, page->gallery.rows[i]));
}

static void put_file(rer_json *json, const char *row, const rer_page *page, int64_t i)
{
    rer_json_text(json, row, rer_text(&page->data->images.paths, page->gallery.rows[i]));
}

/* How deep below the present folder a page lies that is written there; -1: elsewhere. */
static int depth_of(const rer_result_files *files)
{
    const char *at = files->place;
    int depth = files->is_file ? -1 : 0;
    if (at == NULL || at[0] == '/')
        return -1;
    for (size_t length = 0; *at != 0; at += length + (at[length] == '/')) {
        length = strcspn(at, "/");
        if (length == 2 && strncmp(at, "..", 2) == 0)
            return -1;
        depth += length > 0 && !(length == 1 && at[0] == '.');
    }
    return depth;
}

/* What the names of pictures' files are seen from: "../" leads there from a page in a folder below, so that all of it
 * may be moved; elsewhere it is the present folder. */
static void put_origin(rer_json *json, const rer_page *page)
{
    char text[PATH_MAX + 16] = "", here[PATH_MAX] = "";
    int depth = depth_of(page->files);
    if (depth < 0 && getcwd(here, sizeof here) != NULL)
        (void)snprintf(text, sizeof text, "%s/", here);
    for (int i = 0; i < depth && i < PATH_MAX / 3; i++)
        memcpy(text + 3 * (size_t)i, "../", 4);
    rer_json_text(json, "origin", text);
}

static void put_text(rer_json *json, const char *row, const rer_page *page, int64_t i)
{
    rer_json_text(json, row, rer_text(&page->gallery.texts, i));
}

/* The given class of examples and samples needs no place here: the page shows them under its name. */
static void put_bars(rer_json *json, const char *row, const rer_page *page, int64_t i)
{
    rer_json_array(json, row);
    for (int k = 0; k < page->gallery.n_bars; k++)
        rer_json_integer(json, NULL, page->gallery.bars[i * page->gallery.n_bars + k]);
    rer_json_end(json);
}

void rer_page_data(const rer_page *page)
{
    rer_json json = {.writer = page->writer, .style = RER_JSON_PAGE};
    listed list = {0};
    if (make_list(&list, page)) {
        rer_put(page->writer, "<script type=\"application/json\" id=\"data\">");
        rer_json_object(&json, NULL);
        rer_json_lines(&json);
        rer_json_text(&json, "version", rer_version());
        rer_json_checksum(&json, "checksum", page->data->labels_checksum);
        rer_json_checksum(&json, "features", page->data->features_checksum);
        rer_json_integer(&json, "issues", page->result->summary.n_issues);
        rer_json_integer(&json, "clusters", page->data->clusters);
        rer_json_bool(&json, "nearWhole", page->result->looks.whole);
        put_names(&json, page, &list);
        put_table(&json, page, &list);
        put_matrix(&json, page, &list);
        put_columns(&json, page);
        put_suspects(&json, page, &list);
        put_outliers(&json, page, &list);
        put_by_row(&json, "pictures", page, page->gallery.thumbnails.count > 0, put_picture);
        if (page->data->ids.count > 0)
            put_by_row(&json, "ids", page, true, put_id);
        if (page->data->images.paths.count > 0) {
            put_origin(&json, page);
            put_by_row(&json, "files", page, true, put_file);
        }
        if (page->gallery.texts.count > 0)
            put_by_row(&json, "texts", page, true, put_text);
        put_by_row(&json, "bars", page, page->gallery.bars != NULL, put_bars);
        rer_json_end(&json);
        rer_put(page->writer, "</script>\n");
    }
    RER_FREE_ALL(list.place, list.class);
}
