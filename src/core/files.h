/* Files from functions that put their text: one, all of a folder, or the text alone. A reader sees a file whole or
 * not at all; the files of a folder appear together or, after a failure, not at all. */
#pragma once

#include "core/writer.h"

/* Puts a whole text. Failures stick to the writer (rer_writer_ok). `which`: of several that one function serves. */
typedef void rer_putter(rer_writer *writer, const void *what, int which);

rer_status rer_file_write(const char *path, rer_putter *put, const void *what, int which, rer_error *error);
/* Without the last line's end. free() it. */
rer_status rer_file_text(char **text, rer_putter *put, const void *what, rer_error *error);

typedef struct rer_file {
    const char *name;
    rer_putter *put;
    int which;
    unsigned needs; /* it is written where `has` has all of these bits */
} rer_file;

enum { RER_FILES_MOST = 64 };

/* All files of a folder. */
typedef struct rer_folder {
    const char *command; /* whose results these are; they replace no others */
    const rer_file *files;
    int count;
    const void *what;
    unsigned has;
    bool spreadsheet_safe;
    int32_t at_once; /* of the files, but the last: as many threads write; 0: one after the other */
} rer_folder;

/* Makes a folder with the files, the last of them after the others, and manifest.json, in place of the folder that was there. Makes its
 * parents where they are missing. */
rer_status rer_folder_write(const char *path, const rer_folder *folder, rer_error *error);
/* The same up to its last step, rer_output_commit. */
rer_status rer_folder_stage(rer_output *output, const char *path, const rer_folder *folder, rer_error *error);
