/* Everything that the scripts show, as one JSON value inside report.html. Rows are named by their number;
 * classes by their place in "classes". */
#include "report/page.h"
#include "source/texts.h"

#include <math.h>
#include <string.h>

enum { PAIRS_MAX = 20000, CHOICES_MAX = 20000 };

const char *rer_page_value(const rer_page *page, int32_t c)
{
    const rer_labels *labels = &page->data->labels;
    bool is_own = page->result->model != NULL && labels->C == page->result->C; /* no result of rer score */
    return is_own ? rer_labels_value(labels, c) : page->result->names[c];
}

static void put_name(rer_writer *writer, const char *name)
{
    rer_put(writer, ",\n\"");
    rer_put(writer, name);
    rer_put(writer, "\":");
}

/* NaN is null. */
static void put_number(rer_writer *writer, double value)
{
    if (isfinite(value))
        rer_put_number(writer, value);
    else
        rer_put(writer, "null");
}

static void put_comma(rer_writer *writer, bool is_first)
{
    if (!is_first)
        rer_put(writer, ",");
}

static void put_rows(rer_writer *writer, const int64_t *rows, int64_t count)
{
    rer_put(writer, "[");
    for (int64_t i = 0; i < count && rows[i] >= 0; i++) {
        put_comma(writer, i == 0);
        rer_put_integer(writer, rows[i]);
    }
    rer_put(writer, "]");
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

static rer_status make_list(listed *list, const rer_page *page, rer_error *error)
{
    const rer_result *result = page->result;
    const rer_gallery *gallery = &page->gallery;
    rer_status status = rer_allocate(&list->place, result->C, sizeof *list->place, "classes", error);
    if (status == RER_OK)
        status = rer_allocate(&list->class, result->C, sizeof *list->class, "classes", error);
    if (status != RER_OK)
        return status;
    for (int32_t c = 0; c < result->C; c++)
        list->place[c] = -1;
    for (int32_t i = 0; i < gallery->n_classes; i++)
        list_class(list, gallery->classes[i]);
    for (int32_t i = 0; i < gallery->n_classes; i++)
        list_class(list, result->classes[gallery->classes[i]].most_confused_with);
    for (int64_t i = 0; i < gallery->n_suspects; i++) {
        list_class(list, result->given[gallery->suspects[i]]);
        list_class(list, rer_suggested(result, gallery->suspects[i]));
    }
    for (int64_t i = 0; i < gallery->n_outliers; i++)
        list_class(list, result->given[gallery->outliers[i]]);
    for (int32_t c = 0; c < result->C && list->count < CHOICES_MAX; c++)
        list_class(list, c);
    return RER_OK;
}

static void put_names(const rer_page *page, const listed *list)
{
    rer_writer *writer = page->writer;
    bool same = true;
    put_name(writer, "classes");
    rer_put(writer, "[");
    for (int32_t i = 0; i < list->count; i++) {
        const char *name = page->result->names[list->class[i]];
        same = same && strcmp(name, rer_page_value(page, list->class[i])) == 0;
        put_comma(writer, i == 0);
        rer_put_json(writer, name);
    }
    rer_put(writer, "]");
    put_name(writer, "values"); /* as in the file of labels */
    rer_put(writer, same ? "null" : "[");
    for (int32_t i = 0; i < list->count && !same; i++) {
        put_comma(writer, i == 0);
        rer_put_json(writer, rer_page_value(page, list->class[i]));
    }
    rer_put(writer, same ? "" : "]");
}

/* The heights of a histogram, 0 to z, relative to the largest of both. */
static void put_heights(rer_writer *writer, const int64_t *counts)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    int64_t most = 1;
    for (int k = 0; k < 2 * RER_ERROR_BINS; k++)
        most = rer_max(most, counts[k]);
    rer_put(writer, "\"");
    for (int k = 0; k < 2 * RER_ERROR_BINS; k++)
        rer_put_bytes(writer, &digits[(35 * counts[k] + most - 1) / most], 1); /* one sample is seen too */
    rer_put(writer, "\"");
}

/* For each class of the table, in the order of "classes": samples, chi, noise rate, flagged, most confused
 * with, range and heights of its errors, easiest and hardest rows. */
