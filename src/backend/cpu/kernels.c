/* Vector kernels in plain C, compiled once for each instruction set (RER_ISA). `omp simd` lets the
 * compiler reorder a reduction into lanes; the lane count is fixed at compile time, so the same
 * processor gives the same bits whatever the number of threads. */
#include "backend/backend.h"
#include "backend/cpu/exp.h"
#include "backend/cpu/search.h"

#include <math.h>
#include <string.h>

#if defined(__F16C__)
#include <immintrin.h>
#endif

#define TABLE_NAME_OF(isa) rer_kernels_##isa
#define TABLE_NAME(isa) TABLE_NAME_OF(isa)
#define NETWORK_TABLE_NAME_OF(isa) rer_network_kernels_##isa
#define NETWORK_TABLE_NAME(isa) NETWORK_TABLE_NAME_OF(isa)

extern const rer_kernels TABLE_NAME(RER_ISA);
extern const rer_network_kernels NETWORK_TABLE_NAME(RER_ISA);
#define CHANNEL_TABLE_NAME_OF(isa) rer_channel_kernels_##isa
#define CHANNEL_TABLE_NAME(isa) CHANNEL_TABLE_NAME_OF(isa)
extern const rer_channel_kernels CHANNEL_TABLE_NAME(RER_ISA);
#define ROWS_TABLE_NAME_OF(isa) rer_rows_kernels_##isa
#define ROWS_TABLE_NAME(isa) ROWS_TABLE_NAME_OF(isa)
extern const rer_rows_kernels ROWS_TABLE_NAME(RER_ISA);
#define COARSE_TABLE_NAME_OF(isa) rer_coarse_kernels_##isa
#define COARSE_TABLE_NAME(isa) COARSE_TABLE_NAME_OF(isa)
extern const rer_coarse_kernels COARSE_TABLE_NAME(RER_ISA);
#define WORD_TABLE_NAME_OF(isa) rer_word_kernels_##isa
#define WORD_TABLE_NAME(isa) WORD_TABLE_NAME_OF(isa)
extern const rer_word_kernels WORD_TABLE_NAME(RER_ISA);

/* IEEE half -> float: shift exponent and mantissa into place and rescale by 2^112, which makes
 * subnormals come out right; the largest exponent (Inf, NaN) is restored by hand. */
static float half_value(uint16_t half)
{
    uint32_t bits = (uint32_t)(half & 0x7FFFu) << 13;
    float value;
    memcpy(&value, &bits, sizeof value);
    value *= 0x1p112f;
    memcpy(&bits, &value, sizeof bits);
    bits |= (half & 0x7C00u) == 0x7C00u ? 0x7F800000u : 0u;
    bits |= (uint32_t)(half & 0x8000u) << 16;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void half_to_float(float *restrict out, const void *restrict in, int64_t n)
{
    const unsigned char *bytes = in;
    int64_t i = 0;
#if defined(__F16C__)
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(bytes + 2 * i))));
#endif
    for (; i < n; i++) {
        uint16_t half;
        memcpy(&half, bytes + 2 * i, sizeof half);
        out[i] = half_value(half);
    }
}

static double sum_squares(const float *x, int64_t n)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < n; j++)
        sum += (double)x[j] * (double)x[j];
    return sum;
}

static void add_scaled(double *restrict sum, const float *restrict x, double scale, int64_t n)
{
#pragma omp simd
    for (int64_t j = 0; j < n; j++)
        sum[j] += scale * (double)x[j];
}

static void add_squares(double *restrict sum, const float *restrict x, double scale, int64_t n)
{
#pragma omp simd
    for (int64_t j = 0; j < n; j++) {
        double value = scale * (double)x[j];
        sum[j] += value * value;
    }
}

/* Knuth's sum and its error; no product in it that could be fused. */
static void add_pair(double *restrict sum, double *restrict rest, const double *restrict x, int64_t n)
{
#pragma omp simd
    for (int64_t j = 0; j < n; j++) {
        double old = sum[j], made = old + x[j], taken = made - old;
        rest[j] += (old - (made - taken)) + (x[j] - taken);
        sum[j] = made;
    }
}

/* Added to a large power of two, a number keeps the bits above its last place. */
static void add_rounded(double *restrict sum, const float *restrict x, double unit, const double *restrict units,
                        int64_t n)
{
#pragma omp simd
    for (int64_t j = 0; j < n; j++) {
        double above = unit * units[j];
        sum[j] += ((double)x[j] + above) - above;
    }
}

static void add_block(double *restrict sum, const float *restrict x, int64_t n)
{
#pragma omp simd
    for (int64_t j = 0; j < n; j++)
        sum[j] += (double)x[j];
}

