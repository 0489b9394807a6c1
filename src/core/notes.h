/* Remarks for the user that a result carries. Doubts, which say how far its numbers can be trusted, come first: a
 * terminal shows few. */
#pragma once

#include "core/core.h"

#include <stdarg.h>

typedef struct rer_notes {
    char **text; /* [count], owned */
    int count, doubts;
} rer_notes;

typedef enum rer_note_kind { RER_REMARK, RER_DOUBT } rer_note_kind;

rer_status rer_notes_add(rer_notes *notes, rer_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
rer_status rer_notes_add_list(rer_notes *notes, rer_note_kind kind, rer_error *error, const char *format,
                              va_list values) __attribute__((format(printf, 4, 0)));
void rer_notes_free(rer_notes *notes);