static rer_status put_table(const rer_page *page, const listed *list)
{
    const rer_gallery *gallery = &page->gallery;
    rer_writer *writer = page->writer;
    rer_class_errors errors = {0};
    rer_status status =
        rer_class_errors_count(&errors, page->result, gallery->classes, gallery->n_classes, writer->error);
    if (status != RER_OK)
        return status;
    put_name(writer, "table");
    rer_put(writer, "[");
    for (int32_t i = 0; i < gallery->n_classes; i++) {
        const rer_class_summary *class = &page->result->classes[gallery->classes[i]];
        const int64_t *samples = gallery->samples + (int64_t)i * 2 * RER_CLASS_SAMPLES;
        rer_put(writer, i > 0 ? ",\n[" : "[");
        rer_put_integer(writer, class->n);
        rer_put(writer, ",");
        put_number(writer, class->chi);
        rer_put(writer, ",");
        put_number(writer, class->noise_rate);
        rer_put(writer, ",");
        rer_put_integer(writer, class->n_issues);
        rer_put(writer, ",");
        rer_put_integer(writer, class->most_confused_with >= 0 ? list->place[class->most_confused_with] : -1);
        rer_put(writer, ",");
        put_number(writer, errors.low[i]);
        rer_put(writer, ",");
        put_number(writer, errors.high[i]);
        rer_put(writer, ",");
        put_heights(writer, errors.counts + (int64_t)i * 2 * RER_ERROR_BINS);
        rer_put(writer, ",");
        put_rows(writer, samples, RER_CLASS_SAMPLES);
        rer_put(writer, ",");
        put_rows(writer, samples + RER_CLASS_SAMPLES, RER_CLASS_SAMPLES);
        rer_put(writer, "]");
    }
    rer_put(writer, "]");
    rer_class_errors_free(&errors);
    return RER_OK;
}

static void put_integers(rer_writer *writer, const char *name, const int32_t *values, int32_t n)
{
    put_name(writer, name);
    rer_put(writer, "[");
    for (int32_t i = 0; i < n; i++)
        rer_put_format(writer, i > 0 ? ",%d" : "%d", values[i]);
    rer_put(writer, "]");
}

/* a, b, samples of a nearest to b, of b nearest to a; classes of the table, by their places. */
static void put_pairs(const rer_page *page, const listed *list)
{
    const rer_result *result = page->result;
    rer_writer *writer = page->writer;
    int64_t put = 0;
    put_name(writer, "pairs");
    rer_put(writer, "[");
    for (int64_t i = 0; i < result->n_pairs && put < PAIRS_MAX; i++) {
        const rer_pair *pair = &result->pairs[i];
        int32_t a = list->place[pair->a], b = list->place[pair->b];
        if (a < 0 || b < 0 || a >= page->gallery.n_classes || b >= page->gallery.n_classes)
            continue;
        rer_put_format(writer, put++ > 0 ? ",[%d,%d,%lld,%lld]" : "[%d,%d,%lld,%lld]", a, b, (long long)pair->a_as_b,
                       (long long)pair->b_as_a);
    }
    rer_put(writer, "]");
}

/* The matrix: an order to draw the classes in, its blocks, the pairs. */
static rer_status put_matrix(const rer_page *page, const listed *list)
{
    rer_writer *writer = page->writer;
    int32_t n = page->gallery.n_classes, *order = NULL, *block = NULL; /* [n] */
    rer_status status = rer_allocate(&order, n, sizeof *order, "classes", writer->error);
    if (status == RER_OK)
        status = rer_allocate(&block, n, sizeof *block, "classes", writer->error);
    if (status == RER_OK)
        status = rer_class_order(order, block, page->result, page->gallery.classes, n, writer->error);
    if (status == RER_OK) {
        put_integers(writer, "order", order, n);
        put_integers(writer, "blocks", block, n);
        put_pairs(page, list);
    }
    free(order);
    free(block);
    return status;
}

/* ---- rows ------------------------------------------------------------------------------------- */

static void put_suspects(const rer_page *page, const listed *list)
{
    const rer_gallery *gallery = &page->gallery;
    rer_writer *writer = page->writer;
    put_name(writer, "suspects");
    rer_put(writer, "[");
    for (int64_t i = 0; i < gallery->n_suspects; i++) {
        rer_sample sample = rer_sample_of(page->result, gallery->suspects[i]);
        const int64_t *examples = gallery->examples + i * 2 * RER_EXAMPLES;
        rer_put(writer, i > 0 ? ",\n[" : "[");
        rer_put_integer(writer, sample.row);
        rer_put_format(writer, ",%d,%d,", list->place[sample.given],
                       sample.suggested >= 0 ? list->place[sample.suggested] : -1);
        put_number(writer, sample.mistakenness);
        rer_put(writer, ",");
        put_number(writer, sample.chi);
        rer_put_format(writer, ",%d,", (sample.is_issue ? 1 : 0) + (sample.is_outlier ? 2 : 0));
        put_rows(writer, examples, RER_EXAMPLES);
        rer_put(writer, ",");
        put_rows(writer, examples + RER_EXAMPLES, RER_EXAMPLES);
        rer_put_format(writer, ",%d,%d,", sample.near, sample.near_suggested);
        put_number(writer, sample.nearness);
        rer_put(writer, "]");
    }
    rer_put(writer, "]");
}

