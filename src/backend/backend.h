/* The dense operations that everything heavy is made of. One table a device; only src/backend
 * holds BLAS calls and code for an instruction set.
 *
 * Matrices are row-major. f32 and f64 stand for float and double. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Nearest and second-nearest class of one row, over the classes seen so far. */
typedef struct rer_nearest {
    float first, second;               /* squared errors */
    int32_t first_class, second_class; /* -1: none yet */
    double sum;                        /* of the errors (roots) of all classes seen */
} rer_nearest;

/* The elementwise parts of a network, rows [rows, cols]. */
typedef struct rer_network_kernels {
    /* h <- max(0, h + bias) * scale */
    void (*bias_relu)(float *h, const float *bias, double scale, int64_t rows, int64_t cols);
    /* y <- sigmoid(y + bias) */
    void (*bias_sigmoid)(float *y, const float *bias, int64_t rows, int64_t cols);
    /* |y - x|^2 */
    double (*squared_error)(const float *y, const float *x, int64_t n);
    /* d <- d * scale where h > 0, else 0 */
    void (*relu_back)(float *d, const float *h, double scale, int64_t n);
    /* y <- factor (y - x) y (1 - y) */
    void (*sigmoid_back)(float *y, const float *x, double factor, int64_t n);
    /* One Adam step (.9, .999, 1e-7) of weights w with moments m, v: the gradient g + 2 l2 w,
     * clipped to +-clip; rate has the bias corrections in it. */
    void (*adam)(float *w, float *m, float *v, const float *g, double rate, double l2, double clip, int64_t n);
} rer_network_kernels;

/* Shape of a network (fit/autoencoder/network.h). */
#define RER_HIDDEN_MAX 4
#define RER_LAYERS_MAX (2 * RER_HIDDEN_MAX + 2)
#define RER_NEGATIVES 5 /* tails that a head is pushed from, for each that it is pulled to */

typedef struct rer_network {
    int layers, encoder;               /* in all; of the encoder */
    int64_t width[RER_LAYERS_MAX + 1]; /* layer l maps width[l] to width[l + 1] */
    int64_t weight[RER_LAYERS_MAX];    /* where W_l [in, out] starts among the parameters */
    int64_t bias[RER_LAYERS_MAX];      /* and b_l [out] */
    int64_t parameters;
} rer_network;

#define RER_CHANNEL_KINDS 4 /* of evidence, at most */

/* What a row says of each of n classes, and what a unit of it is worth. */
typedef struct rer_channel_evidence {
    int32_t count;
    const float *value[RER_CHANNEL_KINDS]; /* each [n] */
    float weight[RER_CHANNEL_KINDS];
} rer_channel_evidence;

/* Sums over the scores z of a row's classes, with e_k = exp(z_k - top). */
typedef struct rer_channel_sums {
    float top;      /* the largest score */
    int32_t best;   /* its place */
    double rest;    /* sum of e_k but for that one, whose e is 1 */
    double blurred; /* sum of exp(sharpness (z_k - top)) */
    double flow;    /* sum of e_k rates_k; 0 without rates */
} rer_channel_sums;

typedef struct rer_channel_kernels {
    /* z = bias - sum_j weight_j value_j */
    void (*scores)(float *z, const float *bias, const rer_channel_evidence *evidence, int64_t n);
    /* The sums; z becomes e. A class with z = -INFINITY has no part in them. */
    void (*sums)(rer_channel_sums *sums, float *z, const float *rates, double sharpness, int64_t n);
    /* sum over k != best of e_k / (total - e_k) */
    double (*odds)(const float *e, double total, int32_t best, int64_t n);
    /* out [4, 4] = a[i] . b[k], rows of n: the same bits for a pair whatever the other rows are */
    void (*products)(float *out, const float *const *a, const float *const *b, int64_t n);
    /* out [4] = a . b[k], with the bits that products gives them */
    void (*row_products)(float *out, const float *a, const float *const *b, int64_t n);
} rer_channel_kernels;

