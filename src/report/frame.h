/* The frame of every report: one HTML page that needs nothing else, with charts and tables inside.
 *
 *     static void put_page(rer_writer *writer, const void *what, int which)
 *     {
 *         const bench *run = what;
 *         rer_frame frame = {.kind = "Benchmark", .name = run->name, .headline = "rer finds 9 of 10 wrong labels",
 *                            .lead = "Planted: 10 % symmetric noise, three seeds."};
 *         rer_frame_start(writer, &frame);
 *         rer_frame_numbers_start(writer);
 *         rer_frame_number(writer, "AUROC", "0.982", "mean of three seeds");
 *         rer_frame_numbers_end(writer);
 *         rer_frame_section(writer, "methods", "Detectors side by side", "Higher is better.");
 *         rer_frame_chart(writer, &chart);                                     // of chart.h
 *         static const rer_column columns[] = {{.title = "detector"}, {.title = "AUROC", .is_number = true}};
 *         rer_frame_table_start(writer, "AUROC of each detector", columns, 2);
 *         for (...) {
 *             rer_frame_row(writer);
 *             rer_frame_cell(writer, run->method[i].name);
 *             rer_frame_cell_number(writer, run->method[i].auroc, 3, i == best);
 *         }
 *         rer_frame_table_end(writer);
 *         rer_frame_end(writer, &frame, "seed 0, 2 threads");
 *     }
 *     ...
 *     status = rer_file_write("results/bench.html", put_page, run, 0, error);             // of core/files.h
 *
 * All texts are escaped here: give them as they are. The page carries a Content-Security-Policy that
 * allows its own styles and scripts by their hashes, and pictures inside the page; nothing else. Tables
 * can be sorted by their headings, and every section is in the navigation. */
#pragma once

#include "report/chart.h"

typedef struct rer_asset { /* made by rer_embed: cmake/library.cmake */
    const char *text, *sha256;
} rer_asset;

enum { RER_FRAME_SCRIPTS = 4 };

typedef struct rer_frame {
    const char *kind;                     /* "Label report" */
    const char *name;                     /* of the data; NULL: none */
    const char *headline;                 /* the answer, in words */
    const char *lead;                     /* a sentence or two below it; NULL: none */
    rer_asset style;                      /* of this kind of page, beside the frame's own; NULL: none */
    rer_asset scripts[RER_FRAME_SCRIPTS]; /* likewise, in this order, up to a NULL */
} rer_frame;

void rer_frame_start(rer_writer *writer, const rer_frame *frame);
/* Ends the page: `origin` and our version in the footer, then the scripts. */
void rer_frame_end(rer_writer *writer, const rer_frame *frame, const char *origin);

/* A row of large numbers, each with a name and a short explanation. */
void rer_frame_numbers_start(rer_writer *writer);
void rer_frame_number(rer_writer *writer, const char *title, const char *value, const char *explanation);
void rer_frame_numbers_end(rer_writer *writer);

/* A heading with its place in the navigation (`id`: letters alone), and a sentence below it or NULL. */
void rer_frame_section(rer_writer *writer, const char *id, const char *title, const char *lead);
void rer_frame_paragraph(rer_writer *writer, const char *text);
void rer_frame_note(rer_writer *writer, const char *text); /* something to mind */

/* Charts side by side where there is room: between these two. */
void rer_frame_charts_start(rer_writer *writer);
void rer_frame_charts_end(rer_writer *writer);
/* Where no page was started, the chart is the whole text of a .svg file. */
void rer_frame_chart(rer_writer *writer, const rer_chart *chart);
void rer_frame_heatmap(rer_writer *writer, const rer_heatmap *map);

typedef struct rer_column {
    const char *title;
    bool is_number;   /* to the right */
    const char *help; /* when pointed at; NULL: none */
} rer_column;

/* `caption` is for those who cannot see the table. */
void rer_frame_table_start(rer_writer *writer, const char *caption, const rer_column *columns, int n);
void rer_frame_row(rer_writer *writer); /* starts a row, after ending the one before */
void rer_frame_cell(rer_writer *writer, const char *text);
/* NaN is a dash. `is_best` stands out. */
void rer_frame_cell_number(rer_writer *writer, double value, int decimals, bool is_best);
void rer_frame_cell_percent(rer_writer *writer, double share, bool is_best);
void rer_frame_cell_count(rer_writer *writer, int64_t count);
void rer_frame_cell_row(rer_writer *writer, int64_t row); /* its number, as samples.csv has it */
void rer_frame_table_end(rer_writer *writer);

/* What the columns of a table mean, a line each: those that have a help. */
void rer_frame_meanings(rer_writer *writer, const rer_column *columns, int n);

/* Names and values, as of options: rer_frame_facts_start, then one call each. */
void rer_frame_facts_start(rer_writer *writer);
void rer_frame_fact(rer_writer *writer, const char *name, const char *value);
void rer_frame_facts_end(rer_writer *writer);
/* Whether option i of `command` ("analyze") is at another value than its default: `text` becomes that value. */
bool rer_frame_option(const rer_options *options, const char *command, int i, char *text, int64_t size);
/* All such options, as facts. */
void rer_frame_options(rer_writer *writer, const rer_options *options, const char *command);

typedef struct rer_study {        /* what a study's page ends with */
    const char *command, *repeat; /* "scale"; the sentence above its options */
    const rer_options *options;
    int64_t N, D;
    int32_t C;
    double seconds;
} rer_study;
/* How to repeat it, and in the footer what it was made from. */
void rer_frame_end_study(rer_writer *writer, const rer_frame *frame, const rer_study *study);
