/* Rows in eight bits (backend.h, rer_coarse_kernels), compiled once for each instruction set like kernels.c. Only where
 * the processor multiplies bytes (VNNI) is that cheaper than the products themselves; elsewhere the table is empty. */
#include "backend/backend.h"

#define TABLE_NAME_OF(isa) rer_coarse_kernels_##isa
#define TABLE_NAME(isa) TABLE_NAME_OF(isa)

extern const rer_coarse_kernels TABLE_NAME(RER_ISA);

#if defined(__AVX512VNNI__)
#include <immintrin.h>
#include <math.h>

static rer_coarse_scale coarsen(int8_t *restrict q, const float *restrict x, int64_t n)
{
    float most = 0, square = 0;
    int32_t sum = 0;
#pragma omp simd reduction(max : most)
    for (int64_t j = 0; j < n; j++)
        most = fabsf(x[j]) > most ? fabsf(x[j]) : most;
    float unit = most / 127, per = most > 0 ? 127 / most : 0;
#pragma omp simd reduction(+ : square, sum)
    for (int64_t j = 0; j < n; j++) {
        float scaled = x[j] * per;
        int32_t near = (int32_t)(scaled + (scaled < 0 ? -.5F : .5F));
        float off = x[j] - unit * (float)near;
        q[j] = (int8_t)near;
        square += off * off;
        sum += near;
    }
    for (int64_t j = n; j < RER_COARSE_BYTES(n); j++)
        q[j] = 0;
    return (rer_coarse_scale){.unit = unit, .error = sqrtf(square) * 1.001F, .sum = sum};
}

static void bounds_of(float *restrict most, int64_t stride, const int32_t *restrict sums,
                      const rer_coarse_asking *asking, const rer_coarse_pack *pack)
{
    __m512 unit = _mm512_loadu_ps(pack->unit), error = _mm512_loadu_ps(pack->error);
    for (int i = 0; i < RER_COARSE_ROWS; i++) {
        __m512 scale = _mm512_mul_ps(unit, _mm512_set1_ps(asking[i].unit)), own = _mm512_set1_ps(asking[i].error);
        __m512 off = _mm512_add_ps(own, _mm512_fmadd_ps(own, error, error));
        __m512 sum = _mm512_cvtepi32_ps(_mm512_loadu_si512(sums + i * RER_COARSE_ROWS));
        _mm512_storeu_ps(most + i * stride, _mm512_fmadd_ps(sum, scale, off));
    }
}

/* A pack's vector has four values of each of its rows; the asking rows are 16 accumulators. */
static void bounds(float *restrict most, int64_t stride, const rer_coarse_asking *asking, const rer_coarse_pack *pack,
                   int64_t n)
{
    __m512i sum[RER_COARSE_ROWS];
    int32_t sums[RER_COARSE_ROWS * RER_COARSE_ROWS];
    for (int i = 0; i < RER_COARSE_ROWS; i++)
        sum[i] = _mm512_loadu_si512(pack->start);
    for (int64_t j = 0; j < n; j += 4) {
        __m512i b = _mm512_loadu_si512(pack->q + j * RER_COARSE_ROWS);
#pragma GCC unroll 16
        for (int i = 0; i < RER_COARSE_ROWS; i++) {
            int32_t four;
            __builtin_memcpy(&four, asking[i].q + j, sizeof four);
            sum[i] = _mm512_dpbusd_epi32(sum[i], _mm512_set1_epi32(four), b);
        }
    }
    for (int i = 0; i < RER_COARSE_ROWS; i++)
        _mm512_storeu_si512(sums + i * RER_COARSE_ROWS, sum[i]);
    bounds_of(most, stride, sums, asking, pack);
}

/* The largest of each lane, of which two accumulators have 32, are numbers of different places. */
static float level(const float *most, int64_t n, int rank)
{
    __m512 top[2] = {_mm512_set1_ps(-INFINITY), _mm512_set1_ps(-INFINITY)};
    float value[2 * RER_COARSE_ROWS], found = -INFINITY;
    for (int64_t k = 0; k < n; k += RER_COARSE_ROWS) {
        int side = k / RER_COARSE_ROWS % 2 != 0;
        top[side] = _mm512_max_ps(top[side], _mm512_loadu_ps(most + k));
    }
    _mm512_storeu_ps(value, top[0]);
    _mm512_storeu_ps(value + RER_COARSE_ROWS, top[1]);
    for (int i = 0; i < 2 * RER_COARSE_ROWS; i++) {
        uint32_t low = _mm512_cmp_ps_mask(top[0], _mm512_set1_ps(value[i]), _CMP_GE_OQ);
        uint32_t high = _mm512_cmp_ps_mask(top[1], _mm512_set1_ps(value[i]), _CMP_GE_OQ);
        if (__builtin_popcount(low | high << RER_COARSE_ROWS) >= rank && value[i] > found)
            found = value[i];
    }
    return found;
}

/* Places go to the front of a vector, and the next ones over what is left behind them: no branch to foresee. */
static int64_t between(int32_t *restrict at, const float *restrict most, float from, float below, int64_t n)
{
    __m512 least = _mm512_set1_ps(from), bar = _mm512_set1_ps(below);
    __m512i place = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    int64_t count = 0;
    for (int64_t k = 0; k < n; k += RER_COARSE_ROWS) {
        __m512 value = _mm512_loadu_ps(most + k);
        __mmask16 bits = _mm512_mask_cmp_ps_mask(_mm512_cmp_ps_mask(value, least, _CMP_GE_OQ), value, bar, _CMP_LT_OQ);
        _mm512_storeu_si512(at + count, _mm512_maskz_compress_epi32(bits, place));
        count += __builtin_popcount(bits);
        place = _mm512_add_epi32(place, _mm512_set1_epi32(RER_COARSE_ROWS));
    }
    return count;
}

const rer_coarse_kernels TABLE_NAME(RER_ISA) = {
    .coarsen = coarsen, .bounds = bounds, .bounds_of = bounds_of, .level = level, .between = between};
#else
const rer_coarse_kernels TABLE_NAME(RER_ISA) = {0};
#endif
