/* The matrix given -> nearest class, for data sets with few classes: drawn here, so that it can be read
 * and printed without the script. */
#include "report/page.h"

#include <string.h>

enum { DRAWN_MAX = 40, NAME_LIST_MAX = 40 };

/* values [n, n] in `order`: share of the row's class that is nearest to the column's. */
static void fill_values(double *values, const rer_page *page, const int32_t *order, int32_t n)
{
    const rer_result *result = page->result;
    int32_t place[NAME_LIST_MAX] = {0}; /* of the table's class in the order */
    for (int32_t i = 0; i < n; i++)
        place[order[i]] = i;
    for (int64_t k = 0; k < result->n_pairs; k++) {
        const rer_pair *pair = &result->pairs[k];
        int32_t a = -1, b = -1;
        for (int32_t i = 0; i < n; i++) {
            a = page->gallery.classes[i] == pair->a ? place[i] : a;
            b = page->gallery.classes[i] == pair->b ? place[i] : b;
        }
        if (a < 0 || b < 0)
            continue;
        values[(int64_t)a * n + b] = (double)pair->a_as_b / (double)rer_max(1, result->classes[pair->a].n);
        values[(int64_t)b * n + a] = (double)pair->b_as_a / (double)rer_max(1, result->classes[pair->b].n);
    }
}

rer_status rer_page_matrix(const rer_page *page)
{
    int32_t n = page->gallery.n_classes, order[NAME_LIST_MAX], block[NAME_LIST_MAX];
    const char *names[NAME_LIST_MAX];
    double values[NAME_LIST_MAX * NAME_LIST_MAX] = {0};
    if (n > DRAWN_MAX || n < 2 || page->result->n_pairs == 0)
        return RER_OK;
    rer_status status = rer_class_order(order, block, page->result, page->gallery.classes, n, page->writer->error);
    if (status != RER_OK)
        return status;
    for (int32_t i = 0; i < n; i++)
        names[i] = page->result->names[page->gallery.classes[order[i]]];
    fill_values(values, page, order, n);
    rer_heatmap map = {.description = "Share of each class whose nearest class is another one",
                       .rows = n,
                       .columns = n,
                       .values = values,
                       .percent = true};
    map.x = (rer_axis){.title = "nearest class", .names = names, .n_names = n};
    map.y = (rer_axis){.title = "given label", .names = names, .n_names = n};
    rer_frame_heatmap(page->writer, &map);
    return RER_OK;
}
