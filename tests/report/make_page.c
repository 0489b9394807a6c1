/* A page of the frame with everything in it, for the tests in a browser: make_page FILE.html TEXT, where
 * TEXT is what a user wrote, put into every place that takes one. */
#include "core/files.h"
#include "report/frame.h"

static void put_page(rer_writer *writer, const void *what, int which)
{
    const char *text = what;
    static const double n[] = {20, 40, 80, 160}, chi[] = {.71, .64, .60, .58}, low[] = {.69, .63, .59, .57},
                        high[] = {.73, .65, .61, .59}, cells[] = {.5, .2, 0, .9};
    const char *const names[] = {text, "b"};
    rer_series line = {.kind = RER_LINE, .name = text, .n = 4, .x = n, .y = chi, .low = low, .high = high};
    rer_series bars = {.kind = RER_BARS, .name = text, .n = 2, .y = chi, .labels = NULL};
    rer_reference reference = {.value = .6, .label = text};
    rer_chart chart = {.title = text, .x = {.title = text, .log = true}, .y = {.title = text}, .series = &line};
    rer_chart bar_chart = {.title = text, .x = {.names = names, .n_names = 2}, .series = &bars, .n_series = 1};
    rer_heatmap map = {.title = text, .x = {.names = names}, .y = {.names = names}, .rows = 2, .columns = 2};
    static const rer_column columns[] = {{.title = "name"},
                                         {.title = "value", .is_number = true, .help = "what it is"}};
    rer_frame frame = {.kind = "Test", .name = text, .headline = text, .lead = text};
    (void)which;
    chart.n_series = 1;
    chart.references = &reference;
    chart.n_references = 1;
    map.values = cells;
    rer_frame_start(writer, &frame);
    rer_frame_numbers_start(writer);
    rer_frame_number(writer, text, text, text);
    rer_frame_numbers_end(writer);
    rer_frame_section(writer, "one", text, text);
    rer_frame_paragraph(writer, text);
    rer_frame_note(writer, text);
    rer_frame_charts_start(writer);
    rer_frame_chart(writer, &chart);
    rer_frame_chart(writer, &bar_chart);
    rer_frame_charts_end(writer);
    rer_frame_heatmap(writer, &map);
    rer_frame_section(writer, "two", "Table", NULL);
    rer_frame_table_start(writer, text, columns, 2);
    for (int i = 0; i < 4; i++) {
        rer_frame_row(writer);
        rer_frame_cell(writer, i == 0 ? text : "other");
        rer_frame_cell_number(writer, n[(i * 3) % 4] * 1000, 1, i == 2);
    }
    rer_frame_table_end(writer);
    rer_frame_facts_start(writer);
    rer_frame_fact(writer, text, text);
    rer_frame_facts_end(writer);
    rer_frame_end(writer, &frame, text);
}

int main(int argc, char **argv)
{
    rer_error error = {0};
    if (argc != 3)
        return 2;
    rer_status status = rer_file_write(argv[1], put_page, argv[2], 0, &error);
    if (status != RER_OK)
        (void)fprintf(stderr, "%s\n", error.message);
    return (int)status;
}