/* out may be x itself: the scatter makes its residuals in place */
static double residual_f32(float *out, const float *x, double scale, const double *restrict mean, int64_t n)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < n; j++) {
        double residual = scale * (double)x[j] - mean[j];
        sum += residual * residual;
        out[j] = (float)residual;
    }
    return sum;
}

static double dot_f32(const float *a, const float *b, int64_t n)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < n; j++)
        sum += (double)a[j] * (double)b[j];
    return sum;
}

static bool left_out_f32(float *restrict h, const float *restrict m, const float *restrict scale, double base_,
                         double own_, double h_own_, double gain_, int64_t n)
{
    float base = (float)base_, own = (float)own_, h_own = (float)h_own_, gain = (float)gain_;
    int cancelled = 0;
#pragma omp simd reduction(| : cancelled)
    for (int64_t k = 0; k < n; k++) {
        float difference = h_own - h[k];
        float g = own + difference;
        float d2 = g + difference + m[k];
        cancelled |= d2 < (float)RER_QUICK_CANCELLED_BELOW * (base + scale[k]);
        d2 += gain * g * g;
        h[k] = d2 < 0 ? 0 : d2; /* NaN stays: of numbers too large for float */
    }
    return cancelled != 0;
}

static void direct_f32(const float *t, const float *u_own, const float *u_k, int64_t n, double *d2, double *g)
{
    double square = 0, product = 0;
#pragma omp simd reduction(+ : square, product)
    for (int64_t j = 0; j < n; j++) {
        double distance = (double)t[j] + ((double)u_own[j] - (double)u_k[j]);
        square += distance * distance;
        product += (double)t[j] * distance;
    }
    *d2 = square;
    *g = product;
}

/* The same in double. */
static double residual_f64(double *out, const float *x, double scale, const double *restrict mean, int64_t n)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < n; j++) {
        double residual = scale * (double)x[j] - mean[j];
        sum += residual * residual;
        out[j] = residual;
    }
    return sum;
}

static double dot_f64(const double *a, const double *b, int64_t n)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < n; j++)
        sum += a[j] * b[j];
    return sum;
}

static bool left_out_f64(double *restrict h, const double *restrict m, const double *restrict scale, double base,
                         double own, double h_own, double gain, int64_t n)
{
    int cancelled = 0;
#pragma omp simd reduction(| : cancelled)
    for (int64_t k = 0; k < n; k++) {
        double difference = h_own - h[k];
        double g = own + difference;
        double d2 = g + difference + m[k];
        cancelled |= d2 < RER_CANCELLED_BELOW * (base + scale[k]);
        d2 += gain * g * g;
        h[k] = d2 < 0 ? 0 : d2; /* NaN stays: of numbers too large for float */
    }
    return cancelled != 0;
}

static void direct_f64(const double *t, const double *u_own, const double *u_k, int64_t n, double *d2, double *g)
{
    double square = 0, product = 0;
#pragma omp simd reduction(+ : square, product)
    for (int64_t j = 0; j < n; j++) {
        double distance = t[j] + (u_own[j] - u_k[j]);
        square += distance * distance;
        product += t[j] * distance;
    }
    *d2 = square;
    *g = product;
}

/* Place of the smallest of d2 [n], the first of equals. */
static int32_t find_smallest(const float *d2, int32_t n)
{
    return (int32_t)place_of(smallest_of(d2, n), d2, n);
}

#define SUM_PIECE 512 /* floats are added up at most this long before going into a double */

static double sum_of_roots(const float *d2, int32_t n)
{
    double total = 0;
    for (int32_t first = 0; first < n; first += SUM_PIECE) {
        int32_t last = first + SUM_PIECE < n ? first + SUM_PIECE : n;
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int32_t k = first; k < last; k++)
            sum += sqrtf(d2[k]);
        total += (double)sum;
    }
    return total;
}

static void offer(rer_nearest *nearest, float d2, int32_t class)
{
    if (d2 < nearest->first) {
        nearest->second = nearest->first;
        nearest->second_class = nearest->first_class;
        nearest->first = d2;
        nearest->first_class = class;
    } else if (d2 < nearest->second) {
        nearest->second = d2;
        nearest->second_class = class;
    }
}

