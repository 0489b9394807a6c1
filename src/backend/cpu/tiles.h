/* Products by a processor's tiles (AMX), where it has them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether this processor and its system have them, and RER_AMX=0 does not say no. */
bool rer_tiles_are_there(void);
/* rer_multiply_quickly_f32 by tiles; false where they are not there, or k or D is too small to pay. */
bool rer_tiles_multiply(float *h, int64_t ldh, const float *t, const float *u, int64_t n, int64_t k, int64_t D);

/* This thread's buffer of OpenBLAS, free between its calls; NULL: no memory. */
void *rer_backend_buffer(size_t *bytes);
