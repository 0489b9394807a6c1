/* Products by AMX, whose tiles of 16 x 32 bfloat16 multiply at some twenty times the rate of float vectors.
 *
 * A float is taken apart into two bfloat16, x = high + low + rest, |low| <= 2^-8 |x|, |rest| <= 2^-16 |x|; then
 *   x y = high high + high low + low high,   less three terms of at most 2^-16 |x y|,
 * summed up in float. So a product of rows is off by 3 2^-16 |t_i| |u_k| at most, where one term is everything, and by
 * 2e-7 of many terms (512 normal ones; float: 1e-8). A sum goes over its terms in one order, so that the bits of a row
 * do not depend on the rows beside it. */
#include "backend/backend.h"
#include "backend/cpu/tiles.h"

#if defined(RER_X86) && defined(RER_WRAPS) && defined(__linux__) && (defined(__clang__) || __GNUC__ >= 11)
#include <cpuid.h>
#include <immintrin.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SIDE 16             /* rows of a tile */
#define DEPTH 32            /* bfloat16 of a row of a tile: terms of a step */
#define TILE (SIDE * DEPTH) /* bfloat16 */
#define PAIR (2 * TILE)     /* a tile of high parts, then one of low ones */
#define ACROSS (2 * SIDE)   /* rows and columns of what is summed up at once, in four tiles */
#define ROWS_AT_ONCE 256    /* their parts stay in the second cache: 512 KiB where D is 512 */

/* Of functions that run only where tiles are. */
#define BY_TILES __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,amx-tile,amx-bf16")))

#define LEAST_COLUMNS 32 /* below these, taking apart costs more than multiplying */
#define LEAST_TERMS 64

#define ARCH_REQ_XCOMP_PERM 0x1023 /* of arch_prctl; */
#define XFEATURE_XTILEDATA 18      /* the tiles' registers are saved for those who ask */

static bool are_there;

static void find_out(void)
{
    unsigned a = 0, b = 0, c = 0, d = 0;
    const char *wanted = getenv("RER_AMX");
    if (wanted != NULL && strcmp(wanted, "0") == 0)
        return;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d >> 22 & 1) || !(d >> 24 & 1))
        return;
    if (!__get_cpuid_count(7, 1, &a, &b, &c, &d) || !(a >> 5 & 1)) /* AVX512_BF16 */
        return;
    are_there = syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
}

bool rer_tiles_are_there(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    return pthread_once(&once, find_out) == 0 && are_there;
}

/* ---- taking apart ------------------------------------------------------------------------- */

/* 32 floats, missing ones zero. */
BY_TILES static void take_apart(const float *x, int64_t n, __m512i *high, __m512i *low)
{
    __mmask32 there = n >= DEPTH ? ~0U : n > 0 ? (1U << n) - 1 : 0;
    __m512 x0 = _mm512_maskz_loadu_ps((__mmask16)there, x);
    __m512 x1 = _mm512_maskz_loadu_ps((__mmask16)(there >> 16), x + SIDE);
    *high = (__m512i)_mm512_cvtne2ps_pbh(x1, x0);
    __m512i h0 = _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm512_castsi512_si256(*high)), 16);
    __m512i h1 = _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(*high, 1)), 16);
    *low = (__m512i)_mm512_cvtne2ps_pbh(_mm512_sub_ps(x1, _mm512_castsi512_ps(h1)),
                                        _mm512_sub_ps(x0, _mm512_castsi512_ps(h0)));
}

/* The 16 x 16 pairs of a tile change places: unpacked within quarters of 128 bits, then the quarters. */
BY_TILES static void transpose(__m512i *row)
{
    __m512i t[SIDE];
#pragma GCC unroll 16
    for (int i = 0; i < SIDE; i += 2) {
        t[i] = _mm512_unpacklo_epi32(row[i], row[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(row[i], row[i + 1]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < SIDE; i += 4)
        for (int k = 0; k < 2; k++) {
            row[i + 2 * k] = _mm512_unpacklo_epi64(t[i + k], t[i + k + 2]);
            row[i + 2 * k + 1] = _mm512_unpackhi_epi64(t[i + k], t[i + k + 2]);
        }
#pragma GCC unroll 16
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 2; k++) {
            __m512i a = row[8 * k + i], b = row[8 * k + i + 4];
            t[8 * k + i] = _mm512_shuffle_i32x4(a, b, 0x88);
            t[8 * k + i + 4] = _mm512_shuffle_i32x4(a, b, 0xdd);
        }
#pragma GCC unroll 16
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 2; k++) {
            __m512i a = t[4 * k + i], b = t[4 * k + i + 8];
            row[4 * k + i] = _mm512_shuffle_i32x4(a, b, 0x88);
            row[4 * k + i + 8] = _mm512_shuffle_i32x4(a, b, 0xdd);
        }
}

static int64_t in_whole(int64_t n, int64_t part)
{
    return (n + part - 1) / part * part;
}

/* Pairs of tiles [n in 16s, D in 32s] of rows x [n, D], with zeros up to a whole ACROSS; the second factor's are transposed. */
BY_TILES static void pack(uint16_t *tiles, const float *x, int64_t n, int64_t D, bool transposed)
{
    for (int64_t first = 0; first < in_whole(n, ACROSS); first += SIDE)
        for (int64_t j = 0; j < D; j += DEPTH, tiles += PAIR) {
            __m512i high[SIDE], low[SIDE];
#pragma GCC unroll 16
            for (int64_t i = 0; i < SIDE; i++) {
                bool is_there = first + i < n;
                take_apart(x + (is_there ? (first + i) * D + j : 0), is_there ? D - j : 0, &high[i], &low[i]);
            }
            if (transposed) {
                transpose(high);
                transpose(low);
            }
            for (int64_t i = 0; i < SIDE; i++) {
                _mm512_store_si512(tiles + i * DEPTH, high[i]);
                _mm512_store_si512(tiles + TILE + i * DEPTH, low[i]);
            }
        }
}

/* ---- multiplying -------------------------------------------------------------------------- */

BY_TILES static void configure(void)
{
    struct {
        uint8_t palette, start, unused[14];
        uint16_t bytes[16]; /* of a row */
        uint8_t rows[16];
    } tiles = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        tiles.bytes[i] = DEPTH * sizeof(uint16_t);
        tiles.rows[i] = SIDE;
    }
    _tile_loadconfig(&tiles);
}

