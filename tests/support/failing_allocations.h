/* Allocations that fail when a test wants it. The linker leads the library's calls here
 * (--wrap=realloc, posix_memalign, strdup), so one file of a program includes this. */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

void *__real_realloc(void *memory, size_t size);
int __real_posix_memalign(void **memory, size_t alignment, size_t size);
char *__real_strdup(const char *text);
void *__wrap_realloc(void *memory, size_t size);
int __wrap_posix_memalign(void **memory, size_t alignment, size_t size);
char *__wrap_strdup(const char *text);

static int64_t before_failure = -1; /* allocations that still work; negative: all */
static bool has_failed;

static bool fails_now(void)
{
    if (before_failure < 0 || before_failure-- > 0)
        return false;
    has_failed = true;
    return true;
}

void *__wrap_realloc(void *memory, size_t size)
{
    return fails_now() ? NULL : __real_realloc(memory, size);
}

int __wrap_posix_memalign(void **memory, size_t alignment, size_t size)
{
    return fails_now() ? ENOMEM : __real_posix_memalign(memory, alignment, size);
}

char *__wrap_strdup(const char *text)
{
    return fails_now() ? NULL : __real_strdup(text);
}
