/* Short sorted lists of nearest neighbours. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct rer_neighbor {
    float distance;
    int32_t index;
} rer_neighbor;

/* A strict order, so that which ones are kept does not depend on the order in which they come. */
static inline bool rer_is_nearer(rer_neighbor a, rer_neighbor b)
{
    return a.distance != b.distance ? a.distance < b.distance : a.index < b.index;
}

/* Keeps the k nearest in list [k], sorted, `used` so far; returns how many are used then. */
static inline int64_t rer_keep_nearest(rer_neighbor *list, int64_t used, int64_t k, rer_neighbor next)
{
    if (used == k && !rer_is_nearer(next, list[k - 1]))
        return used;
    int64_t at = used < k ? used : k - 1;
    for (; at > 0 && rer_is_nearer(next, list[at - 1]); at--)
        list[at] = list[at - 1];
    list[at] = next;
    return used < k ? used + 1 : k;
}
