/* A worker's memory, laid out piece by piece. The same function measures and lays out, so that both agree: without
 * memory, rer_scratch s = {0}, it only counts (pieces are NULL and s.used is what is needed). To take more than there
 * is would be a mistake of ours and ends the program. */
#ifndef RER_SCRATCH_H
#define RER_SCRATCH_H

#include "core/core.h"

typedef struct rer_scratch {
    char *base; /* aligned to 64 bytes; NULL: only measure */
    int64_t used, size;
} rer_scratch;

_Noreturn void rer_scratch_overrun(const rer_scratch *scratch, int64_t bytes);

static inline rer_scratch rer_scratch_over(void *memory, int64_t size)
{
    return (rer_scratch){memory, 0, size};
}

/* `count` items, not zeroed, aligned to 64 bytes. */
static inline void *rer_take(rer_scratch *scratch, int64_t count, size_t item_size)
{
    int64_t bytes = (count * (int64_t)item_size + 63) & ~(int64_t)63, at = scratch->used;
    if (scratch->base != NULL && bytes > scratch->size - at)
        rer_scratch_overrun(scratch, bytes);
    scratch->used += bytes;
    return scratch->base != NULL ? scratch->base + at : NULL;
}

/* Memory that somebody else lays out, anew with every call: it is handed on by value. */
static inline rer_scratch rer_take_part(rer_scratch *scratch, int64_t bytes)
{
    bytes = (bytes + 63) & ~(int64_t)63;
    return rer_scratch_over(rer_take(scratch, bytes, 1), bytes);
}

#endif