/* out [32, 32] = a b, `steps` pairs of tiles of each of their halves. Small terms first. */
BY_TILES static void multiply_across(float *out, int64_t stride, const uint16_t *a, const uint16_t *b, int64_t steps)
{
    const uint16_t *a1 = a + steps * PAIR, *b1 = b + steps * PAIR;
    size_t row = DEPTH * sizeof *a, line = (size_t)stride * sizeof *out;
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int64_t at = 0; at < steps * PAIR; at += PAIR) {
        _tile_loadd(4, a + at, row);
        _tile_loadd(5, a1 + at, row);
        _tile_loadd(6, b + at + TILE, row);
        _tile_loadd(7, b1 + at + TILE, row);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
        _tile_loadd(6, b + at, row);
        _tile_loadd(7, b1 + at, row);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
        _tile_loadd(4, a + at + TILE, row);
        _tile_loadd(5, a1 + at + TILE, row);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, out, line);
    _tile_stored(1, out + SIDE, line);
    _tile_stored(2, out + SIDE * stride, line);
    _tile_stored(3, out + SIDE * stride + SIDE, line);
}

/* The same where fewer rows or columns are wanted. */
BY_TILES static void multiply_edge(float *h, int64_t ldh, int64_t rows, int64_t columns, const uint16_t *a,
                                   const uint16_t *b, int64_t steps)
{
    float out[ACROSS * ACROSS];
    multiply_across(out, ACROSS, a, b, steps);
    for (int64_t i = 0; i < rows; i++)
        memcpy(h + i * ldh, out + i * ACROSS, (size_t)columns * sizeof *h);
}

BY_TILES static void multiply_rows(float *h, int64_t ldh, const uint16_t *a, const uint16_t *b, int64_t n, int64_t k,
                                   int64_t steps)
{
    for (int64_t j = 0; j < k; j += ACROSS)
        for (int64_t i = 0; i < n; i += ACROSS) {
            float *out = h + i * ldh + j;
            const uint16_t *rows = a + i / SIDE * steps * PAIR, *columns = b + j / SIDE * steps * PAIR;
            if (n - i >= ACROSS && k - j >= ACROSS) {
                for (int64_t line = 0; line < ACROSS; line++) { /* written at the end: a third of the time, else */
                    __builtin_prefetch(out + line * ldh, 1);
                    __builtin_prefetch(out + line * ldh + SIDE, 1);
                }
                multiply_across(out, ldh, rows, columns, steps);
            } else {
                multiply_edge(out, ldh, n - i < ACROSS ? n - i : ACROSS, k - j < ACROSS ? k - j : ACROSS, rows, columns,
                              steps);
            }
        }
}

/* h = t u' with the parts of u at b, and room for those of some rows of t behind them. */
BY_TILES static void multiply(float *h, int64_t ldh, const float *t, const float *u, int64_t n, int64_t k, int64_t D,
                              uint16_t *b)
{
    int64_t steps = in_whole(D, DEPTH) / DEPTH;
    uint16_t *a = b + in_whole(k, ACROSS) / SIDE * steps * PAIR;
    pack(b, u, k, D, true);
    configure();
    for (int64_t first = 0; first < n; first += ROWS_AT_ONCE) {
        int64_t rows = n - first < ROWS_AT_ONCE ? n - first : ROWS_AT_ONCE;
        pack(a, t + first * D, rows, D, false);
        multiply_rows(h + first * ldh, ldh, a, b, rows, k, steps);
    }
    _tile_release();
}

/* Decided by what all rows share, not by how many there are. */
bool rer_tiles_multiply(float *h, int64_t ldh, const float *t, const float *u, int64_t n, int64_t k, int64_t D)
{
    if (k < LEAST_COLUMNS || D < LEAST_TERMS || !rer_tiles_are_there())
        return false;
    size_t bytes = 0, row = (size_t)(in_whole(D, DEPTH) * 2) * sizeof(uint16_t); /* of a row's parts */
    uint16_t *buffer = rer_backend_buffer(&bytes);
    if (buffer == NULL || bytes / row < (size_t)(in_whole(k, ACROSS) + ROWS_AT_ONCE))
        return false;
    multiply(h, ldh, t, u, n, k, D, buffer);
    return true;
}

#else

bool rer_tiles_are_there(void)
{
    return false;
}

bool rer_tiles_multiply(float *h, int64_t ldh, const float *t, const float *u, int64_t n, int64_t k, int64_t D)
{
    (void)h, (void)ldh, (void)t, (void)u, (void)n, (void)k, (void)D;
    return false;
}

#endif
