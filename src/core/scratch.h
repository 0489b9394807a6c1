/* A worker's memory, laid out piece by piece. The same function measures and lays out, so that both agree: with
 * RER_MEASURE it only counts (the pieces are nowhere, and `used` is what is needed). To take more than there
 * is would be a mistake of ours and ends the program. */
#pragma once

#include "core/core.h"

typedef struct rer_scratch {
    char *base; /* aligned to 64 bytes */
    int64_t used, size;
} rer_scratch;

extern char rer_nowhere[];
#define RER_MEASURE ((rer_scratch){rer_nowhere, 0, INT64_MAX})

_Noreturn void rer_scratch_overrun(const rer_scratch *scratch, int64_t bytes);

static inline rer_scratch rer_scratch_over(void *memory, int64_t size)
{
    return (rer_scratch){memory, 0, size};
}

/* `count` items, not zeroed, aligned to 64 bytes. */
static inline void *rer_take(rer_scratch *scratch, int64_t count, size_t item_size)
{
    int64_t bytes = (count * (int64_t)item_size + 63) & ~(int64_t)63, at = scratch->used;
    if (bytes > scratch->size - at)
        rer_scratch_overrun(scratch, bytes);
    scratch->used += bytes;
    return scratch->base + (scratch->size < INT64_MAX ? at : 0);
}

/* Memory that somebody else lays out, anew with every call: it is handed on by value. */
static inline rer_scratch rer_take_part(rer_scratch *scratch, int64_t bytes)
{
    bytes = (bytes + 63) & ~(int64_t)63;
    return rer_scratch_over(rer_take(scratch, bytes, 1), scratch->size < INT64_MAX ? bytes : INT64_MAX);
}
