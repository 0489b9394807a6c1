/* Products made by several threads at once are those that one thread makes, to the bit. */
#include "backend/backend.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SIZE 384
#define ROUNDS 40
#define THREADS 4

typedef struct products {
    double *a, *product, *inverse; /* [SIZE, SIZE] */
    float *b, *update;
    int wrong; /* rounds whose results differ from `expected` */
    const struct products *expected;
} products;

static void *allocate(size_t bytes)
{
    void *memory = calloc(1, bytes);
    assert_non_null(memory);
    return memory;
}

static void make_work(products *work)
{
    *work = (products){.a = allocate(SIZE * SIZE * 8),
                       .product = allocate(SIZE * SIZE * 8),
                       .inverse = allocate(SIZE * SIZE * 8),
                       .b = allocate(SIZE * SIZE * 4),
                       .update = allocate(SIZE * SIZE * 4)};
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++) {
            work->a[i * SIZE + j] = (i == j ? SIZE : 0) + 1.0 / (1 + abs(i - j));
            work->b[i * SIZE + j] = (float)((i * 31 + j * 17) % 101) / 101;
        }
}

static void free_work(products *work)
{
    free(work->a);
    free(work->product);
    free(work->inverse);
    free(work->b);
    free(work->update);
}

static void multiply(products *work)
{
    memcpy(work->inverse, work->a, SIZE * SIZE * 8);
    (void)rer_invert_cholesky_f64(work->inverse, SIZE);
    rer_multiply_f64(work->product, SIZE, work->a, work->a, SIZE, SIZE, SIZE);
    rer_multiply_triangle_f64(work->product, work->inverse, SIZE, SIZE);
    rer_rank_update(work->update, work->b, SIZE, SIZE);
}

static void *multiply_often(void *argument)
{
    products *work = argument;
    if (!rer_backend_enter())
        return NULL;
    for (int round = 0; round < ROUNDS; round++) {
        multiply(work);
        work->wrong += memcmp(work->product, work->expected->product, SIZE * SIZE * 8) != 0 ||
                       memcmp(work->inverse, work->expected->inverse, SIZE * SIZE * 8) != 0 ||
                       memcmp(work->update, work->expected->update, SIZE * SIZE * 4) != 0;
    }
    rer_backend_leave();
    return work;
}

static void test_same_bits_in_many_threads(void **state)
{
    (void)state;
    products expected, works[THREADS];
    pthread_t threads[THREADS];
    make_work(&expected);
    multiply(&expected);
    rer_backend_leave();
    for (int i = 0; i < THREADS; i++) {
        make_work(&works[i]);
        works[i].expected = &expected;
        assert_int_equal(pthread_create(&threads[i], NULL, multiply_often, &works[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *finished = NULL;
        assert_int_equal(pthread_join(threads[i], &finished), 0);
        assert_non_null(finished);
        assert_int_equal(works[i].wrong, 0);
        free_work(&works[i]);
    }
    free_work(&expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_bits_in_many_threads)};
    return cmocka_run_group_tests_name("backend.threads", tests, NULL, NULL);
}
