/* Products by AMX, whose tiles of 16 x 32 bfloat16 multiply at some twenty times the rate of float vectors, and those of
 * 16 x 64 bytes at eight times the rate of vectors of bytes, with the same sums.
 *
 * A float is taken apart into two bfloat16, x = high + low + rest, |low| <= 2^-8 |x|, |rest| <= 2^-16 |x|; then
 *   x y = high high + high low + low high,   less three terms of at most 2^-16 |x y|,
 * summed up in float. So a product of rows is off by 3 2^-16 |t_i| |u_k| at most, where one term is everything, and by
 * 2e-7 of many terms (512 normal ones; float: 1e-8). A sum goes over its terms in one order, so that the bits of a row
 * do not depend on the rows beside it. */
#include "backend/backend.h"
#include "backend/cpu/tiles.h"

#if defined(RER_X86) && defined(RER_WRAPS) && defined(__linux__) && (defined(__clang__) || __GNUC__ >= 11)
#include "backend/cpu/transpose.h"

#include <cpuid.h>
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
#define BY_TILES __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,amx-tile,amx-bf16,amx-int8")))

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
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d >> 22 & 13) != 13) /* bfloat16, tiles, bytes */
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

/* A constant: of one on the stack, GCC 12 leaves out what it does not see the instruction read. */
static const struct {
    uint8_t palette, start, unused[14];
    uint16_t bytes[16]; /* of a row */
    uint8_t rows[16];
} all_tiles = {.palette = 1, .bytes = {64, 64, 64, 64, 64, 64, 64, 64}, .rows = {16, 16, 16, 16, 16, 16, 16, 16}};

BY_TILES static void configure(void)
{
    _tile_loadconfig(&all_tiles);
}

BY_TILES static void release(void)
{
    _tile_release();
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
    release();
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

/* ---- bytes --------------------------------------------------------------------------------- */

#define STEP (DEPTH * 2) /* bytes of a row of a tile */
#define PACKS 4          /* at a time */

/* sums [PACKS, 16, 16] = start + a q of four packs, `steps` tiles of each; a [16, steps STEP] */
BY_TILES static void add_bytes(int32_t *sums, const uint8_t *a, const rer_coarse_pack *pack, int64_t steps)
{
    size_t row = (size_t)(steps * STEP), side = SIDE * sizeof *sums;
    _tile_loadd(0, pack[0].start, 0); /* a line for all rows */
    _tile_loadd(1, pack[1].start, 0);
    _tile_loadd(2, pack[2].start, 0);
    _tile_loadd(3, pack[3].start, 0);
    for (int64_t at = 0; at < steps * STEP; at += STEP) {
        _tile_loadd(4, a + at, row);
        _tile_loadd(5, pack[0].q + at * SIDE, STEP);
        _tile_dpbusd(0, 4, 5);
        _tile_loadd(6, pack[1].q + at * SIDE, STEP);
        _tile_dpbusd(1, 4, 6);
        _tile_loadd(7, pack[2].q + at * SIDE, STEP);
        _tile_dpbusd(2, 4, 7);
        _tile_loadd(5, pack[3].q + at * SIDE, STEP);
        _tile_dpbusd(3, 4, 5);
    }
    _tile_stored(0, sums, side);
    _tile_stored(1, sums + SIDE * SIDE, side);
    _tile_stored(2, sums + 2 * SIDE * SIDE, side);
    _tile_stored(3, sums + 3 * SIDE * SIDE, side);
}

/* The rows a are zero beyond n: what the last tile reads behind a pack adds nothing. */
bool rer_tiles_bound(const rer_coarse_kernels *kernels, float *most, int64_t stride, const rer_coarse_asking *asking,
                     const rer_coarse_pack *pack, int64_t packs, int64_t n)
{
    int64_t whole = in_whole(n, STEP);
    int32_t sums[PACKS * SIDE * SIDE];
    size_t bytes = 0;
    uint8_t *a = rer_tiles_are_there() ? rer_backend_buffer(&bytes) : NULL;
    if (a == NULL || bytes < (size_t)(SIDE * whole))
        return false;
    for (int64_t i = 0; i < SIDE; i++) {
        memcpy(a + i * whole, asking[i].q, (size_t)n);
        memset(a + i * whole + n, 0, (size_t)(whole - n));
    }
    configure();
    for (int64_t k = 0; k < packs; k += PACKS) {
        rer_coarse_pack at[PACKS];
        for (int64_t i = 0; i < PACKS; i++) /* the last one fills up what is missing */
            at[i] = rer_coarse_pack_at(pack, k + i < packs ? k + i : packs - 1, n);
        add_bytes(sums, a, at, whole / STEP);
        for (int64_t i = 0; i < PACKS && k + i < packs; i++)
            kernels->bounds_of(most + (k + i) * SIDE, stride, sums + i * SIDE * SIDE, asking, &at[i]);
    }
    release();
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

bool rer_tiles_bound(const rer_coarse_kernels *kernels, float *most, int64_t stride, const rer_coarse_asking *asking,
                     const rer_coarse_pack *pack, int64_t packs, int64_t n)
{
    (void)kernels, (void)most, (void)stride, (void)asking, (void)pack, (void)packs, (void)n;
    return false;
}

#endif