/* [row, given class or -1] */
static void put_outliers(const rer_page *page, const listed *list)
{
    const rer_gallery *gallery = &page->gallery;
    put_name(page->writer, "outliers");
    rer_put(page->writer, "[");
    for (int64_t i = 0; i < gallery->n_outliers; i++) {
        int32_t given = page->result->given[gallery->outliers[i]];
        rer_put_format(page->writer, i > 0 ? ",[%lld,%d]" : "[%lld,%d]", (long long)gallery->outliers[i],
                       given >= 0 ? list->place[given] : -1);
    }
    rer_put(page->writer, "]");
}

static void put_row_name(rer_writer *writer, int64_t row, bool is_first)
{
    rer_put(writer, is_first ? "\"" : ",\n\"");
    rer_put_integer(writer, row);
    rer_put(writer, "\":");
}

static void put_pictures(const rer_page *page)
{
    const rer_gallery *gallery = &page->gallery;
    const rer_thumbnails *thumbnails = &gallery->thumbnails;
    rer_writer *writer = page->writer;
    bool is_first = true;
    put_name(writer, "pictures");
    if (thumbnails->count == 0) {
        rer_put(writer, "null");
        return;
    }
    rer_put(writer, "{");
    for (int64_t i = 0; i < thumbnails->count; i++) {
        if (thumbnails->bytes[i] == NULL)
            continue;
        put_row_name(writer, gallery->rows[i], is_first);
        is_first = false;
        rer_put(writer, "\"");
        rer_put_base64(writer, thumbnails->bytes[i], thumbnails->size[i]);
        rer_put(writer, "\"");
    }
    rer_put(writer, "}");
}

/* One text for each row shown, by its number. */
static void put_row_texts(const rer_page *page, const char *name, const char *(*text_at)(const rer_page *, int64_t))
{
    rer_writer *writer = page->writer;
    put_name(writer, name);
    rer_put(writer, "{");
    for (int64_t i = 0; i < page->gallery.n_rows; i++) {
        put_row_name(writer, page->gallery.rows[i], i == 0);
        rer_put_json(writer, text_at(page, i));
    }
    rer_put(writer, "}");
}

static const char *id_at(const rer_page *page, int64_t i)
{
    return rer_dataset_id(page->data, page->gallery.rows[i]);
}

static const char *text_at(const rer_page *page, int64_t i)
{
    return rer_text(&page->gallery.texts, i);
}

/* The given class of examples and samples needs no place here: the page shows them under its name. */
static void put_bars(const rer_page *page)
{
    const rer_gallery *gallery = &page->gallery;
    rer_writer *writer = page->writer;
    put_name(writer, "bars");
    if (gallery->bars == NULL) {
        rer_put(writer, "null");
        return;
    }
    rer_put(writer, "{");
    for (int64_t i = 0; i < gallery->n_rows; i++) {
        put_row_name(writer, gallery->rows[i], i == 0);
        for (int k = 0; k < gallery->n_bars; k++)
            rer_put_format(writer, k == 0 ? "[%d" : ",%d", gallery->bars[i * gallery->n_bars + k]);
        rer_put(writer, "]");
    }
    rer_put(writer, "}");
}

rer_status rer_page_data(const rer_page *page)
{
    rer_writer *writer = page->writer;
    const rer_summary *summary = &page->result->summary;
    listed list = {0};
    rer_status status = make_list(&list, page, writer->error);
    if (status == RER_OK) {
        rer_put(writer, "<script type=\"application/json\" id=\"data\">{\"version\":");
        rer_put_json(writer, rer_version());
        put_name(writer, "checksum");
        rer_put_format(writer, "\"%016llx\"", (unsigned long long)page->data->labels_checksum);
        put_name(writer, "features");
        rer_put_format(writer, "\"%016llx\"", (unsigned long long)page->data->features_checksum);
        put_name(writer, "issues");
        rer_put_integer(writer, summary->n_issues);
        put_names(page, &list);
        status = put_table(page, &list);
    }
    if (status == RER_OK)
        status = put_matrix(page, &list);
    if (status == RER_OK) {
        put_suspects(page, &list);
        put_outliers(page, &list);
        put_pictures(page);
        if (page->data->ids.count > 0)
            put_row_texts(page, "ids", id_at);
        if (page->gallery.texts.count > 0)
            put_row_texts(page, "texts", text_at);
        put_bars(page);
        rer_put(writer, "}</script>\n");
    }
    free(list.place);
    free(list.class);
    return status;
}
