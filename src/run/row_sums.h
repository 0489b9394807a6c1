/* Sums over the rows of a result, by all threads: of pieces of rows, which are added in their order. */
#pragma once

#include "core/pool.h"
#include "run/result.h"

enum { RER_ROW_SUMS = 9 };

typedef struct rer_row_sums {
    int64_t n[RER_ROW_SUMS];
    double sum[RER_ROW_SUMS];
} rer_row_sums;

/* Adds what a row has to say, and may write what is the row's alone. */
typedef void rer_add_row(rer_row_sums *sums, const rer_result *result, int64_t row, const void *how);

rer_status rer_sum_rows(rer_row_sums *sums, rer_add_row *add, const void *how, const rer_result *result,
                        const char *stage, rer_pool *pool, rer_error *error);
