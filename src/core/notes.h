/* Remarks for the user that a result carries. */
#pragma once

#include "core/core.h"

#include <stdarg.h>

typedef struct rer_notes {
    char **text; /* [count], owned */
    int count;
} rer_notes;

rer_status rer_notes_add(rer_notes *notes, rer_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
rer_status rer_notes_add_list(rer_notes *notes, rer_error *error, const char *format, va_list values)
    __attribute__((format(printf, 3, 0)));
void rer_notes_free(rer_notes *notes);