static void find_nearest(rer_nearest *nearest, float *d2, int32_t first_class, int32_t n, int32_t skip)
{
    bool skips = skip >= first_class && skip < first_class + n;
    int32_t at = skips ? skip - first_class : 0;
    float own = d2[at];
    if (skips && isnan(own)) /* a missing own error adds nothing */
        d2[at] = 0;
    nearest->sum += sum_of_roots(d2, n);
    if (skips)
        d2[at] = INFINITY;
    int32_t best = find_smallest(d2, n);
    if (d2[best] < nearest->second) {
        float kept = d2[best];
        d2[best] = INFINITY;
        int32_t next = find_smallest(d2, n);
        offer(nearest, kept, first_class + best);
        offer(nearest, d2[next], first_class + next);
        d2[best] = kept;
    }
    if (skips)
        d2[at] = own;
}

/* Classes are often few, so rows are padded to whole vectors: e^-87 more does not show. */
#define LANES 16

/* sum of exp(value - largest); value [count] with room up to whole vectors. */
static float sum_of_exp(float *value, int64_t count, float largest)
{
    float lane[LANES] = {0}, sum = 0;
    int64_t padded = (count + LANES - 1) / LANES * LANES;
    for (int64_t k = count; k < padded; k++)
        value[k] = -INFINITY;
    for (int64_t k = 0; k < padded; k += LANES)
#pragma omp simd
        for (int l = 0; l < LANES; l++)
            lane[l] += exp_of_negative(value[k + l] - largest);
    for (int l = 0; l < LANES; l++)
        sum += lane[l];
    return sum;
}

static double log_sum_exp(const float *d2, const float *log_n, double half_t, int64_t n)
{
    float value[SUM_PIECE], t = (float)half_t, largest = -INFINITY;
#pragma omp simd reduction(max : largest)
    for (int64_t k = 0; k < n; k++) {
        float at = log_n[k] - t * d2[k];
        largest = at > largest ? at : largest;
    }
    double total = 0;
    for (int64_t first = 0; first < n; first += SUM_PIECE) {
        int64_t count = first + SUM_PIECE < n ? SUM_PIECE : n - first;
        for (int64_t k = 0; k < count; k++)
            value[k] = log_n[first + k] - t * d2[first + k];
        total += (double)sum_of_exp(value, count, largest);
    }
    return (double)largest + log(total);
}

/* The sum is taken in double: where one class has nearly everything, the rest is what counts. */
static double softmax(float *restrict z, const float *restrict bias, int64_t n)
{
    float largest = -INFINITY, tail[LANES];
    int64_t whole = n / LANES * LANES, rest = n - whole;
    double sum = 0;
#pragma omp simd reduction(max : largest)
    for (int64_t k = 0; k < n; k++) {
        z[k] += bias[k];
        largest = z[k] > largest ? z[k] : largest;
    }
#pragma omp simd reduction(+ : sum)
    for (int64_t k = 0; k < whole; k++) {
        z[k] = exp_of_negative(z[k] - largest);
        sum += (double)z[k];
    }
    for (int64_t l = 0; l < LANES; l++)
        tail[l] = l < rest ? z[whole + l] - largest : -INFINITY;
#pragma omp simd
    for (int l = 0; l < LANES; l++)
        tail[l] = exp_of_negative(tail[l]);
    for (int64_t l = 0; l < rest; l++) {
        z[whole + l] = tail[l];
        sum += (double)tail[l];
    }
    float share = (float)(1 / sum);
    for (int64_t k = 0; k < n; k++)
        z[k] *= share;
    return (double)largest + log(sum);
}

#define ISA_TEXT_OF(isa) #isa
#define ISA_TEXT(isa) ISA_TEXT_OF(isa)

const rer_kernels TABLE_NAME(RER_ISA) = {
    .name = ISA_TEXT(RER_ISA),
    .half_to_float = half_to_float,
    .sum_squares = sum_squares,
    .add_scaled = add_scaled,
    .add_squares = add_squares,
    .add_pair = add_pair,
    .add_rounded = add_rounded,
    .add_block = add_block,
    .residual_f32 = residual_f32,
    .residual_f64 = residual_f64,
    .dot_f32 = dot_f32,
    .dot_f64 = dot_f64,
    .left_out_f32 = left_out_f32,
    .left_out_f64 = left_out_f64,
    .direct_f32 = direct_f32,
    .direct_f64 = direct_f64,
    .smallest = smallest_of,
    .find_nearest = find_nearest,
    .log_sum_exp = log_sum_exp,
    .softmax = softmax,
    .network = &NETWORK_TABLE_NAME(RER_ISA),
    .channel = &CHANNEL_TABLE_NAME(RER_ISA),
    .rows = &ROWS_TABLE_NAME(RER_ISA),
    .coarse = &COARSE_TABLE_NAME(RER_ISA),
    .words = &WORD_TABLE_NAME(RER_ISA),
};
