/* Files from functions that put their text: one, several of a folder, or the text alone. A reader sees a file whole
 * or not at all; the files of a folder all appear or, after a failure, none. */
#pragma once

#include "core/writer.h"

/* Puts a whole text. Failures stick to the writer (rer_writer_ok). `which`: of several that one function serves. */
typedef void rer_putter(rer_writer *writer, const void *what, int which);

rer_status rer_file_write(const char *path, rer_putter *put, const void *what, int which, rer_error *error);
/* Without the last line's end. free() it. */
rer_status rer_file_text(char **text, rer_putter *put, const void *what, rer_error *error);

rer_status rer_join_path(char **path, const char *folder, const char *name, rer_error *error); /* free() it */

typedef struct rer_file {
    const char *name;
    rer_putter *put;
    int which;
    unsigned needs; /* it is written where `has` has all of these bits */
} rer_file;

enum { RER_FILES_MOST = 64 };

/* Makes the folder and its parents where they are missing. Files are written in this order, under temporary names;
 * then all are renamed. */
rer_status rer_folder_write(const char *folder, const rer_file *files, int count, const void *what, unsigned has,
                            rer_error *error);
