/* Arrays of float or of double behind one table, so that what scores rows is written once. Rows are scored in double
 * where they are few beside the features (fewer than 4 D): whitening then magnifies what float rounds off.
 * Values are handed over one by one only where they are rare; all else is a row or a product at a time. */
#pragma once

#include "backend/backend.h"

#include <stddef.h>

/* out [n, m] (row stride `stride`) = a [n, D] b [m, D]' */
typedef void rer_real_multiply(void *out, int64_t stride, const void *a, const void *b, int64_t n, int64_t m,
                               int64_t D);

typedef struct rer_real {
    size_t size; /* of a value */
    double (*get)(const void *values, int64_t i);
    void (*set)(void *values, int64_t i, double value);
    void (*from_double)(void *out, const double *values, int64_t n);

    /* Products and kernels of backend.h. */
    rer_real_multiply *multiply, *multiply_quickly;
    /* Nearly, if at all, and how far off at most: rer_multiply_roughly_f32. */
    bool (*multiply_roughly)(void *out, int64_t stride, const void *a, const void *b, int64_t n, int64_t m, int64_t D,
                             float *off);
    void (*multiply_triangle)(void *x, const void *root, int64_t n, int64_t D);
    void (*residual)(const rer_kernels *kernels, void *out, const float *x, double scale, const double *mean,
                     int64_t n);
    double (*dot)(const rer_kernels *kernels, const void *a, const void *b, int64_t n);
    bool (*left_out)(const rer_kernels *kernels, void *h, const void *m, const void *scale, double base, double own,
                     double h_own, double gain, int64_t n);
    void (*direct)(const rer_kernels *kernels, const void *t, const void *u_own, const void *u_k, int64_t n, double *d2,
                   double *g);

    /* Rows [n]. */
    void (*square_between)(void *m, const void *norm, double own, int64_t n); /* m <- own + norm - 2 m */
    void (*subtract)(void *a, const void *b, int64_t n);                      /* a <- a - b */
    /* e^2 and e.T of subspace/rows.c: before any direction, less one of them, and the errors d2 that they give; where
     * e^2 lost its digits, below RER_CANCELLED_BELOW (base + scale), -1: returns whether there are such. */
    void (*start)(void *e2, void *e_t, const void *h, const void *m, double own, double h_own, int64_t n);
    void (*project)(void *e2, void *e_t, const void *q, const void *shift, int64_t n);
    bool (*finish)(float *d2, const void *e2, const void *e_t, const void *scale, double base, double gain, int64_t n);
    /* In double, v [n]: takes its part along a direction out, v.t. */
    void (*remove)(double *v, const void *direction, int64_t n);
    double (*dot_double)(const double *v, const void *t, int64_t n);
} rer_real;

extern const rer_real rer_real_f32, rer_real_f64;

static inline const rer_real *rer_real_of(bool in_double)
{
    return in_double ? &rer_real_f64 : &rer_real_f32;
}

/* &values[i] */
static inline void *rer_real_at(const rer_real *real, const void *values, int64_t i)
{
    return (char *)values + i * (int64_t)real->size;
}
