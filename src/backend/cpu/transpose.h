/* Part of products by tiles and by words: where AVX-512 is. */
#pragma once

#include <immintrin.h>

/* The 16 x 16 numbers of 32 bits of a square change places: unpacked within quarters of 128 bits, then the quarters. */
__attribute__((target("avx512f"))) static inline void transpose(__m512i *row)
{
    __m512i t[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_epi32(row[i], row[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(row[i], row[i + 1]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; i += 4)
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
