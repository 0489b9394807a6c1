/* Left-out errors the slow way: forget the row, fit again, solve. No BLAS, no closed form, nothing
 * of src/: what the fast code is held against. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct brute_data {
    int64_t N, D;
    int32_t C;
    const double *x;     /* [N, D] rows as they are modelled */
    const int32_t *code; /* [N] class, negative: not used for fitting */
} brute_data;

/* Class means [C, D], sizes [C] and within-class scatter [D, D] (whole matrix) of all labelled
 * rows but `without` (-1: of all). */
void brute_fit(double *mean, int64_t *n, double *scatter, const brute_data *data, int64_t without);

/* d2 [C] = (x - mu_k)' S^-1 (x - mu_k) with means and scatter of all rows but `row`, and
 *     S = (1 - a) W / dof + a tau I,  dof = rows - C and tau = tr W / dof / D of all rows
 * (the convention of the model). NaN where no row of the class is left. With `identity` S = I.
 * *den: what is left of 1 when the row's own share in S_a is taken away (the closed form divides
 * by it); 1 where nothing is left out. */
void brute_left_out(double *d2, double *den, const brute_data *data, int64_t row, double a, bool identity);

/* The same for rows that the model has not seen: nothing is left out. x [D]. */
void brute_new_row(double *d2, const brute_data *data, const double *x, double a, bool identity);
