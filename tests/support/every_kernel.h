/* Every set of vector kernels that this processor can run. */
#pragma once

#include "backend/backend.h"

#define MOST_KERNELS 4

extern const rer_kernels rer_kernels_baseline;
#if defined(RER_X86)
extern const rer_kernels rer_kernels_avx2;
extern const rer_kernels rer_kernels_avx512;
extern const rer_kernels rer_kernels_avx512vnni;
#endif

static inline int list_kernels(const rer_kernels *list[MOST_KERNELS])
{
    int count = 0;
    list[count++] = &rer_kernels_baseline;
#if defined(RER_X86)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        list[count++] = &rer_kernels_avx2;
    bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
    if (wide)
        list[count++] = &rer_kernels_avx512;
    if (wide && __builtin_cpu_supports("avx512vnni"))
        list[count++] = &rer_kernels_avx512vnni;
#endif
    return count;
}