/* Labelled rows under a channel (channel/channel.c has the letters). */
typedef struct rer_channel_rows {
    int64_t count;
    int32_t n; /* classes */
    int kinds;
    const float *value[RER_CHANNEL_KINDS]; /* [count, n] each: evidence, */
    float weight[RER_CHANNEL_KINDS];       /* and what a unit of it is worth */
    const float *bias;                     /* [n]: z = bias - sum_j weight_j value_j */
    const int32_t *code;                   /* [count] labels seen */
    const float *stands;                   /* [count] rows that each stands for, NULL: itself */
    const float *right;                    /* [n] A_cc */
    const float *rates;                    /* [n seen, n true] A, but for right; NULL: `uniform` throughout */
    double uniform;                        /* A where there are no rates */
    double sharpness, blur, likeness;      /* lambda, e, v */
} rer_channel_rows;

/* Sums over the rows that these stand for of log q and of its slopes, d log q / d each of these. */
typedef struct rer_channel_slopes {
    double value, weight[RER_CHANNEL_KINDS], sharpness, blur;
    double likeness; /* where a float of it is not 0 */
    double uniform;  /* where there are no rates */
    float *bias;     /* [n] */
    float *pairs;    /* [n seen, n true], of A; NULL: not asked for, and without rates */
} rer_channel_slopes;

/* Sums over the rows that these stand for of P(true class k, clearly seen | label). */
typedef struct rer_channel_flows {
    float *totals;   /* [n] for each k; */
    double wrong;    /* of classes that are not the label's, */
    float *directed; /* [count, n] and of each row itself, 0 for its label; NULL: not asked for, and without rates */
} rer_channel_flows;

/* Both add to what is there. room: bytes, aligned to 64. */
typedef struct rer_rows_kernels {
    int64_t (*room)(const rer_channel_rows *rows);
    void (*slopes)(rer_channel_slopes *sums, const rer_channel_rows *rows, void *room);
    void (*flows)(rer_channel_flows *sums, const rer_channel_rows *rows, void *room);
} rer_rows_kernels;

/* Rows of unit length (or 0) in eight bits: x = unit q + off, |off| <= error. Since
 *     x.y <= unit_x unit_y q_x.q_y + error_x + (1 + error_x) error_y
 * most rows are known to be far from x without computing how far. */
#define RER_COARSE_ROWS 16                        /* at a time */
#define RER_COARSE_BYTES(n) (((n) + 3) / 4 * 4)   /* of a row */
#define RER_COARSE_MOST (INT32_MAX / (127 * 128)) /* values of a row, which fit the sums */

typedef struct rer_coarse_scale {
    float unit, error;
    int32_t sum; /* of q */
} rer_coarse_scale;

typedef struct rer_coarse_asking {
    const uint8_t *q; /* [RER_COARSE_BYTES] q + 128 */
    float unit, error;
} rer_coarse_asking;

typedef struct rer_coarse_pack {
    const int8_t *q;           /* [RER_COARSE_BYTES / 4, RER_COARSE_ROWS, 4] */
    const int32_t *start;      /* [RER_COARSE_ROWS] -128 sum of q */
    const float *unit, *error; /* [RER_COARSE_ROWS] */
} rer_coarse_pack;

/* The one that lies `k` behind. */
static inline rer_coarse_pack rer_coarse_pack_at(const rer_coarse_pack *pack, int64_t k, int64_t n)
{
    int64_t rows = k * RER_COARSE_ROWS;
    return (rer_coarse_pack){pack->q + rows * n, pack->start + rows, pack->unit + rows, pack->error + rows};
}

