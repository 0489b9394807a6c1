/* Products of rows in sixteen bits (backend.h, rer_word_kernels), compiled once for each instruction set like kernels.c.
 * Only where the processor multiplies words (VNNI) do they take half the time of float's; elsewhere the table is empty.
 *
 * A row is x = unit q + off, q whole numbers. Their products are summed up exactly in 32 bits, CHUNK terms at a time: |q| of
 * a chunk is at most 46,000, so that by Cauchy and Schwarz no sum reaches 2^31. Chunks are added in float. Then
 *   |x.y - unit_x unit_y q_x.q_y| <= |off_x| |y| + (|x| + |off_x|) |off_y|,
 * 1e-4 |x| |y| where terms are alike, of which products are off by a thirtieth (512 normal ones); never more than
 * sqrt(D) / 32767 |x| |y|. The bits of a product depend on its two rows alone. */
#include "backend/backend.h"

#define TABLE_NAME_OF(isa) rer_word_kernels_##isa
#define TABLE_NAME(isa) TABLE_NAME_OF(isa)

extern const rer_word_kernels TABLE_NAME(RER_ISA);

#if defined(__AVX512VNNI__)
#include "backend/cpu/transpose.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define CHUNK 64          /* terms */
#define MOST_WORD 32767   /* |q| of a term, */
#define MOST_CHUNK 46000  /* and of a chunk */
#define LEAST 1e-30F      /* |x| that is not nothing: its unit has an inverse */
#define SIDE 16           /* columns of a vector, which has two terms of each */
#define STEP 2            /* these terms */
#define ROWS 8            /* at once, by */
#define ACROSS (2 * SIDE) /* columns */
#define ROWS_AT_ONCE 256  /* their words stay in the second cache: 256 KiB where D is 512 */
#define ROUNDING 1.2e-7F  /* of a sum in float */

static int64_t in_whole(int64_t n, int64_t part)
{
    return (n + part - 1) / part * part;
}

/* Terms of a row of words, with zeros behind: whole squares for columns to turn over. */
static int64_t width_of(int64_t D)
{
    return in_whole(D, STEP * SIDE);
}

/* The parts of the room, all of them in whole cache lines. */
typedef struct word_room {
    int16_t *columns;  /* [k in ACROSS, width / STEP, ACROSS, STEP] */
    int16_t *rows;     /* [ROWS_AT_ONCE, width]; [SIDE, width] while columns are packed */
    float *unit;       /* [k in ACROSS] of columns */
    float *unit_of;    /* [ROWS_AT_ONCE] of rows */
    float most, error; /* |u_k| and |off_k| of any column */
} word_room;

static int64_t room_for(int64_t k, int64_t D)
{
    int64_t columns = in_whole(k, ACROSS), width = width_of(D);
    return (columns + ROWS_AT_ONCE) * (width * (int64_t)sizeof(int16_t) + (int64_t)sizeof(float));
}

static word_room lay_out(void *memory, int64_t k, int64_t D)
{
    int64_t columns = in_whole(k, ACROSS), width = width_of(D);
    word_room room = {.unit = memory};
    room.unit_of = room.unit + columns;
    room.columns = (int16_t *)(room.unit_of + ROWS_AT_ONCE);
    room.rows = room.columns + columns * width;
    return room;
}

/* ---- rows in words ------------------------------------------------------------------------ */

typedef struct word_scale {
    float unit, length, error; /* |x|, |off| */
} word_scale;

static float largest_of(const float *restrict x, int64_t n)
{
    float most = 0;
#pragma omp simd reduction(max : most)
    for (int64_t j = 0; j < n; j++)
        most = fabsf(x[j]) > most ? fabsf(x[j]) : most;
    return most;
}

static float square_of(const float *restrict x, float scale, int64_t n)
{
    float square = 0;
#pragma omp simd reduction(+ : square)
    for (int64_t j = 0; j < n; j++)
        square += x[j] * scale * (x[j] * scale);
    return square;
}

/* q [width] of x [D]. */
static word_scale take_words(int16_t *restrict q, const float *restrict x, int64_t D)
{
    float most = largest_of(x, D), part = 0, all = 0, off = 0;
    memset(q, 0, (size_t)width_of(D) * sizeof *q);
    if (!(most > LEAST && most <= FLT_MAX))
        return (word_scale){0, most * sqrtf((float)D), most * sqrtf((float)D)};
    for (int64_t j = 0; j < D; j += CHUNK) {
        float square = square_of(x + j, 1 / most, D - j < CHUNK ? D - j : CHUNK);
        part = square > part ? square : part;
        all += square;
    }
    float share = sqrtf(part) / MOST_CHUNK;
    float unit = most * (share > 1.F / MOST_WORD ? share : 1.F / MOST_WORD), per = 1 / unit;
#pragma omp simd reduction(+ : off)
    for (int64_t j = 0; j < D; j++) {
        float scaled = x[j] * per;
        int32_t near = (int32_t)(scaled + (scaled < 0 ? -.5F : .5F));
        float rest = scaled - (float)near;
        q[j] = (int16_t)near;
        off += rest * rest;
    }
    return (word_scale){unit, most * sqrtf(all), unit * sqrtf(off)};
}

