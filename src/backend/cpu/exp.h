/* An exponential that vectorises. */
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

/* e^x for x in -87..0 by 2^(x / ln 2) = 2^n 2^f, |f| <= 1/2, with a polynomial for 2^f (its Taylor
 * series to f^6; relative error below 1e-7). */
static inline float exp_of_negative(float x)
{
    float scaled = (x > -87.0f ? x : -87.0f) * 1.44269504f; /* NaN too */
    float whole = rintf(scaled);
    float f = (scaled - whole) * 0.693147181f;
    float p = 1.0f + f * (1.0f + f * (0.5f + f * (1.0f / 6 + f * (1.0f / 24 + f * (1.0f / 120 + f * (1.0f / 720))))));
    uint32_t bits = (uint32_t)((int32_t)whole + 127) << 23;
    float power;
    memcpy(&power, &bits, sizeof power);
    return p * power;
}
