/* The largest eigenvalues of a symmetric matrix and their vectors: a = Q T Q' with T tridiagonal
 * (dsytrd), eigenvalues of T by bisection (dstebz), vectors by inverse iteration (dstein), then
 * times Q. dsyevr does the same for a part of the spectrum, but needs Fortran's run-time library. */
#include "backend/backend.h"

#include <cblas.h>
#include <stdlib.h>
#include <string.h>

extern void dsytrd_(const char *uplo, const blasint *n, double *a, const blasint *lda, double *d, double *e,
                    double *tau, double *work, const blasint *lwork, blasint *info);
extern void dstebz_(const char *range, const char *order, const blasint *n, const double *vl, const double *vu,
                    const blasint *il, const blasint *iu, const double *abstol, const double *d, const double *e,
                    blasint *m, blasint *nsplit, double *w, blasint *iblock, blasint *isplit, double *work,
                    blasint *iwork, blasint *info);
extern void dstein_(const blasint *n, const double *d, const double *e, const blasint *m, const double *w,
                    const blasint *iblock, const blasint *isplit, double *z, const blasint *ldz, double *work,
                    blasint *iwork, blasint *ifail, blasint *info);

/* Columns that dsytrd takes together, for its work space. */
#define PANEL 64

/* vectors [k, n] <- Q vectors. dsytrd leaves Q = H(n-1) .. H(1), H(r) = 1 - tau[r-1] v v', with
 * v = (a[r, 0..r-2], 1, 0, ..) in our row-major a. */
static void apply_reflectors(double *vectors, const double *a, const double *tau, int64_t n, int64_t k)
{
    for (int64_t r = 1; r < n; r++) {
        const double *v = a + r * n;
        for (int64_t j = 0; j < k; j++) {
            double *x = vectors + j * n;
            double s = tau[r - 1] * (x[r - 1] + cblas_ddot((blasint)(r - 1), v, 1, x, 1));
            x[r - 1] -= s;
            cblas_daxpy((blasint)(r - 1), -s, v, 1, x, 1);
        }
    }
}

/* Largest first; equal ones keep their order. */
static void sort_pairs(double *values, double *vectors, double *spare, int64_t n, int64_t k)
{
    for (int64_t i = 0; i < k; i++) {
        int64_t best = i;
        for (int64_t j = i + 1; j < k; j++)
            if (values[j] > values[best])
                best = j;
        double value = values[best];
        memcpy(spare, vectors + best * n, (size_t)n * sizeof *spare);
        for (int64_t j = best; j > i; j--) {
            values[j] = values[j - 1];
            memcpy(vectors + j * n, vectors + (j - 1) * n, (size_t)n * sizeof *spare);
        }
        values[i] = value;
        memcpy(vectors + i * n, spare, (size_t)n * sizeof *spare);
    }
}

bool rer_top_eigenvectors(double *values, double *vectors, double *a, int64_t n, int64_t k)
{
    if (k == 0)
        return true;
    blasint size = (blasint)n, low = (blasint)(n - k + 1), lwork = (blasint)(PANEL * n), found = 0, split = 0, info = 0;
    double unused = 0, tolerance = 0;
    double *reals = malloc((size_t)(4 * n + PANEL * n) * sizeof *reals);
    blasint *integers = malloc((size_t)(6 * n) * sizeof *integers);
    bool right = reals != NULL && integers != NULL;
    if (right) {
        double *d = reals, *e = d + n, *tau = e + n, *w = tau + n, *work = w + n;
        blasint *block = integers, *ends = block + n, *failed = ends + n, *iwork = failed + n;
        dsytrd_("U", &size, a, &size, d, e, tau, work, &lwork, &info); /* our lower triangle is its upper one */
        if (info == 0)
            dstebz_("I", "B", &size, &unused, &unused, &low, &size, &tolerance, d, e, &found, &split, w, block, ends,
                    work, iwork, &info);
        right = info == 0 && found == (blasint)k;
        if (right)
            dstein_(&size, d, e, &found, w, block, ends, vectors, &size, work, iwork, failed, &info);
        right = right && info == 0;
        if (right) {
            memcpy(values, w, (size_t)k * sizeof *values);
            apply_reflectors(vectors, a, tau, n, k);
            sort_pairs(values, vectors, work, n, k);
        }
    }
    free(reals);
    free(integers);
    return right;
}