/* Where the processor is fast at it; else NULL. */
typedef struct rer_coarse_kernels {
    rer_coarse_scale (*coarsen)(int8_t *q, const float *x, int64_t n);
    /* most [RER_COARSE_ROWS asking, RER_COARSE_ROWS], rows `stride` apart: bounds of the products with a pack, */
    void (*bounds)(float *most, int64_t stride, const rer_coarse_asking *asking, const rer_coarse_pack *pack,
                   int64_t n);
    /* and from sums [RER_COARSE_ROWS asking, RER_COARSE_ROWS] = start + q.q that are there */
    void (*bounds_of)(float *most, int64_t stride, const int32_t *sums, const rer_coarse_asking *asking,
                      const rer_coarse_pack *pack);
    /* Of n numbers about the rank-th largest, not larger than that; both of these: n a multiple of RER_COARSE_ROWS */
    float (*level)(const float *most, int64_t n, int rank);
    /* at [n]: the k < n with from <= most[k] < below, ascending, then anything; returns how many */
    int64_t (*between)(int32_t *at, const float *most, float from, float below, int64_t n);
} rer_coarse_kernels;

/* Products in words of sixteen bits, where the processor is fast at it; else NULL. */
typedef struct rer_word_kernels {
    /* rer_multiply_roughly_f32 with `memory` for what room says, in bytes */
    void (*multiply)(float *h, int64_t ldh, const float *t, const float *u, int64_t n, int64_t k, int64_t D, float *off,
                     void *memory);
    int64_t (*room)(int64_t k, int64_t D);
} rer_word_kernels;

/* Vector kernels, compiled for each instruction set. */
typedef struct rer_kernels {
    const char *name;
    /* `in` may lie at any address */
    void (*half_to_float)(float *out, const void *in, int64_t n);
    double (*sum_squares)(const float *x, int64_t n);
    /* sum += scale * x */
    void (*add_scaled)(double *sum, const float *x, double scale, int64_t n);
    /* sum += (scale * x)^2 */
    void (*add_squares)(double *sum, const float *x, double scale, int64_t n);
    /* sum += x, and rest takes what sum rounds off */
    void (*add_pair)(double *sum, double *rest, const double *x, int64_t n);
    /* sum[j] += x[j] rounded to a multiple of 2^-53 unit units[j], powers of two, |x[j]| < half their product:
     * exact, and so the same in any order, as long as sums stay below it too */
    void (*add_rounded)(double *sum, const float *x, double unit, const double *units, int64_t n);
    /* sum += x, a float block result into its double accumulator */
    void (*add_block)(double *sum, const float *x, int64_t n);
    /* out = scale * x - mean, in double, then rounded; returns its squared length */
    double (*residual_f32)(float *out, const float *x, double scale, const double *mean, int64_t n);
    double (*residual_f64)(double *out, const float *x, double scale, const double *mean, int64_t n);
    double (*dot_f32)(const float *a, const float *b, int64_t n);
    double (*dot_f64)(const double *a, const double *b, int64_t n);
    /* One row's products h_k = T.U_k become left-out squared errors in place:
     *     g_k = own + h_own - h_k,  d2_k = g_k + h_own - h_k + m_k,  h_k <- d2_k + gain g_k^2.
     * True where some d2_k is below RER_CANCELLED_BELOW (of float RER_QUICK_CANCELLED_BELOW) * (base + scale_k), the
     * size of the terms that it is the difference of: it has lost digits then, and the caller refines it. */
    bool (*left_out_f32)(float *h, const float *m, const float *scale, double base, double own, double h_own,
                         double gain, int64_t n);
    bool (*left_out_f64)(double *h, const double *m, const double *scale, double base, double own, double h_own,
                         double gain, int64_t n);
    /* Direct |T + U_own - U_k|^2 and T.(T + U_own - U_k) where the expansion has lost digits. */
    void (*direct_f32)(const float *t, const float *u_own, const float *u_k, int64_t n, double *d2, double *g);
    void (*direct_f64)(const double *t, const double *u_own, const double *u_k, int64_t n, double *d2, double *g);
    /* INFINITY where there is none */
    float (*smallest)(const float *x, int64_t n);
    /* Takes the squared errors of classes first_class..+n of a row into `nearest`; the class
     * `skip` (if among them) takes part in the sum, not in the search. */
    void (*find_nearest)(rer_nearest *nearest, float *d2, int32_t first_class, int32_t n, int32_t skip);
    /* log sum_k exp(log_n[k] - half_t * d2[k]) */
    double (*log_sum_exp)(const float *d2, const float *log_n, double half_t, int64_t n);
    /* z <- softmax(z + bias); returns log sum_k exp(z_k + bias_k) */
    double (*softmax)(float *z, const float *bias, int64_t n);
    const rer_network_kernels *network;
    const rer_channel_kernels *channel;
    const rer_rows_kernels *rows;
    const rer_coarse_kernels *coarse;
    const rer_word_kernels *words;
} rer_kernels;

