/* Which of OpenBLAS's kernels serve. It goes by the processor's model, and takes the oldest ones (SSE2) for every
 * model younger than itself: a quarter of the speed. What a processor can do says more. OpenBLAS reads its
 * environment before main; the linker sends that call here (--wrap, see cmake/library.cmake). What the user has set
 * is left alone. */
#include <stdlib.h>
#include <string.h>

char *__wrap_getenv(const char *name);
char *__real_getenv(const char *name);

static char *kernels_by_features(void)
{
    static char skylake[] = "SKYLAKEX", haswell[] = "HASWELL";
    (void)skylake, (void)haswell;
#if defined(RER_X86)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw"))
        return skylake;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return haswell;
#endif
    return NULL;
}

char *__wrap_getenv(const char *name)
{
    char *value = __real_getenv(name);
    return value == NULL && strcmp(name, "OPENBLAS_CORETYPE") == 0 ? kernels_by_features() : value;
}
