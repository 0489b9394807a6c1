/* A second opinion: the user's own out-of-sample class probabilities, pooled with ours. See opinion.c. */
#ifndef RER_OPINION_H
#define RER_OPINION_H

#include "judge/channel.h"
#include "source/dataset.h"

/* Bytes of scratch for so many rows. */
int64_t rer_opinion_scratch(const rer_dataset *data, int64_t rows);
/* penalty [count, C] of rows first.. of the input; an error where a row is no distribution. */
rer_status rer_opinion_rows(float *penalty, const rer_dataset *data, int64_t first, int64_t count, const float *log_n,
                            void *scratch, rer_error *error);

/* The weight of the opinion on sampled rows, row [rows] of the input, and d2 [rows, C] (which the sample has
 * too) with its penalties added. */
rer_status rer_opinion_weigh(double *weight, float *d2, const int64_t *row, const rer_channel_sample *sample,
                             const rer_dataset *data, const rer_kernels *kernels, rer_error *error);

#endif
