/* Classes and groups that need no script: the matrix given -> nearest class of few classes, and tables of
 * the details where they were asked for. */
#include "report/page.h"

enum { DRAWN_MAX = 40, NAME_LIST_MAX = 40, GROUPS_MAX = 500 };

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

/* What rer_result_detail leaves, where it was asked for. */
static void put_subsets(const rer_page *page)
{
    static const rer_column columns[] = {
        {.title = "group"},
        {.title = "samples", .is_number = true},
        {.title = "χ", .is_number = true},
        {.title = "at least", .is_number = true, .help = "95 % interval of χ"},
        {.title = "at most", .is_number = true, .help = "95 % interval of χ"},
        {.title = "difficulty", .is_number = true},
        {.title = "nearest-class error", .is_number = true},
        {.title = "likely wrong", .is_number = true, .help = "the mean mistakenness of its samples"},
        {.title = "flagged", .is_number = true},
    };
    const rer_portion *group = rer_result_portion(page->result, RER_BY_SUBSET, 0);
    rer_writer *writer = page->writer;
    if (group == NULL)
        return;
    rer_frame_section(writer, "groups", "Groups", "The same numbers for each group of rows.");
    rer_frame_table_start(writer, "Groups", columns, 9);
    for (int32_t i = 0; (group = rer_result_portion(page->result, RER_BY_SUBSET, i)) != NULL && i < GROUPS_MAX; i++) {
        rer_frame_row(writer);
        rer_frame_cell(writer, group->name);
        rer_frame_cell_count(writer, group->n);
        rer_frame_cell_number(writer, group->chi, 4, false);
        rer_frame_cell_number(writer, group->chi_within.low, 4, false);
        rer_frame_cell_number(writer, group->chi_within.high, 4, false);
        rer_frame_cell_number(writer, group->difficulty, 4, false);
        rer_frame_cell_percent(writer, group->error_rate, false);
        rer_frame_cell_percent(writer, group->noise_rate, false);
        rer_frame_cell_count(writer, group->n_issues);
    }
    rer_frame_table_end(writer);
}

static void put_pair_details(const rer_page *page)
{
    static const rer_column columns[] = {
        {.title = "class A"},
        {.title = "class B"},
        {.title = "confused", .is_number = true, .help = "samples of one that are nearest to the other"},
        {.title = "error of telling them apart", .is_number = true},
        {.title = "difficulty", .is_number = true, .help = "of telling the two apart: 1 is chance"},
        {.title = "χ as one class", .is_number = true, .help = "of the whole data set with the two as one"},
        {.title = "better merged", .help = "hard to tell apart even without the labels that look wrong"},
    };
    const rer_pair_detail *detail = rer_result_pair_detail(page->result, 0);
    rer_writer *writer = page->writer;
    if (detail == NULL)
        return;
    rer_put(writer, "<h3>Telling them apart</h3>\n");
    rer_frame_table_start(writer, "Pairs in detail", columns, 7);
    for (int i = 0; (detail = rer_result_pair_detail(page->result, i)) != NULL && i < GROUPS_MAX; i++) {
        rer_frame_row(writer);
        rer_frame_cell(writer, rer_result_class_name(page->result, detail->pair.a));
        rer_frame_cell(writer, rer_result_class_name(page->result, detail->pair.b));
        rer_frame_cell_count(writer, detail->pair.a_as_b + detail->pair.b_as_a);
        rer_frame_cell_percent(writer, detail->error_rate, false);
        rer_frame_cell_number(writer, detail->difficulty, 3, false);
        rer_frame_cell_number(writer, detail->merged_chi, 4, false);
        rer_frame_cell(writer, detail->is_better_merged ? "perhaps" : "no");
    }
    rer_frame_table_end(writer);
}

void rer_page_details(const rer_page *page)
{
    put_pair_details(page);
    put_subsets(page);
}

void rer_page_matrix(const rer_page *page)
{
    int32_t n = page->gallery.n_classes, order[NAME_LIST_MAX], block[NAME_LIST_MAX];
    const char *names[NAME_LIST_MAX];
    double values[NAME_LIST_MAX * NAME_LIST_MAX] = {0};
    if (n > DRAWN_MAX || n < 2 || page->result->n_pairs == 0)
        return;
    rer_status status = rer_class_order(order, block, page->result, page->gallery.classes, n, page->writer->error);
    if (!rer_writer_ok(page->writer, status))
        return;
    for (int32_t i = 0; i < n; i++)
        names[i] = page->result->names[page->gallery.classes[order[i]]];
    fill_values(values, page, order, n);
    rer_heatmap map = {.description = "Share of each class whose nearest class is another one",
                       .rows = n,
                       .columns = n,
                       .values = values,
                       .percent = true};
    map.x = (rer_axis){.title = rer_page_say(page, "nearest class", "nearest cluster"), .names = names, .n_names = n};
    map.y = (rer_axis){.title = rer_page_say(page, "given label", "cluster"), .names = names, .n_names = n};
    rer_frame_heatmap(page->writer, &map);
}
