/* Products by a processor's tiles (AMX), where it has them. */
#pragma once

#include "backend/backend.h"

#include <stddef.h>

/* Whether this processor and its system have them, and RER_AMX=0 does not say no. */
bool rer_tiles_are_there(void);
/* rer_multiply_quickly_f32 by tiles; false where they are not there, or k or D is too small to pay. */
bool rer_tiles_multiply(float *h, int64_t ldh, const float *t, const float *u, int64_t n, int64_t k, int64_t D);
/* rer_bound_products by tiles; false where they are not there. */
bool rer_tiles_bound(const rer_coarse_kernels *kernels, float *most, int64_t stride, const rer_coarse_asking *asking,
                     const rer_coarse_pack *pack, int64_t packs, int64_t n);

/* This thread's buffer of OpenBLAS, free between its calls; NULL: no memory, or none of its own. */
void *rer_backend_buffer(size_t *bytes);