/* Entries that lost more than this factor to cancellation are recomputed directly. */
#define RER_CANCELLED_BELOW (1.0 / 64)
#define RER_QUICK_CANCELLED_BELOW (1.0 / 8) /* of quick products: what is kept is good to 8 * 4e-7 */

const rer_kernels *rer_cpu_kernels(void);

/* A thread enters before its first product below (false: no memory) and leaves when it is done. */
bool rer_backend_enter(void);
void rer_backend_leave(void);

/* w [D, D] lower = r' r, r [n, D] */
void rer_rank_update(float *w, const float *r, int64_t n, int64_t D);
/* r [n, D] <- r g', g [D, D] lower triangular */
void rer_multiply_triangle_f32(float *r, const float *g, int64_t n, int64_t D);
void rer_multiply_triangle_f64(double *r, const double *g, int64_t n, int64_t D);
/* r [n, D] <- r g */
void rer_multiply_triangle_back_f64(double *r, const double *g, int64_t n, int64_t D);
/* h [n, k] (row stride ldh) = t u', t [n, D], u [k, D] */
void rer_multiply_f32(float *h, int64_t ldh, const float *t, const float *u, int64_t n, int64_t k, int64_t D);
/* The same within 5e-5 |t_i| |u_k|, 2e-7 of hundreds of terms, where the processor has quicker products than float's. */
void rer_multiply_quickly_f32(float *h, int64_t ldh, const float *t, const float *u, int64_t n, int64_t k, int64_t D);
/* Nearly the same, at twice the rate of float, where the processor multiplies words but no tiles: no product of row i is
 * off by more than off[i], some 1e-4 |t_i| times the longest u (where few of the D terms are everything up to sqrt(D) 3e-5
 * of it), and mostly by a thirtieth of that. False: h is as it was. */
bool rer_multiply_roughly_f32(float *h, int64_t ldh, const float *t, const float *u, int64_t n, int64_t k, int64_t D,
                              float *off);
/* Bounds of the products with `packs` packs, one behind the other, with RER_COARSE_BEYOND bytes to read behind the last:
 * by tiles, where the processor has them. n: bytes of a row. */
#define RER_COARSE_BEYOND 1024
void rer_bound_products(const rer_coarse_kernels *kernels, float *most, int64_t stride, const rer_coarse_asking *asking,
                        const rer_coarse_pack *pack, int64_t packs, int64_t n);
void rer_multiply_f64(double *h, int64_t ldh, const double *t, const double *u, int64_t n, int64_t k, int64_t D);
/* c [M, N] = op(a) op(b), op transposing where asked; op(a) is [M, K], op(b) [K, N]. */
void rer_gemm_f32(bool transpose_a, bool transpose_b, int64_t M, int64_t N, int64_t K, const float *a, const float *b,
                  float *c);
void rer_gemm_f64(bool transpose_a, bool transpose_b, int64_t M, int64_t N, int64_t K, const double *a, const double *b,
                  double *c);
/* a [D, D] lower: a = g g', a <- g^-1. Returns the smallest pivot relative to the largest (of
 * squares), 0 where a is not positive definite. */
double rer_invert_cholesky_f32(float *a, int64_t D);
double rer_invert_cholesky_f64(double *a, int64_t D);
/* w [D, D] lower += r' r, r [n, D] */
void rer_add_rank_update_f64(double *w, const double *r, int64_t n, int64_t D);
/* The k largest eigenvalues of the symmetric a [n, n] (lower triangle; destroyed), largest first,
 * and their eigenvectors [k, n]. False: no memory, or no convergence. */
bool rer_top_eigenvectors(double *values, double *vectors, double *a, int64_t n, int64_t k);
