/* The values of options as text: what every row of the table (options.c) is read from and printed by. */
#pragma once

#include "core/options.h"

typedef enum rer_option_kind {
    OPTION_CHOICE, /* int32_t: place in `metavar`, split at '|' */
    OPTION_COUNT,  /* int32_t low..high */
    OPTION_WHOLE,  /* int64_t low..high */
    OPTION_NUMBER, /* double low..high, or one of `number_words` where metavar has it */
    OPTION_AMOUNT, /* double and bool: N or P%, or "auto" */
    OPTION_SIZE,   /* int64_t bytes: 2G, 300M, or 0 */
    OPTION_LIST,   /* int32_t [4]: whole numbers low..high, 0 past the last */
    OPTION_RANGE,  /* int32_t [2]: a whole number low..high, two of them with .. between, or 0 */
    OPTION_SIZES,  /* int32_t [16]: the same, ascending, or "auto" */
    OPTION_RATES,  /* double [8]: numbers low..high, 0 past the last */
    OPTION_SUBSET, /* int32_t: bits of the places in `metavar`, split at ','; or "none" */
    OPTION_FLAG,   /* bool */
    OPTION_DEVICE, /* int32_t: rer_device_choice, or a card's number above it */
} rer_option_kind;

typedef struct rer_option_row {
    rer_option_info info;
    rer_option_kind kind;
    size_t offset; /* in rer_options */
    double low, high;
} rer_option_row;

static inline void *rer_option_member(const rer_option_row *row, const rer_options *options)
{
    return (char *)options + row->offset;
}

/* Sets the row's member from text, checking its range. */
rer_status rer_option_parse(const rer_option_row *row, rer_options *options, const char *text, rer_error *error);
/* The present value, as it could be parsed. */
void rer_option_print(const rer_option_row *row, const rer_options *options, char *text, int64_t size);
/* Whether a number stands for a word ("auto"). */
bool rer_option_is_word(double value);
