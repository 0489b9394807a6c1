/* Rows that lie elsewhere, in parts: the four passes over the data as tasks and answers.
 *
 *   pass          task                          answer of a part
 *   class sums    normalisation                 its class sums
 *   scatter       class means, sampled rows     its scatter, the sampled rows that it has
 *   scores        the model                     its errors and scores, ratio sums of each block
 *   near rows     rows that ask, classes        its nearest rows of those classes
 *
 * Both are named arrays (core/tensors.h) in memory. ask.c makes tasks and takes answers, where the
 * analysis runs; answer.c makes answers, where the rows are; exchange.c has what both need. */
#pragma once

#include "core/tensors.h"
#include "fit/moments.h"
#include "score/near_rows.h"
#include "score/score.h"

/* The passes of rer_passes_here, by tasks and answers. Rows that are invalid get their marks. */
extern const rer_passes rer_passes_apart;

/* ---- exchange.c -------------------------------------------------------------------------- */

#define RER_STAGE_SUMS "class sums"
#define RER_STAGE_SCATTER "scatter"
#define RER_STAGE_SCORES "scores"
#define RER_STAGE_NEAR "near rows"

/* A task or an answer of a stage, and its reading; `what` is for messages. As with all tensors the first failure
 * sticks and is asked for at the end; what was read until then is to be freed all the same. */
rer_tensors *rer_exchange_begin(const char *stage);
rer_tensors *rer_exchange_read(const void *bytes, int64_t size, const char *what);
bool rer_exchange_is(const rer_tensors *tensors, const char *stage);

/* A whole number that was set by rer_tensors_set_number, within low..high; 0 where that fails. */
int64_t rer_exchange_integer(rer_tensors *tensors, const char *key, int64_t low, int64_t high);
/* An array of any length [count]; NULL and 0 where there is no such array. free() it. */
void *rer_exchange_list(rer_tensors *tensors, const char *name, rer_dtype dtype, int64_t *count);

/* The normalisation, its range with it where it is known. */
void rer_exchange_put_normalizer(rer_tensors *tensors, const rer_normalizer *normalizer, int64_t D);
void rer_exchange_get_normalizer(rer_normalizer *normalizer, rer_tensors *tensors, int64_t D);

/* Class sums of `rows` rows, some of them invalid. What is put must stay until the tensors are packed. */
typedef struct rer_sums_answer {
    rer_class_sums sums;
    int64_t rows;
    int64_t *invalid; /* [n_invalid] their places in the whole */
    int64_t n_invalid;
} rer_sums_answer;
void rer_exchange_put_sums(rer_tensors *tensors, const rer_sums_answer *answer);
void rer_exchange_get_sums(rer_sums_answer *answer, rer_tensors *tensors);
void rer_sums_answer_free(rer_sums_answer *answer);

/* The columns of a part's scores, values NULL: not wanted. */
enum { RER_SCORE_COLUMNS = 8 };
typedef struct rer_score_column {
    const char *name;
    void *values; /* [rows] of 4 bytes */
    rer_dtype dtype;
} rer_score_column;
void rer_exchange_score_columns(rer_score_column columns[RER_SCORE_COLUMNS], const rer_scores *scores);

/* Scatter and sampled rows. */
typedef struct rer_scatter_answer {
    int64_t D, rows;
    double *triangle;      /* [D (D + 1) / 2] rows of the lower triangle, NULL: not asked for */
    rer_row_sample sample; /* row: places in the whole, in any order */
} rer_scatter_answer;
void rer_exchange_put_scatter(rer_tensors *tensors, const rer_scatter_answer *answer);
void rer_exchange_get_scatter(rer_scatter_answer *answer, rer_tensors *tensors);
void rer_scatter_answer_free(rer_scatter_answer *answer);
