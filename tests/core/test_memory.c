/* Zeroed memory is that also where it was somebody else's before, and at any length. */
#include "core/core.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <cmocka.h>

static void test_zeroed_again(void **state)
{
    (void)state;
    static const int64_t sizes[] = {0, 1, 4095, 4 << 20, (4 << 20) + 1, (6 << 20) - 1, (9 << 20) + 12345};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int round = 0; round < 3; round++) {
            unsigned char *memory = NULL;
            assert_int_equal(rer_allocate(&memory, sizes[s], 1, "some", NULL), RER_OK);
            assert_int_equal((uintptr_t)memory % 64, 0);
            for (int64_t i = 0; i < sizes[s]; i++)
                if (memory[i] != 0)
                    fail_msg("%lld bytes: byte %lld is %d", (long long)sizes[s], (long long)i, memory[i]);
            memset(memory, 7, (size_t)sizes[s]);
            free(memory);
        }
}

int main(void)
{
#if defined(__GLIBC__) /* what is freed is kept, and given out again */
    (void)mallopt(M_MMAP_THRESHOLD, 1 << 25);
    (void)mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_zeroed_again)};
    return cmocka_run_group_tests_name("core.memory", tests, NULL, NULL);
}