/* 16 columns, `side` of a block's two. */
static void pack_columns(word_room *room, int64_t first, const float *u, int64_t k, int64_t D)
{
    int64_t width = width_of(D), side = first / SIDE % 2;
    int16_t *block = room->columns + first / ACROSS * ACROSS * width;
    for (int64_t i = 0; i < SIDE; i++) {
        word_scale scale = {0};
        if (first + i < k)
            scale = take_words(room->rows + i * width, u + (first + i) * D, D);
        else
            memset(room->rows + i * width, 0, (size_t)width * sizeof *room->rows);
        room->unit[first + i] = scale.unit;
        room->most = scale.length > room->most ? scale.length : room->most;
        room->error = scale.error > room->error ? scale.error : room->error;
    }
    for (int64_t j = 0; j < width; j += STEP * SIDE) {
        __m512i square[SIDE];
        for (int64_t i = 0; i < SIDE; i++)
            square[i] = _mm512_loadu_si512(room->rows + i * width + j);
        transpose(square);
        for (int64_t i = 0; i < SIDE; i++)
            _mm512_storeu_si512(block + (j / STEP + i) * ACROSS * STEP + side * SIDE * STEP, square[i]);
    }
}

/* The words of up to ROWS_AT_ONCE rows, and how far their products may be off; rows to fill up are zero. */
static void pack_rows(word_room *room, float *off, const float *t, int64_t n, int64_t D)
{
    int64_t width = width_of(D);
    float rounding = ROUNDING * (float)(D / CHUNK + 2);
    for (int64_t i = 0; i < in_whole(n, ROWS); i++) {
        if (i >= n) {
            memset(room->rows + i * width, 0, (size_t)width * sizeof *room->rows);
            continue;
        }
        word_scale scale = take_words(room->rows + i * width, t + i * D, D);
        room->unit_of[i] = scale.unit;
        off[i] = 1.001F * (scale.error * room->most + (scale.length + scale.error) * room->error +
                           rounding * scale.length * room->most);
    }
}

/* ---- multiplying -------------------------------------------------------------------------- */

/* sums [ROWS, ACROSS] of `steps` pairs of terms. An instruction by its name: from what its intrinsic returns GCC 12 moves
 * accumulators about, for a quarter of the time. */
static void multiply_chunk(int32_t *sums, const int16_t *a, int64_t width, const int16_t *b, int64_t steps)
{
    __m512i sum[2 * ROWS];
#pragma GCC unroll 16
    for (int i = 0; i < 2 * ROWS; i++)
        sum[i] = _mm512_setzero_si512();
    for (int64_t s = 0; s < steps; s++) {
        __m512i left = _mm512_loadu_si512(b + s * ACROSS * STEP);
        __m512i right = _mm512_loadu_si512(b + s * ACROSS * STEP + SIDE * STEP);
#pragma GCC unroll 8
        for (int i = 0; i < ROWS; i++) {
            int32_t pair;
            memcpy(&pair, a + i * width + s * STEP, sizeof pair);
            __m512i both = _mm512_set1_epi32(pair);
            __asm__("vpdpwssd %2, %1, %0" : "+v"(sum[2 * i]) : "v"(both), "v"(left));
            __asm__("vpdpwssd %2, %1, %0" : "+v"(sum[2 * i + 1]) : "v"(both), "v"(right));
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < 2 * ROWS; i++)
        _mm512_storeu_si512(sums + i * SIDE, sum[i]);
}

/* h [rows, columns] of at most ROWS x ACROSS. */
static void multiply_across(float *h, int64_t ldh, int64_t rows, int64_t columns, const word_room *room, int64_t i,
                            int64_t j, int64_t width)
{
    const int16_t *a = room->rows + i * width, *b = room->columns + j * width;
    int32_t sums[ROWS * ACROSS];
    float h_of[ROWS * ACROSS] = {0};
    for (int64_t at = 0; at < width; at += CHUNK) {
        int64_t terms = width - at < CHUNK ? width - at : CHUNK;
        multiply_chunk(sums, a + at, width, b + at * ACROSS, terms / STEP);
        for (int l = 0; l < ROWS * ACROSS; l++)
            h_of[l] += (float)sums[l];
    }
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++)
            h[r * ldh + c] = h_of[r * ACROSS + c] * (room->unit_of[i + r] * room->unit[j + c]);
}

static void multiply(float *h, int64_t ldh, const float *t, const float *u, int64_t n, int64_t k, int64_t D, float *off,
                     void *memory)
{
    word_room room = lay_out(memory, k, D);
    int64_t width = width_of(D);
    for (int64_t first = 0; first < in_whole(k, ACROSS); first += SIDE)
        pack_columns(&room, first, u, k, D);
    for (int64_t first = 0; first < n; first += ROWS_AT_ONCE) {
        int64_t rows = n - first < ROWS_AT_ONCE ? n - first : ROWS_AT_ONCE;
        pack_rows(&room, off + first, t + first * D, rows, D);
        for (int64_t j = 0; j < k; j += ACROSS)
            for (int64_t i = 0; i < rows; i += ROWS)
                multiply_across(h + (first + i) * ldh + j, ldh, rows - i < ROWS ? rows - i : ROWS,
                                k - j < ACROSS ? k - j : ACROSS, &room, i, j, width);
    }
}

const rer_word_kernels TABLE_NAME(RER_ISA) = {.multiply = multiply, .room = room_for};
#else
const rer_word_kernels TABLE_NAME(RER_ISA) = {0};
#endif
