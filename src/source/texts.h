/* Building texts, and texts from the rows of an array. */
#pragma once

#include "source/array.h"

typedef struct rer_texts_builder {
    rer_texts texts; /* valid at any time */
    int64_t capacity, used, bytes_capacity;
} rer_texts_builder;

rer_status rer_texts_add(rer_texts_builder *builder, const char *text, int64_t length, rer_error *error);
/* The same for a text from a file: it must be UTF-8 without zero bytes. `unit` and `place` say where it
 * stands: "row", 17. */
rer_status rer_texts_add_checked(rer_texts_builder *builder, const char *text, int64_t length, const char *name,
                                 const char *unit, int64_t place, rer_error *error);

/* A copy of `count` texts, which must be UTF-8; `name` is what they are, for messages. */
rer_status rer_texts_copy(rer_texts *texts, const char *const *from, int64_t count, const char *name, rer_error *error);

static inline const char *rer_text(const rer_texts *texts, int64_t i)
{
    return texts->bytes + texts->offset[i];
}

/* Letters, _ and - alone, as headers are: no number, no path, nothing of several words. */
bool rer_text_is_word(const char *text);
/* What to add to a message where there is one text more than rows. */
static inline const char *rer_header_remedy(int64_t count, int64_t N)
{
    return count == N + 1 ? "; if its first row is a header, take it out or name the column, as in FILE:COLUMN" : "";
}

/* "'a', 'b', ..." as far as the buffer reaches, for messages. */
const char *rer_texts_list(const rer_texts *texts, char *buffer, int64_t size);
/* A column given by its number from 1 on -> from 0 on; -1 where the text is no such number. */
int64_t rer_column_number(const char *text, int64_t columns);

/* Fails unless the array has one value a row: [N] or [N, 1]. */
rer_status rer_array_check_column(const rer_array *array, const char *what, rer_error *error);
/* One text a row of an array of texts or integers. */
rer_status rer_texts_from_array(rer_texts *texts, const rer_array *array, rer_error *error);

/* Whole numbers of rows first..first+count-1 of an array of numbers, as 64 bits that are unsigned for
 * RER_U64 alone. A float that is not whole is an error that names its row; NaN sets missing[i]. */
rer_status rer_array_integers(const rer_array *array, int64_t first, int64_t count, int64_t *out, bool *missing,
                              void *scratch, rer_error *error);
#define RER_INTEGER_TEXT 24
/* Decimal text of such a number into a buffer of RER_INTEGER_TEXT bytes; returns its length. */
int64_t rer_integer_text(char *buffer, int64_t value, bool is_unsigned);
