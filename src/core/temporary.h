/* Files and folders under temporary names, which nobody should find later. */
#ifndef RER_TEMPORARY_H
#define RER_TEMPORARY_H

#include "core/core.h"

/* Makes a file (open as *fd) or, where fd is NULL, a folder `.name.XXXXXX.tmp` beside `path`. */
rer_status rer_temporary_make(char **temporary, int *fd, const char *path, rer_error *error);
/* What has the one name gets the other, at once; false, and errno, where that cannot be. */
bool rer_temporary_exchange(const char *temporary, const char *path);
/* Removes the files in a folder, and it where nothing is left. only: names, each on a line of its own; NULL: all. */
void rer_temporary_remove_folder(const char *path, const char *only);
/* rer_unfinished_remove leaves it alone from now on. NULL is fine. */
void rer_temporary_forget(const char *temporary);
void rer_temporary_free(char **temporary); /* forgets the name, and frees it */

#endif
