/* OpenBLAS's packing buffers, one for each thread; and which of its kernels serve.
 *
 * The serial build hands its buffers out without a lock: two threads that multiply at the same time
 * can be given the same one, and one product in ten comes out wrong (tests/backend/test_threads.c
 * shows it when this file is taken out). The linker sends its allocation calls here instead
 * (--wrap, see cmake/library.cmake). A thread takes its buffer before its first product and gives
 * it back when it ends, so that no product can fail for want of memory.
 *
 * Where the linker cannot wrap, the build with threads has to serve, which has locks; it is told to use none of its own. */
#include "backend/backend.h"
#include "backend/cpu/tiles.h"

#ifndef RER_WRAPS
#include <cblas.h>
#include <pthread.h>

static void use_one_thread(void)
{
    openblas_set_num_threads(1);
}

bool rer_backend_enter(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    return pthread_once(&once, use_one_thread) == 0;
}

void rer_backend_leave(void)
{
}

void *rer_backend_buffer(size_t *bytes)
{
    *bytes = 0;
    return NULL;
}

#else

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

/* OpenBLAS's own BUFFER_SIZE is at most 32 << 22; only touched pages become memory. */
#define BUFFER_BYTES (((size_t)32 << 22) + 65536)

void *__wrap_blas_memory_alloc(int kind);
void __wrap_blas_memory_free(void *buffer);

static _Thread_local struct {
    void *buffer;
    bool busy; /* a routine that calls another one needs a second buffer */
} mine;

static void *map_buffer(void)
{
    void *memory = mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory != MAP_FAILED ? memory : NULL;
}

bool rer_backend_enter(void)
{
    if (mine.buffer == NULL)
        mine.buffer = map_buffer();
    return mine.buffer != NULL;
}

void *rer_backend_buffer(size_t *bytes)
{
    *bytes = BUFFER_BYTES;
    return rer_backend_enter() ? mine.buffer : NULL;
}

void rer_backend_leave(void)
{
    if (mine.buffer != NULL)
        (void)munmap(mine.buffer, BUFFER_BYTES);
    mine.buffer = NULL;
}

void *__wrap_blas_memory_alloc(int kind)
{
    (void)kind;
    if (mine.busy || !rer_backend_enter())
        return map_buffer();
    mine.busy = true;
    return mine.buffer;
}

void __wrap_blas_memory_free(void *buffer)
{
    if (buffer == mine.buffer)
        mine.busy = false;
    else
        (void)munmap(buffer, BUFFER_BYTES);
}

/* ---- which kernels ----------------------------------------------------------------------- */

/* OpenBLAS goes by the processor's model, and takes its oldest kernels (SSE2) for every model younger than itself: a
 * quarter of the speed. What a processor can do says more. OpenBLAS reads its environment before main; the linker sends
 * that call here. What the user has set is left alone. In this file, since every program that multiplies links it. */
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

#endif
