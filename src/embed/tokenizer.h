/* Texts to the numbers of their tokens, by the openvino_tokenizer.xml that lies beside a model. */
#pragma once

#include "core/core.h"

typedef struct rer_tokenizer rer_tokenizer;

/* [count, length] each; padding is behind a text's tokens, and has mask 0. */
typedef struct rer_tokens {
    int64_t count, length;
    int64_t *ids, *mask;
} rer_tokens;

/* `most` tokens of a text are kept, the last one (which ends it) among them; a row is a multiple of `step` long where
 * there is room. */
typedef struct rer_token_limits {
    int64_t most, step, padding; /* padding: its number */
} rer_token_limits;

rer_status rer_tokenizer_open(rer_tokenizer **tokenizer, const char *file, rer_error *error);
void rer_tokenizer_free(rer_tokenizer *tokenizer);
/* Several threads may call it. Frees what `tokens` has. */
rer_status rer_tokenizer_run(rer_tokens *tokens, rer_tokenizer *tokenizer, const char *const *texts, int64_t count,
                             rer_token_limits limits, rer_error *error);
void rer_tokens_free(rer_tokens *tokens);
