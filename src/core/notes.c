/* Remarks for the user. */
#include "core/notes.h"

rer_status rer_notes_add_list(rer_notes *notes, rer_note_kind kind, rer_error *error, const char *format,
                              va_list values)
{
    char text[600], *note = NULL;
    int64_t capacity = notes->count;
    RER_TRY(rer_grow(&notes->text, &capacity, notes->count + 1, sizeof *notes->text, "notes", error));
    (void)vsnprintf(text, sizeof text, format, values);
    RER_TRY(rer_copy_text(&note, text, error));
    int at = kind == RER_DOUBT ? notes->doubts++ : notes->count;
    memmove(&notes->text[at + 1], &notes->text[at], (size_t)(notes->count - at) * sizeof *notes->text);
    notes->text[at] = note;
    notes->count++;
    return RER_OK;
}

rer_status rer_notes_add(rer_notes *notes, rer_error *error, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    rer_status status = rer_notes_add_list(notes, RER_REMARK, error, format, values);
    va_end(values);
    return status;
}

void rer_notes_free(rer_notes *notes)
{
    for (int i = 0; i < notes->count; i++)
        free(notes->text[i]);
    free(notes->text);
    *notes = (rer_notes){0};
}
