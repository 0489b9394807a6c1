/* Files of labels, in and out, in whatever form they are. */
#pragma once

#include "source/labels.h"

/* The labels of a file in any form, `expected` of them (negative: unknown); a table has a header where its column is
 * named, and else none. `array` and `texts` keep the labels as they were written, one of the two.
 * Free all three with rer_label_file_free. */
typedef struct rer_label_file {
    rer_labels labels;
    rer_array array; /* name NULL where the labels are texts of a table */
    rer_texts texts;
    bool is_column; /* of a table, below its header */
} rer_label_file;

rer_status rer_label_file_open(rer_label_file *file, const char *path, const char *column, int64_t expected,
                               rer_error *error);
void rer_label_file_free(rer_label_file *file);

/* Whether labels can be written to a file of this name. */
rer_status rer_label_file_check(const char *out, rer_error *error);
/* Whether a text can be a label in a file of this name: where the labels are numbers it must be one, but in texts. */
bool rer_label_file_takes(const char *out, const rer_label_file *file, const char *label);
/* The same labels with other classes: codes [N], -1 for no label, C + k for the text `added` k. An array keeps its type
 * (.npy), texts stay texts (.npy, or one a line in .csv, .tsv, .txt). Unsigned integers become int64 where one is
 * lost, since -1 stands for no label; with new labels all numbers do, and all texts have room for the longest. */
rer_status rer_label_file_write(const char *out, rer_label_file *file, const int32_t *codes, const rer_texts *added,
                                rer_error *error);

/* Whether a name is that of a text (.csv, .tsv, .txt), and not of an array. */
bool rer_path_is_text_output(const char *path);
