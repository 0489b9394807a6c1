/* Texts as rows: their features by a model. */
#pragma once

#include "embed/encoder.h"
#include "source/photos.h"

/* Rows are made in pieces of this many, in which texts of like length go together. */
#define RER_TEXT_PIECE 256

/* Hands the rows from `first` on (a multiple of the piece) to `take`, in order. */
rer_status rer_text_rows_read(const rer_texts *texts, int64_t first, rer_encoder *encoder, rer_rows_taker *take,
                              void *context, rer_pool *pool, rer_error *error);
