/* Picks the vector kernels that this processor can run. Apart from the products, so that whoever reads
 * rows does not link BLAS. */
#include "backend/backend.h"

extern const rer_kernels rer_kernels_baseline;
#if defined(RER_X86)
extern const rer_kernels rer_kernels_avx2;
extern const rer_kernels rer_kernels_avx512;
extern const rer_kernels rer_kernels_avx512vnni;
#endif

const rer_kernels *rer_cpu_kernels(void)
{
#if defined(RER_X86)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw"))
        return __builtin_cpu_supports("avx512vnni") ? &rer_kernels_avx512vnni : &rer_kernels_avx512;
    /* Every processor with AVX2 and FMA has F16C, which clang 14 cannot be asked for. */
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &rer_kernels_avx2;
#endif
    return &rer_kernels_baseline;
}
