/* Products, by OpenBLAS. Every call runs in the caller's thread; parallelism is the pool's business. */
#include "backend/backend.h"
#include "backend/cpu/tiles.h"

#include "rer.h"

#include <cblas.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *rer_kernels_in_use(void)
{
    static _Thread_local char text[80];
    (void)snprintf(text, sizeof text, "%s%s, OpenBLAS %s", rer_cpu_kernels()->name,
                   rer_tiles_are_there() ? " and AMX" : "", openblas_get_corename());
    return text;
}

void rer_rank_update(float *w, const float *r, int64_t n, int64_t D)
{
    cblas_ssyrk(CblasRowMajor, CblasLower, CblasTrans, (blasint)D, (blasint)n, 1, r, (blasint)D, 0, w, (blasint)D);
}

void rer_multiply_triangle_f32(float *r, const float *g, int64_t n, int64_t D)
{
    cblas_strmm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, (blasint)n, (blasint)D, 1, g,
                (blasint)D, r, (blasint)D);
}

void rer_multiply_triangle_f64(double *r, const double *g, int64_t n, int64_t D)
{
    cblas_dtrmm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, (blasint)n, (blasint)D, 1, g,
                (blasint)D, r, (blasint)D);
}

void rer_multiply_triangle_back_f64(double *r, const double *g, int64_t n, int64_t D)
{
    cblas_dtrmm(CblasRowMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, (blasint)n, (blasint)D, 1, g,
                (blasint)D, r, (blasint)D);
}

void rer_multiply_f32(float *h, int64_t ldh, const float *t, const float *u, int64_t n, int64_t k, int64_t D)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (blasint)n, (blasint)k, (blasint)D, 1, t, (blasint)D, u,
                (blasint)D, 0, h, (blasint)ldh);
}

void rer_multiply_quickly_f32(float *h, int64_t ldh, const float *t, const float *u, int64_t n, int64_t k, int64_t D)
{
    if (!rer_tiles_multiply(h, ldh, t, u, n, k, D))
        rer_multiply_f32(h, ldh, t, u, n, k, D);
}

/* Below these, making words costs more than multiplying. */
#define LEAST_WORD_COLUMNS 256
#define LEAST_WORD_TERMS 64

static bool words_are_wanted;

static void ask_for_words(void)
{
    const char *wanted = getenv("RER_WORDS");
    words_are_wanted = !rer_tiles_are_there() && (wanted == NULL || strcmp(wanted, "0") != 0);
}

bool rer_multiply_roughly_f32(float *h, int64_t ldh, const float *t, const float *u, int64_t n, int64_t k, int64_t D,
                              float *off)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const rer_word_kernels *words = rer_cpu_kernels()->words;
    size_t bytes = 0;
    if (words->multiply == NULL || k < LEAST_WORD_COLUMNS || D < LEAST_WORD_TERMS ||
        pthread_once(&once, ask_for_words) != 0 || !words_are_wanted)
        return false;
    void *memory = rer_backend_buffer(&bytes);
    if (memory == NULL || bytes < (size_t)words->room(k, D))
        return false;
    words->multiply(h, ldh, t, u, n, k, D, off, memory);
    return true;
}

void rer_bound_products(const rer_coarse_kernels *kernels, float *most, int64_t stride, const rer_coarse_asking *asking,
                        const rer_coarse_pack *pack, int64_t packs, int64_t n)
{
    if (rer_tiles_bound(kernels, most, stride, asking, pack, packs, n))
        return;
    for (int64_t k = 0; k < packs; k++) {
        rer_coarse_pack at = rer_coarse_pack_at(pack, k, n);
        kernels->bounds(most + k * RER_COARSE_ROWS, stride, asking, &at, n);
    }
}

void rer_multiply_f64(double *h, int64_t ldh, const double *t, const double *u, int64_t n, int64_t k, int64_t D)
{
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (blasint)n, (blasint)k, (blasint)D, 1, t, (blasint)D, u,
                (blasint)D, 0, h, (blasint)ldh);
}

void rer_gemm_f32(bool transpose_a, bool transpose_b, int64_t M, int64_t N, int64_t K, const float *a, const float *b,
                  float *c)
{
    cblas_sgemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans, transpose_b ? CblasTrans : CblasNoTrans,
                (blasint)M, (blasint)N, (blasint)K, 1, a, (blasint)(transpose_a ? M : K), b,
                (blasint)(transpose_b ? K : N), 0, c, (blasint)N);
}

void rer_gemm_f64(bool transpose_a, bool transpose_b, int64_t M, int64_t N, int64_t K, const double *a, const double *b,
                  double *c)
{
    cblas_dgemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans, transpose_b ? CblasTrans : CblasNoTrans,
                (blasint)M, (blasint)N, (blasint)K, 1, a, (blasint)(transpose_a ? M : K), b,
                (blasint)(transpose_b ? K : N), 0, c, (blasint)N);
}

/* LAPACK is column-major: our row-major lower triangle is its upper one. */
#define DEFINE_INVERT_CHOLESKY(real, name, potrf, trtri)                                                               \
    extern void potrf(const char *uplo, const blasint *n, real *a, const blasint *lda, blasint *info);                 \
    extern void trtri(const char *uplo, const char *diag, const blasint *n, real *a, const blasint *lda,               \
                      blasint *info);                                                                                  \
    double name(real *a, int64_t D)                                                                                    \
    {                                                                                                                  \
        blasint n = (blasint)D, info = 0;                                                                              \
        potrf("U", &n, a, &n, &info);                                                                                  \
        if (info != 0)                                                                                                 \
            return 0;                                                                                                  \
        double smallest = (double)a[0], largest = smallest;                                                            \
        for (int64_t j = 1; j < D; j++) {                                                                              \
            double pivot = (double)a[j * D + j];                                                                       \
            smallest = pivot < smallest ? pivot : smallest;                                                            \
            largest = pivot > largest ? pivot : largest;                                                               \
        }                                                                                                              \
        trtri("U", "N", &n, a, &n, &info);                                                                             \
        return info == 0 ? (smallest / largest) * (smallest / largest) : 0;                                            \
    }

DEFINE_INVERT_CHOLESKY(float, rer_invert_cholesky_f32, spotrf_, strtri_)
DEFINE_INVERT_CHOLESKY(double, rer_invert_cholesky_f64, dpotrf_, dtrtri_)

void rer_add_rank_update_f64(double *w, const double *r, int64_t n, int64_t D)
{
    cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, (blasint)D, (blasint)n, 1, r, (blasint)D, 1, w, (blasint)D);
}
