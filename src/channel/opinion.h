/* A second opinion: the user's own out-of-sample class probabilities q, as evidence about a row:
 *   E_k = max_j log(q_j / n_j) - log(q_k / n_k) >= 0
 * (q has the class sizes in it already). What a unit of it is worth is found with all the rest (fit.c). */
#pragma once

#include "channel/channel.h"
#include "source/dataset.h"

/* Bytes of scratch for so many rows. */
int64_t rer_opinion_scratch(const rer_dataset *data, int64_t rows);
/* evidence [count, C] of rows first.. of the input; an error where a row is no distribution, unless it is left out:
 * invalid [count], NULL: none is. */
rer_status rer_opinion_rows(float *evidence, const rer_dataset *data, int64_t first, int64_t count,
                            const uint8_t *invalid, const float *log_n, void *scratch, rer_error *error);
/* The same of any rows, row [count]. */
rer_status rer_opinion_of(float *evidence, const rer_dataset *data, const int64_t *row, int64_t count,
                          const float *log_n, rer_error *error);
