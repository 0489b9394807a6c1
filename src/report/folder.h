/* Several files of one folder: all of them appear or, after a failure, none. */
#ifndef RER_FOLDER_H
#define RER_FOLDER_H

#include "report/writer.h"

typedef struct rer_folder_file {
    const char *name;
    /* Writes the whole file; failures stick to the writer unless they are returned. */
    rer_status (*write)(rer_writer *writer, const void *context);
} rer_folder_file;

/* Makes the folder and its parents where they are missing. Files are written in this order, under
 * temporary names; then all are renamed. */
rer_status rer_folder_write(const char *folder, const rer_folder_file *files, int count, const void *context,
                            rer_error *error);

/* The same with a context of its own for each file: contexts [count]. */
rer_status rer_folder_write_each(const char *folder, const rer_folder_file *files, int count,
                                 const void *const *contexts, rer_error *error);

#endif
